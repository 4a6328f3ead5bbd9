#!/bin/bash
# Help, man pages, completion and documents say what the program does.
. "$(dirname "$0")/lib.sh"

like 'weft [0-9]*.[0-9]*.[0-9]*' "$(weft --version)"
commands=$(weft --help | sed -n '/^Commands/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -l <<<"$commands")" -ge 20 ] || fail "few commands: $commands"
same "$(weft --help)" "$(weft help)"
weft completion bash >"$dir/bash"
weft completion zsh >"$dir/zsh"
weft man >"$dir/weft.1"
bash -n "$dir/bash"
# shellcheck source=/dev/null
. "$dir/bash"

# completes WORD...: what bash offers for the last one.
completes() {
	COMP_WORDS=(weft "$@")
	COMP_CWORD=$#
	_weft
	printf ' %s' "${COMPREPLY[@]}"
	echo ' '
}

for command in $commands; do
	help=$(weft "$command" --help)
	same "$help" "$(weft help "$command")"
	like "weft $command - *Usage: weft $command *" "$help"
	man=$(weft man "$command")
	like "*.SH NAME*weft\\\\-$command*.SH SYNOPSIS*.SH DESCRIPTION*.SH OPTIONS*" "$man"
	grep -qF "weft\\-$command (1)" "$dir/weft.1" || fail "$command is not in weft.1"
	grep -qx "  '$command'," man/meson.build || fail "no man page of $command is installed"
	like "* $command *" "$(completes '')"
	offered=$(completes "$command" -)
	grep -q "^	'$command:" "$dir/zsh" || fail "$command is not in zsh"
	zsh=$(sed -n "/^	$command)\$/,/;;\$/p" "$dir/zsh")
	options=$(grep -oE -e '^ +(-[a-z], )?--[a-z-]+' <<<"$help" | grep -oE -e '--[a-z-]+')
	for option in $options; do
		like "* $option *" "$offered"
		grep -qF -e "\\-\\-$(sed 's/^--//; s/-/\\-/g' <<<"$option")" <<<"$man" ||
			fail "$option of $command is not in its man page"
		grep -qE -e "'[*]?$option\\[" <<<"$zsh" ||
			fail "$option of $command is not in zsh"
	done
	# And nothing that help does not have.
	for option in $(grep -oE -e '--[a-z-]+' <<<"$offered"); do
		grep -q -e "$option\\b" <<<"$help" || fail "$option of $command is not in its help"
	done
	# Every option is one.
	refused 2 usage "$command: no option --frobnicate; *" "$command" --frobnicate
done
same "$(wc -l <<<"$commands")" "$(grep -c "^  '[a-z]*',\$" man/meson.build)"

# Pages that man accepts.
if command -v groff >/dev/null; then
	same '' "$(for command in '' $commands; do
		# shellcheck disable=SC2086
		weft man $command | groff -man -Tascii -ww -z 2>&1
	done)"
fi

same ' add move remove ' "$(completes alias '' | sed 's/ -.*/ /')"
same ' user assistant tool system ' "$(completes append --role '')"
same ' weft anthropic openai responses text ' "$(completes history k --format '')"
same ' history ' "$(completes --store x hist)"

# The examples of the help can be typed: what they name need not be there, but
# no option or argument of theirs is wrong.
mkdir -p "$dir/bin" "$dir/examples" "$HOME/.zfunc"
cat >"$dir/bin/weft" <<'END'
#!/bin/bash
# Benchmarks take too long, and following never ends.
[ "$1" != bench ] || set -- "$@" --help
status=0
timeout 1 "$WEFT" "$@" || status=$?
echo "$status $*" >>"$EXAMPLES_RUN"
END
chmod +x "$dir/bin/weft"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do
	echo "{\"role\":\"user\",\"content\":\"message $i\"}"
done >"$dir/examples/messages.jsonl"
for command in $commands; do
	weft help "$command" | sed -n '/^Examples/,/^$/s/^  //p'
done >"$dir/all-examples"
(
	cd "$dir/examples"
	EXAMPLES_RUN=$dir/ran PATH=$dir/bin:$PATH bash "$dir/all-examples" >/dev/null 2>&1 || :
)
[ "$(wc -l <"$dir/ran")" -ge 20 ] || fail "few examples: $(cat "$dir/ran")"
same '' "$(grep -vE '^(0|3|124) ' "$dir/ran" || :)"

# What is wrong is said in one line that says what to type.
refused 2 usage "which command? 'weft --help' lists them"
refused 2 usage "no command 'lst'; did you mean 'list'?" lst
refused 2 usage "no command 'frobnicate'; 'weft --help' lists them" frobnicate
refused 2 usage "no option --jsno; did you mean --json?" --jsno list
refused 2 usage 'list: no option --limt; did you mean --limit?' list --limt 3
refused 2 usage "show: SESSION is missing; 'weft show --help' says more" show
refused 2 usage '--store: expected URL behind it' list --store
refused 2 usage "help: no command 'x'; *" help x

# Where an error is in JSON although the line could not be read.
like '{"error":{"code":"usage",*' "$(weft --nonsense --json 2>&1 || :)"

# The documents are what the door says.
weft api-doc api | diff docs/API.md - || fail 'docs/API.md: run weft api-doc api'
weft api-doc limits | diff docs/LIMITS.md - || fail 'docs/LIMITS.md: run weft api-doc limits'

# Output that cannot be written is an error; a reader that goes away is not.
status=0
weft --help >/dev/full 2>/dev/null || status=$?
same 5 "$status"
weft --help | true

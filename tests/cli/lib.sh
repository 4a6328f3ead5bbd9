# Sourced by the tests of the command line.  They find the program in $WEFT,
# and have a fresh directory, $dir, with a store in it that is not there yet.
set -euo pipefail

: "${WEFT:?the path of the program}"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Nothing of whoever runs the tests.
unset WEFT_CONFIG WEFT_DEBUG WEFT_STORE_URL XDG_DATA_HOME XDG_CONFIG_HOME \
	NO_COLOR COLUMNS
export HOME=$dir/home TZ=UTC WEFT_STORE=jsonl:$dir/store
mkdir "$HOME"

weft() {
	"$WEFT" "$@"
}

# fail TEXT...: says where, and ends the test.
fail() {
	echo "${BASH_SOURCE[-1]}:${BASH_LINENO[-2]}: $*" >&2
	exit 1
}

# same EXPECTED FOUND
same() {
	[ "$1" = "$2" ] || fail "expected '$1', found '$2'"
}

# like PATTERN TEXT: the text matches a pattern of the shell.
like() {
	# shellcheck disable=SC2254
	case $2 in
	$1) ;;
	*) fail "expected '$1', found '$2'" ;;
	esac
}

# refused STATUS CODE PATTERN ARGUMENT...: weft fails with this exit status,
# prints nothing, and says why: one line for people that matches the pattern,
# and the same with its code as JSON.  Standard input is $input, or empty.
refused() {
	local status=$1 code=$2 pattern=$3 found=0 said
	shift 3

	printf '%b' "${input-}" | weft "$@" >"$dir/out" 2>"$dir/err" || found=$?
	same "$status" "$found"
	same '' "$(cat "$dir/out")"
	said=$(cat "$dir/err")
	like "weft: $pattern" "$said"
	same 1 "$(wc -l <"$dir/err")"

	found=0
	printf '%b' "${input-}" | weft --json "$@" >"$dir/out" 2>"$dir/err" ||
		found=$?
	same "$status" "$found"
	same '' "$(cat "$dir/out")"
	said=${said#weft: }
	said=${said//\\/\\\\}
	said=${said//\"/\\\"}
	same "{\"error\":{\"code\":\"$code\",\"message\":\"$said\"}}" \
		"$(cat "$dir/err")"
}

# json EXPRESSION: prints it, in Python, of the JSON on standard input, which
# is d; texts as they are, everything else as JSON.
json() {
	python3 -I -S -c '
import json, sys
d = json.load(sys.stdin)
v = eval(sys.argv[1])
print(v if isinstance(v, str) else json.dumps(v))
' "$1"
}

# jsonl EXPRESSION: the same of JSON lines, of which d is the list.
jsonl() {
	python3 -I -S -c '
import json, sys
d = [json.loads(line) for line in sys.stdin]
v = eval(sys.argv[1])
print(v if isinstance(v, str) else json.dumps(v))
' "$1"
}

# texts SESSION [OPTION...]: the texts of a history, with a space between them.
texts() {
	weft history "$@" | jsonl '" ".join(p["text"] for m in d for p in m["parts"])'
}

# head SESSION: the number of its last event.
head_of() {
	weft show --json "$1" | sed 's/.*"head_seq":\([0-9]*\).*/\1/'
}

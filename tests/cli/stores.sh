#!/bin/bash
# Stores that cannot be used: a clear error, and nothing changed.
. "$(dirname "$0")/lib.sh"

weft new --key k >/dev/null
weft append k hello >/dev/null
print=$(cd "$dir/store" && find . -type f -name '*.jsonl' -exec sha256sum {} +)

# A file where a directory should be.
echo text >"$dir/file"
refused 2 invalid "*$dir/file*" list --store "jsonl:$dir/file"
refused 2 invalid "*$dir/file*" new --store "jsonl:$dir/file"
same text "$(cat "$dir/file")"

# A directory that is something else.
mkdir "$dir/else"
echo text >"$dir/else/file"
refused 3 not_found "*no store at $dir/else*" list --store "jsonl:$dir/else"

# Of a newer format.
cp -r "$dir/store" "$dir/newer"
python3 - "$dir/newer/weft.json" <<'PYTHON'
import json, re, sys
text = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(re.sub(r'"weft":\s*1', '"weft":99', text))
PYTHON
found=0
weft --store "jsonl:$dir/newer" list >"$dir/out" 2>"$dir/err" || found=$?
[ "$found" -ge 6 ] || fail "exit status $found: $(cat "$dir/err")"
same '' "$(cat "$dir/out")"

# Where nobody may write it can still be read.
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$dir"
	cp "$WEFT" "$dir/weft"
	as() { # USER-ID ARGUMENT...
		setpriv --reuid "$1" --regid "$1" --clear-groups "$dir/weft" "${@:2}"
	}
	# Somebody else's store is refused.
	status=0
	as 12345 --store "jsonl:$dir/store" list >"$dir/out" 2>"$dir/err" || status=$?
	same 7 "$status"
	same '' "$(cat "$dir/out")"
	like 'weft: *' "$(cat "$dir/err")"
	# A place where nothing may be made.
	mkdir -m 755 "$dir/closed"
	status=0
	as 12345 --store "jsonl:$dir/closed/new" new >"$dir/out" 2>"$dir/err" || status=$?
	same 7 "$status"
	like 'weft: *ermission denied*' "$(cat "$dir/err")"
	# One's own that was made read-only: what only reads works.
	mkdir "$dir/own"
	chown 12345 "$dir/own"
	own=jsonl:$dir/own/store
	as 12345 --store "$own" new --key k >/dev/null
	as 12345 --store "$own" todo set k '[{"content":"x","status":"pending"}]' >/dev/null
	as 12345 --store "$own" memory add --session k 'likes tea' >/dev/null
	chmod -R a-w "$dir/own"
	for words in 'show k' 'list' 'history k' 'usage k' 'todo list k' \
		'memory list --session k' 'memory search tea --session k'; do
		# shellcheck disable=SC2086
		as 12345 --store "$own" $words >/dev/null || fail "$words"
	done
	status=0
	as 12345 --store "$own" memory add x >"$dir/out" 2>"$dir/err" || status=$?
	same 7 "$status"
	chmod -R u+w "$dir/own"
fi
# Whoever only looks makes no store.
refused 3 not_found '*weft new*' memory list --store "jsonl:$dir/none"
[ ! -e "$dir/none" ] || fail 'a store was made'
refused 7 read_only '*reading only*' append k x --store "$WEFT_STORE?read_only=1"
same '["hello"]' "$(weft --store "$WEFT_STORE?read_only=1" history k |
	jsonl '[m["parts"][0]["text"] for m in d]')"

same "$print" "$(cd "$dir/store" && find . -type f -name '*.jsonl' -exec sha256sum {} +)"
weft verify >/dev/null

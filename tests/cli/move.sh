#!/bin/bash
# move: everything from one store into another, whatever they are.
. "$(dirname "$0")/lib.sh"

weft new --key parent --alias nick --slug title >/dev/null
weft new --key child --kind subagent --parent parent >/dev/null
weft append parent one --op o1 >/dev/null
printf '%s\n' '{"role":"assistant","content":"x","usage":{"input_tokens":3,"output_tokens":4}}' |
	weft append child --jsonl >/dev/null
for i in $(seq 1 700); do
	printf '{"role":"user","content":"m%d"}\n' "$i"
done | weft append parent --jsonl >/dev/null
weft append parent secret >/dev/null
weft redact parent 703 >/dev/null
weft new --key gone >/dev/null
weft delete gone >/dev/null
before=$(cd "$dir/store" && find sessions -type f -exec sha256sum {} + | sort)

# show STORE: all that people see of it.
show() {
	for s in parent child; do
		weft --store "$1" --json show "$s" | json '{k: v for k, v in d.items() if k != "path"}'
		weft --store "$1" history "$s" --redacted
		weft --store "$1" tail "$s"
	done
	weft --store "$1" --json list --deleted --kind all |
		json '[s["id"] for s in d["sessions"]]'
}

stores=("sqlite:$dir/a.db" "jsonl:$dir/b" "sqlite:$dir/c.db")
[ -z "${WEFT_TEST_PG-}" ] || stores+=("$WEFT_TEST_PG&schema=moved" "jsonl:$dir/d")
from=$WEFT_STORE
digest=
for to in "${stores[@]}"; do
	report=$(weft --json move "$from" "$to")
	same '[3, true]' "$(json '[d["sessions"], d["events"] == d["copied"] > 700]' <<<"$report")"
	: "${digest:=$(json 'd["digest"]' <<<"$report")}"
	same "$digest" "$(json 'd["digest"]' <<<"$report")"
	same "$(show "$WEFT_STORE")" "$(show "$to")"
	weft --store "$to" verify >/dev/null
	same 0 "$(weft --json --store "$to" reindex | json 'd["changed"]')"
	from=$to
done
# The source stays as it is.
same "$before" "$(cd "$dir/store" && find sessions -type f -exec sha256sum {} + | sort)"

# An operation id is still known, and what is new is all that is copied.
to=sqlite:$dir/a.db
same true "$(weft --store "$to" --json append parent one --op o1 | json 'd.get("replayed")')"
weft append parent later >/dev/null
same 1 "$(weft --json move "$WEFT_STORE" "$to" | json 'd["copied"]')"
same 0 "$(weft --json move "$WEFT_STORE" "$to" | json 'd["copied"]')"

# A move that was cut short goes on.
part=sqlite:$dir/part.db
weft move "$WEFT_STORE" "$part" >/dev/null
sqlite3 "$dir/part.db" "DELETE FROM events WHERE seq>300"
weft --store "$part" reindex >/dev/null
same 406 "$(weft --json move "$WEFT_STORE" "$part" | json 'd["copied"]')"
same "$(show "$WEFT_STORE")" "$(show "$part")"

# Other events, and other sessions.
weft --store "$to" append parent own >/dev/null
weft append parent other >/dev/null
refused 4 conflict '*session * is not the same in the target*' move "$WEFT_STORE" "$to"
weft --store "sqlite:$dir/c.db" new >/dev/null
refused 4 exists '*which the source does not have*' move "$WEFT_STORE" "sqlite:$dir/c.db"
refused 3 not_found '*' move "jsonl:$dir/none" "$to"
refused 2 invalid '*unknown scheme*' move "$WEFT_STORE" what:x

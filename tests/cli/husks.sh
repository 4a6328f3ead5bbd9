#!/bin/bash
# A store with lines that are gone, and with a purged session of which a part is
# left for a fork: it is as whole as any other, wherever it is taken.
. "$(dirname "$0")/lib.sh"

weft new --key main >/dev/null
for i in 1 2 3 4 5 6; do weft append main "message $i" >/dev/null; done
weft compact main --keep 2 --summary 'so far' >/dev/null
weft erase main 3 >/dev/null
weft reclaim main >/dev/null

weft new --key old --user kilwa >/dev/null
weft append old 'kept for a fork' >/dev/null
id=$(weft history old --json | jsonl 'd[0]["id"]')
weft append old 'erased' >/dev/null
fork=$(weft fork old --slug heir)
weft rename old 'not for anybody' >/dev/null
weft append old 'only its own' >/dev/null
weft erase old 3 >/dev/null
weft append heir 'the heir speaks' >/dev/null
weft purge old --json >"$dir/out"
same "[0, [\"$fork\"]]" "$(json '[d["sessions"], [f["session"] for f in d["forks"]]]' <"$dir/out")"

# show STORE: all that people see of it.
show() {
	for s in main heir; do
		weft --store "$1" --json show "$s" | json '{k: v for k, v in d.items() if k != "path"}'
		weft --store "$1" history "$s" --redacted
		weft --store "$1" tail "$s" --redacted
	done
	weft --store "$1" --json list --deleted --kind all | json '[s["id"] for s in d["sessions"]]'
	weft --store "$1" --json message "$id"
}
same '["kept for a fork", "the heir speaks"]' "$(weft history heir | jsonl '[m["parts"][0]["text"] for m in d]')"
same 'kept for a fork' "$(weft --json message "$id" | json 'd["parts"][0]["text"]')"
same "$fork" "$(weft --json list --query heir | json 'd["sessions"][0]["id"]')"

before=$(show "$WEFT_STORE")
like '*: ok' "$(weft verify)"
same '[true, 0]' "$(weft repair --json | json '[d["ok"], d["changed"]]')"
same "$before" "$(show "$WEFT_STORE")"
weft reindex >/dev/null
same "$before" "$(show "$WEFT_STORE")"
rm -f "$dir/store/catalog.db" "$dir/store/search.db"
same "$before" "$(show "$WEFT_STORE")"

from=$WEFT_STORE
digest=
for to in "sqlite:$dir/a.db" "jsonl:$dir/b" "sqlite:$dir/c.db"; do
	report=$(weft --json move "$from" "$to")
	: "${digest:=$(json 'd["digest"]' <<<"$report")}"
	same "$digest" "$(json 'd["digest"]' <<<"$report")"
	same "$before" "$(show "$to")"
	like '*: ok' "$(weft --store "$to" verify)"
	weft --store "$to" reindex >/dev/null
	same "$before" "$(show "$to")"
	from=$to
done

weft --store "sqlite:$dir/a.db" backup "$dir/backup.db" >/dev/null
same "$before" "$(show "sqlite:$dir/backup.db")"

# The purged session goes with its last fork, in the copy as in the original.
for store in "$WEFT_STORE" "jsonl:$dir/b" "sqlite:$dir/backup.db"; do
	same '[2, 0]' "$(weft --store "$store" purge heir --json | json '[d["sessions"], len(d["forks"])]')"
	like '*: ok' "$(weft --store "$store" verify)"
done
! grep -rqs 'kept for a fork' "$dir/store" "$dir/b" "$dir/backup.db" || fail 'it is still there'

# What of a person was left alone is listed, and not passed over in silence.
weft new --key leased --user kisumu >/dev/null
weft new --key open --user kisumu >/dev/null
weft lease acquire leased --owner me >/dev/null
status=0
weft purge --user kisumu >"$dir/out" || status=$?
same 4 "$status"
like $'dropped 1 session, *\nleft * alone: leased by *' "$(cat "$dir/out")"
weft lease release leased --owner me >/dev/null
same 1 "$(weft purge --user kisumu --json | json 'd["sessions"]')"

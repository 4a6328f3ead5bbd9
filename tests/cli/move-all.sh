#!/bin/bash
# move: all that a store can hold, into each of the others and back, killed in
# the middle and gone on with.
. "$(dirname "$0")/lib.sh"

# ---- a store with everything in it ----

image='{"type":"image","image_mime_type":"image/png","image_base64":"iVBORw0K"}'
weft new --key trip --alias voyage --slug 'a trip' --project /p --user u1 >/dev/null
for i in 1 2 3 4 5 6 7 8; do
	printf '{"role":"user","content":"message %d of the trip","op":"op%d"}\n' "$i" "$i"
	printf '{"role":"assistant","content":"answer %d","usage":{"input_tokens":%d,"cost_usd":0.5}}\n' "$i" "$i"
done | weft append trip --jsonl >/dev/null
printf '{"role":"user","parts":[%s,{"type":"text","text":"%s"}]}\n' "$image" "$(printf '%070000d' 5)" |
	weft append trip --jsonl >/dev/null
weft fork trip --at 5 --slug early >/dev/null
weft fork early --slug 'fork of a fork' >/dev/null
weft append early 'on another way' >/dev/null
weft redact trip 7 8 >/dev/null
weft redact trip 8 --undo >/dev/null
weft redact early 3 >/dev/null
weft erase trip 10 >/dev/null
weft compact trip --keep 4 --summary 'how it began' >/dev/null
weft compact trip --keep 2 --summary 'how it went on' >/dev/null
weft undo trip >/dev/null
weft reclaim trip >/dev/null
weft todo set trip '[{"content":"pack","status":"pending"}]' >/dev/null
weft memory add --session trip 'likes windows' >/dev/null
weft memory add 'speaks Esperanto' >/dev/null
weft memory add --scope project --project /p 'is in Europe' >/dev/null
weft lease acquire trip --owner node1 --ttl 3600 >/dev/null
weft pin trip >/dev/null
weft alias add trip reise >/dev/null
weft alias add early short-lived >/dev/null
weft alias move trip short-lived >/dev/null
weft new --key child --kind subagent --parent trip >/dev/null
printf '{"role":"assistant","content":"done","usage":{"input_tokens":9,"cost_usd":1}}\n' |
	weft append child --jsonl >/dev/null
weft new --key again >/dev/null
weft append again 'the first one' >/dev/null
weft reset again >/dev/null
weft append again 'the second one' >/dev/null
# In the trash; purged; purged, and a fork still needs some of it.
weft new --key trash >/dev/null
weft append trash 'thrown away' >/dev/null
weft delete trash >/dev/null
weft new --key gone >/dev/null
weft append gone 'purged for good' >/dev/null
weft purge gone >/dev/null
weft new --key husk >/dev/null
for i in 1 2 3 4; do
	weft append husk "husk $i" >/dev/null
done
weft fork husk --at 3 --slug heir >/dev/null
weft purge husk >/dev/null
weft route --channel telegram --chat-type direct --chat-id 7 --sender-id 7 --json >/dev/null
for i in $(seq 1 3000); do
	printf '{"role":"user","content":"m%d"}\n' "$i"
done >"$dir/many"
weft new --key many >/dev/null
weft append many --jsonl <"$dir/many" >/dev/null

ids=$(weft list --json --deleted --kind all --limit 1000 | json '" ".join(sorted(s["id"] for s in d["sessions"]))')
[ "$(wc -w <<<"$ids")" -ge 10 ] || fail "$ids"

# show STORE: all that people see of it.
show() {
	local s
	export WEFT_STORE=$1
	for s in $ids; do
		weft --json show "$s"
		weft tail "$s"
	done
	for s in trip early heir; do
		weft history "$s" --redacted
		weft history "$s" --view window
		weft --json markers "$s"
		weft --json tree "$s"
	done
	for s in voyage reise short-lived; do
		weft show "$s"
	done
	weft --json list --key again --chain
	weft --json todo list trip
	weft --json memory list --session trip
	weft --json memory search Europe --scope project --project /p
	for s in trip way thrown husk purged windows m77; do
		weft --json search "$s"
	done
	weft --json list --deleted --kind all
}

# seen_of STORE: the same, without where it is.
seen_of() {
	(show "$1") | sed 's/"path":[^,]*,//g; s/"behind":[0-9]*//; /^file /d'
}

# bytes: of every file of the source that counts.
bytes() {
	(cd "$dir/store" && find sessions blobs -type f -exec sha256sum {} + | sort)
}

before=$(bytes)
seen=$(seen_of "$WEFT_STORE")
same "$before" "$(bytes)"
report=$(weft --json move "$WEFT_STORE" "sqlite:$dir/first.db")
digest=$(json '[d["sessions"], d["events"], d["bytes"], d["digest"]]' <<<"$report")

# check STORE REPORT: it is the same, and nothing in it is wrong.
check() {
	same "$digest" "$(json '[d["sessions"], d["events"], d["bytes"], d["digest"]]' <<<"$2")"
	weft --store "$1" verify >/dev/null || fail "$1: $(weft --store "$1" verify)"
	same 0 "$(weft --json --store "$1" reindex | json 'd["changed"]')"
}
check "sqlite:$dir/first.db" "$report"

# looks STORE: so it looks, too.
looks() {
	diff <(echo "$seen") <(seen_of "$1") >"$dir/diff" ||
		fail "$1: $(cut -c1-300 "$dir/diff" | head -6)"
}

# ---- everywhere and back ----

from=sqlite:$dir/first.db
for to in "$WEFT_TEST_PG&schema=a" "jsonl:$dir/b" "$WEFT_TEST_PG&schema=c" "sqlite:$dir/d.db" "jsonl:$dir/e"; do
	check "$to" "$(weft --json move "$from" "$to")"
	from=$to
done
looks "$WEFT_TEST_PG&schema=c"
looks "sqlite:$dir/d.db"
looks "jsonl:$dir/e"

# What was known is still known: operation ids, leases, gone numbers, the price
# of what is gone, and that a purged key is free.
same true "$(weft --store "$from" --json append trip 'message 8 of the trip' --op op8 --role user 2>/dev/null |
	json 'd.get("replayed")')"
refused 4 leased '*' append trip x --store "$from" --token 1
refused 3 not_found '*gone for good*' redact trip 10 --store "$from"
same true "$(weft --store "$from" --json new --key gone | json 'd["created"]')"
weft --store "$from" restore "$(weft --store "$from" --json list --deleted |
	json '[s["id"] for s in d["sessions"] if s["deleted_at"]][0]')" >/dev/null
same 'thrown away' "$(texts trash --store "$from")"

# ---- killed in the middle ----

killed() { # TO COUNT-COMMAND...: kill it when something is there, then go on
	local to=$1 mover n
	shift
	"$WEFT" move "$WEFT_STORE" "$to" >/dev/null 2>&1 &
	mover=$!
	for _ in $(seq 2000); do
		n=$("$@" 2>/dev/null || echo 0)
		[ "${n:-0}" -lt 300 ] || break
	done
	kill -9 "$mover" 2>/dev/null || true
	wait "$mover" 2>/dev/null || true
	report=$(weft --json move "$WEFT_STORE" "$to")
	check "$to" "$report"
	json 'd["copied"]' <<<"$report"
}
count_sqlite() { sqlite3 "$dir/killed.db" 'SELECT count(*) FROM events'; }
count_jsonl() { find "$dir/killed/sessions" -name '*.jsonl' -exec cat {} + | wc -l; }
count_pg() { psql -X -q -A -t "${WEFT_TEST_PG%&*}" -c 'SELECT count(*) FROM killed.events'; }
all=$(json 'd["events"]' <<<"$report")
some=0
for how in "sqlite:$dir/killed.db count_sqlite" "jsonl:$dir/killed count_jsonl" \
	"$WEFT_TEST_PG&schema=killed count_pg"; do
	# shellcheck disable=SC2086
	copied=$(killed $how)
	[ "$copied" -eq 0 ] || [ "$copied" -eq "$all" ] || some=$((some + 1))
done
[ "$some" -ge 1 ] || fail 'none was killed in the middle'

# The source stays as it is, to the byte.
same "$before" "$(bytes)"

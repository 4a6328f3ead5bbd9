#!/bin/bash
# verify, repair, reindex, stats: looking after a store.
. "$(dirname "$0")/lib.sh"

one=$(weft new --key one)
two=$(weft new --key two)
for i in 1 2 3; do
	weft append one "message $i" >/dev/null
	weft append two "message $i" >/dev/null
done

same '{"ok": true, "sessions": 2, "events": 8, "damaged": []}' \
	"$(weft verify --json | json '{k: d[k] for k in "ok sessions events damaged".split()}')"
like '2 sessions, 8 events, * bytes: ok' "$(weft verify)"

s=$(weft stats --json)
same '[2, 2, 0, 0, 0, 8, 6]' "$(json '[d[k] for k in
	"sessions primary subagents books deleted events messages".split()]' <<<"$s")"
same true "$(json 'd["bytes"] > 500 and d["health"]["writable"]' <<<"$s")"
like $'sessions      2\n*health        writable' "$(weft stats)"

# The bytes are those of the events, the same in every store.
weft move "$WEFT_STORE" "sqlite:$dir/bytes.db" >/dev/null
same "$(json 'd["bytes"]' <<<"$s")" \
	"$(weft --store "sqlite:$dir/bytes.db" stats --json | json 'd["bytes"]')"

# The index can be made again, and nothing is different.
before=$(weft list --json --kind all)
same true "$(weft reindex --json | json 'd["ok"]')"
same "$before" "$(weft list --json --kind all)"

# Damage is found, reported and mended; good lines stay.
file=$(weft show --json one | json 'd["path"]')
sed -i '4s/.*/{"seq":3,rubbish/' "$file"
status=0
weft verify --json >"$dir/out" 2>"$dir/err" || status=$?
same 6 "$status"
same '' "$(cat "$dir/err")"
same "[false, \"$one\", 4]" "$(json '[d["ok"], d["damaged"][0]["session"], d["damaged"][0]["line"]]' <"$dir/out")"
same true "$(json '"sessions/" in d["damaged"][0]["file"] and len(d["damaged"][0]["reason"]) > 5 and d["damaged"][0]["offset"] > 0' <"$dir/out")"
status=0
weft verify >"$dir/out" || status=$?
same 6 "$status"
like "*$one.jsonl:4: offset *: *not ok" "$(cat "$dir/out")"

# It is left out, said so, and hides nothing else.
weft history one >"$dir/out" 2>"$dir/err"
same '["message 1", "message 3"]' "$(jsonl '[m["parts"][0]["text"] for m in d]' <"$dir/out")"
like "weft: 1 damaged event left out; 'weft verify' says where" "$(cat "$dir/err")"
refused 6 corrupt 'event 3 is damaged; *' message --session one 3
same '[1, 2, 3, 4]' "$(weft tail one | jsonl '[e["seq"] for e in d]')"
same damaged "$(weft tail one | jsonl 'd[2]["type"]')"
weft append one 'message 4' >/dev/null
same 5 "$(head_of one)"

same true "$(weft repair --json | json 'd["ok"] and d["changed"] > 0')"
weft verify >/dev/null
same '["message 1", "message 3", "message 4"]' \
	"$(weft history one | jsonl '[m["parts"][0]["text"] for m in d]')"
[ -n "$(find "$dir/store/damaged" -type f)" ] || fail 'the damaged bytes are gone'
weft repair >/dev/null
weft verify >/dev/null
same '["message 1", "message 2", "message 3"]' \
	"$(weft history two | jsonl '[m["parts"][0]["text"] for m in d]')"
refused 2 usage "verify: '$two' is too much; *" verify "$two"

# A file of a newer weft is left as it is, and repair does not call that mended.
file=$(weft show --json two | json 'd["path"]')
python3 -I -S - "$file" "$two" <<'EOF'
import sys

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff

path, session = sys.argv[1:]
id = 0
for c in session:
    id = id * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(c)
first, rest = open(path, "rb").read().split(b"\n", 1)
first = first[:-18].replace(b'"needs":[]', b'"needs":["tea"]')
crc = crc32c(id.to_bytes(16, "big") + first)
open(path, "wb").write(first + b',"crc":"%08x"}\n' % crc + rest)
EOF
sum=$(sha256sum "$file")
for i in 1 2; do
	status=0
	weft repair --json >"$dir/out" || status=$?
	same 6 "$status"
	same "[false, 1, \"$two\"]" \
		"$(json '[d["ok"], len(d["damaged"]), d["damaged"][0]["session"]]' <"$dir/out")"
	like '*needs "tea", which this weft does not know*' "$(cat "$dir/out" | json 'd["damaged"][0]["reason"]')"
done
refused 7 io '*needs "tea", which this weft does not know: update weft' append two more
same "$sum" "$(sha256sum "$file")"
same '["message 1", "message 3", "message 4"]' \
	"$(weft history one | jsonl '[m["parts"][0]["text"] for m in d]')"

# What is no file in its place, or a file out of its place, stops nothing.
weft append --json "$(weft new --key three)" lost >/dev/null
three=$(weft show --json three | json 'd["path"]')
three_id=$(basename "$three" .jsonl)
child=$(weft fork three)
mkdir -p "$dir/store/sessions/mine/00"
cp "$(weft show --json one | json 'd["path"]')" "$dir/store/sessions/mine/00/"
same 4 "$(weft verify --json 2>/dev/null | json 'd["sessions"]')"
for how in missing directory pipe; do
	mv "$three" "$dir/three"
	case $how in
	directory) mkdir "$three" ;;
	pipe) mkfifo "$three" ;;
	esac
	status=0
	weft verify >"$dir/out" || status=$?
	same 6 "$status"
	like "*${three##*/}: offset 0: the file is missing: *" "$(cat "$dir/out")"
	if [ $how = missing ]; then
		refused 6 corrupt "*${three##*/} is missing: restore it, or *" history three
		refused 6 corrupt "*${three##*/} is missing: restore it, or *" append three x
	fi
	same 6 "$(texts one | wc -w)"
	weft repair --json >"$dir/out" || true
	same "[1, [\"$child\"]]" "$(json '[d["changed"], [p["session"] for p in d["damaged"] if "missing" in p["reason"]]]' <"$dir/out")"
	refused 3 not_found "no session 'three'" show three
	# A fork that has lost its past is not whole.
	status=0
	weft verify >"$dir/out" || status=$?
	same 6 "$status"
	like "*session $three_id, from which it was forked, is missing: *" "$(cat "$dir/out")"
	[ $how != missing ] ||
		refused 6 corrupt "session $three_id, from which $child was forked, is missing: *" \
			history "$child"
	[ $how != directory ] || rmdir "$three"
	mv "$dir/three" "$three"
	weft reindex >/dev/null
	same lost "$(texts three)"
	same lost "$(texts "$child")"
done

#!/bin/bash
# search: what it prints, and an index that may be lost at any time.
. "$(dirname "$0")/lib.sh"

id=$(weft new --key work --slug 'Night train')
weft append work 'a ticket to Lisbon' >/dev/null
weft append work --role assistant 'the train leaves at nine' >/dev/null
like "$id"$'\t3\t*\tassistant\tthe train leaves at nine' \
	"$(weft search train --kind message)"
same '3 assistant|1 title' \
	"$(weft search train | cut -f2,4 | tr '\t' ' ' | paste -sd'|')"
same '[2, 0, null]' "$(weft search TICKET --json |
	json '[d["hits"][0]["seq"], d["behind"], d["next"]]')"
next=$(weft search train --limit 1 --json | json 'd["next"]')
same 1 "$(weft search train --limit 1 --cursor "$next" | cut -f2)"
same 1 "$(weft search 'train -leaves' | cut -f2)"
refused 2 invalid 'query: expected letters or digits*' search '?!'
refused 2 invalid "query: the quote in front of 'night' has no end" search '"night'
refused 3 not_found '*nobody*' search a --session nobody

# More than is read without an index.
python3 -c '
for i in range(1500):
    print("{\"role\":\"user\",\"content\":\"number n%d of many\"}" % i)' |
	weft append work --jsonl >/dev/null
same 1450 "$(weft search n1446 | cut -f2)"
file=$dir/store/search.db
[ -s "$file" ] || fail 'no index'

# Without it, with damage anywhere in it, and with another store's.
rm "$file"
same 1450 "$(weft search n1446 | cut -f2)"
size=$(stat -c %s "$file")
for ((i = 0; i < 24; i++)); do
	printf '\xa5' | dd of="$file" bs=1 seek=$((size * i / 24 + i * 37 % 4096)) \
		conv=notrunc status=none
	same 1450 "$(weft search n1446 --wait | cut -f2)"
done
for ((i = 0; i < 4; i++)); do
	truncate -s $((size * i / 4)) "$file"
	same 1450 "$(weft search n1446 --wait | cut -f2)"
done
echo 'no database' >"$file"
same 1450 "$(weft search n1446 | cut -f2)"
weft --store "jsonl:$dir/other" new >/dev/null
weft --store "jsonl:$dir/other" search x >/dev/null
cp "$dir/other/search.db" "$file"
same 1450 "$(weft search n1446 | cut -f2)"

# Killed while it indexes, again and again.
rm -f "$file" "$file-journal"
for delay in 01 02 03 05 08; do
	weft search n1446 --wait >/dev/null & pid=$!
	sleep "0.$delay"
	kill -9 "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
done
same 1450 "$(weft search n1446 --wait | cut -f2)"
same 1000 "$(weft search 'number many' --limit 1000 | sort -u | wc -l)"

# Who may only read uses what is there.
same 1450 "$(weft search n1446 --store "$WEFT_STORE?read_only=1" | cut -f2)"
rm "$file"
same 1450 "$(weft search n1446 --store "$WEFT_STORE?read_only=1" | cut -f2)"
[ ! -e "$file" ] || fail 'made an index for reading only'

# What is erased or purged is in no file.
weft append work 'remember xylophonist' >/dev/null
other=$(weft new)
weft append "$other" 'forget zyzzyva' >/dev/null
same "$other" "$(weft search zyzzyva --wait | cut -f1)"
same 1504 "$(weft search xylophonist --wait | cut -f2)"
weft erase work 1504 >/dev/null
weft purge "$other" >/dev/null
same '' "$(weft search xylophonist; weft search zyzzyva)"
! grep -rqe xylophonist -e zyzzyva "$dir/store" || fail 'words are left'
same 1450 "$(weft search n1446 | cut -f2)"

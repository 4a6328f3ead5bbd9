#!/bin/bash
# append --jsonl with lines that are very long.
. "$(dirname "$0")/lib.sh"

weft new --key k >/dev/null

# A very long line, one over the limit, one over anything that is read.
head=$(head_of k)
python3 -c '
for n in 10_000_000, 16_800_000, 40_000_000, 1:
    print("{\"role\":\"user\",\"content\":\"%s\"}" % ("y" * n))
' | timeout 60 "$WEFT" append k --jsonl >"$dir/out" && fail 'no error'
same "[$((head + 1)), \"limit\", \"limit\", $((head + 2))]" "$(jsonl \
	'[r["seq"] if "seq" in r else r["error"]["code"] for r in d]' <"$dir/out")"
same 10000000 "$(weft history k --last 2 | jsonl 'len(d[0]["parts"][0]["text"])')"


# The long one came whole, and does no harm to what is around it.
same true "$(weft history k --last 2 | jsonl 'set(d[0]["parts"][0]["text"]) == {"y"}')"
weft verify >/dev/null

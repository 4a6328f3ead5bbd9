#!/bin/bash
# weft reset and the chain of a key.
. "$(dirname "$0")/lib.sh"

first=$(weft new --key talk --alias t)
weft append talk before >/dev/null
weft reset t --json >"$dir/new"
same '["talk", ["t"], 0]' \
	"$(json '[d["key"], d["aliases"], d["message_count"]]' <"$dir/new")"
same "$first" "$(json 'd["previous"]' <"$dir/new")"
weft append t after >/dev/null
same after "$(texts talk)"
same before "$(texts "$first")"

second=$(json 'd["id"]' <"$dir/new")
same "[\"$second\", \"$first\"]" \
	"$(weft list --key talk --chain --json | json '[s["id"] for s in d["sessions"]]')"
same "[\"$second\"]" \
	"$(weft list --key talk --json | json '[s["id"] for s in d["sessions"]]')"
like "*$second*" "$(weft reset talk)"

refused 4 conflict '*no key*' reset "$first"
refused 3 not_found '*' reset nothing
refused 2 invalid 'chain: needs the key that it is of' list --chain
refused 4 stale '*token*' reset talk --token 7

# Asked again because the answer was lost, it begins anew once.
third=$(weft reset talk --op r1 --json | json 'd["id"]')
same "$third" "$(weft reset talk --op r1 --json | json 'd["id"]')"
same "$third" "$(weft show talk --json | json 'd["id"]')"
refused 4 op_mismatch '*r1*' reset "$(weft new --key another)" --op r1

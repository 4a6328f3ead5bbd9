#!/bin/bash
# Large parts: kept once, moved, backed up, collected; and lost.
. "$(dirname "$0")/lib.sh"

long=$(printf '%070000d' 7)
png=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
messages=$(printf '%s\n' \
	'{"role":"user","parts":[{"type":"text","text":"look"},{"type":"image","image_mime_type":"image/png","image_base64":"'$png'"}]}' \
	'{"role":"assistant","parts":[{"type":"thinking","text":"'"$long"'","signature":"s"},{"type":"tool_use","id":"t1","name":"f","input":{"data":"'"$long"'"}}],"model":{"provider":"anthropic","name":"m"}}' \
	'{"role":"tool","parts":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"'"$long"'"},{"type":"image","image_mime_type":"image/png","image_base64":"'$png'"}]}]}')
one=$(weft new --key one)
weft append one --jsonl <<<"$messages" >/dev/null
blobs=$dir/store/blobs

# The same text in two messages is one blob, and so is the same image; the
# arguments are another.
same 3 "$(find "$blobs" -type f | wc -l)"
same 3 "$(find "$blobs" -type f -perm 600 | wc -l)"
same true "$(wc -c <"$(weft show --json one | json 'd["path"]')" | json 'd < 5000')"
parts() {
	weft --store "${1-$WEFT_STORE}" history one | jsonl '[m["parts"] for m in d]'
}
given=$(jsonl '[m["parts"] for m in d]' <<<"$messages" | sha256sum)
same "$given" "$(parts | sha256sum)"
same "$given" "$(weft tail one | jsonl '[e["parts"] for e in d if e["type"] == "message"]' | sha256sum)"
weft verify >/dev/null

# Moved and copied, with the digest of what was there.
stores=("sqlite:$dir/a.db" "jsonl:$dir/b" "memory:")
[ -z "${WEFT_TEST_PG-}" ] || stores+=("$WEFT_TEST_PG&schema=blobs")
digest=
for to in "${stores[@]}"; do
	report=$(weft --json move "$WEFT_STORE" "$to")
	: "${digest:=$(json 'd["digest"]' <<<"$report")}"
	same "$digest" "$(json 'd["digest"]' <<<"$report")"
	[ "$to" = memory: ] && continue
	same "$given" "$(parts "$to" | sha256sum)"
	same '[true, 3]' "$(weft --store "$to" --json verify | json '[d["ok"], d["blobs"]]')"
	same 0 "$(weft --store "$to" --json reindex | json 'd["changed"]')"
done
weft --store "sqlite:$dir/a.db" backup "$dir/copy.db" >/dev/null
same "$given" "$(parts "sqlite:$dir/copy.db" | sha256sum)"

# Nothing refers to this one; it must be old before it goes.
same 4 "$(weft append one --jsonl <<<'{"role":"user","expect":77,"parts":[{"type":"image","image_mime_type":"a/b","image_base64":"QUJD"}]}' \
	>/dev/null 2>&1 || echo $?)"
same 4 "$(find "$blobs" -type f | wc -l)"
same '0 blobs dropped, 4 left' "$(weft collect)"
find "$blobs" -type f -exec touch -d '2 days ago' {} +
same '[1, 3]' "$(weft collect --json | json '[d["changed"], d["blobs"]]')"
same "$given" "$(parts | sha256sum)"

# lost STORE: what is said of an image that is gone.
lost() {
	local status=0 format

	weft --store "$1" --json verify >"$dir/out" || status=$?
	same 6 "$status"
	same true "$(json 'sum("is missing" in p["reason"] and p["session"] != None for p in d["damaged"]) == 2' <"$dir/out")"
	status=0
	weft --store "$1" --json repair >"$dir/out" || status=$?
	same 6 "$status"
	same 2 "$(json 'len(d["damaged"])' <"$dir/out")"
	weft --store "$1" --json history one >"$dir/out"
	same true "$(jsonl 'd[0]["parts"][1]["type"] == "text" and "[lost: image of " in d[0]["parts"][1]["text"] and d[0]["parts"][1]["lost"]["why"] == "missing"' <"$dir/out")"
	same true "$(jsonl 'd[1]["parts"][1]["input"]["data"][-1] == "7"' <"$dir/out")"
	for format in anthropic openai responses text; do
		weft --store "$1" history one --format "$format" >"$dir/out"
		grep -q 'lost: image of ' "$dir/out" || fail "$format hides it"
	done
}
image=$(printf %s "$png" | base64 -d | sha256sum | cut -c1-64)
mv "$blobs/${image:0:2}/$image" "$dir/kept"
lost "$WEFT_STORE"
sqlite3 "$dir/a.db" "DELETE FROM blobs WHERE hex(sha256)='${image^^}'"
lost "sqlite:$dir/a.db"
# It is moved as it is, and mended by who says the same again.
to=jsonl:$dir/e
same "$digest" "$(weft --json move "$WEFT_STORE" "$to" | json 'd["digest"]')"
lost "$to"
head -1 <<<"$messages" >"$dir/again"
weft --store "$to" append one --jsonl <"$dir/again" >/dev/null
weft --store "$to" verify >/dev/null
mv "$dir/kept" "$blobs/${image:0:2}/$image"
weft verify >/dev/null

# Damage is found by its hash, wherever it is, and mended in the same way.
printf x | dd of="$blobs/${image:0:2}/$image" bs=1 seek=20 conv=notrunc 2>/dev/null
status=0
weft --json verify >"$dir/out" || status=$?
same 6 "$status"
like "*blobs/${image:0:2}/$image*" "$(json '[p["file"] for p in d["damaged"]]' <"$dir/out")"
same 2 "$(parts | grep -o '"why": "damaged"' | wc -l)"
sqlite3 "$dir/copy.db" "UPDATE blobs SET data=zeroblob(bytes) WHERE hex(sha256)='${image^^}'"
status=0
weft --store "sqlite:$dir/copy.db" --json verify >"$dir/out" || status=$?
same 6 "$status"
same 2 "$(parts "sqlite:$dir/copy.db" | grep -o '"why": "damaged"' | wc -l)"
for store in "$WEFT_STORE" "sqlite:$dir/copy.db"; do
	weft --store "$store" append one --jsonl <"$dir/again" >/dev/null
	weft --store "$store" verify >/dev/null
done
same "$one" "$(weft show --json one | json 'd["id"]')"

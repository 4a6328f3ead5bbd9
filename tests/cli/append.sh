#!/bin/bash
# append, with one message; history, message, redact.
. "$(dirname "$0")/lib.sh"

id=$(weft new --key k)

# The number and the id, or JSON.
like '2 ??????????????????????????' "$(weft append k one)"
same '[3, 26]' "$(weft append --json k two --role assistant |
	json '[d["seq"], len(d["id"])]')"
# From standard input, without the last newline.
printf 'three\n' | weft append k >/dev/null
printf 'four\n\n' | weft append --role=system k >/dev/null
same '["one", "two", "three", "four\n"]' "$(weft history k |
	jsonl '[m["parts"][0]["text"] for m in d]')"
same '["user", "assistant", "user", "system"]' "$(weft history k |
	jsonl '[m["role"] for m in d]')"
# Anything behind --, and options anywhere.
weft append -- k --role >/dev/null
weft append k --role user '' >/dev/null
same '["--role", ""]' "$(weft history k --last 2 |
	jsonl '[m["parts"][0]["text"] for m in d]')"

# Once.
first=$(weft append k --op o five)
same "$first replayed" "$(weft append k --op o five)"
same true "$(weft append --json k --op o five | json 'd["replayed"]')"
head=$(head_of k)
refused 4 op_mismatch "*'o'*" append k --op o other
refused 4 stale '*expected content_seq 1*' append k --expect 1 late
refused 4 stale '*token 9*' append k --token 9 x
weft append k --expect "$head" 'in time' >/dev/null

# What is wrong is refused, and nothing is written.
head=$(head_of k)
refused 2 usage '--role: expected one of user|assistant|tool|system, got *' \
	append k --role king x
refused 2 usage "--expect: expected a number, got '-1'" append k --expect -1 x
refused 2 usage "--expect: expected a number, got 'x'" append k --expect=x x
refused 2 usage "append: 'is' is too much; quote text *" append k this is text
refused 2 usage 'append: SESSION is missing; *' append
refused 2 usage '--op: expected O behind it' append k x --op
refused 2 usage '--op is given twice' append k x --op 1 --op 2
refused 2 usage '--jsonl takes no value' append k --jsonl=1
refused 2 usage 'append: --atomic goes with --jsonl' append k --atomic x
refused 2 usage 'append: TEXT and --jsonl *' append k --jsonl x
refused 2 usage 'append: with --jsonl *"role"*' append k --jsonl --role user
refused 2 usage 'append: with --jsonl *"op"*' append k --jsonl --op x
refused 2 usage 'append: no option -x; text that begins with a dash *' \
	append k -x
refused 2 invalid 'TEXT is not UTF-8' append k $'\xff'
input='\xff' refused 2 invalid 'TEXT is not UTF-8' append k
# Of a program that failed there is nothing to say; an empty text may be meant.
refused 2 usage 'append: TEXT is missing, and standard input is empty' append k
weft new --key blank >/dev/null
weft append blank '' >/dev/null
refused 2 invalid 'SESSION is not UTF-8' append $'\xff' x
refused 5 limit 'op: 129 bytes*' append k --op "$(printf '%129s' | tr ' ' x)" x
refused 2 invalid 'op has a control character *' append k --op $'a\nb' x
refused 3 not_found "no session 'nobody'" append nobody x
same "$head" "$(head_of k)"

# The limit, from both sides.
small="jsonl:$dir/store?message_bytes=100"
weft --store "$small" append k "$(printf '%40s')" >/dev/null
refused 5 limit '*the limit is 100 (limit message_bytes)' --store "$small" append k "$(printf '%101s')"

# history and message.
same "$(head_of k)" "$(weft history k --last 1 | jsonl 'd[0]["seq"]')"
same 3 "$(weft history k --last 3 | wc -l)"
same 0 "$(weft history k --last 0 | wc -l)"
same "$(weft history k)" "$(weft history k --last 1000)"
for view in full direct window; do
	same "$(weft history k)" "$(weft history k --view "$view")"
done
same "$(weft history k)" "$(weft history --json --format weft k)"
like '*"usage"*--format text*' "$(weft history k --json --format text 2>&1 || :)"
refused 2 usage '--format: expected one of weft|anthropic|openai|responses|text, got *' history k --format xml
message=$(weft history k | sed -n 2p)
mid=$(json 'd["id"]' <<<"$message")
same "$message" "$(weft message --json "$mid")"
same "$message" "$(weft message --json --session k 3)"
like 'assistant  ????-??-?? ??:??:??  #3'$'\n''two' "$(weft message "$mid")"
refused 3 not_found 'event 1 is no message' message --session k 1
refused 3 not_found 'the session has no message 99' message --session k 99
refused 3 not_found 'no message *' message 01ARZ3NDEKTSV4RRFFQ69G5FAV
refused 2 invalid 'message: expected a message id or a number, *' message x
refused 2 usage 'message: --session SESSION is missing: *' message 3

# Text for people: calls and results on one line each.
t=$(weft new)
weft append "$t" --jsonl >/dev/null <<'LINES'
{"role":"user","content":"two\nlines","from":{"id":"1","name":"Ann"}}
{"role":"assistant","parts":[{"type":"thinking","text":"hm\nhm"},{"type":"text","text":"ok"},{"type":"tool_use","id":"t1","name":"read","input":{"path":"a\nb"}}]}
{"role":"tool","parts":[{"type":"tool_result","tool_use_id":"t1","content":"line 1\nline 2","is_error":true}]}
{"role":"user","parts":[{"type":"image","image_mime_type":"image/png","image_base64":"AAAA"}],"background":true}
LINES
weft history "$t" --format text |
	sed 's/[0-9]*-[0-9]*-[0-9]* [0-9:]*/WHEN/' >"$dir/found"
cat >"$dir/expected" <<'TEXT'
user (Ann)  WHEN  #2
two
lines

assistant  WHEN  #3
  [thinking] hm hm
ok
  > read {"path":"a\nb"}

tool  WHEN  #4
  < error: line 1 line 2

user  WHEN  #5  background
  [image image/png]
TEXT
diff "$dir/expected" "$dir/found" || fail 'the text differs'

# redact hides, --undo shows again.
same '[2, true]' "$(weft redact --json "$t" 2 3 | json '[d["changed"], d["redacted"]]')"
same '[4, 5]' "$(weft history "$t" | jsonl '[m["seq"] for m in d]')"
same '[true, true, false, false]' "$(weft history "$t" --redacted |
	jsonl '[m["redacted"] for m in d]')"
refused 3 not_found 'message 2 is redacted; *option redacted*' message --session "$t" 2
same true "$(weft message --json --redacted --session "$t" 2 | json 'd["redacted"]')"
same '1 shown again' "$(weft redact "$t" 3 --undo)"
same '0 shown again' "$(weft redact "$t" 3 --undo)"
same '[3, 4, 5]' "$(weft history "$t" | jsonl '[m["seq"] for m in d]')"
refused 3 not_found 'the session has no message 99' redact "$t" 4 99
refused 2 usage 'redact: MESSAGE is missing; *' redact "$t"
same '[3, 4, 5]' "$(weft history "$t" | jsonl '[m["seq"] for m in d]')"

weft verify >/dev/null

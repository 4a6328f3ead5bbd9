#!/bin/bash
# history: every view and format, and cuts.
. "$(dirname "$0")/lib.sh"

weft new --key k >/dev/null
printf '%s\n' '{"role":"system","content":"Be brief."}' \
	'{"role":"user","content":"What is in notes?"}' \
	'{"role":"assistant","parts":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"t1","name":"read","input":{"path": "notes"}}]}' \
	'{"role":"tool","parts":[{"type":"tool_result","tool_use_id":"t1","content":"milk"}]}' \
	'{"role":"assistant","content":"Milk."}' \
	'{"role":"user","content":"Thanks!"}' |
	weft append k --jsonl >/dev/null

# One object for a provider, whether or not JSON is asked for.
a=$(weft history k --format anthropic)
same "$a" "$(weft --json history k --format anthropic --view window)"
same '["messages", "system"]' "$(json 'sorted(d)' <<<"$a")"
same 'Be brief.' "$(json 'd["system"]' <<<"$a")"
same '["user", "assistant", "user", "assistant", "user"]' \
	"$(json '[m["role"] for m in d["messages"]]' <<<"$a")"

o=$(weft history k --format openai)
same '["system", "user", "assistant", "tool", "assistant", "user"]' \
	"$(json '[m["role"] for m in d["messages"]]' <<<"$o")"
same '{"path": "notes"}' \
	"$(json 'd["messages"][2]["tool_calls"][0]["function"]["arguments"]' <<<"$o")"

r=$(weft history k --format responses)
same '["message", "message", "message", "function_call", "function_call_output", "message", "message"]' \
	"$(json '[i["type"] for i in d["items"]]' <<<"$r")"

# Cuts: a result without its call is left out; the last turn always stays.
same '[["system", "Be brief."], ["user", "Thanks!"]]' "$(weft history k --format openai --tokens 1 |
	json '[[m["role"], m["content"]] for m in d["messages"]]')"
same '["system", "assistant", "user"]' "$(weft history k --format openai --last 3 |
	json '[m["role"] for m in d["messages"]]')"
same 1 "$(weft history k --tokens 10 | wc -l)"
like '*Thanks!*' "$(weft history k --tokens 10 --format text)"
same 6 "$(weft history k --tokens 10000 | wc -l)"

refused 2 invalid 'tokens: expected 1 or more, found 0' history k --tokens 0
refused 2 usage '--format: expected one of weft|anthropic|openai|responses|text, got *' \
	history k --format gemini

# A damaged line and one edited by hand: what is left can still be sent.
file=$(weft show --json k | json 'd["path"]')
sed -i -e '/"milk"/s/.*/{"seq":5,torn/' \
	-e '/"Milk."/s/"type":"text"/"type":"smell"/' "$file"
like '*[[]no result: this call did not finish]*Thanks!*' \
	"$(weft history k --format anthropic)"
same '["system", "user", "assistant", "tool", "user"]' \
	"$(weft history k --format openai | json '[m["role"] for m in d["messages"]]')"

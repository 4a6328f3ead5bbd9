#!/bin/bash
# weft route: where a message belongs, and why.
. "$(dirname "$0")/lib.sh"

dm=(route --channel telegram --chat-type direct --chat-id 5 --sender-id 5)

# Whoever only looks leaves nothing behind.
like 'session   none yet (it would be made)
agent     main (default)
key       sk_v1_fe4a03e543c1d1ba92e86a51f333b73c34a1555aa56f2fde282e4a0ee8c15b82
signature v=1|agent=main|channel=telegram|account=default|chat=direct:5
why
  there are no rules: the default agent '"'main'"' answers
  dimensions: session.dimensions, the default
  dimension chat: '"'direct:5'" "$(weft "${dm[@]}" --dry-run)"
[ ! -e "$dir/store" ] || fail "a dry run made a store"

# The first message makes the session, the next ones find it.
weft "${dm[@]}" --json >"$dir/first"
same true "$(json 'd["created"]' <"$dir/first")"
id=$(json 'd["session"]' <"$dir/first")
same '["agent", "aliases", "created", "key", "main_aliases", "main_key", "matched_by", "scope", "session", "signature", "warnings", "why"]' \
	"$(json 'sorted(d)' <"$dir/first")"
same "$id" "$(weft "${dm[@]}" --json | json 'd["session"]')"
same "$id" "$(weft "${dm[@]}" --json --dry-run | json 'd["session"]')"
like "session   $id
*" "$(weft "${dm[@]}")"
same "$id" "$(weft show --json agent:main:telegram:direct:5 | json 'd["id"]')"
same '["telegram:5", "telegram", "main"]' \
	"$(weft show --json "$id" | json '[d["user"], d["channel"], d["agent"]]')"

# Rules, by the configuration; and one variable of the environment.
cat >"$dir/config.json" <<'EOF'
{
  "agents": { "list": [{ "id": "main" }, { "id": "support" }] },
  "dispatch": { "rules": [
    { "name": "mentions", "agent": "support",
      "when": { "channel": "slack", "mentioned": true } }
  ] }
}
EOF
export WEFT_CONFIG=$dir/config.json
slack=(route --dry-run --json --channel slack --chat-type channel --chat-id C1)
same '["support", "dispatch.rule:mentions"]' \
	"$(weft "${slack[@]}" --mentioned | json '[d["agent"], d["matched_by"]]')"
same "rule 1 'mentions': the agent was not mentioned" \
	"$(weft "${slack[@]}" | json 'd["why"][0]')"
same slack:channel:c1 \
	"$(WEFT_SESSION_DM_SCOPE=main weft "${slack[@]}" 2>/dev/null | json 'd["key"]')"
same agent:x:y "$(weft "${slack[@]}" --session-key agent:x:y | json 'd["key"]')"
same support "$(weft "${slack[@]}" --agent Support | json 'd["agent"]')"

# Another conversation under the same key is refused, and left alone.
WEFT_SESSION_DIMENSIONS='["chat","sender"]' weft route --channel irc \
	--chat-id a --sender-id b >/dev/null
refused 4 conflict '*another conversation: it is of *|chat=direct:a|sender=b*' \
	route --channel irc --chat-id 'a|sender=b'
refused 2 invalid 'sender_id has a control character*' \
	route --channel irc --sender-id "$(printf 'a\tb')"
refused 2 invalid '--sender-id is not UTF-8' \
	route --channel irc --sender-id "$(printf '\377')"

# Where it was said must be known, or all channels were one.
refused 2 usage 'route: --channel C is missing; *' route --sender-id 5
refused 2 usage '--channel: may not be empty; *' route --channel ' ' --sender-id 5

# White space around, a line break among it, does not count.
same "$(weft route --dry-run --json --channel irc --chat-id a | json 'd["key"]')" \
	"$(weft route --dry-run --json --channel "$(printf '\tIRC\n\t')" --chat-id "$(printf '\ra')" | json 'd["key"]')"

# Strangers who share are warned of when there are two, and only then; --debug
# says how the key came about, also where the answer is for programs.
export WEFT_SESSION_DM_SCOPE=main
shared=(route --channel telegram --chat-type direct --json --sender-id)
same '' "$(weft "${shared[@]}" alice 2>&1 >/dev/null)"
same '' "$(weft "${shared[@]}" Alice 2>&1 >/dev/null)"
like "weft: warning: more than one person speaks here: 'telegram:alice' began it, this is 'telegram:bob', *" \
	"$(weft "${shared[@]}" bob 2>&1 >/dev/null)"
like "more than one person *" "$(weft "${shared[@]}" bob 2>/dev/null | json 'd["warnings"][0]')"
like "*weft: debug: dm_scope main: the key is 'main'*weft: debug: key: main*" \
	"$(weft --debug "${shared[@]}" alice 2>&1 >/dev/null)"
like '*warning: session.dm_scope: the direct messages of all people*' "$(weft config check)"
like "weft: warning: more than one person speaks here, and all *" \
	"$(weft "${shared[@]}" alice 2>&1 >/dev/null)"
unset WEFT_SESSION_DM_SCOPE

# What is a group's is nobody's own: who leaves takes what they said.
group=agent:main:telegram:group:g1
weft route --channel telegram --chat-type group --chat-id g1 --sender-id 42 >/dev/null
for id in 42 77 77; do
	echo '{"role":"user","content":"x","from":{"id":"'$id'"}}'
done | weft append $group --jsonl >/dev/null
like '* 0 sessions, 1 event, *
as telegram:42: 0 sessions, 1 message in those of others' "$(weft purge --user telegram:42)"
same '["77", "77"]' "$(weft history $group | python3 -c 'import json, sys
print(json.dumps([json.loads(x)["from"]["id"] for x in sys.stdin]))')"
refused 2 invalid '*several people' purge --user '*'

# An older name that a conversation was only given is the key of another one.
weft route --channel telegram --chat-type direct --chat-id 7 --sender-id 7 >/dev/null
export WEFT_SESSION_DM_SCOPE=per-channel-peer
like "weft: warning: 'agent:main:telegram:direct:7' was an older name of session *" \
	"$(weft route --channel telegram --chat-type direct --chat-id 7 --sender-id 7 2>&1 >/dev/null)"
same '["agent:main:telegram:direct:7", 1]' \
	"$(weft list --key agent:main:telegram:direct:7 --json | json '[d["sessions"][0]["key"], len(d["sessions"])]')"

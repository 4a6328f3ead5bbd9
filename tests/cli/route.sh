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
same '["agent", "aliases", "created", "key", "main_aliases", "main_key", "matched_by", "scope", "session", "signature", "why"]' \
	"$(json 'sorted(d)' <"$dir/first")"
same "$id" "$(weft "${dm[@]}" --json | json 'd["session"]')"
same "$id" "$(weft "${dm[@]}" --json --dry-run | json 'd["session"]')"
like "session   $id
*" "$(weft "${dm[@]}")"
same "$id" "$(weft show --json agent:main:telegram:direct:5 | json 'd["id"]')"
same '["5", "telegram", "main"]' \
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
like 'weft: warning: session.dm_scope: the direct messages of all people*' \
	"$(WEFT_SESSION_DM_SCOPE=main weft "${slack[@]}" 2>&1 >/dev/null)"
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

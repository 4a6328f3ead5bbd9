#!/bin/bash
# weft cleanup, weft turn, weft agent.
. "$(dirname "$0")/lib.sh"

cat >"$dir/config.json" <<'END'
{ "retention": { "rules": [{ "max_sessions": 1 }] } }
END
export WEFT_CONFIG=$dir/config.json

first=$(weft new --slug 'the first')
second=$(weft new --slug 'the second')
third=$(weft new --slug 'the third')
weft append "$first" a >/dev/null
weft append "$second" b >/dev/null
weft append "$third" c >/dev/null
weft pin "$second" >/dev/null

like "would be removed: 1 session, * bytes
  $first  the first  (rule 1: more than 1 session)
would be purged: 0 sessions, 0 bytes
spared: 1 session, * bytes
  $second  the second  (pinned)" "$(weft cleanup --dry-run)"
same null "$(weft show "$first" --json | json 'd["deleted_at"]')"
like 'removed: 1 session, *' "$(weft cleanup)"
same '[true, 0, 1]' "$(weft cleanup --json | json '[d["ran"], d["removed"]["count"], d["spared"]["count"]]')"
like 'nothing was done: it has run today' "$(weft cleanup --if-due)"
weft restore "$first" >/dev/null
refused 2 usage '*' cleanup now

# While a turn runs, nothing is removed.
weft pin "$third" >/dev/null
like '*running*20*' "$(weft turn "$first" begun)"
like "*$first  the first  (running)*" "$(weft cleanup --dry-run)"
weft turn "$first" failed --reason 'no model' >/dev/null
like 'would be removed: 1 session, *' "$(weft cleanup --dry-run)"
refused 2 invalid 'reason: *' turn "$first" ended --reason x
refused 2 usage '*begun*' turn "$first" over

# Without rules nothing is.
rm "$dir/config.json"
like 'would be removed: 0 sessions*' "$(weft cleanup --dry-run)"

same none "$(weft agent dan)"
same Sasha "$(weft agent dan Sasha)"
same Sasha "$(weft agent ' DAN')"
same '{"user": "dan", "agent": "Sasha"}' "$(weft agent dan --json | json d)"
same none "$(weft agent dan '')"
refused 2 invalid 'user: *' agent ' '

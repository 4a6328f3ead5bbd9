#!/bin/bash
# new, show, list and what changes a session.
. "$(dirname "$0")/lib.sh"

# Reading makes no store.
refused 3 not_found "*no store at $dir/store*weft new*" list
[ ! -e "$dir/store" ] || fail 'a store was made by reading'

# new prints an id, and makes what scripts can keep.
id=$(weft new --key main --slug 'first one' --alias a --alias b --agent coder \
	--project /srv/x --model anthropic/claude --user anna --channel cli \
	--user-role admin --metadata '{"n": 1.50}')
same 26 "${#id}"
s=$(weft show --json main)
same "$id" "$(json 'd["id"]' <<<"$s")"
same '["a", "b"]' "$(json 'd["aliases"]' <<<"$s")"
same 'first one coder /srv/x anna cli admin' \
	"$(json '" ".join(d[k] for k in "slug agent project_dir user channel user_role".split())' <<<"$s")"
same '{"provider": "anthropic", "name": "claude"}' "$(json 'd["model"]' <<<"$s")"
like '*"metadata":{"n": 1.50}*' "$s"
[ -f "$(json 'd["path"]' <<<"$s")" ] || fail 'path is no file'
same 0700 "$(stat -c %04a "$dir/store")"

# Names: id, key, alias, title, beginning of an id, in either case.
for name in "$id" main a b 'first one' "${id:0:10}" "${id,,}"; do
	same "$id" "$(weft show --json "$name" | json 'd["id"]')"
done
refused 3 not_found "no session 'nobody'" show nobody
refused 3 not_found "no session *" show 01ARZ3NDEKTSV4RRFFQ69G5FAV
refused 3 not_found "no session '${id:0:5}'; *6 characters or more" show "${id:0:5}"

# A key that is there is found, not made.
same "$id" "$(weft new --key main --slug other)"
same '[false, "first one"]' \
	"$(weft new --json --key main | json '[d["created"], d["slug"]]')"

# An operation id makes one session.
two=$(weft new --op o1 --slug two)
same "$two" "$(weft new --op o1 --slug two)"
refused 4 op_mismatch "*'o1'*" new --op o1 --key other
refused 4 op_mismatch "*'o1'*$two" new --op o1 --slug three
refused 4 op_mismatch "*'o1'*$two" new --op o1 --slug two --user u

# A title that two have is of no use as a name.
weft new --slug two >/dev/null
refused 4 ambiguous "'two' could be *, *: say which by its id" show two

# Subagents.
sub=$(weft new --kind subagent --parent main --parent-tool-use-id t1)
same "[\"$id\", \"$id\", \"t1\"]" "$(weft show --json "$sub" |
	json '[d["parent"], d["root"], d["parent_tool_use_id"]]')"
refused 2 invalid 'parent: a subagent must have one' new --kind subagent
refused 2 usage '--kind: expected one of primary|subagent|book, got *' \
	new --kind dog

# Text for people.
like "id           $id*title        first one*" "$(weft show main)"

# Lists, newest first, in pages both ways.
list=$(weft list)
same 3 "$(wc -l <<<"$list")"
like "$two"$'\t*' "$(sed -n 2p <<<"$list")"
page=$(weft list --json --limit 2)
next=$(json 'd["next"]' <<<"$page")
same null "$(json 'd["prev"]' <<<"$page")"
page=$(weft list --json --limit 2 --cursor "$next")
same "[\"$id\"]" "$(json '[s["id"] for s in d["sessions"]]' <<<"$page")"
same null "$(json 'd["next"]' <<<"$page")"
prev=$(json 'd["prev"]' <<<"$page")
same 2 "$(weft list --json --limit 2 --cursor "$prev" | json 'len(d["sessions"])')"
refused 2 invalid 'cursor: *' list --cursor x
refused 2 invalid 'cursor: *' list --cursor "$next" --sort created
refused 2 invalid 'limit: *' list --limit 0
refused 5 limit 'limit: *' list --limit 1001
same "$sub" "$(weft list --kind subagent | cut -f1)"
same "$sub" "$(weft list --parent main | cut -f1)"
same "$id" "$(weft list --query FIRST | cut -f1)"
same "$id" "$(weft list --user anna --channel cli --agent coder --project /srv/x | cut -f1)"
same '' "$(weft list --user nobody)"
same 4 "$(weft list --kind all | wc -l)"
weft append "$two" hello >/dev/null
same "$two" "$(weft list | head -1 | cut -f1)"
[ "$two" != "$(weft list --sort created | head -1 | cut -f1)" ] ||
	fail 'sorted by interaction'

# Changes print the session.
same renamed "$(weft rename --json main renamed | json 'd["slug"]')"
head=$(head_of main)
weft rename main renamed >/dev/null
same "$head" "$(head_of main)" # what changes nothing writes nothing
same '' "$(weft rename --json main '' | json 'd["slug"]')"
same true "$(weft pin --json main | json 'd["pinned"]')"
same false "$(weft unpin --json main | json 'd["pinned"]')"
weft set main agent=x model=p/n 'metadata={"a":[1]}' 'tools=["t"]' \
	pinned=true expires_at=2030-01-01T00:00:00Z >/dev/null
same '["x", {"provider": "p", "name": "n"}, {"a": [1]}, ["t"], true, "2030-01-01T00:00:00.000Z"]' \
	"$(weft show --json main | json '[d[k] for k in "agent model metadata tools pinned expires_at".split()]')"
weft set main metadata= tools= expires_at= model= pinned=false user= >/dev/null
same '[{}, null, null, "", {"provider": "", "name": ""}]' \
	"$(weft show --json main | json '[d[k] for k in "metadata tools expires_at user model".split()]')"
head=$(head_of main)
refused 2 usage "set: no field 'agnet'; did you mean 'agent'?" set main agnet=x
refused 2 usage "set: expected FIELD=VALUE, got 'agent'" set main agent
refused 2 usage "pinned: expected true or false, got 'maybe'" \
	set main agent=y pinned=maybe
refused 2 invalid 'metadata: not JSON: *' set main 'metadata={'
refused 2 usage "model: expected PROVIDER/NAME, got 'x'" set main model=x
same "$head" "$(head_of main)"

# Aliases.
weft alias add main c >/dev/null
refused 4 exists "*'c'*" alias add "$two" c
weft alias move "$two" c >/dev/null
same "$two" "$(weft show --json c | json 'd["id"]')"
weft alias remove "$two" c >/dev/null
refused 3 not_found "no session 'c'" show c
refused 2 usage 'alias: expected one of add|move|remove, got *' alias put main c

# Delete and restore.
like '2*Z' "$(weft delete --json main | json 'd["deleted_at"]')"
refused 3 not_found "no session 'main'" show main
refused 4 deleted '*deleted*' append "$id" hello
refused 3 not_found "no session 'main'; a deleted one is found by its id: *" restore main
same "$id" "$(weft list --deleted | grep -w deleted | cut -f1)"
same null "$(weft restore --json "$id" | json 'd["deleted_at"]')"
same "$id" "$(weft show --json main | json 'd["id"]')"

# What somebody else has taken since is not given back, and that is said.
weft delete main >/dev/null
taker=$(weft new --key main)
same "[[\"main\", \"$taker\"]]" "$(weft restore --json "$id" |
	json '[[x["name"], x["session"]] for x in d["lost"]]')"
same '[]' "$(weft restore --json "$id" | json 'd["lost"]')"
weft delete "$id" >/dev/null
weft delete "$taker" >/dev/null
other=$(weft new --key main)
like "*the key 'main' is that of session $other now" "$(weft restore "$taker")"
weft delete "$other" >/dev/null

weft verify >/dev/null

#!/bin/bash
# fork, tree, and the window: compact, truncate, clear, undo, redo, markers.
. "$(dirname "$0")/lib.sh"

weft new --key work >"$dir/id"
for i in 1 2 3; do
	weft append work "u$i" >"$dir/said"
	weft append work --role assistant "a$i" >"$dir/said"
done

# texts ARGUMENT...: what history shows, on one line.
texts() {
	weft history "$@" | jsonl '" ".join(
		m["summary"] if "summary" in m else m["parts"][0]["text"]
		for m in d)'
}

# A fork prints its id, and goes on behind its message.
fork=$(weft fork work --at 3 --slug other --model p/n)
same 26 "${#fork}"
weft append other more >"$dir/said"
same 'u1 a1 more' "$(texts other)"
same 'more' "$(texts other --view direct)"
same '["p", "n", 3, 2]' "$(weft show --json other |
	json '[d["model"]["provider"], d["model"]["name"], d["fork_seq"], d["inherited_count"]]')"
id=$(weft history work | head -n 1 | json 'd["id"]')
same 'u1' "$(texts "$(weft fork work --at "$id")")"
refused 3 not_found '*no message 99' fork work --at 99
once=$(weft fork work --at 3 --op f)
same "$once" "$(weft fork work --at 3 --op f)"
refused 4 op_mismatch "*'f'*" fork work --at 5 --op f --slug zz
weft purge "$once" >/dev/null
refused 3 not_found "no session 'nobody'" fork nobody

# Everybody under whom it comes from.
same 3 "$(weft tree work | wc -l)"
like "  $fork *other" "$(weft tree work | grep -F other)"
same other "$(weft tree --json work | json '[c["session"]["slug"] for c in d["children"]][1]')"

# The window.
like '8  *compact*from message 6*They*' "$(weft compact work --keep 2 --summary 'They
spoke.')"
same 'They
spoke. u3 a3' "$(texts work --view window)"
like 'Summary*They*spoke.*u3*' "$(weft history work --view window --format text)"
weft truncate work --keep 1 >"$dir/said"
same 'nothing to change' "$(weft truncate work --keep 1)"
weft undo work >"$dir/said"
same '[6, "redo"]' "$(weft redo --json work >"$dir/said"; weft undo --json work |
	json '[d["marker"]["first_kept"], "redo"]')"
refused 2 invalid '*nothing to redo*' redo "$fork"
like '*clear*nothing before it is kept' "$(weft clear work)"
same '' "$(texts work --view window)"
same 'compact truncate undo redo undo clear' "$(weft markers --json work |
	json '" ".join(m["how"] for m in d["markers"])')"
same 6 "$(weft markers work | wc -l)"
same 'u1 a1 u2 a2 u3 a3' "$(texts work)"
refused 2 usage "truncate: --keep N is missing; *" truncate work
refused 2 invalid '*keep*before*after*summary*' compact work
refused 2 invalid '*one of*' compact work --keep 1 --after 3
refused 2 invalid 'summary: is blank*clear*' compact work --keep 1 --summary ''
# A summary alone stands for everything; behind a message, for all up to it.
weft compact work --after 5 --summary 'up to a2' >/dev/null
same 'up to a2 u3 a3' "$(weft history work --view window --json |
	jsonl '" ".join(m.get("summary") or m["parts"][0]["text"] for m in d)')"
weft compact work --summary all >/dev/null
same 'all' "$(weft history work --view window --json |
	jsonl '" ".join(m.get("summary") or m["parts"][0]["text"] for m in d)')"
# Who holds the lease may do all that to the window.
weft lease acquire work --owner me --json >/dev/null
token=$(weft show work --json | json 'd["lease"]["token"]')
for act in 'clear' 'undo' 'redo' 'truncate --keep 0' 'compact --summary s'; do
	read -ra words <<<"$act work"
	refused 4 leased '*me*' "${words[@]}"
	weft "${words[@]}" --token "$token" >/dev/null
done

# The same operation again changes nothing.
ops=$(weft new)
for text in a b c d; do
	weft append "$ops" $text >/dev/null
done
again() {
	same "$(weft "$@" --json | json 'd["marker"]["id"]')" \
		"$(weft "$@" --json | json 'd["marker"]["id"]')"
}
same '[12, "s"]' "$(weft compact "$ops" --keep 3 --summary s --tokens-saved 12 --json |
	json '[d["marker"]["tokens_saved"], d["marker"]["summary"]]')"
again truncate "$ops" --keep 2 --op o1
again undo "$ops" --op o2
again redo "$ops" --op o3
again clear "$ops" --op o4
same 5 "$(weft markers "$ops" --json | json 'len(d["markers"])')"

#!/bin/bash
# lease: acquire, renew, release, takeover, and what it keeps others from.
. "$(dirname "$0")/lib.sh"

id=$(weft new --key work)
weft append work zero >/dev/null
like '3 until 20*Z, held by ann' "$(weft lease acquire work --owner ann)"
same '["ann", 3]' "$(weft show work --json |
	json '[d["lease"]["owner"], d["lease"]["token"]]')"
like $'*\nlease        ann, until 20??-??-?? ??:??:?? (token 3)\n*' "$(weft show work)"
refused 4 leased "leased by 'ann' until * (token 3): wait, write with its token, or take it over" \
	append work hello
refused 4 leased "leased by 'ann' until *" append work --token 1 hello
refused 4 leased "leased by 'ann' until *" lease acquire work --owner ben
refused 4 leased "leased by 'ann' until *" redact work 2
refused 4 leased "leased by 'ann' until *" delete work
refused 4 leased "leased by 'ann' until *" usage add work --cost 1
weft append work --token 3 one >/dev/null
printf '%s\n' '{"role":"user","content":"two"}' '{"role":"user","content":"three"}' |
	weft append work --jsonl --token 3 >/dev/null
same 'zero one two three' "$(texts work)"
same 3 "$(weft lease renew work --owner ann --token 3 --ttl 3600 --json |
	json 'd["token"]')"
same '{"owner":null,"token":null,"expires_at":null}' \
	"$(weft lease release work --owner ann --token 3 --json)"
same null "$(weft show work --json | json 'd["lease"]')"
refused 4 stale 'lease token 3 is not in force any more: acquire the lease again' \
	append work --token 3 hello
weft append work four >/dev/null

refused 2 usage '*acquire|renew|release|takeover*' lease borrow work
refused 2 invalid 'owner: may not be empty' lease acquire work
refused 2 invalid 'token: needed to renew a lease, or at least its owner' \
	lease renew work
refused 2 invalid 'ttl: expected 5 to 3600 seconds, found 1 *' \
	lease acquire work --owner ann --ttl 1

# An owner that was stopped while its lease was taken over is refused when it
# goes on, although it had been let in before.
token=$(weft lease acquire work --owner old --json | json 'd["token"]')
coproc old { exec "$WEFT" append "$id" --jsonl --token "$token"; }
# shellcheck disable=SC2154
pid=$old_PID
echo '{"role":"user","content":"five"}' >&"${old[1]}"
read -r line <&"${old[0]}"
like '{"seq":*' "$line"
kill -STOP "$pid"
new=$(weft lease takeover work --owner new --json | json 'd["token"]')
[ "$new" -gt "$token" ] || fail "token $new after $token"
echo '{"role":"user","content":"never"}' >&"${old[1]}"
kill -CONT "$pid"
read -r line <&"${old[0]}"
like '{"error":{"code":"leased",*' "$line"
exec {old[1]}>&-
status=0
wait "$pid" || status=$?
same 4 "$status"
same 'zero one two three four five' "$(texts work)"

# It ends by itself.
export WEFT_STORE="jsonl:$dir/store?lease_ms_min=1"
weft lease takeover work --owner me --ttl 1 >/dev/null
refused 4 leased '*' append work six
sleep 1.1
weft append work six >/dev/null

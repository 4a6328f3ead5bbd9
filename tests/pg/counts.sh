#!/bin/bash
# How many statements an act is: the same in a small store and in a large one,
# in a short session and in a long one.  Started by with-server.sh.
. "$(dirname "$0")/../cli/lib.sh"

: "${WEFT_TEST_PG:?started by with-server.sh}"
export WEFT_STORE=$WEFT_TEST_PG
log=$WEFT_TEST_PG_DATA/../server.log
socket=${WEFT_TEST_PG#*host=}
socket=${socket%%&*}

sql() {
	psql -X -q -A -t -h "$socket" -U weft postgres -c "$1"
}

# statements COMMAND...: how many the server was sent by it.  Others are not told
# while they are still being told of the commit before: that is chance.
statements() {
	: >"$log"
	"$@" >"$dir/out" || fail "$*: $(cat "$dir/out")"
	grep 'execute \|statement: ' "$log" | grep -vc 'statement: NOTIFY'
}

atomic() { # SESSION MESSAGES
	head -"$2" "$dir/plain" | weft append "$1" --jsonl --atomic
}

# acts SESSION: what is to cost the same, whatever else there is.
acts() {
	echo "append $(statements weft append "$1" hello)"
	echo "append with an operation id $(statements weft append "$1" hello --op "$1 again")"
	echo "the same again $(statements weft append "$1" hello --op "$1 again")"
	echo "ten at once $(statements atomic "$1" 10)"
	echo "a thousand at once $(statements atomic "$1" 1000)"
	echo "window $(statements weft history "$1" --view window)"
	echo "last 50 $(statements weft history "$1" --last 50)"
	echo "for a provider $(statements weft history "$1" --view window --format anthropic)"
	echo "show $(statements weft show "$1")"
	echo "list $(statements weft list)"
	echo "list of a project $(statements weft list --project /p)"
	echo "list by creation $(statements weft list --sort created)"
	echo "fork $(statements weft fork "$1" --slug "fork of $1")"
	echo "truncate $(statements weft truncate "$1" --keep 5)"
	echo "alias $(statements weft alias add "$1" "alias of $1")"
	echo "lease $(statements weft lease acquire "$1" --owner me)"
}

seq 10000 | sed 's/.*/{"role":"user","content":"m&"}/' >"$dir/plain"
for s in short long; do
	weft new --key "$s" --project /p >/dev/null
done
for _ in $(seq 60); do
	echo '{"role":"user","content":"x"}'
done | tee "$dir/some" | weft append short --jsonl >/dev/null
weft append long --jsonl <"$dir/some" >/dev/null
weft truncate long --keep 10 >/dev/null
weft truncate short --keep 10 >/dev/null
for i in 1 2 3 4 5 6 7 8; do
	weft new --key "k$i" --project /p >/dev/null
done
# With one of a few that are listed, and later with all of them.
weft alias add k1 "another k1" >/dev/null

sql 'ALTER SYSTEM SET log_min_messages=log'
sql "ALTER SYSTEM SET log_statement='all'"
sql 'SELECT pg_reload_conf()' >/dev/null
for _ in $(seq 100); do
	[ "$(statements weft list)" -eq 0 ] || break
	sleep 0.05
done
small=$(acts short)
[ "$(awk '{ n += $NF } END { print (n > 60) }' <<<"$small")" = 1 ] || fail "nothing was counted: $small"
same "$(sed -n 's/^ten at once //p' <<<"$small")" "$(sed -n 's/^a thousand at once //p' <<<"$small")"

# 10,000 messages, and 10,000 sessions.
weft append long --jsonl <"$dir/plain" >/dev/null
weft truncate long --keep 10 >/dev/null
# copies TABLE WHAT: 10,000 rows like that of k1, with other ids.
copies() {
	columns=$(sql "SELECT string_agg(quote_ident(column_name),',' ORDER BY ordinal_position)
		FROM information_schema.columns WHERE table_schema='weft' AND table_name='$1'")
	sql "INSERT INTO weft.$1($columns) SELECT r.${columns//,/,r.} FROM weft.$1 s, generate_series(1,10000) i,
		LATERAL jsonb_populate_record(s, jsonb_build_object('id','\\x'||md5(i::text),$2)) r
		WHERE s.id=(SELECT session FROM weft.names WHERE name=convert_to('k1','UTF8'))"
}
copies recents "'recent',(SELECT last_interaction_at FROM weft.heads WHERE id=s.id)+i>>8"
copies heads "'last_interaction_at',s.last_interaction_at+i"
copies sessions "'created_at',s.created_at+i"
same 10000 "$(sql "SELECT count(*)/10000*10000 FROM weft.sessions")"
same "$small" "$(acts long)"

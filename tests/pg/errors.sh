#!/bin/bash
# A store on a PostgreSQL server: what it refuses, and what it survives.
# Started by with-server.sh.
. "$(dirname "$0")/../cli/lib.sh"

: "${WEFT_TEST_PG:?started by with-server.sh}"
export WEFT_STORE=$WEFT_TEST_PG
socket=${WEFT_TEST_PG#*host=}
socket=${socket%%&*}

sql() {
	psql -X -q -A -t -h "$socket" -U weft postgres -c "$1"
}

refused 3 not_found '*no store in schema weft*' list
weft new --key k >/dev/null
weft append k hello >/dev/null
same hello "$(texts k)"
weft verify >/dev/null
same 1 "$(sql 'SELECT count(*) FROM weft.sessions')"

# Ten at once make one store.
export WEFT_STORE="$WEFT_TEST_PG&schema=ten"
for i in 1 2 3 4 5 6 7 8 9 10; do
	weft new --key same >"$dir/new.$i" 2>&1 &
done
wait
same 1 "$(cat "$dir"/new.* | sort -u | wc -l)"
same 1 "$(sql 'SELECT count(*) FROM ten.sessions')"
# Who has left is counted, and has no row of its own.
same left "$(sql 'SELECT name FROM ten.commits')"
export WEFT_STORE=$WEFT_TEST_PG

# Not there, or not allowed.
refused 3 not_found '*database "none" does not exist*' list \
	--store "postgres:///none?host=$socket&user=weft"
refused 7 io '*role "nobody" does not exist*' list \
	--store "postgres:///postgres?host=$socket&user=nobody"
refused 2 invalid '*single*' list --store "$WEFT_STORE&single=1"
refused 2 invalid '*partitions: expected*' list --store "$WEFT_STORE&partitions=x"
refused 7 read_only '*reading only*' append k x --store "$WEFT_STORE&read_only=1"
same hello "$(texts k --store "$WEFT_STORE&read_only=1")"

# What is secret stays so.
for url in "postgres://weft:s3cret@/postgres?host=$dir/nowhere" \
	"postgres://weft:s3cret%zz@/postgres" \
	"postgres://weft:s3cret@[/postgres" \
	"postgres:///none?host=$socket&user=weft&password=s3cret"; do
	weft --debug --store "$url" list >"$dir/out" 2>&1 && fail "opened $url"
	! grep -q s3cret "$dir/out" || fail "told the password: $(cat "$dir/out")"
done

# A wrong password.
sql "CREATE ROLE guarded LOGIN PASSWORD 'right'"
sed -i '1i local all guarded scram-sha-256' "$WEFT_TEST_PG_DATA/pg_hba.conf"
sql 'SELECT pg_reload_conf()' >/dev/null
refused 7 io '*password authentication failed*' list \
	--store "postgres://guarded:wr0ng@/postgres?host=$socket"

# Tables of a newer version.
sql 'UPDATE weft.meta SET version=99'
refused 7 io '*version 99, newer than this weft knows*' list
refused 7 io '*version 99, newer than this weft knows*' new
sql 'UPDATE weft.meta SET version=7'

# Tables of an older version: ten at once bring them up to date, once.
old() { # SQL
	psql -X -q -A -t -h "$socket" -U weft old -c "$1"
}
export WEFT_STORE=${WEFT_TEST_PG/postgres\?/old?}
sql 'CREATE DATABASE old'
psql -X -q -v ON_ERROR_STOP=1 -h "$socket" -U weft old -f "$(dirname "$0")/../data/postgres_v4.sql"
refused 7 io '*version 4: open it once for writing*' list --store "$WEFT_STORE&read_only=1"
for version in 4 1; do
	# All of it or nothing: what cannot be brought up to date stays as it was.
	old "CREATE TABLE weft.kept AS SELECT id, session FROM weft.events WHERE op='op-1';
		UPDATE weft.events SET session='\\x0102' WHERE op='op-1'"
	before=$(old "SELECT md5(string_agg(c::text,',' ORDER BY c::text)) FROM information_schema.columns c
		WHERE table_schema='weft'")
	refused 6 corrupt '*events*' append k x
	same "$version $before" "$(old 'SELECT version FROM weft.meta') $(
		old "SELECT md5(string_agg(c::text,',' ORDER BY c::text)) FROM information_schema.columns c
			WHERE table_schema='weft'")"
	old 'UPDATE weft.events e SET session=k.session FROM weft.kept k WHERE k.id=e.id; DROP TABLE weft.kept'
	for i in 1 2 3 4 5 6 7 8 9 10; do
		weft append other "after $i of $version" >"$dir/new.$i" 2>&1 || echo failed >"$dir/failed" &
	done
	wait
	[ ! -e "$dir/failed" ] || fail "$(cat "$dir"/new.*)"
	same 7 "$(old 'SELECT version FROM weft.meta')"
	# What was there is there, and what is derived is what events say.
	same 'one two' "$(weft history k | sed -n 's/.*"text":"\([a-z]*\)".*/\1/p' | head -2 | xargs)"
	like '*7 in, 3 out*' "$(weft show k)"
	same 'k first' "$(weft list --json | python3 -c 'import json, sys
s = json.load(sys.stdin)["sessions"][0]
print(s["key"], s["slug"])')"
	same "$(weft append k one --op op-1)" "$(weft append k one --op op-1)"
	refused 4 op_mismatch '*op-1*' append k other --op op-1
	same 1 "$(weft list --deleted | grep -c third)"
	weft verify >/dev/null
	like '*: ok' "$(weft reindex)"
	[ "$version" = 1 ] || old 'DROP TABLE weft.sessions, weft.heads, weft.recents;
		DROP INDEX weft.events_op;
		CREATE INDEX events_op ON weft.events(session,op,seq) WHERE op<>$$$$ AND type<>1;
		CREATE INDEX events_creation ON weft.events(op,session) WHERE op<>$$$$ AND type=1;
		CREATE TABLE weft.sessions(id bytea); DELETE FROM weft.names;
		ALTER TABLE weft.commits DROP COLUMN void; UPDATE weft.meta SET version=1'
done
export WEFT_STORE=$WEFT_TEST_PG

# A server that does not flush.
sql 'ALTER SYSTEM SET fsync=off'
sql 'SELECT pg_reload_conf()' >/dev/null
refused 7 io '*fsync=off*' list
sql 'ALTER SYSTEM RESET fsync'
sql 'SELECT pg_reload_conf()' >/dev/null

# A server that only reads.
sql 'ALTER DATABASE postgres SET default_transaction_read_only=on'
refused 7 read_only '*read-only*' new
PGOPTIONS='-c default_transaction_read_only=off' \
	sql 'ALTER DATABASE postgres RESET default_transaction_read_only'

# Its backends are killed in the middle of a thousand messages: every one that
# was acknowledged is there, once.
for i in $(seq 1 1000); do
	printf '{"role":"user","content":"m%d","op":"o%d"}\n' "$i" "$i"
done >"$dir/lines"
weft new --key many >/dev/null
weft append many --jsonl <"$dir/lines" >"$dir/answers" &
writer=$!
for _ in 1 2 3 4 5 6 7 8; do
	sleep 0.05
	sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE application_name='weft' AND pid<>pg_backend_pid()" >/dev/null
done
wait "$writer" || fail "$(grep error "$dir/answers" | head -1)"
same 1000 "$(grep -c '"seq"' "$dir/answers")"
same 1000 "$(weft history many | wc -l)"
same "$(seq -f m%.0f -s ' ' 1 1000)" "$(texts many)"

# Measuring leaves nothing behind.
weft bench append --rounds 1 --milliseconds 5 --json --store "$WEFT_TEST_PG" \
	--dir "$dir" >"$dir/out"
same '["plain", "one_writer", "threads64", "inflight64", "inflight256"]' \
	"$(json 'list(d)' <"$dir/out")"
same 0 "$(sql "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'weft_bench%'")"

# The wait for a standby is cut short: nobody can tell, but the operation id.
sql "ALTER SYSTEM SET synchronous_standby_names='nobody'"
sql 'SELECT pg_reload_conf()' >/dev/null
weft append k doubtful --op doubt >"$dir/out" 2>"$dir/err" &
writer=$!
for _ in $(seq 100); do
	[ "$(sql "SELECT count(*) FROM (SELECT pg_cancel_backend(pid) FROM pg_stat_activity
		WHERE wait_event='SyncRep') AS c")" = 0 ] || break
	sleep 0.1
done
# Opening waits, too, before the append does.
for _ in $(seq 100); do
	kill -0 "$writer" 2>/dev/null || break
	sql "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event='SyncRep'" >/dev/null
	sleep 0.1
done
status=0
wait "$writer" || status=$?
sql 'ALTER SYSTEM RESET synchronous_standby_names'
sql 'SELECT pg_reload_conf()' >/dev/null
[ "$status" -ne 0 ] || fail "a cancelled wait was called success"
like '*may have been written*operation id*' "$(cat "$dir/err")"
weft append k doubtful --op doubt >/dev/null
same 1 "$(weft history k | grep -c doubtful)"

# Who watches sees what another node writes, also after a lost connection.
head=$(weft --json show k | json 'd["head_seq"]')
"$WEFT" tail k -f --after "$head" --json >"$dir/tail" 2>&1 &
watcher=$!
weft append k 'seen 1' >/dev/null
sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE application_name='weft' AND pid<>pg_backend_pid()" >/dev/null
weft append k 'seen 2' >/dev/null
for _ in $(seq 100); do
	[ "$(grep -c seen "$dir/tail")" -lt 2 ] || break
	sleep 0.1
done
kill "$watcher"
wait "$watcher" || true
same 'seen 1 seen 2' "$(grep -o 'seen [0-9]' "$dir/tail" | xargs)"

# Backing up is the server's business.
refused 2 invalid '*pg_dump*' backup "$dir/x"

# What is derived can be derived again.
sql "UPDATE weft.heads SET head_seq=77; DELETE FROM weft.recents WHERE shelf=0; DELETE FROM weft.names"
weft reindex >/dev/null
weft verify >/dev/null
like 'hello *' "$(texts k)"

#!/bin/bash
# What a store does beside a server that asks for TLS and passwords, hangs, has
# a full disk, or is a standby.  Started by with-server.sh.
. "$(dirname "$0")/../cli/lib.sh"

: "${WEFT_TEST_PG:?started by with-server.sh}"
data=$WEFT_TEST_PG_DATA
bin=$WEFT_TEST_PG_BIN
socket=${WEFT_TEST_PG#*host=}
socket=${socket%%&*}
standby=$socket/standby
secret=s3cr3t-w0rd

# As the user that the server runs as.
as_server() {
	if [ "$(id -u)" -eq 0 ]; then
		(cd / && setpriv --reuid "$(stat -c %u "$data")" \
			--regid "$(stat -c %g "$data")" --clear-groups "$@")
	else
		"$@"
	fi
}

ctl() { # DATA ARGUMENT...
	as_server "$bin/pg_ctl" -D "$1" -l "$1/../server.log" -w -t 30 -s "${@:2}"
}

# The standby must not outlive the test.
trap 'ctl "$standby/data" -m immediate stop >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT

sql() {
	psql -X -q -A -t -h "$socket" -p "$port" -U weft postgres -c "$1"
}

# quietly STATUS PATTERN ARGUMENT...: fails like this, and nothing that is
# said has the password in it, whatever is asked for.
quietly() {
	local status=$1 pattern=$2 found=0
	shift 2
	weft --debug "$@" >"$dir/said" 2>&1 || found=$?
	! grep -q "$secret" "$dir/said" || fail "told the password: $(cat "$dir/said")"
	same "$status" "$found"
	like "*$pattern*" "$(cat "$dir/said")"
}

# ---- TLS, as the URL says ----

certificate() { # NAME COMMON-NAME [CA]
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -batch \
		-keyout "$dir/$1.key" -subj "/CN=$2" -out "$dir/$1.csr" 2>/dev/null
	if [ $# -eq 2 ]; then
		openssl x509 -req -in "$dir/$1.csr" -signkey "$dir/$1.key" -days 2 \
			-extfile <(echo basicConstraints=critical,CA:TRUE) \
			-out "$dir/$1.crt" 2>/dev/null
	else
		openssl x509 -req -in "$dir/$1.csr" -CA "$dir/$3.crt" -CAkey "$dir/$3.key" \
			-CAcreateserial -days 2 -extfile <(echo subjectAltName=DNS:localhost) \
			-out "$dir/$1.crt" 2>/dev/null
	fi
}
certificate ours 'ours'
certificate theirs 'theirs'
certificate server localhost ours
for file in server.key server.crt; do
	as_server sh -c "umask 077; cat >'$data/$file'" <"$dir/$file"
done
port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >>"$data/postgresql.conf" <<-EOT
	listen_addresses = '127.0.0.1'
	port = $port
	ssl = on
EOT
# Over TCP only with TLS and the right password.
cat >"$data/pg_hba.conf" <<-EOT
	local all all trust
	local replication all trust
	hostssl all all 127.0.0.1/32 scram-sha-256
EOT
ctl "$data" -m fast restart
sql "CREATE ROLE guarded SUPERUSER LOGIN PASSWORD '$secret'"

tls="postgres://guarded:$secret@localhost:$port/postgres?partitions=2&hostaddr=127.0.0.1"
verified="$tls&sslmode=verify-full&sslrootcert=$dir/ours.crt"
weft --store "$verified" new --key k >/dev/null
weft --store "$verified" append k hello >/dev/null
same hello "$(texts k --store "$verified")"
same hello "$(texts k --store "$tls&sslmode=require")"
quietly 7 'certificate verify failed' --store "$tls&sslmode=verify-full&sslrootcert=$dir/theirs.crt" list
quietly 7 'root certificate file' --store "$tls&sslmode=verify-full&sslrootcert=$dir/none.crt" list
quietly 7 'does not match host name' --store "${verified/@localhost/@elsewhere}" list
quietly 7 'no encryption' --store "$tls&sslmode=disable" list

# ---- what is secret stays so ----

right=$tls
quietly 0 k --store "$right" list --json
quietly 0 '' --store "$right" stats
quietly 0 '' --store "$right" config check
quietly 0 '' --store "$right" verify
quietly 7 'password authentication failed' --store "${right/guarded:/other:}" list
quietly 7 'password authentication failed' --store "${right/:$secret/:x$secret}" list
quietly 3 'does not exist' --store "${right/postgres\?/none?}" list
quietly 3 'no store in schema' --store "$right&schema=none" list
quietly 2 'single' --store "$right&single=1" list
quietly 2 'not one that PostgreSQL understands' --store "$right&what=x" list
quietly 2 'not one that PostgreSQL understands' --store "${right/:$port/:%zz}" list
quietly 2 'no scheme' --store "${right#postgres:}" list
quietly 2 'unknown scheme' --store "${right/postgres:/postgre:}" list
quietly 2 'partitions' --store "$right&partitions=0" list
quietly 7 'efused' --store "${right/:$port/:1}" list
quietly 7 'reading only' --store "$right&read_only=1" append k x
quietly 2 'pg_dump' --store "$right" backup "$dir/x"
quietly 3 'no store' move "jsonl:$dir/none" "$right"
quietly 0 '' move "$right" "sqlite:$dir/moved.db"
WEFT_STORE=$right quietly 0 "" config check
printf '{"store":{"url":"%s"}}' "$right" >"$dir/config.json"
(unset WEFT_STORE && quietly 0 '' --config "$dir/config.json" config check)
(unset WEFT_STORE && quietly 0 '' --config "$dir/config.json" config check --json)
# A password with characters that a URL has to write in another way.
sql "ALTER ROLE guarded PASSWORD '$secret/@%'"
quietly 0 k --store "${right/:$secret/:$secret%2F%40%25}" list --json
quietly 7 'password authentication failed' --store "${right/:$secret/:$secret%2F%40}" list
sql "ALTER ROLE guarded PASSWORD '$secret'"

# ---- a server that hangs ----

here="postgres:///postgres?host=$socket&port=$port&user=weft"
postmaster=$(head -1 "$data/postmaster.pid")
kill -STOP "$postmaster"
quietly 7 'timeout expired' --store "$here&connect_timeout=2" list
kill -CONT "$postmaster"
same hello "$(texts k --store "$here")"

# writing OPTIONS: begins to append what is written to 9, with one message that
# is acknowledged; $writer is the process, $backend that of the server.
writing() {
	rm -f "$dir/lines"
	mkfifo "$dir/lines"
	"$WEFT" --store "$here&$1" append k --jsonl <"$dir/lines" >"$dir/acked" 2>"$dir/said" &
	writer=$!
	exec 9>"$dir/lines"
	echo '{"role":"user","content":"in time"}' >&9
	for _ in $(seq 100); do
		[ ! -s "$dir/acked" ] || break
		sleep 0.1
	done
	backend=$(sql "SELECT pid FROM pg_stat_activity WHERE query='COMMIT' AND application_name='weft'")
	[ -n "$backend" ] || fail "nobody writes: $(cat "$dir/said")"
}

# One process of it hangs: another one does what it should have done, and when it
# goes on it does not do it again.
writing 'answer_ms=300&busy_ms=300'
kill -STOP "$backend"
echo '{"role":"user","content":"once"}' >&9
exec 9>&-
wait "$writer" || fail "$(cat "$dir/said")"
same 'hello in time once' "$(texts k --store "$here")"
kill -CONT "$backend"
for _ in $(seq 100); do
	[ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE pid=$backend")" = 1 ] || break
	sleep 0.1
done
same 'hello in time once' "$(texts k --store "$here")"

# The commit itself hangs: nobody can tell, and that is said.
writing 'answer_ms=300&busy_ms=300'
sql "ALTER SYSTEM SET synchronous_standby_names='nobody'"
sql 'SELECT pg_reload_conf()' >/dev/null
sleep 0.3
echo '{"role":"user","content":"perhaps"}' >&9
exec 9>&-
! wait "$writer" || fail 'acknowledged without the standby'
like "*may have been written*did not answer in time*" "$(cat "$dir/acked" "$dir/said")"
sql 'ALTER SYSTEM RESET synchronous_standby_names'
sql 'SELECT pg_reload_conf()' >/dev/null
same 'hello in time once in time perhaps' "$(texts k --store "$here")"
quietly 2 'answer_ms: expected 0 to' --store "$here&answer_ms=x" list
weft --store "$here&answer_ms=0" append k later >/dev/null

# ---- a standby ----

as_server mkdir "$standby"
as_server "$bin/pg_basebackup" -h "$socket" -p "$port" -U weft -D "$standby/data" -R -c fast --no-sync
cat >>"$standby/data/postgresql.conf" <<-EOT
	unix_socket_directories = '$standby'
	listen_addresses = ''
EOT
ctl "$standby/data" start
export WEFT_STORE="${here/host=$socket/host=$standby}"
reads="$WEFT_STORE&read_only=1&target_session_attrs=any"
refused 7 read_only '*the primary in the URL*read_only=1&target_session_attrs=any*session is read-only*' append k x
refused 7 read_only '*the primary in the URL*read_only=1&target_session_attrs=any*session is read-only*' list
refused 7 read_only '*target_session_attrs=any*session is read-only*' list --store "$WEFT_STORE&read_only=1"
refused 7 read_only '*reading only*' append k x --store "$reads"
same 'hello in time once in time perhaps later' "$(texts k --store "$reads")"
weft --store "$reads" verify >/dev/null
like '*hello*' "$(weft --store "$reads" search hello)"
"$WEFT" --store "$reads" tail k -f --json >"$dir/tail" 2>&1 &
watcher=$!
weft --store "$here" append k news >/dev/null
# With both in the URL, in whatever order, the one that takes writes is found.
both="postgres:///postgres?host=$standby,$socket&port=$port,$port&user=weft"
weft --store "$both" append k 'to the primary' >/dev/null
for _ in $(seq 100); do
	[ "$(grep -c 'news\|to the primary' "$dir/tail")" -lt 2 ] || break
	sleep 0.1
done
kill "$watcher"
wait "$watcher" || true
same '1 1' "$(grep -c news "$dir/tail") $(grep -c 'to the primary' "$dir/tail")"
same 'hello in time once in time perhaps later news to the primary' "$(texts k --store "$reads")"
ctl "$standby/data" -m fast stop

# ---- a full tablespace ----

# The server sees a small file system that is gone when it is stopped.
as_server mkdir "$socket/small"
ctl "$data" -m fast stop
small() {
	if [ "$(id -u)" -eq 0 ]; then
		unshare -m "$@"
	else
		unshare -m --map-user="$(id -u)" --keep-caps "$@"
	fi
}
# shellcheck disable=SC2016
small bash -c '
	mount -t tmpfs -o size=24m,mode=700,uid="$(stat -c %u "$1")" tmpfs "$1"
	shift
	exec "$@"
' bash "$socket/small" bash -c "$(declare -f as_server ctl); data='$data' bin='$bin'; ctl '$data' start"
seen=/proc/$(head -1 "$data/postmaster.pid")/root$socket/small
sql "CREATE TABLESPACE small LOCATION '$socket/small'"
export WEFT_STORE="$here&schema=small&partitions=1&options=-c%20default_tablespace%3Dsmall"
weft new --key k >/dev/null
weft append k first >/dev/null
sql 'CHECKPOINT'
head -c 100000000 /dev/zero >"$seen/filler" 2>/dev/null || true
mkfifo "$dir/in"
weft append k --jsonl <"$dir/in" >"$dir/answers" &
writer=$!
exec 9>"$dir/in"
say() { # TEXT
	printf '{"role":"user","content":"%s","op":"%s"}\n' "$1" "${1:0:20}" >&9
}
answered() { # COUNT
	for _ in $(seq 100); do
		[ "$(wc -l <"$dir/answers")" -lt "$1" ] || return 0
		sleep 0.1
	done
	fail "no answer: $(cat "$dir/answers")"
}
long=$(printf '%030000d' 7)
for i in 1 2 3 4 5 6 7 8; do
	say "m$i-$(openssl rand -hex 30000)$long"
	answered "$i"
	! grep -q error "$dir/answers" || break
done
like '{"error":{"code":"no_space","message":"postgres: *No space left on device*"},"line":*}' \
	"$(tail -1 "$dir/answers")"
# What was acknowledged is there, and nothing else.
same "$((i - 1))" "$(grep -c seq "$dir/answers")"
same "$i" "$(weft history k | wc -l)"
rm "$seen/filler"
say "again"
answered "$((i + 1))"
like '{"seq":*' "$(tail -1 "$dir/answers")"
exec 9>&-
wait "$writer" || true
same "$((i + 1))" "$(weft history k | wc -l)"
weft verify >/dev/null
same 0 "$(weft --json reindex | json 'd["changed"]')"

#!/bin/bash
# with-server.sh PROGRAM ARGUMENT...: runs a program beside a PostgreSQL server
# of its own, and stops the server afterwards.  In every argument @URL@ stands
# for a URL of it that may be continued with &OPTION; so does $WEFT_TEST_PG.
# Fails if there is no server.  WEFT_PG_OPTIONS are lines for its
# configuration.
set -euo pipefail

shopt -s nullglob
found=(/usr/lib/postgresql/*/bin/initdb)
[ ${#found[@]} -gt 0 ] || { echo "no PostgreSQL server: scripts/setup-test installs one" >&2; exit 1; }
bin=$(dirname "${found[-1]}")

# In memory where there is room: how well the server's disk keeps what was
# flushed is not our test, and most of its time would be flushes.
place=${TMPDIR:-/tmp}
room=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1) || room=0
[ "${room:-0}" -lt $((4 << 20)) ] || [ ! -w /dev/shm ] || place=/dev/shm
dir=$(mktemp -d "$place/weft-pg-XXXXXX")
as=()
if [ "$(id -u)" -eq 0 ]; then
	# A server does not run as root.
	id=$(id -u postgres 2>/dev/null || id -u nobody)
	chown "$id" "$dir"
	as=(setpriv --reuid "$id" --regid "$(id -g postgres 2>/dev/null || id -g nobody)" --clear-groups)
fi
chmod 755 "$dir"

stop() {
	"${as[@]}" "$bin/pg_ctl" -D "$dir/data" -m immediate -s stop >/dev/null 2>&1 || true
	rm -rf "$dir"
}
trap stop EXIT

cd "$dir"
"${as[@]}" "$bin/initdb" -D "$dir/data" -U weft -A trust -E UTF8 \
	--locale=C --no-sync >"$dir/initdb.log" 2>&1 ||
	{ cat "$dir/initdb.log" >&2; exit 1; }
cat >>"$dir/data/postgresql.conf" <<-EOT
	listen_addresses = ''
	unix_socket_directories = '$dir'
	max_connections = 200
	shared_buffers = 64MB
	max_wal_size = 4GB
	log_min_messages = fatal
	${WEFT_PG_OPTIONS-}
EOT
"${as[@]}" "$bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w -t 30 -s start >&2 ||
	{ cat "$dir/server.log" >&2; exit 1; }

export WEFT_TEST_PG="postgres:///postgres?host=$dir&user=weft&partitions=2"
export WEFT_TEST_PG_DATA=$dir/data WEFT_TEST_PG_BIN=$bin
cd "$OLDPWD"
arguments=()
for argument; do
	arguments+=("${argument//@URL@/"$WEFT_TEST_PG"}")
done
status=0
"${arguments[@]}" || status=$?
exit $status

#!/bin/bash
# A store in one SQLite file: what it keeps, who may read it, and files that
# cannot be one.
. "$(dirname "$0")/lib.sh"

file=$dir/weft.db
export WEFT_STORE=sqlite:$file

weft new --key k >/dev/null
weft append k hello >/dev/null
same '["hello"]' "$(weft history k | jsonl '[m["parts"][0]["text"] for m in d]')"
weft verify >/dev/null

# For nobody else, also while it is open.
(umask 022 && weft --store "sqlite:$dir/other.db" new >/dev/null)
same 600 "$(stat -c %a "$dir/other.db")"
mkfifo "$dir/more"
(umask 000 && weft append k --jsonl <"$dir/more" >"$dir/out") &
writer=$!
exec 9>"$dir/more"
printf '%s\n' '{"role":"user","content":"more"}' >&9
until grep -q seq "$dir/out"; do
	sleep 0.05
done
same "$file $file-shm $file-wal" "$(echo "$file"*)"
same '600 600 600' "$(stat -c %a "$file"* | xargs)"
exec 9>&-
wait "$writer"
same "$file" "$(echo "$file"*)"

# What people with nothing but SQLite can see.
same 2 "$(sqlite3 "$file" "SELECT count(*) FROM events WHERE type=2")"
same hello "$(sqlite3 "$file" \
	"SELECT json_extract(bytes,'$.parts[0].text') FROM events WHERE seq=2")"

# Not there.
refused 3 not_found "*no store at $dir/none.db*" list --store "sqlite:$dir/none.db"
[ ! -e "$dir/none.db" ] || fail "reading has made a file"
refused 2 invalid '*sqlite:FILE*' list --store sqlite:
refused 2 invalid "*$dir is not a file*" list --store "sqlite:$dir"

# Not a database, and one of somebody else.
head -c 10000 /dev/zero | tr '\0' t >"$dir/text"
before=$(sha256sum <"$dir/text")
refused 2 invalid "*$dir/text is not an SQLite database*" list --store "sqlite:$dir/text"
refused 2 invalid "*$dir/text is not an SQLite database*" new --store "sqlite:$dir/text"
same "$before" "$(sha256sum <"$dir/text")"
sqlite3 "$dir/foreign.db" 'CREATE TABLE t(x); INSERT INTO t VALUES(1)'
refused 2 invalid '*of another program*' list --store "sqlite:$dir/foreign.db"
refused 2 invalid '*of another program*' new --store "sqlite:$dir/foreign.db"
same 1 "$(sqlite3 "$dir/foreign.db" 'SELECT x FROM t')"

# Of a newer version: nothing is changed.
cp "$file" "$dir/newer.db"
sqlite3 "$dir/newer.db" 'PRAGMA user_version=99'
refused 7 io '*version 99, newer than this weft knows*' list --store "sqlite:$dir/newer.db"
refused 7 io '*version 99, newer than this weft knows*' new --store "sqlite:$dir/newer.db"
same 99 "$(sqlite3 "$dir/newer.db" 'PRAGMA user_version')"

# Of an older version: what is derived is made again when somebody may write.
weft alias add k other >/dev/null
weft new --key gone >/dev/null
weft delete gone >/dev/null
weft search --wait hello >/dev/null
before=$(weft list --deleted --json)
cp "$file" "$dir/older.db"
sqlite3 "$dir/older.db" 'DROP INDEX sessions_slug; DROP INDEX live_interaction;
	ALTER TABLE sessions DROP COLUMN slug; ALTER TABLE sessions DROP COLUMN summary;
	DELETE FROM names; PRAGMA user_version=1'
older=sqlite:$dir/older.db
# All of it or nothing: what cannot be brought up to date stays as it was.
cp "$dir/older.db" "$dir/odd.db"
sqlite3 "$dir/odd.db" "UPDATE events SET session=x'0102'
	WHERE (session,seq)=(SELECT session,seq FROM events WHERE seq=2 LIMIT 1)"
before_odd=$(sqlite3 "$dir/odd.db" .dump | sha256sum)
refused 6 corrupt '*events*' new --store "sqlite:$dir/odd.db"
same "$before_odd" "$(sqlite3 "$dir/odd.db" .dump | sha256sum)"
same 1 "$(sqlite3 "$dir/odd.db" 'PRAGMA user_version')"
refused 7 io '*version 1: open it once for writing*' list --store "$older?read_only=1"
same 1 "$(sqlite3 "$dir/older.db" 'PRAGMA user_version')"
for i in 1 2 3 4 5; do
	weft --store "$older" append k "after $i" >/dev/null &
done
wait
same 7 "$(sqlite3 "$dir/older.db" 'PRAGMA user_version')"
same 7 "$(weft --store "$older" history other | wc -l)"
weft --store "$older" verify >/dev/null
same "$(sqlite3 "$file" '.schema sessions')" "$(sqlite3 "$dir/older.db" '.schema sessions')"
same "$(json 'sorted(s["id"] for s in d["sessions"])' <<<"$before")" \
	"$(weft --store "$older" list --deleted --json | json 'sorted(s["id"] for s in d["sessions"])')"

# For reading only.
refused 7 read_only '*reading only*' append k x --store "$WEFT_STORE?read_only=1"

# A backup is a store of its own, made while somebody writes.
seq 1 2000 | sed 's/.*/{"role":"user","content":"b&"}/' >"$dir/lines"
weft new --key busy >/dev/null
weft append busy --jsonl <"$dir/lines" >"$dir/answers" &
writer=$!
until grep -q seq "$dir/answers"; do
	sleep 0.02
done
acknowledged=$(wc -l <"$dir/answers")
like '3 sessions, * bytes' "$(weft backup "$dir/copy.db")"
wait "$writer"
# It has all that was acknowledged before it began, from the first on.
copied=$(weft --store "sqlite:$dir/copy.db" history busy | wc -l)
[ "$copied" -ge "$acknowledged" ] && [ "$copied" -le 2000 ] || fail "$copied of $acknowledged"
same "$(seq -s ' ' -f 'b%.0f' 1 "$copied")" "$(texts busy --store "sqlite:$dir/copy.db")"
same 2000 "$(weft history busy | wc -l)"
same 600 "$(stat -c %a "$dir/copy.db")"
weft --store "sqlite:$dir/copy.db" verify >/dev/null
like 'hello more*' "$(texts k --store "sqlite:$dir/copy.db")"
weft --store "sqlite:$dir/copy.db" append k own >/dev/null
refused 4 exists "*$dir/copy.db is there already*" backup "$dir/copy.db"
refused 7 io '*No such file or directory*' backup "$dir/none/copy.db"
weft --store "jsonl:$dir/store" new >/dev/null
refused 2 invalid '*copy its directory*weft move*' backup "$dir/x" --store "jsonl:$dir/store"
[ ! -e "$dir/x" ] || fail "made a file"

# Locked by somebody who does not let go.
mkfifo "$dir/hold"
sqlite3 "$file" >/dev/null <"$dir/hold" &
holder=$!
exec 9>"$dir/hold"
echo 'BEGIN IMMEDIATE; INSERT INTO blobs VALUES(zeroblob(32),0,0,zeroblob(0)); SELECT 1;' >&9
sleep 0.3
refused 5 busy '*locked by another process*' append k x --store "$WEFT_STORE?busy_ms=100"
# Reading goes on.
same 2 "$(weft history k | wc -l)"
echo 'ROLLBACK;' >&9
exec 9>&-
wait "$holder"
weft append k later >/dev/null

# Full: refused, and what was there stays.
mkdir "$dir/small"
# shellcheck disable=SC2016
unshare -rm bash -euc '
	mount -t tmpfs -o size=1m tmpfs "$1/small"
	export WEFT_STORE=sqlite:$1/small/full.db
	"$WEFT" new --key k >/dev/null
	"$WEFT" append k first >/dev/null
	long=$(printf "%100000s" x)
	status=0
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		"$WEFT" append k "$i$long" >/dev/null 2>"$1/err" || { status=$?; break; }
	done
	"$WEFT" history k >"$1/out"
	"$WEFT" verify >/dev/null
	echo "$status"
' bash "$dir" >"$dir/status"
same 5 "$(cat "$dir/status")"
like 'weft: *no space left*' "$(cat "$dir/err")"
like '*first*' "$(cat "$dir/out")"

# Damage is found.
weft verify >/dev/null
sqlite3 "$file" "UPDATE events SET bytes=replace(bytes,'hello','jello') WHERE seq=2"
status=0
weft verify >"$dir/out" || status=$?
same 6 "$status"
like '*checksum*' "$(cat "$dir/out")"

# What is derived can be derived again.
sqlite3 "$file" "UPDATE events SET bytes=replace(bytes,'jello','hello') WHERE seq=2;
	UPDATE sessions SET slug='wrong', head_seq=77; DELETE FROM names"
weft reindex >/dev/null
weft verify >/dev/null
same '["", 5]' "$(weft --json show k | json '[d["slug"], d["head_seq"]]')"

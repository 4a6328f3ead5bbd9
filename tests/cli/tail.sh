#!/bin/bash
# tail: the events of a session, and those to come.
. "$(dirname "$0")/lib.sh"

weft new --key k --slug title >/dev/null
weft append k one --op o >/dev/null
weft rename k other >/dev/null

same '[[1, "session"], [2, "message"], [3, "patch"]]' \
	"$(weft tail k | jsonl '[[e["seq"], e["type"]] for e in d]')"
same '["o", "user", "one", 26]' "$(weft tail k --after 1 |
	jsonl '[d[0]["op"], d[0]["role"], d[0]["parts"][0]["text"], len(d[0]["id"])]')"
same '' "$(weft tail k --after 3)"
same '' "$(weft tail k --after 9007199254740991)"
same "$(weft tail k)" "$(weft tail --json k)"
refused 3 not_found "no session 'nobody'" tail nobody
refused 3 not_found "no session 'nobody'" tail -f nobody
refused 2 usage '--after: expected a number, *' tail k --after x

# What is redacted is not shown, unless asked for.
weft redact k 2 >/dev/null
same '[1, 3, 4]' "$(weft tail k | jsonl '[e["seq"] for e in d]')"
same '[1, 2, 3, 4]' "$(weft tail k --redacted | jsonl '[e["seq"] for e in d]')"

# expect_line FILE N: wait until there is line N, and print it.
expect_line() {
	local i

	for ((i = 0; i < 500; i++)); do
		if [ "$(wc -l <"$1")" -ge "$2" ]; then
			sed -n "$2p" "$1"
			return
		fi
		sleep 0.02
	done
	fail "no line $2 in $(cat "$1")"
}

# Following: events of other processes come as they happen, each once.
"$WEFT" tail -f k --after 4 >"$dir/followed" 2>"$dir/err" &
pid=$!
for i in 1 2 3; do
	weft append k "late $i" >/dev/null
	same "$((4 + i))" "$(expect_line "$dir/followed" "$i" | json 'd["seq"]')"
done
weft alias add k moved >/dev/null
same name "$(expect_line "$dir/followed" 4 | json 'd["type"]')"

# While nothing happens it does nothing.
strace -f -qq -o "$dir/trace" -p "$pid" &
tracer=$!
sleep 1
kill "$tracer"
wait "$tracer" || :
calls=$(grep -cvE 'restart_syscall|resumed|unfinished|poll|futex' "$dir/trace" || :)
[ "$calls" -le 1 ] || fail "$calls system calls while nothing happened: $(cat "$dir/trace")"

# An interrupt ends it, cleanly.
kill -INT "$pid"
status=0
wait "$pid" || status=$?
same 0 "$status"
same '' "$(cat "$dir/err")"
same 4 "$(wc -l <"$dir/followed")"

"$WEFT" tail -f k >"$dir/followed" &
pid=$!
n=$(weft tail k | wc -l)
expect_line "$dir/followed" "$n" >/dev/null
weft append k last >/dev/null
expect_line "$dir/followed" $((n + 1)) >/dev/null
kill -TERM "$pid"
wait "$pid" || fail 'not ended cleanly by SIGTERM'

same "$(weft tail k)" "$(cat "$dir/followed")"
# In small pages too.
same "$(weft tail k)" "$(weft --store "$WEFT_STORE?page=2" tail k)"

# So does a reader that has seen enough, without another event.
started=$SECONDS
timeout 20 "$WEFT" tail -f k | head -1 >/dev/null
[ $((SECONDS - started)) -lt 10 ] || fail 'the closed pipe was not seen'

weft verify >/dev/null

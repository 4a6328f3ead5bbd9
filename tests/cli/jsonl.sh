#!/bin/bash
# append --jsonl: many messages from standard input.
. "$(dirname "$0")/lib.sh"

id=$(weft new --key k)

# lines N [SESSION]: messages numbered from 1, as JSON lines.
lines() {
	python3 -c '
import json, sys
for i in range(1, int(sys.argv[1]) + 1):
    m = {"role": "user", "content": "message %d" % i}
    if len(sys.argv) > 2:
        m["session"] = sys.argv[2] % (i % 7) if "%" in sys.argv[2] else sys.argv[2]
    print(json.dumps(m))
' "$@"
}

# One answer a line, in order; fewer flushes than messages.
lines 3000 >"$dir/in"
# (Leaks cannot be looked for by a program that is traced.)
ASAN_OPTIONS=detect_leaks=0 \
	strace -f -qq --seccomp-bpf -e trace=fdatasync -o "$dir/trace" \
	"$WEFT" append k --jsonl <"$dir/in" >"$dir/out"
same true "$(jsonl '[r["seq"] for r in d] == list(range(2, 3002))' <"$dir/out")"
flushes=$(grep -c 'fdatasync(' "$dir/trace")
[ "$flushes" -lt 300 ] || fail "$flushes flushes for 3000 messages"
same "$(jsonl '[m["content"] for m in d]' <"$dir/in")" \
	"$(weft history k | jsonl '[m["parts"][0]["text"] for m in d]')"
same "$(jsonl '[r["id"] for r in d]' <"$dir/out")" \
	"$(weft history k | jsonl '[m["id"] for m in d]')"

# Answered as soon as it is durable, not when more comes or the input ends.
coproc talk { weft append k --jsonl; }
# Bash forgets these when it has ended.
exec {from}<&"${talk[0]}"
pid=$talk_PID
for i in 1 2 3; do
	echo '{"role":"user","content":"x"}' >&"${talk[1]}"
	read -r -t 10 answer <&"$from" || fail 'no answer'
	same $((3001 + i)) "$(json 'd["seq"]' <<<"$answer")"
	same $((3001 + i)) "$(head_of k)"
done
# Half a line is no line.
printf '{"role":"user",' >&"${talk[1]}"
sleep 0.2
printf '"content":"y"}' >&"${talk[1]}"
eval "exec ${talk[1]}>&-"
read -r -t 10 answer <&"$from" || fail 'no answer at the end'
same 3005 "$(json 'd["seq"]' <<<"$answer")"
wait "$pid" || fail 'it failed'
exec {from}<&-

# A small queue slows down, and nothing is lost or out of order.
for i in 0 1 2 3 4 5 6; do weft new --key "s$i" >/dev/null; done
lines 700 s%d >"$dir/in"
weft --store "$WEFT_STORE?queue=3" append --jsonl <"$dir/in" >"$dir/out"
same 700 "$(wc -l <"$dir/out")"
for i in 0 1 2 3 4 5 6; do
	same true "$(weft history "s$i" | jsonl \
		"[int(m['parts'][0]['text'][8:]) for m in d] == list(range($i or 7, 701, 7))")"
	sid=$(weft show --json "s$i" | json 'd["id"]')
	same "$(jsonl "[r['id'] for r in d if r['session'] == '$sid']" <"$dir/out")" \
		"$(weft history "s$i" | jsonl '[m["id"] for m in d]')"
done

# A reader that takes its time holds us up, and gets everything.
lines 5000 k >"$dir/in"
same 5000 "$(weft append --jsonl <"$dir/in" | { sleep 1; wc -l; })"

# Known operation ids.
for i in 1 2; do
	weft append k --jsonl >"$dir/out.$i" <<'LINES'
{"role":"user","content":"a","op":"1"}
{"role":"user","content":"b","op":"2"}
LINES
done
same '[false, false]' "$(jsonl '["replayed" in r for r in d]' <"$dir/out.1")"
same '[true, true]' "$(jsonl '[r["replayed"] for r in d]' <"$dir/out.2")"
same "$(jsonl '[r["id"] for r in d]' <"$dir/out.1")" \
	"$(jsonl '[r["id"] for r in d]' <"$dir/out.2")"

# bad CODE LINE: a line that is refused with this code.
n=0
codes=
all=()
bad() {
	printf '%b\n' "$2"
	echo '{"role":"user","content":"good"}'
	n=$((n + 1))
	codes="$codes${codes:+ }$1"
	all+=("$1")
} >>"$dir/bad"

bad invalid ''
bad invalid 'not JSON'
bad invalid '{"role":"user","content":"x"'
bad invalid '{"role":"user","content":"x"} {}'
bad invalid '{"role":"user","content":"\xff"}'
bad invalid '{"role":"user","content":"a\0000b"}'
bad invalid '{"role":"user","content":"\\ud800"}'
bad invalid '[]'
bad invalid ' [{"role":"user","content":"x"}]'
bad invalid '"text"'
bad invalid '{}'
bad invalid '{"role":"user","content":"x","role":"user"}'
bad invalid '{"role":"user","parts":[{"type":"text","text":"x","text":"y"}]}'
for name in seq ts type id w more crc x gen needs weft redacted created_at; do
	bad invalid "{\"role\":\"user\",\"content\":\"x\",\"$name\":1}"
done
bad invalid '{"role":"king","content":"x"}'
bad invalid '{"role":7,"content":"x"}'
bad invalid '{"role":"user"}'
bad invalid '{"role":"user","content":7}'
bad invalid '{"role":"user","content":"x","parts":[]}'
bad invalid '{"role":"user","content":"x","at":"yesterday"}'
bad invalid '{"role":"user","content":"x","expect":-1}'
bad invalid '{"role":"user","content":"x","background":"yes"}'
bad invalid '{"role":"user","content":"x","from":"Ann"}'
bad invalid '{"role":"user","content":"x","usage":{"input_tokens":-1}}'
bad unknown_part_kind '{"role":"user","parts":[{"type":"smell"}]}'
bad invalid_part '{"role":"user","parts":[{"text":"x"}]}'
bad invalid_part '{"role":"user","parts":[{"type":"text"}]}'
bad invalid_part '{"role":"user","parts":[{"type":"text","text":7}]}'
bad invalid_part '{"role":"assistant","parts":[{"type":"tool_use","id":"1","input":{}}]}'
bad invalid_part '{"role":"tool","parts":[{"type":"tool_result","content":"x"}]}'
bad invalid_part '{"role":"user","parts":[{"type":"image"}]}'
bad limit "{\"role\":\"user\",\"content\":\"x\",\"d\":$(printf '[%.0s' {1..200})$(printf ']%.0s' {1..200})}"
part='{"type":"text","text":"x"}'
bad limit "{\"role\":\"user\",\"parts\":[$(printf "$part,%.0s" {1..1024})$part]}"
bad invalid '{"role":"user","content":"x","op":"a\\nb"}'
bad not_found '{"role":"user","content":"x","session":"nobody"}'
bad invalid '{"role":"user","content":"x","session":"s1"}'

# Each line by itself: what is bad is refused, and nothing else.
head=$(head_of k)
status=0
weft append k --jsonl <"$dir/bad" >"$dir/out" 2>"$dir/err" || status=$?
same 2 "$status"
same '' "$(cat "$dir/err")"
same "$codes" "$(jsonl '" ".join(r["error"]["code"] for r in d if "error" in r)' <"$dir/out")"
same true "$(jsonl 'all(r["line"] == 2 * i + 1 and len(r["error"]["message"]) > 10
	for i, r in enumerate(d[::2]))' <"$dir/out")"
same true "$(jsonl "[r['seq'] for r in d[1::2]] == list(range($head + 1, $head + 1 + len(d) // 2))" <"$dir/out")"
[ "$n" -gt 45 ] || fail 'too few'
same $((head + n)) "$(head_of k)"

# All or none: none.
for ((i = 0; i < n; i++)); do
	status=0
	sed -n "$((2 * i + 2))p;$((2 * i + 1))p" "$dir/bad" >"$dir/in"
	{
		echo '{"role":"user","content":"before"}'
		cat "$dir/in"
	} | weft append k --jsonl --atomic >"$dir/out" 2>"$dir/err" || status=$?
	[ "$status" -ne 0 ] || fail 'no error'
	like '{"error":{"code":"'"${all[i]}"'","message":"*"},"line":2}' \
		"$(cat "$dir/out")"
	same '' "$(cat "$dir/err")"
done
same $((head + n)) "$(head_of k)"

# Without SESSION each line names its own.
printf '%s\n' '{"role":"user","content":"x"}' '{"session":"k","role":"user","content":"x"}' |
	weft append --jsonl >"$dir/out" && fail 'no error'
same '[true, true]' "$(jsonl '["session: missing" in d[0]["error"]["message"], "seq" in d[1]]' <"$dir/out")"

# The exit status is that of the first error.
status=0
printf '%s\n' '{"session":"nobody","role":"user","content":"x"}' 'x' |
	weft append --jsonl >/dev/null || status=$?
same 3 "$status"

# No input is no error.
same '' "$(weft append k --jsonl </dev/null)"
same '' "$(weft append k --jsonl --atomic </dev/null)"
# Carriage returns do no harm.
printf '{"role":"user","content":"x"}\r\n' | weft append k --jsonl >/dev/null

# All or none.
head=$(head_of k)
lines 1024 | weft append k --jsonl --atomic >"$dir/out"
same true "$(jsonl "[r['seq'] for r in d] == list(range($head + 1, $head + 1025))" <"$dir/out")"
same "$(jsonl '[r["id"] for r in d]' <"$dir/out")" \
	"$(weft history k --last 1024 | jsonl '[m["id"] for m in d]')"
head=$(head_of k)
lines 1025 | weft append k --jsonl --atomic >"$dir/out" && fail 'no error'
same '["limit", 1025]' "$(json '[d["error"]["code"], d["line"]]' <"$dir/out")"
lines 3 k | weft append --jsonl --atomic --op all --expect "$head" >"$dir/out"
same 3 "$(jsonl 'len(d)' <"$dir/out")"
lines 3 k | weft append --jsonl --atomic --op all >"$dir/again"
same true "$(jsonl 'all(r["replayed"] for r in d) and len(d) == 3' <"$dir/again")"
# Each line may have its own id, as it may without --atomic.
for i in 1 2; do
	weft append k --jsonl --atomic >"$dir/each.$i" <<'LINES'
{"role":"user","content":"a","op":"e1"}
{"role":"user","content":"b","op":"e2"}
LINES
done
same "$(jsonl '[r["seq"] for r in d]' <"$dir/each.1")" "$(jsonl '[r["seq"] for r in d]' <"$dir/each.2")"
same '[true, true]' "$(jsonl '[r["replayed"] for r in d]' <"$dir/each.2")"
weft append k --jsonl --atomic >"$dir/out" <<'LINES' && fail 'no error'
{"role":"user","content":"a","op":"e1"}
{"role":"user","content":"x","op":"e3"}
LINES
same '["op_mismatch", 2]' "$(json '[d["error"]["code"], d["line"]]' <"$dir/out")"
lines 2 s%d | weft append --jsonl --atomic >"$dir/out" && fail 'no error'
same '["invalid", 2]' "$(json '[d["error"]["code"], d["line"]]' <"$dir/out")"
lines 2 | weft append k --jsonl --atomic --expect 1 >"$dir/out" && fail 'no error'
same stale "$(json 'd["error"]["code"]' <"$dir/out")"
same $((head + 5)) "$(head_of k)"

# Answers that cannot be written are an error: nobody has been told.
status=0
lines 5 | weft append k --jsonl >/dev/full 2>"$dir/err" || status=$?
same 5 "$status"
like 'weft: standard output: *' "$(cat "$dir/err")"
{
	lines 5
	sleep 0.5
	lines 5 2>/dev/null || :
} | {
	status=0
	weft append k --jsonl 2>"$dir/err" || status=$?
	echo "$status" >"$dir/status"
} | true
same 7 "$(cat "$dir/status")"

weft verify >/dev/null

# An error says once in which line it is, and means the line of the input.
status=0
printf '%s\n' '{"role":"user","content":"x"}' '{"role":' '{"role":"user","role":"user"}' |
	weft append k --jsonl >"$dir/out" || status=$?
same 2 "$status"
like '*"not JSON: unexpected end at column 9"},"line":2}' "$(sed -n 2p "$dir/out")"
like '*twice at column 16"},"line":3}' "$(sed -n 3p "$dir/out")"

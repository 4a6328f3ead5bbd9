#!/bin/bash
# On a terminal: tables, colours, and nothing in a message that it would obey.
. "$(dirname "$0")/lib.sh"

# on_terminal COMMAND...: runs it on a terminal and prints what it showed.
on_terminal() {
	python3 - "$@" <<'PYTHON'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
shown = b""
while True:
    try:
        more = os.read(fd, 65536)
    except OSError:
        break
    if not more:
        break
    shown += more
os.waitpid(pid, 0)
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
PYTHON
}

export TERM=xterm COLUMNS=80
id=$(weft new --key k --slug "$(printf 't%.0s' {1..100})")
weft append k --jsonl >/dev/null <<'LINES'
{"role":"user","content":"red \u001b[31m bell \u0007 csi \u009b31m back \r over \u202e del \u007f ok \u00e9"}
{"role":"assistant","parts":[{"type":"tool_use","id":"1","name":"\u001b]0;x\u0007","input":{"a":"\u009b"}}]}
LINES
# Some may also stand in JSON as they are.
printf '{"role":"user","content":"raw \302\233 \342\200\256 \177"}\n' |
	weft append k --jsonl >/dev/null

# Control characters of messages are shown, not obeyed.
shown=$(NO_COLOR=1 on_terminal "$WEFT" history k --format text)
LC_ALL=C grep -q '[[:cntrl:]]' <<<"${shown//$'\n'/}" && fail 'a control character came through'
like '*red ^[[31m bell ^G csi \\u009b31m back ^M over \\u202e del \\u007f ok é*' "$shown"
# In JSON they mean what they meant.
shown=$(on_terminal "$WEFT" history k)
LC_ALL=C grep -q $'\x1b\|\x07\|\xc2[\x80-\x9f]\|\x7f\|\xe2\x80\xae' <<<"$shown" &&
	fail 'a control character came through'
same "$(weft history k | jsonl 'd')" "$(jsonl 'd' <<<"$shown")"
# Where there is no terminal they stay as they are.
weft history k --format text | grep -q $'\x1b\\[31m bell' || fail 'changed without a terminal'
# Errors too.
shown=$(NO_COLOR=1 on_terminal "$WEFT" show $'no \xe2\x80\xae such')
like 'weft: *\\u202e*' "$shown"

# Tables that fit, with headings; colours unless they are not wanted.
shown=$(NO_COLOR=1 on_terminal "$WEFT" list)
like "SESSION  *TITLE"$'\n'"$id  *" "$shown"
[ "$(wc -L <<<"$shown")" -le 80 ] || fail 'wider than the terminal'
grep -q $'\x1b' <<<"$shown" && fail 'colours although NO_COLOR is set'
grep -q $'\x1b\\[1m' <<<"$(on_terminal "$WEFT" list)" || fail 'no colours'
grep -q $'\x1b' <<<"$(TERM=dumb on_terminal "$WEFT" list)" && fail 'colours on a dumb terminal'
grep -q $'\x1b\\[[012]m' <<<"$(weft list; weft show k; weft stats; weft --help)" &&
	fail 'colours without a terminal'

# Words are asked for, not waited for.
like 'weft: append: TEXT is missing; *' "$(on_terminal "$WEFT" append k)"

# What takes long says how far it is, and wipes that away.
shown=$(on_terminal "$WEFT" bench load --dir "$dir" --rounds 2 --milliseconds 1)
like *$'\r'"weft: round 2 of 2"$'\x1b'"[K"$'\r\x1b'"[K*ref *" "$shown"

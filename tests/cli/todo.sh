#!/bin/bash
# todo: set and list.
. "$(dirname "$0")/lib.sh"

weft new --key work >/dev/null
same '0 of 0 left' "$(weft todo list work)"
printf '[{"content":"write tests","status":"in_progress","priority":"high"},
{"content":"rest","status":"pending"},
{"content":"think","status":"completed"},
{"content":"worry","status":"cancelled"}]\n' >"$dir/todos"
same '[>] write tests (high)
[ ] rest
[x] think
[-] worry
2 of 4 left' "$(weft todo set work <"$dir/todos")"
same '{"total": 4, "incomplete": 2, "in_progress": 1, "completed": 1, "cancelled": 1}' \
	"$(weft todo list work --json | json 'd["summary"]')"
same "$(python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)))' <"$dir/todos")" \
	"$(weft todo list work --json | json 'd["todos"]')"
same '0 of 0 left' "$(weft todo set work '[]')"

refused 2 usage 'todo: expected one of list|set, got *' todo add work
refused 2 usage 'todo: list takes SESSION and nothing else' todo list work '[]'
refused 2 invalid 'TODOS: not JSON*' todo set work '[{'
input='[]\0[]' refused 2 invalid 'TODOS: not JSON*' todo set work
input='\xff' refused 2 invalid 'TODOS is not UTF-8' todo set work
refused 2 invalid 'todos: expected an array, found object' todo set work '{}'
refused 2 invalid 'todos\[0\].status: expected pending, *' \
	todo set work '[{"content":"a","status":"blocked"}]'
refused 3 not_found "no session 'nobody'" todo list nobody

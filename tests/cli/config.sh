#!/bin/bash
# Which store: option, environment, configuration, default.
. "$(dirname "$0")/lib.sh"

# made DIRECTORY ARGUMENT...: weft new with these makes a store there.
made() {
	local at=$1
	shift

	weft "$@" new >/dev/null
	[ -f "$at/weft.json" ] || fail "no store at $at"
}

unset WEFT_STORE
made "$HOME/.local/share/weft"
export XDG_DATA_HOME="$dir/odd ?%41 name"
made "$XDG_DATA_HOME/weft"
mkdir -p "$HOME/.config/weft"
echo "{\"store\":{\"url\":\"jsonl:$dir/configured\"}}" >"$HOME/.config/weft/config.json"
made "$dir/configured"
echo "{ \"store\" : { \"url\" : \"jsonl:$dir/esc\\u0061ped\" } }" >"$dir/other.json"
export XDG_CONFIG_HOME=$dir/xdg
mkdir -p "$XDG_CONFIG_HOME/weft"
echo "{\"store\":{\"url\":\"jsonl:$dir/xdg-store\"}}" >"$XDG_CONFIG_HOME/weft/config.json"
made "$dir/xdg-store"
made "$dir/escaped" --config "$dir/other.json"
WEFT_CONFIG=$dir/other.json
export WEFT_CONFIG
rm -r "$dir/escaped"
made "$dir/escaped"
export WEFT_STORE_URL=jsonl:$dir/field
made "$dir/field"
export WEFT_STORE=jsonl:$dir/env
made "$dir/env"
made "$dir/option" --store "jsonl:$dir/option"

# --debug says which, and why.
like "*configuration: $dir/other.json*store: jsonl:$dir/env (from WEFT_STORE)*" \
	"$(weft --debug list 2>&1 >/dev/null)"
like "*store: jsonl:$dir/env *" "$(WEFT_DEBUG=1 weft list 2>&1 >/dev/null)"
same '' "$(weft list 2>&1 >/dev/null)"

# One that is not there is empty; one that is wrong is an error that says where.
unset WEFT_CONFIG
made "$dir/env" --config "$dir/nothing.json" 2>/dev/null
same "weft: warning: $dir/nothing.json: there is no such file, so that nothing is configured" \
	"$(weft list --config "$dir/nothing.json" 2>&1 >/dev/null)"
same "# $dir/nothing.json (there is none)" \
	"$(WEFT_CONFIG=$dir/nothing.json weft config check | head -n 1)"
same '' "$(WEFT_CONFIG=$dir/nothing.json weft list 2>&1 >/dev/null)"
# A store that cannot be one: who says so is said.
echo $'{"store":\n{"url":"jsnl:x"}}' >"$dir/url.json"
WEFT_STORE='' WEFT_STORE_URL='' refused 2 invalid "$dir/url.json: line 2: store.url: store URL: unknown scheme \"jsnl:\"; *" \
	list --config "$dir/url.json"
refused 2 invalid '--store: store URL: unknown scheme *' list --store foo:bar
WEFT_STORE=jsonl: refused 2 invalid 'WEFT_STORE: store URL "jsonl:" names no place*' list
# What is not configured is not shown as if it were.
like $'*\nlifecycle.reset = null  (default)\nlifecycle.reset_by_type = {}  (default)\n*' \
	"$(WEFT_CONFIG=$dir/nothing.json weft config check)"
# wrong PATTERN TEXT
wrong() {
	printf '%b' "$2" >"$dir/wrong.json"
	refused 2 invalid "$dir/wrong.json: $1" list --config "$dir/wrong.json"
}
wrong 'not JSON: *line 2, column *' '{\n"store"'
wrong 'line 1: expected an object, found array' '[]'
wrong 'line 2: store.url: expected a string, found 7' '{"store":\n{"url":7}}'
wrong 'line 1: store: expected an object, found "jsonl:x"' '{"store":"jsonl:x"}'
wrong 'line 3: session.dm_scope: expected one of main|*, found "per-user"' \
	'{"session":{\n\n"dm_scope":"per-user"}}'
wrong 'line 1: member "store" twice *' '{"store":{},"store":{}}'
wrong '*nothing there*' ''
wrong 'line 2: agents.list[[]1].id: expected a text, found nothing' '{"agents":{"list":[\n{}]}}'
wrong 'line 2: lifecycle.reset.idle_minutes: expected a number from 1 *' \
	'{"lifecycle":{\n"reset":{"mode":"idle"}}}'
deep=$(printf '%0300d' 0)
echo "{\"session\":${deep//0/[}${deep//0/]}}" >"$dir/wrong.json"
refused 2 invalid "$dir/wrong.json: JSON more than 128 levels deep at line 1, *" \
	list --config "$dir/wrong.json"
printf '{"x":"%01100000d"}' 0 >"$dir/wrong.json"
refused 5 limit "$dir/wrong.json: expected a configuration of at most 1048576 bytes" \
	list --config "$dir/wrong.json"
if [ "$(id -u)" -ne 0 ]; then
	chmod 0 "$dir/wrong.json"
	refused 7 io "$dir/wrong.json: Permission denied" list --config "$dir/wrong.json"
fi
# One that comes through a pipe is as good as any.
like '*session.dm_scope = "per-agent"*' \
	"$(weft config check --config <(echo '{"session":{"dm_scope":"per-agent"}}'))"
refused 7 io "$dir: *" list --config "$dir"

# What is not known is no mistake, but said: the first in every command, all of
# it by config check.
printf '{\n"stor":{},\n"store":{"ulr":"x"}}' >"$dir/odd.json"
like "weft: warning: $dir/odd.json: line 2: unknown section \"stor\"; did you \
mean \"store\"?; 'weft config check' has 1 more" \
	"$(weft list --config "$dir/odd.json" 2>&1 >/dev/null)"
like '*warning: *unknown section "stor"*warning: *line 3: unknown field "store.ulr"; did you mean "url"?' \
	"$(weft config check --config "$dir/odd.json")"

# Every value in force, and where it comes from.
printf '{"session":{\n"dm_scope":"per-agent"},"lifecycle":{"suspend_minutes":5}}' \
	>"$dir/some.json"
check() {
	WEFT_LIFECYCLE_SUSPEND_MINUTES=9 weft config check \
		--config "$dir/some.json" "$@"
}
like "# $dir/some.json
session.dimensions = null  (default)*
session.dm_scope = \"per-agent\"  (line 2)*
lifecycle.suspend_minutes = 9  (WEFT_LIFECYCLE_SUSPEND_MINUTES)
lifecycle.maintenance_hour = 3  (default)*" "$(check)"
same '["per-agent", "line 2"]' "$(check --json |
	json '[[v["value"], v["source"]] for v in d["values"] if v["field"] == "session.dm_scope"][0]')"
same '[]' "$(check --json | json 'd["warnings"]')"
WEFT_SESSION_DM_SCOPE=x refused 2 invalid \
	'$WEFT_SESSION_DM_SCOPE: session.dm_scope: expected one of *' list

# Every mistake at once, with its place; other commands name the first.
cat >"$dir/many.json" <<'EOF'
{
  "session": { "dm_scope": "mian", "dimensions": 7 },
  "agents": { "list": [{ "name": "no id" }, { "id": 5 }] },
  "lifecycle": { "reset": { "mode": "idle" }, "maintenance_hour": 99 },
  "server": { "listen": "nonsense" }
}
EOF
status=0
said=$(weft config check --config "$dir/many.json" 2>&1 >"$dir/out") || status=$?
same 2 $status
same '' "$(cat "$dir/out")"
same "weft: $dir/many.json: line 2: session.dm_scope: expected one of main|per-agent|per-channel|per-peer|per-channel-peer|per-account-channel-peer|global, found \"mian\"
weft: $dir/many.json: line 2: session.dimensions: expected an array of strings, found 7
weft: $dir/many.json: line 3: agents.list[1].id: expected a text, found nothing
weft: $dir/many.json: line 3: agents.list[2].id: expected a string, found 5
weft: $dir/many.json: line 4: lifecycle.maintenance_hour: expected a number from 0 to 23, found 99
weft: $dir/many.json: line 4: lifecycle.reset.idle_minutes: expected a number from 1 with mode idle, found 0
weft: $dir/many.json: line 5: server.listen: expected an address and a port like \"127.0.0.1:8080\", found \"nonsense\"" "$said"
status=0
weft config check --json --config "$dir/many.json" >"$dir/out" 2>/dev/null || status=$?
same 2 $status
same '[7, 5, "server.listen"]' \
	"$(json '[len(d["errors"]), d["errors"][-1]["line"], d["errors"][-1]["field"]]' <"$dir/out")"
refused 2 invalid '*session.dm_scope*found "mian" (and 6 more)' list --config "$dir/many.json"
for listen in 127.0.0.1:8080 localhost:0 '[::1]:443'; do
	weft config check --config <(echo '{"server":{"listen":"'"$listen"'"}}') >/dev/null
done

# What another reader of the same file needs is no business of ours.
same 0 "$(weft config check --config tests/data/picoclaw_config.json | grep -c unknown || :)"
like '*warning: *line 1: dispatch.rules[[]1].agent: expected who answers, found nothing; *' \
	"$(weft config check --config <(echo '{"dispatch":{"rules":[{"when":{"channel":"x"}}]}}'))"
same "$(cat docs/config.schema.json)" "$(weft config schema)"

# A variable that looks like an override and is none.
same 'weft: warning: $WEFT_SESSION_DM_SCOP: session has no such field; did you mean WEFT_SESSION_DM_SCOPE?' \
	"$(WEFT_SESSION_DM_SCOP=main weft list 2>&1 >/dev/null)"
same 'weft: warning: $WEFT_SERVER_X: server has no such field' \
	"$(WEFT_SERVER_X=1 weft list 2>&1 >/dev/null)"
same 'weft: warning: $WEFT_SESION_DM_SCOPE: there is no such section; did you mean WEFT_SESSION_DM_SCOPE?' \
	"$(WEFT_SESION_DM_SCOPE=main weft list 2>&1 >/dev/null)"
same '' "$(WEFT_OTHER_THING=1 WEFT_SESSIONS=2 weft list 2>&1 >/dev/null)"

# URLs that are none.
refused 2 invalid '*no scheme*jsonl:./x' list --store ./x
refused 2 invalid '*unknown scheme "foo:"*' list --store foo:x
refused 2 invalid '*jsonl:DIR*' list --store jsonl:
refused 2 invalid '*unknown option "quue"*' list --store "$WEFT_STORE?quue=1"
refused 2 invalid '*queue*' list --store "$WEFT_STORE?queue=x"

unset WEFT_STORE_URL
# What the configuration says of the store, judged without making anything.
# wrong URL PATTERN: it names no store.  nowhere URL PATTERN: none can be there.
url() {
	printf '{\n"store":{\n"url":"%s"}}' "$1" >"$dir/url.json"
}
wrong() {
	url "$1"
	refused 2 invalid "$dir/url.json: line 3: store.url: $2" config check --config "$dir/url.json"
}
nowhere() {
	local before said
	url "$1"
	before=$(find "$dir" -not -name out -not -name err | sort)
	said=$(weft config check --config "$dir/url.json" --json | json 'd["warnings"]')
	like "$2" "$said"
	same "$before" "$(find "$dir" -not -name out -not -name err | sort)"
}
wrong ./x '*no scheme*write jsonl:./x'
wrong foo:x '*unknown scheme "foo:"; known are *'
wrong jsonl: '*names no place: write jsonl:DIR'
wrong memory:x '*write memory:'
wrong "jsonl:$dir/a%zz" '*two hexadecimal digits*'
wrong "sqlite:$dir/a.db?quue=1" '*unknown option "quue"*'
wrong "postgres://u:secret@h/d?nonsense=1" "*not one that PostgreSQL understands*"
WEFT_STORE_URL=foo:x refused 2 invalid 'WEFT_STORE_URL: *unknown scheme*' config check
nowhere memory: '[[]]'
nowhere 'postgres://u@nowhere.invalid/d' '[[]]'
nowhere "jsonl:$dir/new/er/store" '[[]]'
nowhere "jsonl:$dir/configured" '[[]]'
nowhere "sqlite:$dir/new.db" '[[]]'
nowhere "jsonl:$dir/new/er/store?read_only=1" "*store.url: there is no store at $dir/new/er/store*"
echo x >"$dir/file"
nowhere "jsonl:$dir/file" "*store.url: $dir/file is a file; a jsonl: store is a directory\"\]"
nowhere "jsonl:$dir/file/below/it" "*store.url: $dir/file is a file, and would have to be a directory*"
nowhere "sqlite:$dir" "*store.url: $dir is a directory; a sqlite: store is a file\"\]"
nowhere "sqlite:$dir/none/new.db" "*store.url: there is no directory $dir/none: make it first\"\]"
nowhere "jsonl:$dir" "*store.url: $dir holds other things *choose an empty directory\"\]"
if [ "$(id -u)" -eq 0 ]; then
	mkdir "$dir/theirs"
	chown 12345 "$dir/theirs"
	nowhere "jsonl:$dir/theirs" "*$dir/theirs belongs to user 12345*run weft as its owner*"
else
	mkdir -m 0500 "$dir/closed"
	nowhere "jsonl:$dir/closed" "*$dir/closed may not be written to by you*"
	nowhere "jsonl:$dir/closed/in" "*$dir/closed may not be written to by you*"
	nowhere "sqlite:$dir/closed/in.db" "*$dir/closed may not be written to by you*"
fi
like "*warning: $dir/url.json: line 3: store.url: *" \
	"$(weft config check --config "$dir/url.json")"

unset HOME XDG_DATA_HOME XDG_CONFIG_HOME WEFT_STORE WEFT_STORE_URL
refused 2 usage 'no store: $HOME is not set; *' list

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
	'$WEFT_SESSION_DM_SCOPE: session.dm_scope: expected one of *' config check
same "$(cat docs/config.schema.json)" "$(weft config schema)"

# A variable that looks like an override and is none.
same 'weft: warning: $WEFT_SESSION_DM_SCOP: session has no such field; did you mean WEFT_SESSION_DM_SCOPE?' \
	"$(WEFT_SESSION_DM_SCOP=main weft list 2>&1 >/dev/null)"
same 'weft: warning: $WEFT_SERVER_X: server has no such field' \
	"$(WEFT_SERVER_X=1 weft list 2>&1 >/dev/null)"
same '' "$(WEFT_OTHER_THING=1 WEFT_SESSIONS=2 weft list 2>&1 >/dev/null)"

# URLs that are none.
refused 2 invalid '*no scheme*jsonl:./x' list --store ./x
refused 2 invalid '*unknown scheme "foo:"*' list --store foo:x
refused 2 invalid '*jsonl:DIR*' list --store jsonl:
refused 2 invalid '*unknown option "quue"*' list --store "$WEFT_STORE?quue=1"
refused 2 invalid '*queue*' list --store "$WEFT_STORE?queue=x"

unset HOME XDG_DATA_HOME XDG_CONFIG_HOME WEFT_STORE WEFT_STORE_URL
refused 2 usage 'no store: $HOME is not set; *' list

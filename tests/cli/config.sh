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
made "$dir/env" --config "$dir/nothing.json"
# wrong PATTERN TEXT
wrong() {
	printf '%b' "$2" >"$dir/wrong.json"
	refused 2 invalid "$dir/wrong.json: $1" list --config "$dir/wrong.json"
}
wrong 'not JSON: *line 2, column *' '{\n"store"'
wrong 'line 1: expected an object, got array' '[]'
wrong 'line 3: unknown section "stor"; did you mean "store"?' '{\n\n"stor":{}}'
wrong 'line 2: unknown field "ulr"; did you mean "url"?' '{"store":{\n"ulr":"x"}}'
wrong 'line 1: unknown field "directory"' '{"store":{"directory":"x"}}'
wrong 'line 2: expected a string for "store.url"' '{"store":\n{"url":7}}'
wrong 'line 1: expected an object for "store"' '{"store":"jsonl:x"}'
wrong 'member "store" twice *' '{"store":{},"store":{}}'
wrong '*nothing there*' ''
refused 7 io "$dir: *" list --config "$dir"

# URLs that are none.
refused 2 invalid '*no scheme*jsonl:./x' list --store ./x
refused 2 invalid '*unknown scheme "foo:"*' list --store foo:x
refused 2 invalid '*jsonl:DIR*' list --store jsonl:
refused 2 invalid '*unknown option "quue"*' list --store "$WEFT_STORE?quue=1"
refused 2 invalid '*queue*' list --store "$WEFT_STORE?queue=x"

unset HOME XDG_DATA_HOME XDG_CONFIG_HOME WEFT_STORE WEFT_STORE_URL
refused 2 usage 'no store: $HOME is not set; *' list

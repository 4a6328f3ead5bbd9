#!/bin/bash
# Every global name is defined once in all of src/: two functions of one name in
# two layers would be one of them, as the linker likes.
set -euo pipefail

objects=$(dirname "$WEFT")
names=$(find "$objects/src" "$objects/weft.p" -name '*.o' -exec nm -g --defined-only {} + |
	awk 'NF == 3 && $2 ~ /^[TDBRC]$/ { print $3 }' | sort)
[ "$(wc -l <<<"$names")" -gt 500 ] || { echo "hardly any names in $objects"; exit 1; }
twice=$(uniq -d <<<"$names" | grep -v '^__\(odr_asan\|asan\|sancov\|start_\|stop_\)' || true)
if [ -n "$twice" ]; then
	echo "defined more than once:"
	echo "$twice"
	exit 1
fi

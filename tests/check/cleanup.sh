#!/bin/bash
# What CLEANUP gives back at the end of a function must have been set up before
# the first return: an initialiser, or a call of ..._init, comes first.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=tests/check/files.sh
. tests/check/files.sh

found=$(project_files '*.c' | xargs -0 awk '
	# A declaration without a value: CLEANUP(f) struct arena a, b;
	/CLEANUP\([a-z_]+\) struct (arena|buf) [a-z_0-9, ]+;/ {
		names = $0
		sub(/.*struct (arena|buf) /, "", names)
		sub(/;.*/, "", names)
		n = split(names, name, /, */)
		for (i = 1; i <= n; i++)
			waiting[name[i]] = FNR
		next
	}
	/_init\(&/ {
		for (v in waiting)
			if ($0 ~ "_init\\(&" v "[,)]")
				delete waiting[v]
	}
	/(^|[^a-z_])return([^a-z_]|$)/ || /^}/ {
		for (v in waiting)
			printf "%s:%d: %s is given back before it is set up\n", FILENAME, FNR, v
	}
	/^}/ { delete waiting }
')
if [ -n "$found" ]; then
	printf '%s\n' "$found"
	exit 1
fi

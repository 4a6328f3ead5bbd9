#!/bin/bash
# A directory of src/ includes only itself and what is below it, and each
# foreign library is known to few files.  Prints file:line of each offender.
set -euo pipefail
cd "$(dirname "$0")/../.."

find src include -name '*.[ch]' -print0 | sort -z | xargs -0 -r awk '
BEGIN {
	# What a directory may include besides itself.
	below["base"] = ""
	below["model"] = "base"
	below["route"] = "base model"
	below["store"] = "base model"
	below["engine"] = "base model route store"
	below["agent"] = below["interop"] = "base model route store engine"
	below["api"] = "base model route store engine agent interop"
	below["compat"] = "base model route store engine interop api"
	# Programs go through the public header, and by it through the one door;
	# route/ reads the configuration, which says where the store is.
	below["cli"] = below["server"] = below["mcp"] = "base route"

	# Public headers that a directory may include.
	public["base"] = public["model"] = public["store"] = "types store"
	public["route"] = "types"
	public["engine"] = public["agent"] = \
		public["interop"] = public["api"] = "types store weft"
	public["compat"] = "types store weft compat"
	public["cli"] = public["server"] = public["mcp"] = "types weft"
	public["include"] = "types store weft"

	# Where the headers of a foreign library may appear.
	only["sqlite3.h"] = "^src/(store/(jsonl/(catalog[a-z_]*|search_db|vfs)|sqlite/[a-z_]*)|cli/bench_sqlite)[.]c$"
	only["sqlite3ext.h"] = only["sqlite3.h"]
	only["libpq-fe.h"] = "^src/(store/pg/[a-z_]*|cli/bench_postgres)[.]c$"
	only["yyjson.h"] = "^src/base/json[.][ch]$"
}

function has(list, word) {
	return index(" " list " ", " " word " ") > 0
}

function bad(why) {
	printf "%s:%d: %s\n", FILENAME, FNR, why
	offenders++
}

FNR == 1 {
	n = split(FILENAME, path, "/")
	dir = path[1] == "include" ? "include" : path[2]
	if (path[1] == "src" && (n < 3 || !(dir in below)))
		bad("not in a known layer: add it to tests/check/layers.sh")
}

/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
	quoted = $0 ~ /include[ \t]*"/
	name = $0
	sub(/^[^<"]*[<"]/, "", name)
	sub(/[>"].*/, "", name)
	parts = split(name, part, "/")

	if (name in only) {
		if (FILENAME !~ only[name])
			bad("<" name "> is not for this file")
	} else if (name ~ /(^|\/)[.][.]\//) {
		bad("write \"" name "\" from the root of src/")
	} else if (part[1] == "weft") {
		sub(/[.]h$/, "", part[2])
		if (!has(public[dir], part[2]))
			bad(dir "/ may not include " name)
	} else if (quoted && parts > 1 && part[1] != dir) {
		if (!has(below[dir], part[1]))
			bad(dir "/ may not include " name)
	}
}

END { exit offenders > 0 }
'

#!/bin/bash
# The examples of a page print what it says: every block ```text is what the
# block ```sh before it prints.  They are run one after the other, in one store.
set -euo pipefail

name=docs/$1
page=$PWD/$name
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/here"
ln -s "$WEFT" "$work/bin/weft"

awk -v dir="$work" '
	/^```sh$/ { n++; to = dir "/" n ".sh"; next }
	/^```text$/ { to = dir "/" n ".text"; next }
	/^```/ { to = ""; next }
	to { print >to }' "$page"
[ -s "$work/1.sh" ] || { echo "$name has no example"; exit 1; }

export PATH=$work/bin:$PATH WEFT_STORE=jsonl:$work/store HOME=$work
cd "$work/here"
for ((i = 1; ; i++)); do
	[ -f "$work/$i.sh" ] || break
	bash -euo pipefail "$work/$i.sh" >"$work/out" || {
		echo "example $i of $name fails"
		exit 1
	}
	diff "$work/$i.text" "$work/out" || {
		echo "example $i of $name prints something else"
		exit 1
	}
done

#!/bin/bash
# The README's example works when it is pasted.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' README.md >"$work/example"
[ -s "$work/example" ] || { echo "README.md has no example"; exit 1; }
# It says where the program is for people; the tests know better.
sed -i "s|\$PWD/build|$(dirname "$WEFT")|" "$work/example"
TMPDIR=$work bash -euo pipefail "$work/example" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
for said in 'Where should I go in May?' 'Lisbon' '"replayed":true' '4 events' ': ok' '"type":"session"'; do
	grep -qF -- "$said" "$work/out" || {
		echo "the README's example does not show: $said"
		cat "$work/out"
		exit 1
	}
done

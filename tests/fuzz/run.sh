#!/bin/bash
# run.sh TARGET CORPUS: fuzz for 20 seconds, times WEFT_TEST_SCALE, starting
# from the corpus.  An input that breaks the target is left in the directory
# "findings" beside the program, and printed.
set -euo pipefail

target=$1
corpus=$2
seconds=$((20 * ${WEFT_TEST_SCALE:-1}))
dictionary=$(dirname "$0")/$(basename "$target").dict

options=(-max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -verbosity=1)
if [ -r "$dictionary" ]; then
	options+=(-dict="$dictionary")
fi
findings=$(dirname "$target")/findings
mkdir -p "$findings"

# The fuzzer adds what it discovers to the first directory: not to ours.
discovered=$(mktemp -d)
trap 'rm -rf "$discovered"' EXIT

"$target" "${options[@]}" -artifact_prefix="$findings/$(basename "$target")-" \
	"$discovered" "$corpus"

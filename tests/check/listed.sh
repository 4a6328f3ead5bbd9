#!/bin/bash
# Every source is built: a file that no meson.build names would be forgotten
# without a word, and a test in it never run.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=tests/check/files.sh
. tests/check/files.sh

status=0
while IFS= read -r -d '' file; do
	name=${file##*/}
	case $file in
	src/*)
		list=${file%/*}/meson.build ;;
	tests/*)
		list=tests/meson.build ;;
	*)
		continue ;;
	esac
	case $file in
	tests/unit/test-*)
		name=${name#test-} name=\'${name%.c}\' ;;
	tests/fuzz/fuzz-*)
		name=${name#fuzz-} name=\'${name%.c}\' ;;
	esac
	if ! grep -qF -e "$name" "$list"; then
		echo "$file: not listed in $list"
		status=1
	fi
done < <(project_files '*.c')
# The same for what is installed to be read.
for file in docs/*.md docs/*.json; do
	if ! grep -qF -e "'${file##*/}'" docs/meson.build; then
		echo "$file: not listed in docs/meson.build"
		status=1
	fi
done
exit $status

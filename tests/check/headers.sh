#!/bin/bash
# Every public header can be included alone, first or twice, from C99 and from
# C++, with all warnings, by both compilers.
set -euo pipefail

status=0

# compiles HEADER COMPILER OPTION...
compiles() {
	local header=$1
	shift

	printf '#include <weft/%s>\n#include <weft/%s>\nint weft_headers_are_fine;\n' \
		"$header" "$header" |
		"$@" -Iinclude -Wall -Wextra -Wshadow -Wundef -Werror -fsyntax-only - || {
		echo "^ $header with $*"
		status=1
	}
}

for header in include/weft/*.h; do
	header=${header##*/}
	for cc in gcc clang; do
		compiles "$header" "$cc" -x c -std=c99 -pedantic -Wstrict-prototypes
		compiles "$header" "$cc" -x c -std=c17 -pedantic
	done
	for cxx in g++ clang++; do
		compiles "$header" "$cxx" -x c++ -std=c++11 -pedantic
		compiles "$header" "$cxx" -x c++ -std=c++17 -pedantic
	done
done
exit $status

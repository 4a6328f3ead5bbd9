#!/bin/bash
# What a stranger does with the source: install it, link with it, call it from
# another language, move it, and take it away again.  Everything runs while
# the source that it was built from is out of sight.
set -euo pipefail

# shellcheck source=tests/check/files.sh
. tests/check/files.sh
here=$PWD
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Nothing of whoever runs the test.
unset MAKEFLAGS MAKELEVEL DESTDIR PREFIX prefix CC LD_LIBRARY_PATH \
	PKG_CONFIG_PATH WEFT_STORE WEFT_CONFIG
export HOME=$dir/home TMPDIR=$dir
mkdir "$HOME"

fail() {
	echo "install.sh:${BASH_LINENO[*]}: $*" >&2
	exit 1
}

# quietly COMMAND...: shows what it says only if it fails.
quietly() {
	"$@" >"$dir/said" 2>&1 || {
		cat "$dir/said"
		fail "failed: $*"
	}
}

# shows TEXT FILE
shows() {
	grep -qF -e "$1" "$2" || {
		cat "$2"
		fail "expected '$1'"
	}
}

# block FILE LANGUAGE: the first fenced block of that language.
block() {
	awk -v fence="\`\`\`$2" '$0 == fence { on = 1; next }
		/^```$/ && on { exit } on' "$1"
}

# all_there ROOT: every kind of thing is where it belongs.
all_there() {
	local root=$1 lib file

	lib=$(dirname "$(dirname "$(find "$root" -name weft.pc)")")
	for file in "$root"/bin/{weft,weft-conformance} \
		"$lib"/libweft.{a,so,so.0} \
		"$root"/include/weft/{weft,types,store}.h \
		"$root"/share/man/man1/{weft,weft-append,weft-conformance}.1 \
		"$root"/share/bash-completion/completions/weft \
		"$root"/share/zsh/site-functions/_weft \
		"$root"/share/doc/weft/{README.md,LICENSE}; do
		[ -s "$file" ] || fail "$file is not there"
	done
	for file in docs/*.md examples/*.{c,py}; do
		cmp "$file" "$root/share/doc/weft/$file"
	done
}

# The program, its pages and its completion.
use_program() {
	local root=$1 version url status

	version=$(pkg-config --modversion weft)
	[ "$("$root/bin/weft" --version)" = "weft $version" ] ||
		fail "weft --version is not $version"
	"$root/bin/weft" --store "jsonl:$dir/work/program" new --key k >"$dir/said"
	MANPATH=$root/share/man MANROFFOPT='' man -P cat weft-append >"$dir/said"
	shows 'weft append' "$dir/said"
	MANPATH=$root/share/man man -P cat weft-conformance >"$dir/said"
	shows 'contract of stores' "$dir/said"
	bash -c '. "$1" && complete -p weft' - \
		"$root/share/bash-completion/completions/weft" >"$dir/said"
	quietly "$root/bin/weft-conformance" memory:
	quietly "$root/bin/weft-conformance" "jsonl:$dir/work" '*reopening*'
	for url in what: "jsonl:$dir/work/nowhere" 'memory: no_such*'; do
		status=0
		# shellcheck disable=SC2086
		"$root/bin/weft-conformance" $url >"$dir/said" 2>&1 || status=$?
		[ "$status $(wc -l <"$dir/said")" = '2 1' ] ||
			fail "weft-conformance $url: $status, $(cat "$dir/said")"
	done
}

# The examples, built as they say, in the strictest way.
use_examples() {
	local root=$1 url=jsonl:$dir/work/store name watcher
	local flags=(-std=c99 -pedantic -Wall -Wextra -Werror)

	for name in hello loop watch; do
		# shellcheck disable=SC2046
		quietly cc "${flags[@]}" -o "$name" \
			"$root/share/doc/weft/examples/$name.c" \
			$(pkg-config --cflags --libs weft)
		ldd "./$name" >"$dir/said"
		shows "=> $root/" "$dir/said"
	done
	./hello "$url" >"$dir/said"
	shows '"parts":[{"type":"text","text":"Lisbon."}]' "$dir/said"
	# It sees what comes while it waits, from another process.
	./watch "$url" hello 4 >"$dir/watched" &
	watcher=$!
	./hello "$url" >"$dir/said"
	wait "$watcher"
	[ "$(grep -c '"role"' "$dir/watched")" = 4 ] || fail 'watch missed something'
	./loop "$url" 1000 >"$dir/said"
	shows '1000 messages are durable' "$dir/said"
	python3 "$root/share/doc/weft/examples/call.py" "$url" >"$dir/said"
	shows 'user: Grüß Gott' "$dir/said"
	shows 'not_found: ' "$dir/said"
	"$root/bin/weft" --store "$url" verify >"$dir/said"
	shows ': ok' "$dir/said"

	# Statically, next to functions that are named like ours.
	printf '%s\n' 'void fail(void);' 'void fail(void) { }' \
		'void mem_free(void);' 'void mem_free(void) { }' >own.c
	# shellcheck disable=SC2046
	quietly cc "${flags[@]}" -o static own.c \
		"$root/share/doc/weft/examples/hello.c" \
		$(pkg-config --cflags weft) \
		$(pkg-config --static --libs weft | sed 's/-lweft/-l:libweft.a/')
	! ldd ./static | grep libweft || fail 'linked with the shared library'
	LD_LIBRARY_PATH='' ./static memory: >"$dir/said"
}

# What the README says, as it says it.
use_readme() {
	local readme=$1/share/doc/weft/README.md

	block "$readme" c >hello.c
	block "$readme" python >hello.py
	quietly bash -euc "$(grep '^    cc ' "$readme")"
	./hello >"$dir/said"
	shows ' is durable' "$dir/said"
	python3 hello.py >"$dir/said"
	shows '2 user Hello' "$dir/said"
	shows '3 user Hello from Python' "$dir/said"
}

# stands_alone ROOT: everything in ROOT works.
stands_alone() {
	local root=$1

	all_there "$root"
	rm -rf "$dir/work"
	mkdir "$dir/work"
	(
		cd "$dir/work"
		PKG_CONFIG_PATH=$(dirname "$(find "$root" -name weft.pc)")
		LD_LIBRARY_PATH=${PKG_CONFIG_PATH%/pkgconfig}
		export PKG_CONFIG_PATH LD_LIBRARY_PATH
		use_program "$root"
		use_examples "$root"
		use_readme "$root"
	)
}

# knows_nothing_of DIRECTORY ROOT: no file in ROOT names the directory.
knows_nothing_of() {
	! grep -rlF -e "$1" "$2" || fail "these know of $1"
}

mkdir "$dir/source"
project_files '*' | tar -c --null -T - | tar -x -C "$dir/source"
cd "$dir/source"

# The compiler is told to hurry: this is not about speed.
CFLAGS=-O0 quietly make install PREFIX="$dir/one"
cd "$here"
knows_nothing_of "$dir" "$dir/one"
knows_nothing_of "$here" "$dir/one"
mv "$dir/source" "$dir/hidden"
stands_alone "$dir/one"

# Elsewhere, and under a name that nobody expects.
mv "$dir/one" "$dir/an other"
mkdir "$dir/one"
mv "$dir/an other" "$dir/one/two"
stands_alone "$dir/one/two"
mv "$dir/one/two" "$dir/two"
rmdir "$dir/one"
mv "$dir/two" "$dir/one"
mv "$dir/hidden" "$dir/source"
cd "$dir/source"

# Installing over it, and uninstalling, leaves nothing but what is not ours.
quietly make install PREFIX="$dir/one"
touch "$dir/one/share/not-ours"
quietly make uninstall PREFIX="$dir/one"
[ "$(find "$dir/one" ! -type d)" = "$dir/one/share/not-ours" ] ||
	fail "left behind: $(find "$dir/one")"
[ "$(find "$dir/one" -type d)" = "$dir/one
$dir/one/share" ] || fail "left behind: $(find "$dir/one")"
! make uninstall PREFIX="$dir/one" >"$dir/said" 2>&1 || fail 'uninstalled twice'
shows 'nothing was installed' "$dir/said"

# A package: what is for /usr is put elsewhere first.
quietly make install prefix=/usr DESTDIR="$dir/stage"
[ "$(ls "$dir/stage")" = usr ] || fail 'not only /usr'
cd "$here"
all_there "$dir/stage/usr"
knows_nothing_of "$dir" "$dir/stage"
cd "$dir/source"
quietly make uninstall prefix=/usr DESTDIR="$dir/stage"
[ ! -e "$dir/stage" ] || fail "left behind: $(find "$dir/stage")"

# Short names for what the scripts and Meson do; `make help` lists them.

# Where `make install` puts things; DESTDIR goes in front, for packages.
prefix ?= /usr/local
PREFIX ?= $(prefix)

SHELL = /bin/bash
NINJA = ninja -C build -j 2

.NOTPARALLEL:
.PHONY: help setup setup-test build run check test test-long lint format \
	bench install uninstall clean

help:
	@echo 'make run         install what is missing, build, show what Weft does'
	@echo 'make build       build the program and the library in build/'
	@echo 'make check       build and run the quick tests'
	@echo 'make test        build in every way and run every test'
	@echo 'make test-long   the same, 20 times longer'
	@echo 'make lint        clang-tidy, format, and the checks of the source'
	@echo 'make format      format the source'
	@echo 'make bench       measure this machine, and Weft against it'
	@echo 'make install     install to PREFIX ($(PREFIX)); DESTDIR is obeyed'
	@echo 'make uninstall   remove what install installed'
	@echo 'make clean       remove all build directories'
	@echo 'make setup       install what building and running need'
	@echo 'make setup-test  install what testing needs besides'

setup:
	@scripts/setup

setup-test:
	@scripts/setup-test

build:
	@scripts/configure build
	@$(NINJA) --quiet

run: setup build
	@scripts/demo

check:
	@scripts/test quick

test: setup setup-test
	@scripts/test

test-long: setup setup-test
	@WEFT_TEST_SCALE=$${WEFT_TEST_SCALE:-20} scripts/test long

lint:
	@tests/check/layers.sh
	@tests/check/format.sh
	@tests/check/words.sh
	@tests/check/listed.sh
	@tests/check/cleanup.sh
	@scripts/lint

format:
	@. tests/check/files.sh; \
		project_files '*.c' '*.h' | xargs -0 -r clang-format -i

bench: build
	@build/weft bench append
	@build/weft bench load
	@build/weft bench scale

install: build
	@scripts/install '$(PREFIX)' '$(DESTDIR)'

uninstall:
	@scripts/uninstall '$(PREFIX)' '$(DESTDIR)'

clean:
	rm -rf build build-asan build-tsan build-fuzz

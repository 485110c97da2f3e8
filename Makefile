# Commands for users and developers.  meson builds; tools/need installs missing packages on Debian.
#   make run     builds, and shows a page of live profiles
#   make test    runs all tests and checks
export PATH := /usr/bin:/bin:$(PATH)

PREFIX  ?= /usr/local
DESTDIR ?=
FUZZ_S  ?= 60
TORTURE_S ?= 1800
DIFF_PAIRS ?= 50
SOAK_MIN ?= 60

.PHONY: build run test test-real test-install test-diff test-page screenshots bench soak fuzz torture mutate lint format asan tsan coverage install uninstall clean help
.NOTPARALLEL:

build: ## build/kiln and build/libkiln.so (the default)
	@tools/need run
	@tools/build gcc

run: build ## build, then run kiln serve with live profiles of itself and of the example service
	@tools/run

test: ## both compilers, all tests, sanitizers, fuzz smoke, checks
	@tools/need test
	@tools/test

bench: ## benchmarks, compared with other tools
	@tools/need bench
	@tools/build gcc -Dbench=enabled
	@bench/run

soak: ## the server for SOAK_MIN minutes (60) at 80 % of its sustained rate, with kills and backups
	@tools/need bench
	@tools/build gcc -Dbench=enabled
	@bench/soak --minutes $(SOAK_MIN)

fuzz: ## fuzz each target for FUZZ_S seconds (60)
	@tools/need fuzz
	@tools/build fuzz
	@tools/fuzz $(FUZZ_S)

torture: ## test programs that do what real ones do, under the agent, for TORTURE_S seconds (1800)
	@tools/need test
	@tools/build gcc -Dwerror=true -Dtests=true
	@tests/torture/run $(TORTURE_S)

test-real: ## programs from Debian, without the agent and with it: compares behaviour and run time (20 min)
	@tools/need test
	@tools/build gcc
	@tests/real/run --install
	@tools/need --optional debootstrap
	@tests/real/bare

test-diff: ## kiln diff on real recordings under load: DIFF_PAIRS (50) pairs of one program, 20 planted slowdowns
	@tools/need test
	@tools/build gcc
	@tests/real/diff --pairs $(DIFF_PAIRS)

test-page: ## axe-core on every view, light and dark, wide and narrow; transforms of 20 files; a slow server (10 min)
	@tools/need test
	@tools/build gcc
	@KILN=build/kiln KILN_SRC=. node ui/test/axe.mjs
	@KILN=build/kiln KILN_SRC=. KILN_EVERY_FILE=1 node ui/test/transforms.mjs
	@KILN=build/kiln KILN_SRC=. KILN_EVERY_FILE=1 node ui/test/flow.mjs

screenshots: ## pictures of every view of the page for docs/img, of the example service (2 min; as root, for waits)
	@tools/need test
	@tools/build gcc
	@KILN=build/kiln KILN_SRC=. KILN_BUILD=build node ui/test/screenshots.mjs

mutate: ## deliberate bugs, one at a time: the tests must notice each of them (20 min)
	@tools/need test
	@tools/mutate

lint: ## clang-tidy, shellcheck, clang-format (slow; LINT=PATTERN selects C files)
	@tools/need lint
	@tools/lint $(LINT)

format: ## format all C files
	@tools/need lint
	@tools/test format

asan tsan: ## the tests with ASan and UBSan, with TSan
	@tools/need test
	@tools/test $@

coverage: ## line coverage of the tests
	@tools/need test
	@tools/coverage

install: ## install into DESTDIR and PREFIX (/usr/local)
	@tools/need run
	@tools/build gcc -Dprefix=$(PREFIX)
	@DESTDIR="$(DESTDIR)" tools/uninstall --debug $(PREFIX)
	@DESTDIR="$(DESTDIR)" meson install -C build --no-rebuild

uninstall: ## remove from DESTDIR and PREFIX; a changed configuration file stays
	@DESTDIR="$(DESTDIR)" tools/uninstall $(PREFIX)

test-install: ## install, use and uninstall in a fresh root made by mmdebstrap (10 min)
	@tools/need --optional mmdebstrap
	@tests/install/bare

clean: ## remove all build directories
	rm -rf build build-clang build-asan build-tsan build-fuzz build-coverage

help: ## print this list
	@awk -F ':.*## ' '/^[a-z -]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

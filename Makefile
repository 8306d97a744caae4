# SPDX-License-Identifier: MIT
# The front door. Meson and ninja do the work; `make` leaves build/bytepoll, which works from there.
#   make           build
#   make demo      install what is missing, build, profile a small C program, show where its memory goes
#   make test      install what is missing, build, run the tests of every feature that take seconds (WITHOUT: suites left out)
#   make test-all  the same with all tests, for half an hour (tests/long lists those that `make test` leaves out)
#   make bench     measure what profiling costs
#   make statistics  simulate every interval at length, write the tables into docs/statistics.md
#   make laws      judge the laws of the sampler's forms over 10^9 objects, into docs/embedding.md
#   make torture   test suites of other programs, unprofiled and profiled (NAMES: some of them)
#   make real      many real programs, profiled and unprofiled compared (NAMES: some of them)
#   make storms    kills, full disks, failing calls ...: the long forms of what the tests do in short
#   make soak      servers under load for an hour, each beside a twin that is not profiled (MINUTES)
#   make live-dotnet  record a real .NET program (DOTNET_DATA: the folder that holds one)
#   make fuzz      fuzz the readers (FUZZ_SECONDS each, default 60)
#   make install   into PREFIX (default: that of the last time, at first /usr/local), below DESTDIR if set
#   make uninstall remove what `make install` with the same PREFIX and DESTDIR put there
BUILD = build
PREFIX =
MINUTES = 60
# The system's own meson and python, whatever version managers put in front of them.
export PATH := /usr/bin:/bin:$(PATH)

.PHONY: all demo test test-all bench statistics laws torture real storms soak live-dotnet fuzz install uninstall clean
all:
	@scripts/build $(BUILD) $(if $(PREFIX),--prefix=$(abspath $(PREFIX)))

demo:
	@scripts/install-deps --demo
	@$(MAKE) --no-print-directory all
	@scripts/demo $(BUILD)

test:
	@scripts/install-deps
	@scripts/run-tests $(BUILD) --quick $(WITHOUT)

test-all:
	@scripts/install-deps
	@scripts/run-tests $(BUILD) $(WITHOUT)

bench:
	@scripts/install-deps --bench
	@$(MAKE) --no-print-directory all
	@bench/run $(BUILD)

statistics:
	@scripts/install-deps
	@$(MAKE) --no-print-directory all
	@scripts/statistics $(BUILD)

laws:
	@scripts/install-deps
	@$(MAKE) --no-print-directory all
	@scripts/laws $(BUILD)

torture:
	@scripts/install-deps --torture
	@$(MAKE) --no-print-directory all
	@BYTEPOLL_BUILD=$(BUILD) tests/torture/run.py $(NAMES)

real:
	@scripts/install-deps --real
	@$(MAKE) --no-print-directory all
	@BYTEPOLL_BUILD=$(BUILD) tests/real/run.py --more $(NAMES)

storms: all
	@scripts/install-deps
	@scripts/storms $(BUILD)

soak:
	@scripts/install-deps --bench
	@$(MAKE) --no-print-directory all
	@bench/soak.py $(BUILD) --minutes $(MINUTES)

live-dotnet: all
	@BYTEPOLL_BUILD=$(BUILD) tests/real/dotnet.py --data "$(DOTNET_DATA)"

fuzz:
	@scripts/install-deps
	@scripts/fuzz $(BUILD)-fuzz

install: all
	@scripts/install $(BUILD)

uninstall: all
	@scripts/install --remove $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD)-fuzz

# Every command of the project. `make` alone lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Where rustup puts cargo, for shells that were open when it was installed.
export PATH := $(HOME)/.cargo/bin:$(PATH)

# `--locked`: what was tested is what is built.
CARGO := cargo
WASM := --target wasm32-unknown-unknown
VECTORS := -C target-feature=+simd128

.PHONY: help demo test fmt fmt-check lint floors unit docs wasm constant-time dudect gpu gpu-carry python ray ray-small native ohttp package oldest-rust bench bench-regression packages release release-check release-tools fuzz fuzz-smoke campaigns toolchain neon neon-count neon-tools vectors ledger site site-check web page proxies neon-kernels neon-schemes simd128 simd128-clients simd128-tools

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A profile of its own, and neither Parquet nor Zstandard nor schemes it does not use: a first build should not take longer than it must.
demo: toolchain ## serve real tables and look addresses, names and proofs up privately; make demo IP="8.8.8.8 1.1.1.1"
	$(CARGO) run --locked --profile demo -p sotto-cli --no-default-features --bin sotto -- demo $(addprefix --ip ,$(IP))

# The stages of `test`, the cheapest faults first.
STAGES := fmt-check lint unit ray-small docs wasm

test: toolchain ## everything CI does; ends with what each stage took and how many tests passed
	@.ci/stages $(STAGES)

fmt: toolchain ## format everything
	$(CARGO) fmt --all

fmt-check: toolchain
	$(CARGO) fmt --all --check

lint: toolchain ## clippy, warnings refused
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

floors: toolchain ## no dependency edge points upward; `unit` asks too
	$(CARGO) run --locked --quiet -p floors

# The module for Python is built too, for `ray-small`. Examples are not: `lint` compiles them.
FEATURES := --locked --workspace --features sotto-python/extension
UNIT := test $(FEATURES)
# The command as `unit` builds it, so that a lane after it compiles little.
COMMAND := $(UNIT) --quiet --no-run --test cli

unit: toolchain ## all tests: floors, the conformance suite, a quarter of a second of each fuzz target, doc tests
	$(CARGO) $(UNIT) --tests
	$(CARGO) $(UNIT) --doc

ray-small: toolchain ## the Python package's types and tests, and a table in parts on Ray: the guide's commands, two deaths, two epochs; skipped without PyPI
	$(CARGO) $(UNIT) --quiet --test module
	@bindings/ray/check small || { [ $$? = 3 ] && echo "the tests on Ray were not run"; }

docs: toolchain ## the documentation, warnings refused
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

# Not a stage of `test`: it fetches what builds sites from the registry of Python's packages.
site: ## the documentation as a site in target/site; a link that leads nowhere is refused
	@docs/site/check

site-check: site ## the site in Chromium and Firefox, as wide as a phone and as a desk, light and dark; needs npm
	@docs/site/npm && node docs/site/look.mjs $(ARGS)

# Package by package and never --workspace, which would unify features and hide a client that needs a server.
wasm: toolchain ## the client's half, for browsers
	$(CARGO) clippy --locked $(WASM) -p sotto-client --no-default-features -- -D warnings
	$(CARGO) clippy --locked $(WASM) -p sotto-client --no-default-features --features cache -- -D warnings
	$(CARGO) clippy --locked $(WASM) -p sotto-client --no-default-features --features state,witness -- -D warnings
	$(CARGO) clippy --locked $(WASM) -p sotto-registry -- -D warnings
	$(CARGO) clippy --locked $(WASM) -p sotto-web --features hints -- -D warnings
	CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$(VECTORS)" $(CARGO) clippy --locked $(WASM) -p sotto-math -- -D warnings

# What a 64-bit ARM processor runs, by an emulator of one.
NEON := --target aarch64-unknown-linux-gnu
neon-kernels neon-schemes neon-count: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER := aarch64-linux-gnu-gcc
neon-kernels neon-schemes neon-count: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER := qemu-aarch64 -L /usr/aarch64-linux-gnu

neon: neon-kernels neon-schemes ## the kernels for ARM, and two schemes on them, under QEMU; some ten minutes, so not part of `test`

neon-kernels: toolchain neon-tools
	$(CARGO) test --locked $(NEON) -p sotto-math --lib

neon-schemes: toolchain neon-tools
	$(CARGO) test --locked $(NEON) -p sotto-testkit --test conformance -- simplepir/1::
	$(CARGO) test --locked $(NEON) -p sotto-testkit --test conformance -- dpf/1::

neon-count: toolchain neon-tools ## instructions that each kernel retires on ARM, over those of scalar code; make neon-count ARGS="dot"
	$(CARGO) build --locked --release $(NEON) -p sotto-math --example instructions
	$(CARGO) run --locked -p sotto-math --example instructions -- $$($(CARGO) metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/aarch64-unknown-linux-gnu/release/examples/instructions $(ARGS)

neon-tools:
	@command -v qemu-aarch64 aarch64-linux-gnu-gcc > /dev/null && [ "$$(command -v qemu-aarch64 aarch64-linux-gnu-gcc | wc -l)" = 2 ] || { echo "QEMU or a linker for ARM is missing: apt-get install qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross"; exit 2; }
	@[ -d "$$(rustc --print target-libdir $(NEON))" ] || rustup target add aarch64-unknown-linux-gnu

# What a browser runs, by Node: programs for WASI, with vectors and without.
WASI := --target wasm32-wasip1
CLIENTS := -p sotto-registry --features server --example clients
TARGET_DIR = $$($(CARGO) metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
BUILT = $(TARGET_DIR)/wasm32-wasip1/debug/examples
simd128: export CARGO_TARGET_WASM32_WASIP1_RUNNER := node --no-warnings $(CURDIR)/.ci/wasi.mjs

simd128: toolchain simd128-tools ## the kernels for WebAssembly with and without vectors, and two schemes on them, in Node; not part of `test`
	$(CARGO) test --locked $(WASI) -p sotto-math -p sotto-prg --lib
	CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="$(VECTORS)" $(CARGO) test --locked $(WASI) -p sotto-math -p sotto-prg --lib
	CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="$(VECTORS)" $(CARGO) run --locked $(WASI) $(CLIENTS) -- simplepir/ ypir/

simd128-clients: toolchain simd128-tools ## what clients do for a lookup, natively and in Node; make simd128-clients ARGS="ypir/"
	$(CARGO) build --locked $(WASI) $(CLIENTS)
	cp $(BUILT)/clients.wasm $(BUILT)/clients-plain.wasm
	CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="$(VECTORS)" $(CARGO) build --locked $(WASI) $(CLIENTS)
	$(CARGO) run --locked $(CLIENTS) -- --beside .ci/wasi.mjs $(BUILT)/clients-plain.wasm $(BUILT)/clients.wasm $(ARGS)

simd128-tools:
	@command -v node > /dev/null && node -e 'process.exit(Number(process.versions.node.split(".")[0] < 20))' || { echo "Node 20 or later is missing: apt-get install nodejs, or https://nodejs.org"; exit 2; }
	@[ -d "$$(rustc --print target-libdir $(WASI))" ] || rustup target add wasm32-wasip1

constant-time: toolchain ## the client under Valgrind: what branches on a secret or indexes by it, against a list
	@command -v valgrind > /dev/null && echo '#include <valgrind/memcheck.h>' | cc -E - > /dev/null 2>&1 || { echo "Valgrind is missing: apt-get install valgrind"; exit 2; }
	$(CARGO) run --locked --profile constant-time -p constant-time --features valgrind -- $(ARGS)

dudect: toolchain ## the same by the clock, with this machine's kernels; advisory; make dudect SECONDS=240 ARGS="simplepir"
	$(CARGO) run --locked --profile constant-time -p constant-time -- --clock $(or $(SECONDS),240) $(ARGS)

# Not a stage of `test`: it builds wgpu and its shader compiler, which takes minutes.
GPU := --locked -p sotto-gpu --features wgpu
gpu: toolchain ## the pass on graphics cards and the command with it, on each that is found and on a driver of software, compared with the processor's
	@compgen -G '/usr/share/vulkan/icd.d/*.json' > /dev/null || compgen -G '/etc/vulkan/icd.d/*.json' > /dev/null || [ "$$(uname)" != Linux ] || [ -n "$${VK_DRIVER_FILES:-}" ] || { echo "no Vulkan driver is found: apt-get install mesa-vulkan-drivers"; exit 2; }
	$(CARGO) clippy $(GPU) --all-targets -- -D warnings
	$(CARGO) test $(GPU)
	$(CARGO) $(UNIT),sotto-cli/gpu --test cli -- graphics_card

gpu-carry: toolchain ## what lab/gpu/check.sh runs on a machine with a card, in target/gpu
	$(CARGO) build $(GPU) --example measure --test cards
	$(CARGO) build --locked --release -p sotto-cli --no-default-features --features gpu --bin sotto
	mkdir -p $(TARGET_DIR)/gpu
	cp $(TARGET_DIR)/debug/examples/measure $(TARGET_DIR)/gpu/measure
	cp $(TARGET_DIR)/release/sotto $(TARGET_DIR)/gpu/sotto
	cp "$$($(CARGO) test $(GPU) --test cards --no-run 2>&1 | sed -n 's/.*cards.*(\(.*\))$$/\1/p')" $(TARGET_DIR)/gpu/cards
	strip $(TARGET_DIR)/gpu/*

# Not a stage of `test`: it builds a release of every scheme, which takes minutes.
python: toolchain ## the Python package: a wheel, its tests and its types, in a fresh environment
	@bindings/python/check

ray: toolchain ## tables in parts on Ray: lookups while actors die and epochs change, in a fresh environment
	@bindings/ray/check

native: toolchain ## the C library, its header, and the Kotlin package on it, tested against a server
	@bindings/native/check

# `unit` tests the gateway, and not the command that was built with it.
ohttp: toolchain ## the command with Oblivious HTTP, by way of a relay
	$(CARGO) $(UNIT),sotto-cli/ohttp --test cli -- oblivious phones

# `unit` compares them with what they were, so this is for whoever changed something on purpose.
vectors: toolchain ## record the lookups of spec/vectors anew, and read them with the client that was written from spec/ alone
	$(CARGO) run --locked --quiet -p vectors
	python3 spec/vectors/client/client.py

# `unit` compares these too. Of all that is built, only the tests that write.
ledger: toolchain ## write ledger/ anew: what the project offers, as text that a review reads
	SOTTO_LEDGER=write $(CARGO) $(UNIT) --quiet --bin sotto --test cli --test guests --test ledger -- ledger
	git status --short ledger docs/reference

# Nor are these two, which are lanes of `.ci/nightly`.
package: toolchain ## the packages that are published, each built from its own archive, up to the upload
	$(CARGO) publish --dry-run --locked --workspace

oldest-rust: toolchain ## the crates of clients with the oldest Rust that they promise (rust-version)
	v=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); rustup toolchain install --no-self-update --profile minimal $$v && \
	  $(CARGO) +$$v check --locked -p sotto-client -p sotto-registry -p sotto-binding

# Nor is this: it builds every family of schemes twice.
web: toolchain ## the browser's package: its builds, their sizes, types, and tests in Chromium
	@bindings/web/check

proxies: toolchain ## the examples for nginx and Caddy in deploy/, with lookups through each that is installed
	$(CARGO) $(COMMAND)
	SOTTO=$(TARGET_DIR)/debug/sotto deploy/check-proxies || [ $$? = 3 ]

page: toolchain ## a page that looks things up in a browser, served with the demo's tables
	@bindings/web/page/run

bench: toolchain ## measure; make bench ARGS="machine"
	$(CARGO) run --locked --release -p sotto-cli --bin sotto -- bench $(ARGS)

bench-regression: toolchain ## has anything become slower than it was? half a minute, once it is built
	$(CARGO) run --locked --release -p sotto-cli --bin sotto -- bench regression $(ARGS)

release-tools: toolchain ## fetch what `release` needs: crates, Rust for other machines, Zig, maturin, cargo-cyclonedx, npm's packages
	@.ci/release tools

release: toolchain ## packages of all kinds and their SHA-256, the same bytes from the same commit, nothing fetched; make release ARGS="twice command deb"
	@.ci/release $(ARGS)

packages: release-tools ## both, as a lane of .ci/nightly: packages made twice, compared, installed, and a lookup with each; hours
	@.ci/release twice $(ARGS)
	@.ci/release check $(ARGS)

release-check: toolchain ## install each package of `release` into an empty root, and look up with it; make release-check ARGS=wheel
	@.ci/release check $(ARGS)

fuzz-smoke: toolchain ## each fuzz target without libFuzzer; make fuzz-smoke SECONDS=60
	SOTTO_FUZZ_SECONDS=$(or $(SECONDS),2) $(CARGO) test --locked --workspace --test smoke

fuzz: toolchain ## one target with cargo-fuzz, on nightly; make fuzz TARGET=query_request
	@test -n "$(TARGET)" || { echo "which one? make fuzz TARGET=..., of:"; sed -n 's/^    \([a-z_]*\): [a-z]*, [a-z_]*;$$/  \1/p' lab/fuzz/src/lib.rs; exit 2; }
	@$(CARGO) fuzz --version > /dev/null 2>&1 || { echo "cargo-fuzz is missing: cargo install cargo-fuzz, and rustup toolchain install nightly"; exit 2; }
	@mkdir -p lab/fuzz/corpus/$(TARGET)
	SOTTO_FUZZ_TARGET=$(TARGET) $(CARGO) +nightly fuzz run --fuzz-dir lab/fuzz --features libfuzzer libfuzzer lab/fuzz/corpus/$(TARGET) $(ARGS)

campaigns: toolchain ## fuzzing by coverage and kills, for the record in lab/campaigns; make campaigns SECONDS=60 COUNT=1000
	$(CARGO) $(COMMAND)
	SOTTO=$(TARGET_DIR)/debug/sotto lab/campaigns/kill.py $(or $(COUNT),100)
	lab/campaigns/mutate.py $(or $(SECONDS),10)
	@$(CARGO) fuzz --version > /dev/null 2>&1 || { echo "cargo-fuzz is missing: cargo install cargo-fuzz, and rustup toolchain install nightly"; exit 2; }
	lab/campaigns/fuzz.py $(or $(SECONDS),10)
	lab/campaigns/record.py

# What `rust-toolchain.toml` names is there, or is fetched.
toolchain:
	@.ci/toolchain

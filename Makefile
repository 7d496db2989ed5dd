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
FUZZ := --manifest-path fuzz/Cargo.toml

.PHONY: help demo test fmt fmt-check lint floors unit docs wasm bench fuzz fuzz-smoke cargo

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A profile of its own, and no Parquet or Zstandard: a first build should not take longer than it must.
demo: cargo ## serve real tables and look addresses, names and proofs up privately; make demo IP="8.8.8.8 1.1.1.1"
	$(CARGO) run --locked --profile demo -p sotto-cli --no-default-features --bin sotto -- demo $(addprefix --ip ,$(IP))

# In the order in which faults are cheapest to find.
test: fmt-check lint floors unit docs wasm fuzz-smoke ## everything CI does
	@echo "all checks passed"

fmt: cargo ## format everything
	$(CARGO) fmt --all
	$(CARGO) fmt $(FUZZ)

fmt-check: cargo
	$(CARGO) fmt --all --check
	$(CARGO) fmt $(FUZZ) --check

lint: cargo ## clippy, warnings refused
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked $(FUZZ) --target-dir target --all-targets -- -D warnings

floors: cargo ## no dependency edge points upward
	$(CARGO) run --locked --quiet -p floors

unit: cargo ## all tests, doc tests among them
	$(CARGO) test --locked --workspace

docs: cargo ## the documentation, warnings refused
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

# Package by package and never --workspace, which would unify features and hide a client that needs a server.
wasm: cargo ## the client's half, for browsers
	$(CARGO) clippy --locked $(WASM) -p sotto-client --no-default-features -- -D warnings
	$(CARGO) clippy --locked $(WASM) -p sotto-registry --no-default-features --features simplepir,fspiral,spiral,s3pir,piano,dpf,checklist,lp-treepir,bgvpir -- -D warnings

bench: cargo ## measure; make bench ARGS="machine"
	$(CARGO) run --locked --release -p sotto-cli --bin sotto -- bench $(ARGS)

# The same target folder as the rest, so that what both need is built once.
fuzz-smoke: cargo ## two seconds of each fuzz target, without libFuzzer
	$(CARGO) test --locked $(FUZZ) --target-dir target --quiet
	$(CARGO) run --locked $(FUZZ) --target-dir target --bin smoke

fuzz: cargo ## one target with cargo-fuzz, on nightly; make fuzz TARGET=ask
	@test -n "$(TARGET)" || { echo "which one? make fuzz TARGET=..., of:"; ls fuzz/fuzz_targets | sed 's/^/  /; s/\.rs$$//'; exit 2; }
	@$(CARGO) fuzz --version > /dev/null 2>&1 || { echo "cargo-fuzz is missing: cargo install cargo-fuzz, and rustup toolchain install nightly"; exit 2; }
	$(CARGO) +nightly fuzz run --features libfuzzer $(TARGET) $(ARGS)

cargo:
	@command -v $(CARGO) > /dev/null || { \
	  echo "cargo is missing. Install Rust from https://rustup.rs, then try again:"; \
	  echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"; \
	  exit 2; } >&2

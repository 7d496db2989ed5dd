#!/usr/bin/env bash
# What a card gives, in under eight minutes, on a machine where nothing can be built: `make gpu-carry` builds what it runs.
#
#   lab/gpu/check.sh [FOLDER]     the folder with `measure` and `cards`; target/gpu if none is named
#
# Prints processor, card, driver and limits; compares every kernel with the processor (the tests of sotto-gpu); then passes for
# 1 to 128 queries over 1, 4 and 8 GiB of rows of 32 KiB, each compared with the processor, and what memory gives; and
# how long a new epoch takes to be written, which is the first line of each table.
set -uo pipefail
cd "${1:-$(dirname "$0")/../../target/gpu}"

say() { printf '\n== %s, after %d s\n' "$*" "$SECONDS"; }

say machine
date --utc +%F
lscpu | grep -i -E 'model name|^cpu\(s\)'
lscpu | grep -o -i -E 'amx[a-z0-9_]*|avx512[a-z0-9_]*|avx_vnni' | sort -u | tr '\n' ' '
echo
command -v nvidia-smi > /dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,power.limit --format=csv

say cards
timeout 60 ./measure

say parity
timeout 120 ./cards --test-threads 1 && echo "every kernel gives the processor's products"

for gibibytes in 1 4 8; do
  say "$gibibytes GiB of rows of 32 KiB"
  timeout 90 ./measure $((1024 * gibibytes)) 32768 1,2,4,8,16,32,64,128 || echo "not measured"
done

#!/usr/bin/env bash
# What a card gives, in under eight minutes, on a machine where nothing can be built: `make gpu-carry` builds what it runs.
#
#   lab/gpu/check.sh [FOLDER]     the folder with `measure`, `cards` and `sotto`; target/gpu if none is named
#
# Prints processor, card, driver and limits; compares every kernel with the processor (the tests of sotto-gpu); then passes for
# 1 to 128 queries over 1, 4 and 8 GiB of rows of 32 KiB, each compared with the processor, and what memory gives; and
# how long a new epoch takes to be written, which is the first line of each table. At last a served table of 1 GiB, with
# --gpu and without: lookups per second of 1 client and of 8, 32 and 128, and what happens when an epoch changes.
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

say served
tables=$(mktemp -d)
trap 'rm -rf "$tables"' EXIT
head -c $((1 << 30)) /dev/urandom > "$tables/rows.raw"
encode() { timeout 60 ./sotto encode "$tables/rows.raw" --format raw --row-bytes 32768 --scheme simplepir --out "$tables/rows"; }
if encode > /dev/null; then
  for clients in 8 32 128; do
    for gpu in "" --gpu; do
      [ "$SECONDS" -lt 400 ] || { echo "no time for $clients clients"; continue; }
      timeout 40 ./sotto bench server "$tables/rows" --clients $clients --threads "$(nproc)" --quick $gpu || echo "not measured"
    done
  done
  # The log says how long each epoch took to be copied, beside the one that answered.
  ./sotto serve "$tables/rows" --gpu --reload-seconds 1 --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 &
  server=$!
  sleep 8
  encode > /dev/null
  sleep 10
  kill "$server"
  wait "$server"
else
  echo "not measured"
fi

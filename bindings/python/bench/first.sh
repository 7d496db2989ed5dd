#!/usr/bin/env bash
# From `pip install` of a built wheel to a first private lookup, in an environment with nothing in it.
#   bindings/python/bench/first.sh target/python/wheels/sotto-*.whl
set -euo pipefail
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
cd "$folder"
cat > first.py <<'END'
import sotto
words = sotto.encode({"sotto": "under", "voce": "voice"}, "tables/words")
with sotto.serve(words) as server:
    table = sotto.connect(server.url, "words", words.pin)
    print(table.get(key="sotto"), "|", table.last.leakage)
END
TIMEFORMAT='%R s from pip install to the first lookup'
time {
  venv/bin/pip install --quiet --no-index "$wheel"
  venv/bin/python first.py
}

#!/usr/bin/env python3
"""Every fuzz target with mutated inputs, as `make test` runs them: without coverage, and at full speed.

    lab/campaigns/mutate.py SECONDS [PART OF A TARGET'S NAME]

Each run has inputs of its own. What was run is added to record.csv. Schemes whose tables take minutes to make under a sanitizer
are reached here. An input that does harm lies in lab/fuzz/artifacts, and the exit code is 101.
"""

import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

import record

# The exit code of a program whose tests ran and failed.
FAILED = 101

# A build of all tests has the program that this runs.
TEST = ["cargo", "test", "--locked", "--workspace", "--features", "sotto-python/extension", "--quiet", "--test", "smoke", "--"]


def main(arguments: list[str]) -> int:
    if not arguments or not arguments[0].isdigit():
        sys.exit(__doc__)
    seconds, filters = int(arguments[0]), arguments[1:2]
    with tempfile.TemporaryDirectory() as folder:
        variables = {"SOTTO_FUZZ_SECONDS": seconds, "SOTTO_FUZZ_SERIES": secrets.token_hex(8), "SOTTO_FUZZ_COUNTS": folder}
        environment = os.environ | {name: str(value) for name, value in variables.items()}
        # One after another, so that each has the time that it is given.
        done = subprocess.run([*TEST, "--test-threads", "1", *filters], env=environment, cwd=record.ROOT)
        counts = {file.name: int(file.read_text()) for file in sorted(Path(folder).iterdir())}
    for target, inputs in counts.items():
        record.add("mutate", target, inputs, seconds, 0)
    harmful = done.returncode == FAILED
    if harmful:
        record.add("mutate", "harmful", 0, seconds, 1)
    print(f"{len(counts)} targets, {sum(counts.values()):,} inputs{', HARMFUL' if harmful else ''}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

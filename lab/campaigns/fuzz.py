#!/usr/bin/env python3
"""Every fuzz target by libFuzzer, one after another.

    lab/campaigns/fuzz.py SECONDS [TARGET...]

Needs a nightly toolchain and cargo-fuzz. What was run is added to record.csv. Inputs that reach new code are kept: all in
lab/fuzz/corpus, which is not committed, and the small ones in lab/fuzz/kept, as lines of hexadecimal digits, from which the next
campaign and `make test` go on. An input that does harm ends its target's run; it lies in lab/fuzz/artifacts, and the exit code is 1.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import record

HERE = record.ROOT / "lab/fuzz"
KEPT, CORPUS, ARTIFACTS = (HERE / name for name in ("kept", "corpus", "artifacts"))

# Bounds of what is committed for a target, in bytes.
MAX_INPUT, MAX_KEPT = 2048, 12 * 1024

LIMITS = ["-timeout=10", "-rss_limit_mb=4096", "-malloc_limit_mb=1024", "-max_len=65536"]


def targets() -> list[str]:
    return re.findall(r"^    ([a-z0-9_]+): [a-z]+, [a-z_0-9]+;$", (HERE / "src/lib.rs").read_text(), re.MULTILINE)


def build() -> str:
    subprocess.run(
        ["cargo", "+nightly", "fuzz", "build", "--fuzz-dir", ".", "--features", "libfuzzer", "libfuzzer"], check=True, cwd=HERE
    )
    metadata = json.loads(record.output("cargo", "metadata", "--format-version", "1", "--no-deps"))
    found = list(Path(metadata["target_directory"]).glob("*/release/libfuzzer"))
    if len(found) != 1:
        sys.exit(f"expected one program, found {found}")
    return str(found[0])


def run(program: str, target: str, seconds: int) -> bool:
    """Runs a target, and returns whether an input did harm."""
    corpus = CORPUS / target
    corpus.mkdir(parents=True, exist_ok=True)
    ARTIFACTS.mkdir(exist_ok=True)
    environment = {**os.environ, "SOTTO_FUZZ_TARGET": target, "SOTTO_FUZZ_SEEDS": str(corpus)}
    command = [program, *LIMITS, f"-max_total_time={seconds}", "-print_final_stats=1", f"-artifact_prefix={ARTIFACTS}/{target}-"]
    done = subprocess.run([*command, str(corpus)], env=environment, capture_output=True, text=True, errors="replace")
    if done.returncode:
        print(done.stderr[-4000:], file=sys.stderr)
    merge(program, corpus, {**environment, "SOTTO_FUZZ_SEEDS": ""})
    keep(target, sorted((file.read_bytes() for file in corpus.iterdir()), key=lambda data: (len(data), data)))
    inputs = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    count = int(inputs[1]) if inputs else 0
    record.add("fuzz", target, count, seconds, int(done.returncode != 0))
    print(f"{target:24} {count:12,} inputs, {len(list(corpus.iterdir()))} kept{', HARMFUL' if done.returncode else ''}", flush=True)
    return done.returncode != 0


def merge(program: str, corpus: Path, environment: dict[str, str]) -> None:
    """Leaves the fewest inputs, and the shortest, that reach all that the corpus reaches."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "-merge=1", *LIMITS, folder, str(corpus)]
        if subprocess.run(command, env=environment, capture_output=True).returncode:
            return
        for old in corpus.iterdir():
            old.unlink()
        for new in Path(folder).iterdir():
            (corpus / new.name).write_bytes(new.read_bytes())


def keep(target: str, inputs: list[bytes]) -> None:
    lines, left = [], MAX_KEPT
    for data in inputs:
        if data and len(data) <= MAX_INPUT:
            left -= 2 * len(data) + 1
            if left >= 0:
                lines.append(data.hex() + "\n")
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{target}.hex").write_text("".join(lines))


def main(arguments: list[str]) -> int:
    if not arguments or not arguments[0].isdigit():
        sys.exit(__doc__)
    seconds, wanted = int(arguments[0]), arguments[1:] or targets()
    program = build()
    return int(sum(run(program, target, seconds) for target in wanted) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

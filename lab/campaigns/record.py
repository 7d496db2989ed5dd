#!/usr/bin/env python3
"""The record of campaigns: what was tried, of which commit, on which day.

    lab/campaigns/record.py     prints what it adds up to
"""

import csv
import subprocess
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).resolve().parent / "record.csv"
FIELDS = ["date", "commit", "campaign", "subject", "tries", "seconds", "failures"]


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def add(campaign: str, subject: str, tries: int, seconds: float, failures: int) -> None:
    is_new = not RECORD.exists()
    line = [
        datetime.now(timezone.utc).date().isoformat(),
        output("git", "rev-parse", "--short=8", "HEAD").strip(),
        *(campaign, subject, tries, round(seconds), failures),
    ]
    with RECORD.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([FIELDS, line] if is_new else [line])


def main() -> None:
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    dates: dict[str, set[str]] = defaultdict(set)
    with RECORD.open() as file:
        for line in csv.DictReader(file):
            dates[line["campaign"]].add(line["date"])
            for at, field in enumerate(("tries", "seconds", "failures")):
                sums[line["campaign"], line["subject"]][at] += int(line[field])
    for campaign, days in sorted(dates.items()):
        of_it = {subject: each for (name, subject), each in sums.items() if name == campaign}
        for subject, (tries, seconds, failures) in sorted(of_it.items()):
            print(f"{campaign:6} {subject:24} {tries:14,} in {seconds:8,} s, {failures} failures")
        tries, seconds, failures = (sum(column) for column in zip(*of_it.values()))
        print(f"{campaign}: {tries:,} in {seconds / 3600:.1f} hours, {failures} failures, {min(days)} to {max(days)}\n")


if __name__ == "__main__":
    main()

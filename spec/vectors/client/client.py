#!/usr/bin/env python3
"""Reads the row of each vector whose scheme it has, and checks everything on the way. Usage: client.py [VECTOR.json ...]"""

import sys
import time
from pathlib import Path

from recorded import Refused, Vector
from schemes import SCHEMES


def read(path: Path) -> str:
    vector = Vector(path)
    scheme = SCHEMES.get(vector.text["scheme"])
    if scheme is None:
        return "catalog verified; this client does not have the scheme"
    row = vector.row(scheme(vector))
    if row.hex() != vector.text["value"]:
        raise Refused(f"another row: {row.hex()}")
    return f"row {vector.text['row']} is {row.hex()}"


def main(names: list[str]) -> int:
    paths = [Path(name) for name in names] or sorted(Path(__file__).parent.parent.glob("*.json"))
    done, wrong = set(), 0
    for path in paths:
        begun = time.perf_counter()
        try:
            said = read(path)
            done.add(path.stem)
        except Refused as why:
            said, wrong = f"REFUSED: {why}", wrong + 1
        print(f"{path.stem:16} {said} ({time.perf_counter() - begun:.1f} s)")
    missing = set() if names else {scheme.replace("/", "-") for scheme in SCHEMES} - done
    for name in sorted(missing):
        print(f"{name:16} MISSING")
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

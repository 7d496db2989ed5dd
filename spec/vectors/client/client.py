#!/usr/bin/env python3
"""Reads the row of each vector whose scheme it has, and checks everything on the way. Usage: client.py [VECTOR.json ...]"""

import sys
import time
from pathlib import Path

from layers import LAYERS
from recorded import Refused, Table, Vector
from schemes import SCHEMES


def read(path: Path) -> str:
    vector = Vector(path)
    layer, scheme = LAYERS.get(vector.text["table"]), SCHEMES.get(vector.text["scheme"])
    if layer is not None:
        value = layer(vector)
    else:
        table = Table(vector, vector.text["table"])
        if scheme is None:
            return "catalog verified; this client does not have the scheme"
        value = table.row(scheme(table))
    if value.hex() != vector.text["value"]:
        raise Refused(f"another value: {value.hex()}")
    return f"{vector.text['about'].partition(' of ')[0]} is {value.hex()}"


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
    needed = {scheme.replace("/", "-") for scheme in SCHEMES} | LAYERS.keys() | {"ml-dsa-44"}
    missing = set() if names else needed - done
    for name in sorted(missing):
        print(f"{name:16} MISSING")
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

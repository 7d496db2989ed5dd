"""`sotto-ray`: a table in parts, encoded and served on Ray."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .encode import encode
from .environment import environment
from .settings import Cluster, SettingsError
from .up import down, status, up

CODES = {SettingsError: 2}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sotto-ray", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, words in (
        ("up", "start the cluster of a file, and wait until it answers"),
        ("status", "show live epochs, replicas and errors"),
        ("down", "stop the cluster; files are kept"),
    ):
        verbs.add_parser(verb, help=words).add_argument("cluster", type=Path, help="cluster file in YAML")
    verbs.add_parser("environment", help="print the environment that `ray start` needs on each machine")
    encoding = verbs.add_parser("encode", help="encode a table in parts, in parallel")
    encoding.add_argument("source", type=Path)
    encoding.add_argument("--out", type=Path, required=True)
    encoding.add_argument("--parts", type=int, required=True)
    encoding.add_argument(
        "--signing-key", type=Path, required=True, help="signing key, on this machine and outside of --out; created if missing"
    )
    encoding.add_argument("--key")
    encoding.add_argument("--value")
    encoding.add_argument("--scheme", help="the scheme; by default the one that costs least for --lookups")
    encoding.add_argument("--lookups", type=int, help="expected lookups of one client in an epoch")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs a verb; gives the exit code."""
    given = _parser().parse_args(arguments)
    try:
        if given.verb == "encode":
            named = {name: getattr(given, name) for name in ("key", "value", "scheme", "lookups")}
            options = {name: value for name, value in named.items() if value is not None}
            source, out = given.source.resolve(), given.out.resolve()
            made = encode(source, out, given.parts, signing_key=given.signing_key, progress=_draw, **options)
            if made and made.choice:
                print(f"{made.scheme} for {made.choice['lookups']} lookups of one client per epoch: {made.choice['why']}")
            return 0
        if given.verb == "environment":
            print("\n".join(f"{name}={value}" for name, value in environment().items()))
            return 0
        cluster = Cluster.read(given.cluster)
        if given.verb == "up":
            running = up(cluster)
            print(f"{running.table}: {running.parts} parts, {running.replicas} of each, at {running.url}")
        elif given.verb == "status":
            found = status(cluster)
            print(json.dumps(found, indent=2))
            return 0 if found["up"] and not found["wrong"] else 1
        else:
            down(cluster)
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _draw(done: int, total: int) -> None:
    print(f"{done} of {total} pieces", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

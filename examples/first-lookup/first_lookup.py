"""Looks one row up privately: `python first_lookup.py URL TABLE KEY ROW`.

`sotto serve` prints the address and the key.
"""

import sys

import sotto


def look_up(url: str, table: str, key: str, row: int) -> str:
    """The row as text, and what it cost."""
    opened = sotto.connect(url, table, key)
    value: bytes = opened.get(row)
    cost = opened.last
    assert cost is not None, "one lookup was made"
    return f"{value.decode()} ({cost.up} bytes up, {cost.down} down)"


if __name__ == "__main__":
    url, table, key, row = sys.argv[1:]
    print(look_up(url, table, key, int(row)))

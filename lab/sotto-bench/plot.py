#!/usr/bin/env python3
"""Draws lab/sotto-bench/results/all-schemes.json: server time against bytes on the wire, both axes logarithmic.

    lab/sotto-bench/plot.py > docs/schemes.svg

Color says what a client keeps between lookups, a ring that two servers are asked. Light and dark follow the reader.
"""

import json
import math
from pathlib import Path

WIDTH, HEIGHT = 860, 600
LEFT, RIGHT, TOP, BOTTOM = 66, 836, 116, 530
X_BYTES, Y_MS = (700, 16_000_000), (0.06, 400)
KEEPS = {
    "nothing": "nothing",
    "hint": "a hint, downloaded once an epoch",
    "keys": "keys, uploaded once an hour",
    "state": "a state of its own, spent by lookups",
}
# Names of the crowded middle stand where a reader finds their points.
BESIDE = {"doublepir": (-14, -26), "verisimplepir": (-9, 14), "ypir": (9, 14)}
STYLE = """
    .page { fill: #ffffff } .ink { fill: #1d2329 } .soft { fill: #57606a } .grid { stroke: #e4e7ea } .floor { stroke: #8a949e } .lead { stroke: #8a949e; stroke-width: 0.8 }
    .nothing { fill: #0b6e4f } .hint { fill: #b35900 } .keys { fill: #0860ca } .state { fill: #a3268c }
    circle.ring { fill: none; stroke-width: 1.6 } .ring.nothing { stroke: #0b6e4f } .ring.state { stroke: #a3268c } .ring.any { stroke: #57606a }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117 } .ink { fill: #e6edf3 } .soft { fill: #9aa4ae } .grid { stroke: #262d35 } .floor { stroke: #6e7781 } .lead { stroke: #6e7781 }
      .nothing { fill: #3fb68b } .hint { fill: #e8963c } .keys { fill: #6cb0ff } .state { fill: #e07fd0 }
      .ring.nothing { stroke: #3fb68b } .ring.state { stroke: #e07fd0 } .ring.any { stroke: #9aa4ae }
    }"""


def place(value, low, high, start, end):
    """Where a value lies on a logarithmic axis."""
    return start + (end - start) * (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low))


def text(x, y, what, kind="ink", size=12, anchor="start", more=""):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{more}>{what}</text>'


def axes(floor_ms):
    """Grid lines with their labels, and the time of one plain read of the table."""
    out = []
    for value, label in [(10**3, "1 kB"), (10**4, "10 kB"), (10**5, "100 kB"), (10**6, "1 MB"), (10**7, "10 MB")]:
        x = place(value, *X_BYTES, LEFT, RIGHT)
        out.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{BOTTOM}"/>')
        out.append(text(x, BOTTOM + 18, label, "soft", anchor="middle"))
    for value, label in [(0.1, "0.1 ms"), (1, "1 ms"), (10, "10 ms"), (100, "100 ms")]:
        y = place(value, *Y_MS, BOTTOM, TOP)
        out.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>')
        out.append(text(LEFT - 8, y + 4, label, "soft", anchor="end"))
    y = place(floor_ms, *Y_MS, BOTTOM, TOP)
    out.append(f'<line class="floor" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}" stroke-dasharray="5 4"/>')
    out.append(text(LEFT + 8, y + 16, "reading the whole table once", "soft", 11))
    out.append(text(24, TOP - 8, "server time", "ink", 13))
    out.append(text((LEFT + RIGHT) / 2, BOTTOM + 42, "bytes of one lookup, query and answers", "ink", 13, "middle"))
    return out


def overlap(one, other):
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0) * max(height, 0)


def labels(points):
    """A place near each point for its name: where it covers the least of other names and points, and then the nearest."""
    taken = [(x - 8, y - 8, x + 8, y + 8) for x, y, _ in points]
    out = []
    for x, y, name in points:
        width = 6.8 * len(name)

        def box(dx, dy):
            left = x + dx if dx > 0 else x + dx - width if dx < 0 else x - width / 2
            return left, y + dy - 7, left + width, y + dy + 7

        offsets = [(10, 0), (-10, 0), (0, -15), (0, 16), (9, -13), (9, 14), (-9, -13), (-9, 14)]
        offsets += [(14, -26), (14, 28), (-14, -26), (-14, 28), (18, 42), (-18, 42), (18, -40), (-18, -40)]
        offsets = [at for at in offsets if box(*at)[0] > LEFT and box(*at)[2] < RIGHT]
        offsets = [BESIDE[name]] if name in BESIDE else offsets
        cost = {at: sum(overlap(box(*at), other) for other in taken) for at in offsets}
        dx, dy = min(offsets, key=lambda at: (round(cost[at]), abs(at[1])))
        left, top, right, bottom = box(dx, dy)
        taken.append((left, top, right, bottom))
        if abs(dy) > 20:
            end = left if dx > 0 else right
            out.append(f'<line class="lead" x1="{x:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{y + dy:.1f}"/>')
        out.append(text(left, y + dy + 4, name))
    return out


def drawing(results):
    lookups = results["lookups"]
    points, marks = [], []
    for one in lookups:
        x = place(one["up_bytes"] + one["down_bytes"], *X_BYTES, LEFT, RIGHT)
        y = place(one["server_ms"], *Y_MS, BOTTOM, TOP)
        points.append((x, y, one["scheme"]))
        marks.append(f'<circle class="{one["client_keeps"]}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
        if one["servers_count"] == 2:
            marks.append(f'<circle class="ring {one["client_keeps"]}" cx="{x:.1f}" cy="{y:.1f}" r="7.5"/>')
    body = axes(results["read_table_ms"]) + labels(points) + marks
    head = [text(24, 32, "Server time and traffic of one private lookup, table of 256 MiB", "ink", 17, more=' font-weight="600"')]
    x, y = 24, 56
    for kind, words in KEEPS.items():
        words = f"client keeps {words}" if kind == "nothing" else words
        head.append(f'<circle class="{kind}" cx="{x + 5}" cy="{y - 4}" r="4.5"/>')
        head.append(text(x + 16, y, words))
        x += 34 + 6.2 * len(words)
    head.append(f'<circle class="soft" cx="29" cy="{y + 18}" r="4"/><circle class="ring any" cx="29" cy="{y + 18}" r="7"/>')
    head.append(text(42, y + 22, "with a ring: two servers are asked, which must not collude"))
    foot = [text(24, HEIGHT - 8, f"one thread; {results['machine']}", "soft", 10)]
    described = "; ".join(
        f"{one['scheme']}: {(one['up_bytes'] + one['down_bytes']) / 1000:.3g} kB, {one['server_ms']:.3g} ms" for one in lookups
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="t d" '
            "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif\">",
            "<title id=\"t\">Server time and traffic of one private lookup, by scheme</title>",
            f'<desc id="d">{described}</desc>',
            f"<style>{STYLE}\n</style>",
            f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
            *head,
            *body,
            *foot,
            "</svg>",
        ]
    )


print(drawing(json.loads((Path(__file__).parent / "results" / "all-schemes.json").read_text(encoding="utf-8"))))

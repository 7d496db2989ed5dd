#!/usr/bin/env python3
"""Draws figures of benchmarks, as SVG on the standard output.

    lab/sotto-bench/plot.py > docs/schemes.svg
    sotto bench quick --json | lab/sotto-bench/plot.py - > quick.svg

The first draws lab/sotto-bench/results/all-schemes.json: server time against bytes on the wire, both axes logarithmic.
Color says what a client keeps between lookups, a ring that two servers are asked. Light and dark follow the reader.

The second draws the measured figures of a report, and is what `sotto bench --svg` runs: times of lookups, what batching
adds, answers step by step, links on which lookups pay, and proofs over the height of their trees.
"""

import html
import json
import math
import statistics
import sys
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


# The report of `sotto bench`.

# Colors that stay apart for color-blind readers (Okabe and Ito).
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b5b5b"]
PANEL = 280
QUESTIONS = [
    ("setup", "setup_ms"),
    ("setup, without that table", "made_ms"),
    ("indexing", "index_ms"),
    ("indexing, if the leaf is public", "known_index_ms"),
    ("query generation", "query_ms"),
    ("answer extraction", "extract_ms"),
    ("server time, slowest table", "max_server_ms"),
    ("server time, all tables", "total_server_ms"),
    ("communication", "up_bytes", "down_bytes"),
    ("before the first proof", "once_bytes"),
]


def digits(value):
    """Three significant digits, without an exponent."""
    for least, places in [(99.95, 0), (9.995, 1), (0.9995, 2), (0.00995, 3)]:
        if abs(value) >= least or value == 0:
            return f"{value:.{places}f}"
    return f"{value:.5f}"


def scaled(value, units):
    """A number with the largest unit of which there is one; units are pairs of a factor and a name."""
    factor, name = next((unit for unit in units if value >= unit[0]), units[-1])
    return f"{digits(value / factor)} {name}"


def duration(ms):
    return scaled(ms, [(1e3, "s"), (0.1, "ms"), (1e-4, "us"), (1e-6, "ns")])


def size(count):
    return scaled(count, [(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B")])


def ticks(top):
    """Steps of 1, 2 or 5 times a power of ten, at most six of them."""
    power = 10 ** math.floor(math.log10(top / 6))
    step = next(step * power for step in (1, 2, 5, 10) if top / (step * power) <= 6)
    return [i * step for i in range(int(top / step) + 1)]


def words(x, y, what, fill="#222", size=13, anchor="start", weight=400):
    style = f'font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{fill}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{html.escape(str(what))}</text>'


def bar(x, y, width, height, fill):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" fill="{fill}"/>'


def line(x1, y1, x2, y2, stroke="#e3e3e3", width=1.0, more=""):
    at = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {at} stroke="{stroke}" stroke-width="{width}"{more}/>'


def color(i):
    return COLORS[i % len(COLORS)]


def threads(count):
    return f", {count} threads" if count > 1 else ""


def label(case):
    return f"{case['title']}, {case['table']['shape']}{threads(case['threads_count'])}"


def heading(top, title, note=""):
    return [words(24, top + 22, title, size=15, weight=600), words(24, top + 40, note, "#666", 11)]


def bars(top, rows, marks, x, left, title, note=""):
    """Lines of a name, of bars (start, end, fill) and of words behind them; marks below them. Returns the lower end."""
    first, row = top + 62, 28
    bottom = first + row * len(rows)
    out = heading(top, title, note)
    for mark in marks:
        out += [line(x(mark), first - 4, x(mark), bottom), words(x(mark), bottom + 16, digits(mark), "#666", anchor="middle")]
    for i, (name, parts, behind) in enumerate(rows):
        y = first + row * i
        out.append(words(left - 10, y + 17, name, anchor="end"))
        out += [bar(x(start), y + 4, x(end) - x(start), row - 10, fill) for start, end, fill in parts]
        out.append(words(max(x(end) for _, end, _ in parts) + 8, y + 17, behind))
    return out, bottom + 34


def curves(top, series, x, y, across, up, title, note=""):
    """Named curves over two axes, whose marks are pairs of a value and its label. Returns the lower end."""
    left, right, first = 90, WIDTH - 250, top + 60
    bottom = first + PANEL
    out = heading(top, title, note)
    for value, what in up:
        out += [line(left, y(value) + bottom, right, y(value) + bottom), words(left - 8, y(value) + bottom + 4, what, "#666", anchor="end")]
    for value, what in across:
        out.append(words(x(value), bottom + 18, what, "#666", anchor="middle"))
    for i, (name, points, fill) in enumerate(series):
        at = [(x(a), y(b) + bottom) for a, b in points]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
        out.append(f'<polyline points="{path}" fill="none" stroke="{fill}" stroke-width="2.5"/>')
        out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{fill}"/>' for a, b in at]
        out += [bar(right + 26, first + 22 * i + 5, 14, 10, fill), words(right + 48, first + 22 * i + 14, name)]
    return out, max(bottom + 54, first + 22 * len(series) + 30)


def lookups(measured, top):
    top_ms = max(one["batches"][0]["server_ms"] * max(one["batches"][0]["of_read_held_ratio"] or 0, 1) for one in measured)
    scale = lambda ms: 250 + (WIDTH - 410) * ms / top_ms
    rows = []
    for i, case in enumerate(measured):
        ms, share = (case["batches"][0][key] or 0 for key in ("server_ms", "of_read_held_ratio"))
        parts = [(0, ms, color(i)), (ms * share, ms * share + top_ms / 250, "#111")]
        rows.append((label(case), parts, f"{duration(ms)}, {share * 100:.0f} %"))
    note = "Black marks: a plain read of the same bytes, in turns with the scan. Percent: rate of the scan relative to the read."
    return bars(top, rows, ticks(top_ms), scale, 250, "Server time of one lookup, milliseconds", note)


def batches(measured, top):
    cases = [(i, case) for i, case in enumerate(measured) if len(case["batches"]) > 1]
    if not cases:
        return [], top
    each = [batch for _, case in cases for batch in case["batches"]]
    read = statistics.median(batch["read_memory_gb_per_s"] for batch in each)
    fastest = 1.05 * max([read] + [batch["aggregate_gb_per_s"] for batch in each])
    widest = max(batch["batch_count"] for batch in each)
    x = lambda count: 104 + (WIDTH - 368) * math.log2(count) / math.log2(widest)
    y = lambda gb: -PANEL * gb / fastest
    series = [
        (label(case), [(one["batch_count"], one["aggregate_gb_per_s"]) for one in case["batches"]], color(i))
        for i, case in cases
    ]
    series.append((f"plain read of memory, {read:.1f} GB/s", [(1, read), (widest, read)], "#111"))
    across = [(count, count) for count in sorted({batch["batch_count"] for batch in each})]
    up = [(tick, digits(tick)) for tick in ticks(fastest)]
    title = "Lookups answered in one pass: GB of table per second, times lookups"
    note = "Above the black line a server answers more than it could by reading the table once for each lookup."
    return curves(top, series, x, y, across, up, title, note)


def steps(measured, top):
    """A panel for each table, since their times differ by factors."""
    out = []
    for shape in dict.fromkeys(case["table"]["shape"] for case in measured):
        lines = [(case, one) for case in measured if case["table"]["shape"] == shape for one in case["steps"]]
        if not lines:
            continue
        names = list(dict.fromkeys(step["name"] for _, one in lines for step in one["steps"]))
        longest = max(one["server_ms"] for _, one in lines)
        scale = lambda ms: 330 + (WIDTH - 440) * ms / longest
        rows = []
        for case, one in lines:
            parts, at = [], 0
            for step in one["steps"]:
                parts.append((at, at + step["server_ms"], color(names.index(step["name"]))))
                at += step["server_ms"]
            name = f"{case['title']}, {one['order']}{threads(one['threads_count']) or ', one thread'}"
            rows.append((name, parts, duration(one["server_ms"])))
        title = f"One answer step by step, milliseconds: {shape}"
        legend = [bar(24 + 130 * i, top + 35, 14, 10, color(i)) for i in range(len(names))]
        legend += [words(44 + 130 * i, top + 44, name) for i, name in enumerate(names)]
        panel, top = bars(top, rows, ticks(longest), scale, 330, title)
        out += panel + legend
    return out, top


def break_evens(measured, top):
    pays = [(case, case["break_even"]["below_mbit_per_s"]) for case in measured if case["break_even"]]
    pays = [(case, rate) for case, rate in pays if rate > 0]
    if not pays:
        return [], top
    powers = [math.log10(rate) for _, rate in pays]
    low, high = math.floor(min(powers + [0])), math.ceil(max(powers + [1]))
    scale = lambda rate: place(rate, 10.0**low, 10.0**high, 330, WIDTH - 110)
    rows = [(label(case), [(10.0**low, rate, color(i))], digits(rate)) for i, (case, rate) in enumerate(pays)]
    marks = [10.0**power for power in range(low, high + 1)]
    title = "Links on which a lookup is faster than downloading the table, Mbit/s"
    note = "Left of the end of a bar. Work of client and server, on the threads of each case."
    return bars(top, rows, marks, scale, 330, title, note)


def trees(measured, top):
    """A panel for each figure of binary trees of several heights, both scales logarithmic in what grows."""
    out = []
    for title, *keys in QUESTIONS:
        known = [
            (one["line"], one["tree"]["height_count"], sum(one["figures"][key] for key in keys))
            for one in measured
            if one["tree"]["arity_count"] == 2 and all(one["figures"][key] for key in keys)
        ]
        heights = sorted({height for _, height, _ in known})
        if len(heights) < 2:
            continue
        powers = [math.log10(value) for _, _, value in known]
        low, high = math.floor(min(powers)), max(math.ceil(max(powers)), math.floor(min(powers)) + 1)
        x = lambda height: place(2.0**height, 2.0 ** heights[0], 2.0 ** heights[-1], 104, WIDTH - 264)
        y = lambda value: -place(value, 10.0**low, 10.0**high, 0, PANEL)
        named = enumerate(dict.fromkeys(name for name, _, _ in known))
        series = [(name, [(h, value) for own, h, value in known if own == name], color(i)) for i, name in named]
        shown = size if keys[0].endswith("_bytes") else duration
        up = [(10.0**power, shown(10.0**power)) for power in range(low, high + 1)]
        note = "Over the height of the tree."
        panel, top = curves(top, series, x, y, [(h, h) for h in heights], up, f"Proofs in binary trees: {title}", note)
        out += panel
    return out, top


def report_drawing(report):
    names, machine = ", ".join(one["name"] for one in report["definitions"]), report["machine"]
    commit = f", commit {machine['commit']}" if machine["commit"] else ""
    facts = f"{machine['cpu']}, {machine['cores_count']} cores, {machine['kernels']} kernels, {machine['system']}"
    facts += f", sotto {machine['version']}{commit}, {machine['date']}"
    body = [words(24, 34, f"sotto bench: {names}", "#111", 20, weight=600), words(24, 56, facts, "#666", 11)]
    measured, proofs, top = report["measured"], report["trees"]["measured"], 76
    if not measured and not proofs:
        body.append(words(24, top + 20, "Nothing was measured: every case was skipped."))
        top += 44
    for panel in (lookups, batches, steps, break_evens) if measured else ():
        drawn, top = panel(measured, top)
        body += drawn
    drawn, top = trees(proofs, top)
    shape = f'width="{WIDTH}" height="{top:.0f}" viewBox="0 0 {WIDTH} {top:.0f}"'
    font = 'font-family="Inter, Helvetica, Arial, DejaVu Sans, sans-serif"'
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" {shape} {font}>', '<rect width="100%" height="100%" fill="#ffffff"/>']
    return "\n".join(head + body + drawn + ["</svg>"])


if sys.argv[1:] == ["-"]:
    print(report_drawing(json.load(sys.stdin)))
else:
    RESULTS = Path(__file__).parent / "results" / "all-schemes.json"
    print(drawing(json.loads(RESULTS.read_text(encoding="utf-8"))))

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Draws the results of stop_strategies next to the figures that the strategies' authors report.

    stop_strategies_plot.py OUT FILE.tsv...

OUT_table1.png: loss and speed-up over the rate, frames with gop = 1.
OUT_gops.png:   speed-up and distribution of the losses by gop, at the highest rate of the files.

The authors' numbers are those of Martinez-del-Amor, Bruns and Sparenberg, "Parallel efficient rate
control methods for JPEG 2000" (2017), section 6: Table 1 as printed, and from Figures 7 and 8
only what the text gives. Needs Debian's python3-matplotlib.
"""
import csv
import statistics
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

STOPS = ["exact", "pst", "psb", "bpi"]
COLOURS = {"exact": "tab:green", "pst": "tab:orange", "psb": "tab:blue", "bpi": "tab:red"}

# Table 1: 4K, Sintel, 1000 frames, GTX 470, GOP 1, against full coding by the same kernels.
PAPER_RATES = [250, 200, 150, 100, 80, 50, 25]
PAPER_DROP = {
    "pst": [0.541, 0.334, 0.262, 0.528, 0.401, 0.506, 0.507],
    "psb": [0, 0, 0, 0, 0, 0, 0],
    "bpi": [1.134, 2.024, 2.587, 2.609, 2.691, 2.827, 2.832],
}
PAPER_SPEEDUP = {
    "pst": [0.994, 1.003, 1.008, 1.022, 1.021, 1.021, 1.048],
    "psb": [0.981, 0.987, 0.988, 0.986, 0.992, 0.994, 1.007],
    "bpi": [1.054, 1.067, 1.122, 1.176, 1.188, 1.233, 1.294],
}
# For Figure 7 the text gives gains of early stop over full coding for single sequences (Titan X,
# 250 Mbit/s), for Figure 8 the largest losses. (gop, strategy): value.
PAPER_EXTRA_SPEEDUP = {(2, "psb"): 1.10, (8, "psb"): 1.20, (2, "pst"): 1.10, (8, "pst"): 1.18}
PAPER_MOST_EXTRA = {"bpi": 1.60}
PAPER_MAX_DROP = {(2, "pst"): 3.0, (8, "pst"): 4.0, (8, "psb"): 0.18}
PAPER_BPI_DROP = (2.0, 3.0)


def read(paths):
    rows = []
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                row["mbits"] = float(row["mbits"])
                row["gop"] = int(row["gop"])
                row["speedup"] = float(row["speedup"])
                # A file with times only has no PSNR.
                row["drop"] = float(row["drop"]) if row["drop"] else None
                # If `none` codes the frame exactly, the loss has no value in dB.
                if row["drop"] is not None and float(row["psnr"]) + row["drop"] > 900:
                    continue
                rows.append(row)
    return rows


def times(rows):
    """Speed-ups, from the files without PSNR if there are any: those were made to measure time."""
    timed = [r for r in rows if r["drop"] is None]
    return timed if timed else rows


def by(rows, key, value):
    groups = defaultdict(list)
    for row in rows:
        if row[value] is not None:
            groups[key(row)].append(row[value])
    return groups


def draw_table1(rows, path):
    rows = [r for r in rows if r["gop"] == 1]
    if not rows:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    drops = by(rows, lambda r: (r["stop"], r["mbits"]), "drop")
    speeds = by(times(rows), lambda r: (r["stop"], r["mbits"]), "speedup")
    for stop in STOPS:
        colour = COLOURS[stop]
        for axes, groups, merge in ((left, drops, statistics.mean),
                                    (right, speeds, statistics.median)):
            points = sorted((rate, merge(v)) for (s, rate), v in groups.items() if s == stop)
            if points:
                axes.plot(*zip(*points), "o-", color=colour, label=stop)
        if stop in PAPER_DROP:
            left.plot(PAPER_RATES, PAPER_DROP[stop], "x--", color=colour, alpha=0.6,
                      label=f"{stop}, the authors'")
            right.plot(PAPER_RATES, PAPER_SPEEDUP[stop], "x--", color=colour, alpha=0.6,
                       label=f"{stop}, the authors'")
    left.set_title("mean loss against stop = none, gop = 1")
    left.set_ylabel("dB")
    right.set_title("speed-up over stop = none, gop = 1")
    right.axhline(1, color="grey", linewidth=0.5)
    for axes in (left, right):
        axes.set_xlabel("Mbit/s at 24 frames/s")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=7)
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def draw_gops(rows, path):
    gops = sorted({r["gop"] for r in rows if r["gop"] > 1})
    if not gops:
        return
    rows = [r for r in rows if r["gop"] in gops]
    rate = max(r["mbits"] for r in rows)
    rows = [r for r in rows if r["mbits"] == rate]
    drops = by(rows, lambda r: (r["gop"], r["stop"]), "drop")
    speeds = by(times(rows), lambda r: (r["gop"], r["stop"]), "speedup")
    places = [(gop, stop) for stop in STOPS for gop in gops]
    labels = [f"{stop} {gop}" for gop, stop in places]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    for x, (gop, stop) in enumerate(places):
        if (gop, stop) in speeds:
            left.bar(x, statistics.median(speeds[gop, stop]), color=COLOURS[stop])
        reported = PAPER_EXTRA_SPEEDUP.get((gop, stop), PAPER_MOST_EXTRA.get(stop))
        if reported is not None:
            left.plot([x - 0.4, x + 0.4], [reported, reported], "k--")
        if drops.get((gop, stop)):
            right.boxplot([drops[gop, stop]], positions=[x], widths=0.6, whis=(0, 100))
        reported = PAPER_MAX_DROP.get((gop, stop))
        if reported is not None:
            right.plot(x, reported, "k_", markersize=18)
        if stop == "bpi":
            right.fill_between([x - 0.4, x + 0.4], *PAPER_BPI_DROP, color="grey", alpha=0.3)
    left.axhline(1, color="grey", linewidth=0.5)
    left.set_title(f"speed-up over stop = none, {rate:g} Mbit/s\n"
                   "(dashed: the authors' text; bpi: their best)")
    right.set_title(f"loss of each frame, dB, {rate:g} Mbit/s\n"
                    "(bar: the authors' greatest; grey: their bpi)")
    for axes in (left, right):
        axes.set_xticks(range(len(places)), labels, rotation=45)
        axes.grid(alpha=0.3, axis="y")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows = read(sys.argv[2:])
    draw_table1(rows, sys.argv[1] + "_table1.png")
    draw_gops(rows, sys.argv[1] + "_gops.png")


main()

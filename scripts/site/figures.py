#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""figures.py [--check]: draws docs/figures/*.svg, the plots from the files in tests/bench/results.

--check writes nothing; the exit status is 1 if a figure is not what would be drawn.
"""

import collections
import pathlib
import re
import statistics
import sys
import types

from svg import Figure, bar_chart, legend, line_chart, panel

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench/quality"))
import report  # noqa: E402

FIGURES = ROOT / "docs/figures"
RESULTS = ROOT / "tests/bench/results"
CPU = RESULTS / "2026-11-21_cpu.txt"
PEERS = RESULTS / "2026-11-28_peers.tsv"
EFFORT = RESULTS / "2026-11-28_overlaps.tsv"
TUNE = RESULTS / "2026-11-23_tune_stills.tsv"
HT = RESULTS / "2026-11-22_ht_openjph.tsv"
STOPS = RESULTS / "2026-11-21_stop_strategies.tsv"
FILM = RESULTS / "2026-11-26_film.tsv"
EXAMPLE = RESULTS / "2026-11-24_rate_example.md"

# encoder of PEERS and HT: its name, colour and mark
LOOKS = {"cj2k": ("libcj2k", "a", "dot"), "cj2k:effort=2": ("libcj2k, effort 2", "d", "diamond"),
         "cj2k:tune=visual": ("libcj2k, tune visual", "c", "up"),
         "cj2k:tune=visual:effort=2": ("tune visual, effort 2", "d", "diamond"), "cj2k:coder=ht": ("libcj2k, HTJ2K", "e", "down"),
         "openjpeg": ("OpenJPEG", "b", "square"), "grok": ("Grok", "f", "plus"), "openjph": ("OpenJPH, HTJ2K", "g", "square")}
CLIPS = {"gopro_hero6": "camera raw, 12 bit", "art_patak": "painting, 8 bit"}


def table(path):
    """The rows of a .tsv as dictionaries; lines with # are conditions."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [dict(zip(lines[0].split("\t"), line.split("\t"))) for line in lines[1:]]


def cpu_rows():
    """The first run of CPU: (picture, task) -> encoder -> (CPU seconds, bytes, PSNR)."""
    rows = {}
    for line in CPU.read_text(encoding="utf-8").split("rounds of 2 frames")[0].splitlines():
        if head := re.match(r"(\w+?)_3840x2160_\d+b\.png \S+ \d+ bit, (.*)", line):
            current = rows.setdefault((CLIPS[head[1]], head[2]), {})
        elif row := re.match(r"  (j2k_cuda|libopenjpeg)\s+([\d.]+) .*?(\d+)\s+([\d.]+|inf)$", line):
            current[row[1]] = (float(row[2]), int(row[3]), float(row[4]))
    return rows


def means(path, column):
    """Encoder -> [(bit/pixel, mean over pictures)], and the number of pictures: those that all encoders have at all rates."""
    values = collections.defaultdict(dict)
    for row in table(path):
        bits = round(int(row["target_bytes"]) * 8 / int(row["width"]) / int(row["height"]), 3)
        values[row["encoder"], bits][row["picture"]] = float(row[column])
    pictures = set.intersection(*(set(scores) for scores in values.values()))
    series = collections.defaultdict(list)
    for (encoder, bits), scores in sorted(values.items(), key=lambda item: item[0][1]):
        series[encoder].append((bits, statistics.fmean(scores[picture] for picture in pictures)))
    return series, len(pictures)


def by_rate(title, column, encoders, better, over=None, path=PEERS):
    """A chart of the means; `over`: less those of this encoder."""
    series, pictures = means(path, column)
    base = dict(series[over]) if over else collections.defaultdict(float)
    lines = {LOOKS[encoder][0]: [(x, y - base[x]) for x, y in series[encoder]] for encoder in encoders}
    looks = {name: (colour, mark) for name, colour, mark in LOOKS.values()}
    return line_chart(title, lines, looks, "bit/pixel, the same for all", f"mean of {pictures} pictures; {better} is better",
                      zero=bool(over))


def psnr():
    return by_rate("PSNR over OpenJPEG, dB", "psnr", ["cj2k:effort=2", "cj2k", "openjpeg", "grok", "cj2k:coder=ht", "openjph"],
                   "higher", over="openjpeg")


def gains(path, column, encoder, reference, without=""):
    """[(bit/pixel, [by how much better than the reference at the same bytes, picture by picture])]"""
    rows = [row for row in report.read_rows(path) if not without or not row["picture"].startswith(without)]
    higher = column != "butteraugli"
    metric = types.SimpleNamespace(key=column, better=lambda a, b: a - b if higher else b - a)
    better = {(picture, size): value
              for picture, size, value in report.Comparison(rows, metric, reference).differences(encoder)}
    points = collections.defaultdict(list)
    for row in rows:
        if row["encoder"] == encoder and (row["picture"], row["bytes"]) in better:
            points[report.asked_for(row)].append(better[row["picture"], row["bytes"]])
    return sorted(points.items())


def effort():
    """Without the scan that docs/effort.md sets apart."""
    names = {"cj2k:effort=3": ("effort 3", "c", "up"), "cj2k:effort=2": ("effort 2", "d", "diamond"),
             "cj2k": ("effort 1, the default", "a", "dot")}
    mbit = {0.12: 25, 0.24: 50, 0.47: 100, 1.18: 250}
    lines, pictures = {}, 0
    for encoder, (name, _, _) in names.items():
        points = gains(EFFORT, "psnr", encoder, "openjpeg", without="mr_")
        lines[name] = [(mbit[bits], statistics.fmean(values)) for bits, values in points]
        pictures = len(points[0][1])
    return line_chart("PSNR over OpenJPEG by effort, dB", lines, {name: (colour, mark) for name, colour, mark in names.values()},
                      "Mbit/s by area: 24 frames/s of 4096x2160", f"mean of {pictures} pictures, same bytes; higher is better",
                      zero=True)


def tune():
    """At the rates that all pictures have."""
    points = gains(TUNE, "ssimulacra2", "cj2k:tune=visual", "cj2k")
    pictures = max(len(values) for _, values in points)
    points = [(bits, values) for bits, values in points if len(values) == pictures]
    lines = {name: [(bits, of(values)) for bits, values in points]
             for name, of in (("the most", max), ("mean", statistics.fmean), ("the least", min))}
    looks = {"the most": ("c", "up"), "mean": ("a", "dot"), "the least": ("b", "square")}
    return line_chart("SSIMULACRA2 of tune visual over mse", lines, looks, "bit/pixel, the same for both",
                      f"{pictures} whole pictures, same bytes; higher is better", zero=True)


def ht_psnr():
    return by_rate("PSNR over OpenJPH, dB", "psnr", ["cj2k", "cj2k:coder=ht", "openjph"], "higher", over="openjph", path=HT)


def ssimulacra2():
    return by_rate("SSIMULACRA2 over OpenJPEG", "ssimulacra2", ["cj2k:tune=visual:effort=2", "cj2k:tune=visual", "cj2k", "openjpeg", "grok"], "higher",
                   over="openjpeg")


def butteraugli():
    return by_rate("butteraugli, 3-norm", "butteraugli", ["cj2k:tune=visual:effort=2", "cj2k:tune=visual", "cj2k", "openjpeg", "grok"],
                   "lower")


def quality_time():
    """PSNR by time at two rates: up and to the left is better."""
    series, labels = collections.defaultdict(list), {}
    for (clip, task), encoders in cpu_rows().items():
        for encoder, (seconds, _, decibels) in encoders.items():
            if task != "lossless":
                series[f"{encoder}, {clip.split(',')[0]}"].append((seconds, decibels))
                labels[seconds, decibels] = task.removesuffix(" Mbit/s")
    looks = dict(zip(series, [("a", "dot"), ("b", "square"), ("a", "diamond"), ("b", "plus")]))
    return line_chart("PSNR by CPU time of a 4K frame", series, looks, "seconds, whole ffmpeg process, one thread",
                      "dB; numbers: Mbit/s; up and left is better", x_ticks=[0.2, 0.5, 1, 2, 5], labels=labels)


def bars(tasks, value, text):
    groups = {}
    for (clip, task), encoders in cpu_rows().items():
        if tasks(task):
            groups[f"{clip}, {task}"] = [(name, value(row), text(row)) for name, row in encoders.items()]
    return groups


def cpu_time():
    return bar_chart("CPU time of a 4K frame", bars(lambda task: True, lambda row: row[0], lambda row: f"{row[0] + 1e-9:.2f}"),
                     " s", "whole ffmpeg process, one thread; lower is better")


def cpu_time_short():
    return bar_chart("CPU time of a 4K frame", bars(lambda task: "25 " not in task, lambda row: row[0], lambda row: f"{row[0] + 1e-9:.2f}"),
                     " s", "ffmpeg process, one thread; lower is better")


def lossless():
    return bar_chart("Lossless, 4K", bars(lambda task: task == "lossless", lambda row: row[1], lambda row: f"{row[1] / 1e6:.2f}"),
                     " MB", "bytes of a frame; lower is better")


def film_psnr():
    return bar_chart("PSNR at a byte cap, 4K", bars(lambda task: task != "lossless", lambda row: row[2] - 30,
                                                    lambda row: f"{row[2]:.2f}"),
                     " dB", "bars begin at 30 dB; higher is better")


def stops():
    """Time of a frame by stop strategy, camera raw in 4K."""
    times = collections.defaultdict(list)
    for row in table(STOPS):
        if row["width"] == "3840" and row["stop"] != "pst":
            times[row["stop"], int(row["mbits"])].append(float(row["ms_frame"]))
    series = collections.defaultdict(list)
    for (stop, rate), values in sorted(times.items(), key=lambda item: item[0][1]):
        series[stop].append((rate, statistics.median(values)))
    return line_chart("Time of a frame by stop strategy", series,
                      {"none": ("b", "square"), "psb": ("e", "down"), "exact": ("a", "dot"), "bpi": ("c", "up")}, "Mbit/s at 24 frames/s", "ms, 3840x2160, 12 bit, one thread", zero=True)


def over_time(sequence, coder, rate, title):
    """Bytes and PSNR of each frame: equal frames, and one budget."""
    names, most = {"equal": "equal frames", "film": "one budget"}, 60
    colours, sizes, decibels = {"equal frames": "b", "one budget": "a"}, collections.defaultdict(list), collections.defaultdict(list)
    for row in table(FILM):
        if (row["sequence"], row["coder"], row["rate"]) == (sequence, coder, str(rate)):
            sizes[names[row["way"]]].append(int(row["bytes"]) / 1000)
            decibels[names[row["way"]]].append(min(float(row["psnr"]), most))
    figure = Figure(640, 412)
    last = len(sizes["one budget"]) - 1
    figure.text(12, 26, title, 17, weight=600)
    panel(figure, 68, 108, "kB of each frame", sizes, colours, 0, last)
    panel(figure, 232, 108, "dB of each frame (60: 60 or more)" if max(map(max, decibels.values())) == most else "dB of each frame", decibels, colours, 0, last)
    figure.text(346, 378, "frame", 13, "middle", "soft")
    legend(figure, list(colours), {name: (colour, "dot") for name, colour in colours.items()}, 14, 398, 600)
    return figure


def film_shots():
    return over_time("shots", "ebcot", 60, "CGI, a building, a street, parrots: 60 Mbit/s by area")


def film_stills():
    return over_time("stills", "ebcot", 60, "Titles, pans over stills, a still held, black: 60 Mbit/s by area")


def summary():
    """For the README: three panels beside each other."""
    panels = [psnr(), quality_time(), cpu_time_short()]
    figure = Figure(sum(panel.width for panel in panels), max(panel.height for panel in panels) + 6)
    x = 0
    for panel in panels:
        figure.put(panel, x, 0)
        x += panel.width
    return figure


def label(figure, x, y, width, height, lines, fill="fill"):
    figure.box(x, y, width, height, fill, "line", 6)
    first = y + height / 2 + 5 - 9 * (len(lines) - 1)
    for i, text in enumerate(lines):
        figure.text(x + width / 2, first + 18 * i, text, 15 if i == 0 else 13, "middle", "text" if i == 0 else "soft",
                    600 if i == 0 else None)


def hull():
    """The block `skin` of the example of rate control: its passes, and the hull that rate control chooses from."""
    text = EXAMPLE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \d [\w-]+ \| (\d+) \| \d+ \| ([\d.]+) \| ?(\**\d*)", text, re.MULTILINE)
    figure = Figure(420, 330)
    left, top, right, bottom = 56, 60, 404, 270
    removed, points = 0.0, [(0, 0.0, True)]
    for _, size, error, slope in rows:
        removed += float(error)
        points.append((int(size), removed, bool(slope)))
    across = lambda size: left + (right - left) * size / points[-1][0]
    up = lambda error: bottom - (bottom - top) * error / points[-1][1]
    figure.text(12, 26, "Passes of one block, and its hull", 17, weight=600)
    figure.text(12, 45, "squared error removed, by bytes", 13, fill="soft")
    for error in range(0, int(points[-1][1]) + 1, 5000):
        figure.line([(left, up(error)), (right, up(error))])
        figure.text(left - 6, up(error) + 5, f"{error:,}", 13, "end", "soft")
    for size in range(0, points[-1][0] + 1, 100):
        figure.text(across(size), bottom + 19, str(size), 13, "middle", "soft")
    figure.line([(across(size), up(error)) for size, error, on_hull in points if on_hull], "a", 2)
    for size, error, on_hull in points[1:]:
        figure.mark("dot" if on_hull else "square", across(size), up(error), "a" if on_hull else "b", 4.5 if on_hull else 4)
    figure.text((left + right) / 2, bottom + 38, "bytes", 13, "middle", "soft")
    figure.mark("dot", 206, 206, "a")
    figure.text(218, 211, "may be a cut: on the hull", 14)
    figure.mark("square", 206, 230, "b")
    figure.text(218, 235, "never worth it", 14)
    return figure


def pipeline():
    """The way of a frame, from top to bottom."""
    figure = Figure(420, 560)
    label(figure, 20, 14, 180, 50, ["FFmpeg", "j2k_cuda, libcj2kenc.c"])
    label(figure, 220, 14, 180, 50, ["program", "cj2k.h"])
    label(figure, 70, 96, 280, 50, ["encoder", "checks the frame, puts it into a GOP"])
    figure.arrow([(110, 64), (150, 96)])
    figure.arrow([(310, 64), (270, 96)])
    steps = [["ingest, colour, wavelet", "samples to coefficients"], ["quantiser, block coder", "coding passes, hulls"]]
    figure.box(20, 190, 290, 146, "back", "line", 8)
    figure.text(320, 198, "backend:", 13, fill="soft")
    figure.text(320, 215, "CPU or CUDA,", 13, fill="soft")
    figure.text(320, 232, "same bytes", 13, fill="soft")
    label(figure, 32, 208, 266, 48, steps[0])
    label(figure, 32, 276, 266, 48, steps[1])
    figure.arrow([(165, 146), (165, 208)])
    figure.arrow([(165, 256), (165, 276)])
    label(figure, 32, 372, 266, 50, ["rate control", "passes under the cap, to the byte"])
    figure.arrow([(165, 324), (165, 372)])
    figure.arrow([(298, 397), (360, 397), (360, 300), (298, 300)], dash="5 4")
    figure.text(366, 344, "more of", 13, fill="soft")
    figure.text(366, 360, "a block?", 13, fill="soft")
    label(figure, 32, 444, 266, 46, ["packets", "headers, bytes, statistics"])
    figure.arrow([(165, 422), (165, 444)])
    label(figure, 32, 508, 266, 38, ["codestream, or JP2 file"])
    figure.arrow([(165, 490), (165, 508)])
    return figure


def layers():
    """Folders; each includes only what lies below it."""
    figure = Figure(420, 500)
    rows = [["ffmpeg-patch, samples", "know the C API alone"], ["run/", "encoder, GOP, statistics"], None, ["depth/", "how far to code; backend.h"],
            ["rate/, packets/", "passes under the caps; headers, files"], ["coders/", "EBCOT, HT"],
            ["pixels/", "samples to coefficients"], ["params/, plan/", "profiles, geometry, facts"],
            ["base/, core/", "threads, memory; arithmetic"],
            ["include/cj2k.h", "the C API"]]
    y = 12
    for row in rows:
        if row:
            label(figure, 20, y, 270, 42, row)
        else:
            label(figure, 20, y, 130, 42, ["cpu/", "CPU backend"])
            label(figure, 160, y, 130, 42, ["cuda/", "CUDA backend"])
            label(figure, 310, y, 98, 42, ["kernels/", "device code"])
            figure.arrow([(290, y + 21), (310, y + 21)])
            kernels = y + 42
        y += 48
    figure.arrow([(359, kernels), (359, 423), (290, 423)])
    figure.text(304, 442, "core/ alone", 13, fill="soft")
    return figure


DRAWN = {"summary": summary, "psnr": psnr, "effort": effort, "tune": tune, "ht_psnr": ht_psnr, "ssimulacra2": ssimulacra2, "butteraugli": butteraugli, "quality_time": quality_time, "cpu_time": cpu_time,
         "cpu_time_short": cpu_time_short, "lossless": lossless, "film_psnr": film_psnr, "stops": stops, "film_shots": film_shots, "film_stills": film_stills,
         "hull": hull, "pipeline": pipeline, "layers": layers}


def main():
    old = []
    FIGURES.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        path, svg = FIGURES / f"{name}.svg", draw().svg()
        if path.exists() and path.read_text(encoding="utf-8") == svg:
            continue
        old.append(name)
        if "--check" not in sys.argv:
            path.write_text(svg, encoding="utf-8")
    others = {path.stem for path in FIGURES.glob("*.svg")} - DRAWN.keys()
    if old and "--check" in sys.argv:
        print("a result file has changed: scripts/site/figures.py draws the figures anew")
    print(f"{len(DRAWN)} figures, changed: {', '.join(old) or 'none'}" + (f"; not drawn here: {others}" if others else ""))
    return 1 if "--check" in sys.argv and (old or others) else 0


if __name__ == "__main__":
    sys.exit(main())

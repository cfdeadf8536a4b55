# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tables and plots of the rows that were measured."""
import bisect
import math

COLUMNS = ["picture", "width", "height", "depth", "encoder", "codec", "target_bytes", "bytes", "bit_per_pixel", "psnr", "ssimulacra2", "butteraugli"]
NUMBERS = {"width": int, "height": int, "depth": int, "target_bytes": int, "bytes": int, "bit_per_pixel": float,
           "psnr": float, "ssimulacra2": float, "butteraugli": float}


def text_of(row):
    def text(column):
        value = row.get(column)
        return "" if value is None else "%.5f" % value if isinstance(value, float) else str(value)
    return "\t".join(text(column) for column in COLUMNS)


def read_rows(path):
    with open(path) as file:
        lines = [line.rstrip("\n") for line in file if not line.startswith("#")]
    rows = []
    for line in lines[1:]:
        row = dict(zip(COLUMNS, line.split("\t")))
        rows.append({column: NUMBERS.get(column, str)(value) for column, value in row.items() if value != ""})
    return rows


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else math.nan


def curves(rows, metric):
    """{(picture, encoder): [(bytes, score), ...] by bytes}"""
    found = {}
    for row in rows:
        if metric.key in row and math.isfinite(row[metric.key]):
            found.setdefault((row["picture"], row["encoder"]), []).append((row["bytes"], row[metric.key]))
    return {key: sorted(points) for key, points in found.items()}


BEYOND = 1.03  # so far are the ends of a curve extended: files of one rate differ in their bytes


def at_bytes(curve, size):
    """The score of a curve at a size, on a line between two points in log(bytes); None outside the curve."""
    sizes = [point[0] for point in curve]
    if len(curve) < 2 or not sizes[0] <= size * BEYOND or not size <= sizes[-1] * BEYOND:
        return None
    i = min(max(bisect.bisect_left(sizes, size), 1), len(curve) - 1)
    (x0, y0), (x1, y1) = curve[i - 1], curve[i]
    return y0 if x0 == x1 else y0 + (y1 - y0) * math.log(size / x0) / math.log(x1 / x0)


def bytes_at(curve, score, metric):
    """The bytes at which a curve reaches a score; None outside the curve."""
    for (x0, y0), (x1, y1) in zip(curve, curve[1:]):
        if metric.better(score, y0) >= 0 >= metric.better(score, y1) and y0 != y1:
            return math.exp(math.log(x0) + (score - y0) / (y1 - y0) * math.log(x1 / x0))
    return None


class Comparison:
    """Encoders against a reference by one metric, picture by picture."""

    def __init__(self, rows, metric, reference):
        self.metric, self.reference = metric, reference
        self.curves = curves(rows, metric)

    def differences(self, encoder):
        """[(picture, bytes, by how much better at the same bytes)]"""
        found = []
        for (picture, name), curve in self.curves.items():
            base = self.curves.get((picture, self.reference))
            if name != encoder or base is None:
                continue
            for size, score in curve:
                at = at_bytes(base, size) if encoder != self.reference else score
                if at is not None:
                    found.append((picture, size, self.metric.better(score, at)))
        return found

    def savings(self, encoder):
        """[bytes saved at the same score, as a fraction of the reference's]"""
        found = []
        for (picture, name), curve in self.curves.items():
            base = self.curves.get((picture, self.reference))
            if name != encoder or base is None:
                continue
            for size, score in curve:
                other = bytes_at(base, score, self.metric)
                if other is not None:
                    found.append(1 - size / other)
        return found


def asked_for(row):
    """The rate of a row in bit/pixel, as tables and plots group rows."""
    return round(row["target_bytes"] * 8 / (row["width"] * row["height"]), 2)


def print_tables(rows, metrics, reference, out):
    encoders = list(dict.fromkeys(row["encoder"] for row in rows))
    wide = max(len(name) for name in encoders) + 2
    for metric in metrics:
        if not any(metric.key in row for row in rows):
            continue
        print("\n%s (%s is better), mean over pictures" % (metric.title, "higher" if metric.higher_is_better else "lower"), file=out)
        points = sorted(set(asked_for(row) for row in rows))
        print("%-*s" % (wide, "bit/pixel asked for") + "".join("%9.2f" % point for point in points), file=out)
        for encoder in encoders:
            line = "%-*s" % (wide, encoder)
            for point in points:
                scores = [row[metric.key] for row in rows if row["encoder"] == encoder and metric.key in row
                          and math.isfinite(row[metric.key]) and asked_for(row) == point]
                line += "%9.3f" % mean(scores) if scores else "%9s" % "-"
            print(line, file=out)
        comparison = Comparison(rows, metric, reference)
        print("%-*s%14s%10s%8s%9s%14s%8s" % (wide, "against " + reference, "at same bytes", "worst", "worse", "points", "bytes saved", "points"), file=out)
        for encoder in encoders:
            differences = comparison.differences(encoder)
            if encoder == reference or not differences:
                continue
            savings = comparison.savings(encoder)
            values = [value for _, _, value in differences]
            print("%-*s%+14.3f%+10.3f%8d%9d%13.1f%%%8d" % (
                wide, encoder, mean(values), min(values), sum(value < 0 for value in values), len(values),
                100 * mean(savings), len(savings)), file=out)


def print_pictures(rows, metrics, reference, out):
    """By how much each encoder is better than the reference at the same bytes: picture by picture, at each rate and in the mean."""
    for metric in metrics:
        comparison = Comparison(rows, metric, reference)
        for encoder in dict.fromkeys(row["encoder"] for row in rows):
            better = {(picture, size): value for picture, size, value in comparison.differences(encoder)}
            if encoder == reference or not better:
                continue
            table = {}
            for row in rows:
                if row["encoder"] == encoder and (row["picture"], row["bytes"]) in better:
                    table.setdefault(row["picture"], {})[asked_for(row)] = better[row["picture"], row["bytes"]]
            points = sorted({point for values in table.values() for point in values})
            print("\n%s: %s better than %s by, at the same bytes" % (metric.title, encoder, reference), file=out)
            print("%-36s" % "bit/pixel asked for" + "".join("%9.2f" % point for point in points) + "%9s" % "mean", file=out)
            for picture, values in table.items():
                cells = ["%+9.3f" % values[point] if point in values else "%9s" % "-" for point in points]
                print("%-36s" % picture + "".join(cells) + "%+9.3f" % mean(values.values()), file=out)
            cells = ["%+9.3f" % mean(values[point] for values in table.values() if point in values) for point in points]
            print("%-36s" % "mean" + "".join(cells) + "%+9.3f" % mean(better.values()), file=out)


def print_worse(rows, metrics, reference, out):
    """Every point at which an encoder is worse than the reference at the same bytes."""
    for metric in metrics:
        comparison = Comparison(rows, metric, reference)
        for encoder in dict.fromkeys(row["encoder"] for row in rows):
            if encoder == reference:
                continue
            for picture, size, value in comparison.differences(encoder):
                if value < 0:
                    print("worse: %s %s at %d bytes, %s %+.3f" % (encoder, picture, size, metric.title, value), file=out)


def plotted(rows, metric, reference):
    """{encoder: ([(bit/pixel, mean score)], [(bit/pixel, mean of how much better than the reference at the same bytes)])}"""
    comparison, lines = Comparison(rows, metric, reference), {}
    for encoder in dict.fromkeys(row["encoder"] for row in rows):
        better = {(picture, size): value for picture, size, value in comparison.differences(encoder)}
        scores, differences = {}, {}
        for row in rows:
            if row["encoder"] != encoder or metric.key not in row or not math.isfinite(row[metric.key]):
                continue
            scores.setdefault(asked_for(row), []).append((row["bit_per_pixel"], row[metric.key]))
            if (row["picture"], row["bytes"]) in better:
                differences.setdefault(asked_for(row), []).append((row["bit_per_pixel"], better[row["picture"], row["bytes"]]))
        lines[encoder] = tuple(sorted((mean(p[0] for p in group), mean(p[1] for p in group)) for group in groups.values())
                               for groups in (scores, differences))
    return lines


def plot(rows, metrics, reference, paths):
    """Mean scores over rate, and below them how much better than the reference; a column for each metric. @return why there is no
    plot; empty if there is"""
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return "no plots: there is no matplotlib (Debian: python3-matplotlib)"
    metrics = [metric for metric in metrics if any(metric.key in row for row in rows)]
    encoders = list(dict.fromkeys(row["encoder"] for row in rows))
    colours = matplotlib.colormaps["tab10" if len(encoders) <= 10 else "tab20"].colors
    figure, panels = pyplot.subplots(2, len(metrics), figsize=(6 * len(metrics) + 3, 9), squeeze=False)
    asked = sorted(set(asked_for(row) for row in rows))
    for (scores, differences), metric in zip(panels.T, metrics):
        lines = plotted(rows, metric, reference)
        for i, encoder in enumerate(encoders):
            dashes = "--" if "coder=ht" in encoder or encoder == "openjph" else "-"
            for panel, points in zip((scores, differences), lines[encoder]):
                panel.plot([p[0] for p in points], [p[1] for p in points], dashes, color=colours[i % len(colours)],
                           marker="osD^v"[i % 5], markersize=4, linewidth=1.2, label=encoder)
        scores.set_title(metric.title)
        differences.set_title("better than %s by, at the same bytes" % reference)
        if not metric.higher_is_better:
            scores.invert_yaxis()
        for panel in (scores, differences):
            panel.set_xscale("log")
            panel.set_xticks(asked, ["%g" % point for point in asked])
            panel.set_xticks([], minor=True)
            panel.set_xlabel("bit/pixel")
            panel.grid(True, alpha=0.3)
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="center right")
    figure.tight_layout(rect=(0, 0, 1 - 2.7 / figure.get_figwidth(), 1))
    for path in paths:
        figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)
    return ""

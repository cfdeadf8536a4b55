# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Small SVG figures that are readable on light and on dark pages: every colour is a variable (docs/assets/site.css)."""

import html
import math

LIGHT = {"back": "#ffffff", "text": "#1f2933", "soft": "#61707f", "line": "#c9d1d9", "fill": "#eef2f6",
         "a": "#0b62c4", "b": "#c2410c", "c": "#15803d", "d": "#7e3fbf", "e": "#8a6d00", "f": "#be185d", "g": "#5b6773"}
DARK = {"back": "#12171d", "text": "#e6edf3", "soft": "#9fb0c0", "line": "#46505c", "fill": "#27303b",
        "a": "#6cb2ff", "b": "#ff9a62", "c": "#6fd08c", "d": "#c79bff", "e": "#e3c14d", "f": "#ff86b6", "g": "#aab6c2"}


def variables(colours):
    return "".join(f"--cj2k-{name}:{value};" for name, value in colours.items())


STYLE = (f".cj2k{{{variables(LIGHT)}font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}}"
         f"@media(prefers-color-scheme:dark){{.cj2k{{{variables(DARK)}}}}}")


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def colour(name):
    return f"var(--cj2k-{name})"


class Figure:
    """Shapes in a box of width x height, as text."""

    def __init__(self, width, height):
        self.width, self.height, self.parts = width, height, []

    def text(self, x, y, text, size=15, anchor="start", fill="text", weight=None):
        bold = f' font-weight="{weight}"' if weight else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" font-size="{size}" text-anchor="{anchor}"{bold} '
                          f'fill="{colour(fill)}">{html.escape(text, quote=False)}</text>')

    def line(self, points, stroke="line", width=1, dash=None):
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour(stroke)}" stroke-width="{width}"{dashes}/>')

    def box(self, x, y, width, height, fill="fill", stroke=None, radius=2):
        edge = f' stroke="{colour(stroke)}"' if stroke else ""
        self.parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
                          f'rx="{radius}" fill="{colour(fill)}"{edge}/>')

    def mark(self, shape, x, y, fill, size=4.5):
        corners = {"square": [(-1, -1), (1, -1), (1, 1), (-1, 1)], "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
                   "up": [(0, -1.3), (1.2, 1), (-1.2, 1)], "down": [(0, 1.3), (1.2, -1), (-1.2, -1)],
                   "plus": [(-1.3, -0.4), (-0.4, -0.4), (-0.4, -1.3), (0.4, -1.3), (0.4, -0.4), (1.3, -0.4),
                            (1.3, 0.4), (0.4, 0.4), (0.4, 1.3), (-0.4, 1.3), (-0.4, 0.4), (-1.3, 0.4)]}
        if shape == "dot":
            self.parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{size}" fill="{colour(fill)}"/>')
            return
        path = " ".join(f"{number(x + size * dx)},{number(y + size * dy)}" for dx, dy in corners[shape])
        self.parts.append(f'<polygon points="{path}" fill="{colour(fill)}"/>')

    def arrow(self, points, stroke="soft", dash=None):
        self.line(points, stroke, 1.5, dash)
        (x0, y0), (x, y) = points[-2:]
        angle = math.atan2(y - y0, x - x0)
        tip = [(x, y)] + [(x - 9 * math.cos(angle + side), y - 9 * math.sin(angle + side)) for side in (0.42, -0.42)]
        path = " ".join(f"{number(a)},{number(b)}" for a, b in tip)
        self.parts.append(f'<polygon points="{path}" fill="{colour(stroke)}"/>')

    def put(self, other, x, y):
        self.parts.append(f'<g transform="translate({number(x)} {number(y)})">')
        self.parts += other.parts
        self.parts.append("</g>")

    def svg(self):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" class="cj2k" viewBox="0 0 {number(self.width)} {number(self.height)}" '
                f'width="{number(self.width)}" height="{number(self.height)}">')
        back = f'<rect width="100%" height="100%" fill="{colour("back")}"/>'
        return "\n".join([head, f"<style>{STYLE}</style>", back, *self.parts, "</svg>", ""])



def ticks_of(low, high):
    """Round numbers that cover low .. high, four to seven of them."""
    if low == high:
        low, high = low - 1, high + 1
    step = 10 ** math.floor(math.log10(high - low))
    step = next(step * factor for factor in (0.1, 0.2, 0.25, 0.5, 1, 2) if (high - low) / (step * factor) <= 6)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * i, 10) for i in range(first, last + 1)]


def legend(figure, names, looks, x, y, width):
    """Names with their marks in rows; returns the height."""
    at, row = x, 0
    for name in names:
        need = 34 + 7.3 * len(name)
        if at > x and at + need > x + width:
            at, row = x, row + 1
        figure.mark(looks[name][1], at + 6, y + 22 * row, looks[name][0])
        figure.text(at + 16, y + 22 * row + 5, name, 14)
        at += need
    return 22 * (row + 1)


def line_chart(title, series, looks, x_title, note, zero=False, x_ticks=None, labels=None):
    """`series`: name -> [(x, y)]; `looks`: name -> (colour, mark); `labels`: (x, y) -> text. The x axis is logarithmic, with a tick
    at each x."""
    figure = Figure(420, 340)
    left, top, right, bottom = 46, 56, 404, 222
    xs = x_ticks or sorted({x for points in series.values() for x, _ in points})
    ys = [y for points in series.values() for _, y in points] + ([0] if zero else [])
    ticks = ticks_of(min(ys), max(ys))
    across = lambda x: left + 14 + (right - left - 28) * math.log(x / xs[0]) / math.log(xs[-1] / xs[0])
    up = lambda y: bottom - (bottom - top) * (y - ticks[0]) / (ticks[-1] - ticks[0])
    figure.text(12, 26, title, 17, weight=600)
    figure.text(12, 45, note, 13, fill="soft")
    for tick in ticks:
        figure.line([(left, up(tick)), (right, up(tick))], "soft" if zero and tick == 0 else "line")
        figure.text(left - 6, up(tick) + 5, number(tick), 13, "end", "soft")
    for x in xs:
        figure.text(across(x), bottom + 19, number(x), 13, "middle", "soft")
    figure.text((left + right) / 2, bottom + 38, x_title, 13, "middle", "soft")
    for name, points in series.items():
        path = [(across(x), up(y)) for x, y in points]
        figure.line(path, looks[name][0], 2)
        for x, y in path:
            figure.mark(looks[name][1], x, y, looks[name][0])
        for point, (x, y) in zip(points, path):
            if labels:
                figure.text(x + 8, y + 5, labels[point], 12, fill="soft")
    figure.height = bottom + 62 + legend(figure, list(series), looks, 14, bottom + 62, 396) - 8
    return figure


def panel(figure, top, height, title, series, colours, first, last):
    """Lines over whole numbers `first` .. `last`, in a part of a figure: `series` is name -> [y]."""
    left, right, bottom = 52, figure.width - 16, top + height
    ys = [y for values in series.values() for y in values]
    ticks = ticks_of(min(ys), max(ys))
    across = lambda x: left + (right - left) * (x - first) / (last - first)
    up = lambda y: bottom - height * (y - ticks[0]) / (ticks[-1] - ticks[0])
    figure.text(12, top - 12, title, 13, fill="soft")
    for tick in ticks:
        figure.line([(left, up(tick)), (right, up(tick))])
        figure.text(left - 6, up(tick) + 5, number(tick), 13, "end", "soft")
    for x in ticks_of(first, last):
        if first <= x <= last:
            figure.text(across(x), bottom + 18, number(x), 13, "middle", "soft")
    for name, values in series.items():
        figure.line([(across(first + i), up(y)) for i, y in enumerate(values)], colours[name], 2)


def bar_chart(title, groups, unit, note):
    """`groups`: name -> [(label, value, text)], of two labels; horizontal bars, the longest value at full width."""
    figure = Figure(420, 0)
    figure.text(12, 26, title, 17, weight=600)
    figure.text(12, 45, note, 13, fill="soft")
    longest = max(value for bars in groups.values() for _, value, _ in bars)
    order = list(dict.fromkeys(label for bars in groups.values() for label, _, _ in bars))
    y = 72
    for name, bars in groups.items():
        figure.text(12, y, name, 14, weight=600)
        for label, value, text in bars:
            y += 23
            figure.text(12, y, label, 13.5)
            figure.box(138, y - 13, 188 * value / longest, 16, "ab"[order.index(label)])
            figure.text(143 + 188 * value / longest, y, text + unit, 13.5)
        y += 28
    figure.height = y - 12
    return figure

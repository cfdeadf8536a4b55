#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Crops at 1:1, side by side: the original, and what a decoder shows of it from several encoders at the same bytes.

    python3 tests/bench/quality/side_by_side.py --out OUT.png [--encoders ENCODER ...] [--bpp 0.5] [--at X,Y] [PICTURE ...]

Without a PICTURE it draws one: skin, text, foliage, and weave with noise, a row of the result each. Of a PICTURE (8 bit RGB) the
middle is taken, and with --at the crop there, after the whole picture was encoded. Columns: the original, then each encoder, by the names
of `python3 tests/bench/quality`. Prints the bytes and PSNR of each. Needs opj_decompress, and ffmpeg to draw and for PNG."""
import argparse
import os
import tempfile

import numpy

import encoders
import metrics
import pictures

WIDTH, HEIGHT = 208, 128  # of a crop
GAP = 6
TEXT = ["Sphinx of black quartz, judge my vow", "0.25 0.50 1.00 1.75 bit/pixel", "The quick brown fox", "jumps over"]


def skin(random):
    """A face's light and dark, mottling of a few code values, and fine noise."""
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    light = 1 - 0.35 * numpy.hypot((x - 70) / WIDTH, (y - 40) / HEIGHT)
    mottling = sum(numpy.sin(random.uniform(-.25, .25) * x + random.uniform(-.25, .25) * y + random.uniform(0, 6)) for _ in range(24))
    tone = numpy.array([226, 172, 146]) * light[..., None] + 0.6 * mottling[..., None] * numpy.array([.6, 1, 1])
    return tone + random.normal(0, 1.5, (HEIGHT, WIDTH, 1))


def foliage(random):
    """Leaves over leaves: ellipses with a rib, in all directions."""
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    tile = numpy.full((HEIGHT, WIDTH, 3), 30.0)
    for i in range(700):
        angle, length = random.uniform(0, numpy.pi), random.uniform(4, 14)
        at = random.uniform(0, WIDTH), random.uniform(0, HEIGHT)
        along = (x - at[0]) * numpy.cos(angle) + (y - at[1]) * numpy.sin(angle)
        across = (y - at[1]) * numpy.cos(angle) - (x - at[0]) * numpy.sin(angle)
        inside = (along / length) ** 2 + (across / (0.35 * length)) ** 2 < 1
        colour = numpy.array([70, 120, 45]) * (0.35 + 0.9 * i / 700 * random.uniform(.6, 1.2)) + random.uniform(-12, 12)
        tile[inside] = colour
        tile[inside & (numpy.abs(across) < 0.7)] = colour * 1.25
    return tile + random.normal(0, 2, (HEIGHT, WIDTH, 1))


def text(folder):
    """Black and coloured letters on white, by ffmpeg's drawtext."""
    path = os.path.join(folder, "text.ppm")
    boxes, y = [], 6
    for i, line in enumerate(TEXT):
        size = 8 + 4 * i
        boxes.append("drawtext=font=DejaVu Sans:text='%s':x=6:y=%d:fontsize=%d:fontcolor=%s" %
                     (line, y, size, ("black", "0x0050A0", "0xB01020", "black")[i]))
        y += size + 13
    encoders.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "color=0xF8F8F0:s=%dx%d" % (WIDTH, HEIGHT), "-vf",
                  "format=rgb24," + ",".join(boxes), "-frames:v", "1", path])
    with open(path, "rb") as file:
        return pictures.read_pnm(file.read())[0].astype(float)


def weave(random):
    """Cloth with stripes that grow finer, and noise."""
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    pattern = 26 * numpy.sin(0.0045 * (x + 60) ** 2) * numpy.cos(0.7 * y) + 14 * numpy.sin(0.35 * (x + y))
    tone = numpy.array([96, 104, 128]) + pattern[..., None]
    return tone + random.normal(0, 9, (HEIGHT, WIDTH, 3))


def drawn(folder):
    random = numpy.random.default_rng(1)
    rows = [skin(random), text(folder), foliage(random), weave(random)]
    return numpy.clip(numpy.rint(numpy.concatenate(rows)), 0, 255).astype("u1")


def decoded(encoder, source, folder, picture, target):
    coded, shown = os.path.join(folder, "out.j2k"), os.path.join(folder, "out.ppm")
    encoder.encode(source, coded, target, picture)
    encoders.run(["opj_decompress", "-i", coded, "-o", shown])
    with open(shown, "rb") as file:
        return pictures.read_pnm(file.read())[0], os.path.getsize(coded)


def with_gap(column):
    gap = numpy.full((column.shape[0], GAP, 3), 255, "u1")
    return numpy.concatenate([gap, column], axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cj2k", default="build/release/samples/encode")
    parser.add_argument("--bpp", type=float, default=0.5)
    parser.add_argument("--encoders", nargs="+", default=["cj2k:tune=mse", "cj2k:tune=visual"], help="a column each")
    parser.add_argument("--at", type=lambda text: tuple(map(int, text.split(","))), help="corner of the crop in a picture that is encoded whole")
    parser.add_argument("--size", type=lambda text: tuple(map(int, text.split("x"))), default=(WIDTH, HEIGHT), help="of the crop")
    parser.add_argument("--out", required=True, help="a PNG or PPM file")
    parser.add_argument("pictures", nargs="*")
    args = parser.parse_args()
    args.cj2k_version = ""
    columns_of = [encoders.make(name, args) for name in args.encoders]
    width, height = args.size
    with tempfile.TemporaryDirectory() as folder:
        source, drawing = os.path.join(folder, "in.ppm"), os.path.join(folder, "drawn.ppm")
        if not args.pictures:
            pictures.write_pnm(drawing, drawn(folder), 8)
        rows = []
        for path in args.pictures or [drawing]:
            picture = pictures.Picture(path, args.size if args.pictures and not args.at else None)
            if picture.depth != 8 or picture.components != 3 or args.pictures and (picture.width < width or picture.height < height):
                raise SystemExit("%s is not RGB of 8 bits and at least %dx%d" % (path, width, height))
            x, y = args.at or (0, 0)
            crop = (slice(y, y + height), slice(x, x + width)) if args.at else (slice(None), slice(None))
            pictures.write_pnm(source, picture.samples, 8)
            columns = [picture.samples[crop]]
            for encoder in columns_of:
                shown, size = decoded(encoder, source, folder, picture, int(args.bpp * picture.pixels / 8))
                print("%-16s %-30s %8d bytes %6.2f dB" % (picture.name, encoder.name, size, metrics.psnr(picture.samples, shown, 8)))
                columns.append(with_gap(shown[crop]))
            rows.append(numpy.concatenate(columns, axis=1))
        whole = args.out if args.out.endswith(".ppm") else os.path.join(folder, "whole.ppm")
        pictures.write_pnm(whole, numpy.concatenate(rows), 8)
        if whole != args.out:
            encoders.run(["ffmpeg", "-v", "error", "-y", "-i", whole, "-compression_level", "100", "-pred", "mixed", args.out])


if __name__ == "__main__":
    main()

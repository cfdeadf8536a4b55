#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""tune=visual against mse where components are no R, G, B with a colour transform: YUV 4:2:0 and 4:4:4 of 8 bits (BT.601, full
range), and X'Y'Z' of 12 bits.

    python3 tests/bench/quality/tune_colour.py [--bpp 0.25,0.5,1,1.75] [--crop 512x384] [--tsv OUT.tsv] PICTURE ...

The original is the picture after the conversion, the decoded one is converted back; both are compared as R'G'B' of 8 bits. Needs the
Python package cj2k, opj_decompress, ffmpeg, butteraugli_main and ssimulacra2 (__main__.py says where they come from)."""
import argparse
import os
import sys
import tempfile

import numpy

import cj2k
import encoders
import metrics
import pictures
import report

LUMA = numpy.array([.299, .587, .114])
#: SMPTE RP 177 for BT.709, with white at 48 / 52.37 (libcj2k/pixels/xyz.h); `xyz` expects R'G'B' of gamma 2.4.
TO_XYZ = numpy.array([[.4123908, .3575843, .1804808], [.2126390, .7151687, .0721923], [.0193308, .1191948, .9505322]]) * 48 / 52.37
XYZ_GAMMA, SOURCE_GAMMA = 2.6, 2.4
TUNES = ("mse", "visual")


def to_8(plane):
    return numpy.clip(numpy.rint(plane), 0, 255).astype("u1")


def upsampled(plane, axis):
    """Twice the samples along an axis: 3/4 and 1/4 of the two nearest."""
    before, behind = (numpy.roll(plane, shift, axis) for shift in (1, -1))
    edge = [slice(None)] * 2
    for shifted, at in ((before, 0), (behind, -1)):
        edge[axis] = at
        shifted[tuple(edge)] = plane[tuple(edge)]
    pair = numpy.stack([.75 * plane + .25 * before, .75 * plane + .25 * behind], axis=axis + 1)
    return pair.reshape([2 * n if i == axis else n for i, n in enumerate(plane.shape)])


class Yuv:
    def __init__(self, rgb, step):
        y = rgb @ LUMA
        shape = y.shape[0] // step, step, y.shape[1] // step, step
        chroma = [((rgb[..., c] - y) / scale + 128).reshape(shape).mean(axis=(1, 3)) for c, scale in ((2, 1.772), (0, 1.402))]
        self.planes, self.step = [to_8(plane) for plane in (y, *chroma)], step

    def original(self):
        """What a decoder of the lossless stream shows, as R'G'B'."""
        return self.rgb(self.planes)

    def encode(self, **params):
        return cj2k.encode(self.planes, colour="yuv", **params)

    def decode(self, path, folder):
        # FFmpeg takes 4:4:4 without a colour space for R, G, B; PNM files have no subsampling.
        if self.step == 1:
            return self.rgb(numpy.moveaxis(by_openjpeg(path, folder), 2, 0))
        out = os.path.join(folder, "out.yuv")
        encoders.run(["ffmpeg", "-v", "error", "-y", "-i", path, "-pix_fmt", "yuv420p", "-f", "rawvideo", out])
        raw, planes = numpy.fromfile(out, "u1"), []
        for plane in self.planes:
            planes.append(raw[:plane.size].reshape(plane.shape))
            raw = raw[plane.size:]
        return self.rgb(planes)

    def rgb(self, planes):
        y, u, v = (plane.astype(float) for plane in planes)
        if self.step == 2:
            u, v = (upsampled(upsampled(plane, 0), 1) for plane in (u, v))
        u, v = u - 128, v - 128
        return numpy.stack([y + 1.402 * v, y - .344136 * u - .714136 * v, y + 1.772 * u], axis=2)


class Xyz:
    def __init__(self, rgb):
        self.rgb = ((rgb.astype("u4") * 4095 + 127) // 255).astype("u2")

    def encode(self, **params):
        return cj2k.encode(self.rgb, depth=12, xyz="rec709", **params)

    def original(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "all.j2k")
            with open(path, "wb") as file:
                file.write(self.encode(lossless=True))
            return self.decode(path, folder)

    @staticmethod
    def decode(path, folder):
        linear = (by_openjpeg(path, folder) / 4095.0) ** XYZ_GAMMA @ numpy.linalg.inv(TO_XYZ).T
        return 255 * numpy.clip(linear, 0, 1) ** (1 / SOURCE_GAMMA)


def by_openjpeg(path, folder):
    out = os.path.join(folder, "out.ppm")
    encoders.run(["opj_decompress", "-i", path, "-o", out])
    with open(out, "rb") as file:
        return pictures.read_pnm(file.read())[0]


KINDS = {"4:2:0": lambda rgb: Yuv(rgb, 2), "4:4:4": lambda rgb: Yuv(rgb, 1), "X'Y'Z'": Xyz}


class Shown:
    """What the metrics compare with: a picture of 8 bits (pictures.Picture)."""

    def __init__(self, rgb):
        self.samples, self.depth = to_8(rgb), 8


def measure(picture, kind, rates, found, folder):
    """Rows as those of __main__.py, by rate and tune."""
    rgb = picture.samples >> (picture.depth - 8)
    source = KINDS[kind](rgb)
    judge = metrics.Judge(Shown(source.original()), found, folder)
    path = os.path.join(folder, "out.j2k")
    for rate in rates:
        target = int(rate * picture.width * picture.height / 8)
        for tune in TUNES:
            with open(path, "wb") as file:
                file.write(source.encode(target_bytes=target, tune=tune, threads=1))
            row = {"picture": picture.name, "width": picture.width, "height": picture.height, "depth": 12 if kind == "X'Y'Z'" else 8,
                   "encoder": "%s tune=%s" % (kind, tune), "codec": "Part 1", "target_bytes": target, "bytes": os.path.getsize(path)}
            row["bit_per_pixel"] = row["bytes"] * 8 / (picture.width * picture.height)
            yield {**row, **judge.scores(to_8(source.decode(path, folder)), folder)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bpp", default="0.25,0.5,1,1.75")
    parser.add_argument("--crop", default="512x384", help="the middle of each picture")
    parser.add_argument("--tsv", default="", help="a file for the rows")
    parser.add_argument("pictures", nargs="+")
    args = parser.parse_args()
    crop, rates = tuple(map(int, args.crop.split("x"))), list(map(float, args.bpp.split(",")))
    found, rows = metrics.metrics(), []
    with tempfile.TemporaryDirectory() as folder:
        for path in args.pictures:
            picture = pictures.Picture(path, crop)
            for kind in KINDS:
                rows += measure(picture, kind, rates, found, folder)
            print(picture.name, flush=True)
    if args.tsv:
        with open(args.tsv, "w") as file:
            file.write("\t".join(report.COLUMNS) + "\n")
            file.writelines(report.text_of(row) + "\n" for row in rows)
    for kind in KINDS:
        report.print_tables([row for row in rows if row["encoder"].startswith(kind)], found, kind + " tune=mse", sys.stdout)


if __name__ == "__main__":
    main()

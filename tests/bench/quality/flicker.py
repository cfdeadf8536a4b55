#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What moves in a shot that stands still: the change of the coding error from frame to frame.

    python3 tests/bench/quality/flicker.py [--cj2k build/release/samples/encode] [--crop 512x384] [--bpp 0.5,1] PICTURE ...

Each PICTURE becomes a static shot: `frames` frames with noise of their own (Gaussian, `sigma` LSB of 8 bits). Every frame is
encoded alone. The error is decoded less original; printed is the RMS of its change between neighbouring frames, in LSB of
8 bits, on luma: of all pixels, and of means over 2x2 and 4x4 pixels, which is what is left of it at two and four times the
viewing distance; and the RMS of the error itself."""
import argparse
import os
import tempfile

import numpy

import encoders
import pictures

LUMA = numpy.array([0.299, 0.587, 0.114])


def box(plane, side):
    height, width = (n // side * side for n in plane.shape)
    return plane[:height, :width].reshape(height // side, side, width // side, side).mean(axis=(1, 3))


def rms(values):
    return float(numpy.sqrt(numpy.mean(numpy.square(values))))


def errors(program, params, frames, target, folder):
    """The luma error of each frame."""
    found = []
    for frame in frames:
        source, coded, decoded = (os.path.join(folder, name) for name in ("in.ppm", "out.j2k", "out.ppm"))
        pictures.write_pnm(source, frame, 8)
        encoders.run([program, source, coded, "target_bytes=%d" % target, "threads=1", *params])
        encoders.run(["opj_decompress", "-i", coded, "-o", decoded])
        with open(decoded, "rb") as file:
            got = pictures.read_pnm(file.read())[0]
        found.append((got.astype(float) - frame) @ LUMA)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cj2k", default="build/release/samples/encode")
    parser.add_argument("--crop", default="512x384")
    parser.add_argument("--bpp", default="0.5,1")
    parser.add_argument("--frames", type=int, default=4)
    parser.add_argument("--sigma", type=float, default=3)
    parser.add_argument("--tunes", default="tune=mse tune=visual", help="parameters of ours, compared")
    parser.add_argument("pictures", nargs="+")
    args = parser.parse_args()
    width, height = map(int, args.crop.split("x"))
    print("%-24s%6s  %-22s%10s%12s%12s%10s" % ("picture", "bpp", "", "change", "change 2x2", "change 4x4", "error"))
    with tempfile.TemporaryDirectory() as folder:
        for path in args.pictures:
            picture = pictures.Picture(path, (width, height))
            base = pictures.to_8_bits(picture.samples, picture.depth).astype(float)
            noise = numpy.random.default_rng(1)
            frames = [numpy.clip(numpy.rint(base + noise.normal(0, args.sigma, base.shape)), 0, 255).astype(numpy.uint8)
                      for _ in range(args.frames)]
            for bpp in map(float, args.bpp.split(",")):
                for tune in args.tunes.split():
                    found = errors(args.cj2k, tune.split(":"), frames, int(picture.pixels * bpp / 8), folder)
                    steps = [b - a for a, b in zip(found, found[1:])]
                    print("%-24s%6g  %-22s%10.3f%12.3f%12.3f%10.3f" % (
                        picture.name[:23], bpp, tune, *(rms([box(step, side) for step in steps]) for side in (1, 2, 4)), rms(found)), flush=True)


if __name__ == "__main__":
    main()

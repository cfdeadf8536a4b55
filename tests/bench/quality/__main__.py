#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Rate against quality: ours and its peers at the same bytes, by PSNR, SSIMULACRA2 and butteraugli.

    python3 tests/bench/quality [--cj2k build/release/samples/encode] [--tsv OUT.tsv] [--plot OUT.svg] [PICTURE|FOLDER ...]

PICTURE: 8- to 16-bit PNG, TIFF, PGM or PPM; default: the pictures of $CJ2K_TEST_MEDIA. Rates: --bpp in bit/pixel, or --mbit
in Mbit/s at 24 frames/s of 4096x2160 pixels, by the area of each picture (default: 25 to 250, those of Table 1 of "Parallel
rate control"). Encoders (--encoders, separated by blanks): cj2k and cj2k:NAME=VALUE:NAME=VALUE (ours with these
parameters), openjpeg, grok, ffmpeg (its libopenjpeg), openjph. Each makes the largest file that is not above the bytes of
the rate: ours by target_bytes, OpenJPEG and Grok by a ratio that is corrected until the file has 99.9 %, OpenJPH by a step
that is bisected to 99.95 %; FFmpeg's ratios are even numbers, so its bytes are the nearest. Every file is decoded by
opj_decompress. The visual metrics look at 8 bits. "bytes saved" compares at the same score, between points of the
reference (--reference, default the first encoder) on a line in log(bytes); scores outside its range are left out. "at the same
bytes" extends the reference's line by 3 % at its ends. Plots: scores, and below them how much better than the reference.

What is missing is left out, with a line: programs, metrics, parameters that this build of ours has not. --from reads rows
of earlier runs (--tsv) instead of, or with PICTUREs in addition to, measuring. Needs numpy; plots need matplotlib;
scripts/install_deps.sh bench installs both, and butteraugli. SSIMULACRA2: `pip install ssimulacra2 "scipy>=1.11"` (its package
names no version of scipy, and fails with Debian 12's), or libjxl's program.
"""
import argparse
import concurrent.futures
import datetime
import os
import platform
import shutil
import subprocess
import sys
import tempfile

import encoders
import metrics
import pictures
import report

TABLE_1 = [25, 50, 80, 100, 150, 200, 250]
FRAME_PIXELS, FRAMES_PER_SECOND = 4096 * 2160, 24


def numbers(text):
    return [float(number) for number in text.split(",")]


def size(text):
    width, _, height = text.partition("x")
    return int(width), int(height or width)


def arguments():
    parser = argparse.ArgumentParser(prog="quality", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cj2k", default="build/release/samples/encode", help="the program of samples/encode.c")
    parser.add_argument("--encoders", default=" ".join(encoders.DEFAULT), help="default: %(default)s")
    parser.add_argument("--reference", default="", help="the encoder that others are compared with; default: the first")
    parser.add_argument("--bpp", type=numbers, default=[], help="rates in bit/pixel, such as 0.25,0.5,1,1.5")
    parser.add_argument("--mbit", type=numbers, default=[], help="rates in Mbit/s by area; default: " + ",".join(map(str, TABLE_1)))
    parser.add_argument("--crop", type=size, help="WxH: the middle of each picture alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="files made and judged at once")
    parser.add_argument("--ssimulacra2", default="", help="a program that prints the score of two pictures")
    parser.add_argument("--butteraugli", default="", help="butteraugli_main")
    parser.add_argument("--no-visual", action="store_true", help="PSNR alone")
    parser.add_argument("--tsv", help="file for the rows, one for each codestream")
    parser.add_argument("--plot", action="append", default=[], help="file for the plots, .svg or .png")
    parser.add_argument("--per-picture", action="store_true", help="tables of each picture, rate by rate")
    parser.add_argument("--worse", action="store_true", help="lists each point that is worse than the reference")
    parser.add_argument("--from", dest="earlier", action="append", default=[], help="rows of an earlier run")
    parser.add_argument("pictures", nargs="*")
    args = parser.parse_args()
    if not args.pictures and not args.earlier:
        media = os.environ.get("CJ2K_TEST_MEDIA")
        if not media:
            parser.error("name pictures or folders, or set CJ2K_TEST_MEDIA")
        args.pictures = [os.path.join(media, folder) for folder in ("kodak", "film", "stills2k", "stills4k")]
    args.rates = args.bpp + [mbit * 1e6 / FRAMES_PER_SECOND / FRAME_PIXELS for mbit in args.mbit or ([] if args.bpp else TABLE_1)]
    args.cj2k_version = version_of_tree()
    return args


def version_of_tree():
    done = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "describe", "--always", "--dirty"], capture_output=True)
    return done.stdout.decode().strip() or "of unknown version"


def cpu_model():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def conditions(args, found, compared):
    """The head of table and TSV."""
    lines = ["%s, %s" % (datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), cpu_model()),
             "decoder: opj_decompress, %s" % metrics.package_version("libopenjp2-tools")]
    lines += ["%s: %s (%s)" % (encoder.name, encoder.version, encoder.codec) for encoder in compared]
    lines += ["%s: %s" % (metric.title, metric.version) for metric in found]
    lines.append("rates: " + ", ".join("%.4g" % rate for rate in args.rates) + " bit/pixel"
                 + (", the middle %dx%d of each picture" % args.crop if args.crop else ""))
    return lines


def write_probe(folder):
    """A small picture that encoders and metrics are tried with. @return its path"""
    path = os.path.join(folder, "probe.ppm")
    samples = [[[(3 * x + 5 * y + 80 * c) % 256 for c in range(3)] for x in range(64)] for y in range(64)]
    pictures.write_pnm(path, pictures.numpy.array(samples), 8)
    return path


def usable_encoders(args, probe, folder):
    """Those that code the probe here; a line about each of the others."""
    compared = []
    for name in args.encoders.split():
        try:
            encoder = encoders.make(name, args)
            encoder.check(probe, folder)
            compared.append(encoder)
        except encoders.Missing as missing:
            print("no %s: %s" % (name, missing))
    return compared


def decode(coded, folder, components):
    path = os.path.join(folder, "decoded.pgm" if components == 1 else "decoded.ppm")
    encoders.run(["opj_decompress", "-i", coded, "-o", path])
    with open(path, "rb") as file:
        return pictures.read_pnm(file.read())[0]


def measure(picture, source, judge, encoder, rate, parent):
    """One row, or why there is none."""
    target = int(picture.pixels * rate / 8)
    row = {"picture": picture.name, "width": picture.width, "height": picture.height, "depth": picture.depth,
           "encoder": encoder.name, "codec": encoder.codec, "target_bytes": target}
    refusal = encoder.takes(picture)
    if refusal:
        return "%s, %s: %s" % (picture.name, encoder.name, refusal)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        coded = os.path.join(folder, "coded.j2k")
        try:
            encoder.encode(source, coded, target, picture)
            row["bytes"] = os.path.getsize(coded)
            row["bit_per_pixel"] = row["bytes"] * 8 / picture.pixels
            row.update(judge.scores(decode(coded, folder, picture.components), folder))
        except encoders.Failed as failure:
            return "%s, %s, %d bytes: %s" % (picture.name, encoder.name, target, failure)
    return row


def measure_all(args, found, compared, folder, out):
    rows = []
    for path in pictures.find(args.pictures):
        picture = pictures.Picture(path, args.crop)
        with tempfile.TemporaryDirectory(dir=folder) as own, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            source = os.path.join(own, "source.pgm" if picture.components == 1 else "source.ppm")
            pictures.write_pnm(source, picture.samples, picture.depth)
            judge = metrics.Judge(picture, found, own)
            jobs = [pool.submit(measure, picture, source, judge, encoder, rate, own) for encoder in compared for rate in args.rates]
            missing = []
            for job in jobs:
                row = job.result()
                if isinstance(row, str):
                    missing.append(row)
                    continue
                rows.append(row)
                if out:
                    print(report.text_of(row), file=out, flush=True)
            for line in dict.fromkeys(missing):
                print("left out: " + line)
        print("%s %dx%d %d bit: done" % (picture.name, picture.width, picture.height, picture.depth), flush=True)
    return rows


def main():
    args = arguments()
    found = metrics.metrics(args.ssimulacra2, args.butteraugli)
    if args.no_visual:
        found = found[:1]
    rows = [row for path in args.earlier for row in report.read_rows(path)]
    if args.pictures:
        if not shutil.which("opj_decompress"):
            sys.exit("there is no program `opj_decompress` (Debian: libopenjp2-tools)")
        with tempfile.TemporaryDirectory(prefix="cj2k-quality-") as folder:
            probe = write_probe(folder)
            compared = usable_encoders(args, probe, folder)
            found = metrics.usable(found, pictures.Picture(probe), folder)
            head = conditions(args, found, compared)
            print("\n".join(head), flush=True)
            out = open(args.tsv, "w") if args.tsv else None
            if out:
                print("\n".join("# " + line for line in head), file=out)
                print("\t".join(report.COLUMNS), file=out)
            rows += measure_all(args, found, compared, folder, out)
            if out:
                out.close()
    if not rows:
        sys.exit("nothing was measured")
    reference = args.reference or rows[0]["encoder"]
    report.print_tables(rows, found, reference, sys.stdout)
    if args.per_picture:
        report.print_pictures(rows, found, reference, sys.stdout)
    if args.worse:
        report.print_worse(rows, found, reference, sys.stdout)
    if args.plot:
        refusal = report.plot(rows, found, reference, args.plot)
        if refusal:
            print(refusal)


if __name__ == "__main__":
    main()

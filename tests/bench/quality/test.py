#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The tool of tests/bench/quality on a small generated picture.    test.py ENCODE

Exit status 77: skipped, since a program or numpy is missing."""
import importlib.util
import math
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SIDE, COLUMNS = 96, 12


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def check(condition, what):
    if not condition:
        sys.exit("FAILED: %s" % (what,))


def tool(folder, *args):
    done = subprocess.run([sys.executable, HERE, "--cj2k", sys.argv[1], "--no-visual", "--jobs", "1", *args],
                          capture_output=True, cwd=folder)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def rows_of(path):
    with open(path) as file:
        lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    check(all(len(line) == COLUMNS for line in lines), "a row has not %d columns" % COLUMNS)
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def write_waves(path, width, height):
    with open(path, "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (width, height))
        file.write(bytes(int(128 + 60 * math.sin(x * y / 90 + c) + (7 * x + 13 * y * y + 5 * c) % 31)
                         for y in range(height) for x in range(width) for c in range(3)))


def check_side_by_side(folder):
    """Three columns of 208x128 with gaps of 6; both encodes have the bytes asked for, and differ."""
    picture, out = os.path.join(folder, "wide.ppm"), os.path.join(folder, "sides.ppm")
    write_waves(picture, 210, 130)
    done = subprocess.run([sys.executable, os.path.join(HERE, "side_by_side.py"), "--cj2k", sys.argv[1], "--bpp", "2",
                           "--out", out, picture], capture_output=True, cwd=folder)
    check(done.returncode == 0, done.stderr.decode())
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    check([line[0] for line in lines] == ["tune=mse", "tune=visual"], lines)
    check(all(208 * 128 * 2 // 8 * 0.9 <= int(line[1]) <= 208 * 128 * 2 // 8 for line in lines), lines)
    with open(out, "rb") as file:
        header, samples = file.read().split(b"\n255\n", 1)
    check(header == b"P6\n636 128", header)
    rows = [samples[3 * 636 * y:3 * 636 * (y + 1)] for y in range(128)]
    columns = [b"".join(row[3 * x:3 * (x + 208)] for row in rows) for x in (0, 214, 428)]
    check(len(set(columns)) == 3, "columns are equal")
    check(all(row[3 * 208:3 * 214] == b"\xff" * 18 for row in rows), "no gap")


def main():
    if importlib.util.find_spec("numpy") is None:
        skip("this python has no numpy (Debian: python3-numpy)")
    for program in ("opj_compress", "opj_decompress", "ojph_compress"):
        if not shutil.which(program):
            skip("no program " + program)
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "waves.ppm")
        write_waves(picture, SIDE, SIDE)
        tsv = os.path.join(folder, "rows.tsv")
        names = ["cj2k", "cj2k:wavelet=5/3", "cj2k:coder=ht", "openjpeg", "openjph"]
        status, text, errors = tool(folder, "--bpp", "1,2,4", "--tsv", tsv, "--worse", "--encoders",
                                    " ".join(names + ["cj2k:no_such=1"]), picture)
        check(status == 0, errors)
        check('no cj2k:no_such=1: unknown parameter "no_such"' in text, text)
        rows = rows_of(tsv)
        check([row["encoder"] for row in rows] == [name for name in names for _ in range(3)], text)
        for row in rows:
            target, size = int(row["target_bytes"]), int(row["bytes"])
            check(target * 0.9 <= size <= target, row)
            check(20 < float(row["psnr"]) < 60, row)
        score = {(row["encoder"], row["target_bytes"]): float(row["psnr"]) for row in rows}
        for name in names:
            curve = [score[name, target] for target in ("1152", "2304", "4608")]
            check(curve == sorted(set(curve)), (name, curve))
        # What the table says of the 5/3: its mean loss, and that each point of it is listed.
        lines = [line for line in text.splitlines() if line.startswith("worse: cj2k:wavelet=5/3 waves")]
        check(len(lines) == 3, text)
        # The rows read back give the same table.
        status, again, errors = tool(folder, "--from", tsv)
        check(status == 0, errors)
        table = text[text.index("\nPSNR, dB (higher"):text.index("worse: ")]
        check(again.endswith(table), again)
        status, _, errors = tool(folder, "--encoders", "x264", picture)
        check(status != 0 and 'encoder "x264" is none of' in errors, errors)
        check_side_by_side(folder)
    print("passed")


if __name__ == "__main__":
    main()

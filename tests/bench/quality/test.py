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
    check([line[1] for line in lines] == ["cj2k:tune=mse", "cj2k:tune=visual"], lines)
    check(all(208 * 128 * 2 // 8 * 0.9 <= int(line[2]) <= 208 * 128 * 2 // 8 for line in lines), lines)
    with open(out, "rb") as file:
        header, samples = file.read().split(b"\n255\n", 1)
    check(header == b"P6\n636 128", header)
    rows = [samples[3 * 636 * y:3 * 636 * (y + 1)] for y in range(128)]
    columns = [b"".join(row[3 * x:3 * (x + 208)] for row in rows) for x in (0, 214, 428)]
    check(len(set(columns)) == 3, "columns are equal")
    check(all(row[3 * 208:3 * 214] == b"\xff" * 18 for row in rows), "no gap")
    check_crop(folder, picture)


def check_crop(folder, picture):
    """Of a picture that is encoded whole, the crop that is asked for."""
    out = os.path.join(folder, "crop.ppm")
    done = subprocess.run([sys.executable, os.path.join(HERE, "side_by_side.py"), "--cj2k", sys.argv[1], "--bpp", "2", "--encoders",
                           "cj2k", "--at", "20,30", "--size", "40x50", "--out", out, picture], capture_output=True, cwd=folder)
    check(done.returncode == 0, done.stderr.decode())
    check(210 * 130 * 2 // 8 * 0.9 <= int(done.stdout.split()[2]) <= 210 * 130 * 2 // 8, done.stdout)
    with open(out, "rb") as file:
        header, samples = file.read().split(b"\n255\n", 1)
    check(header == b"P6\n86 50", header)
    with open(picture, "rb") as file:
        whole = file.read().split(b"\n255\n", 1)[1]
    for y in range(50):
        at = 3 * (210 * (30 + y) + 20)
        check(samples[3 * 86 * y:][:3 * 40] == whole[at:at + 3 * 40], y)


def check_plots(folder, tsv, names):
    """Two panels of each encoder's line, as SVG and PNG; without matplotlib a line says so."""
    paths = [os.path.join(folder, "plot." + suffix) for suffix in ("svg", "png")]
    status, text, errors = tool(folder, "--from", tsv, "--plot", paths[0], "--plot", paths[1])
    check(status == 0, errors)
    if importlib.util.find_spec("matplotlib") is None:
        check("no plots: there is no matplotlib" in text, text)
        return
    with open(paths[0]) as file:
        drawing = file.read()
    for title in ["PSNR, dB", "better than cj2k by, at the same bytes", *names]:
        check("<!-- %s -->" % title in drawing, title)
    with open(paths[1], "rb") as file:
        check(file.read(8) == b"\x89PNG\r\n\x1a\n", "no PNG")


def check_metrics(folder, picture):
    """A metric whose program fails is left out with a line; the others are measured."""
    broken = os.path.join(folder, "broken")
    with open(broken, "w") as file:
        file.write("#!/bin/sh\necho no scipy >&2\nexit 1\n")
    os.chmod(broken, 0o755)
    command = [sys.executable, HERE, "--cj2k", sys.argv[1], "--jobs", "1", "--bpp", "1,2", "--encoders", "cj2k",
               "--ssimulacra2", broken, "--butteraugli", broken, picture]
    done = subprocess.run(command, capture_output=True, cwd=folder)
    text = done.stdout.decode()
    check(done.returncode == 0, done.stderr.decode())
    for title in ("SSIMULACRA2", "butteraugli, 3-norm"):
        check("no %s: failed: " % title in text and "no scipy" in text, text)
        check("\n%s (" % title not in text, text)
    check("\nPSNR, dB (higher" in text, text)


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
        # Picture by picture it says the same: one picture, so its mean is that of all.
        status, again, errors = tool(folder, "--from", tsv, "--per-picture")
        check(status == 0, errors)
        per_picture = again[again.index("PSNR, dB: cj2k:wavelet=5/3 better than cj2k by"):].splitlines()
        check(per_picture[2].split()[0] == "waves" and len(per_picture[2].split()) == 5, per_picture)
        of_all = next(line for line in text.splitlines() if line.startswith("cj2k:wavelet=5/3") and "%" in line)
        check(per_picture[2].split()[-1] == of_all.split()[1] == per_picture[3].split()[-1], (per_picture, of_all))
        check_plots(folder, tsv, names)
        check_metrics(folder, picture)
        status, _, errors = tool(folder, "--encoders", "x264", picture)
        check(status != 0 and 'encoder "x264" is none of' in errors, errors)
        check_side_by_side(folder)
    print("passed")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""One budget for a film against equal frames at the same total:

    film.py make MEDIA FOLDER                      makes the ten sequences below of the test media, as PPM
    film.py measure CJ2K FOLDER OUT.tsv            encodes them at all rates, with both coders, both ways: a row for each frame
    film.py report OUT.tsv                         the tables, as Markdown
    film.py select OUT.tsv SEQUENCE:CODER:RATE...  the rows of some runs: what docs/figures are drawn from

`measure` takes PSNR as `cj2k --psnr` measures it. --ssimulacra2 PROGRAM scores every 30th frame, decoded by opj_decompress, which
is also compared with that PSNR.
"""

import argparse
import collections
import concurrent.futures
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy
from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 640, 360
RATES = (25, 60, 150)  # Mbit/s at 4096x2160 and 24 frames/s
CODERS = ("ebcot", "ht")
SCORED = 30  # one frame in so many gets its SSIMULACRA2


def frame_bytes(rate):
    return rate * 1000000 / 8 / 24 * WIDTH * HEIGHT / (4096 * 2160)


def run(command, **settings):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False, **settings)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed: {done.stderr.decode(errors='replace')[-1000:]}")
    return done


# --- make -------------------------------------------------------------------------------------------------------------


class Media:
    """Pictures of the test media at the size of the sequences, as float RGB of 0 to 255."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def clip(self, name, frames):
        data = run(["ffmpeg", "-v", "error", "-i", self.folder / "seq" / name, "-map", "0:v:0", "-frames:v", frames, "-vf",
                    f"scale={WIDTH}:{HEIGHT}:flags=lanczos", "-pix_fmt", "rgb24", "-f", "rawvideo", "-"]).stdout
        return list(numpy.frombuffer(data, numpy.uint8).reshape(frames, HEIGHT, WIDTH, 3).astype(numpy.float32))

    def still(self, name, zoom=1.0):
        """Fills the frame, or `zoom` times it."""
        picture = Image.open(next(self.folder.glob(f"*/{name}*"))).convert("RGB")
        factor = zoom * max(WIDTH / picture.width, HEIGHT / picture.height)
        size = round(picture.width * factor), round(picture.height * factor)
        return numpy.asarray(picture.resize(size, Image.LANCZOS), numpy.float32)

    @staticmethod
    def pan(picture, frames, step=3):
        """Whole samples to the right and, half as many, down."""
        right, down = picture.shape[1] - WIDTH, picture.shape[0] - HEIGHT
        return [picture[min(i * step // 2, down):, min(i * step, right):][:HEIGHT, :WIDTH] for i in range(frames)]

    @staticmethod
    def title(lines, frames, scroll=0, over=None):
        font = ImageFont.truetype("DejaVuSans.ttf", 22)
        shown = []
        for i in range(frames):
            page = Image.new("L", (WIDTH, HEIGHT))
            for n, line in enumerate(lines):
                ImageDraw.Draw(page).text((WIDTH // 2, 120 + 40 * n - scroll * i), line, 255, font, "mm")
            letters = numpy.asarray(page, numpy.float32)[..., None]
            back = numpy.zeros((HEIGHT, WIDTH, 3), numpy.float32) if over is None else over
            shown.append(back + (255 - back) * letters / 255)
        return shown


def black(frames):
    return [numpy.zeros((HEIGHT, WIDTH, 3), numpy.float32)] * frames


def fade(a, b, frames):
    return [a + (b - a) * (i + 1) / frames for i in range(frames)]


def grain(pictures, sigma, seed):
    random = numpy.random.RandomState(seed)
    return [picture + random.normal(0, sigma, picture.shape) for picture in pictures]


def sequences(media):
    """Name -> frames."""
    cgi = media.clip("bbb_cgi_1920x1080_60fps_60f.webm", 60)
    building = media.clip("building_hlg_1920x1080_10b_73f.mp4", 60)
    street = media.clip("film_street_3840x2160_24f_imf_j2k_pq_p3d65_12b.mxf", 24)
    apples, leaves, patak, gopro = (media.still(name, 1.5) for name in ("apples", "leaves", "art_patak", "gopro"))
    parrots, fox = media.still("kodak_pcd0023", 1.2), media.still("fox", 1.1)
    pan = media.pan
    credits = [f"{job} {number}" for number in range(1, 13) for job in ("Camera", "Sound", "Colour")]
    yield "cgi", cgi
    yield "building", building
    yield "street", street
    yield "trailer", (media.title(["A trailer"], 8) + black(6) + fade(black(1)[0], pan(apples, 1)[0], 8) + pan(apples, 12) + cgi[:12]
                      + grain(black(2), 60, 1) + pan(leaves, 8) + media.title(["Soon"], 8))
    yield "shots", cgi[:16] + building[:16] + street[:16] + pan(parrots, 16)
    yield "stills", (media.title(["A still"], 8) + pan(patak, 12) + pan(fox, 1) * 16 + pan(leaves, 10) + black(6)
                     + media.title(["The end"], 8))
    yield "grain", grain(street[:1] * 16, 3, 2) + cgi[:16] + grain(pan(parrots, 1) * 16, 6, 3) + black(8)
    yield "pans", pan(apples, 12) + pan(leaves, 12) + pan(gopro, 12) + pan(patak, 12) + pan(parrots, 12)
    yield "fades", (fade(black(1)[0], pan(gopro, 1)[0], 16) + fade(pan(gopro, 1)[0], pan(patak, 1)[0], 16)
                    + fade(pan(patak, 1)[0], pan(fox, 1)[0], 16) + fade(pan(fox, 1)[0], black(1)[0], 16))
    yield "titles", (black(8) + media.title(["Titles", "over a picture"], 16, over=pan(leaves, 1)[0])
                     + media.title(credits, 32, scroll=4) + black(8))


def make(args):
    for name, frames in sequences(Media(args.media)):
        folder = args.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        for i, frame in enumerate(frames):
            samples = numpy.clip(numpy.rint(frame), 0, 255).astype(numpy.uint8)
            (folder / f"{i:04d}.ppm").write_bytes(b"P6\n%d %d\n255\n" % (WIDTH, HEIGHT) + samples.tobytes())
        print(name, len(frames))


# --- measure ----------------------------------------------------------------------------------------------------------


def decoded_samples(path):
    header, data = path.read_bytes().split(b"\n255\n", 1)
    assert header.endswith(b"%d %d" % (WIDTH, HEIGHT))
    return numpy.frombuffer(data, numpy.uint8).astype(numpy.int32)


def score(program, original, coded, psnr):
    """SSIMULACRA2 of a codestream."""
    with tempfile.TemporaryDirectory() as folder:
        shown = pathlib.Path(folder) / "shown.ppm"
        run(["opj_decompress", "-i", coded, "-o", shown])
        error = numpy.mean(numpy.square(decoded_samples(original) - decoded_samples(shown)))
        real = 10 * math.log10(255 * 255 / error) if error else math.inf
        # Decoders round to whole samples.
        if abs(real - psnr) > 0.1 and psnr < 50:
            sys.exit(f"{coded}: {psnr} dB, and {real:.3f} dB decoded")
        names = [pathlib.Path(folder) / name for name in ("a.png", "b.png")]
        for name, ppm in zip(names, (original, shown)):
            Image.open(ppm).save(name)
        return float(run([program, *names]).stdout.split()[-1])


def encode(args, name, coder, rate, way):
    """[(bytes, target, PSNR, SSIMULACRA2)] of the frames."""
    frames = sorted((args.folder / name).glob("*.ppm"))
    with tempfile.TemporaryDirectory() as out:
        folder, stat = pathlib.Path(out) / "coded", pathlib.Path(out) / "stat.tsv"
        total = int(frame_bytes(rate) * len(frames))
        limit = ["--film-bytes", total] if way == "film" else ["--target_bytes", int(frame_bytes(rate))]
        run([args.cj2k, "-i", args.folder / name / "%04d.ppm", "-o", f"{folder}/", "--ext", "j2c", "--coder", coder, *limit,
             "--psnr", "--stat", stat, "--threads", args.threads])
        lines = [line.split("\t") for line in stat.read_text().splitlines()]
        rows = [dict(zip(lines[0], line)) for line in lines[1:]]
        result = []
        for i, (frame, row) in enumerate(zip(frames, rows)):
            value = ""
            if args.ssimulacra2 and i % SCORED == SCORED // 2:
                value = score(args.ssimulacra2, frame, folder / (frame.stem + ".j2c"), float(row["psnr"]))
            result.append((int(row["bytes"]), float(row["psnr"]), value))
        if sum(size for size, *_ in result) > total:
            sys.exit(f"{name} {coder} {rate} {way}: more than {total} bytes")
        return result


def measure(args):
    names = sorted(path.name for path in args.folder.iterdir() if path.is_dir())
    jobs = [(name, coder, rate, way) for name in names if not args.only or name in args.only
            for coder in CODERS for rate in RATES for way in ("equal", "film")]
    with open(args.out, "w", encoding="ascii") as out, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        print("sequence", "coder", "rate", "way", "frame", "bytes", "psnr", "ssimulacra2", sep="\t", file=out)
        for job, result in zip(jobs, pool.map(lambda job: encode(args, *job), jobs)):
            for frame, row in enumerate(result):
                print(*job, frame, *row, sep="\t", file=out)
            out.flush()


# --- report -----------------------------------------------------------------------------------------------------------


def read(path):
    lines = [line.split("\t") for line in path.read_text(encoding="ascii").splitlines() if not line.startswith("#")]
    runs = collections.defaultdict(list)
    for line in lines[1:]:
        row = dict(zip(lines[0], line))
        runs[row["sequence"], row["coder"], int(row["rate"]), row["way"]].append(row)
    return runs


def errors(rows):
    return [10 ** (-float(row["psnr"]) / 10) for row in rows]


def decibels(error):
    return -10 * math.log10(error) if error else math.inf


def report(args):
    runs = read(args.out)
    print("| sequence | coder | rate | PSNR, equal | film | gain | worst, equal | film | gain | SSIMULACRA2, equal | film | gain "
          "| used, equal | film |\n|" + "---|" * 14)
    gains = collections.defaultdict(list)
    for (name, coder, rate, way), equal in runs.items():
        if way != "equal":
            continue
        film = runs[name, coder, rate, "film"]
        cells = []
        for of in (statistics.fmean, max):
            a, b = decibels(of(errors(equal))), decibels(of(errors(film)))
            cells += [f"{a:.2f}", f"{b:.2f}", f"{b - a:+.2f}"]
            gains[coder, rate, of].append((b - a, name))
        a, b = (statistics.fmean([float(row["ssimulacra2"]) for row in rows if row["ssimulacra2"]] or [math.nan])
                for rows in (equal, film))
        cells += [f"{a:.1f}", f"{b:.1f}", f"{b - a:+.1f}"]
        gains[coder, rate, "ssimulacra2"].append((b - a, name))
        total = int(frame_bytes(rate) * len(equal))
        cells += [f"{sum(int(row['bytes']) for row in rows) / total:.5f}" for rows in (equal, film)]
        print(f"| {name} | {coder} | {rate} | {' | '.join(cells)} |")
    print("\n| coder | rate | gain: mean | least | worst frame: mean | least | SSIMULACRA2: mean | least |\n|" + "---|" * 8)
    for coder in CODERS:
        for rate in RATES:
            cells = []
            for of, digits in ((statistics.fmean, 2), (max, 2), ("ssimulacra2", 1)):
                values = gains[coder, rate, of]
                least = min(values)
                cells += [f"{statistics.fmean(value for value, _ in values):+.{digits}f}", f"{least[0]:+.{digits}f} ({least[1]})"]
            print(f"| {coder} | {rate} | {' | '.join(cells)} |")


def select(args):
    runs = read(args.out)
    print("sequence", "coder", "rate", "way", "frame", "bytes", "psnr", sep="\t")
    for run_name in args.run_names:
        name, coder, rate = run_name.split(":")
        for way in ("equal", "film"):
            for row in runs[name, coder, int(rate), way]:
                print(name, coder, rate, way, row["frame"], row["bytes"], row["psnr"], sep="\t")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    of = commands.add_parser("make")
    of.add_argument("media", type=pathlib.Path)
    of.add_argument("folder", type=pathlib.Path)
    of.set_defaults(run=make)
    of = commands.add_parser("measure")
    of.add_argument("cj2k")
    of.add_argument("folder", type=pathlib.Path)
    of.add_argument("out", type=pathlib.Path)
    of.add_argument("--ssimulacra2", default="")
    of.add_argument("--only", nargs="*")
    of.add_argument("--jobs", type=int, default=2)
    of.add_argument("--threads", type=int, default=1)
    of.set_defaults(run=measure)
    of = commands.add_parser("report")
    of.add_argument("out", type=pathlib.Path)
    of.set_defaults(run=report)
    of = commands.add_parser("select")
    of.add_argument("out", type=pathlib.Path)
    of.add_argument("run_names", nargs="+", metavar="SEQUENCE:CODER:RATE")
    of.set_defaults(run=select)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""j2k_cuda against its peers in one run: CPU time and peak memory per frame, bytes, PSNR.

    tests/bench/compare.py [--ffmpeg build/ffmpeg-7.1/ffmpeg] [--rounds 5] [--frames 3] [--threads 1] [PICTURE ...]

PICTURE: 8- or 16-bit PNG or PPM files; "NAME:12" reads 16-bit samples as 12 bits (left-aligned). Default: a generated 4K
picture of 12 and one of 8 bits. What is measured: the whole ffmpeg process that reads raw video from a file, encodes
`frames` equal frames and discards the packets (user + system time, peak resident memory). The rounds of
all encoders are interleaved; medians and the spread (min to max) are printed, ratios against libopenjpeg. PSNR is over all
components of one frame, decoded by FFmpeg's own decoder.
"""
import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile

W, H = 3840, 2160
GENERATED = (
    "color=c=gray:s={w}x{h}:d=1,format=gbrp12le,"
    "geq=r='2048+1200*sin(X/37)*cos(Y/29)+500*sin((X+Y)/5)+300*(random(1)-0.5)'"
    ":g='2048+1100*sin(X/41+1)*cos(Y/31)+600*sin((X-Y)/7)+300*(random(2)-0.5)'"
    ":b='2048+1000*sin(X/43+2)*cos(Y/23)+400*sin((X+2*Y)/6)+300*(random(3)-0.5)'"
)


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        sys.exit("failed: %s\n%s" % (" ".join(command), done.stderr.decode(errors="replace")))
    return done


def measured(command):
    """CPU seconds and peak KiB of one command, from wait4."""
    pid = os.posix_spawnp(command[0], command, os.environ,
                          file_actions=[(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit("failed: " + " ".join(command))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def probe_program(ffmpeg):
    return os.path.join(os.path.dirname(ffmpeg), "ffprobe")


class Picture:
    def __init__(self, ffmpeg, source, folder):
        name, _, depth = source.partition(":")
        self.name = os.path.basename(name) if name else "generated"
        self.depth = int(depth or 8)
        self.format = "gbrp12le" if self.depth == 12 else "rgb24"
        self.raw = os.path.join(folder, "%s_%d.raw" % (self.name, self.depth))
        if name:
            probe = run([probe_program(ffmpeg), "-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height", "-of", "csv=p=0", name])
            self.width, self.height = map(int, probe.stdout.decode().strip().split(","))
            source_args = ["-i", name]
        else:
            self.width, self.height = W, H
            source_args = ["-f", "lavfi", "-i", GENERATED.format(w=W, h=H)]
        run([ffmpeg, "-v", "error", "-y", *source_args, "-frames:v", "1", "-pix_fmt", self.format, "-f", "rawvideo", self.raw])

    def input(self, frames):
        return ["-threads", "1", "-f", "rawvideo", "-pix_fmt", self.format, "-s", "%dx%d" % (self.width, self.height),
                "-framerate", "24", "-stream_loop", str(frames - 1), "-i", self.raw]


def psnr(ffmpeg, picture, codec, folder):
    """(bytes, dB) of one frame."""
    coded = os.path.join(folder, "frame.nut")
    run([ffmpeg, "-v", "error", "-y", *picture.input(1), *codec, "-f", "nut", coded])
    size = sum(int(line) for line in run([probe_program(ffmpeg), "-v", "error", "-show_entries", "packet=size", "-of", "csv=p=0", coded]).stdout.split())
    decoded = run([ffmpeg, "-v", "error", "-c:v", "jpeg2000", "-i", coded, "-f", "rawvideo", "-pix_fmt", picture.format, "-"]).stdout
    with open(picture.raw, "rb") as file:
        original = file.read()
    error = mean_squared_error(original, decoded, 2 if picture.depth > 8 else 1)
    peak = (1 << picture.depth) - 1
    return size, math.inf if error == 0 else 10 * math.log10(peak * peak / error)


def mean_squared_error(a, b, word):
    from array import array
    x, y = array("H" if word == 2 else "B"), array("H" if word == 2 else "B")
    x.frombytes(a)
    y.frombytes(b)
    if len(x) != len(y):
        sys.exit("decoded %d samples of %d" % (len(y), len(x)))
    return sum((p - q) * (p - q) for p, q in zip(x, y)) / len(x)


def workloads(picture):
    """(title, {encoder: arguments}): equal work, and equal bytes if lossy."""
    yield "lossless", {
        "j2k_cuda": ["-c:v", "j2k_cuda", "-lossless", "1"],
        "libopenjpeg": ["-c:v", "libopenjpeg"],
    }
    raw = picture.width * picture.height * 3 * picture.depth / 8
    for mbits in (250, 25):
        size = mbits * 1e6 / 8 / 24
        level = max(1, round(raw / size / 2))  # libopenjpeg: ratio = 2 x level
        target = raw / (2 * level) * 8 * 24
        common = ["-b:v", "%d" % target]
        yield "%d Mbit/s" % round(target / 1e6), {
            "j2k_cuda": ["-c:v", "j2k_cuda", *common],
            "j2k_cuda stop=none": ["-c:v", "j2k_cuda", *common, "-stop", "none"],
            "libopenjpeg": ["-c:v", "libopenjpeg", "-irreversible", "1", "-compression_level", str(level)],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ffmpeg", default="build/ffmpeg-7.1/ffmpeg")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frames", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("pictures", nargs="*", default=[":12", ":8"])
    args = parser.parse_args()
    threads = ["-threads", str(args.threads)]
    print("%d thread(s), %d rounds of %d frames" % (args.threads, args.rounds, args.frames))
    with tempfile.TemporaryDirectory() as folder:
        for source in args.pictures:
            picture = Picture(args.ffmpeg, source, folder)
            for title, encoders in workloads(picture):
                print("\n%s %dx%d %d bit, %s" % (picture.name, picture.width, picture.height, picture.depth, title))
                seconds, memory = {name: [] for name in encoders}, {name: 0 for name in encoders}
                for _ in range(args.rounds):
                    for name, codec in encoders.items():
                        time, peak = measured([args.ffmpeg, "-v", "error", *picture.input(args.frames), *threads, *codec, "-f", "null", "-"])
                        seconds[name].append(time / args.frames)
                        memory[name] = max(memory[name], peak)
                peer = statistics.median(seconds["libopenjpeg"])
                print("  %-20s %24s %8s %9s %10s %9s" % ("", "CPU s/frame (min-max)", "ratio", "peak MB", "bytes", "PSNR dB"))
                for name, codec in encoders.items():
                    median = statistics.median(seconds[name])
                    size, quality = psnr(args.ffmpeg, picture, threads + codec, folder)
                    print("  %-20s %8.3f (%.3f-%.3f) %11.2f %9.0f %10d %9.3f" % (
                        name, median, min(seconds[name]), max(seconds[name]), median / peer, memory[name] / 1024, size, quality))
                    sys.stdout.flush()


if __name__ == "__main__":
    main()

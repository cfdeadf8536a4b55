# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The encoders compared. Each makes the largest file it can that is not above a number of bytes."""
import os
import shutil
import subprocess

from metrics import package_version

DEFAULT = ["cj2k", "cj2k:effort=0", "cj2k:effort=2", "cj2k:effort=3", "cj2k:tune=visual", "cj2k:tune=visual:effort=0",
           "cj2k:tune=visual:effort=2", "cj2k:tune=visual:effort=3", "cj2k:coder=ht", "cj2k:coder=ht:tune=visual", "openjpeg", "grok",
           "ffmpeg", "openjph"]


class Missing(Exception):
    """Why an encoder cannot run."""


class Failed(Exception):
    """Why an encoder made no file of a picture."""


def run(command):
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failed("%s: %s" % (" ".join(command), (done.stderr or done.stdout).decode(errors="replace").strip()[-300:]))
    return done


def needed(program, package):
    found = shutil.which(program)
    if not found:
        raise Missing("there is no program `%s` (Debian: %s)" % (program, package))
    return found


class Encoder:
    codec = "Part 1"

    def __init__(self, name):
        self.name = name

    def takes(self, picture):
        """Why it cannot take the picture; empty if it can."""
        return ""

    def check(self, source, folder):
        """@throws Missing: it cannot run"""


class Cj2k(Encoder):
    """`cj2k:NAME=VALUE:NAME=VALUE`: ours, by the program samples/encode."""

    def __init__(self, name, args):
        super().__init__(name)
        self.program = shutil.which(args.cj2k)
        if not self.program:
            raise Missing("there is no program %s (target cj2k_encode; --cj2k PATH)" % args.cj2k)
        self.params = [param for param in name.split(":")[1:] if param]
        if "coder=ht" in self.params:
            self.codec = "Part 15"
        self.version = "libcj2k %s" % args.cj2k_version

    def check(self, source, folder):
        """Encodes once: a parameter that this build lacks shows here."""
        try:
            run([self.program, source, os.path.join(folder, "try.j2k"), "target_bytes=4000", "threads=1", *self.params])
        except Failed as failure:
            raise Missing(str(failure).split("cj2k error: ")[-1]) from None

    def encode(self, source, out, target, picture):
        run([self.program, source, out, "target_bytes=%d" % target, "threads=1", *self.params])


class ByRatio(Encoder):
    """opj_compress and grk_compress: asked for a ratio, which is corrected until the file just fits."""

    def __init__(self, name, program, package):
        super().__init__(name)
        self.program = needed(program, package)
        self.version = package_version(package)

    def encode(self, source, out, target, picture):
        ratio, best = picture.raw_bytes / target, 0
        for _ in range(8):
            run([self.program, "-i", source, "-o", out + ".try.j2k", "-I", "-r", "%.6f" % ratio])
            size = os.path.getsize(out + ".try.j2k")
            if best < size <= target:
                best = size
                os.replace(out + ".try.j2k", out)
            if 0.999 * target <= size <= target:
                return
            ratio *= size / (0.9995 * target)
        if best == 0:
            raise Failed("%s: no file of at most %d bytes" % (self.name, target))


class FFmpeg(Encoder):
    """FFmpeg's libopenjpeg: ratios are twice a whole number, so its rates are the nearest ones."""

    def __init__(self, name):
        super().__init__(name)
        self.program = needed("ffmpeg", "ffmpeg")
        if b"libopenjpeg" not in run([self.program, "-v", "error", "-encoders"]).stdout:
            raise Missing("this ffmpeg has no libopenjpeg")
        self.version = run([self.program, "-version"]).stdout.decode().split(" Copyright")[0]

    def takes(self, picture):
        return "" if picture.depth == 8 else "%d bits: PNM files of them are scaled by ffmpeg" % picture.depth

    def encode(self, source, out, target, picture):
        level = max(1, round(picture.raw_bytes / target / 2))
        run([self.program, "-v", "error", "-y", "-i", source, "-c:v", "libopenjpeg", "-format", "j2k", "-irreversible", "1",
             "-compression_level", str(level), "-threads", "1", "-f", "rawvideo", out])


class OpenJph(Encoder):
    """ojph_compress has no rate control: its quantiser step is bisected, as a logarithm."""

    codec = "Part 15"

    def __init__(self, name):
        super().__init__(name)
        self.program = needed("ojph_compress", "openjph-tools")
        self.version = package_version("openjph-tools")

    def encode(self, source, out, target, picture):
        coarse, fine, best = 0.5, 2.0 ** -(picture.depth + 3), 0
        for _ in range(24):
            step = (coarse * fine) ** 0.5
            run([self.program, "-i", source, "-o", out + ".try.j2c", "-qstep", "%.9f" % step])
            size = os.path.getsize(out + ".try.j2c")
            if best < size <= target:
                best = size
                os.replace(out + ".try.j2c", out)
            if 0.9995 * target <= size <= target:
                break
            if size > target:
                fine = step
            else:
                coarse = step
        if best == 0:
            raise Failed("%s: no file of at most %d bytes" % (self.name, target))


def make(name, args):
    """@throws Missing"""
    kind = name.split(":")[0]
    if kind == "cj2k":
        return Cj2k(name, args)
    if kind == "openjpeg":
        return ByRatio(name, "opj_compress", "libopenjp2-tools")
    if kind == "grok":
        return ByRatio(name, "grk_compress", "grokj2k-tools")
    if kind == "ffmpeg":
        return FFmpeg(name)
    if kind == "openjph":
        return OpenJph(name)
    raise SystemExit("encoder \"%s\" is none of cj2k[:NAME=VALUE...], openjpeg, grok, ffmpeg, openjph" % name)

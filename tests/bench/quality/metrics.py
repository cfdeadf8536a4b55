# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""PSNR, SSIMULACRA2 and butteraugli of a decoded picture. A metric whose program is missing is left out."""
import math
import os
import re
import shutil
import subprocess

import numpy

from pictures import to_8_bits, write_pnm


def psnr(original, decoded, depth):
    """dB over all samples of all components."""
    if original.shape != decoded.shape:
        raise SystemExit("decoded picture of %s instead of %s" % (decoded.shape, original.shape))
    difference = original.astype(numpy.int32) - decoded.astype(numpy.int32)
    error = float(numpy.mean(numpy.square(difference, dtype=numpy.float64)))
    peak = (1 << depth) - 1
    return math.inf if error == 0 else 10 * math.log10(peak * peak / error)


class Metric:
    def __init__(self, key, title, higher_is_better, program, version):
        self.key, self.title, self.higher_is_better = key, title, higher_is_better
        self.program, self.version = program, version

    def better(self, a, b):
        """By how much score a is better than score b."""
        return a - b if self.higher_is_better else b - a


def output_of(command):
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit("failed: %s\n%s" % (" ".join(command), done.stderr.decode(errors="replace")))
    return done.stdout.decode()


def package_version(package):
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True) if shutil.which("dpkg-query") else None
    return "Debian %s %s" % (package, done.stdout.decode()) if done and done.stdout else "version unknown"


def ssimulacra2_version(program):
    text = subprocess.run([program, "--version"], capture_output=True).stdout.decode().strip()
    return text or "%s, version unknown" % os.path.basename(program)


def first_program(names):
    return next(filter(None, map(shutil.which, names)), None)


def metrics(ssimulacra2="", butteraugli=""):
    """PSNR and those whose programs are there, each with its version; a line about each that is not."""
    found = [Metric("psnr", "PSNR, dB", True, None, "over all components, at the depth of the picture")]
    names = [ssimulacra2] if ssimulacra2 else ["ssimulacra2", "ssymulacra2"]  # the second is PyPI's name of it
    program = first_program(names)
    if program:
        found.append(Metric("ssimulacra2", "SSIMULACRA2", True, program, ssimulacra2_version(program)))
    else:
        print("no SSIMULACRA2: there is no program %s (pip install ssimulacra2, or libjxl's tool; --ssimulacra2 PATH)" % " or ".join(names))
    names = [butteraugli or "butteraugli_main"]
    program = first_program(names)
    if program:
        found.append(Metric("butteraugli", "butteraugli, 3-norm", False, program, package_version("libjxl-devtools")))
    else:
        print("no butteraugli: there is no program %s (Debian: libjxl-devtools; --butteraugli PATH)" % names[0])
    return found


def usable(found, probe, folder):
    """Those that score this picture against itself; a line about each of the others."""
    judged = []
    for metric in found:
        try:
            Judge(probe, [metric], folder).scores(probe.samples, folder)
            judged.append(metric)
        except (SystemExit, ValueError, IndexError, AttributeError) as failure:
            print("no %s: %s" % (metric.title, failure))
    return judged


class Judge:
    """Scores decoded versions of one picture."""

    def __init__(self, picture, found, folder):
        self.picture, self.found = picture, found
        self.original = os.path.join(folder, "original_8b.ppm")
        write_pnm(self.original, to_8_bits(picture.samples, picture.depth), 8)

    def scores(self, decoded, folder):
        path = os.path.join(folder, "decoded_8b.ppm")
        write_pnm(path, to_8_bits(decoded, self.picture.depth), 8)
        scores = {}
        for metric in self.found:
            if metric.key == "psnr":
                scores["psnr"] = psnr(self.picture.samples, decoded, self.picture.depth)
            elif metric.key == "ssimulacra2":
                scores["ssimulacra2"] = float(output_of([metric.program, self.original, path]).split()[-1])
            else:
                text = output_of([metric.program, self.original, path, "--pnorm", "3"])
                scores["butteraugli"] = float(re.search(r"3-norm: ([0-9.eE+-]+)", text).group(1))
        return scores

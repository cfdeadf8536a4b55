# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Pictures as arrays: found in folders, read as PNM files (other formats through ffmpeg), cropped, written as PNM."""
import os
import subprocess

import numpy

SUFFIXES = (".png", ".ppm", ".pgm", ".tif", ".tiff")


def find(paths):
    """All picture files in files and folders, in order of their names."""
    found = []
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                found += [os.path.join(folder, name) for name in sorted(names) if name.lower().endswith(SUFFIXES)]
        elif os.path.isfile(path):
            found.append(path)
        else:
            raise SystemExit("%s: no such file or folder" % path)
    return found


def read_pnm(data):
    """(samples [height][width][1 or 3], maxval) of a binary PGM or PPM file."""
    fields, at = [], 0
    while len(fields) < 4:
        while data[at:at + 1].isspace():
            at += 1
        if data[at:at + 1] == b"#":
            at = data.index(b"\n", at)
            continue
        end = at
        while end < len(data) and not data[end:end + 1].isspace():
            end += 1
        fields.append(data[at:end])
        at = end
    if fields[0] not in (b"P5", b"P6"):
        raise SystemExit("no binary PGM or PPM data: %r" % data[:8])
    width, height, maxval = (int(field) for field in fields[1:])
    components = 1 if fields[0] == b"P5" else 3
    word = numpy.dtype(">u2") if maxval > 255 else numpy.dtype("u1")
    samples = numpy.frombuffer(data, word, width * height * components, at + 1)
    return samples.reshape(height, width, components).astype(word.newbyteorder("=")), maxval


def write_pnm(path, samples, depth):
    height, width, components = samples.shape
    header = b"P%d\n%d %d\n%d\n" % (5 if components == 1 else 6, width, height, (1 << depth) - 1)
    with open(path, "wb") as file:
        file.write(header + samples.astype(">u2" if depth > 8 else "u1").tobytes())


class Picture:
    """A picture of 8 to 16 bits, grey or RGB. Opacity is dropped. 16-bit files whose lowest bits are 0 everywhere have as
    many bits as are left: so 12-bit pictures are stored as PNG."""

    def __init__(self, path, crop=None):
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path, "rb") as file:
            data = file.read()
        if data[:2] not in (b"P5", b"P6"):
            data = self.through_ffmpeg(path)
        samples, maxval = read_pnm(data)
        self.depth = maxval.bit_length()
        if self.depth == 16:
            used = int(numpy.bitwise_or.reduce(samples, axis=None))
            empty = (used & -used).bit_length() - 1 if used else 0
            self.depth = max(16 - empty, 8)
            samples = samples >> (16 - self.depth)
        if crop is not None:
            height, width, _ = samples.shape
            y, x = max(height - crop[1], 0) // 2, max(width - crop[0], 0) // 2
            samples = samples[y:y + crop[1], x:x + crop[0]]
        self.samples = numpy.ascontiguousarray(samples)
        self.height, self.width, self.components = self.samples.shape

    @staticmethod
    def through_ffmpeg(path):
        probe = ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=pix_fmt", "-of", "csv=p=0", path]
        name = subprocess.run(probe, capture_output=True, check=True).stdout.decode().strip()
        grey = name.startswith(("gray", "ya", "mono"))
        wide = "16" in name or "48" in name or "64" in name
        pixels = ("gray16be" if wide else "gray") if grey else ("rgb48be" if wide else "rgb24")
        command = ["ffmpeg", "-v", "error", "-i", path, "-frames:v", "1", "-pix_fmt", pixels, "-c:v",
                   "pgm" if grey else "ppm", "-f", "image2pipe", "-"]
        return subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout

    @property
    def pixels(self):
        return self.width * self.height

    @property
    def raw_bytes(self):
        return self.pixels * self.components * self.depth / 8


def to_8_bits(samples, depth):
    """Rounded to 8 bits, which is what the visual metrics read."""
    if depth == 8:
        return samples
    peak = (1 << depth) - 1
    return ((samples.astype(numpy.uint32) * 510 + peak) // (2 * peak)).astype(numpy.uint8)

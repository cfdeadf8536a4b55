# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The layout of samples in FFmpeg's rawvideo for each pixel format, derived from the format's name.

Written from the names and libavutil/pixfmt.h, not from libavutil's descriptors. The encoder maps samples with the
descriptors, so this is an independent check.
"""

import array
import re
import sys
from dataclasses import dataclass, field

# Packed 4:4:4 with whole words: bits of a sample, bits of a word, the words of a pixel in memory.
PACKED_444 = {
    "ayuv": (8, 8, "ayuv"), "uyva": (8, 8, "uyva"), "vuya": (8, 8, "vuya"), "vuyx": (8, 8, "vuyx"),
    "vyu444": (8, 8, "vyu"), "ayuv64le": (16, 16, "ayuv"), "xv36le": (12, 16, "uyvx"), "xv48le": (16, 16, "uyvx"),
}
CHROMA = {"410": (4, 4), "411": (4, 1), "420": (2, 2), "422": (2, 1), "440": (1, 2), "444": (1, 1)}


@dataclass
class Plane:
    components: list  # one per word of a pixel, in order; None = padding
    dx: int = 1
    dy: int = 1


@dataclass
class Format:
    name: str
    depth: int
    planes: list
    word_bits: int = 8  # bits of a word in memory, little-endian
    shift: int = 0  # shift of a sample in its word
    fields: dict = field(default_factory=dict)  # component -> shift, if one 32-bit word holds a whole pixel
    pair: list = field(default_factory=list)  # component of each word of two pixels (packed 4:2:2), 0 twice

    @property
    def num_components(self):
        if self.pair:
            return 3
        return len(self.fields) or 1 + max(c for p in self.planes for c in p.components if c is not None)

    def subsampling(self, component):
        if self.pair:
            return (2, 1) if component else (1, 1)
        return next(((p.dx, p.dy) for p in self.planes if component in p.components), (1, 1))

    def size(self, component, width, height):
        dx, dy = self.subsampling(component)
        return -(-width // dx), -(-height // dy)

    @property
    def subsampled(self):
        return any(self.subsampling(c) != (1, 1) for c in range(self.num_components))

    @property
    def kind(self):
        if self.num_components < 3:
            return "gray"
        return "rgb" if re.search("rgb|bgr|gbr|xyz", self.name) else "yuv"

    @property
    def alpha(self):
        return self.num_components in (2, 4)

    def frame_bytes(self, width, height):
        if self.fields:
            return width * height * 4
        if self.pair:
            return -(-width // 2) * 4 * height * self.word_bits // 8
        words = sum(-(-width // p.dx) * -(-height // p.dy) * len(p.components) for p in self.planes)
        return words * self.word_bits // 8

    def pack(self, samples, width, height):
        """samples: one sequence per component, rows without padding. Returns one raw frame."""
        if self.fields:
            words = array.array("I", [0] * (width * height))
            for c, shift in self.fields.items():
                for i, v in enumerate(samples[c]):
                    words[i] |= v << shift
            return little_endian(words)
        if self.pair:
            pairs = -(-width // 2)
            words = array.array("B" if self.word_bits == 8 else "H", [0] * (4 * pairs * height))
            luma = [i for i, c in enumerate(self.pair) if c == 0]
            for y in range(height):
                for x in range(width):
                    words[4 * (y * pairs + x // 2) + luma[x & 1]] = samples[0][y * width + x] << self.shift
            for c in (1, 2):
                words[self.pair.index(c) :: 4] = array.array(words.typecode, [v << self.shift for v in samples[c]])
            return little_endian(words)
        out = b""
        for p in self.planes:
            count = -(-width // p.dx) * -(-height // p.dy)
            words = array.array("B" if self.word_bits == 8 else "H", [0] * (count * len(p.components)))
            for k, c in enumerate(p.components):
                if c is not None:
                    words[k :: len(p.components)] = array.array(words.typecode, [v << self.shift for v in samples[c]])
            out += little_endian(words)
        return out

    def unpack(self, raw, width, height):
        """The inverse of pack. Raises if a padding bit of a sample is set."""
        if self.fields:
            words = array.array("I", raw)
            return [[w >> shift & (1 << self.depth) - 1 for w in words] for _, shift in sorted(self.fields.items())]
        assert not self.pair, f"{self.name}: decoders give no packed 4:2:2"
        samples = [None] * self.num_components
        at = 0
        for p in self.planes:
            size = -(-width // p.dx) * -(-height // p.dy) * len(p.components) * self.word_bits // 8
            words = array.array("B" if self.word_bits == 8 else "H", raw[at : at + size])
            if sys.byteorder == "big":
                words.byteswap()
            at += size
            for k, c in enumerate(p.components):
                if c is None:
                    continue
                values = words[k :: len(p.components)]
                if self.shift and any(v & (1 << self.shift) - 1 for v in values):
                    raise AssertionError(f"{self.name}: padding bits of component {c} are not zero")
                samples[c] = [v >> self.shift for v in values]
        return samples


def little_endian(words):
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()


def parse(name):
    """The Format of `name` (little-endian), or None if the name is not known."""
    if m := re.fullmatch(r"yuv(a?)j?(\d{3})p(\d*)(msb)?(le)?", name):
        dx, dy = CHROMA[m[2]]
        planes = [Plane([0]), Plane([1], dx, dy), Plane([2], dx, dy)] + ([Plane([3])] if m[1] else [])
        return planar(name, int(m[3] or 8), planes, bool(m[4]))
    if m := re.fullmatch(r"gbr(a?)p(\d*)(msb)?(le)?", name):
        planes = [Plane([1]), Plane([2]), Plane([0])] + ([Plane([3])] if m[1] else [])
        return planar(name, int(m[2] or 8), planes, bool(m[3]))
    if m := re.fullmatch(r"gray(\d*)(le)?", name):
        return planar(name, int(m[1] or 8), [Plane([0])], False)
    if m := re.fullmatch(r"ya(8|16)(le)?", name):
        return planar(name, int(m[1]), [Plane([0, 1])], False)
    if m := re.fullmatch(r"nv(12|21|16|24|42)", name):
        dx, dy = {"12": (2, 2), "21": (2, 2), "16": (2, 1), "24": (1, 1), "42": (1, 1)}[m[1]]
        return Format(name, 8, [Plane([0]), Plane([2, 1] if m[1] in ("21", "42") else [1, 2], dx, dy)])
    if re.fullmatch(r"nv20(le)?", name):
        return Format(name, 10, [Plane([0]), Plane([1, 2], 2, 1)], 16)
    if m := re.fullmatch(r"p([024])(10|12|16)(le)?", name):
        dx, dy = {"0": (2, 2), "2": (2, 1), "4": (1, 1)}[m[1]]
        return planar(name, int(m[2]), [Plane([0]), Plane([1, 2], dx, dy)], True)
    if m := re.fullmatch(r"([rgb]{3})(24|48)(le)?", name):
        return planar(name, int(m[2]) // 3, [Plane([position(ch) for ch in m[1]])], False)
    if m := re.fullmatch(r"([rgba]{4})(64)?(le)?", name):
        return planar(name, 16 if m[2] else 8, [Plane([position(ch) for ch in m[1]])], False)
    if re.fullmatch(r"0?[rgb]{3}0?", name):
        return Format(name, 8, [Plane([position(ch) for ch in name])])
    if m := re.fullmatch(r"x2([rb])g([rb])10(le)?", name):
        return Format(name, 10, [], 32, 0, {position(m[1]): 20, 1: 10, position(m[2]): 0})
    if m := re.fullmatch(r"(yuyv|uyvy|yvyu)422", name):
        return Format(name, 8, [], pair=[position(ch) for ch in m[1]])
    if m := re.fullmatch(r"y2(10|12|16)(le)?", name):
        return Format(name, int(m[1]), [], 16, 16 - int(m[1]), pair=[0, 1, 0, 2])
    if name in PACKED_444:
        depth, word_bits, order = PACKED_444[name]
        return Format(name, depth, [Plane([position(ch) for ch in order])], word_bits, word_bits - depth)
    if m := re.fullmatch(r"(xv30|v30x)(le)?", name):
        low = 2 if m[1] == "v30x" else 0
        return Format(name, 10, [], 32, 0, {0: 10 + low, 1: low, 2: 20 + low})
    if re.fullmatch(r"xyz12(le)?", name):
        return Format(name, 12, [Plane([0, 1, 2])], 16, 4)
    return None


def planar(name, depth, planes, msb):
    word_bits = 8 if depth <= 8 else 16
    return Format(name, depth, planes, word_bits, word_bits - depth if msb else 0)


def position(channel):
    return {"r": 0, "g": 1, "b": 2, "y": 0, "u": 1, "v": 2, "a": 3, "0": None, "x": None}[channel]

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Picture files of each format that cj2k reads, made by hand, and what a decoder makes of a codestream."""

import random
import struct
import subprocess
import zlib


def planes(width, height, components, depth, seed=1, noise=1.0):
    """One list of samples per component: ramps, with noise of a part of the range."""
    rng = random.Random(f"{seed} {depth}")
    top = (1 << depth) - 1
    span = int(top * noise)

    def sample(c, x, y):
        ramp = (x * (c + 3) + y * 5) * top // (width * 6 + height * 5)
        return min(top, max(0, ramp + rng.randint(-span, span) // 2))

    return [[sample(c, x, y) for y in range(height) for x in range(width)] for c in range(components)]


def interleaved(samples):
    return [s for pixel in zip(*samples) for s in pixel]


def words(values, order, depth=16):
    if order == "bits":  # fewer than 8 a sample; rows end at a byte
        step = 8 // depth
        return bytes(sum(v << depth * (step - 1 - k) for k, v in enumerate(values[i:i + step])) for i in range(0, len(values), step))
    return struct.pack(f"{order}{len(values)}{'H' if depth > 8 else 'B'}", *values)


def dpx(width, height, samples, depth, orientation=0):
    """DPX as scanners write it: 10 bits as three in a word, 12 bits as the upper ones of 16 (SMPTE ST 268, method A)."""
    values = interleaved(samples)
    if depth == 10:
        body = b"".join(struct.pack(">I", r << 22 | g << 12 | b << 2) for r, g, b in zip(*samples))
    else:
        body = words([v << 4 for v in values] if depth == 12 else values, ">", depth)
        assert depth > 8 or width * len(samples) % 4 == 0  # rows end at a word
    head = bytearray(2048)
    struct.pack_into(">4sI8sI", head, 0, b"SDPX", 2048, b"V1.0", 2048 + len(body))
    struct.pack_into(">III", head, 20, 1, 1664, 384)
    struct.pack_into(">I", head, 660, 0xffffffff)
    struct.pack_into(">HHII", head, 768, orientation, 1, width, height)
    struct.pack_into(">IIfIf", head, 780, 0, 0, 0.0, (1 << depth) - 1, 2.0)
    struct.pack_into(">BBBBHHI", head, 800, 50, 2, 2, depth, 1 if depth in (10, 12) else 0, 0, 2048)
    return bytes(head) + body


def tiff(width, height, samples, depth, order="<", more=None):
    """@param more  tags with one SHORT each, beside the usual ones or instead of them"""
    n = len(samples)
    body = words(interleaved(samples), "bits" if depth < 8 else order, depth)
    more = more or {}
    count = 10 + len(more.keys() - {256, 257, 258, 259, 262, 273, 277, 278, 279, 338 if n == 4 else 284})
    extra = 8 + 2 + count * 12 + 4  # after the directory
    bits = struct.pack(f"{order}{n}H", *[depth] * n)
    tags = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, n, extra if n > 2 else depth), (259, 3, 1, 1),
            (262, 3, 1, 2 if n >= 3 else 1), (273, 4, 1, extra + len(bits)), (277, 3, 1, n), (278, 3, 1, height),
            (279, 4, 1, len(body)), (338 if n == 4 else 284, 3, 1, 2 if n == 4 else 1)]
    tags = [tag for tag in tags if tag[0] not in more] + [(tag, 3, 1, value) for tag, value in more.items()]
    directory = b""
    for tag, kind, count, value in sorted(tags):
        short = kind == 3 and count == 1
        directory += struct.pack(f"{order}HHI{'HH' if short else 'I'}", tag, kind, count, *([value, 0] if short else [value]))
    head = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HI", 42, 8) + struct.pack(f"{order}H", len(tags))
    return head + directory + struct.pack(f"{order}I", 0) + bits + body


def packed(values, order, depth):
    """A row of TIFF: words of 8 or 16 bits, or bits from the upper one on."""
    if depth in (8, 16):
        return words(values, order, depth)
    bits = "".join(f"{v:0{depth}b}" for v in values)
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def tiff_file(pages, order="<", big=False):
    """TIFF of several pages, each the arguments of tiff_page() after the order."""
    offset = "Q" if big else "I"
    out = bytearray((b"II" if order == "<" else b"MM") + struct.pack(order + ("HHHQ" if big else "HI"), *([43, 8, 0] if big else [42]), 0))
    link = len(out) - (8 if big else 4)
    for page in pages:
        chunks, tags = tiff_page(order, **page)
        offsets = []
        for chunk in chunks:
            offsets.append(len(out))
            out += chunk
        tiled = 322 in tags
        tags[324 if tiled else 273] = offset, offsets
        tags[325 if tiled else 279] = "I", [len(chunk) for chunk in chunks]
        entries = b""
        for tag, (kind, values) in sorted(tags.items()):
            is_ratio, kind = kind == "R", "I" if kind == "R" else kind
            data = struct.pack(f"{order}{len(values)}{kind}", *values)
            if len(data) > struct.calcsize(offset):
                at, data = len(out), data + bytes(len(data) % 2)
                out += data
                data = struct.pack(order + offset, at)
            entries += struct.pack(order + "HH" + offset, tag, 5 if is_ratio else {"B": 1, "H": 3, "I": 4, "Q": 16}[kind],
                                   len(values) // (2 if is_ratio else 1)) + \
                data.ljust(struct.calcsize(offset), b"\0")
        struct.pack_into(order + offset, out, link, len(out))
        out += struct.pack(order + ("Q" if big else "H"), len(tags)) + entries
        link = len(out)
        out += struct.pack(order + offset, 0)
    return bytes(out)


def tiff_page(order, width, height, samples, depth, tile=None, rows=None, planar=False, deflate=False, more=None):
    """@param samples  lists; below 0 in two's complement
    @param more  tags: (kind, values); "R": numerators and denominators
    @return chunks, tags"""
    n = len(samples)
    planes_ = [[s] for s in samples] if planar else [samples]
    wide, high = tile or (width, rows or height)
    chunks = []
    for group in planes_:
        for top in range(0, height, high):
            for left in range(0, width, wide):
                chunk = b""
                for y in range(top, top + high if tile else min(top + high, height)):
                    at = min(y, height - 1) * width
                    cut = [s[at + left:at + min(left + wide, width)] for s in group]
                    chunk += packed(interleaved(c + [0] * (wide - len(c)) for c in cut), order, depth)
                chunks.append(zlib.compress(chunk, 1) if deflate else chunk)
    tags = {256: ("I", [width]), 257: ("I", [height]), 258: ("H", [depth] * n), 259: ("H", [8 if deflate else 1]),
            262: ("H", [2 if n >= 3 else 1]), 277: ("H", [n]), 284: ("H", [2 if planar else 1])}
    if n in (2, 4):
        tags[338] = "H", [2]
    if tile:
        tags.update({322: ("I", [wide]), 323: ("I", [high])})
    else:
        tags[278] = "I", [high]
    tags.update(more or {})
    return chunks, {tag: value for tag, value in tags.items() if value is not None}


def pnm(width, height, samples, depth):
    kind = b"P5" if len(samples) == 1 else b"P6"
    return kind + b"\n# made by a test\n%d %d\n%d\n" % (width, height, (1 << depth) - 1) + \
        words(interleaved(samples), ">", depth)


def pam(width, height, samples, depth):
    names = {1: b"GRAYSCALE", 2: b"GRAYSCALE_ALPHA", 3: b"RGB", 4: b"RGB_ALPHA"}
    return b"P7\nWIDTH %d\nHEIGHT %d\nDEPTH %d\nMAXVAL %d\nTUPLTYPE %s\nENDHDR\n" % (
        width, height, len(samples), (1 << depth) - 1, names[len(samples)]) + words(interleaved(samples), ">", depth)


def png(width, height, samples, depth, chunks=()):
    """@param chunks  (name, bytes) before the samples"""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    body = words(interleaved(samples), "bits" if depth < 8 else ">", depth)
    stride = len(body) // height
    rows = b"".join(b"\0" + body[y * stride:(y + 1) * stride] for y in range(height))
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[len(samples)]
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)) + \
        b"".join(chunk(*c) for c in chunks) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def exr(width, height, samples):
    """EXR of half floats, not compressed. Samples are floats of R, G, B and perhaps A."""
    names = "RGBA"[:len(samples)]

    def attribute(name, kind, data):
        return name + b"\0" + kind + b"\0" + struct.pack("<I", len(data)) + data

    channels = b"".join(n.encode() + b"\0" + struct.pack("<IIii", 1, 0, 1, 1) for n in sorted(names)) + b"\0"
    box = struct.pack("<iiii", 0, 0, width - 1, height - 1)
    head = b"\x76\x2f\x31\x01\x02\0\0\0" + attribute(b"channels", b"chlist", channels) + \
        attribute(b"compression", b"compression", b"\0") + attribute(b"dataWindow", b"box2i", box) + \
        attribute(b"displayWindow", b"box2i", box) + attribute(b"lineOrder", b"lineOrder", b"\0") + \
        attribute(b"pixelAspectRatio", b"float", struct.pack("<f", 1)) + \
        attribute(b"screenWindowCenter", b"v2f", struct.pack("<ff", 0, 0)) + \
        attribute(b"screenWindowWidth", b"float", struct.pack("<f", 1)) + b"\0"
    row_bytes = 2 * width * len(samples)
    body, offsets = b"", b""
    for y in range(height):
        offsets += struct.pack("<Q", len(head) + 8 * height + y * (row_bytes + 8))
        row = b"".join(struct.pack(f"<{width}e", *samples[names.index(n)][y * width:(y + 1) * width]) for n in sorted(names))
        body += struct.pack("<iI", y, row_bytes) + row
    return head + offsets + body


def half(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def decode(path, folder):
    """Components of a codestream as OpenJPEG decodes it: (depth, list of samples) each."""
    for old in folder.glob("decoded*.pgx"):
        old.unlink()
    source = path
    if path.suffix == ".jph":  # the decoder goes by the name
        source = folder / "decoded.jp2"
        source.write_bytes(path.read_bytes())
    result = subprocess.run(["opj_decompress", "-i", source, "-o", folder / "decoded.pgx"], capture_output=True, text=True,
                            timeout=60)
    assert result.returncode == 0 and "WARNING" not in result.stderr, result.stdout + result.stderr
    out = []
    for file in sorted(folder.glob("decoded_*.pgx")):
        head, body = file.read_bytes().split(b"\n", 1)
        depth = int(head.split()[-3])
        count = len(body) // (2 if depth > 8 else 1)
        out.append((depth, list(struct.unpack(f">{count}{'H' if depth > 8 else 'B'}", body))))
    return out


def segments(codestream):
    """Marker segments of the main header: marker -> bytes without marker and length."""
    at, out = 2, {}
    while codestream[at:at + 2] != b"\xff\x90":
        marker, length = struct.unpack(">HH", codestream[at:at + 4])
        out[marker] = codestream[at + 4:at + 2 + length]
        at += 2 + length
    return out

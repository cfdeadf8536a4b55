# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Samples of fewer than 16 bits in formats of 16 bits: what real sources give, and what is refused."""

import random
import struct
import zlib

import pytest

import pixfmt
from codestream import Codestream
from pictures import noise
from tools import run, scratch_folder

WIDTH, HEIGHT = 64, 48


def samples_of(fmt, depth, seed=1):
    rng = random.Random(f"depth {fmt} {depth} {seed}")
    return [[rng.getrandbits(depth) for _ in range(WIDTH * HEIGHT)] for _ in range(pixfmt.parse(fmt).num_components)]


def pixels(samples):
    return [v for pixel in zip(*samples) for v in pixel]


def dpx_12(samples):
    """RGB of 12 bits, each in the upper bits of a 16-bit word."""
    header = bytearray(2048)
    struct.pack_into(">4sI8s", header, 0, b"SDPX", 2048, b"V1.0")
    struct.pack_into(">HHII", header, 768, 0, 1, WIDTH, HEIGHT)
    struct.pack_into(">BBBBHHI", header, 800, 50, 2, 2, 12, 1, 0, 2048)
    return bytes(header) + struct.pack(f">{3 * WIDTH * HEIGHT}H", *[v << 4 for v in pixels(samples)])


def tiff_16(samples):
    """RGB of 16 bits, one strip."""
    count = len(samples)
    raw = struct.pack(f"<{count * WIDTH * HEIGHT}H", *pixels(samples))
    tags = [(256, 3, 1, WIDTH), (257, 3, 1, HEIGHT), (258, 3, count, 8 + len(raw)), (259, 3, 1, 1), (262, 3, 1, 2),
            (273, 4, 1, 8), (277, 3, 1, count), (278, 3, 1, HEIGHT), (279, 4, 1, len(raw)), (284, 3, 1, 1)]
    ifd = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + bytes(4)
    bits = struct.pack(f"<{count}H", *[16] * count) + bytes(2 * (count % 2))
    return struct.pack("<2sHI", b"II", 42, 8 + len(raw) + len(bits)) + raw + bits + ifd


def ppm(samples, most):
    return b"P6 %d %d %d\n" % (WIDTH, HEIGHT, most) + struct.pack(f">{3 * WIDTH * HEIGHT}H", *pixels(samples))


def png(samples, significant):
    """RGB of 16 bits, with the number of significant bits."""
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    words = pixels(samples)
    rows = b"".join(b"\0" + struct.pack(f">{3 * WIDTH}H", *words[y * 3 * WIDTH:(y + 1) * 3 * WIDTH])
                    for y in range(HEIGHT))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 16, 2, 0, 0, 0)) +
            chunk(b"sBIT", bytes([significant] * 3)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def encode_file(ff, name, data, *options, ok=True):
    """Encodes one picture file. Returns the packet and the log."""
    with scratch_folder() as folder:
        (folder / name).write_bytes(data)
        result = ff.ffmpeg("-i", folder / name, "-c:v", "j2k_cuda", *options, "-f", "image2", folder / "out.j2c",
                           ok=ok, log="info")
        out = folder / "out.j2c"
        return out.read_bytes() if ok else b"", result.text


def check_coded(ff, data, samples, depth):
    """`data` holds `samples` at `depth` bits, without loss."""
    assert Codestream(data).depths == [depth] * len(samples)
    if not ff.opj:
        pytest.skip("opj_decompress is not installed")
    with scratch_folder() as folder:
        (folder / "a.j2k").write_bytes(data)
        run(ff.opj, "-i", folder / "a.j2k", "-o", folder / "a.pgx")
        for component, expected in enumerate(samples):
            got = ff._pgx_samples(folder / f"a_{component}.pgx", depth, (WIDTH, HEIGHT))
            assert list(got) == expected, f"component {component}"


def widened(samples, bits=4):
    return [[v << bits for v in plane] for plane in samples]


def test_dpx_of_12_bits(ff):
    samples = samples_of("rgb48le", 12)
    check_coded(ff, encode_file(ff, "a.dpx", dpx_12(samples), "-lossless", 1)[0], samples, 12)


def test_tiff_of_12_bits_in_16(ff):
    """Nothing in the file says how many bits there are: the option does."""
    samples = samples_of("rgb48le", 12)
    data, log = encode_file(ff, "a.tif", tiff_16(widened(samples)), "-lossless", 1, "-bits_per_raw_sample", 12)
    check_coded(ff, data, samples, 12)
    assert "coding the upper 12 bits of rgb48le" in log
    whole = encode_file(ff, "a.tif", tiff_16(widened(samples)), "-lossless", 1)[0]
    check_coded(ff, whole, widened(samples), 16)
    assert len(whole) > 1.2 * len(data)


def test_ppm_of_12_bits(ff):
    """FFmpeg scales these to 16 bits: the low bits repeat the upper ones."""
    samples = samples_of("rgb48le", 12)
    check_coded(ff, encode_file(ff, "a.ppm", ppm(samples, 4095), "-lossless", 1)[0], samples, 12)


def test_png_with_significant_bits(ff):
    samples = samples_of("rgb48le", 10)
    repeated = [[v << 6 | v >> 4 for v in plane] for plane in samples]
    data = encode_file(ff, "a.png", png(repeated, 10), "-lossless", 1)[0]
    old = Codestream(data).depths[0] == 16  # 5.1 does not read sBIT
    check_coded(ff, data, repeated if old else samples, 16 if old else 10)


@pytest.mark.parametrize("fmt", ["rgb48le", "rgba64le", "gray16le"])
@pytest.mark.parametrize("depth", [9, 11, 12, 13, 15])
def test_j2k_of_9_to_15_bits(ff, fmt, depth):
    """What FFmpeg's decoder makes of such a codestream becomes the same codestream again."""
    if fmt == "gray16le" and depth == 12:
        pytest.skip("FFmpeg has a format of its own for this")
    samples = samples_of(fmt, depth)
    raw = pixfmt.parse(fmt).pack(widened(samples, 16 - depth), WIDTH, HEIGHT)
    first = ff.packets("-lossless", 1, "-bits_per_raw_sample", depth, fmt=fmt, width=WIDTH, height=HEIGHT,
                       frames=[samples], data=raw)[0]
    check_coded(ff, first, samples, depth)
    again, log = encode_file(ff, "a.j2c", first, "-lossless", 1)
    assert again == first, log


FORMATS = ["rgb48le", "bgr48le", "rgba64le", "bgra64le", "gbrp16le", "gbrap16le", "gray16le", "ya16le", "yuv422p16le"]


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_option_holds_for_every_format_of_16_bits(ff, fmt):
    kind = pixfmt.parse(fmt)
    frames = [[[v >> 4 for v in plane] for plane in noise(fmt, WIDTH, HEIGHT, 1)[0]]]
    raw = kind.pack(widened(frames[0]), WIDTH, HEIGHT)
    data = ff.packets("-lossless", 1, "-bits_per_raw_sample", 12, fmt=fmt, width=WIDTH, height=HEIGHT, frames=frames,
                      data=raw)[0]
    assert Codestream(data).depths == [12] * kind.num_components
    samples = ff.opj_samples(data, pixfmt.Format("", 12, kind.planes), WIDTH, HEIGHT)
    assert samples is None or [list(plane) for plane in samples] == frames[0]


def test_low_bits_are_refused_rounded_or_cut(ff):
    picture = dict(fmt="rgb48le", width=WIDTH, height=HEIGHT)
    frames = noise("rgb48le", WIDTH, HEIGHT, 1)
    frames[0] = [[v & 0xFFF0 for v in plane] for plane in frames[0]]
    frames[0][1][WIDTH * 7 + 5] = 0x1238
    options = ("-lossless", 1, "-bits_per_raw_sample", 12)
    ff.check_refused(*options, frames=frames, **picture,
                     says=["component 1 is 4664 at (5, 7)", "lowest 4 of its 16 bits", "low_bits round"])
    for low_bits, expected in (("round", 0x124), ("cut", 0x123)):
        data = ff.packets(*options, "-cj2k-params", f"low_bits={low_bits}", frames=frames, **picture)[0]
        samples = [[v >> 4 for v in plane] for plane in frames[0]]
        samples[1][WIDTH * 7 + 5] = expected
        check_coded(ff, data, samples, 12)
    # All 16 bits on request, and where nobody says that there are fewer.
    for depth in ((), ("-bits_per_raw_sample", 16)):
        check_coded(ff, ff.packets("-lossless", 1, *depth, frames=frames, **picture)[0], frames[0], 16)


def test_formats_of_their_own_depth_stay_as_they_are(ff):
    frames = noise("gbrp12le", WIDTH, HEIGHT, 1)
    data = ff.packets("-lossless", 1, "-bits_per_raw_sample", 10, fmt="gbrp12le", width=WIDTH, height=HEIGHT,
                      frames=frames)[0]
    check_coded(ff, data, frames[0], 12)

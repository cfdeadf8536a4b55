# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""cj2k: TIFF as archives have it, and pictures, PNM too, whose samples are read as the encoder asks for them."""
import filecmp
import functools
import multiprocessing
import os
import subprocess
import threading
import zlib

import pictures
import pytest
from pictures import decode, planes, png, pnm, segments, tiff_file

W, H = 60, 43
LAYOUTS = {"strip": {}, "strips": {"rows": 7}, "deflate": {"rows": 10, "deflate": True}, "tiles": {"tile": (16, 32)},
           "deflate_tiles": {"tile": (32, 16), "deflate": True}, "planar": {"rows": 20, "planar": True},
           "planar_tiles": {"tile": (48, 16), "planar": True, "deflate": True}}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("components,depth", [(1, 1), (1, 4), (1, 8), (1, 12), (2, 16), (3, 8), (3, 10), (3, 16), (4, 5), (4, 14)])
def test_layouts(cj2k, tmp_path, layout, components, depth):
    samples = planes(W, H, components, depth)
    order = "<>"[depth % 3 % 2]
    page = {"width": W, "height": H, "samples": samples, "depth": depth, **LAYOUTS[layout]}
    for name, big in (("a.tif", False), ("b.tif", True)):
        (tmp_path / name).write_bytes(tiff_file([page], order, big))
        cj2k("-i", name, "-o", "out.j2k", "--lossless")
        assert decode(tmp_path / "out.j2k", tmp_path) == [(depth, plane) for plane in samples]


def test_signed(cj2k, tmp_path):
    for depth in 8, 12, 16:
        samples = planes(W, H, 1, depth)  # as two's complement
        (tmp_path / "a.tif").write_bytes(tiff_file([dict(width=W, height=H, samples=samples, depth=depth, more={339: ("H", [2])})]))
        cj2k("-i", "a.tif", "-o", "a.j2k", "--lossless")
        assert segments((tmp_path / "a.j2k").read_bytes())[0xff51][36] == 0x80 | (depth - 1)
        decoded = decode(tmp_path / "a.j2k", tmp_path)[0][1]
        assert [v % (1 << depth) for v in decoded] == samples[0]


def test_white_is_zero(cj2k, tmp_path):
    for depth in 1, 8, 12:
        samples = planes(W, H, 1, depth)
        (tmp_path / "a.tif").write_bytes(tiff_file([dict(width=W, height=H, samples=samples, depth=depth, more={262: ("H", [0])})]))
        cj2k("-i", "a.tif", "-o", "a.j2k", "--lossless")
        assert decode(tmp_path / "a.j2k", tmp_path) == [(depth, [(1 << depth) - 1 - v for v in samples[0]])]


def test_palette(cj2k, tmp_path):
    for depth in 2, 8:
        samples = planes(W, H, 1, depth)
        maps = [[(i * step * 257) % 65536 for i in range(1 << depth)] for step in (3, 5, 7)]
        (tmp_path / "a.tif").write_bytes(tiff_file([dict(width=W, height=H, samples=samples, depth=depth, rows=9,
                                                         more={262: ("H", [3]), 320: ("H", sum(maps, []))})]))
        cj2k("-i", "a.tif", "-o", "a.j2k", "--lossless")
        assert decode(tmp_path / "a.j2k", tmp_path) == [(8, [m[v] >> 8 for v in samples[0]]) for m in maps]


def test_cmyk(cj2k, tmp_path):
    samples = planes(W, H, 4, 8)
    (tmp_path / "a.tif").write_bytes(tiff_file([dict(width=W, height=H, samples=samples, depth=8, planar=True,
                                                     more={262: ("H", [5]), 338: None})]))
    cj2k("-i", "a.tif", "-o", "a.j2k", "--lossless")
    assert decode(tmp_path / "a.j2k", tmp_path) == [(8, plane) for plane in samples]
    cj2k("-i", "a.tif", "-o", "a.jp2", "--lossless", fails=2, words=("a.tif", "CMYK"))


@pytest.mark.parametrize("across,down", [(2, 2), (2, 1), (4, 1), (1, 1)])
def test_subsampled(cj2k, tmp_path, across, down):
    """Units of across x down samples of Y, one of Cb and one of Cr."""
    width, height = 60, 44
    cw, ch = width // across, height // down
    y, cb, cr = planes(width, height, 1, 8)[0], planes(cw, ch, 1, 8, 2)[0], planes(cw, ch, 1, 8, 3)[0]
    units = b"".join(bytes([y[(v * down + j) * width + u * across + i] for j in range(down) for i in range(across)] +
                           [cb[v * cw + u], cr[v * cw + u]]) for v in range(ch) for u in range(cw))
    page = tiff_file([dict(width=width, height=height, samples=[[0] * width * height] * 3, depth=8,
                           more={262: ("H", [6]), 530: ("H", [across, down])})])
    place = 8  # of the first strip
    (tmp_path / "a.tif").write_bytes(page[:place] + units.ljust(3 * width * height, b"\0") + page[place + 3 * width * height:])
    cj2k("-i", "a.tif", "-o", "a.j2k", "--lossless")
    if across != 2:
        assert decode(tmp_path / "a.j2k", tmp_path) == [(8, plane) for plane in (y, cb, cr)]
        return
    # opj_decompress makes RGB of these.
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", tmp_path / "a.j2k", "-f", "rawvideo", "-pix_fmt",
                          "yuv420p" if down == 2 else "yuv422p", "-"], check=True, capture_output=True).stdout
    assert list(raw) == y + cb + cr


def test_pages(cj2k, tmp_path):
    """A thumbnail and a mask are no pages."""
    pages = [planes(W, H, 1, 8, seed) for seed in range(3)]
    page = [dict(width=W, height=H, samples=samples, depth=8) for samples in pages]
    small = dict(width=8, height=8, samples=planes(8, 8, 1, 8), depth=8, more={254: ("I", [1])})
    mask = dict(width=W, height=H, samples=planes(W, H, 1, 1), depth=1, more={254: ("I", [4]), 262: ("H", [4])})
    (tmp_path / "a.tif").write_bytes(tiff_file([small, page[0], mask, page[1], page[2]]))
    (tmp_path / "b.tif").write_bytes(tiff_file([page[1], small]))
    cj2k("-i", "a.tif", "-o", "p%02d.j2k", "--lossless")
    for n, samples in enumerate(pages, 1):
        assert decode(tmp_path / f"p{n:02}.j2k", tmp_path) == [(8, samples[0])]
        cj2k("-i", "a.tif", "-o", "one.j2k", "--lossless", "--page", n)
        assert (tmp_path / "one.j2k").read_bytes() == (tmp_path / f"p{n:02}.j2k").read_bytes()
    cj2k("-i", "a.tif", "-o", "some/", "--first", 2)
    assert sorted(os.listdir(tmp_path / "some")) == ["a-2.j2k", "a-3.j2k"]
    cj2k("-i", "*.tif", "-o", "all/")
    assert sorted(os.listdir(tmp_path / "all")) == ["a-1.j2k", "a-2.j2k", "a-3.j2k", "b.j2k"]
    cj2k("-i", "a.tif", "-o", "a.j2k", fails=2, words=("one file for 3 frames", "--page"))
    cj2k("-i", "a.tif", "-o", "a.j2k", "--page", 4, fails=1, words=("a.tif", "no page 4 of 3"))
    cj2k("-i", "b.tif", "-o", "b.j2k")
    (tmp_path / "none.tif").write_bytes(tiff_file([small]))
    cj2k("-i", "none.tif", "-o", "none.j2k", fails=1, words=("none.tif", "no page 1 of 0"))
    (tmp_path / "s1.tif").write_bytes((tmp_path / "a.tif").read_bytes())
    cj2k("-i", "s%d.tif", "-o", "s%d.j2k", fails=1, words=("s1.tif", "3 pages", "--page"))
    (tmp_path / "c.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))
    cj2k("-i", "c.ppm", "-o", "c.j2k", "--page", 2, fails=1, words=("c.ppm", "no page 2 of 1"))


def test_icc(cj2k, tmp_path):
    """The profile of PNG, which the library takes, is that of TIFF too."""
    from_png = subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=red:s=16x8,format=rgb24", "-frames:v", "1",
                               "-f", "rawvideo", "-"], check=True, capture_output=True).stdout
    samples = [list(from_png[c::3]) for c in range(3)]
    profile = bytes(128) + b"no profile"
    (tmp_path / "a.tif").write_bytes(tiff_file([dict(width=16, height=8, samples=samples, depth=8, more={34675: ("B", profile)})]))
    (tmp_path / "a.png").write_bytes(png(16, 8, samples, 8, [(b"iCCP", b"x\0\0" + zlib.compress(profile))]))
    for name in "a.tif", "a.png":
        said = cj2k("-i", name, "-o", "a.jp2", "--lossless").stderr
        assert f"{name}: its ICC profile is not written: " in said


@pytest.mark.posix
def test_pipe(cj2k, tmp_path):
    (tmp_path / "a.tif").write_bytes(tiff_file([dict(width=W, height=H, samples=planes(W, H, 3, 8), depth=8, deflate=True)]))
    os.mkfifo(tmp_path / "pipe.tif")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe.tif").write_bytes((tmp_path / "a.tif").read_bytes()))
    writer.start()
    cj2k("-i", "pipe.tif", "-o", "pipe.j2k")
    writer.join()
    cj2k("-i", "a.tif", "-o", "a.j2k")
    assert (tmp_path / "pipe.j2k").read_bytes() == (tmp_path / "a.j2k").read_bytes()


@pytest.mark.parametrize("components,depth,more,words", [
    (3, 8, {262: ("H", [8])}, "L*a*b*"), (1, 1, {262: ("H", [4]), 254: ("I", [0])}, "mask"), (1, 8, {262: ("H", [32803])}, "32803"),
    (3, 8, {262: ("H", [1])}, "2 samples beside"), (1, 16, {339: ("H", [3])}, "float"), (4, 8, {262: ("H", [5]), 332: ("H", [2])}, "inks"),
    (3, 8, {262: ("H", [5])}, "fewer samples")])
def test_refused(cj2k, tmp_path, components, depth, more, words):
    page = dict(width=W, height=H, samples=planes(W, H, components, depth), depth=depth, more=more)
    (tmp_path / "a.tif").write_bytes(tiff_file([page]))
    cj2k("-i", "a.tif", "-o", "a.j2k", "--lossless", fails=1, words=("a.tif", words))
    assert not (tmp_path / "a.j2k").exists()


def test_32_bits(cj2k, tmp_path):
    page = dict(width=W, height=H, samples=planes(W, H, 1, 16), depth=16)
    (tmp_path / "a.tif").write_bytes(tiff_file([page | {"more": {258: ("H", [32])}}]))
    cj2k("-i", "a.tif", "-o", "a.j2k", fails=1, words=("a.tif", "samples of 32 bits"))


def test_damaged(cj2k, tmp_path):
    for name, layout in LAYOUTS.items():
        whole = tiff_file([dict(width=W, height=H, samples=planes(W, H, 3, 8), depth=8, **layout)])
        if "deflate" in layout:  # the head of a strip or tile
            (tmp_path / "a.tif").write_bytes(whole[:8] + bytes(2) + whole[10:])
        else:
            (tmp_path / "a.tif").write_bytes(whole[:len(whole) // 2])
        cj2k("-i", "a.tif", "-o", "a.j2k", fails=1, words=("a.tif: damaged",))
    (tmp_path / "a.tif").write_bytes(b"II*\0\x08\0\0\0")
    cj2k("-i", "a.tif", "-o", "a.j2k", fails=1, words=("a.tif: damaged",))


def apart(make, *arguments):
    """Calls a function in a process of its own: what this one has in memory, the programs that it starts have at first, too."""
    process = multiprocessing.get_context("fork").Process(target=make, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0


def large_row(width, component, y):
    ramp = bytes(v * v // 300 % 256 for v in range(256)) * (width // 256 + 3)
    return ramp[(y * (7 + component) + y * y // 512) % 256:][:width]


def large_tiff(path, width, height, components, damage=False, tile=None, strip=None, deflate=False):
    """Planar, of 8 bits.
    @param damage  spoils a chunk in the middle"""
    wide, high = tile or (width, strip or height)
    chunks = []
    for c in range(components):
        for top in range(0, height, high):
            band = [large_row(width, c, y) for y in range(top, min(top + high, height))]
            for left in range(0, width, wide):
                chunk = b"".join(row[left:left + wide].ljust(wide, b"\0") for row in band)
                chunk = chunk.ljust(wide * high, b"\0") if tile else chunk
                chunks.append(zlib.compress(chunk, 1) if deflate else chunk)
    if damage:
        chunks[len(chunks) // 2] = bytes(len(chunks[len(chunks) // 2]))
    tags = pictures.tiff_page("<", 1, 1, [[0]] * components, 8, planar=True, tile=tile)[1]
    tags.update({256: ("I", [width]), 257: ("I", [height]), 259: ("H", [8 if deflate else 1])})
    if not tile:
        tags[278] = "I", [high]
    pictures.tiff_page = lambda order: (chunks, tags)
    path.write_bytes(tiff_file([{}]))


def large_pnm(path, width, height, components, depth=8):
    with open(path, "wb") as file:
        file.write(b"P%d\n%d %d\n%d\n" % (5 if components == 1 else 6, width, height, (1 << depth) - 1))
        for y in range(height):
            bytes_ = components * (2 if depth > 8 else 1)
            line = bytearray(bytes_ * width)
            for i in range(bytes_):
                row = large_row(width, i, y)
                line[i::bytes_] = row if depth == 8 or i % 2 else row.translate(bytes(v >> (16 - depth) for v in range(256)))
            file.write(line)


def same_codestreams(cj2k, tmp_path, names, options):
    for i, (name, *more) in enumerate(names):
        cj2k("-i", name, "-o", f"{i}.j2k", "--tile", "1024x1024", "--threads", 2, *options, *more)
        assert filecmp.cmp(tmp_path / "0.j2k", tmp_path / f"{i}.j2k", shallow=False), name


@pytest.mark.parametrize("components,size,layout", [
    (1, (8300, 8200), dict(tile=(1008, 496), deflate=True)), (1, (8300, 8200), dict(deflate=True)),
    (1, (8300, 8200), dict(strip=100)), (3, (4800, 4700), dict(strip=333, deflate=True)), (3, (4800, 4700), dict(tile=(512, 512)))])
def test_large(cj2k, tmp_path, components, size, layout):
    """More than 2^26 samples: read in parts, as of PNM. The bytes are those of the picture in memory, as --psnr asks for it."""
    apart(functools.partial(large_tiff, **layout), tmp_path / "a.tif", *size, components)
    apart(large_pnm, tmp_path / "a.pnm", *size, components)
    same_codestreams(cj2k, tmp_path, [("a.tif",), ("a.pnm",), ("a.pnm", "--psnr")], ["--lossless", "--coder", "ht"])
    if layout == dict(deflate=True):  # one strip, which is read from its begin twice
        same_codestreams(cj2k, tmp_path, [("a.tif",), ("a.pnm",), ("a.pnm", "--psnr")], ["--target_bytes", 900000])


@pytest.mark.parametrize("components,size", [(1, (8300, 8200)), (3, (4800, 4700))])
def test_large_words(cj2k, tmp_path, components, size):
    apart(large_pnm, tmp_path / "a.pnm", *size, components, 12)
    same_codestreams(cj2k, tmp_path, [("a.pnm",), ("a.pnm", "--psnr"), ("a.pnm", "--verify")], ["--lossless", "--coder", "ht"])
    with open(tmp_path / "a.pnm", "r+b") as file:
        file.truncate(120000000)
    cj2k("-i", "a.pnm", "-o", "b.j2k", fails=1, words=("a.pnm", "ends before its last sample"))


def test_large_and_damaged(cj2k, tmp_path):
    apart(functools.partial(large_tiff, tile=(1024, 1024), deflate=True), tmp_path / "a.tif", 8300, 8200, 1, True)
    cj2k("-i", "a.tif", "-o", "a.j2k", "--tile", "1024x1024", "--lossless", "--coder", "ht", fails=1, words=("a.tif: damaged",))
    assert not list(tmp_path.glob("*.j2k*"))

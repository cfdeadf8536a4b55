# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Every pixel format, lossless, decoded by two independent decoders."""

import pathlib
import re
import struct

import pytest

import pixfmt
from codestream import Codestream
from pictures import noise, packed
from tools import decoder_is_patched, run


ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs/pixel-formats.md"
FATE_SAMPLES = ROOT / "ffmpeg-patch/fate-suite/jpeg2000"


def rows_of(table):
    """The cells of the rows of a table of the docs, between its two marks."""
    text = DOCS.read_text().split(f"<!-- {table}: begin -->")[1].split(f"<!-- {table}: end -->")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()[2:]]


CONVERTED = [(a, b) for row in rows_of("converted")
             for a, b in zip(re.findall(r"`(\w+)`", row[0]), re.findall(r"`(\w+)`", row[1]))]


def check_round_trip(ff, fmt_name, width, height, *options):
    fmt = pixfmt.parse(fmt_name)
    assert fmt, f"the test does not know {fmt_name}"
    frames = noise(fmt_name, width, height, 2)
    packets = ff.packets("-lossless", 1, *options, fmt=fmt_name, width=width, height=height, frames=frames)
    for samples, data in zip(frames, packets):
        c = Codestream(data)
        assert c.num_components == fmt.num_components and c.depths == [fmt.depth] * fmt.num_components
        assert c.subsampling == [fmt.subsampling(i) for i in range(fmt.num_components)]
        ff.check_lossless(data, fmt, samples, width, height)


def listed_since(version):
    """The formats that the encoder accepts in an FFmpeg with this libavutil."""
    names = set("""gray gray9le gray10le gray12le gray14le gray16le ya8 ya16le rgb24 bgr24 rgb48le bgr48le rgba bgra
        argb abgr 0rgb rgb0 0bgr bgr0 rgba64le bgra64le x2rgb10le x2bgr10le xyz12le gbrp gbrp9le gbrp10le gbrp12le
        gbrp14le gbrp16le gbrap gbrap10le gbrap12le gbrap16le yuv410p yuv411p yuv440p yuv440p10le yuv440p12le
        nv12 nv21 nv16 nv24 nv42 nv20le yuyv422 uyvy422 yvyu422 y210le ayuv64le p010le p016le p210le p216le p410le
        p416le yuva422p12le yuva444p12le""".split())
    names |= {f"yuv{s}p{d}" for s in ("420", "422", "444") for d in ("", "9le", "10le", "12le", "14le", "16le")}
    names |= {f"yuva{s}p{d}" for s in ("420", "422", "444") for d in ("", "9le", "10le", "16le")}
    if version < (58, 0):  # 5.1 marks full range only by these
        names |= {"yuvj420p", "yuvj422p", "yuvj444p", "yuvj440p", "yuvj411p"}
    if version >= (59, 0):  # 7.1
        names |= {"y212le", "xv30le", "xv36le", "vuya", "vuyx"}
        names |= {"p012le", "p212le", "p412le", "gbrap14le"}
    if version >= (60, 0):  # 8.1
        names |= {"ayuv", "uyva", "vyu444", "v30xle", "y216le", "xv48le"}
        names |= {"yuv444p10msble", "yuv444p12msble", "gbrp10msble", "gbrp12msble"}
    return names


def lavu_version(ff):
    text = run(ff.program, "-version").stdout.decode()
    return tuple(map(int, re.search(r"libavutil +(\d+)\. *(\d+)", text).groups()))


def test_the_list(ff):
    have, want = set(ff.pixel_formats) - {"cuda"}, listed_since(lavu_version(ff))
    assert have == want, f"missing {sorted(want - have)}, not expected {sorted(have - want)}"


def test_the_docs(ff):
    """The table of docs/pixel-formats.md names all formats of all releases, and the release that first has each."""
    first = {"": (57, 0), "7.1": (59, 0), "8.1": (60, 0)}
    rows = [re.findall(r"`(\w+)`(?: \(([\d.]+)\))?", row[0]) for row in rows_of("direct")]
    listed = [(name, first[release]) for row in rows for name, release in row if name != "cuda"]
    assert len(listed) == len(set(listed))
    version = lavu_version(ff)
    names = {name for name, since in listed if version >= since}
    if version >= (58, 0):
        names = {name for name in names if not name.startswith("yuvj")}
    assert names == listed_since(version)


@pytest.mark.parametrize("fmt_name, coded", CONVERTED, ids=[a for a, _ in CONVERTED])
def test_converted_format(ff, fmt_name, coded):
    """swscale converts formats with another order of bytes, and loses nothing. FFmpeg 5.1 and 7.1 must be told."""
    options = ["-pix_fmt", coded] if lavu_version(ff) < (60, 0) else []
    frames = noise(coded, 48, 32, 1)
    raw = bytearray(packed(coded, 48, 32, frames))
    raw[0::2], raw[1::2] = raw[1::2], raw[0::2]
    data = ff.packets("-lossless", 1, *options, fmt=fmt_name, width=48, height=32, frames=frames, data=bytes(raw))[0]
    assert Codestream(data).depths == [pixfmt.parse(coded).depth] * pixfmt.parse(coded).num_components
    ff.check_lossless(data, pixfmt.parse(coded), frames[0], 48, 32)


def test_v210(ff, tmp_path):
    """The decoder of v210 gives yuv422p10le, which goes to the encoder as it is."""
    frames, path = noise("yuv422p10le", 48, 32, 1), tmp_path / "a.mov"
    # v210 has no codes 0 to 3 and 1020 to 1023.
    frames = [[[min(max(v, 4), 1019) for v in samples] for samples in frame] for frame in frames]
    ff.ffmpeg("-f", "rawvideo", "-pixel_format", "yuv422p10le", "-video_size", "48x32", "-i", "pipe:0", "-c:v", "v210",
              path, data=packed("yuv422p10le", 48, 32, frames))
    ff.ffmpeg("-i", path, "-c:v", "j2k_cuda", "-lossless", 1, "-f", "image2", tmp_path / "a%d.j2c")
    ff.check_lossless((tmp_path / "a1.j2c").read_bytes(), pixfmt.parse("yuv422p10le"), frames[0], 48, 32)


@pytest.mark.parametrize("size", [(48, 32), (37, 23)], ids=["even", "odd"])
def test_format(ff, listed_format, size):
    check_round_trip(ff, listed_format, *size)


def test_palette_is_expanded(ff):
    """Where no pixel format is asked for, ffmpeg expands palettes to RGB."""
    colours = [(i, 255 - i, i * 7 % 256) for i in range(256)]
    palette = b"".join(bytes((b, g, r, 255)) for r, g, b in colours)
    data = ff.packets("-lossless", 1, fmt="pal8", width=16, height=16, frames=[None],
                      data=bytes(range(256)) + palette)[0]
    ff.check_lossless(data, pixfmt.parse("rgb24"), [list(samples) for samples in zip(*colours)], 16, 16)


def test_palette_is_refused(ff):
    result = ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:d=0.04", "-pix_fmt", "pal8", "-c:v", "j2k_cuda",
                       "-f", "null", "-", ok=None)
    assert result.returncode or "Incompatible pixel format 'pal8'" in result.text, result.text


@pytest.mark.parametrize("size", [(1, 1), (3, 1), (1, 5), (17, 5), (65, 33)], ids="%dx%d".__mod__)
@pytest.mark.parametrize("fmt", ["yuv420p", "yuv410p", "gray", "nv12", "p010le"])
def test_odd_and_tiny_sizes(ff, fmt, size):
    check_round_trip(ff, fmt, *size)


@pytest.mark.parametrize("fmt, options", [
    ("rgb24", ("-tile", "32x32", "-cblk", "16x16", "-precincts", "64x64,32x32")),
    ("yuv420p", ("-tile", "33x29", "-levels", 3))], ids=["rgb24", "yuv420p"])
def test_odd_sizes_in_tiles(ff, fmt, options):
    check_round_trip(ff, fmt, 101, 67, *options)


@pytest.mark.parametrize("options", """-progression rpcl | -layers 7 | -cj2k-params sop=1:eph=1 | -levels 0 | -cj2k-params mct=off | -format j2k |
    -cj2k-params cblk_style=bypass+reset+termall+vsc+pterm+segsym | -cblk 4x256""".split("|"), ids=str.strip)
def test_lossless_with_coding_options(ff, options):
    check_round_trip(ff, "rgb48le", 75, 53, *options.split())


@pytest.mark.parametrize("fmt_name", ["yuv420p", "rgb24", "p010le", "x2rgb10le"])
def test_negative_line_size(ff, fmt_name):
    """vflip passes pictures bottom-up."""
    fmt, frames = pixfmt.parse(fmt_name), noise(fmt_name, 38, 26, 1)
    data = ff.packets("-lossless", 1, "-vf", "vflip", fmt=fmt_name, width=38, height=26, frames=frames)[0]
    flipped = []
    for component, samples in enumerate(frames[0]):
        w, h = fmt.size(component, 38, 26)
        flipped.append([v for y in reversed(range(h)) for v in samples[y * w : y * w + w]])
    ff.check_lossless(data, fmt, flipped, 38, 26)


@pytest.mark.parametrize("fmt, options", [
    ("yuv420p", ("-vf", "setparams=range=pc")), ("yuv420p", ("-vf", "setparams=range=tv")), ("yuvj420p", ())],
    ids=["full", "limited", "yuvj"])
def test_colour_range_is_not_touched(ff, fmt, options):
    """Full-range YUV stays unchanged: FFmpeg inserts no conversion."""
    frames = noise("yuv420p", 48, 32, 1)
    data = ff.packets("-lossless", 1, *options, fmt=fmt, width=48, height=32, frames=frames,
                      data=packed("yuv420p", 48, 32, frames))[0]
    ff.check_lossless(data, pixfmt.parse("yuv420p"), frames[0], 48, 32)


def test_precincts_in_cprl(ff):
    """The precinct of a resolution may begin behind the corner of its tile."""
    if not decoder_is_patched(ff):
        pytest.skip("this FFmpeg has none of our patches")
    check_round_trip(ff, "rgb24", 200, 30, "-cj2k-params",
                     "tile=127x12:levels=2:cblk=64x32:precincts=256x512,32x256:progression=cprl")


@pytest.mark.parametrize("name", ["cprl_tiles", "rpcl_empty_resolution", "ht_largest_magnitudes", "coarse_steps_32_levels"])
def test_fate_samples(ff, name):
    """Samples of our series for FFmpeg: its decoder without our patches shows other pictures, or none."""
    if not decoder_is_patched(ff):
        pytest.skip("this FFmpeg has none of our patches")
    if not ff.opj:
        pytest.skip("opj_decompress is not installed: nothing to compare with")
    data = (FATE_SAMPLES / f"{name}.j2k").read_bytes()
    right, bottom, left, top = struct.unpack(">4I", data[8:24])  # SIZ
    width, height = right - left, bottom - top
    _, ours = ff.ffmpeg_samples(data, width, height)
    assert ff.opj_samples(data, pixfmt.parse("gray"), width, height) == ours

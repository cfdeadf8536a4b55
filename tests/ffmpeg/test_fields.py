# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Interlaced frames with a codestream for each field (-flags +ildct), and their MXF files (SMPTE ST 422, "I2")."""

import json
import re
import shutil
import struct

import pytest

import pixfmt
from codestream import SIZ, Codestream, split
from klv import Mxf
from pictures import noise
from tools import bytes_per_frame, check_used, find_checker, mxf_is_patched, run

FIELDS = ("-flags", "+ildct")
ORDERS = {"tff": 0, "bff": 1}  # the line that the first field begins with
I2 = bytes.fromhex("060e2b340401010d0d010301020c0400")
PICTURE = 0x15


def ordered(order):
    return ("-vf", f"setfield={order}", *FIELDS)


def source(fmt="yuv422p10le", size="96x64", rate=25, frames=3, order="tff"):
    return ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate={rate}", "-frames:v", frames, "-pix_fmt", fmt,
            "-vf", f"setfield={order}"]


def u32(items, tag):
    return struct.unpack(">I", items[tag])[0]


@pytest.fixture
def mxf_ff(ff):
    if not mxf_is_patched(ff):
        pytest.skip("this FFmpeg has no MXF patch")
    return ff


# --- packets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("fmt", ["yuv422p10le", "yuv420p", "gbrp12le", "rgb24", "nv12", "yuva422p"])
def test_lines_of_a_field(ff, fmt, order):
    """The first codestream is the field that is shown first, and each has its own lines."""
    width, height = 48, 32
    layout, frames = pixfmt.parse(fmt), noise(fmt, width, height, 2)
    packets = ff.packets("-lossless", 1, *ordered(order), fmt=fmt, width=width, height=height, frames=frames)
    for packet, samples in zip(packets, frames):
        fields = split(packet)
        assert len(fields) == 2
        for number, field in enumerate(fields):
            want = []
            for component, values in enumerate(samples):
                w, h = layout.size(component, width, height)
                first = ORDERS[order] ^ number
                want.append([value for y in range(first, h, 2) for value in values[y * w:(y + 1) * w]])
            ff.check_lossless(field, layout, want, width, height // 2)


@pytest.mark.parametrize("rate", [25, "30000/1001"])
def test_caps(ff, rate):
    """Both fields together keep the cap of the frame, and each uses its half."""
    frames = noise("yuv422p10le", 640, 480, 1)
    half = bytes_per_frame(30000000, rate)
    options = dict(fmt="yuv422p10le", width=640, height=480, frames=frames, rate=rate)
    for rates in (("-b:v", "60M"), ("-q:v", 0.1, "-maxrate", "60M")):
        packet, = ff.packets(*rates, *ordered("tff"), **options)
        assert len(packet) <= bytes_per_frame(60000000, rate)
        for field in split(packet):
            check_used(len(field), half, f"{rates} at {rate}")


def test_constant_rate(ff):
    packets = ff.packets("-minrate", "8M", "-maxrate", "8M", *ordered("bff"), fmt="gray",
                         frames=[[[0] * 96 * 64], *noise("gray", 96, 64, 1)])
    assert {len(packet) for packet in packets} == {2 * bytes_per_frame(8000000, 50)}
    packets = ff.packets("-cj2k-params", "min_frame_bytes=10001", *ordered("bff"), fmt="gray")
    assert [len(field) for field in split(packets[0])] == [10001, 10001]


def test_level(ff, tmp_path):
    """The level of a profile counts samples per second: those of 1080i are those of 1080p at the same rate."""
    path, whole = tmp_path / "fields.j2c", tmp_path / "frame.j2c"
    for flags, out in ((FIELDS, path), ((), whole)):
        ff.ffmpeg(*source(size="1920x1080", frames=1), *flags, "-c:v", "j2k_cuda", "-profile:v", "broadcast_single", "-b:v",
                  "100M", out)
    fields = [Codestream(data) for data in split(path.read_bytes())]
    assert [(field.width, field.height) for field in fields] == [(1920, 540)] * 2
    rsiz = {field.main[SIZ][0][:2] for field in [*fields, Codestream(whole.read_bytes())]}
    assert rsiz == {b"\1\2"}, rsiz


@pytest.mark.parametrize("options", [("-flags", "+ildct+low_delay"), (*FIELDS, "-gop", 3), (*FIELDS, "-async_depth", 1),
                                     (*FIELDS, "-async_depth", 7), (*FIELDS, "-threads", 1)], ids=str)
def test_running(ff, options):
    """Options that say how it runs leave the bytes as they are."""
    kw = {"fmt": "yuv422p10le", "frames": noise("yuv422p10le", 96, 64, 5)}
    same = ("-bitexact", "-vf", "setfield=tff")
    assert ff.packets(*same, *options, **kw) == ff.packets(*same, *FIELDS, **kw)


def test_stats(ff, tmp_path):
    path = tmp_path / "stats"
    packets, log = (encoded := ff.encode("-stats_file", path, "-b:v", "4M", *ordered("bff"), log="info",
                                         frames=noise("rgb24", 96, 64, 3))).packets, encoded.log
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["frame"], line["field"]) for line in lines] == [(n // 2, n % 2) for n in range(6)]
    assert [line["bytes"] for line in lines] == [len(field) for packet in packets for field in split(packet)]
    assert {line["cap"] for line in lines} == {10000}
    assert "bottom field first, 10000 bytes a field at 25/1 fps (4.0 Mbit/s)" in log and "] 6 fields of " in log, log


@pytest.mark.parametrize("options, kw, says", [
    ((), {"fmt": "yuv420p", "height": 62}, "the height of yuv420p must be a multiple of 4, not 62"),
    ((), {"fmt": "gray", "height": 63}, "the height of gray must be a multiple of 2, not 63"),
    (("-format", "jp2"), {}, "format jp2 contradicts flags +ildct"),
    (("-profile:v", "cinema2k"), {"fmt": "xyz12le", "rate": 24}, "digital cinema has no fields"),
    (("-cj2k-params", "format=jp2"), {}, "format jp2 contradicts flags +ildct"),
    (("-cj2k-params", "profile=cinema2k"), {"fmt": "xyz12le", "rate": 24}, "digital cinema has no fields"),
    (("-b:v", 2111), {}, "b 2111 is target_bytes 5 at 50/1 fps")], ids=["420", "odd", "jp2", "cinema", "jp2-params", "cinema-params", "rate"])
def test_refused(ff, options, kw, says):
    ff.check_refused(*FIELDS, *options, says=[says], **kw)


def test_messages(ff):
    """A frame that says nothing of fields, or the contrary, is coded as the encoder was opened."""
    log = ff.encode("-vf", "setfield=tff", frames=noise("rgb24", 96, 64, 2)).log
    assert log.count("-flags +ildct codes each field") == 1, log
    log = ff.encode("-vf", "setfield=tff", *FIELDS, frames=noise("rgb24", 96, 64, 2)).log
    assert "field" not in log, log


# --- containers -------------------------------------------------------------------------------------------------------


def check_frames(ff, path, fmt, order, want):
    """The patched decoder weaves the fields, and says which is first."""
    stream = ff.probe(path, "-show_streams")["streams"][0]
    assert (stream["width"], stream["height"], stream["pix_fmt"]) == (96, 64, fmt), stream
    assert stream["field_order"] == ("tt" if order == "tff" else "bb"), stream
    for frame in ff.probe(path, "-show_frames")["frames"]:
        assert (frame["interlaced_frame"], frame["top_field_first"]) == (1, int(order == "tff")), frame
    assert ff.frame_hashes("-i", path) == want


@pytest.mark.parametrize("extension", ["mxf", "mov", "mkv"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("fmt", ["yuv422p10le", "rgb24", "yuv420p"])
def test_read_back(mxf_ff, tmp_path, fmt, order, extension):
    """Every sample comes back, also after a copy."""
    want = mxf_ff.frame_hashes(*source(fmt))
    path, copy = tmp_path / f"a.{extension}", tmp_path / f"b.{extension}"
    mxf_ff.ffmpeg(*source(fmt, order=order), *FIELDS, "-c:v", "j2k_cuda", "-lossless", 1, path)
    mxf_ff.ffmpeg("-i", path, "-c", "copy", copy)
    check_frames(mxf_ff, path, fmt, order, want)
    check_frames(mxf_ff, copy, fmt, order, want)
    small = mxf_ff.probe(copy, "-show_frames", "-lowres", 1)["frames"][0]
    assert (small["width"], small["height"]) == (48, 32), small


@pytest.mark.parametrize("size, rate, order, lines", [
    ("1920x1080", 25, "tff", (21, 584)), ("1920x1080", "30000/1001", "bff", (22, 584)), ("720x576", 25, "tff", (23, 336)),
    ("720x486", "30000/1001", "bff", (21, 283)), ("96x64", 25, "tff", (1, 34)), ("96x64", 25, "bff", (2, 34))])
def test_descriptor(mxf_ff, tmp_path, size, rate, order, lines):
    path = tmp_path / "a.mxf"
    width, height = map(int, size.split("x"))
    mxf_ff.ffmpeg(*source(size=size, rate=rate, frames=2, order=order), *FIELDS, "-c:v", "j2k_cuda", "-b:v", "20M", path)
    mxf = Mxf(path.read_bytes())
    items = mxf.picture()[1]
    assert items[0x3004] == I2 and I2 in mxf.only("Preface")[0x3B0A]
    assert items[0x320C] == b"\1" and items[0x3212] == b"\1"  # separate fields, field 1 is shown first
    assert struct.unpack(">IIII", items[0x320D]) == (2, 4, *lines)
    for tag in (0x3202, 0x3204, 0x3208):  # stored, sampled, shown height
        assert u32(items, tag) == height // 2
    elements = mxf.elements(PICTURE)
    assert mxf.duration == len(elements) == 2 and [len(split(element)) for element in elements] == [2, 2]
    siz = Codestream(split(elements[0])[0]).main[SIZ][0]
    sub = mxf.only("JPEG2000")
    assert b"".join(sub[tag] for tag in range(0x8401, 0x840B)) == siz[:36] and u32(sub, 0x8403) == height // 2
    stream = mxf_ff.probe(path, "-show_streams")["streams"][0]
    assert (stream["field_order"], stream["height"]) == ("tt" if order == "tff" else "bb", height), stream
    if shutil.which("mediainfo"):
        report = json.loads(run("mediainfo", "--Output=JSON", path).stdout)
        video = next(track for track in report["media"]["track"] if track["@type"] == "Video")
        shown = [video.get(name) for name in ("Width", "Height", "ScanType", "ScanOrder", "FrameCount")]
        assert shown == [str(width), str(height), "Interlaced", order.upper(), "2"], video


def test_checker(mxf_ff, tmp_path):
    """cj2k-check reads both fields, and takes the rate of the fields for caps and levels."""
    if not (checker := find_checker()):
        pytest.skip("no cj2k-check: set CJ2K_CHECK")
    path = tmp_path / "a.mxf"
    mxf_ff.ffmpeg(*source(size="1920x1080", frames=2), *FIELDS, "-c:v", "j2k_cuda", "-profile:v", "broadcast_single", "-b:v",
                  "200M", path)
    text = run(checker, path).stdout.decode()
    assert "0 errors, 0 warnings" in text and "4 frames, profile broadcast" in text and "50 (fields) fps" in text, text


def test_full_frame(mxf_ff, tmp_path):
    """The edition of 2019 has the layout of a full frame for I2; the order is the dominance."""
    path = tmp_path / "a.mxf"
    mxf_ff.ffmpeg(*source(), *FIELDS, "-c:v", "j2k_cuda", "-lossless", 1, path)
    data = path.read_bytes()
    for tag, old, new in [(0x320C, b"\1", b"\0"), (0x3202, 32, 64), (0x3204, 32, 64), (0x3208, 32, 64)]:
        old, new = (value if isinstance(value, bytes) else struct.pack(">I", value) for value in (old, new))
        item = struct.pack(">HH", tag, len(old))
        assert data.count(item + old) >= 1
        data = data.replace(item + old, item + new)
    path.write_bytes(data)
    check_frames(mxf_ff, path, "yuv422p10le", "tff", mxf_ff.frame_hashes(*source()))


# --- faults -----------------------------------------------------------------------------------------------------------




def swapped(path, packets):
    """Replaces the packets of a MOV file, of the same sizes."""
    data = path.read_bytes()
    for old, new in packets:
        assert len(old) == len(new) and data.count(old) == 1
        data = data.replace(old, new)
    path.write_bytes(data)


@pytest.mark.parametrize("change, says", [
    (lambda p: [p[0], p[1][:6] + b"\0\1" + p[1][8:]], "the two codestreams of frame 1 have other SIZ values"),
    (lambda p: [p[0], p[1][:-2] + b"\0\0"], None),  # no EOC: it is read as it is
    (lambda p: [p[0], b"\0" + p[1][1:]], "frame 1 has 1 codestream, the first frame 2"),
], ids=["siz", "eoc", "soc"])
def test_bad_second_field(mxf_ff, tmp_path, change, says):
    path = tmp_path / "a.mov"
    mxf_ff.ffmpeg(*source(frames=2), *FIELDS, "-c:v", "j2k_cuda", path)
    packets = mxf_ff.copied_packets("-i", path)
    swapped(path, [(packets[1], b"".join(change(split(packets[1]))))])
    log = mxf_ff.ffmpeg("-i", path, "-c", "copy", tmp_path / "b.mxf", ok=not says).text
    assert not says or says in log, log
    mxf_ff.ffmpeg("-i", path, "-f", "null", "-", ok=None)  # the decoder does not crash


def test_no_order_and_no_cinema(mxf_ff, tmp_path):
    mxf_ff.ffmpeg(*source(), *FIELDS, "-c:v", "j2k_cuda", tmp_path / "a.mov")
    log = mxf_ff.ffmpeg("-i", tmp_path / "a.mov", "-c", "copy", "-field_order", "progressive", tmp_path / "b.mxf", ok=None).text
    log += mxf_ff.ffmpeg("-i", tmp_path / "a.mov", "-c", "copy", "-f", "mxf_opatom", tmp_path / "c.mxf", ok=False).text
    assert re.search("digital cinema .OP-Atom. does not have", log), log

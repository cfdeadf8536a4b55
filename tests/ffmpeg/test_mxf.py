# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""MXF files of an FFmpeg that has the patches in ffmpeg-patch/mxf, read by a strict reader, mediainfo and FFmpeg itself."""

import fractions
import functools
import json
import os
import re
import shutil
import struct
import uuid
import zlib

import pytest

from codestream import COD, QCD, Codestream
from klv import INDEX, PRIMER, SET, Mxf
from pictures import H, W, noise
from tools import hd, run

PICTURE, SOUND = 0x15, 0x16
CONTAINER = bytes.fromhex("060e2b34040101070d010301020c0100")
GENERIC = "060e2b34040101070401020203010100"


def pytest_generate_tests(metafunc):
    """Skips all tests at once where FFmpeg has no patch."""
    version = version_of(metafunc.config.ff)
    if version.startswith("5."):
        pytest.skip(f"FFmpeg {version} has no MXF patch", allow_module_level=True)
    if os.environ.get("CJ2K_MXF_PATCH") == "0":
        pytest.skip("this FFmpeg was built without the MXF patch (CJ2K_MXF_PATCH=0)", allow_module_level=True)


@functools.lru_cache
def version_of(ff):
    return ff.ffmpeg("-version").stdout.decode().split()[2]


def source(fmt, rate=24, frames=2, size="96x64"):
    return ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate={rate}", "-frames:v", frames, "-pix_fmt", fmt]


def write(ff, path, *options, fmt="yuv422p10le", rate=24, frames=2):
    """Encodes a test picture into an MXF file and reads it. Returns the file and the log."""
    log = ff.ffmpeg(*source(fmt, rate, frames), "-c:v", "j2k_cuda", *options, path).text
    return Mxf(path.read_bytes()), log


def codestreams(ff, fmt="xyz12le", frames=2, options=()):
    return ff.packets("-lossless", 1, *options, fmt=fmt, frames=noise(fmt, W, H, frames))


def with_rsiz(data, rsiz):
    return data[:6] + struct.pack(">H", rsiz) + data[8:]


def with_segment(data, marker, body):
    """A marker segment more, behind SIZ."""
    at = 4 + struct.unpack(">H", data[4:6])[0]
    return data[:at] + struct.pack(">HH", marker, len(body) + 2) + body + data[at:]


def wrap(ff, folder, packets, *options, extension="j2c", ok=True):
    """Copies packets into an MXF file. Returns its reader (None if it failed) and the log."""
    for number, packet in enumerate(packets):
        (folder / f"{number:04d}.{extension}").write_bytes(packet)
    path = folder / "copy.mxf"
    log = ff.ffmpeg("-framerate", 24, "-i", folder / f"%04d.{extension}", "-c", "copy", *options, path, ok=ok).text
    return Mxf(path.read_bytes()) if ok else None, log


def label(mxf):
    return mxf.picture()[1][0x3201].hex()


def u32(items, tag):
    return struct.unpack(">I", items[tag])[0]


def layout(text, depth, count=8):
    """A pixel layout: kinds as text, one depth."""
    return b"".join(bytes([kind, depth]) for kind in text).ljust(2 * count, b"\0")


def mediainfo(path, kind):
    """What mediainfo says of the first track of a kind."""
    report = json.loads(run("mediainfo", "--Output=JSON", path).stdout)
    return next(track for track in report["media"]["track"] if track["@type"] == kind)


def pixel_format(ff, path):
    return ff.probe(path, "-show_streams")["streams"][0]["pix_fmt"]


# --- descriptors ------------------------------------------------------------------------------------------------------

XYZ = b"\xd8\xd9\xda"


@pytest.mark.parametrize("fmt, kinds, depth, options, limits", [
    ("rgb24", b"RGB", 8, (), (0, 255)), ("gbrp12le", b"RGB", 12, (), (0, 4095)), ("rgb48le", b"RGB", 16, (), (0, 65535)),
    ("gbrp10le", b"RGB", 10, ("-vf", "format=gbrp10le,setparams=range=limited"), (64, 940)), ("xyz12le", XYZ, 12, (), (0, 4095)),
    ("rgba", b"RGBA", 8, (), (0, 255))])
def test_rgb(ff, tmp_path, fmt, kinds, depth, options, limits):
    mxf, _ = write(ff, tmp_path / "a.mxf", *options, fmt=fmt)
    kind, items = mxf.picture()
    assert kind == "RGBA" and items[0x3401] == layout(kinds, depth), (kind, items[0x3401].hex())
    assert (u32(items, 0x3407), u32(items, 0x3406)) == limits and items[0x3405] == b"\0"
    assert (items.get(0x3408), items.get(0x3409)) == ((b"\0\0\0\xff", bytes(4)) if b"A" in kinds else (None, None))
    assert 0x3301 not in items and 0x3302 not in items
    check_sub_descriptor(mxf, kinds, depth)


@pytest.mark.parametrize("fmt, subsampling, depth, options, levels", [
    ("yuv422p10le", (2, 1), 10, ("-color_range", "tv"), (64, 940, 897)),
    ("yuv444p12le", (1, 1), 12, ("-color_range", "pc"), (0, 4095, 4096)),
    ("yuv420p", (2, 2), 8, ("-color_range", "tv"), (16, 235, 225)),
    ("yuva444p12le", (1, 1), 12, ("-color_range", "tv"), (256, 3760, 3585)),
    ("gray12le", (1, 1), 12, ("-color_range", "pc"), (0, 4095, 4096))])
def test_yuv(ff, tmp_path, fmt, subsampling, depth, options, levels):
    mxf, _ = write(ff, tmp_path / "a.mxf", *options, fmt=fmt)
    kind, items = mxf.picture()
    assert kind == "CDCI" and (u32(items, 0x3302), u32(items, 0x3308)) == subsampling and u32(items, 0x3301) == depth
    assert tuple(u32(items, tag) for tag in (0x3304, 0x3305, 0x3306)) == levels
    assert items.get(0x3309) == (struct.pack(">I", depth) if "yuva" in fmt else None)
    check_sub_descriptor(mxf, b"Y" if "gray" in fmt else b"YUVA" if "yuva" in fmt else b"YUV", depth)


def check_sub_descriptor(mxf, kinds, depth):
    """The sub-descriptor says what the first codestream says."""
    items, stream = mxf.only("JPEG2000"), Codestream(mxf.elements(PICTURE)[0])
    assert struct.unpack(">I", mxf.picture()[1][0x3002][4:])[0] == mxf.duration == 2
    siz = stream.main[0xFF51][0]
    assert b"".join(items[tag] for tag in range(0x8401, 0x840B)) == siz[:36]
    assert struct.unpack(">H", items[0x840A])[0] == len(kinds) == stream.num_components
    assert items[0x840B] == struct.pack(">II", len(kinds), 3) + siz[36:]
    assert items[0x840C] == layout(kinds, depth) and stream.depths == [depth] * len(kinds)
    assert items[0x840D] == stream.main[COD][0] and items[0x840E] == stream.main[QCD][0]
    assert 0x840F not in items
    descriptor = mxf.picture()[1]
    assert descriptor[0x3004] == CONTAINER and label(mxf) == GENERIC
    assert (u32(descriptor, 0x3203), u32(descriptor, 0x3202)) == (stream.width, stream.height)
    assert descriptor[0x320E] == struct.pack(">II", 3, 2), "aspect ratio of 96x64"


@pytest.mark.parametrize("rsiz, last", [
    (0, None), (1, None), (2, None), (3, "090401020203010103"), (4, "090401020203010104"), (7, None),
    (0x0101, "0d0401020203010111"), (0x0105, "0d0401020203010115"), (0x0106, None), (0x0203, None),
    (0x0306, "0d0401020203010116"), (0x0307, "0d0401020203010117"), (0x0305, None),
    (0x0411, "0d0401020203010203"), (0x0413, "0d0401020203010207"), (0x0403, None), (0x0423, None), (0x0436, "0d0401020203010212"),
    (0x0417, None), (0x0526, "0d0401020203010311"), (0x0518, "0d040102020301031b"), (0x0519, None), (0x061a, "0d040102020301042a"),
    (0x061b, None), (0x0701, "0d0401020203010502"), (0x0806, "0d040102020301060f"), (0x090a, "0d0401020203010729"),
    (0x0711, None)], ids=lambda value: f"{value:04x}" if isinstance(value, int) else "")
def test_profile(ff, tmp_path, profile_packets, rsiz, last):
    """The picture essence coding of each profile; the generic one where there is none."""
    mxf, _ = wrap(ff, tmp_path, [with_rsiz(packet, rsiz) for packet in profile_packets])
    want = "060e2b34040101" + last if last else GENERIC
    assert label(mxf) == want, f"{label(mxf)}, not {want}"
    assert mxf.only("JPEG2000")[0x8401] == struct.pack(">H", rsiz)


@pytest.fixture(scope="module")
def profile_packets(pytestconfig):
    return codestreams(pytestconfig.ff)


@pytest.mark.parametrize("profile, options, fmt, rsiz, last", [
    ("cinema2k", (), "xyz12le", 3, "090401020203010103"),
    ("cinema4k", ("-strict", "unofficial"), "gbrp12le", 4, "090401020203010104"),
    ("imf_2k", ("-b:v", "100M", "-vf", hd("gbrp")), "gbrp12le", 0x0411, "0d0401020203010203"),
    ("imf_4k_r", ("-vf", hd("yuv")), "yuv422p10le", 0x0801, "0d0401020203010602"),
    ("broadcast_single", ("-b:v", "100M"), "yuv422p10le", 0x0101, "0d0401020203010111")])
def test_encoder_profile(ff, tmp_path, profile, options, fmt, rsiz, last):
    """The encoder's profile is the file's. A cinema profile means X'Y'Z', whatever the pixel format is called."""
    mxf, _ = write(ff, tmp_path / "a.mxf", "-profile:v", profile, *options, fmt=fmt)
    assert label(mxf) == "060e2b34040101" + last and mxf.only("JPEG2000")[0x8401] == struct.pack(">H", rsiz)
    if "cinema" in profile:
        assert mxf.picture()[1][0x3401] == layout(XYZ, 12) and pixel_format(ff, tmp_path / "a.mxf") == "xyz12le"


def test_part_15(ff, tmp_path, profile_packets):
    """A CAP marker segment becomes the extended capabilities."""
    capabilities = bytes.fromhex("000200004007")  # HTDECLARED: the blocks may be those of Part 1
    mxf, _ = wrap(ff, tmp_path, [with_segment(with_rsiz(p, 0x4000), 0xFF50, capabilities) for p in profile_packets])
    assert label(mxf) == "060e2b340401010d0401020203010801"
    assert mxf.only("JPEG2000")[0x840F].hex() == "00020000" "00000001" "00000002" "4007"


def test_many_frames(ff, tmp_path):
    """Partitions of 250 frames, each with one of the index behind it, and two tracks of sound whose packets have two sizes."""
    path = tmp_path / "a.mxf"
    ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=32x32:r=24:d=22", "-f", "lavfi", "-i", "sine=r=44100:d=22", "-map", 0, "-map", 1,
              "-map", 1, "-c:v", "j2k_cuda", "-c:a", "pcm_s16le", "-ac:a:0", 1, "-ac:a:1", 2, path)
    mxf = Mxf(path.read_bytes())
    assert len(mxf.partitions) == 7 and mxf.duration == 528, (len(mxf.partitions), mxf.duration)
    sizes = {len(value) for value in mxf.elements(SOUND)}
    assert sizes == {1837 * 2, 1838 * 2, 1837 * 4, 1838 * 4}, sizes


def test_big_packet(ff, tmp_path):
    """More than 24 bits of length: 17 MiB of comments."""
    packet, = codestreams(ff, "rgb24", 1)
    comments = struct.pack(">HHH", 0xFF64, 65535, 0) + bytes(65531)
    at = 4 + struct.unpack(">H", packet[4:6])[0]
    packet = packet[:at] + comments * 272 + packet[at:]
    mxf, _ = wrap(ff, tmp_path, [packet, packet])
    assert mxf.elements(PICTURE) == [packet, packet]
    assert len(ff.frame_hashes("-i", tmp_path / "copy.mxf")) == 2


def test_cinema(ff, tmp_path):
    """A track file of digital cinema: frame-wrapped, nothing but pictures behind the body partition."""
    packets = [with_rsiz(packet, 3) for packet in codestreams(ff, frames=3)]
    mxf, _ = wrap(ff, tmp_path, packets, "-f", "mxf_dcp")
    header, body, footer = mxf.partitions
    assert {part.pattern.hex() for part in mxf.partitions} == {"060e2b34040101020d01020110000000"}
    assert mxf.elements(PICTURE) == packets and mxf.duration == 3 and {part.kag for part in mxf.partitions} == {1}
    # asdcplib takes metadata, essence and index from behind the partition pack, without looking for fill.
    following = {item.at: after.key for item, after in zip(mxf.items, mxf.items[1:])}
    assert [following[part.at] for part in mxf.partitions] == [PRIMER, body.items[0].key, INDEX]
    assert len({item.key for item in body.items}) == 1 and len(body.items) == 3 and not body.index_bytes
    assert footer.at + footer.index_bytes + 20 + 88 + 2 * 16 == mxf.items[-1].at
    assert mxf.picture()[0] == "RGBA" and label(mxf) == "060e2b34040101090401020203010103"
    assert mxf.only("Preface")[0x3B0A].hex() == "0000000200000010" + CONTAINER.hex() + "060e2b34040101030d010301027f0100"
    asset = uuid.UUID(bytes=mxf.only("SourcePackage")[0x4401][16:])
    assert asset.version == 4 and asset.variant == uuid.RFC_4122, asset
    stream = ff.probe(tmp_path / "copy.mxf", "-show_streams", "-count_packets")["streams"][0]
    assert (stream["pix_fmt"], stream["nb_read_packets"], stream["r_frame_rate"]) == ("xyz12le", "3", "24/1"), stream
    assert ff.copied_packets("-i", tmp_path / "copy.mxf") == packets


def test_long_cinema(ff, tmp_path):
    """An index of two segments, because a local set item has 16 bits of length."""
    path = tmp_path / "a.mxf"
    ff.ffmpeg("-f", "lavfi", "-i", "color=red:s=16x16:r=24", "-frames:v", 5001, "-c:v", "j2k_cuda", "-strict", "unofficial", "-f",
              "mxf_dcp", path)
    mxf = Mxf(path.read_bytes())
    assert [struct.unpack(">Q", part[0x3F0D])[0] for part in mxf.index] == [5000, 1] and mxf.duration == 5001
    assert len(ff.probe(path, "-show_packets")["packets"]) == 5001
    assert len(ff.probe(path, "-read_intervals", "208.2%+10", "-show_packets")["packets"]) in (4, 5)


@pytest.mark.parametrize("order, dominance", [("tff", 1), ("bff", 2)])
def test_interlaced(ff, tmp_path, order, dominance):
    path = tmp_path / "a.mxf"
    top = order == "tff"
    ff.ffmpeg(*source("yuv422p10le", 25), "-vf", f"setfield={order}", "-field_order", "tb" if top else "bt", "-c:v", "j2k_cuda",
              path)
    mxf = Mxf(path.read_bytes())
    items = mxf.picture()[1]
    assert items[0x320C] == b"\3" and items[0x3212] == bytes([dominance]) and u32(items, 0x3202) == 64
    stream = ff.probe(path, "-show_streams")["streams"][0]
    assert stream["field_order"] == ("tt" if top else "bb") and stream["height"] == 64, stream


def test_progressive(ff, tmp_path):
    mxf, _ = write(ff, tmp_path / "a.mxf")
    items = mxf.picture()[1]
    assert items[0x320C] == b"\0" and 0x3212 not in items


class LooseMxf(Mxf):
    """The sets of any MXF file."""

    def _check_partition(self, partition):
        for item in partition.items:
            if item.key == PRIMER or item.key[:13] == SET:
                self._read_set(item)

    def _check_references(self):
        pass

    _check_random_index = _check_index = _check_references

    def by_label(self, items):
        """{label without its version: value} of a set, because two programs choose their own tags."""
        return {self.primer[tag][:7] + self.primer[tag][8:]: value for tag, value in items.items()}


def test_real_film(ff, tmp_path, film):
    """A film of the IMF, copied, is described as the program that made it did."""
    ff.ffmpeg("-i", film, "-c", "copy", "-frames:v", 3, tmp_path / "a.mxf")
    copy, original = Mxf((tmp_path / "a.mxf").read_bytes()), LooseMxf(film.read_bytes())
    sets = [LooseMxf.by_label(copy, copy.picture()[1]), original.by_label(original.picture()[1]),
            LooseMxf.by_label(copy, copy.only("JPEG2000")), original.by_label(original.only("JPEG2000"))]
    names = ["instance", "duration", "track", "container", "sub-descriptor", "line map", "pixel layout"]
    tags = [0x3C0A, 0x3002, 0x3006, 0x3004, 0x8100, 0x320D, 0x3401]
    other = {copy.primer[tag][:7] + copy.primer[tag][8:]: name for name, tag in zip(names, tags)}
    for ours, theirs in (sets[:2], sets[2:]):
        common = ours.keys() & theirs.keys() - other.keys()
        assert len(common) >= 10
        for key in common:
            assert ours[key] == theirs[key], key.hex()
    # Two RGBA layouts of 12 bits differ in the fill bits behind them.
    assert copy.picture()[1][0x3401][:6] == original.picture()[1][0x3401][:6]
    assert label(copy) == label(original) == "060e2b340401010d0401020203010310"


# --- what other programs say ------------------------------------------------------------------------------------------


XYZ_12 = {"ColorSpace": "XYZ", "BitDepth": "12"}
RGB_12 = {"ColorSpace": "RGB", "BitDepth": "12"}
YUV_10 = {"ColorSpace": "YUV", "BitDepth": "10", "ChromaSubsampling": "4:2:2"}
MEDIAINFO = {  # Rsiz: pixel format, profile, level and the rest
    0x0000: ("yuv422p10le", "No restrictions", None, YUV_10),
    0x0003: ("xyz12le", "D-Cinema 2k", None, XYZ_12), 0x0004: ("xyz12le", "D-Cinema 4k", None, XYZ_12),
    0x0101: ("yuv422p10le", "BCS", "1", YUV_10), 0x0306: ("yuv422p10le", "BCMR", "6", YUV_10),
    0x0413: ("gbrp12le", "IMFS2k", "ML3SL1", RGB_12), 0x0526: ("gbrp12le", "IMFS4k", "ML6SL2", RGB_12),
    0x0617: ("gbrp12le", "IMFS8k", "ML7SL1", RGB_12), 0x0703: ("gbrp12le", "IMFMR2k", "ML3SL0", RGB_12),
    0x0806: ("gbrp12le", "IMFMR4k", "ML6SL0", RGB_12), 0x0907: ("gbrp12le", "IMFMR8k", "ML7SL0", RGB_12)}


@pytest.mark.parametrize("rsiz", MEDIAINFO, ids=lambda rsiz: f"{rsiz:04x}")
@pytest.mark.parametrize("muxer", ["mxf", "mxf_dcp", "mxf_imf"])
def test_mediainfo(ff, tmp_path, muxer, rsiz):
    """Profile, level, colour space and depth, as another program reads them."""
    if not shutil.which("mediainfo"):
        pytest.skip("mediainfo is not installed")
    fmt, profile, level, rest = MEDIAINFO[rsiz]
    wrap(ff, tmp_path, [with_rsiz(packet, rsiz) for packet in codestreams(ff, fmt)], "-strict", "unofficial", "-f", muxer)
    video = mediainfo(tmp_path / "copy.mxf", "Video")
    want = {"Format": "JPEG 2000", "Width": "96", "Height": "64", "FrameRate": "24.000", "FrameCount": "2",
            "Format_Settings_Wrapping": None if muxer == "mxf_imf" else "Frame",  # it does not know P1
            "Format_Profile": profile, "Format_Level": level, **rest}
    assert {name: video.get(name) for name in want} == want, video


@pytest.mark.parametrize("fmt", ["xyz12le", "yuv444p", "yuv444p10le", "yuv444p12le", "yuva444p12le", "yuv422p10le", "gray12le",
                                 "rgb24", "rgba"])
def test_read_back(ff, tmp_path, fmt):
    """The demuxer tells the decoder the pixel format, and every sample comes back."""
    path = tmp_path / "a.mxf"
    write(ff, path, "-lossless", 1, fmt=fmt)
    shown = pixel_format(ff, path)
    assert shown == {"gray12le": "gray16le"}.get(fmt, fmt), shown
    if shown == fmt:
        assert ff.frame_hashes("-i", path, "-c:v", "rawvideo") == ff.frame_hashes(*source(fmt), "-c:v", "rawvideo")


@pytest.mark.parametrize("fmt", ["yuv444p12le", "xyz12le", "gbrp12le"])
def test_red_stays_red(ff, tmp_path, fmt):
    path = tmp_path / "a.mxf"
    ff.ffmpeg("-f", "lavfi", "-i", "color=red:s=64x64:r=24", "-frames:v", 1, "-pix_fmt", fmt, "-c:v", "j2k_cuda", "-lossless", 1,
              path)
    pixel = ff.ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-").stdout[:3]
    assert pixel[0] > 245 and max(pixel[1:]) < 10, f"red is {tuple(pixel)}"


def test_old_files_stay(ff, tmp_path):
    """FFmpeg wrote CDCI for RGB, too, without layout and coding style: such files are read as before."""
    path = tmp_path / "a.mxf"
    write(ff, path, "-lossless", 1, fmt="yuv444p")
    data, mxf = path.read_bytes(), Mxf(path.read_bytes())
    for tag, shown in (0x840C, "yuv444p"), (0x840D, "rgb24"):  # layout, coding style
        entry = struct.pack(">H", tag) + mxf.primer[tag]
        assert data.count(entry) == 1
        data = data.replace(entry, entry[:-2] + b"\x7f\x7f")  # it becomes an unknown property
        path.write_bytes(data)
        assert pixel_format(ff, path) == shown


# --- what a copy keeps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt, limits", [("gbrp", (16, 235)), ("gbrp10le", (64, 940)), ("gbrp12le", (256, 3760))])
@pytest.mark.parametrize("kind", ["tv", "pc"])
def test_range_of_rgb(ff, tmp_path, fmt, limits, kind):
    """The demuxer reads the range of RGB, so that a copy describes it as the first file did."""
    write(ff, tmp_path / "a.mxf", "-vf", f"format={fmt},setparams=range={kind}", fmt=fmt)
    assert ff.probe(tmp_path / "a.mxf", "-show_streams")["streams"][0]["color_range"] == kind
    ff.ffmpeg("-i", tmp_path / "a.mxf", "-c", "copy", tmp_path / "b.mxf")
    _, items = Mxf((tmp_path / "b.mxf").read_bytes()).picture()
    depth = items[0x3401][1]
    assert (u32(items, 0x3407), u32(items, 0x3406)) == (limits if kind == "tv" else (0, (1 << depth) - 1))


def hdr_picture():
    """A PNG file of a picture with mastering display (P3, 1000 cd/m2), MaxCLL 993 and MaxFALL 362."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = b"".join(b"\0" + bytes((x * 3 + y * c) % 256 for x in range(96) for c in range(3)) for y in range(64))
    display = struct.pack(">8HII", 34000, 16000, 13250, 34500, 7500, 3000, 15635, 16450, 10000000, 50)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in (
        (b"IHDR", struct.pack(">IIBBBBB", 96, 64, 8, 2, 0, 0, 0)), (b"mDCv", display), (b"cLLi", struct.pack(">II", 9930000, 3620000)),
        (b"IDAT", zlib.compress(lines)), (b"IEND", b"")))


def hdr_of(ff, path):
    return {entry["side_data_type"]: {key: value for key, value in entry.items() if key != "side_data_type"}
            for entry in ff.probe(path, "-show_streams")["streams"][0].get("side_data_list", [])}


@pytest.mark.parametrize("muxer", ["mxf", "mxf_imf"])
def test_hdr_metadata(ff, tmp_path, muxer):
    """MaxCLL and MaxFALL are in the descriptor beside the mastering display, and go from MXF to MOV and back."""
    (tmp_path / "a.png").write_bytes(hdr_picture())
    ff.ffmpeg("-i", tmp_path / "a.png", "-vf", "setparams=color_primaries=smpte432:color_trc=smpte2084", "-c:v", "j2k_cuda", "-r", 24,
              "-profile:v", "imf_2k", "-b:v", "20M", "-f", muxer, tmp_path / "a.mxf")
    mxf = Mxf((tmp_path / "a.mxf").read_bytes())
    _, items = mxf.picture()
    assert (items[0x8305], items[0x8306]) == (struct.pack(">H", 993), struct.pack(">H", 362))
    assert mxf.primer[0x8305].hex() == "060e2b340101010e0e20040105030101" and len(items[0x8301]) == 12
    for name, source_name in (("b.mov", "a.mxf"), ("b.mxf", "b.mov")):
        ff.ffmpeg("-i", tmp_path / source_name, "-c", "copy", *(("-f", muxer) if name == "b.mxf" else ()), tmp_path / name)
        seen = hdr_of(ff, tmp_path / name)
        assert seen["Content light level metadata"] == {"max_content": 993, "max_average": 362}, seen
        assert seen == hdr_of(ff, tmp_path / "a.mxf")
    _, again = Mxf((tmp_path / "b.mxf").read_bytes()).picture()
    assert {tag: again[tag] for tag in range(0x8301, 0x8307)} == {tag: items[tag] for tag in range(0x8301, 0x8307)}


@pytest.mark.parametrize("muxer, rate", [("mxf", 25), ("mxf", "30000/1001"), ("mxf_imf", 24), ("mxf_dcp", 24)])
def test_timecode_of_one_frame(ff, tmp_path, muxer, rate):
    """One packet alone tells the frame rate, without which the MOV muxer has no timecode."""
    options = {"mxf": (), "mxf_imf": ("-profile:v", "imf_2k", "-b:v", "20M", "-vf", hd("gbrp")), "mxf_dcp": ("-profile:v", "cinema2k")}
    ff.ffmpeg(*source({"mxf": "yuv422p10le", "mxf_imf": "gbrp12le", "mxf_dcp": "xyz12le"}[muxer], rate, 1), "-timecode", "10:11:12:13",
              "-c:v", "j2k_cuda", *options[muxer], "-f", muxer, tmp_path / "a.mxf")
    stream = ff.probe(tmp_path / "a.mxf", "-show_streams")["streams"][0]
    assert fractions.Fraction(stream["avg_frame_rate"]) == fractions.Fraction(rate), stream
    log = ff.ffmpeg("-i", tmp_path / "a.mxf", "-c", "copy", tmp_path / "a.mov").text
    streams = ff.probe(tmp_path / "a.mov", "-show_streams")["streams"]
    assert [(s["codec_tag_string"], s["tags"]["timecode"]) for s in streams] == [(tag, "10:11:12:13") for tag in ("mjp2", "tmcd")], log


# --- frame rates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate, written", [("90000/3749", "24/1"), ("90000/1501", "60000/1001"), ("2997/100", "30000/1001"),
                                           ("23.98", "24000/1001"), ("11988/250", "48000/1001")])
def test_nearly_standard_rate(ff, tmp_path, rate, written):
    mxf, log = write(ff, tmp_path / "a.mxf", rate=rate, frames=5)
    assert re.search(f"Frame rate .* is written as {written}.* -r {written}", log), log
    num, den = map(int, written.split("/"))
    assert mxf.picture()[1][0x3001] == struct.pack(">II", num, den) and len(mxf.elements(PICTURE)) == 5
    assert ff.probe(tmp_path / "a.mxf", "-show_streams")["streams"][0]["r_frame_rate"] == written


@pytest.mark.parametrize("rate", ["24", "24000/1001", "25", "30000/1001", "48", "60000/1001", "120"])
def test_standard_rate(ff, tmp_path, rate):
    mxf, log = write(ff, tmp_path / "a.mxf", rate=rate)
    exact = fractions.Fraction(rate)
    assert mxf.picture()[1][0x3001] == struct.pack(">II", exact.numerator, exact.denominator)
    assert "rame rate" not in log, log


@pytest.mark.parametrize("rate, option", [("15", "-r 24"), ("24.1", "-r 24"), ("55", "-r "), ("1000", "-r 120")])
def test_other_rate(ff, tmp_path, rate, option):
    result = ff.ffmpeg(*source("yuv422p10le", rate), "-c:v", "j2k_cuda", tmp_path / "a.mxf", ok=False)
    assert "Unsupported frame rate" in result.text and option in result.text, result.text
    ff.ffmpeg(*source("yuv422p10le", rate), "-c:v", "j2k_cuda", "-strict", "unofficial", tmp_path / "a.mxf")
    Mxf((tmp_path / "a.mxf").read_bytes())


# --- sound ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hertz, rate", [(44100, 24), (44100, "30000/1001"), (48000, "30000/1001"), (96000, 25), (32000, 24)])
def test_sound(ff, tmp_path, hertz, rate):
    """The samples come back, and the duration is right, at any sample rate."""
    path, seconds = tmp_path / "a.mxf", 4
    sound = ["-f", "lavfi", "-i", f"sine=r={hertz}:d={seconds}"]
    log = ff.ffmpeg("-f", "lavfi", "-i", f"testsrc2=s=32x32:r={rate}:d={seconds}", *sound, "-c:v", "j2k_cuda", "-c:a", "pcm_s16le",
                    path).text
    assert ("-ar 48000" in log) == (hertz != 48000), log
    mxf = Mxf(path.read_bytes())
    want = ff.ffmpeg(*sound, "-f", "rawvideo", "-c:a", "pcm_s16le", "-map", 0, "-").stdout
    written = b"".join(mxf.elements(SOUND))
    assert written[:len(want)] == want[:len(written)] and not any(written[len(want):])
    streams = ff.probe(path, "-show_streams")["streams"]
    assert streams[1]["sample_rate"] == str(hertz) and streams[1]["codec_name"] == "pcm_s16le", streams[1]
    for stream in streams:
        assert abs(float(stream["duration"]) - seconds) < 0.05, stream
    read = ff.ffmpeg("-i", path, "-map", "0:a", "-f", "rawvideo", "-c:a", "copy", "-").stdout
    assert read == written
    times = [float(p["pts_time"]) for p in ff.probe(path, "-show_packets", "-select_streams", "a")["packets"]]
    step = 1 / fractions.Fraction(rate)
    assert all(abs(time - n * step) < 0.0001 + 1 / hertz for n, time in enumerate(times)), times
    check_seek(ff, path, written, hertz)
    if shutil.which("mediainfo"):
        shown = mediainfo(path, "Audio")
        assert shown["SamplingRate"] == str(hertz) and abs(float(shown["Duration"]) - seconds) < 0.05, shown


def check_seek(ff, path, written, hertz):
    """After a seek the sound goes on within one frame of the place."""
    read = ff.ffmpeg("-ss", 2, "-i", path, "-map", "0:a", "-f", "rawvideo", "-c:a", "copy", "-").stdout
    at = len(written) - len(read)
    assert abs(at / 2 / hertz - 2) < 0.05 and written[at:] == read, f"{at} bytes before 2 s"


def test_sound_beside_other_video(ff, tmp_path):
    """OP-Atom has only 48 kHz: the message names the option."""
    result = ff.ffmpeg("-f", "lavfi", "-i", "sine=r=44100:d=1", "-c:a", "pcm_s16le", "-f", "mxf_opatom", tmp_path / "a.mxf",
                       ok=False)
    assert "44100 Hz" in result.text and "-ar 48000" in result.text, result.text


# --- packets ----------------------------------------------------------------------------------------------------------


def cut_segment(data, marker):
    at = data.index(struct.pack(">H", marker))
    return data[:at] + data[at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]:]


@pytest.mark.parametrize("change, says", [
    (lambda p: b"\0" + p[1:], "starts with 004f, not with SOC"),
    (lambda p: p[:2] + p[4 + struct.unpack(">H", p[4:6])[0]:], "behind SOC, not SIZ"),
    (lambda p: p[:60], "bytes are left"),
    (lambda p: cut_segment(p, 0xFF52), "a COD of 0"),
    (lambda p: cut_segment(p, 0xFF5C), "a QCD of 0"),
    (lambda p: p[:4] + b"\xff\xff" + p[6:], "bytes are left"),
    (lambda p: p[:40] + b"\0\5" + p[42:], "SIZ has 5 components"),
    (lambda p: p[:43] + b"\0" + p[44:], "sampling 0x1"),
    (lambda p: with_rsiz(p, 1), "frame 1 has other SIZ values"),
], ids=["soc", "siz", "short", "cod", "qcd", "length", "components", "sampling", "rsiz"])
def test_bad_packet(ff, tmp_path, change, says):
    first, second = codestreams(ff, "rgb24")
    _, log = wrap(ff, tmp_path, [first, change(second)], ok=False)
    assert says in log, log


def test_other_size(ff, tmp_path):
    """Two packets that differ: the file would say something wrong about the second."""
    first = codestreams(ff, "rgb24", 1) + codestreams(ff, "rgb24", 1)
    small = ff.packets(fmt="rgb24", width=64, height=64)
    _, log = wrap(ff, tmp_path, first + small, ok=False)
    assert "frame 2 has other SIZ values (64x64, 3 components of 8 bits, Rsiz 0000) than the first frame (96x64" in log, log


def test_other_cod(ff, tmp_path):
    packets = codestreams(ff, "rgb24", 1) + 2 * codestreams(ff, "rgb24", 1, ("-levels", 2))
    mxf, log = wrap(ff, tmp_path, packets)
    assert log.count("another COD or QCD") == 1 and "frame 1 has" in log, log
    assert mxf.elements(PICTURE) == packets


def test_jp2(ff, tmp_path):
    """MXF carries codestreams: the boxes go, with one warning."""
    raw = codestreams(ff, "yuv422p10le")
    boxed = ff.packets("-lossless", 1, "-format", "jp2", fmt="yuv422p10le", frames=noise("yuv422p10le", W, H, 2))
    mxf, log = wrap(ff, tmp_path, boxed, extension="jp2")
    assert mxf.elements(PICTURE) == raw and log.count("JP2 files") == 1, log


@pytest.mark.parametrize("cut, says", [(lambda p: p[:200], "but the packet only"), (lambda p: p[:32], "no codestream")])
def test_bad_jp2(ff, tmp_path, cut, says):
    first, second = ff.packets("-format", "jp2", fmt="rgb24", frames=noise("rgb24", W, H, 2))
    _, log = wrap(ff, tmp_path, [first, cut(second)], extension="jp2", ok=False)
    assert says in log, log


def test_palette(ff, tmp_path):
    """FFmpeg's own encoder writes a palette box, which MXF has no place for."""
    result = ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x64:r=24:d=0.1", "-pix_fmt", "pal8", "-c:v", "jpeg2000",
                       tmp_path / "a.mxf", ok=False)
    assert "palette" in result.text and "-pix_fmt rgb24" in result.text, result.text

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The bitstream filter j2k_transcode: packets from Part 1 to HTJ2K and back, and under a cap."""

import re

import pytest

from codestream import SIZ, Codestream, from_jp2, split
from klv import Mxf
from tools import find_tool, mxf_is_patched, reads_ht, run

HT, PART_1 = 0x40, 0
LABELS = {HT: "060e2b340401010d0401020203010801", PART_1: "060e2b34040101070401020203010100"}
FIELDS = ("-vf", "setfield=tff", "-flags", "+ildct")
RATES = {"lossless": ("-lossless", 1), "rate": ("-b:v", "3M"), "layers": ("-b:v", "3M", "-layers", 3)}


@pytest.fixture
def tool():
    if not (path := find_tool("cj2k", "cj2k", "CJ2K_TOOL")):
        pytest.skip("no cj2k: set CJ2K_TOOL")
    return path


def source(fmt="yuv422p10le", size="160x120", frames=3):
    return ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate=25", "-frames:v", frames, "-pix_fmt", fmt]


def encode(ff, path, *options, **kw):
    ff.ffmpeg(*source(**kw), "-c:v", "j2k_cuda", *options, path)


def transcode(ff, source_path, path, options="", *more, ok=True, log="warning"):
    """Copies a film through the filter."""
    name = "j2k_transcode" + (f"={options}" if options else "")
    return ff.ffmpeg("-xerror", "-i", source_path, "-map", 0, "-c", "copy", "-bsf:v", name, *more, path, ok=ok, log=log).text


def by_tool(tool, tmp_path, data, *options):
    """What `cj2k transcode` makes of a packet."""
    names = tmp_path / "tool.in", tmp_path / "tool.out"
    names[0].write_bytes(data)
    run(tool, "transcode", *options, *names)
    return names[1].read_bytes()


def style(codestream):
    return codestream.cblk_style


# --- there and back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension, packing", [("mov", "j2k"), ("mov", "jp2"), ("mkv", "j2k"), ("mxf", "j2k"), ("nut", "jp2")])
@pytest.mark.parametrize("rate", RATES)
def test_there_and_back(ff, tmp_path, extension, packing, rate):
    """The decoded frames stay, and Part 1 without loss comes back as the same bytes."""
    files = [tmp_path / f"{name}.{extension}" for name in ("part1", "ht", "back")]
    encode(ff, files[0], "-format", packing, *RATES[rate])
    transcode(ff, files[0], files[1], "coder=ht")
    transcode(ff, files[1], files[2])
    packets = [ff.copied_packets("-i", path) for path in files]
    parse = Codestream if packing == "j2k" else lambda data: from_jp2(data)[0]
    assert [[style(parse(data)) for data in film] for film in packets] == [[PART_1] * 3, [HT] * 3, [PART_1] * 3]
    if packing == "jp2":
        assert [data[20:24] for film in packets for data in film[:1]] == [b"jp2 ", b"jph ", b"jp2 "]
    if rate == "lossless":
        assert packets[2] == packets[0]
    assert {parse(data).layers for film in packets for data in film} == {3 if rate == "layers" else 1}
    straight = [tmp_path / f"{number}.{extension}" for number in (0, 1)]
    for path, out in zip(files, straight):
        transcode(ff, path, out, "coder=ebcot:layers=1")
    assert ff.copied_packets("-i", straight[0]) == ff.copied_packets("-i", straight[1])
    want = ff.frame_hashes("-i", files[0])
    assert len(want) == 3 and ff.frame_hashes("-i", files[2]) == want
    if reads_ht(ff, 8):
        assert ff.frame_hashes("-i", files[1]) == want
    times = [[(p["pts"], p["dts"], p["duration"], p["flags"]) for p in ff.probe(path, "-show_packets")["packets"]] for path in files]
    assert times[0] == times[1] == times[2]


@pytest.mark.parametrize("extension, packing", [("j2c", "j2k"), ("jp2", "jp2"), ("jph", "jp2")])
def test_files(ff, tmp_path, extension, packing):
    """image2, whose names say what the files are."""
    if extension == "jph" and not mxf_is_patched(ff):
        pytest.skip("image2 of this FFmpeg does not know .jph")
    encode(ff, tmp_path / f"%d.{'j2c' if packing == 'j2k' else 'jp2'}", "-format", packing, "-lossless", 1, fmt="rgb24")
    transcode(ff, tmp_path / f"%d.{'j2c' if packing == 'j2k' else 'jp2'}", tmp_path / f"ht%d.{extension}", "coder=ht")
    for number in (1, 2, 3):
        data = (tmp_path / f"ht{number}.{extension}").read_bytes()
        assert style(Codestream(data) if packing == "j2k" else from_jp2(data)[0]) == HT
    if reads_ht(ff, 8):
        assert ff.frame_hashes("-i", tmp_path / f"ht%d.{extension}", "-pix_fmt", "rgb24") == ff.frame_hashes(*source("rgb24"))


@pytest.mark.parametrize("options", [("-lossless", 1), ("-b:v", "4M", "-layers", 2), ("-coder", "ht", "-b:v", "4M")],
                         ids=["lossless", "layers", "ht"])
@pytest.mark.parametrize("to", ["auto", "ebcot", "ht", "one", "recap"])
def test_same_as_the_tool(ff, tool, tmp_path, options, to):
    """The bytes are those of `cj2k transcode`, with any number of threads."""
    encode(ff, tmp_path / "a.mov", *options)
    of_filter, of_tool = {"auto": ("", ()), "one": ("layers=1", ("--one-layer",)), "recap": ("max_bytes=9000", ("--recap", 9000))}.get(to, (f"coder={to}", ("--coder", to)))
    want = [by_tool(tool, tmp_path, data, *of_tool) for data in ff.copied_packets("-i", tmp_path / "a.mov")]
    for threads in (0, 1, 3):
        path = tmp_path / f"{threads}.mov"
        transcode(ff, tmp_path / "a.mov", path, f"{of_filter}:threads={threads}" if of_filter else f"threads={threads}")
        assert ff.copied_packets("-i", path) == want, f"{threads} threads"


# --- what containers say ----------------------------------------------------------------------------------------------


def check_label(path, kind):
    """The picture essence coding and the sub-descriptor are those of the packets."""
    mxf = Mxf(path.read_bytes())
    assert mxf.picture()[1][0x3201].hex() == LABELS[kind]
    items = mxf.only("JPEG2000")
    packet = split(mxf.elements(0x15)[0])[0]
    stream = Codestream(packet)
    assert style(stream) == kind and items[0x8401] == stream.main[SIZ][0][:2]
    assert (0x840F in items) == (kind == HT)
    if kind == HT:
        assert items[0x840F][12:] == stream.main[0xFF50][0][4:] and items[0x8401] == b"\x40\0"
    return mxf


@pytest.mark.parametrize("muxer", ["mxf", "mxf_opatom"])
@pytest.mark.parametrize("options", [("-lossless", 1), ("-profile:v", "cinema2k")], ids=["lossless", "cinema"])
def test_mxf_labels(ff, tmp_path, muxer, options):
    if not mxf_is_patched(ff):
        pytest.skip("this FFmpeg has no MXF patch")
    fmt, size = ("xyz12le", "2048x858") if "cinema2k" in options else ("yuv422p10le", "160x120")
    encode(ff, tmp_path / "a.mov", *options, fmt=fmt, size=size, frames=1)
    files = [tmp_path / "ht.mxf", tmp_path / "back.mxf"]
    transcode(ff, tmp_path / "a.mov", files[0], "coder=ht", "-f", muxer, "-strict", "unofficial")
    transcode(ff, files[0], files[1], "", "-f", muxer, "-strict", "unofficial")
    for path, kind in zip(files, (HT, PART_1)):
        check_label(path, kind)


def test_profile(ff, tmp_path):
    """The profile of the stream is that of the packets, whatever container it is."""
    encode(ff, tmp_path / "a.mov", "-profile:v", "cinema2k", fmt="xyz12le", size="2048x858", frames=1)
    says = re.compile(r"Output #0.*?Video: jpeg2000( \(JPEG 2000 digital cinema 2K\))?", re.DOTALL)
    for options, keeps in (("coder=ht", False), ("coder=ebcot", False), ("max_bytes=100000", True)):
        log = transcode(ff, tmp_path / "a.mov", tmp_path / "b.mov", options, log="info")
        assert bool(says.search(log)[1]) == keeps, log
        rsiz = Codestream(ff.copied_packets("-i", tmp_path / "b.mov")[0]).main[SIZ][0][:2]
        assert (rsiz == b"\0\3") == keeps, rsiz


@pytest.mark.parametrize("extension", ["mxf", "mov"])
def test_fields(ff, tool, tmp_path, extension):
    """Each field of a packet is transcoded."""
    files = [tmp_path / f"{name}.{extension}" for name in ("part1", "ht", "back")]
    encode(ff, files[0], "-lossless", 1, *FIELDS)
    transcode(ff, files[0], files[1], "coder=ht")
    transcode(ff, files[1], files[2], "coder=ebcot")
    packets = [ff.copied_packets("-i", path) for path in files]
    assert packets[2] == packets[0]
    want = [[by_tool(tool, tmp_path, field, "--coder", "ht") for field in split(data)] for data in packets[0]]
    assert [split(data) for data in packets[1]] == want and {len(fields) for fields in want} == {2}
    if extension == "mxf" and mxf_is_patched(ff):
        mxf = check_label(files[1], HT)
        assert mxf.picture()[1][0x320C] == b"\1"  # separate fields
    if reads_ht(ff, 8):
        assert ff.frame_hashes("-i", files[1]) == ff.frame_hashes(*source())


# --- fewer bytes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [5000, 8000, 12000])
@pytest.mark.parametrize("options", [("-lossless", 1), ("-coder", "ht", "-b:v", "4M"), ("-lossless", 1, "-format", "jp2"),
                                     ("-lossless", 1, *FIELDS)], ids=["lossless", "ht", "jp2", "fields"])
def test_max_bytes(ff, tmp_path, options, cap):
    """No packet has a byte more, and the cap is used."""
    encode(ff, tmp_path / "a.mov", *options)
    transcode(ff, tmp_path / "a.mov", tmp_path / "b.mov", f"max_bytes={cap}")
    packets = ff.copied_packets("-i", tmp_path / "b.mov")
    assert len(packets) == 3
    for data in packets:
        assert cap * 0.98 < len(data) <= cap
        parts = [from_jp2(data)[0]] if "jp2" in options else [Codestream(field) for field in split(data)]
        assert [style(part) for part in parts] == [PART_1] * (2 if "-flags" in options else 1)
    assert len(ff.frame_hashes("-i", tmp_path / "b.mov")) == 3


def test_max_bytes_too_few(ff, tmp_path):
    encode(ff, tmp_path / "a.mov", "-lossless", 1)
    log = transcode(ff, tmp_path / "a.mov", tmp_path / "b.mov", "max_bytes=50", ok=False)
    assert re.search(r"j2k_transcode.*the headers take \d+ bytes, more than the 50 that", log), log


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, says", [("coder=mp3", "mp3"), ("coder=2", "2"), ("threads=2000", "2000"), ("layers=2", "2"), ("max_bytes=-1", "-1"),
                                           ("coder=ht:max_bytes=1000", "max_bytes makes codestreams of Part 1, not coder=ht")])
def test_bad_options(ff, tmp_path, options, says):
    encode(ff, tmp_path / "a.mov", frames=1)
    assert says in transcode(ff, tmp_path / "a.mov", tmp_path / "b.mov", options, ok=False)


@pytest.mark.parametrize("change, says", [
    (lambda p: p[:len(p) // 2] + bytes(len(p) - len(p) // 2), "Psot|EOC|SOT|damaged|packet"),
    (lambda p: b"\0" + p[1:], "no SOC"),
    (lambda p: p[:6] + b"\x80" + p[7:], "Part 2")], ids=["end", "soc", "part2"])
def test_damaged_packet(ff, tmp_path, change, says):
    """The error says why. With -xerror it ends the job; else the other packets pass."""
    encode(ff, tmp_path / "a.mov", "-lossless", 1, frames=4)
    packets = ff.copied_packets("-i", tmp_path / "a.mov")
    data = (tmp_path / "a.mov").read_bytes()
    assert data.count(packets[2]) == 1
    (tmp_path / "a.mov").write_bytes(data.replace(packets[2], change(packets[2])))
    log = transcode(ff, tmp_path / "a.mov", tmp_path / "b.mov", ok=False)
    assert re.search(rf"j2k_transcode @ .*({says})", log), log
    log = ff.ffmpeg("-i", tmp_path / "a.mov", "-c", "copy", "-bsf:v", "j2k_transcode", tmp_path / "b.mov", ok=None).text
    assert re.search(rf"j2k_transcode @ .*({says})", log), log
    assert [style(Codestream(data)) for data in ff.copied_packets("-i", tmp_path / "b.mov")] == [HT] * 3


def test_second_field_is_damaged(ff, tmp_path):
    encode(ff, tmp_path / "a.mov", "-lossless", 1, *FIELDS, frames=2)
    packet = ff.copied_packets("-i", tmp_path / "a.mov")[1]
    second = split(packet)[1]
    data = (tmp_path / "a.mov").read_bytes()
    (tmp_path / "a.mov").write_bytes(data.replace(second, second[:6] + b"\x80" + second[7:]))
    assert "field 2: " in (log := transcode(ff, tmp_path / "a.mov", tmp_path / "b.mov", ok=False)) and "Part 2" in log, log


def test_other_codecs(ff, tmp_path):
    ff.ffmpeg(*source("rgb24", frames=1), "-c:v", "png", tmp_path / "a.mov")
    assert "not supported by the bitstream filter" in transcode(ff, tmp_path / "a.mov", tmp_path / "b.mov", ok=False)

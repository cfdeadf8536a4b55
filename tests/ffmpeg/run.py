#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests the encoder j2k_cuda of one built FFmpeg.

    tests/ffmpeg/run.py --ffmpeg build/ffmpeg-7.1/ffmpeg [--only WORD] [--media DIR] [--frames N]

Everything it encodes it makes itself, seeded. With --media (default ../shared/media, if there) the main job also runs on
a real film. Exit status 1 if a test fails. What ffmpeg says with its exit status is never trusted alone: bytes, samples
and messages are compared.
"""

import argparse
import array
import fractions
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the checkout stays clean

import pixfmt
from codestream import PLT, SOP, TLM, Codestream, from_jp2

ARGS = None
TMP = None
TESTS = []
W, H = 96, 64


def test(fn):
    TESTS.append((fn.__name__, fn))
    return fn


class Skip(Exception):
    pass


# --- helpers ----------------------------------------------------------------------------------------------------------


def run(tool, *args, data=None, ok=True):
    """Runs a tool; ok: True = must succeed, False = must fail, None = either."""
    r = subprocess.run([str(tool), *map(str, args)], input=data, capture_output=True, timeout=600)
    r.text = r.stderr.decode("utf-8", "replace")
    if ok is not None:
        assert (r.returncode == 0) == ok, f"exit status {r.returncode} of {tool} {' '.join(map(str, args))}\n{r.text[-1500:]}"
    assert r.returncode >= 0 and r.returncode not in (134, 139), f"{tool} crashed: {r.returncode}\n{r.text[-1500:]}"
    return r


def ffmpeg(*args, data=None, ok=True, log="warning"):
    stdin = [] if data is not None else ["-nostdin"]
    return run(ARGS.ffmpeg, "-hide_banner", "-loglevel", log, *stdin, "-y", *args, data=data, ok=ok)


def ffprobe(path, *args):
    out = run(ARGS.ffprobe, "-v", "error", "-of", "json", *args, path).stdout
    return json.loads(out)


def raw_input(fmt, width, height, rate=25):
    return ["-f", "rawvideo", "-pixel_format", fmt, "-video_size", f"{width}x{height}", "-framerate", rate, "-i", "pipe:0"]


def noise(fmt_name, width, height, frames, seed=1):
    """Random samples over the full range, so that every bit of every component is exercised."""
    f = pixfmt.parse(fmt_name)
    rng = random.Random(f"{fmt_name} {seed}")
    out = []
    for _ in range(frames):
        samples = []
        for c in range(f.num_components):
            w, h = f.size(c, width, height)
            samples.append([rng.getrandbits(f.depth) for _ in range(w * h)])
        out.append(samples)
    return out


def packed(fmt_name, width, height, frames):
    f = pixfmt.parse(fmt_name)
    return b"".join(f.pack(s, width, height) for s in frames)


def encode(*options, fmt="rgb24", width=W, height=H, frames=None, rate=25, ext="j2c", ok=True, log="warning", data=None):
    """Encodes and returns the bytes of every packet."""
    frames = noise(fmt, width, height, 1) if frames is None else frames
    out = pathlib.Path(tempfile.mkdtemp(dir=TMP))
    r = ffmpeg(*raw_input(fmt, width, height, rate), "-c:v", "j2k_cuda", *options, "-f", "image2", out / f"%04d.{ext}",
               data=packed(fmt, width, height, frames) if data is None else data, ok=ok, log=log)
    encode.log = r.text
    packets = [p.read_bytes() for p in sorted(out.iterdir())]
    shutil.rmtree(out)
    if ok:
        assert len(packets) == len(frames), f"{len(packets)} packets of {len(frames)} frames\n{r.text}"
    return packets


def parsed(*options, **kw):
    return Codestream(encode(*options, **kw)[0])


def smooth(fmt_name, width, height, frames):
    """A picture with detail and a little noise, as the rate tests want it."""
    f = pixfmt.parse(fmt_name)
    rng = random.Random(f"smooth {fmt_name}")
    top = (1 << f.depth) - 1
    out = []
    for n in range(frames):
        samples = []
        for c in range(f.num_components):
            w, h = f.size(c, width, height)
            samples.append([min(top, max(0, int(top * (0.5 + 0.35 * ((x * (c + 3) + y * 5 + 7 * n) % 61 / 61 - 0.5) +
                                                       rng.gauss(0, 0.02))))) for y in range(h) for x in range(w)])
        out.append(samples)
    return out


def opj_samples(data, fmt, width, height):
    """What opj_decompress makes of a codestream: one list per component, or None where it would convert to RGB."""
    if not ARGS.opj or fmt.num_components == 3 and fmt.size(1, 4, 4) in ((2, 2), (2, 4)):
        return None
    path = pathlib.Path(tempfile.mkdtemp(dir=TMP))
    (path / "a.j2k").write_bytes(data)
    run(ARGS.opj, "-i", path / "a.j2k", "-o", path / "a.pgx")
    out = []
    for c in range(fmt.num_components):
        header, raw = (path / f"a_{c}.pgx").read_bytes().split(b"\n", 1)
        assert header.split() == [b"PG", b"ML", b"+", *(b"%d" % n for n in (fmt.depth, *fmt.size(c, width, height)))], header
        words = array.array("B" if fmt.depth <= 8 else "H", raw)
        if sys.byteorder == "little":
            words.byteswap()
        out.append(list(words))
    shutil.rmtree(path)
    return out


def ffmpeg_samples(data, width, height):
    """What FFmpeg's own decoder makes of a codestream: (format, samples)."""
    path = pathlib.Path(tempfile.mkdtemp(dir=TMP))
    (path / "a.j2k").write_bytes(data)
    info = ffprobe(path / "a.j2k", "-show_streams")["streams"][0]
    assert (info["width"], info["height"]) == (width, height), info
    f = pixfmt.parse(info.get("pix_fmt", "none"))
    assert f, f"Unknown pix_fmt {info.get('pix_fmt')}"
    raw = ffmpeg("-c:v", "jpeg2000", "-i", path / "a.j2k", "-f", "rawvideo", "-pix_fmt", info["pix_fmt"], "-").stdout
    shutil.rmtree(path)
    return f, f.unpack(raw, width, height)


def check_lossless(data, fmt, samples, width, height):
    """Every decoder that can show these components must give exactly `samples`. Returns how many could."""
    oracles = 0
    got = opj_samples(data, fmt, width, height)
    if got is not None:
        assert got == samples, "opj_decompress: samples differ"
        oracles += 1
    try:
        f, got = ffmpeg_samples(data, width, height)
    except AssertionError as e:
        if not re.search("Unknown pix_fmt|Invalid data|not supported|unsupported", str(e), re.IGNORECASE) or not oracles:
            raise
        return oracles  # FFmpeg has no pixel format for it
    same_layout = f.num_components == fmt.num_components and f.depth >= fmt.depth and all(
        f.size(c, width, height) == fmt.size(c, width, height) for c in range(fmt.num_components))
    if same_layout:
        # Where FFmpeg has no format of this depth it takes a deeper one, with the samples shifted up (packed) or not.
        up = f.depth - fmt.depth
        assert got in (samples, [[v << up for v in s] for s in samples]), f"FFmpeg ({f.name}): samples differ"
        oracles += 1
    return oracles


def encoder_help():
    if not hasattr(encoder_help, "text"):
        encoder_help.text = ffmpeg("-h", "encoder=j2k_cuda", log="info").stdout.decode()
    return encoder_help.text


def formats():
    return re.search(r"Supported pixel formats: (.*)", encoder_help())[1].split()


def bytes_per_frame(bits_per_second, rate):
    return int(bits_per_second / 8 / fractions.Fraction(str(rate)))


def same(*runs, **kw):
    first = encode(*runs[0], **kw)
    for options in runs[1:]:
        assert encode(*options, **kw) == first, f"{options} and {runs[0]} give other bytes"


def refused(*options, says, **kw):
    """The command must fail and its message hold every word of `says`."""
    packets = encode(*options, ok=False, **kw)
    assert not packets, f"{len(packets)} packets in spite of the error"
    for word in says:
        assert word in encode.log, f"{word!r} is not in the message:\n{encode.log}"


# --- the encoder and its options --------------------------------------------------------------------------------------


@test
def help_lists_every_option():
    text = encoder_help()
    for name in ("format gop async_depth device tier1 stop stop_margin lossless pred irreversible mct levels numresolution cblk tile "
                 "tile_width tile_height precincts prog prog_order layers layer_rates sop eph max_component_rate "
                 "min_frame_bytes cj2k-params").split():
        assert re.search(rf"^\s+-{name} ", text, re.M), f"no option {name} in\n{text}"
    for option, values in (("stop", "none exact pst psb bpi"), ("tier1", "auto classic cibo fused")):
        listed = re.search(rf"^\s+-{option} .*\n((?: {{5,}}\w+ .*\n)+)", text, re.M)[1]
        assert [line.split()[0] for line in listed.splitlines()] == values.split(), listed
    assert re.search(r"General capabilities:.*\bdr1\b.*\bdelay\b", text), text
    assert "Threading capabilities: other" in text, text


@test
def jpeg2000_stays_the_default_encoder():
    log = ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:d=0.04", "-f", "image2", TMP / "default.j2k", log="info").text
    assert "-> jpeg2000 (native)" in log, log
    assert "j2k_cuda" not in log, log


@test
def defaults():
    c = parsed()
    assert (c.width, c.height, c.depths, c.subsampling) == (W, H, [8] * 3, [(1, 1)] * 3)
    assert (c.tile_width, c.tile_height) == (W, H)
    assert (c.progression, c.layers, c.levels, c.cblk, c.cblk_style, c.wavelet) == (0, 1, 5, (64, 64), 0, "9/7")
    assert c.scod == 0 and TLM in c.main and len(c.tile_parts) == 1
    assert re.fullmatch(r"libcj2k \d+\.\d+\.\d+", c.comments[0]), c.comments


@test
def levels():
    for n in (0, 1, 4, 32):
        assert parsed("-levels", n).levels == n
    for n in (1, 7, 33):
        assert parsed("-numresolution", n).levels == n - 1


@test
def code_blocks():
    for size in ((4, 4), (32, 16), (16, 256), (1024, 4)):
        assert parsed("-cblk", "%dx%d" % size).cblk == size
    assert parsed("-cblk", "32").cblk == (32, 32)


@test
def wavelets():
    for options, wavelet in ((("-pred", "dwt97int"), "9/7"), (("-pred", "dwt53"), "5/3"), (("-irreversible", 1), "9/7"),
                             (("-irreversible", 0), "5/3"), (("-lossless", 1), "5/3")):
        assert parsed(*options).wavelet == wavelet, options
    refused("-lossless", 1, "-irreversible", 1, says=["irreversible 1", "lossless 1"])
    refused("-pred", "dwt53", "-irreversible", 1, says=["irreversible 1", "pred dwt53"])


@test
def colour_transform():
    for fmt, auto in (("rgb24", 1), ("gbrp12le", 1), ("bgra", 1), ("xyz12le", 1), ("yuv444p", 0), ("yuv420p", 0),
                      ("yuva444p", 0), ("gray", 0), ("ya8", 0), ("nv24", 0)):
        assert parsed(fmt=fmt).mct == auto, f"{fmt}: auto"
        assert parsed("-mct", "off", fmt=fmt).mct == 0, f"{fmt}: off"
    for fmt in ("rgb24", "yuv444p"):
        assert parsed("-mct", "on", fmt=fmt).mct == 1, f"{fmt}: on"
    refused("-mct", "on", fmt="yuv420p", says=["mct"])
    refused("-mct", "on", fmt="gray", says=["mct"])


@test
def tiles():
    c = parsed("-tile", "64x48")
    assert (c.tile_width, c.tile_height, len(c.tile_parts)) == (64, 48, 4)
    c = parsed("-tile_width", 40, "-tile_height", 64)
    assert (c.tile_width, c.tile_height, len(c.tile_parts)) == (40, 64, 3)
    assert parsed("-tile_width", 40).tile_height == H
    # More than one TLM marker segment, of a length that FFmpeg's decoder takes.
    frames = noise("rgb24", W, H, 1)
    c = parsed("-lossless", 1, "-levels", 1, "-tile", "4x4", frames=frames)
    assert [(len(b) - 2) // 6 for b in c.main[TLM]] == [255, 129], c.main[TLM]
    assert ffmpeg_samples(c.data, W, H)[1] == frames[0]


@test
def precincts():
    c = parsed("-precincts", "256x128,64x64", "-levels", 3)
    assert c.scod & 1 and c.precincts == [(256, 128), (64, 64), (64, 64), (64, 64)], c.precincts
    assert parsed("-precincts", "128", "-levels", 1).precincts == [(128, 128)] * 2


@test
def progressions():
    for n, name in enumerate("lrcp rlcp rpcl pcrl cprl".split()):
        assert parsed("-prog", name).progression == n, name
        assert parsed("-prog_order", name).progression == n, name


@test
def layers():
    assert parsed("-layers", 5).layers == 5
    data = encode("-layer_rates", "40,20,10")[0]
    assert Codestream(data).layers == 3
    assert 0.9 * W * H * 3 / 10 < len(data) <= W * H * 3 / 10 + 64, len(data)


@test
def sop_and_eph():
    plain, marked = parsed(), parsed("-sop", 1, "-eph", 1)
    assert not plain.scod & 6 and marked.scod & 6 == 6
    packets = 6 * 3
    sops = [m.start() for m in re.finditer(b"\xff\x91\x00\x04", marked.tile_parts[0][3])]
    assert len(sops) == packets, f"{len(sops)} SOP, not {packets}"
    assert marked.tile_parts[0][3].count(b"\xff\x92") == packets
    assert len(marked.data) == len(plain.data) + packets * 8


@test
def formats_of_a_packet():
    assert encode()[0][:4] == b"\xff\x4f\xff\x51"
    for fmt, enumerated in (("rgb24", 16), ("gray", 17), ("yuv420p", 18), ("yuva444p", 18), ("ya8", 17)):
        raw, jp2 = encode(fmt=fmt)[0], encode("-format", "jp2", fmt=fmt)[0]
        c, boxes = from_jp2(jp2)
        assert c.data == raw, "the codestream in the JP2 file is another one"
        assert boxes == ["jP  ", "ftyp", "jp2h", "jp2c"], boxes
        at = jp2.index(b"colr")
        assert int.from_bytes(jp2[at + 7 : at + 11], "big") == enumerated, f"{fmt}: {jp2[at : at + 11].hex()}"
        if fmt not in ("yuva444p", "ya8"):
            assert b"cdef" not in jp2, fmt
        else:  # the last channel is opacity, of the whole image
            last = jp2.index(b"cdef") + 6 + 6 * (c.num_components - 1)
            assert jp2[last : last + 6] == bytes([0, c.num_components - 1, 0, 1, 0, 0]), jp2[last : last + 6].hex()


@test
def further_parameters():
    c = parsed("-cj2k-params", "plt=1:tlm=0:guard_bits=3:comment=hello:cblk_style=bypass+segsym")
    assert PLT in c.tile_parts[0][2] and TLM not in c.main and c.guard_bits == 3
    assert c.comments == ["hello"] and c.cblk_style == 33
    assert parsed("-levels", 2, "-cj2k-params", "levels=4").levels == 4, "cj2k-params must win"
    refused("-cj2k-params", "nonsense=1", says=["nonsense"])
    refused("-cj2k-params", "guard_bits=8", says=["guard_bits", "8", "[1, 7]"])
    for key in "width height num_components depth is_signed dx dy".split():
        refused("-cj2k-params", f"{key}=1", says=[f"{key} is given by the picture"])


@test
def bitexact_has_no_version():
    assert parsed("-flags", "+bitexact").comments == ["libcj2k"]


@test
def running_options_change_no_byte():
    frames = noise("yuv422p10le", 200, 120, 5)
    same((), ("-threads", 1), ("-threads", 2), ("-threads", 7), ("-gop", 1), ("-gop", 4), ("-async_depth", 1), ("-async_depth", 8),
         ("-flags", "+low_delay"), ("-device", "cpu"), ("-device", "auto"), ("-stop", "none"), ("-gop", 3, "-threads", 3),
         ("-gop", 4, "-async_depth", 3), ("-gop", 2, "-flags", "+low_delay"), ("-tier1", "classic"), ("-tier1", "cibo"),
         ("-tier1", "fused"), ("-stop", "exact", "-stop_margin", 0),
         fmt="yuv422p10le", width=200, height=120, frames=frames)
    same(("-b:v", "1M"), ("-b:v", "1M", "-threads", 1), ("-b:v", "1M", "-threads", 7, "-gop", 5),
         fmt="yuv422p10le", width=200, height=120, frames=frames)


@test
def stop_exact_codes_less_for_the_same_size():
    def passes(stop):
        encode("-b:v", "20M", "-cblk", "16x16", "-stop", stop, fmt="rgb24", width=512, height=256,
               frames=noise("rgb24", 512, 256, 1), log="verbose")
        return tuple(map(int, re.search(r"passes (\d+) coded (\d+) included \d+ resumed (\d+) left out",
                                        encode.log).groups()))
    (all_coded, all_kept, none_left), (coded, kept, left) = passes("none"), passes("exact")
    assert none_left == 0 and coded + left == all_coded, (all_coded, none_left, coded, left)
    assert coded < 0.8 * all_coded, (coded, all_coded)
    assert abs(kept - all_kept) < 0.02 * all_kept, (kept, all_kept)


@test
def every_stop_keeps_the_cap():
    frames, cap = noise("rgb24", 512, 256, 3), bytes_per_frame(20000000, 25)
    sizes = {}
    for stop in "none exact pst psb bpi".split():
        packets = encode("-b:v", "20M", "-cblk", "16x16", "-stop", stop, width=512, height=256, frames=frames)
        sizes[stop] = [len(p) for p in packets]
        assert all(size <= cap for size in sizes[stop]), (sizes, cap)
        for p in packets:
            Codestream(p)
    for stop in "none", "exact":
        for size in sizes[stop]:
            check_used(size, cap, stop)


@test
def verbose_tells_of_every_frame():
    packets = encode("-gop", 2, frames=noise("rgb24", W, H, 3), log="verbose")
    lines = [tuple(map(int, x)) for x in re.findall(
        r"frame (\d+) \((\d+) of its GOP\): (\d+) bytes, headers \d+, passes (\d+) coded (\d+) included (\d+) resumed "
        r"\d+ left out, (\d+) bytes coded, slope \d+, ms: ingest [\d.]+ dwt [\d.]+ tier-1 [\d.]+ \(about \d+ saved\) "
        r"rate [\d.]+ packets [\d.]+", encode.log)]
    assert [(n, size) for n, _, size, *_ in lines] == [(n, len(p)) for n, p in enumerate(packets)], encode.log
    assert [x[1] for x in lines] == [0, 1, 0], lines
    for _, _, size, coded, included, resumed, made in lines:
        assert coded >= included > 0 and 0 <= resumed <= coded and 0 < made, lines
        assert made > 0.9 * size, lines  # nothing is left out of noise at the default quality but what no packet needs
    assert re.search(r"(cpu|cuda) backend", encode.log) and "threads" in encode.log, encode.log  # where and how it runs
    encode()
    assert "bytes" not in encode.log and not encode.log.strip(), encode.log


# --- the device -------------------------------------------------------------------------------------------------------


def why_no_cuda():
    """The encoder's error line about `-device cuda`; empty where it encodes."""
    if not hasattr(why_no_cuda, "line"):
        packets = encode("-device", "cuda", ok=None)
        lines = [x for x in encode.log.splitlines() if "[j2k_cuda" in x or "j2k_cuda @" in x]
        assert bool(packets) != bool(lines), encode.log
        why_no_cuda.line = lines[0] if lines else ""
    return why_no_cuda.line


@test
def cuda_encodes_or_says_why_not():
    why = why_no_cuda()
    if not why:
        same(("-device", "cuda"), ("-device", "cuda:0"), ("-device", "cpu"), frames=noise("rgb24", W, H, 5))
        refused("-device", "cuda:255", says=["CUDA device 255 not in [0, "])
        return
    assert re.search("CUDA|libcuda", why), why
    for device in ("cuda", "cuda:0", "CUDA:0,1", "cuda:GPU-01234567-89ab-cdef-0123-456789abcdef"):
        refused("-device", device, says=["CUDA" if "without CUDA" in why else "CUDA d"])
        assert "device auto takes the CPU" not in encode.log, encode.log


@test
def auto_falls_back_with_one_line():
    why = why_no_cuda()
    frames = noise("rgb24", W, H, 2)
    want = encode("-device", "cpu", frames=frames)
    assert encode("-device", "auto", frames=frames, log="info") == want
    lines = [x for x in encode.log.splitlines() if "device auto takes the CPU" in x]
    if why and "without CUDA" not in why:
        assert len(lines) == 1, encode.log
        assert lines[0].split("takes the CPU: ")[1] == why.split("] ")[1], (lines, why)
    else:
        assert not lines, encode.log


def has_cuda_frames():
    return "cuda" in formats()


@test
def cuda_frames_where_ffmpeg_has_them():
    has = bool(re.search(r"^cuda$", ffmpeg("-hwaccels", log="info").stdout.decode(), re.M))
    assert has_cuda_frames() == has, f"pixel format cuda {has_cuda_frames()}, FFmpeg with CUDA {has}"
    devices = re.search(r"Supported hardware devices: (.*)", encoder_help())
    assert (devices[1].split() if devices else []) == ["cuda"] * (2 if has else 0), encoder_help()


@test
def cuda_frames_give_the_same_bytes():
    if not has_cuda_frames():
        raise Skip("this ffmpeg has no CUDA frames")
    if why_no_cuda():
        raise Skip(why_no_cuda())
    for fmt in "nv12 yuv420p yuv444p p010le p016le yuv444p16le rgb0 bgr0 rgba yuv422p10le yuv444p12msble p210le".split():
        if not pixfmt.parse(fmt):
            continue
        frames = noise(fmt, 200, 122, 5)
        on_device = encode("-init_hw_device", "cuda=d", "-filter_hw_device", "d", "-vf", "hwupload", "-b:v", "2M", fmt=fmt, width=200,
                           height=122, frames=frames, ok=None)
        if not on_device and "is not supported" in encode.log:
            continue  # a format that CUDA frames of this version cannot have
        assert on_device == encode("-b:v", "2M", "-device", "cpu", fmt=fmt, width=200, height=122, frames=frames), fmt
    refused("-init_hw_device", "cuda=d", "-filter_hw_device", "d", "-vf", "hwupload", "-device", "cpu", fmt="yuv420p",
            says=["device cpu", "hwdownload"])


# --- rate and quality -------------------------------------------------------------------------------------------------


def check_used(size, cap, what):
    """Not one byte over the cap, and 99.9 % of it used. A coding pass over a 64x64 block of white noise has up to some 500
    bytes and goes in whole or not, so that a small cap may miss as many."""
    assert size <= cap, f"{what}: {size} bytes, cap {cap}"
    assert size >= 0.999 * cap or cap < 500000 and size > cap - 512, f"{what}: only {size} bytes of {cap}"


@test
def bit_rate_is_a_cap_that_is_used():
    for fmt, rate, mbits in (("rgb48le", 25, 120), ("yuv422p10le", 24, 100), ("gbrp12le", "30000/1001", 150), ("rgb24", 25, 16),
                             ("yuv420p10le", 24, 8), ("gray", 60, 16), ("rgb24", "24000/1001", 3)):
        frames = noise(fmt, 640, 480, 2)
        cap = bytes_per_frame(mbits * 1000000, rate)
        for p in encode("-b:v", f"{mbits}M", fmt=fmt, width=640, height=480, frames=frames, rate=rate):
            check_used(len(p), cap, f"{fmt} {mbits}M at {rate}")
            Codestream(p)


@test
def bit_rate_of_digital_cinema():
    """250 Mbit/s at 24 frames/s is 1302083 bytes."""
    data = encode("-b:v", "250M", fmt="gbrp12le", width=1200, height=500, rate=24, frames=noise("gbrp12le", 1200, 500, 1))[0]
    check_used(len(data), 1302083, "cinema")
    assert opj_samples(data, pixfmt.parse("gbrp12le"), 1200, 500) is not None or not ARGS.opj
    refused("-b:v", 2111, rate=24, says=["target_bytes 10 "])  # 10.99 bytes
    refused("-b:v", 2112, rate=24, says=["target_bytes 11 "])


@test
def maxrate_is_a_cap():
    frames = noise("rgb24", 320, 240, 3)
    cap = bytes_per_frame(10000000, 25)
    for options in (("-q:v", 0.1), (), ("-b:v", "20M")):
        for p in encode(*options, "-maxrate", "10M", width=320, height=240, frames=frames):
            check_used(len(p), cap, options)
    plain = encode("-q:v", 50, width=320, height=240, frames=frames)
    assert encode("-q:v", 50, "-maxrate", "100M", width=320, height=240, frames=frames) == plain, "a cap out of reach"


@test
def quality_is_monotone():
    frames = smooth("yuv420p", 320, 240, 2)
    sizes = [sum(map(len, encode("-q:v", q, fmt="yuv420p", width=320, height=240, frames=frames)))
             for q in (0.05, 1, 2, 4, 8, 32, 256)]
    assert all(a > b for a, b in zip(sizes[1:], sizes[2:])) and sizes[0] >= sizes[1], sizes
    same((), ("-q:v", 2), fmt="yuv420p", width=320, height=240, frames=frames)


@test
def component_cap():
    frames = noise("rgb24", 256, 128, 1)
    options = ("-prog", "cprl", "-cj2k-params", "tile_parts=component")
    cap = bytes_per_frame(4000000, 25)
    free = Codestream(encode(*options, "-b:v", "12M", width=256, height=128, frames=frames)[0])
    held = Codestream(encode(*options, "-b:v", "12M", "-max_component_rate", "4M", width=256, height=128, frames=frames)[0])
    assert len(free.tile_parts) == len(held.tile_parts) == 3
    assert max(len(t[3]) for t in free.tile_parts) > cap, "the test needs a picture over the cap"
    for t in held.tile_parts:
        check_used(len(t[3]), cap, "a component")


@test
def small_frames_are_padded():
    black = [[[0] * (W * H)] * 3]
    assert len(encode(frames=black)[0]) < 1000
    for n in (5000, 16384, 200000):
        data = encode("-min_frame_bytes", n, frames=black)[0]
        assert n <= len(data) <= n + 4, f"{len(data)}, not {n}"
        assert opj_samples(data, pixfmt.parse("rgb24"), W, H) in (None, black[0])


@test
def compression_level():
    """As in libopenjpeg: a ratio of twice the level."""
    data = encode("-compression_level", 5, width=320, height=240, frames=noise("rgb24", 320, 240, 1))[0]
    check_used(len(data), 320 * 240 * 3 // 10, "rgb24")
    frames = noise("yuv420p10le", 320, 240, 1)
    data = encode("-compression_level", 5, fmt="yuv420p10le", width=320, height=240, frames=frames)[0]
    check_used(len(data), int(320 * 240 * 1.5 * 10 / 8 / 10), "yuv420p10le")
    both = encode("-compression_level", 50, "-b:v", "8M", width=320, height=240, frames=noise("rgb24", 320, 240, 1))[0]
    assert len(both) > 39000 and "compression_level is ignored" in encode.log


@test
def lossy_is_close():
    """At its defaults the picture stays within what the quality promises: RMS about 1 LSB."""
    frames = smooth("rgb24", 320, 240, 1)
    _, got = ffmpeg_samples(encode(width=320, height=240, frames=frames)[0], 320, 240)
    error = sum((a - b) ** 2 for s, g in zip(frames[0], got) for a, b in zip(s, g)) / (320 * 240 * 3)
    assert 0 < error < 2.5, f"mean square error {error}"


# --- pixel formats ----------------------------------------------------------------------------------------------------


def round_trip(fmt_name, width, height, *options):
    f = pixfmt.parse(fmt_name)
    assert f, f"the test does not know {fmt_name}"
    frames = noise(fmt_name, width, height, 2)
    for samples, data in zip(frames, encode("-lossless", 1, *options, fmt=fmt_name, width=width, height=height, frames=frames)):
        c = Codestream(data)
        assert c.num_components == f.num_components and c.depths == [f.depth] * f.num_components
        sub = [(p.dx, p.dy) for i in range(f.num_components) for p in f.planes if i in p.components] or [(1, 1)] * 3
        assert c.subsampling == sub, c.subsampling
        assert check_lossless(data, f, samples, width, height) > 0, "no decoder could show it"


@test
def the_format_list():
    have = set(formats())
    want = set("""gray gray9le gray10le gray12le gray14le gray16le ya8 ya16le rgb24 bgr24 rgb48le bgr48le rgba bgra argb abgr
        0rgb rgb0 0bgr bgr0 rgba64le bgra64le x2rgb10le x2bgr10le xyz12le gbrp gbrp9le gbrp10le gbrp12le gbrp14le gbrp16le
        gbrap gbrap10le gbrap12le gbrap16le yuv410p yuv411p yuv440p yuv440p10le yuv440p12le nv12 nv21 nv16 nv24 p010le p016le
        p210le p216le p410le p416le yuva422p12le yuva444p12le""".split())
    want |= {f"yuv{s}p{d}" for s in ("420", "422", "444") for d in ("", "9le", "10le", "12le", "14le", "16le")}
    want |= {f"yuva{s}p{d}" for s in ("420", "422", "444") for d in ("", "9le", "10le", "16le")}
    version = tuple(map(int, re.search(r"libavutil +(\d+)\. *(\d+)", run(ARGS.ffmpeg, "-version").stdout.decode()).groups()))
    if version < (58, 0):  # 5.1 knows full range by these only
        want |= {"yuvj420p", "yuvj422p", "yuvj444p", "yuvj440p", "yuvj411p"}
    if version >= (59, 0):  # 7.1
        want |= {"p012le", "p212le", "p412le", "gbrap14le"}
    if version >= (60, 0):  # 8.1
        want |= {"yuv444p10msble", "yuv444p12msble", "gbrp10msble", "gbrp12msble"}
    have.discard("cuda")
    assert have == want, f"missing {sorted(want - have)}, not expected {sorted(have - want)}"


def register_format_tests():
    for name in formats():
        if name == "cuda":
            continue
        def lossless(name=name):
            for size in ((48, 32), (37, 23)):
                round_trip(name, *size)
        TESTS.append((f"format {name}", lossless))


@test
def palette_is_refused():
    r = ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:d=0.04", "-pix_fmt", "pal8", "-c:v", "j2k_cuda", "-f", "null", "-", ok=None)
    assert r.returncode or "Incompatible pixel format 'pal8'" in r.text, r.text


@test
def odd_and_tiny_sizes():
    for fmt in ("yuv420p", "yuv410p", "gray", "nv12", "p010le"):
        for size in ((1, 1), (3, 1), (1, 5), (17, 5), (65, 33)):
            round_trip(fmt, *size)
    round_trip("rgb24", 101, 67, "-tile", "32x32", "-cblk", "16x16", "-precincts", "64x64,32x32")
    round_trip("yuv420p", 101, 67, "-tile", "33x29", "-levels", 3)


@test
def lossless_with_every_coding_option():
    for options in (("-prog", "rpcl"), ("-layers", 7), ("-sop", 1, "-eph", 1), ("-levels", 0), ("-mct", "off"), ("-format", "j2k"),
                    ("-cj2k-params", "cblk_style=bypass+reset+termall+vsc+pterm+segsym"), ("-cblk", "4x256")):
        round_trip("rgb48le", 75, 53, *options)


@test
def negative_line_size():
    """vflip hands pictures over bottom-up."""
    for fmt in ("yuv420p", "rgb24", "p010le", "x2rgb10le"):
        f = pixfmt.parse(fmt)
        frames = noise(fmt, 38, 26, 1)
        data = encode("-lossless", 1, "-vf", "vflip", fmt=fmt, width=38, height=26, frames=frames)[0]
        flipped = []
        for c, s in enumerate(frames[0]):
            w, h = f.size(c, 38, 26)
            flipped.append([v for y in reversed(range(h)) for v in s[y * w : y * w + w]])
        assert check_lossless(data, f, flipped, 38, 26)


@test
def colour_range_is_not_touched():
    """Full-range YUV stays as it is: no conversion is inserted."""
    frames = noise("yuv420p", 48, 32, 1)
    data = packed("yuv420p", 48, 32, frames)
    for fmt, options in (("yuv420p", ("-vf", "setparams=range=pc")), ("yuv420p", ("-vf", "setparams=range=tv")), ("yuvj420p", ())):
        got = encode("-lossless", 1, *options, fmt=fmt, width=48, height=32, frames=frames, data=data)[0]
        assert check_lossless(got, pixfmt.parse("yuv420p"), frames[0], 48, 32), f"{fmt} {options}"


# --- containers and time ----------------------------------------------------------------------------------------------


def source(frames=24, fmt="yuv422p10le", size="160x120", rate=24):
    return ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate={rate}", "-frames:v", frames, "-pix_fmt", fmt]


def frame_hashes(*args):
    out = ffmpeg(*args, "-f", "framemd5", "-").stdout.decode()
    return [line.split(",")[-1].strip() for line in out.splitlines() if line and not line.startswith("#")]


def container(name, *options, fmt="yuv422p10le", pattern=None, raw=True, rate=24):
    path = TMP / name
    ffmpeg(*source(fmt=fmt, rate=rate), "-c:v", "j2k_cuda", "-lossless", 1, *options, path)
    read = ["-framerate", rate, "-i", path] if pattern else ["-i", path]
    want = frame_hashes(*source(fmt=fmt, rate=rate), "-c:v", "rawvideo")
    got = frame_hashes(*read, "-pix_fmt", fmt, "-c:v", "rawvideo")
    assert got == want, f"{name}: {len(got)} decoded frames, not the {len(want)} of the source"

    out = pathlib.Path(tempfile.mkdtemp(dir=TMP))
    ffmpeg(*read, "-c:v", "copy", "-f", "image2", out / "%04d.bin")
    packets = [p.read_bytes() for p in sorted(out.iterdir())]
    shutil.rmtree(out)
    assert len(packets) == 24, f"{name}: {len(packets)} packets"
    for p in packets:
        if raw:
            Codestream(p)
        else:
            from_jp2(p)
    if pattern:
        return
    info = ffprobe(path, "-count_packets", "-show_streams", "-show_packets")
    stream = info["streams"][0]
    assert stream["codec_name"] == "jpeg2000" and (stream["width"], stream["height"]) == (160, 120), stream
    assert stream["nb_read_packets"] == "24" and fractions.Fraction(stream["r_frame_rate"]) == fractions.Fraction(rate), stream
    times = [float(p["pts_time"]) for p in info["packets"]]
    step = 1 / fractions.Fraction(rate)
    for n, t in enumerate(times):
        assert abs(t - times[0] - n * step) < 0.0011, f"{name}: packet {n} at {t} s"
    for p in info["packets"][:-1]:
        assert abs(float(p["duration_time"]) - step) < 0.0011, f"{name}: duration {p['duration_time']}"
    assert all("K" in p["flags"] for p in info["packets"]), f"{name}: a packet is no key frame"


@test
def mxf():
    container("a.mxf")


@test
def mxf_film_rate():
    container("b.mxf", rate="24000/1001")


@test
def mov():
    container("a.mov")


@test
def mkv():
    container("a.mkv")


@test
def nut():
    container("a.nut")


@test
def mov_of_rgb():
    container("rgb.mov", fmt="rgb24")


@test
def j2c_files():
    container("%04d.j2c", pattern=True)


@test
def jp2_files():
    container("%04d.jp2", "-format", "jp2", pattern=True, raw=False)


@test
def a_raw_stream():
    path = TMP / "stream.j2k"
    ffmpeg(*source(), "-c:v", "j2k_cuda", "-lossless", 1, "-f", "rawvideo", path)
    want = frame_hashes(*source(), "-c:v", "rawvideo")
    assert frame_hashes("-f", "j2k_pipe", "-i", path, "-pix_fmt", "yuv422p10le", "-c:v", "rawvideo") == want


@test
def uneven_times():
    """Time stamps go through as they are, whatever the pipeline holds back."""
    path = TMP / "times.nut"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.4", "-vf", "settb=1/1000,setpts='7*N*N+3*N'", "-fps_mode", "passthrough",
           "-enc_time_base", "1/1000", "-c:v", "j2k_cuda", "-async_depth", 4, "-gop", 2, path)
    got = [float(p["pts_time"]) for p in ffprobe(path, "-show_packets")["packets"]]
    want = [(7 * n * n + 3 * n) / 1000 for n in range(10)]
    assert len(got) == 10 and all(abs(a - b) < 0.0006 for a, b in zip(got, want)), f"{got}, not {want}"


@test
def opaque_goes_through():
    """The ffmpeg program of 6.0 and later finds a packet's frame by it."""
    stats = TMP / "stats.txt"
    r = ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.4", "-c:v", "j2k_cuda", "-async_depth", 4, "-stats_enc_post", stats,
               "-stats_enc_post_fmt", "{n} {ptsi} {size}", "-f", "null", "-", ok=None)
    if "Unrecognized option" in r.text:
        raise Skip("this ffmpeg has no -stats_enc_post")
    assert r.returncode == 0, r.text
    lines = [tuple(map(int, line.split())) for line in stats.read_text().splitlines()]
    assert [x[0] for x in lines] == list(range(10)), lines
    step = lines[1][1] - lines[0][1]  # ptsi is the time of the decoded frame, kept in the opaque
    assert step > 0 and [x[1] for x in lines] == [lines[0][1] + n * step for n in range(10)], lines


@test
def interlaced_is_told_once():
    r = ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.2", "-vf", "setfield=tff", "-field_order", "tt", "-c:v", "j2k_cuda",
               "-f", "null", "-", ok=None)
    if "interlace" not in r.text:
        r = ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.2", "-vf", "setparams=field_mode=tff", "-c:v", "j2k_cuda", "-f", "null", "-")
    assert r.text.count("no interlace syntax") == 1, r.text


# --- errors -----------------------------------------------------------------------------------------------------------


@test
def bad_options():
    for options, says in (
        (("-cblk", "5x5"), ["cblk", "5"]),
        (("-cblk", "128x64"), ["cblk", "128x64", "4096"]),
        (("-cblk", "2x64"), ["cblk", "2", "4"]),
        (("-cblk", "abc"), ["cblk", "abc"]),
        (("-levels", 33), ["levels", "33", "32"]),
        (("-levels", -1), ["levels", "-1", "0"]),
        (("-layers", 0), ["layers", "0", "65535"]),
        (("-layer_rates", "10,20"), ["layer_rates", "20"]),
        (("-layer_rates", "x"), ["layer_rates", "x"]),
        (("-precincts", "100x100"), ["precincts", "100"]),
        (("-tile", "-4x4"), ["tile", "-4"]),
        (("-prog", "abcd"), ["abcd"]),
        (("-stop", "never"), ["never"]),
        (("-stop", 5), ["stop", "5"]),
        (("-stop_margin", 4097), ["stop_margin", "4097", "4096"]),
        (("-stop_margin", -1), ["stop_margin", "-1", "0"]),
        (("-tier1", "quick"), ["quick"]),
        (("-device", "toaster"), ["device", "toaster", "auto", "cpu", "cuda"]),
        (("-device", "cuda:x"), ["device", "cuda:x", "[0, 255]"]),
        (("-device", "cuda:1,1"), ["device", "cuda:1,1", "twice"]),
        (("-device", ""), ["device", "auto", "cpu", "cuda"]),
        (("-q:v", 0), ["q 0", "256"]),
        (("-q:v", 1000), ["1000", "256"]),
        (("-b:v", 1), ["b 1"]),
        (("-b:v", 2000), ["target_bytes", "10"]),
        (("-threads", 5000), ["threads", "5000", "1024"]),
        (("-gop", 65), ["gop", "65", "64"]),
        (("-async_depth", 65), ["async_depth", "65", "64"]),
        (("-min_frame_bytes", -5), ["min_frame_bytes", "-5"]),
        (("-min_frame_bytes", 2147483584), ["min_frame_bytes 2147483584 not in [0, 2147483583]"]),
        (("-min_frame_bytes", 2147483648), ["min_frame_bytes 2147483648 not in [0, 2147483583]"]),
        (("-min_frame_bytes", 1099511627777), ["min_frame_bytes 1099511627777 not in [0, 2147483583]"]),
        (("-cj2k-params", "min_frame_bytes=2147483648"), ["min_frame_bytes 2147483648 not in [0, 2147483583]"]),
        (("-cj2k-params", "max_frame_bytes=1"), ["max_frame_bytes 1 not in [", ", 1099511627776]"]),
        (("-cj2k-params", "max_frame_bytes=1099511627777"), ["max_frame_bytes", "1099511627777", "[0, 1099511627776]"]),
        (("-max_component_rate", 200), ["max_component_bytes 1 not in [", ", 1099511627776]"]),
        (("-compression_level", 100000), ["target_bytes 1 not in [", ", 1099511627776]"]),
        (("-cj2k-params", "alpha=1"), ["colorspace srgb", "num_components 3", "alpha 1", "[3, 4]"]),
        (("-lossless", 1, "-b:v", "1M"), ["lossless", "target_bytes"]),
        (("-lossless", 1, "-q:v", 1), ["lossless", "quality"]),
    ):
        try:
            refused(*options, says=says)
        except AssertionError as e:
            raise AssertionError(f"{' '.join(map(str, options))}: {e}") from None


@test
def changes_in_mid_stream():
    """Pictures of another size or format: an error that names both, and the packets before it."""
    first = ("64x48", "rgb24")
    for n, other in enumerate((("80x48", "rgb24"), ("64x48", "gray"))):
        for k, (size, fmt) in enumerate((first, first, other)):
            ffmpeg("-f", "lavfi", "-i", f"color=red:s={size}", "-frames:v", 1, "-pix_fmt", fmt, TMP / f"change{n}.{k}.png")
        # The format filter of the first picture's graph must not convert the later ones: only a change of size gets through
        # the ffmpeg program, which converts formats to what the encoder was opened with.
        out = TMP / f"change{n}.nut"
        r = ffmpeg("-framerate", 25, "-i", TMP / f"change{n}.%d.png", "-noautoscale", "-c:v", "j2k_cuda", "-threads", 1, out, ok=None)
        if other[0] != first[0]:
            assert r.returncode != 0, "exit status 0"
            assert "Frame 2 is 80x48 rgb24, but the encoder was opened for 64x48 rgb24" in r.text, r.text
        else:
            assert r.returncode == 0 or "64x48 gray" in r.text, r.text


@test
def no_frames():
    for options in (("-frames:v", 0), ("-vf", "select=0"), ("-t", 0)):
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.2", *options, "-c:v", "j2k_cuda", "-f", "null", "-")


@test
def one_frame_of_many():
    """Closing with frames still in flight."""
    path = TMP / "one.nut"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=640x480:r=25:d=2", "-frames:v", 1, "-c:v", "j2k_cuda", "-async_depth", 16, path)
    assert len(ffprobe(path, "-show_packets")["packets"]) == 1


@test
def nothing_is_left_when_the_muxer_fails():
    """The program stops in the middle of a stream."""
    r = ffmpeg("-f", "lavfi", "-i", "testsrc2=s=640x480:r=25:d=2", "-c:v", "j2k_cuda", "-async_depth", 16, "-fs", 1000, TMP / "cut.nut", ok=None)
    assert r.returncode == 0, r.text


@test
def through_the_api():
    """Bad frames in mid-stream, flushing, opaque data, closing early: api_test.c."""
    program = ARGS.ffmpeg.with_name("api_test")
    if not program.exists():
        raise Skip("no api_test beside ffmpeg")
    r = run(program, ok=None)
    assert r.returncode == 0 and r.stdout == b"0 failures\n", r.stdout.decode()
    assert "Frame 5 is 160x120 yuv420p, but the encoder was opened for 320x240 yuv420p" in r.text, r.text
    assert "Frame 7 is 320x240 yuv444p, but the encoder was opened for 320x240 yuv420p" in r.text, r.text


@test
def cuda_frames_reach_the_library():
    """Context, stream and samples of CUDA frames, over a driver of the test's own: cuda_frames_test.c."""
    program = ARGS.ffmpeg.with_name("cuda_frames_test")
    if not has_cuda_frames():
        raise Skip("this ffmpeg has no CUDA frames")
    r = run(program, ok=None)
    lines = r.stdout.decode().splitlines()
    assert r.returncode == 0 and lines[-1] == "0 failures", r.stdout.decode() + r.text
    assert {"nv12", "yuv420p", "yuv444p", "p010le", "p016le", "yuv444p16le"} <= set(lines), lines
    for device in "cpu", "cuda:1":
        assert f"device {device}: CUDA frames are encoded on the device they are on" in r.text, r.text
    assert "Frame 1 is yuv444p in CUDA context" in r.text and "Frame 3 is 150x86 nv12" in r.text, r.text


# --- a real film ------------------------------------------------------------------------------------------------------


@test
def the_main_job():
    film = pathlib.Path(ARGS.media) / "seq/film_street_3840x2160_24f_imf_j2k_pq_p3d65_12b.mxf"
    if not film.exists():
        raise Skip(f"no {film.name} in the media folder")
    rate = ffprobe(film, "-show_streams")["streams"][0]["r_frame_rate"]
    out, cap = TMP / "main.mxf", bytes_per_frame(250000000, rate)
    start = time.time()
    ffmpeg("-i", film, "-frames:v", ARGS.frames, "-c:v", "j2k_cuda", "-b:v", "250M", out)
    print(f"       {ARGS.frames} frames of 4K in {time.time() - start:.1f} s with the decoder")
    info = ffprobe(out, "-show_packets", "-show_streams")
    sizes = [int(p["size"]) for p in info["packets"]]
    assert len(sizes) == ARGS.frames, sizes
    for size in sizes:
        check_used(size, cap, "4K")
    assert (info["streams"][0]["width"], info["streams"][0]["height"]) == (3840, 2160)
    cut = f"[1:v]trim=end_frame={ARGS.frames}[film];[0:v][film]psnr=shortest=1"
    r = ffmpeg("-i", out, "-i", film, "-lavfi", cut, "-f", "null", "-", log="info")
    psnr = float(re.search(r"average:(\S+)", r.text)[1])
    print(f"       PSNR {psnr:.2f} dB at {sizes} bytes")
    assert psnr > 45, psnr


# --- main -------------------------------------------------------------------------------------------------------------


def main():
    global ARGS, TMP
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ffmpeg", type=pathlib.Path, required=True)
    parser.add_argument("--ffprobe", type=pathlib.Path, help="default: beside ffmpeg")
    parser.add_argument("--opj", default=shutil.which("opj_decompress"), help="opj_decompress")
    parser.add_argument("--media", default=root.parent / "shared/media", help="folder of test films (optional)")
    parser.add_argument("--frames", type=int, default=2, help="frames of the real film")
    parser.add_argument("--only", default="", help="run the tests whose name holds this")
    ARGS = parser.parse_args()
    ARGS.ffmpeg = ARGS.ffmpeg.resolve()
    ARGS.ffprobe = (ARGS.ffprobe or ARGS.ffmpeg.with_name("ffprobe")).resolve()
    if not ARGS.opj:
        print("opj_decompress is not installed: FFmpeg's decoder is the only judge of samples")

    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="cj2k-ffmpeg-") as tmp:
        TMP = pathlib.Path(tmp)
        register_format_tests()
        for name, fn in TESTS:
            if ARGS.only not in name:
                continue
            try:
                fn()
                result, why = "passed", ""
            except Skip as e:
                result, why = "skipped", str(e)
            except Exception as e:  # a broken test must count as failed, not end the run
                result, why = "failed", f"{type(e).__name__}: {e}"
            counts[result] += 1
            print(f"{result:7} {name}{': ' if why else ''}{why}", flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Colours: what decoders show of a colour bar from every container, and what JP2 files say of colours."""

import re
import shutil
import struct
import zlib

import pytest

import pixfmt
from codestream import JP2_SIGNATURE, from_jp2
from pictures import noise
from tools import decoder_is_patched, mxf_is_patched, names_of, run, say_linear, scratch_folder

DEBIAN = "/usr/bin/ffmpeg"  # any FFmpeg without our patches
W, H = 64, 16
RGB_BARS = [(0.75 * r, 0.75 * g, 0.75 * b) for r, g, b in
            ((1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1), (1, 0, 0), (0, 0, 1), (0.1, 0.1, 0.1))]

# AV_CODEC_FLAG_GLOBAL_HEADER tells the encoder the first four from the rest.
NAMED = ["a.mov", "a.mp4", "a.mkv", "a.nut"]
OTHERS = ["a.avi", "a.mxf", "a.jp2", "a.j2c"]
FORMATS = "yuv444p yuv444p12le yuva444p10le yuva444p12le yuv422p10le gbrp12le gbrap12le gray12le ya8 xyz12le".split()

# What no file can fix: the pixel format that a decoder takes the frames for. All else must have the right colours,
# and so must all of MXF where the demuxer has our patch.
SHOWN_AS = {
    # Three or four equal components of a raw codestream are RGB, unless the container tells the decoder.
    **{("yuv444p", name): "rgb24" for name in OTHERS},
    **{("yuv444p12le", name): "rgb48le" for name in OTHERS},
    **{("yuva444p10le", name): "rgba64le" for name in OTHERS},
    **{("yuva444p12le", name): "rgba64le" for name in OTHERS},
    # Without our patch the decoder has no such format. It takes the next deeper one, and leaves the samples 16 times too small.
    **{("yuva444p12le", name): "yuva444p16le" for name in NAMED},
    # X'Y'Z' without the profile of digital cinema.
    **{("xyz12le", name): "rgb48le" for name in NAMED + OTHERS},
}


def to_yuv(rgb):
    """BT.709, limited range: 0 .. 1 of the code range."""
    r, g, b = rgb
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    return (16 + 219 * y) / 256, (128 + 224 * (b - y) / 1.8556) / 256, (128 + 224 * (r - y) / 1.5748) / 256


def to_rgb(y, u, v):
    y, u, v = (256 * y - 16) / 219, (256 * u - 128) / 224, (256 * v - 128) / 224
    r, b = y + 1.5748 * v, y + 1.8556 * u
    return r, (y - 0.2126 * r - 0.0722 * b) / 0.7152, b


def codes(fmt, rgb):
    """The samples of one colour. Values are the fraction of 2^depth (YUV) or of 2^depth - 1 (others)."""
    top = (1 << fmt.depth) - 1
    if fmt.kind == "yuv":
        values = [round(v * (top + 1)) for v in to_yuv(rgb)]
    elif fmt.kind == "gray":
        values = [round(rgb[1] * top)]
    else:
        values = [round(v * top) for v in rgb]
    return values + [top // 2] * fmt.alpha


def bars(fmt):
    """One frame of eight bars, as samples."""
    samples = []
    for c in range(fmt.num_components):
        w, h = fmt.size(c, W, H)
        row = [codes(fmt, RGB_BARS[x * 8 // w])[c] for x in range(w)]
        samples.append(row * h)
    return samples


def colours(fmt, samples):
    """The colour in the middle of each bar, as fractions of full range."""
    top, result = (1 << fmt.depth) - 1, []
    for bar in range(8):
        values = []
        for c in range(fmt.num_components):
            w, h = fmt.size(c, W, H)
            values.append(samples[c][h // 2 * w + (2 * bar + 1) * w // 16])
        if fmt.kind == "yuv":
            result.append(to_rgb(*(v / (top + 1) for v in values[:3])))
        else:
            result.append(tuple(v / top for v in values[: 1 if fmt.kind == "gray" else 3]))
    return result


def source(fmt_name):
    return ["-f", "rawvideo", "-pixel_format", fmt_name, "-video_size", f"{W}x{H}", "-framerate", 25, "-i", "pipe:0"]


def write(ff, folder, fmt_name, names, *options, log="warning"):
    """One frame of bars into each of the files. All encoders are of one process."""
    fmt = pixfmt.parse(fmt_name)
    outputs = []
    for name in names:
        outputs += ["-map", 0, "-c:v", "j2k_cuda", "-lossless", 1, *options, folder / name]
    return ff.ffmpeg(*source(fmt_name), *outputs, data=fmt.pack(bars(fmt), W, H), log=log)


def read(program, folder, names):
    """Decodes the files in one process. Returns for each (pixel format, samples)."""
    inputs = [arg for name in names for arg in ("-i", folder / name)]
    outputs = [arg for i, name in enumerate(names)
               for arg in ("-map", i, "-f", "rawvideo", folder / f"{name}.raw")]
    text = run(program, "-hide_banner", "-nostdin", "-y", *inputs, *outputs).text
    shown = dict(re.findall(r"Stream #(\d+):0.*Video: jpeg2000\b.*?, ((?:[a-z]+\d|gray|rgb|bgr)\w*)", text))
    result = []
    for i, name in enumerate(names):
        fmt = pixfmt.parse(shown[str(i)])
        assert fmt, f"{name} is shown as {shown[str(i)]}"
        result.append((fmt, fmt.unpack((folder / f"{name}.raw").read_bytes(), W, H)))
    return result


@pytest.fixture(params=["patched", "unpatched"])
def reader(request, ff):
    if request.param == "patched":
        return ff.program
    if not shutil.which(DEBIAN):
        pytest.skip(f"{DEBIAN} is not installed")
    if "j2k_cuda" in run(DEBIAN, "-hide_banner", "-encoders").stdout.decode():
        pytest.skip(f"{DEBIAN} has j2k_cuda: it is not unpatched")
    return DEBIAN


@pytest.mark.parametrize("fmt_name", FORMATS)
def test_containers(ff, reader, tmp_path, fmt_name):
    names = NAMED + OTHERS
    write(ff, tmp_path, fmt_name, names)
    fmt = pixfmt.parse(fmt_name)
    want = colours(fmt, bars(fmt))
    right = {"a.mxf"} if reader == ff.program and mxf_is_patched(ff) else set()
    if fmt_name == "yuva444p12le" and reader == ff.program and decoder_is_patched(ff):
        right |= {*NAMED}
    for name, (shown, samples) in zip(names, read(reader, tmp_path, names)):
        # With our patch, what is written as a.jp2 is a JP2 file, if such files have its colours.
        like = "a.mov" if name == "a.jp2" and decoder_is_patched(ff) and fmt_name != "xyz12le" else name
        if (fmt_name, like) in SHOWN_AS and like not in right:
            assert shown.name == SHOWN_AS[fmt_name, like], f"{name} is shown as {shown.name}: is it right now?"
            continue
        got = colours(shown, samples)
        worst = max(abs(a - b) for x, y in zip(want, got) for a, b in zip(x, y))
        assert worst < 0.01, f"{name}, shown as {shown.name}: off by {worst:.3f}\n{got}\nnot\n{want}"


@pytest.mark.parametrize("fmt_name", ["yuv444p", "yuv444p12le", "yuva444p10le"])
def test_jp2_in_avi_and_files(ff, reader, tmp_path, fmt_name):
    """What -format jp2 mends."""
    names = ["a.avi", "a.jp2"]
    write(ff, tmp_path, fmt_name, names, "-format", "jp2")
    for name, (shown, samples) in zip(names, read(reader, tmp_path, names)):
        assert shown.name == fmt_name and samples == bars(shown), f"{name} is shown as {shown.name}"


@pytest.mark.parametrize("fmt_name", ["yuv444p12le", "yuv444p", "yuv422p", "gbrp"])
def test_copies_keep_the_colours(ff, reader, tmp_path, fmt_name):
    """The muxers for MOV and Matroska put raw codestreams of YUV 4:4:4 into JP2 files. Back in MXF they are as before."""
    if not (mxf_is_patched(ff) and decoder_is_patched(ff)):
        pytest.skip("this FFmpeg has none of our patches")
    write(ff, tmp_path, fmt_name, ["a.mxf"])
    copies = ["b.mov", "b.mp4", "b.mkv", "c.mov", "c.mkv"]
    for copy in copies[:3]:
        ff.ffmpeg("-i", tmp_path / "a.mxf", "-c", "copy", tmp_path / copy)
    ff.ffmpeg("-i", tmp_path / "a.mxf", "-map", 0, "-c", "copy", "-f", "tee", f"{tmp_path}/c.mov|{tmp_path}/c.mkv")
    for name, (shown, samples) in zip(copies, read(reader, tmp_path, copies)):
        # The decoder takes all planar RGB for packed RGB.
        assert shown.name == fmt_name.replace("gbrp", "rgb24") and samples == bars(shown), f"{name} is shown as {shown.name}"
    ff.ffmpeg("-i", tmp_path / "b.mov", "-c", "copy", tmp_path / "d.mxf")
    assert packet_bytes(ff, tmp_path / "d.mxf") == packet_bytes(ff, tmp_path / "a.mxf")


def packet_bytes(ff, path):
    return ff.ffmpeg("-i", path, "-map", "0:v", "-c", "copy", "-f", "rawvideo", "-").stdout


JP2_SIGNATURE = bytes.fromhex("0000000c6a5020200d0a870a")


@pytest.mark.parametrize("fmt_name, name, options, box", [
    ("yuv420p", "a.jp2", [], (b"jp2 ", 18)), ("yuv444p12le", "a.jp2", [], (b"jp2 ", 18)), ("gbrp12le", "a.jp2", [], (b"jp2 ", 16)),
    ("gray", "a.jp2", [], (b"jp2 ", 17)), ("ya8", "a.jp2", [], (b"jp2 ", 17)), ("rgba", "a.jp2", [], (b"jp2 ", 16)),
    ("gbrp", "a.jph", ["-coder", "ht"], (b"jph ", 16)), ("gbrp", "a.jph", [], (b"jp2 ", 16)),
    ("gbrp", "a.j2k", [], None), ("xyz12le", "a.jp2", [], None),
    ("gbrp12le", "a.jp2", ["-vf", "setparams=color_trc=smpte2084"], None),
    ("gbrp12le", "a.jp2", ["-vf", "setparams=color_primaries=bt2020"], None), ("yuv420p", "a.jp2", ["-flags", "+ildct"], None)])
def test_names_say_jp2(ff, tmp_path, fmt_name, name, options, box):
    """Files named .jp2 and .jph are JP2 files, unless these cannot say what the codestream holds. The codestream stays."""
    if not decoder_is_patched(ff):
        pytest.skip("this FFmpeg has none of our patches")
    if options == ["-flags", "+ildct"] and not mxf_is_patched(ff):
        pytest.skip("only our MXF patch reads fields")
    log = write(ff, tmp_path, fmt_name, ["a.avi", name], *options).text
    raw, file = packet_bytes(ff, tmp_path / "a.avi"), (tmp_path / name).read_bytes()
    if box is None:
        assert file == raw
        assert ("stays a raw codestream" in log) == (name == "a.jp2"), log
        return
    assert file.startswith(JP2_SIGNATURE) and file.endswith(raw) and "raw codestream: " not in log
    assert ("files of this name have HTJ2K" in log) == (name == "a.jph" and not options)
    header = boxes(boxes(file)["jp2h"])
    assert boxes(file)["ftyp"][:4] == box[0] and boxes(file)["jp2c"] == raw
    assert header["colr"] == bytes([1, 0, 0]) + box[1].to_bytes(4, "big")
    fmt = pixfmt.parse(fmt_name)
    assert ("cdef" in header) == (fmt.num_components in (2, 4))
    # The encoder writes the same boxes.
    write(ff, tmp_path, fmt_name, [f"b{name[1:]}"], *options, "-format", "jp2")
    assert (tmp_path / f"b{name[1:]}").read_bytes() == file
    ff.ffmpeg("-f", "image2", "-c:v", "jpeg2000", "-i", tmp_path / name, "-c", "copy", "-bsf:v", "j2k_jp2=mode=unwrap", tmp_path / "c.j2k")
    assert (tmp_path / "c.j2k").read_bytes() == raw


@pytest.mark.parametrize("mode, kind", [("straight", 1), ("premultiplied", 2)])
def test_filter_says_the_alpha_mode(ff, tmp_path, mode, kind):
    """As frames have it, or as an option of a copy says; else it is straight."""
    if "alpha_mode" not in run(ff.program, "-hide_banner", "-h", "filter=setparams").stdout.decode():
        pytest.skip("this FFmpeg has no alpha modes")
    write(ff, tmp_path, "rgba", ["a.avi", "a.jp2"], "-vf", f"setparams=alpha_mode={mode}")
    ff.ffmpeg("-i", tmp_path / "a.avi", "-c", "copy", "-alpha_mode", mode, tmp_path / "b.jp2")
    ff.ffmpeg("-i", tmp_path / "a.avi", "-c", "copy", tmp_path / "c.jp2")
    for name, want in (("a.jp2", kind), ("b.jp2", kind), ("c.jp2", 1)):
        cdef = boxes(boxes((tmp_path / name).read_bytes())["jp2h"])["cdef"]
        assert list(struct.iter_unpack(">HHH", cdef[2:]))[3] == (3, want, 0), name


def test_filter_refuses_what_is_damaged(ff, tmp_path):
    """Cut at any byte of its headers, a codestream or JP2 file is refused or kept, and the program ends."""
    if not decoder_is_patched(ff):
        pytest.skip("this FFmpeg has none of our patches")
    write(ff, tmp_path, "yuv444p", ["a.jp2", "a.j2k"])
    reasons = {"neither a codestream nor a JP2 file", "main header of the codestream is damaged", "has no codestream, or is damaged"}
    cut, seen = tmp_path / "cut.j2k", set()
    for name, mode in (("a.j2k", "wrap"), ("a.jp2", "unwrap")):
        whole = (tmp_path / name).read_bytes()
        for size in [*range(1, 120, 7), len(whole) - 1]:
            cut.write_bytes(whole[:size])
            log = ff.ffmpeg("-f", "image2", "-video_size", f"{W}x{H}", "-pixel_format", "yuv444p", "-c:v", "jpeg2000", "-i", cut,
                            "-c", "copy", "-bsf:v", f"j2k_jp2=mode={mode}", "-f", "rawvideo", tmp_path / "out", ok=None).text
            seen |= {reason for reason in reasons if reason in log}
    assert seen == reasons


# What FFmpeg's decoder makes wrong of the other formats without our patch: frames that it refuses, and 12 bits that it leaves in
# the lower bits of 16.
REFUSED = {"yuv440p10le", "yuv440p12le"}
NOT_SHIFTED = {"yuva422p12le", "yuva444p12le"}


def test_every_format_is_read_back(ff, reader, tmp_path):
    """From MOV: the components, and the samples at their depth, or shifted up to that of the format shown."""
    patched = reader == ff.program and decoder_is_patched(ff)
    names = [name for name in ff.pixel_formats if name not in {"cuda", "xyz12le"} | (set() if patched else REFUSED)]
    for some in (names[i : i + 24] for i in range(0, len(names), 24)):
        inputs, outputs, frames = [], [], {}
        for i, name in enumerate(some):
            fmt, frames[name] = pixfmt.parse(name), noise(name, W, H, 1)[0]
            (tmp_path / f"{name}.in").write_bytes(fmt.pack(frames[name], W, H))
            inputs += [*source(name)[:-1], tmp_path / f"{name}.in"]
            outputs += ["-map", i, "-c:v", "j2k_cuda", "-threads", 1, "-lossless", 1, tmp_path / f"{name}.mov"]
        ff.ffmpeg(*inputs, *outputs)
        for name, (shown, samples) in zip(some, read(reader, tmp_path, [f"{name}.mov" for name in some])):
            fmt = pixfmt.parse(name)
            up = 0 if name in NOT_SHIFTED and not patched else shown.depth - fmt.depth
            layout = [shown.subsampling(c) for c in range(shown.num_components)]
            assert shown.kind == fmt.kind and layout == [fmt.subsampling(c) for c in range(fmt.num_components)], name
            assert [list(s) for s in samples] == [[v << up for v in s] for s in frames[name]], f"{name}: {shown.name}"


@pytest.mark.parametrize("fmt_name", sorted(REFUSED))
def test_formats_that_decoders_refuse(ff, reader, tmp_path, fmt_name):
    if reader == ff.program and decoder_is_patched(ff):
        pytest.skip("this decoder has our patch")
    write(ff, tmp_path, fmt_name, ["a.mov"])
    result = run(reader, "-v", "error", "-nostdin", "-xerror", "-i", tmp_path / "a.mov", "-f", "null", "-", ok=None)
    assert "Unknown pix_fmt" in result.text, result.text


@pytest.mark.parametrize("fmt_name, named, other", [
    ("yuv444p12le", True, False), ("yuva444p", True, False), ("yuv422p10le", False, False), ("yuv420p", False, False),
    ("gbrp12le", False, False), ("rgba", False, False), ("gray", False, False), ("ya8", False, False),
    ("xyz12le", False, False)])
def test_auto(ff, tmp_path, fmt_name, named, other):
    """auto is jp2 only where readers need it. With our patch, files named .jp2 are JP2 files."""
    names = [name for name in NAMED + OTHERS if name != "a.jp2" or not decoder_is_patched(ff)]
    write(ff, tmp_path, fmt_name, names)
    for name in names:
        packet = ff.copied_packets("-i", tmp_path / name)[0]
        want = named if name in NAMED else other
        assert packet.startswith(JP2_SIGNATURE if want else b"\xff\x4f\xff\x51"), f"{name}: {packet[:12].hex()}"


def test_xyz_of_a_cinema_profile(ff, reader, tmp_path):
    names = NAMED + ["a.avi", "a.j2c"]
    write(ff, tmp_path, "xyz12le", names, "-lossless", 0, "-profile:v", "cinema2k")
    want = colours(pixfmt.parse("xyz12le"), bars(pixfmt.parse("xyz12le")))
    for name, (shown, samples) in zip(names, read(reader, tmp_path, names)):
        assert shown.name == "xyz12le", f"{name} is shown as {shown.name}"
        worst = max(abs(a - b) for x, y in zip(want, colours(shown, samples)) for a, b in zip(x, y))
        assert worst < 0.02, f"{name}: off by {worst:.3f}"


@pytest.mark.parametrize("choice", ["j2k", "jp2"])
def test_a_choice_is_honoured(ff, tmp_path, choice):
    """The muxers of our patch put YUV 4:4:4 into JP2 files, unless they may insert no filter."""
    for fmt_name, options in (("yuv444p", ["-fflags", "-autobsf"]), ("rgb24", [])):
        write(ff, tmp_path, fmt_name, ["a.mov", "a.j2c"], "-format", choice, *options)
        for name in ("a.mov", "a.j2c"):
            packet = ff.copied_packets("-i", tmp_path / name)[0]
            assert packet.startswith(JP2_SIGNATURE) == (choice == "jp2"), name
    if decoder_is_patched(ff):
        write(ff, tmp_path, "yuv444p", ["a.mov"], "-format", choice)
        assert ff.copied_packets("-i", tmp_path / "a.mov")[0].startswith(JP2_SIGNATURE)


@pytest.mark.parametrize("fmt_name, name, options, says", [
    ("yuv444p12le", "a.mxf", (), "does not say that yuv444p12le is YUV"),
    ("yuv444p12le", "a.avi", (), "does not say that yuv444p12le is YUV"),
    ("yuva444p", "a.mov", ("-format", "j2k"), "does not say that yuva444p is YUV"),
    ("yuv444p", "a.mov", (), ""),
    ("yuv422p10le", "a.mxf", (), ""),
    ("gbrp12le", "a.mxf", (), ""),
    ("gray", "a.avi", (), ""),
    ("yuv444p", "a.avi", ("-format", "jp2"), "limited range with matrix bt709"),
    ("yuv440p10le", "a.mov", (), "has no yuv440p10le"),
    ("yuva422p12le", "a.mxf", (), "takes yuva422p12le for 16 bits"),
    ("yuva444p12le", "a.mov", (), "takes yuva444p12le for 16 bits"),
    ("xyz12le", "a.mxf", (), "reads X'Y'Z' as RGB"),
    ("xyz12le", "a.mxf", ("-profile:v", "cinema2k", "-lossless", 0), "")])
def test_warnings(ff, tmp_path, fmt_name, name, options, says):
    text = write(ff, tmp_path, fmt_name, [name], "-vf", "setparams=colorspace=bt709", *options).text
    lines = [line for line in text.splitlines() if "j2k_cuda" in line]
    assert len(lines) == bool(says) and says in "".join(lines), text


@pytest.mark.parametrize("fmt, trc, options, says", [
    ("rgb48le", "linear", (), "The frames say that they are linear light"), ("rgb48le", "bt709", (), ""),
    ("gbrp10le", "linear", (), ""), ("gbrp12le", "linear", (), ""),
    ("gbrp10le", "linear", ("-xyz", "rec709"), "xyz takes the frames for linear light"),
    ("gbrp10le", "linear", ("-xyz", "rec709", "-cj2k-params", "xyz_gamma=2.4"), ""), ("gbrp10le", "bt709", ("-xyz", "rec709"), "")])
def test_linear_light(ff, fmt, trc, options, says):
    """EXR files are decoded to linear light in floats; FFmpeg converts them to 16 bits without a word. Frames of fewer bits that
    say linear are DPX, which says it of all, and only xyz acts on it."""
    log = ff.encode("-vf", f"setparams=color_trc={trc}", *options, fmt=fmt).log
    lines = [line for line in log.splitlines() if "linear" in line]
    assert len(lines) == bool(says) and says in "".join(lines), log


def test_dpx(ff, tmp_path):
    """A film as DPX, video that its header calls linear: no warning, and with its name put right the same X'Y'Z' as before."""
    if not {"dpx"} <= names_of(ff.program, "encoders") & names_of(ff.program, "decoders"):
        pytest.skip("this ffmpeg does not both write and read dpx")
    source = ["-f", "lavfi", "-i", f"testsrc2=s={W}x{H}:r=24,format=gbrp10le,setparams=color_trc=bt709", "-frames:v", 1]
    ff.ffmpeg(*source, tmp_path / "in.dpx")
    say_linear(tmp_path / "in.dpx")
    encode = ["-c:v", "j2k_cuda", "-lossless", 1, "-update", 1]
    assert not ff.ffmpeg("-i", tmp_path / "in.dpx", *encode, tmp_path / "a.j2c").text.strip()
    xyz = [*encode, "-xyz", "rec709"]
    ff.ffmpeg(*source, *xyz, tmp_path / "want.j2c")
    text = ff.ffmpeg("-i", tmp_path / "in.dpx", *xyz, tmp_path / "linear.j2c").text
    assert "xyz takes the frames for linear light" in text, text
    text = ff.ffmpeg("-i", tmp_path / "in.dpx", "-vf", "setparams=color_trc=bt709", *xyz, tmp_path / "video.j2c").text
    assert "linear" not in text, text
    want, linear, video = ((tmp_path / f"{name}.j2c").read_bytes() for name in ("want", "linear", "video"))
    assert video == want and linear != want


# --- the boxes of JP2 files -------------------------------------------------------------------------------------------


def boxes(data):
    at, result = 0, {}
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        end = at + length if length else len(data)
        result[kind.decode("latin-1")] = data[at + 8 : end]
        at = end
    return result


def jp2_header(ff, *options, **kw):
    packet = ff.packets("-format", "jp2", *options, **kw)[0]
    from_jp2(packet)
    return boxes(boxes(packet)["jp2h"])


def profile_of(colr):
    assert colr[:3] == b"\x02\0\0" and colr[3 + 36 : 3 + 40] == b"acsp", colr[:60]
    profile = colr[3:]
    assert struct.unpack(">I", profile[:4])[0] == len(profile)
    return profile


def tags(profile):
    count = struct.unpack(">I", profile[128:132])[0]
    entries = (struct.unpack(">4sII", profile[132 + 12 * i : 144 + 12 * i]) for i in range(count))
    return {name.decode(): profile[at : at + size] for name, at, size in entries}


@pytest.mark.parametrize("fmt, options, space", [
    ("rgb24", "", 16), ("gbrp12le", "color_primaries=bt709:color_trc=bt709", 16),
    ("gbrp12le", "color_primaries=bt709:color_trc=iec61966-2-1", 16), ("gray", "color_primaries=bt2020", 17),
    ("yuv444p", "color_primaries=bt2020:color_trc=smpte2084", 18), ("yuv420p", "", 18)])
def test_enumerated_colour_spaces(ff, fmt, options, space):
    filters = ["-vf", f"setparams={options}"] if options else []
    assert jp2_header(ff, *filters, fmt=fmt)["colr"] == struct.pack(">BBBI", 1, 0, 0, space)


@pytest.mark.parametrize("fmt, options, red, gamma", [
    # Where red is under D50, X Y Z; and the exponent of the curve, 0 for that of sRGB.
    ("gbrp12le", "color_primaries=bt2020:color_trc=bt2020-12", (0.6735, 0.2790, -0.0019), 0),
    ("gbrp10le", "color_primaries=smpte432", (0.5151, 0.2412, -0.0011), 0),
    ("rgb24", "color_trc=bt470bg", (0.4361, 0.2225, 0.0139), 2.8),
    ("rgb48le", "color_trc=linear", (0.4361, 0.2225, 0.0139), 1),
    ("gray12le", "color_trc=bt470m", None, 2.2)])
def test_icc_profiles_of_colours(ff, fmt, options, red, gamma):
    found = tags(profile_of(jp2_header(ff, "-vf", f"setparams={options}", fmt=fmt)["colr"]))
    curve = found["kTRC" if red is None else "gTRC"]
    points = struct.unpack(">I", curve[8:12])[0]
    assert points == {0: 256, 1: 0}.get(gamma, 1)
    if points == 1:
        assert abs(struct.unpack(">H", curve[12:14])[0] / 256 - gamma) < 0.002
    if red:
        got = [v / 65536 for v in struct.unpack(">3i", found["rXYZ"][8:20])]
        assert all(abs(a - b) < 0.0005 for a, b in zip(got, red)), got


def test_icc_profile_of_xyz(ff):
    found = tags(profile_of(jp2_header(ff, fmt="xyz12le")["colr"]))
    assert {"rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC"} <= set(found)
    assert abs(struct.unpack(">H", found["gTRC"][12:14])[0] / 256 - 2.6) < 0.002
    # X'Y'Z' of the white of RP 431-2, which is Y = 48 cd/m2, is the white of the profile.
    white = [sum((code / 4095) ** 2.6 * struct.unpack(">3i", found[c][8:20])[i] / 65536
                 for code, c in zip((3794, 3960, 3890), ("rXYZ", "gXYZ", "bXYZ"))) for i in range(3)]
    assert all(abs(a - b) < 0.001 for a, b in zip(white, (0.9642, 1, 0.8249))), white


@pytest.mark.parametrize("transfer, word", [("smpte2084", "pq"), ("arib-std-b67", "hlg")])
def test_pq_and_hlg(ff, transfer, word):
    """JP2 files cannot say it, and raw codestreams need not."""
    params = ["-vf", f"setparams=color_primaries=bt2020:color_trc={transfer}"]
    ff.check_refused("-format", "jp2", *params, fmt="gbrp12le", says=[f"format jp2 with transfer {word}", "format j2k"])
    ff.packets(*params, fmt="gbrp12le")


def test_colours_without_a_profile(ff):
    ff.check_refused("-format", "jp2", "-vf", "setparams=color_trc=log100", fmt="rgb24",
                     says=["transfer 9 (H.273)", "format j2k"])
    ff.check_refused("-format", "jp2", "-vf", "setparams=color_primaries=film", fmt="rgb24",
                     says=["primaries 8 (H.273)", "format j2k"])
    jp2_header(ff, "-vf", "setparams=color_primaries=film", fmt="gray")


def test_opacity(ff):
    channels = {"rgba": [(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 1, 0)], "ya8": [(0, 0, 1), (1, 1, 0)]}
    for fmt, want in channels.items():
        cdef = jp2_header(ff, fmt=fmt)["cdef"]
        assert list(struct.iter_unpack(">HHH", cdef[2:])) == want
    premultiplied = ff.encode("-format", "jp2", "-vf", "setparams=alpha_mode=premultiplied", fmt="rgba", ok=None)
    if "Option not found" in premultiplied.log or "Option 'alpha_mode' not found" in premultiplied.log:
        pytest.skip("this FFmpeg has no alpha modes")
    cdef = boxes(boxes(premultiplied.packets[0])["jp2h"])["cdef"]
    assert list(struct.iter_unpack(">HHH", cdef[2:]))[3] == (3, 2, 0), premultiplied.log


# --- ICC profiles of the frames ---------------------------------------------------------------------------------------


def png(path, rgb, profile):
    """A PNG file of one colour with an ICC profile."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + bytes(rgb) * W) * H
    header = struct.pack(">IIBBBBB", W, H, 8, 2, 0, 0, 0)
    icc = chunk(b"iCCP", b"test\0\0" + zlib.compress(profile)) if profile else b""
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + icc + chunk(b"IDAT", zlib.compress(rows)) +
                     chunk(b"IEND", b""))


def encode_pngs(ff, folder, profiles, *options):
    for i, profile in enumerate(profiles):
        png(folder / f"{i}.png", (200, 100, 50), profile)
    result = ff.ffmpeg("-framerate", 25, "-i", folder / "%d.png", "-c:v", "j2k_cuda", *options, "-pix_fmt", "rgb24",
                       folder / "%d.jp2")
    headers = [boxes(boxes((folder / f"{i + 1}.jp2").read_bytes()).get("jp2h", b"")) for i in range(len(profiles))]
    return [h["colr"] for h in headers if "colr" in h], result.text


@pytest.fixture
def profiles(ff):
    """Two different profiles."""
    return [profile_of(jp2_header(ff, "-vf", f"setparams=color_primaries={name}", fmt="rgb24")["colr"])
            for name in ("bt2020", "smpte432")]


def test_icc_profile_of_the_frames(ff, tmp_path, profiles):
    found, log = encode_pngs(ff, tmp_path, [profiles[0]] * 3, "-format", "jp2")
    assert [profile_of(c) for c in found] == [profiles[0]] * 3, log
    assert "ICC" not in log, log
    # Without -format jp2: raw codestreams, or JP2 files of the muxer.
    assert encode_pngs(ff, tmp_path, profiles[:1])[0] == (found[:1] if decoder_is_patched(ff) else [])


@pytest.mark.parametrize("second", ["other", "none"])
def test_icc_profile_changes(ff, tmp_path, profiles, second):
    other = profiles[1] if second == "other" else b""
    found, log = encode_pngs(ff, tmp_path, [profiles[0], other, other], "-format", "jp2")
    assert [profile_of(c) for c in found] == [profiles[0]] * 3
    assert log.count("Frame 1 has another ICC profile") == 1 and log.count("another ICC profile") == 1, log


def test_icc_profile_that_jp2_cannot_contain(ff, tmp_path, profiles):
    table = profiles[0].replace(b"desc", b"A2B0", 1)
    found, log = encode_pngs(ff, tmp_path, [table] * 2, "-format", "jp2")
    assert found == [struct.pack(">BBBI", 1, 0, 0, 16)] * 2
    assert "tag A2B0, a lookup table" in log and log.count("The ICC profile of the frames is not written") == 1, log
    found, log = encode_pngs(ff, tmp_path, [table] * 2)
    assert found == [] and log.count("JP2 files cannot contain its ICC profile") == decoder_is_patched(ff), log


def test_other_readers_take_the_profiles(ff, tmp_path):
    """opj_decompress reads the boxes and finds the samples."""
    if not ff.opj:
        pytest.skip("opj_decompress is not installed")
    for fmt, options in (("rgb24", ("-vf", "setparams=color_primaries=bt2020")), ("xyz12le", ()),
                         ("gray", ("-vf", "setparams=color_trc=bt470m"))):
        frames = noise(fmt, 40, 24, 1)
        packet = ff.packets("-lossless", 1, "-format", "jp2", *options, fmt=fmt, width=40, height=24, frames=frames)[0]
        with scratch_folder() as folder:
            (folder / "a.jp2").write_bytes(packet)
            log = run(ff.opj, "-i", folder / "a.jp2", "-o", folder / "a.pgx").stdout.decode()
            assert "rror" not in log, log

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The scripts in samples/ on small pictures, with the ffmpeg under test."""

import base64
import fractions
import hashlib
import os
import pathlib
import shutil
import re
import subprocess
import sys
import uuid
from xml.etree import ElementTree

import pytest

import pixfmt
import readers
from klv import Mxf
from codestream import Codestream
from tools import find_checker, hd, mxf_is_patched, names_of, raw_input, reads_ht, run, say_linear

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
FRAMES = 5


@pytest.fixture(name="sample")
def _sample(ff, tmp_path):
    """sample(NAME, arguments..., ok=True): runs samples/NAME.sh in tmp_path and returns what it prints."""
    def sample(name, *args, ok=True):
        result = subprocess.run([str(SAMPLES / f"{name}.sh"), *map(str, args)], cwd=tmp_path, text=True, timeout=300,
                                env=os.environ | {"CJ2K_FFMPEG": str(ff.program)}, capture_output=True, check=False)
        log = result.stdout + result.stderr
        assert (result.returncode == 0) == ok, f"exit status {result.returncode}\n{log[-3000:]}"
        if not ok:
            assert re.search(rf"^{name}\.sh: ", log, re.MULTILINE) or result.returncode == 2, log
        return log
    return sample


def needs(ff, *codecs):
    if missing := set(codecs) - (names_of(ff.program, "encoders") & names_of(ff.program, "decoders")):
        pytest.skip(f"this ffmpeg does not both write and read {', '.join(sorted(missing))}")


def needs_zscale(ff):
    if "zscale" not in names_of(ff.program, "filters"):
        pytest.skip("this ffmpeg has no filter zscale")


def film(ff, path, *options, size="128x72"):
    path.parent.mkdir(exist_ok=True)
    ff.ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={size}:r=24", "-frames:v", FRAMES, *options, path)


@pytest.fixture(name="checker")
def _checker(ff, monkeypatch):
    """cj2k-check, and an FFmpeg whose MXF muxer has the patch."""
    if not mxf_is_patched(ff):
        pytest.skip("this FFmpeg has no MXF patch")
    if "lutrgb" not in names_of(ff.program, "filters"):
        pytest.skip("this ffmpeg was built for the tests alone")
    if not find_checker():
        pytest.skip("there is no cj2k-check in PATH or in build")
    monkeypatch.setenv("CJ2K_CHECK", find_checker())


@pytest.mark.parametrize("name, title", [("imf", "two\nlines"), ("dcp", "\udcff")])
def test_title(sample, name, title):
    """A title that XML cannot hold, and bytes that are no UTF-8, are refused before anything is read."""
    log = sample(name, "--package", title, "none.mov", "out", ok=False)
    assert f"the title {ascii(title)} has control characters, or bytes that are no UTF-8" in log and "none.mov" not in log, log


def test_help_and_usage(sample):
    for name in ("archive", "proxy", "sequence", "dcp", "imf"):
        assert f"samples/{name}.sh" in sample(name, "--help")
        sample(name, ok=False)
        sample(name, "--no-such-option", ok=False)


@pytest.mark.parametrize("output", ["a.mkv", "a.mov", "a.mxf"])
@pytest.mark.parametrize("pix_fmt", ["rgb48be", "rgb24"])
def test_archive(ff, tmp_path, sample, output, pix_fmt):
    film(ff, tmp_path / "scan/%06d.png", "-pix_fmt", pix_fmt)
    log = sample("archive", "scan/%06d.png", output)
    assert f"reversible  yes: {FRAMES} MD5" in log and f"proved      {FRAMES} codestreams" in log, log
    md5 = (tmp_path / f"{output}.md5").read_text().split()
    assert len(set(md5)) == FRAMES and md5 == (tmp_path / f"{output}.source.md5").read_text().split()
    assert md5 == ff.frame_hashes("-i", tmp_path / "scan/%06d.png", "-c:v", "rawvideo")


@pytest.mark.parametrize("output", ["a.mkv", "a.mxf"])
def test_archive_ht(ff, tmp_path, sample, output):
    film(ff, tmp_path / "scan/%06d.png", "-pix_fmt", "rgb48be")
    if not reads_ht(ff, 8):
        assert "from 8.1 on FFmpeg reads films of it" in sample("archive", "--ht", "scan/%06d.png", output, ok=False)
        return
    log = sample("archive", "--ht", "scan/%06d.png", output)
    assert f"reversible  yes: {FRAMES} MD5" in log, log
    packet = ff.copied_packets("-i", tmp_path / output)[0]
    assert packet[6:8] == b"\x40\x00", packet[:8].hex()


def test_archive_keeps_audio(ff, tmp_path, sample):
    needs(ff, "flac", "pcm_s24le", "ffv1")
    ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=128x72:r=24", "-f", "lavfi", "-i", "sine=r=48000", "-t", 0.2, "-c:v", "ffv1",
              "-pix_fmt", "yuv422p10le", "-c:a", "pcm_s24le", tmp_path / "a.mkv")
    sample("archive", "a.mkv", "b.mkv")
    assert [s["codec_name"] for s in ff.probe(tmp_path / "b.mkv", "-show_streams")["streams"]] == ["jpeg2000", "flac"]
    a, b = (ff.ffmpeg("-i", tmp_path / n, "-map", "0:a", "-f", "md5", "-c:a", "pcm_s24le", "-").stdout for n in ("a.mkv", "b.mkv"))
    assert a == b, "the audio is another one"


@pytest.mark.parametrize("change, says", [("-lossless/-levels", "lines differ"), ("verify=1/verify=0", f"proved 0 of {FRAMES} frames")])
def test_archive_finds_a_loss(ff, tmp_path, sample, monkeypatch, change, says):
    """An ffmpeg that encodes with loss, or proves nothing, is found out."""
    film(ff, tmp_path / "scan/%06d.png", "-pix_fmt", "rgb24")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ffmpeg").write_text(f'#!/bin/bash\nexec "{ff.program}" "${{@/{change}}}"\n')
    (folder / "ffprobe").symlink_to(pathlib.Path(ff.program).with_name("ffprobe"))
    (folder / "ffmpeg").chmod(0o755)
    monkeypatch.setattr(ff, "program", folder / "ffmpeg")
    log = sample("archive", "scan/%06d.png", "a.mkv", ok=False)
    assert says in log and ("proved" in says or not (tmp_path / "a.mkv").exists()), log


def test_archive_refuses(ff, tmp_path, sample):
    assert "there is no none.mov" in sample("archive", "none.mov", "a.mkv", ok=False)
    film(ff, tmp_path / "scan/%06d.png", "-pix_fmt", "rgb24")
    assert "not named" in sample("archive", "scan/%06d.png", "a.avi", ok=False)
    assert "no file is named" in sample("archive", "scan/x%06d.png", "a.mkv", ok=False)


def test_proxy(ff, tmp_path, sample):
    needs(ff, "prores")
    film(ff, tmp_path / "master.mov", "-c:v", "j2k_cuda", "-levels", 3, "-b:v", "20M", "-pix_fmt", "yuv422p10le")
    log = sample("proxy", "master.mov", "p.mov", 1)
    assert re.findall(r"^ *(\d)  (\d+x\d+) +(\d+)  ", log, re.MULTILINE) == [
        ("0", "128x72", "5"), ("1", "64x36", "5"), ("2", "32x18", "5"), ("3", "16x9", "5")], log
    stream = ff.probe(tmp_path / "p.mov", "-show_streams")["streams"][0]
    assert (stream["codec_name"], stream["width"], stream["height"]) == ("prores", 64, 36), stream
    assert "LEVEL 4 not in [0, 3]" in sample("proxy", "master.mov", "p.mov", 4, ok=False)
    assert "not jpeg2000" in sample("proxy", "p.mov", ok=False)


def test_real_size(ff, tmp_path, sample):
    """Frames of a size that films have: each one is more than a pipe holds (64 KiB)."""
    film(ff, tmp_path / "in.mov", "-c:v", "png", "-pix_fmt", "rgb48be", size="1920x1080")
    sample("archive", "in.mov", "master.mxf")
    sizes = [len(packet) for packet in ff.copied_packets("-i", tmp_path / "master.mxf")]
    assert len(sizes) == FRAMES and min(sizes) > 2 * 65536, sizes
    if "prores_ks" in names_of(ff.program, "encoders"):
        assert ", 480x270, 5 frames, " in sample("proxy", "master.mxf", "p.mov")
    film(ff, tmp_path / "scan/%06d.png", "-pix_fmt", "rgb48be", size="1920x1080")
    assert f"frames      {FRAMES} in" in sample("sequence", "scan/%06d.png", "out", "200M")


@pytest.mark.usefixtures("checker")
def test_tracks_of_real_size(ff, tmp_path, sample):
    film(ff, tmp_path / "in.mov", "-c:v", "png", "-pix_fmt", "rgb48be", size="1920x1080")
    assert "cj2k-check finds nothing" in sample("imf", "in.mov", "imf")
    if "zscale" in names_of(ff.program, "filters"):
        assert "conforms    cinema2k at 24 fps" in sample("dcp", "in.mov", "dcp")


@pytest.mark.parametrize("kind, options, depth", [("png", "rgb48be", 16), ("dpx", "gbrp10le", 10), ("tiff", "rgb48le", 16),
                                                  ("exr", "gbrpf32le", 16), ("exr", "gbrpf32le -format half", 16)])
def test_sequence(ff, tmp_path, sample, kind, options, depth):
    needs(ff, kind)
    if kind == "exr":
        needs_zscale(ff)
    film(ff, tmp_path / f"scan/%06d.{kind}", "-pix_fmt", *options.split())
    log = sample("sequence", f"scan/%06d.{kind}", "out", "20M")
    files = sorted((tmp_path / "out").iterdir())
    assert [f.name for f in files] == [f"{n:06d}.j2c" for n in range(FRAMES)]
    for file in files:
        data = file.read_bytes()
        assert len(data) <= 20_000_000 // 8 // 24
        assert Codestream(data).depths == [depth] * 3
    assert f"frames      {FRAMES} in" in log and ("EXR: linear light" in log) == (kind == "exr"), log
    assert "already" in sample("sequence", f"scan/%06d.{kind}", "out", ok=False)


@pytest.mark.parametrize("trc, white", [("bt709", 1), ("smpte2084", 0.508), ("arib-std-b67", 0.629), ("iec61966_2_1", 1)])
def test_exr_white(ff, tmp_path, sample, trc, white):
    """1 in an EXR file is 100 cd/m2. (libswscale makes white 0.4 % too dark where it makes floats.)"""
    needs(ff, "exr")
    needs_zscale(ff)
    (tmp_path / "in").mkdir()
    ff.ffmpeg("-f", "lavfi", "-i", "color=white:s=64x64:r=24,format=gbrpf32le", "-frames:v", 1, tmp_path / "in/a_%d.exr")
    sample("sequence", "--trc", trc, "in", "out", "lossless")
    _, planes = ff.ffmpeg_samples((tmp_path / "out/000000.j2c").read_bytes(), 64, 64)
    assert all(abs(value / 65535 - white) < 0.003 for plane in planes for value in plane), planes[0][0]


def test_sequence_of_a_folder(ff, tmp_path, sample):
    film(ff, tmp_path / "scan/a_%03d.png", "-pix_fmt", "rgb24")
    assert "quality     lossless, in" in sample("sequence", "scan", "out", "lossless")
    assert len(list((tmp_path / "out").iterdir())) == FRAMES
    (tmp_path / "scan/a_003.png").unlink()
    log = sample("sequence", "scan/a_%03d.png", "gap", ok=False)
    assert "2 codestreams of 4 images" in log, log
    run("cp", tmp_path / "scan/a_001.png", tmp_path / "scan/b.tif")
    assert "several kinds" in sample("sequence", "scan", "kinds", ok=False)


@pytest.mark.usefixtures("checker")
def test_dcp(ff, tmp_path, sample):
    """White of Rec. 709 in cinema's X'Y'Z' (ST 428-1), black around it; a film at 23.976 is played at 24."""
    needs_zscale(ff)  # without it white is not exact
    ff.ffmpeg(*raw_input("rgb24", 128, 72, "24000/1001"), "-c:v", "png", tmp_path / "in.mov", data=b"\xff" * (128 * 72 * 9))
    log = sample("dcp", "--size", "256x64", "in.mov", "out")
    assert "24000/1001 is played as 24" in log and "conforms    cinema2k at 24 fps, 256x64" in log, log
    stream = ff.probe(tmp_path / "out/picture.mxf", "-count_packets", "-show_streams")["streams"][0]
    assert (stream["pix_fmt"], stream["nb_read_packets"], stream["r_frame_rate"]) == ("xyz12le", "3", "24/1"), stream
    files = sorted((tmp_path / "out/j2c").iterdir())
    assert [f.name for f in files] == ["000000.j2c", "000001.j2c", "000002.j2c"]
    fmt, samples = ff.ffmpeg_samples(files[0].read_bytes(), 256, 64)
    assert fmt == pixfmt.parse("xyz12le")
    for plane, white in zip(samples, (3883, 3960, 4092)):
        assert abs(plane[32 * 256 + 128] - white) <= 3, plane[32 * 256 + 128]
        assert plane[32 * 256 + 20] <= 3, "no black beside the picture"
    assert "already" in sample("dcp", "--size", "256x64", "in.mov", "out", ok=False)


@pytest.mark.usefixtures("checker")
def test_dcp_refuses(ff, tmp_path, sample):
    needs(ff, "ffv1")
    film(ff, tmp_path / "pq.mkv", "-vf", "setparams=color_trc=smpte2084", "-c:v", "ffv1", "-pix_fmt", "yuv422p10le")
    assert "PQ" in sample("dcp", "pq.mkv", "out", ok=False)
    ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=15", "-frames:v", 3, "-c:v", "png", tmp_path / "slow.mov")
    assert "--rate converts it" in sample("dcp", "slow.mov", "out", ok=False)
    assert "--rate 23 is not one of" in sample("dcp", "--rate", 23, "slow.mov", "out", ok=False)
    log = sample("dcp", "--rate", 30, "--size", "64x48", "slow.mov", "out")
    assert "15/1 becomes 30" in log and len(list((tmp_path / "out/j2c").iterdir())) == 6, log


@pytest.mark.usefixtures("checker")
def test_violations_are_not_passed_over(ff, tmp_path, sample, monkeypatch):
    film(ff, tmp_path / "in.mov", "-c:v", "png", "-pix_fmt", "rgb24")
    monkeypatch.setenv("CJ2K_CHECK", shutil.which("false"))
    assert "cj2k-check found" in sample("dcp", "--size", "128x72", "in.mov", "dcp", ok=False)
    assert "cj2k-check found" in sample("imf", "in.mov", "imf", ok=False)


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("options, pix_fmt, becomes, rsiz", [
    ((), "yuv422p10le", "yuv422p10le", 0x0424), ((), "yuva444p12le", "yuv444p12le", 0x0424),
    (("--reversible",), "gbrp12le", "gbrp12le", 0x0701),
    (("--ht",), "yuv422p10le", "yuv422p10le", 0x4000), (("--ht", "--reversible"), "gbrp12le", "gbrp12le", 0x4000)])
def test_imf(ff, tmp_path, sample, options, pix_fmt, becomes, rsiz):
    needs(ff, "ffv1")
    film(ff, tmp_path / "in.mkv", "-c:v", "ffv1", "-level", 3, "-pix_fmt", pix_fmt)
    log = sample("imf", *options, "in.mkv", "out")
    assert f"pixels      {becomes}" in log and "cj2k-check finds nothing" in log, log
    packets = ff.copied_packets("-i", tmp_path / "out/picture.mxf")
    files = sorted((tmp_path / "out/j2c").iterdir())
    assert packets == [f.read_bytes() for f in files] and len(files) == FRAMES
    assert int.from_bytes(packets[0][6:8], "big") == rsiz, packets[0][6:8].hex()
    assert ff.probe(tmp_path / "out/picture.mxf", "-show_streams")["streams"][0]["r_frame_rate"] == "24/1"


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("options, size, tags, becomes", [
    ((), "64x720", "", "bt709 bt709 bt709"), ((), "128x72", "", "smpte170m bt709 bt470bg"), ((), "64x576", "", "bt470bg bt709 bt470bg"),
    ((), "64x720", "color_primaries=bt2020:colorspace=bt2020nc", "bt2020 bt709 bt2020nc"),
    (("--colour", "rec2020pq"), "64x720", "color_primaries=bt709:color_trc=bt709:colorspace=bt709", "bt2020 smpte2084 bt2020nc")])
def test_imf_colours(ff, tmp_path, sample, options, size, tags, becomes):
    """As the file says; what it does not say is that of its size. MXF has one label for both matrices of BT.601."""
    needs(ff, "ffv1")
    film(ff, tmp_path / "in.mkv", *(("-vf", f"setparams={tags}") if tags else ()), "-c:v", "ffv1", "-pix_fmt", "yuv422p10le", size=size)
    sample("imf", *options, "in.mkv", "out")
    stream = ff.probe(tmp_path / "out/picture.mxf", "-show_streams")["streams"][0]
    assert " ".join(stream[f"color_{name}"] for name in ("primaries", "transfer", "space")) == becomes, stream


@pytest.mark.usefixtures("checker")
def test_dpx_and_exr(ff, tmp_path, sample):
    """DPX that says linear light whatever it holds; EXR holds it."""
    needs(ff, "dpx", "exr")
    needs_zscale(ff)
    film(ff, tmp_path / "scan/%06d.dpx", "-pix_fmt", "gbrp10le")
    for path in (tmp_path / "scan").iterdir():
        say_linear(path)
    film(ff, tmp_path / "render/%06d.exr", "-pix_fmt", "gbrpf32le")
    log = sample("dcp", "--size", "128x72", "scan/%06d.dpx", "video")
    assert "taken for bt709 (--trc)" in log and "xyz takes the frames for linear" not in log, log
    assert "xyz takes the frames for linear" in sample("dcp", "--size", "128x72", "--trc", "linear", "scan/%06d.dpx", "linear")
    assert (tmp_path / "video/j2c/000000.j2c").read_bytes() != (tmp_path / "linear/j2c/000000.j2c").read_bytes()
    for folder in ("scan/%06d.dpx", "render/%06d.exr"):
        log = sample("imf", "--reversible", "--colour", "rec709", folder, folder.split("/", maxsplit=1)[0] + "_imf")
        assert "curve bt709" in log and "linear light" not in log, log
    assert "curve arib-std-b67" in sample("imf", "--reversible", "--colour", "rec2020hlg", "render/%06d.exr", "hlg")
    assert "--colour mauve is not auto" in sample("imf", "--colour", "mauve", "scan/%06d.dpx", "out", ok=False)


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("name, rate, channels", [("imf", "30000/1001", 6), ("imf", 24, 2), ("dcp", 25, 6), ("dcp", "24000/1001", 1)])
def test_sound(ff, tmp_path, sample, name, rate, channels):
    """The sound becomes a track file of its own, as long as the picture."""
    needs(ff, "pcm_s16le")
    frames, hertz = 12, 44100
    ff.ffmpeg("-f", "lavfi", "-i", f"testsrc2=s=128x72:r={rate}", "-f", "lavfi", "-i", f"sine=r={hertz}", "-ac", channels, "-frames:v",
              frames, "-t", 0.3, "-c:v", "png", "-pix_fmt", "rgb24", "-c:a", "pcm_s16le", tmp_path / "in.mov")
    frames = len(ff.probe(tmp_path / "in.mov", "-select_streams", "v", "-show_packets")["packets"])
    log = sample(name, *(("--size", "128x72") if name == "dcp" else ()), "in.mov", "out")
    assert f"sound.mxf ({max(channels, 2)} channels)" in log, log
    picture, sound = (Mxf((tmp_path / f"out/{part}.mxf").read_bytes()) for part in ("picture", "sound"))
    played = fractions.Fraction(24 if rate == "24000/1001" and name == "dcp" else rate)
    samples = len(b"".join(sound.elements(0x16))) // 3 // max(channels, 2)
    whole = next(n for n in range(frames, frames + 5) if (n * 48000 / played).denominator == 1)
    assert picture.duration == frames and samples == whole * 48000 / played, samples
    assert any(b"".join(sound.elements(0x16))), "silence"
    unwrapped = (readers.as_dcp_sound if name == "dcp" else readers.as_02_sound)(tmp_path / "out/sound.mxf")
    # as-02-unwrap fills up to whole frames of its own rate, 24.
    assert unwrapped.startswith(b"".join(sound.elements(0x16))) and (len(unwrapped) == samples * 3 * max(channels, 2) or name == "imf")


def make_package(ff, tmp_path, sample, name, *options, rate=24, frames=24, channels=0, size="1920x1080"):
    """A film, and the package of it: checks that identifiers, sizes and hashes agree with the files. Returns its folder and playlist."""
    needs(ff, "pcm_s16le")
    tone = ["-f", "lavfi", "-i", "sine=r=48000:d=2", "-ac", channels, "-c:a", "pcm_s16le"] if channels else []
    ff.ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={size}:r={rate}", *tone, "-frames:v", frames, "-c:v", "png", "-pix_fmt", "rgb24",
              tmp_path / "in.mov")
    log = sample(name, *options, "--package", "Fish & Chips", "in.mov", "out")
    folder = tmp_path / "out/package"
    assert "package     out/package" in log and not (tmp_path / "out/picture.mxf").exists()
    tracks = {path.name for path in folder.glob("*.mxf")}
    assert tracks == {"picture.mxf", *(["sound.mxf"] if channels else [])}
    xml = {file.name[:3]: ElementTree.parse(file).getroot() for file in folder.glob("*.xml")}
    assert sorted(xml) == ["ASS", "CPL", "PKL", "VOL"] and len(list(folder.iterdir())) == 4 + len(tracks)

    def text(node, name):
        return node.find(f"{{*}}{name}").text
    paths = {text(node, "Id"): folder / node.find(".//{*}Path").text for node in xml["ASS"].iter() if node.tag.endswith("}Asset")}
    listed = [node for node in xml["PKL"].iter() if node.tag.endswith("}Asset")]
    assert len(listed) == len(paths) - 1 == len(tracks) + 1
    for node in listed:
        data = paths[text(node, "Id")].read_bytes()
        assert int(text(node, "Size")) == len(data)
        assert base64.b64decode(text(node, "Hash")) == hashlib.sha1(data).digest()
        if paths[text(node, "Id")].suffix == ".mxf":
            umid = Mxf(data).only("SourcePackage")[0x4401]
            assert text(node, "Id") == f"urn:uuid:{uuid.UUID(bytes=umid[16:])}"
    assert "Fish & Chips" in xml["CPL"].itertext()
    return folder, xml["CPL"]


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("judge, channels", [("clairmeta", 0), ("clairmeta", 6), ("dcpverify", 6)])
def test_dcp_package(ff, tmp_path, sample, judge, channels):
    """A whole package, which ClairMeta and libdcp accept."""
    readers.needs(judge)
    folder, playlist = make_package(ff, tmp_path, sample, "dcp", "--bitrate", "50M", channels=channels, size="1998x1080")
    assets = [node for node in playlist.iter() if node.tag.endswith(("}MainPicture", "}MainSound"))]
    assert [node.find("{*}Duration").text for node in assets] == ["24"] * (1 + bool(channels))
    assert bool(playlist.findall(".//{*}CompositionMetadataAsset")) == bool(channels)
    if judge == "dcpverify":
        assert readers.dcpverify(folder) == []
    else:
        report = readers.clairmeta(folder)
        assert "Check succeeded" in report and "Error(s)" not in report, report


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("options, rate, channels", [
    ((), 24, 6), (("--ht",), 24, 0), (("--reversible",), "30000/1001", 2)])
def test_imf_package(ff, tmp_path, sample, options, rate, channels):
    """A whole package that Photon accepts. At 29.97 sound has a whole number of samples in a multiple of 5 frames only."""
    folder, playlist = make_package(ff, tmp_path, sample, "imf", *options, rate=rate, frames=4, channels=channels)
    assert readers.photon(folder) == []
    durations = {}
    for sequence in playlist.iter():
        if sequence.tag.endswith(("}MainImageSequence", "}MainAudioSequence")):
            durations[sequence.tag[-13:-8]] = sum(
                int(part.find("{*}SourceDuration").text) * int(part.find("{*}RepeatCount").text) for part in sequence.findall(".//{*}Resource"))
    assert durations == {"Image": 5 if rate != 24 else 4} | ({"Audio": 8000 if rate == 24 else 8008} if channels else {})



def package(folder, kind, **tracks):
    """What package.py says, and whether it makes the package, of files of these contents."""
    folder.mkdir()
    for name, data in tracks.items():
        (folder / f"{name}.mxf").write_bytes(data)
    result = run(sys.executable, "-B", SAMPLES / "package.py", kind, "A film", folder, ok=None)
    assert "Traceback" not in result.text and (result.returncode == 0) == (folder / "ASSETMAP.xml").exists(), result.text
    return result.text


@pytest.mark.usefixtures("checker")
def test_package_refuses(ff, tmp_path, sample):
    """A rate that IMF has not, tracks that do not end together, and what is no track."""
    film(ff, tmp_path / "scan/%06d.png", "-pix_fmt", "rgb24")
    assert "Application 2E has no 48" in sample("imf", "--rate", 48, "--package", "A film", "scan/%06d.png", "out", ok=False)
    tracks = {}
    for kind, options in (("dcp", ("cinema2k", "-pix_fmt", "xyz12le")), ("imf", ("imf_2k_r", "-pix_fmt", "yuv422p10le", "-vf", hd("yuv")))):
        ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=128x72:r=24", "-frames:v", 4, "-c:v", "j2k_cuda", "-profile:v", *options,
                  "-f", f"mxf_{kind}", tmp_path / "picture.mxf")
        tracks[kind] = (tmp_path / "picture.mxf").read_bytes()
        for samples, rate in ((8000, 24), (9000, 24), (6000, 24), (488000, 24), (8000, 48)):
            ff.ffmpeg("-f", "lavfi", "-i", f"sine=r=48000,atrim=end_sample={samples}", "-ac", 2, "-c:a", "pcm_s24le",
                      "-mxf_audio_edit_rate", rate, "-f", f"mxf_{kind}", tmp_path / "sound.mxf")
            sound = (tmp_path / "sound.mxf").read_bytes()
            text = package(tmp_path / f"{kind}_{samples}_{rate}", kind, picture=tracks[kind], sound=sound)
            refused = samples != 8000 or (kind == "dcp" and rate != 24)
            assert bool(re.search(r"picture.mxf \(4 at 24/s\) and .*sound.mxf \(\d+ at \d+/s\) do not end together", text)) == refused, text
    text = run(sys.executable, "-B", SAMPLES / "package.py", "imf", "A film", tmp_path / "imf_8000_24", ok=False).text
    assert "there is a package" in text, text
    assert "is no sound track" in package(tmp_path / "same", "dcp", picture=tracks["dcp"], sound=tracks["dcp"])
    picture = tracks["imf"]
    for number, data in enumerate((b"", b"\xff" * 40, picture[:16], picture[:16] + b"\x88" + b"\xff" * 16, picture[:2000], sound)):
        assert "picture.mxf is no picture track of" in package(tmp_path / f"bad_{number}", "imf", picture=data)

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What programs by others make of our MXF files: Photon, asdcplib, bmx, MediaInfo, the distribution's FFmpeg and ours."""

import pytest

import readers
from klv import Mxf
from tools import hd, mxf_is_patched

PICTURE = 0x15


def pytest_generate_tests(metafunc):
    if not mxf_is_patched(metafunc.config.ff):
        pytest.skip("this FFmpeg has no MXF patch", allow_module_level=True)


def source(fmt, rate, frames, size):
    return ["-f", "lavfi", "-i", f"testsrc2=s={size}:r={rate}", "-frames:v", frames, "-pix_fmt", fmt]


PROFILES = {  # profile: pixel format, options
    "none": ("yuv422p10le", ()), "broadcast_single": ("yuv422p10le", ("-b:v", "20M")),
    "cinema2k": ("xyz12le", ("-b:v", "20M")), "cinema4k": ("xyz12le", ("-b:v", "20M", "-strict", "unofficial")),
    "imf_2k": ("gbrp12le", ("-b:v", "20M", "-vf", hd("gbrp"))), "imf_2k_r": ("yuv422p10le", ("-vf", hd("yuv"))),
    "imf_4k": ("gbrp12le", ("-b:v", "20M", "-vf", hd("gbrp"))), "imf_ht": ("gbrp12le", ("-b:v", "20M", "-vf", hd("gbrp")))}


def encode(ff, path, profile, rate, *options, frames=4, size="192x108"):
    """Writes a film, and checks it with our own strict reader. Returns the codestreams."""
    fmt, more = PROFILES[profile]
    named = () if profile == "none" else ("-profile:v", profile)
    ff.ffmpeg(*source(fmt, rate, frames, size), "-c:v", "j2k_cuda", *named, *more, *options, path)
    mxf = Mxf(path.read_bytes())
    packets = mxf.elements(PICTURE)
    assert len(packets) == mxf.duration == frames
    return packets


def check_readers(ff, path, packets, rate, photon=True):
    """Photon's parser, bmx, MediaInfo and two FFmpegs read the file; each frame is what was written."""
    if photon:
        assert readers.photon(path) == []
    essence, info = readers.bmx(path)
    assert essence == b"".join(packets) and f"count='{len(packets)}'" in info, info
    video = readers.mediainfo(path, "Video")
    assert (video["Format"], video["FrameCount"]) == ("JPEG 2000", str(len(packets))), video
    assert abs(float(video["FrameRate"]) - rate) < 0.001
    assert ff.copied_packets("-i", path) == packets
    assert readers.copied(readers.system_ffmpeg(), path) == packets


@pytest.mark.parametrize("profile, rate", [
    ("none", 25), ("broadcast_single", 25), ("cinema2k", 24), ("cinema4k", 24), ("imf_2k", 24), ("imf_2k_r", 30), ("imf_4k", 48),
    ("imf_ht", 60)])
def test_plain(ff, tmp_path, profile, rate):
    """An OP1a file of one track: no error of Photon's parser, and asdcplib takes every frame out."""
    path = tmp_path / "a.mxf"
    packets = encode(ff, path, profile, rate)
    check_readers(ff, path, packets, rate)
    assert readers.as_02(path) == packets


def test_long_plain(ff, tmp_path):
    """Several partitions of essence, and of index."""
    path = tmp_path / "a.mxf"
    packets = encode(ff, path, "none", 24, frames=520, size="32x32")
    check_readers(ff, path, packets, 24)
    assert readers.as_02(path) == packets


def test_plain_with_sound(ff, tmp_path):
    """A track file of the IMF has one track, so Photon and asdcplib refuse a second one. The others read both."""
    path = tmp_path / "a.mxf"
    ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=192x108:r=24:d=2", "-f", "lavfi", "-i", "sine=r=48000:d=2", "-c:v", "j2k_cuda",
              "-c:a", "pcm_s16le", path)
    packets = Mxf(path.read_bytes()).elements(PICTURE)
    errors = readers.photon(path)
    assert len(errors) == 1 and "Number of essence tracks in FilePackage" in errors[0], errors
    assert "not proper OP-Atom/AS-DCP" in readers.as_02(path)
    assert readers.bmx(path)[0] == b"".join(packets) and len(packets) == 48
    assert readers.mediainfo(path, "Audio")["SamplingRate"] == "48000"
    assert readers.mediainfo(path, "Video")["FrameCount"] == "48"
    assert [readers.copied(program, path) for program in (ff.program, readers.system_ffmpeg())] == [packets, packets]

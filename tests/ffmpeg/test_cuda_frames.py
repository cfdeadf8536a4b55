# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Frames in device memory, if this FFmpeg has them."""

import re

import pytest

import pixfmt
from pictures import noise
from tools import run

FORMATS = "nv12 yuv420p yuv444p p010le p016le yuv444p16le rgb0 bgr0 rgba yuv422p10le yuv444p12msble p210le"
UPLOAD = ("-init_hw_device", "cuda=d", "-filter_hw_device", "d", "-vf", "hwupload")


@pytest.fixture
def cuda_frames(ff):
    if "cuda" not in ff.pixel_formats:
        pytest.skip("this ffmpeg has no CUDA frames")


def test_listed_where_ffmpeg_has_them(ff):
    has = bool(re.search(r"^cuda$", ff.ffmpeg("-hwaccels", log="info").stdout.decode(), re.M))
    assert ("cuda" in ff.pixel_formats) == has
    devices = re.search(r"Supported hardware devices: (.*)", ff.encoder_help)
    assert (devices[1].split() if devices else []) == ["cuda"] * (2 if has else 0), ff.encoder_help


def test_the_same_bytes(ff, cuda_frames):
    if ff.why_no_cuda:
        pytest.skip(ff.why_no_cuda.split("] ")[-1])
    size, compared = {"width": 200, "height": 124}, []
    for fmt in filter(pixfmt.parse, FORMATS.split()):
        frames = noise(fmt, 200, 124, 5)
        on_device = ff.encode(*UPLOAD, "-b:v", "2M", fmt=fmt, frames=frames, ok=None, **size)
        if not on_device.packets and "is not supported" in on_device.log:
            continue  # a format that CUDA frames of this version cannot have
        compared.append(fmt)
        assert on_device.packets == ff.packets("-b:v", "2M", "-device", "cpu", fmt=fmt, frames=frames, **size), fmt
    assert "nv12" in compared, compared
    frames = noise("nv12", 200, 124, 5)
    fields = [ff.packets(*where, "-b:v", "2M", "-flags", "+ildct", fmt="nv12", frames=frames, **size)
              for where in (UPLOAD, ("-device", "cpu"))]
    assert fields[0] == fields[1]
    ff.check_refused(*UPLOAD, "-device", "cpu", fmt="yuv420p", says=["device cpu", "hwdownload"])


def test_they_reach_the_library(ff, cuda_frames):
    """Context, stream and samples of CUDA frames, with the test's own driver: cuda_frames_test.c."""
    result = run(ff.program.with_name("cuda_frames_test"), ok=None)
    lines = result.stdout.decode().splitlines()
    assert result.returncode == 0 and lines[-1] == "0 failures", result.stdout.decode() + result.text
    assert {"nv12", "yuv420p", "yuv444p", "p010le", "p016le", "yuv444p16le"} <= set(lines)
    for device in "cpu", "cuda:1":
        assert f"device {device}: CUDA frames are encoded on the device they are on" in result.text
    assert "Frame 1 is yuv444p in CUDA context" in result.text and "Frame 3 is 150x88 nv12" in result.text

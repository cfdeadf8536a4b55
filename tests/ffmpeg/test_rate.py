# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Caps in bytes and constant quality."""

import re

import pytest

import pixfmt
from codestream import Codestream
from pictures import H, W, noise, smooth
from tools import bytes_per_frame, check_used


# --- caps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt, rate, mbits", [
    ("rgb48le", 25, 120), ("yuv422p10le", 24, 100), ("gbrp12le", "30000/1001", 150), ("rgb24", 25, 16),
    ("yuv420p10le", 24, 8), ("gray", 60, 16), ("rgb24", "24000/1001", 3)])
def test_bit_rate_is_a_cap_that_is_used(ff, fmt, rate, mbits):
    frames = noise(fmt, 640, 480, 2)
    cap = bytes_per_frame(mbits * 1000000, rate)
    for data in ff.packets("-b:v", f"{mbits}M", fmt=fmt, width=640, height=480, frames=frames, rate=rate):
        check_used(len(data), cap, f"{fmt} {mbits}M at {rate}")
        Codestream(data)


def test_bit_rate_of_digital_cinema(ff):
    """250 Mbit/s at 24 frames/s is 1302083 bytes."""
    frames = noise("gbrp12le", 1200, 500, 1)
    data = ff.packets("-b:v", "250M", fmt="gbrp12le", width=1200, height=500, rate=24, frames=frames)[0]
    check_used(len(data), 1302083, "cinema")
    assert ff.opj_samples(data, pixfmt.parse("gbrp12le"), 1200, 500) is not None or not ff.opj


@pytest.mark.parametrize("bits, num_bytes", [(2111, 10), (2112, 11)])
def test_bit_rate_is_rounded_down(ff, bits, num_bytes):
    """2111 bit/s are 10.99 bytes per frame."""
    ff.check_refused("-b:v", bits, rate=24, says=[f"b {bits} is target_bytes {num_bytes} at 24/1 fps"])


@pytest.mark.parametrize("options", [("-q:v", 0.1), (), ("-b:v", "20M")], ids=["quality", "default", "bit rate"])
def test_maxrate_is_a_cap(ff, options):
    cap = bytes_per_frame(10000000, 25)
    for data in ff.packets(*options, "-maxrate", "10M", width=320, height=240, frames=noise("rgb24", 320, 240, 3)):
        check_used(len(data), cap, options)


def test_maxrate_out_of_reach(ff):
    ff.check_same(("-q:v", 50), ("-q:v", 50, "-maxrate", "100M"), width=320, height=240,
                  frames=noise("rgb24", 320, 240, 3))


def test_component_cap(ff):
    kw = {"width": 256, "height": 128, "frames": noise("rgb24", 256, 128, 1)}
    options = ("-progression", "cprl", "-cj2k-params", "tile_parts=component", "-b:v", "12M")
    cap = bytes_per_frame(4000000, 25)
    free, held = ff.parsed(*options, **kw), ff.parsed(*options, "-max_component_rate", "4M", **kw)
    assert len(free.tile_parts) == len(held.tile_parts) == 3
    assert max(len(part[3]) for part in free.tile_parts) > cap, "the test needs a picture over the cap"
    for part in held.tile_parts:
        check_used(len(part[3]), cap, "a component")


@pytest.mark.parametrize("num_bytes", [5000, 16384, 200000])
def test_small_frames_are_padded(ff, num_bytes):
    black = [[[0] * (W * H)] * 3]
    assert len(ff.packets(frames=black)[0]) < 1000
    data = ff.packets("-cj2k-params", f"min_frame_bytes={num_bytes}", frames=black)[0]
    assert num_bytes <= len(data) <= num_bytes + 4
    assert ff.opj_samples(data, pixfmt.parse("rgb24"), W, H) in (None, black[0])


def test_ratio_of_libopenjpeg(ff):
    """The warning names the option with the same ratio."""
    frames = noise("rgb24", 320, 240, 1)
    encoded = ff.encode("-compression_level", 5, width=320, height=240, frames=frames)
    assert "compression_level 5 is ignored: layer_rates of twice the number" in encoded.log
    check_used(len(ff.packets("-layer_rates", 10, width=320, height=240, frames=frames)[0]), 320 * 240 * 3 // 10, "ratio")


# --- quality ----------------------------------------------------------------------------------------------------------


def test_quality_is_monotone(ff):
    kw = {"fmt": "yuv420p", "width": 320, "height": 240, "frames": smooth("yuv420p", 320, 240, 2)}
    sizes = [sum(map(len, ff.packets("-q:v", q, **kw))) for q in (0.05, 1, 2, 4, 8, 32, 256)]
    assert all(a > b for a, b in zip(sizes[1:], sizes[2:])) and sizes[0] >= sizes[1], sizes
    ff.check_same((), ("-q:v", 2), **kw)


def test_lossy_is_close(ff):
    """With the defaults the error stays within the promise of the quality: RMS about 1 LSB."""
    frames = smooth("rgb24", 320, 240, 1)
    _, got = ff.ffmpeg_samples(ff.packets(width=320, height=240, frames=frames)[0], 320, 240)
    error = sum((a - b) ** 2 for s, g in zip(frames[0], got) for a, b in zip(s, g)) / (320 * 240 * 3)
    assert 0 < error < 2.5, f"mean square error {error}"


@pytest.mark.parametrize("mbit", [250, 50])
def test_film(ff, film, tmp_path, pytestconfig, record_property, mbit):
    """The main job: 4K, 12 bits, 4:4:4. At 250 Mbit/s a film that was JPEG 2000 before has no more bits to give: it is coded
    to steps of 1 LSB. At 50 Mbit/s it fills the cap."""
    num_frames = pytestconfig.getoption("frames")
    rate = ff.probe(film, "-show_streams")["streams"][0]["r_frame_rate"]
    out, cap = tmp_path / "film.mxf", bytes_per_frame(mbit * 1000000, rate)
    ff.ffmpeg("-i", film, "-frames:v", num_frames, "-c:v", "j2k_cuda", "-b:v", f"{mbit}M", out)
    info = ff.probe(out, "-show_packets", "-show_streams")
    sizes = [int(packet["size"]) for packet in info["packets"]]
    assert len(sizes) == num_frames, sizes
    assert (info["streams"][0]["width"], info["streams"][0]["height"]) == (3840, 2160)
    cut = f"[1:v]trim=end_frame={num_frames}[film];[0:v][film]psnr=shortest=1"
    log = ff.ffmpeg("-i", out, "-i", film, "-lavfi", cut, "-f", "null", "-", log="info").text
    psnr = float(re.search(r"average:(\S+)", log)[1])
    record_property("psnr_db", psnr)
    assert psnr > 45, psnr
    assert max(sizes) <= cap, sizes
    if mbit == 50 or psnr < 80:
        for size in sizes:
            check_used(size, cap, "4K")

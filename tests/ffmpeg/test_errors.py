# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What is refused, and what a failure does to the other frames."""

import pytest

from tools import run

BAD_OPTIONS = [
    (("-cblk", "5x5"), ["cblk", "5"]),
    (("-cblk", "128x64"), ["cblk", "128x64", "4096"]),
    (("-cblk", "2x64"), ["cblk", "2", "4"]),
    (("-cblk", "abc"), ["cblk", "abc"]),
    (("-levels", 33), ["levels", "33", "32"]),
    (("-levels", -2), ["levels", "-2", "-1"]),
    (("-layers", 0), ["layers", "0", "65535"]),
    (("-layer_rates", "10,20"), ["layer_rates", "20"]),
    (("-layer_rates", "x"), ["layer_rates", "x"]),
    (("-precincts", "100x100"), ["precincts", "100"]),
    (("-tile", "-4x4"), ["tile", "-4"]),
    (("-progression", "abcd"), ["abcd"]),
    (("-stop", "never"), ["never"]),
    (("-stop", 5), ["stop", "5"]),
    (("-cj2k-params", "stop_margin=4097"), ["stop_margin", "4097", "4096"]),
    (("-cj2k-params", "stop_margin=-1"), ["stop_margin", "-1", "0"]),
    (("-cj2k-params", "tier1=quick"), ["tier1", "quick"]),
    (("-device", "toaster"), ["device", "toaster", "auto", "cpu", "cuda"]),
    (("-device", "cuda:x"), ["device", "cuda:x", "[0, 255]"]),
    (("-device", "cuda:1,1"), ["device", "cuda:1,1", "twice"]),
    (("-device", ""), ["device", "auto", "cpu", "cuda"]),
    (("-q:v", 0), ["q 0", "256"]),
    (("-q:v", 1000), ["1000", "256"]),
    (("-b:v", 1), ["b 1"]),
    (("-threads", 5000), ["threads", "5000", "1024"]),
    (("-gop", 65), ["gop", "65", "64"]),
    (("-async_depth", 65), ["async_depth", "65", "64"]),
    (("-cj2k-params", "min_frame_bytes=-5"), ["min_frame_bytes", "-5"]),
    (("-cj2k-params", "max_frame_bytes=1"), ["max_frame_bytes 1 not in [", ", 1099511627776]"]),
    (("-cj2k-params", "max_frame_bytes=1099511627777"), ["max_frame_bytes", "1099511627777", "[0, 1099511627776]"]),
    (("-cj2k-params", "alpha=1"), ["colorspace srgb", "num_components 3", "alpha 1", "[3, 4]"]),
]


@pytest.mark.parametrize("options, says", BAD_OPTIONS, ids=[" ".join(map(str, options)) for options, _ in BAD_OPTIONS])
def test_bad_option(ff, options, says):
    ff.check_refused(*options, says=says)


def change_in_mid_stream(ff, folder, size, fmt):
    """Two pictures of 64x48 rgb24, then one with other properties."""
    for n, (picture_size, picture_fmt) in enumerate((("64x48", "rgb24"), ("64x48", "rgb24"), (size, fmt))):
        ff.ffmpeg("-f", "lavfi", "-i", f"color=red:s={picture_size}", "-frames:v", 1, "-pix_fmt", picture_fmt,
                  folder / f"{n}.png")
    return ff.ffmpeg("-framerate", 25, "-i", folder / "%d.png", "-noautoscale", "-c:v", "j2k_cuda", "-threads", 1,
                     folder / "out.nut", ok=None)


def test_other_size_in_mid_stream(ff, tmp_path):
    """The error names both sizes."""
    result = change_in_mid_stream(ff, tmp_path, "80x48", "rgb24")
    assert result.returncode != 0
    assert "Frame 2 is 80x48 rgb24, but the encoder was opened for 64x48 rgb24" in result.text, result.text


def test_other_format_in_mid_stream(ff, tmp_path):
    """The ffmpeg program converts frames to the format that the encoder was opened with."""
    result = change_in_mid_stream(ff, tmp_path, "64x48", "gray")
    assert result.returncode == 0 or "64x48 gray" in result.text, result.text


@pytest.mark.parametrize("options", [("-frames:v", 0), ("-vf", "select=0"), ("-t", 0)], ids=lambda o: o[0])
def test_no_frames(ff, options):
    ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.2", *options, "-c:v", "j2k_cuda", "-f", "null", "-")


def test_one_frame_of_many(ff, tmp_path):
    """The encoder is closed with frames in flight."""
    path = tmp_path / "one.nut"
    ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=640x480:r=25:d=2", "-frames:v", 1, "-c:v", "j2k_cuda",
              "-async_depth", 16, path)
    assert len(ff.probe(path, "-show_packets")["packets"]) == 1


def test_nothing_is_left_when_the_muxer_ends(ff, tmp_path):
    """The program stops in the middle of a stream."""
    ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=640x480:r=25:d=2", "-c:v", "j2k_cuda", "-async_depth", 16, "-fs", 1000,
              tmp_path / "cut.nut")


def test_through_the_api(ff):
    """Bad frames in mid-stream, flushing, opaque data, closing early: api_test.c."""
    program = ff.program.with_name("api_test")
    if not program.exists():
        pytest.skip("no api_test beside ffmpeg")
    result = run(program, ok=None)
    assert result.returncode == 0 and result.stdout == b"0 failures\n", result.stdout.decode()
    assert "Frame 5 is 160x120 yuv420p, but the encoder was opened for 320x240 yuv420p" in result.text, result.text
    assert "need a frame rate: set framerate; time_base 1/90000 is not set or too fine" in result.text, result.text
    assert "Frame 7 is 320x240 yuv444p, but the encoder was opened for 320x240 yuv420p" in result.text, result.text

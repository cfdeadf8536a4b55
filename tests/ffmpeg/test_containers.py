# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Through the muxers and back: every frame, its time stamp, and the packets themselves."""

import fractions

import pytest

from codestream import Codestream, from_jp2

FRAMES = 24


def source(fmt="yuv422p10le", rate=24):
    return ["-f", "lavfi", "-i", f"testsrc2=size=160x120:rate={rate}", "-frames:v", FRAMES, "-pix_fmt", fmt]


def write_and_compare(ff, path, *options, fmt="yuv422p10le", rate=24, read=()):
    """Writes one or several lossless files, decodes them and compares. Returns the packets."""
    ff.ffmpeg(*source(fmt, rate), "-c:v", "j2k_cuda", "-lossless", 1, *options, path)
    want = ff.frame_hashes(*source(fmt, rate), "-c:v", "rawvideo")
    got = ff.frame_hashes(*read, "-i", path, "-pix_fmt", fmt, "-c:v", "rawvideo")
    assert got == want, f"{len(got)} decoded frames, not the {len(want)} of the source"
    packets = ff.copied_packets(*read, "-i", path)
    assert len(packets) == FRAMES
    return packets


def check_times(packets, rate):
    times = [float(p["pts_time"]) for p in packets]
    step = 1 / fractions.Fraction(rate)
    for n, time in enumerate(times):
        assert abs(time - times[0] - n * step) < 0.0011, f"packet {n} at {time} s"
    for p in packets[:-1]:
        assert abs(float(p["duration_time"]) - step) < 0.0011, f"duration {p['duration_time']}"
    assert all("K" in p["flags"] for p in packets), "a packet is no key frame"


@pytest.mark.parametrize("extension, fmt, rate", [
    ("mxf", "yuv422p10le", 24), ("mxf", "yuv422p10le", "24000/1001"), ("mov", "yuv422p10le", 24),
    ("mkv", "yuv422p10le", 24), ("nut", "yuv422p10le", 24), ("mov", "rgb24", 24)])
def test_container(ff, tmp_path, extension, fmt, rate):
    path = tmp_path / f"a.{extension}"
    for packet in write_and_compare(ff, path, fmt=fmt, rate=rate):
        Codestream(packet)
    info = ff.probe(path, "-count_packets", "-show_streams", "-show_packets")
    stream = info["streams"][0]
    assert stream["codec_name"] == "jpeg2000" and (stream["width"], stream["height"]) == (160, 120), stream
    assert stream["nb_read_packets"] == str(FRAMES), stream
    assert fractions.Fraction(stream["r_frame_rate"]) == fractions.Fraction(rate), stream
    check_times(info["packets"], rate)


@pytest.mark.parametrize("extension, options, parse", [("j2c", (), Codestream), ("jp2", ("-format", "jp2"), from_jp2)],
                         ids=["j2c", "jp2"])
def test_files(ff, tmp_path, extension, options, parse):
    for packet in write_and_compare(ff, tmp_path / f"%04d.{extension}", *options, read=("-framerate", 24)):
        parse(packet)


def test_raw_stream(ff, tmp_path):
    path = tmp_path / "stream.j2k"
    ff.ffmpeg(*source(), "-c:v", "j2k_cuda", "-lossless", 1, "-f", "rawvideo", path)
    got = ff.frame_hashes("-f", "j2k_pipe", "-i", path, "-pix_fmt", "yuv422p10le", "-c:v", "rawvideo")
    assert got == ff.frame_hashes(*source(), "-c:v", "rawvideo")


# --- time and side data -----------------------------------------------------------------------------------------------


def test_uneven_times(ff, tmp_path):
    """Time stamps pass unchanged, however many frames the pipeline holds."""
    path = tmp_path / "times.nut"
    ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.4", "-vf", "settb=1/1000,setpts='7*N*N+3*N'", "-fps_mode",
              "passthrough", "-enc_time_base", "1/1000", "-c:v", "j2k_cuda", "-async_depth", 4, "-gop", 2, path)
    got = [float(p["pts_time"]) for p in ff.probe(path, "-show_packets")["packets"]]
    want = [(7 * n * n + 3 * n) / 1000 for n in range(10)]
    assert len(got) == 10 and all(abs(a - b) < 0.0006 for a, b in zip(got, want)), f"{got}, not {want}"


def test_opaque_goes_through(ff, tmp_path):
    """The ffmpeg program from 6.0 on uses the opaque to find a packet's frame."""
    stats = tmp_path / "stats.txt"
    result = ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.4", "-c:v", "j2k_cuda", "-async_depth", 4,
                       "-stats_enc_post", stats, "-stats_enc_post_fmt", "{n} {ptsi} {size}", "-f", "null", "-", ok=None)
    if "Unrecognized option" in result.text:
        pytest.skip("this ffmpeg has no -stats_enc_post")
    assert result.returncode == 0, result.text
    lines = [tuple(map(int, line.split())) for line in stats.read_text().splitlines()]
    assert [x[0] for x in lines] == list(range(10)), lines
    step = lines[1][1] - lines[0][1]  # ptsi is the time of the decoded frame, kept in the opaque
    assert step > 0 and [x[1] for x in lines] == [lines[0][1] + n * step for n in range(10)], lines


def test_interlaced_is_told_once(ff):
    def log(*options, ok):
        return ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.2", *options, "-c:v", "j2k_cuda",
                         "-f", "null", "-", ok=ok).text

    text = log("-vf", "setfield=tff", "-field_order", "tt", ok=None)
    if "interlace" not in text:
        text = log("-vf", "setparams=field_mode=tff", ok=True)
    assert text.count("no interlace syntax") == 1, text

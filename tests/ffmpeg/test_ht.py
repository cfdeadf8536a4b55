# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The block coder of Part 15 (HTJ2K): -coder ht."""

import pytest

import pixfmt
from pictures import H, W, noise
from tools import bytes_per_frame, run


def reads_ht(ff, first=7):
    """FFmpeg's own decoder has it from 7.1 on; the one of 5.1 shows noise."""
    version = run(ff.program, "-version").stdout.decode().split()[2]
    return int(version.split(".")[0]) >= first


@pytest.mark.parametrize("fmt", ["rgb24", "gray12le", "yuv422p10le", "yuv420p", "rgb48le"])
def test_lossless(ff, fmt):
    """Both decoders return every sample."""
    frames = noise(fmt, W, H, 1)
    packet = ff.packets("-coder", "ht", "-lossless", 1, fmt=fmt, frames=frames)[0]
    if reads_ht(ff):
        ff.check_lossless(packet, pixfmt.parse(fmt), frames[0], W, H)
    else:
        assert ff.opj_samples(packet, pixfmt.parse(fmt), W, H) in (None, frames[0])


def test_cap_and_markers(ff):
    for packet in ff.packets("-coder", "ht", "-b:v", "4M", frames=noise("rgb24", W, H, 3)):
        assert len(packet) <= bytes_per_frame(4000000, 25)
        assert packet[6:8] == b"\x40\x00", "Rsiz"
        assert b"\xff\x50\x00\x08\x00\x02\x00\x00" in packet[:100], "CAP"


def test_decoded_alike(ff):
    """FFmpeg's decoder and OpenJPEG differ by rounding at most."""
    if not reads_ht(ff):
        pytest.skip("this FFmpeg does not read HTJ2K")
    for options in ([], ["-cblk_style", "vsc"], ["-cblk", "32x32"]):
        packet = ff.packets("-coder", "ht", "-b:v", "1M", *options, fmt="gray")[0]
        _, ours = ff.ffmpeg_samples(packet, W, H)
        theirs = ff.opj_samples(packet, pixfmt.parse("gray"), W, H)
        assert len(ours[0]) == len(theirs[0]) == W * H
        assert max(abs(a - b) for a, b in zip(ours[0], theirs[0])) <= 1


def test_sequence_in_mxf(ff, tmp_path):
    """All frames, by one thread of the decoder. That of 7.1 takes the headers of a second frame for those of a tile."""
    if not reads_ht(ff, 8):
        pytest.skip("the decoder of this FFmpeg reads one HTJ2K frame in each thread")
    source = ["-f", "lavfi", "-i", f"testsrc2=s={W}x{H}:r=24,format=yuv422p10le", "-frames:v", 4]
    ff.ffmpeg(*source, "-c:v", "j2k_cuda", "-coder", "ht", "-lossless", 1, tmp_path / "ht.mxf")
    hashes = []
    for film in (["-threads", 1, "-i", tmp_path / "ht.mxf"], source):
        ff.ffmpeg(*film, "-c:v", "rawvideo", "-f", "framemd5", tmp_path / "hashes")
        lines = (tmp_path / "hashes").read_text(encoding="utf-8").splitlines()
        hashes.append([line.split(",")[-1] for line in lines if not line.startswith("#")])
    assert len(hashes[0]) == 4 and hashes[0] == hashes[1]


@pytest.mark.parametrize("options, says", [
    (["-cblk_style", "bypass"], "coder ht excludes cblk_style 1"),
    (["-profile:v", "cinema2k"], "coder ht needs profile none"),
])
def test_refused(ff, options, says):
    ff.check_refused("-coder", "ht", *options, says=[says])

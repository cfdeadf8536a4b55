# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The block coder of Part 15 (HTJ2K): -coder ht."""

import json
import shutil

import pytest

import pixfmt
from klv import Mxf
from pictures import H, W, noise
from tools import bytes_per_frame, find_checker, hd, mxf_is_patched, reads_ht, run


@pytest.mark.parametrize("fmt", ["rgb24", "gray12le", "yuv422p10le", "yuv420p", "rgb48le"])
def test_lossless(ff, fmt):
    """Both decoders return every sample."""
    frames = noise(fmt, W, H, 1)
    packet = ff.packets("-coder", "ht", "-lossless", 1, fmt=fmt, frames=frames)[0]
    if reads_ht(ff):
        ff.check_lossless(packet, pixfmt.parse(fmt), frames[0], W, H)
    else:
        assert ff.opj_samples(packet, pixfmt.parse(fmt), W, H) in (None, frames[0])


def test_largest_magnitudes(ff):
    """Pictures of the least and the largest sample alone. FFmpeg's decoder refuses blocks with magnitudes of all M_b bits."""
    if not reads_ht(ff):
        pytest.skip("this FFmpeg does not read HTJ2K")
    extremes = [[[255 * (sample & 1) for sample in component] for component in noise("rgb24", W, H, 1)[0]]]
    for options in (["-lossless", 1], ["-lossless", 1, "-levels", 1], ["-q:v", 0.02]):
        packet = ff.packets("-coder", "ht", *options, fmt="rgb24", frames=extremes)[0]
        _, samples = ff.ffmpeg_samples(packet, W, H)
        for got, wanted in zip(samples, extremes[0]):
            assert max(abs(a - b) for a, b in zip(got, wanted)) <= (1 if "-q:v" in options else 0)


def test_cap_and_markers(ff):
    for packet in ff.packets("-coder", "ht", "-b:v", "4M", frames=noise("rgb24", W, H, 3)):
        assert len(packet) <= bytes_per_frame(4000000, 25)
        assert packet[6:8] == b"\x40\x00", "Rsiz"
        assert b"\xff\x50\x00\x08\x00\x02\x00\x00" in packet[:100], "CAP"


def test_decoded_alike(ff):
    """FFmpeg's decoder and OpenJPEG differ by rounding at most."""
    if not reads_ht(ff):
        pytest.skip("this FFmpeg does not read HTJ2K")
    for options in ([], ["-cj2k-params", "cblk_style=vsc"], ["-cblk", "32x32"]):
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


@pytest.mark.parametrize("profile, fmt", [("imf_ht", "gbrp12le"), ("imf_ht", "yuv422p10le"), ("imf_ht_r", "yuv422p10le"),
                                          ("imf_ht_r", "yuv444p16le"), ("imf_ht_r", "rgb24"),
                                          ("imf_ht_r", "rgb48le")])
def test_imf_in_mxf(ff, tmp_path, profile, fmt):
    """The file tells what its codestreams are, cj2k-check finds nothing, and FFmpeg reads it back."""
    if not mxf_is_patched(ff):
        pytest.skip("this FFmpeg has no MXF patch")
    path = tmp_path / "a.mxf"
    source = ["-f", "lavfi", "-i", f"testsrc2=s=2304x72:r=24,format={fmt},{hd(fmt)}", "-frames:v", 3]
    rate = [] if profile.endswith("_r") else ["-b:v", "20M"]
    ff.ffmpeg(*source, "-c:v", "j2k_cuda", "-profile:v", profile, *rate, path)
    mxf = Mxf(path.read_bytes())
    jpeg2000 = mxf.only("JPEG2000")
    assert mxf.picture()[1][0x3201].hex() == "060e2b340401010d0401020203010801", "picture essence coding"
    assert jpeg2000[0x8401] == b"\x40\x00", "Rsiz"
    depth, transform = pixfmt.parse(fmt).depth, fmt.startswith(("gbr", "rgb"))
    bits = depth + 3 + transform + 1 if not rate else depth + 1 + (transform and depth > 10)
    capability = (0x20 if rate else 0) | (bits - 8)
    assert jpeg2000[0x840F].hex() == f"000200000000000100000002{capability:04x}", "extended capabilities: Pcap, Ccap15"
    if shutil.which("mediainfo"):
        report = json.loads(run("mediainfo", "--Output=JSON", path).stdout)
        shown, = (track for track in report["media"]["track"] if track["@type"] == "Video")
        # MediaInfo 24.12 shows the name, that of Debian 12 (23.04) the number of Rsiz.
        assert shown["Format"] == "JPEG 2000" and shown["Format_Profile"] in ("HTJ2K", "4000")
        assert shown["BitDepth"] == str(depth) and shown["ColorSpace"] == ("RGB" if transform else "YUV")
    packets = ff.copied_packets("-i", path)
    assert len({packet[:packet.index(b"\xff\x55")] for packet in packets}) == 1, "SIZ, CAP, COD and QCD are constant"
    if find_checker():
        run(find_checker(), "--quiet", "--profile", profile, path)
    if reads_ht(ff, 8) and not rate:
        assert ff.frame_hashes("-i", path, "-c:v", "rawvideo") == ff.frame_hashes(*source, "-c:v", "rawvideo")
    elif reads_ht(ff, 8):
        assert len(ff.frame_hashes("-i", path, "-c:v", "rawvideo")) == 3


@pytest.mark.parametrize("options, says", [
    (["-profile:v", "imf_ht", "-coder", "ebcot"], "coder ebcot: profile imf_ht has ht"),
    (["-profile:v", "imf_ht", "-lossless", 1], "lossless 1: profile imf_ht is lossy (9/7 wavelet)"),
    (["-profile:v", "imf_ht", "-progression", "cprl"], "progression cprl: profile imf_ht has rpcl"),
    (["-profile:v", "dicom_ht_r", "-b:v", "4M"], "lossless 0: profile dicom_ht_r is lossless"),
])
def test_profile_contradicted(ff, options, says):
    ff.check_refused(*options, is_hd=True, says=[says])


@pytest.mark.parametrize("options, says", [
    (["-cj2k-params", "cblk_style=bypass"], "coder ht excludes cblk_style 1"),
    (["-profile:v", "profile1"], "coder ht: profile profile1 has ebcot"),
])
def test_refused(ff, options, says):
    ff.check_refused("-coder", "ht", *options, says=[says])

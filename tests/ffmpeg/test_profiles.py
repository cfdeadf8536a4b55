# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Profiles: each name and number, what is written, what contradicts them, what muxers are told."""

import re

import pytest

from codestream import SIZ, TLM, Codestream
from pictures import noise, packed
from tools import bytes_per_frame, raw_input, scratch_folder

W, H = 256, 144
CINEMA = dict(fmt="xyz12le", width=W, height=H, rate=24)
IMF = dict(fmt="yuv422p10le", width=W, height=H, rate=25, is_hd=True)

# name, Rsiz, how the pictures are
PROFILES = [("profile0", 1, CINEMA), ("profile1", 2, CINEMA), ("cinema2k", 3, CINEMA), ("cinema4k", 4, CINEMA),
            ("imf_2k", 0x411, IMF), ("imf_4k", 0x511, IMF), ("imf_8k", 0x611, IMF), ("imf_2k_r", 0x701, IMF),
            ("imf_4k_r", 0x801, IMF), ("imf_8k_r", 0x901, IMF), ("broadcast_single", 0x101, IMF),
            ("broadcast_multi", 0x201, IMF), ("broadcast_multi_r", 0x301, IMF)]


def rsiz(c):
    return int.from_bytes(c.main[SIZ][0][:2], "big")


@pytest.mark.parametrize("name, number, how", PROFILES)
def test_names(ff, name, number, how):
    assert rsiz(ff.parsed("-profile:v", name, **how)) == number


@pytest.mark.parametrize("number", range(5))
def test_numbers(ff, number):
    assert rsiz(ff.parsed("-profile:v", number, **CINEMA)) == number


def test_none_writes_no_profile(ff):
    assert rsiz(ff.parsed(**CINEMA)) == 0
    assert rsiz(ff.parsed("-profile:v", "none", **CINEMA)) == 0


def test_defaults_are_listed_as_auto(ff):
    for name in "levels progression tile_parts main_level sub_level coder".split():
        assert re.search(rf"^\s+-{name} .*\(default auto\)", ff.encoder_help, re.M), name


@pytest.mark.parametrize("flags", [(), ("-flags", "+bitexact")])
def test_cinema2k(ff, flags):
    encoded = ff.encode("-profile:v", "cinema2k", *flags, **CINEMA)
    assert "as RGB" not in encoded.log, encoded.log
    c = Codestream(encoded.packets[0])
    assert (c.levels, c.guard_bits, c.cblk, c.progression, c.mct, c.wavelet) == (5, 1, (32, 32), 4, 1, "9/7")
    assert c.precincts == [(256, 256)] * 5 + [(128, 128)] and len(c.tile_parts) == 3 and TLM in c.main
    assert c.comments and c.comments[0], "the comment is empty"


@pytest.mark.parametrize("rate", ["24", "25", "30", "48", "50", "60", "96", "120", "24000/1001", "60000/1001"])
@pytest.mark.parametrize("cinema_rate, mbits", [("safe", 230), ("full", 250)])
def test_cinema_caps(ff, rate, cinema_rate, mbits):
    num, den = (rate + "/1").split("/")[:2]
    fast = f"{int(num) * 64}/{den}"  # 256x144 has about a 64th of the samples of 2K
    size = len(ff.packets("-profile:v", "cinema2k", "-strict", "unofficial", "-cinema_rate", cinema_rate,
                          **{**CINEMA, "rate": fast})[0])
    cap = bytes_per_frame(mbits * 1000000, fast)
    assert 0.99 * cap - 512 <= size <= cap, (size, cap)


def test_rate_below_the_cap_is_honoured(ff):
    fast = {**CINEMA, "rate": 2400}
    cap = bytes_per_frame(100000000, 2400)
    size = len(ff.packets("-profile:v", "cinema2k", "-strict", "unofficial", "-b:v", "100M", **fast)[0])
    assert 0.99 * cap - 512 <= size <= cap, (size, cap)
    ff.packets("-profile:v", "cinema2k", "-b:v", "250M", **CINEMA)
    ff.check_refused("-profile:v", "cinema2k", "-b:v", "251M", says=["cinema2k", "1302083"], **CINEMA)
    ff.check_refused("-profile:v", "imf_2k", "-main_level", 2, "-b:v", "201M", says=["imf_2k", "200 Mbit/s"], **IMF)


@pytest.mark.parametrize("options, says", [
    (("-levels", 4), ["levels 4", "cinema2k has 5"]), (("-levels", 6), ["levels 6", "cinema2k"]),
    (("-progression", "lrcp"), ["progression lrcp", "cprl"]), (("-lossless", 1), ["lossless 1", "cinema2k"]),
    (("-cj2k-params", "wavelet=5/3"), ["wavelet 5/3", "9/7"]),
    (("-comment", ""), ["comment", "cinema2k"]), (("-level", 3), ["main_level 3", "cinema2k has no levels"])])
def test_contradictions(ff, options, says):
    ff.check_refused("-profile:v", "cinema2k", *options, says=says, **CINEMA)
    encoded = ff.encode("-profile:v", "cinema2k", "-strict", "unofficial", *options, **CINEMA)
    for text in [*says, "does not claim profile cinema2k"]:
        assert text in encoded.log, encoded.log
    assert encoded.packets[0][6:8] == b"\0\0", encoded.packets[0][:8].hex()


@pytest.mark.parametrize("fmt, says", [("rgb24", ["depth[0] 8", "has 12"]), ("yuv422p12le", ["has components of one size"]),
                                       ("gray12le", ["num_components 1", "has 3"])])
def test_pictures_that_contradict(ff, fmt, says):
    """An error says first what the colours are; without it, what else is."""
    how = {**CINEMA, "fmt": fmt}
    ff.check_refused("-profile:v", "cinema2k", says=["cinema2k is X'Y'Z', the frames are not: xyz auto", f"The frames are {fmt}"], **how)
    log = ff.encode("-profile:v", "cinema2k", "-strict", "unofficial", **how).log
    assert all(text in log for text in says), log


def test_xyz_under_another_name(ff):
    """TIFF files of a DCDM are X'Y'Z' that decoders take for RGB."""
    assert rsiz(ff.parsed("-profile:v", "cinema2k", "-cj2k-params", "colorspace=xyz", **{**CINEMA, "fmt": "gbrp12le"})) == 3


def test_level(ff):
    assert rsiz(ff.parsed("-profile:v", "imf_2k", "-level", 4, **IMF)) == 0x424
    assert rsiz(ff.parsed("-profile:v", "imf_2k", "-main_level", 5, "-sub_level", 2, **IMF)) == 0x425
    ff.check_refused("-profile:v", "imf_2k", "-level", 4, "-main_level", 5, says=["level 4", "main_level 5"], **IMF)
    ff.check_refused("-profile:v", "imf_2k", "-level", 12, says=["main_level 12", "11"], **IMF)
    ff.check_refused("-level", 2, says=["main_level 2", "profile none"], **IMF)


@pytest.mark.parametrize("name, how, told", [("cinema2k", CINEMA, "JPEG 2000 digital cinema 2K"),
                                             ("profile0", CINEMA, "JPEG 2000 codestream restriction 0"),
                                             ("none", CINEMA, "JPEG 2000 no codestream restrictions")])
def test_muxers_are_told(ff, name, how, told):
    """The output's line of the ffmpeg program comes from the parameters that the muxer gets."""
    with scratch_folder() as out:
        log = ff.ffmpeg(*raw_input(how["fmt"], W, H, how["rate"]), "-c:v", "j2k_cuda", "-profile:v", name, out / "x.mov",
                        data=packed(how["fmt"], W, H, noise(how["fmt"], W, H, 1)), log="info").text
    line = [line for line in log.splitlines() if "Stream #0:0" in line and "jpeg2000" in line][-1]
    assert told in line, line

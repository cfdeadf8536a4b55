# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The encoder's options as FFmpeg lists them, and what they write into the codestream."""

import re

import pytest

from codestream import PLT, POC, RGN, TLM, Codestream, from_jp2
from pictures import H, W, noise, smooth
from tools import bytes_per_frame


# --- the list of options ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", """lossless qfactor max_component_rate profile main_level sub_level cinema_rate coder effort tune stop levels
    cblk tile precincts progression layers layer_rates tile_parts format xyz comment device gop async_depth rc-lookahead stats_file cj2k-params""".split())
def test_help_lists_option(ff, name):
    assert re.search(rf"^\s+-{name} ", ff.encoder_help, re.M), ff.encoder_help


@pytest.mark.parametrize("option, values", [("stop", "none exact pst psb bpi"), ("coder", "auto ebcot ht"),
                                            ("format", "auto j2k jp2")])
def test_help_lists_values(ff, option, values):
    listed = re.search(rf"^\s+-{option} .*\n((?: {{5,}}\w+ .*\n)+)", ff.encoder_help, re.M)[1]
    assert [line.split()[0] for line in listed.splitlines()] == values.split(), listed


def test_help_tells_capabilities(ff):
    assert re.search(r"General capabilities:.*\bdr1\b.*\bdelay\b", ff.encoder_help), ff.encoder_help
    assert "Threading capabilities: other" in ff.encoder_help, ff.encoder_help


def test_jpeg2000_stays_the_default_encoder(ff, tmp_path):
    log = ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:d=0.04", "-f", "image2", tmp_path / "default.j2k",
                    log="info").text
    assert "-> jpeg2000 (native)" in log, log
    assert "j2k_cuda" not in log, log


# --- the codestream ---------------------------------------------------------------------------------------------------


def test_defaults(ff):
    c = ff.parsed()
    assert (c.width, c.height, c.depths, c.subsampling) == (W, H, [8] * 3, [(1, 1)] * 3)
    assert (c.tile_width, c.tile_height) == (W, H)
    assert (c.progression, c.layers, c.levels, c.cblk, c.cblk_style, c.wavelet) == (0, 1, 5, (64, 64), 0, "9/7")
    assert c.scod == 0 and TLM in c.main and len(c.tile_parts) == 1
    assert re.fullmatch(r"libcj2k \d+\.\d+\.\d+", c.comments[0]), c.comments


@pytest.mark.parametrize("options", [("-comment", "Bücher, 5 €"), ("-cj2k-params", "comment=Bücher, 5 €")])
def test_comment_is_latin(ff, options):
    """T.800 A.9.2: Rcom 1 is text of ISO/IEC 8859-15."""
    assert ff.parsed(*options).comments == ["Bücher, 5 €"]


def test_comment_that_latin_does_not_have(ff):
    ff.check_refused("-comment", "Młody", says=["comment", "Młody", "U+0142", "8859-15"])
    ff.check_refused("-comment", "a¤b", says=["comment", "U+00A4", "8859-15"])
    ff.check_refused("-comment", "é" * 256, says=["comment", "255"])


@pytest.mark.parametrize("option, value, levels", [("-levels", n, n) for n in (0, 1, 4, 32)])
def test_levels(ff, option, value, levels):
    assert ff.parsed(option, value).levels == levels


@pytest.mark.parametrize("text, size", [("4x4", (4, 4)), ("32x16", (32, 16)), ("16x256", (16, 256)),
                                        ("1024x4", (1024, 4)), ("32", (32, 32))])
def test_code_blocks(ff, text, size):
    assert ff.parsed("-cblk", text).cblk == size


@pytest.mark.parametrize("option, value, wavelet", [
    ("-cj2k-params", "wavelet=9/7", "9/7"), ("-cj2k-params", "wavelet=5/3", "5/3"),
    ("-lossless", 1, "5/3")])
def test_wavelets(ff, option, value, wavelet):
    assert ff.parsed(option, value).wavelet == wavelet


@pytest.mark.parametrize("fmt, auto", [
    ("rgb24", 1), ("gbrp12le", 1), ("bgra", 1), ("xyz12le", 1), ("yuv444p", 0), ("yuv420p", 0), ("yuva444p", 0),
    ("gray", 0), ("ya8", 0), ("nv24", 0)])
def test_colour_transform(ff, fmt, auto):
    assert ff.parsed(fmt=fmt).mct == auto
    assert ff.parsed("-cj2k-params", "mct=off", fmt=fmt).mct == 0


@pytest.mark.parametrize("fmt", ["rgb24", "yuv444p"])
def test_colour_transform_on(ff, fmt):
    assert ff.parsed("-cj2k-params", "mct=on", fmt=fmt).mct == 1


@pytest.mark.parametrize("fmt", ["yuv420p", "gray"])
def test_colour_transform_needs_three_alike(ff, fmt):
    """Newer releases of ffmpeg convert to the nearest format that the parameters leave; others are told what is wrong."""
    encoded = ff.encode("-cj2k-params", "mct=on", fmt=fmt, ok=None)
    assert Codestream(encoded.packets[0]).mct == 1 if encoded.packets else "mct on with" in encoded.log, encoded.log


@pytest.mark.parametrize("text, size, num_tiles", [("64x48", (64, 48), 4), ("40x64", (40, 64), 3)])
def test_tiles(ff, text, size, num_tiles):
    c = ff.parsed("-tile", text)
    assert (c.tile_width, c.tile_height, len(c.tile_parts)) == (*size, num_tiles)


def test_many_tiles_have_several_tlm_segments(ff):
    """FFmpeg's decoder must accept the length of each."""
    frames = noise("rgb24", W, H, 1)
    c = ff.parsed("-lossless", 1, "-levels", 1, "-tile", "4x4", frames=frames)
    assert [(len(body) - 2) // 6 for body in c.main[TLM]] == [255, 129], c.main[TLM]
    assert ff.ffmpeg_samples(c.data, W, H)[1] == frames[0]


def test_progression_order_changes(ff):
    c = ff.parsed("-cj2k-params", "poc=0,0,1,3,3,rlcp/3,0,1,6,3,cprl", "-tile_parts", "component")
    assert c.main[POC] == [bytes([0, 0, 0, 1, 3, 3, 1, 3, 0, 0, 1, 6, 3, 4])], c.main[POC]
    ff.check_refused("-cj2k-params", "poc=0,0,1,3,3,rlcp", says=["poc leaves out component 0, resolution 3"])


def test_region_of_interest(ff):
    c = ff.parsed("-cj2k-params", "roi=8,8,16,16", "-cblk", "8x8")
    assert [(r[0], r[1]) for r in c.main[RGN]] == [(0, 0), (1, 0), (2, 0)], c.main[RGN]
    assert all(r[2] > 8 for r in c.main[RGN]), c.main[RGN]
    ff.check_refused("-cj2k-params", "roi=5000,0,8,8", says=["roi[0] 8x8 at 5000,0", "outside"])


def test_precincts(ff):
    c = ff.parsed("-precincts", "256x128,64x64", "-levels", 3)
    assert c.scod & 1 and c.precincts == [(256, 128), (64, 64), (64, 64), (64, 64)], c.precincts
    assert ff.parsed("-precincts", "128", "-levels", 1).precincts == [(128, 128)] * 2


@pytest.mark.parametrize("number, name", enumerate("lrcp rlcp rpcl pcrl cprl".split()))
def test_progressions(ff, number, name):
    assert ff.parsed("-progression", name).progression == number


def test_layers(ff):
    assert ff.parsed("-layers", 5).layers == 5


def test_layer_rates(ff):
    data = ff.packets("-layer_rates", "40,20,10")[0]
    assert Codestream(data).layers == 3
    assert 0.9 * W * H * 3 / 10 < len(data) <= W * H * 3 / 10 + 64, len(data)


def test_sop_and_eph(ff):
    plain, marked = ff.parsed(), ff.parsed("-cj2k-params", "sop=1:eph=1")
    assert not plain.scod & 6 and marked.scod & 6 == 6
    num_packets = 6 * 3
    packets = marked.tile_parts[0][3]
    assert packets.count(b"\xff\x91\x00\x04") == num_packets
    assert packets.count(b"\xff\x92") == num_packets
    assert len(marked.data) == len(plain.data) + num_packets * 8


def test_packets_start_with_soc_and_siz(ff):
    assert ff.packets()[0][:4] == b"\xff\x4f\xff\x51"


@pytest.mark.parametrize("fmt, enumerated", [("rgb24", 16), ("gray", 17), ("yuv420p", 18), ("yuva444p", 18),
                                             ("ya8", 17)])
def test_jp2_packets(ff, fmt, enumerated):
    raw, jp2 = ff.packets(fmt=fmt)[0], ff.packets("-format", "jp2", fmt=fmt)[0]
    c, boxes = from_jp2(jp2)
    assert c.data == raw, "the codestream in the JP2 file is another one"
    assert boxes == ["jP  ", "ftyp", "jp2h", "jp2c"]
    at = jp2.index(b"colr")
    assert int.from_bytes(jp2[at + 7 : at + 11], "big") == enumerated, jp2[at : at + 11].hex()
    if fmt not in ("yuva444p", "ya8"):
        assert b"cdef" not in jp2
    else:  # the last channel is opacity for the whole image
        last = jp2.index(b"cdef") + 6 + 6 * (c.num_components - 1)
        assert jp2[last : last + 6] == bytes([0, c.num_components - 1, 0, 1, 0, 0]), jp2[last : last + 6].hex()


# --- cj2k-params and flags --------------------------------------------------------------------------------------------


def test_further_parameters(ff):
    c = ff.parsed("-cj2k-params", "plt=1:tlm=0:guard_bits=3:comment=hello:cblk_style=bypass+segsym")
    assert PLT in c.tile_parts[0][2] and TLM not in c.main and c.guard_bits == 3
    assert c.comments == ["hello"] and c.cblk_style == 33


def test_further_parameters_win(ff):
    assert ff.parsed("-levels", 2, "-cj2k-params", "levels=4").levels == 4


@pytest.mark.parametrize("text, says", [("nonsense=1", ["nonsense"]), ("guard_bits=8", ["guard_bits", "8", "[1, 7]"])])
def test_further_parameters_are_checked(ff, text, says):
    ff.check_refused("-cj2k-params", text, says=says)


@pytest.mark.parametrize("key", "width height num_components depth is_signed dx dy".split())
def test_parameters_of_the_picture(ff, key):
    ff.check_refused("-cj2k-params", f"{key}=1", says=[f"{key} is given by the picture"])


def test_bitexact_has_no_version(ff):
    assert ff.parsed("-flags", "+bitexact").comments == ["libcj2k"]
    assert ff.parsed("-flags", "+bitexact", "-comment", "hello").comments == ["hello"]
    assert ff.parsed("-comment", "").comments == []


# --- further options --------------------------------------------------------------------------------------------------


def test_both_names_are_one_encoder(ff):
    help_text = ff.ffmpeg("-h", "encoder=libcj2k", log="info").stdout.decode()
    assert help_text.replace("Encoder libcj2k", "Encoder j2k_cuda").replace("libcj2k AVOptions", "j2k_cuda AVOptions") == ff.encoder_help
    source = ["-f", "lavfi", "-i", "testsrc2=s=64x48:d=0.2"]
    first, second = (ff.frame_hashes(*source, "-c:v", name, "-b:v", "1M") for name in ("j2k_cuda", "libcj2k"))
    assert first == second and len(first) == 5


def test_further_parameters_of_the_codestream(ff):
    c = ff.parsed("-progression", "cprl", "-tile_parts", "component", "-cj2k-params", "wavelet=5/3:cblk_style=bypass+segsym")
    assert c.cblk_style == 33 and c.wavelet == "5/3" and c.progression == 4 and len(c.tile_parts) == 3


def test_quant_step(ff):
    fine, coarse = (ff.packets("-cj2k-params", f"quant_step={step}")[0] for step in (0.25, 8))
    assert len(fine) > len(coarse), (len(fine), len(coarse))


def test_qfactor(ff):
    kw = {"fmt": "rgb24", "width": 320, "height": 240, "frames": smooth("rgb24", 320, 240, 1)}
    for coder in ("ebcot", "ht"):
        sizes = [len(ff.packets("-coder", coder, "-qfactor", q, **kw)[0]) for q in (20, 50, 80, 95)]
        assert all(a < b for a, b in zip(sizes, sizes[1:])), sizes
    ff.check_refused("-qfactor", 50, "-b:v", "1M", says=["qfactor 50 excludes target_bytes"])
    ff.check_refused("-qfactor", 101, says=["qfactor"])


@pytest.mark.parametrize("options", [("-effort", 2), ("-effort", 3), ("-tune", "visual"),
                                     ("-tune", "visual", "-cj2k-params", "visual_strength=1"), ("-effort", 2, "-tune", "visual")])
def test_other_bytes_within_the_same_cap(ff, options):
    kw = {"fmt": "rgb24", "width": 320, "height": 240, "frames": smooth("rgb24", 320, 240, 1)}
    plain, other = ff.packets("-b:v", "2M", **kw)[0], ff.packets("-b:v", "2M", *options, **kw)[0]
    cap = bytes_per_frame(2000000, 25)
    assert other != plain and 0.9 * cap < len(other) <= cap, (len(plain), len(other), cap)


def test_effort_with_ht(ff):
    kw = {"fmt": "rgb24", "width": 320, "height": 240, "frames": smooth("rgb24", 320, 240, 1)}
    plain, better = (ff.packets("-b:v", "2M", "-coder", "ht", "-effort", effort, **kw)[0] for effort in (1, 2))
    cap = bytes_per_frame(2000000, 25)
    assert better != plain and 0.9 * cap < len(better) <= cap, (len(plain), len(better), cap)


def test_effort_is_refused_by_name(ff):
    ff.check_refused("-effort", 2, "-b:v", "2M", "-stop", "bpi", says=["effort 2 needs stop exact or none"])


def test_layers_of_ht(ff):
    assert ff.parsed("-coder", "ht", "-layers", 3, "-b:v", "4M").layers == 3


def test_parameters_as_options_are_checked(ff):
    ff.check_refused("-lossless", 1, "-cj2k-params", "wavelet=9/7", says=["lossless 1", "wavelet 9/7"])
    ff.check_refused("-cj2k-params", "image_offset=5x5:tile_offset=6x0", says=["tile_offset_x 6"])


@pytest.mark.parametrize("measure", [0, 1])
def test_errors_in_the_verbose_log(ff, measure):
    log = ff.encode("-cj2k-params", f"measure_mse={measure}", log="verbose").log
    errors = [float(x) for x in re.search(r'"mse":\[([\d.]+),([\d.]+),([\d.]+)\]', log).groups()]
    assert all(0 < error < 10 for error in errors), errors

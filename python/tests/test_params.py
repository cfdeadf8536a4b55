# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Parameters: the table, values of every kind, errors of the library."""

import fractions
import pathlib
import re

import cj2k
import numpy as np
import pytest
from conftest import picture

ROOT = pathlib.Path(__file__).parents[2]


def test_table_is_the_library_s():
    rows = re.findall(r"^CJ2K_(?:NUMBER|TEXT)\((\w+),", (ROOT / "libcj2k/include/cj2k_params.def").read_text(), re.M)
    assert list(cj2k.params()) == rows
    quality = cj2k.params()["quality"]
    assert (quality.type, quality.min, quality.max, quality.unit) == ("float", 2**-8, 256, "LSB")
    assert cj2k.params()["stop"].values == ("none", "exact", "pst", "psb", "bpi")
    assert cj2k.params()["levels"].range_text() == "auto, 0 .. 32"
    for name, param in cj2k.params().items():
        for documented in (cj2k.encode.__doc__, cj2k.Encoder.__doc__):
            assert f"\n{name}: " in documented and param.help in documented


def test_version():
    header = (ROOT / "libcj2k/include/cj2k.h").read_text()
    assert f'CJ2K_VERSION_STRING "{cj2k.__version__}"' in header


@pytest.mark.parametrize("value, text", [
    (dict(levels=3), "3"), (dict(levels="auto"), "5"), (dict(levels=np.int64(2)), "2"),
    (dict(lossless=True), "1"), (dict(sop=False), "0"), (dict(sop=np.bool_(True)), "1"),
    (dict(quality=1.5), "1.5"), (dict(quality=np.float32(0.5)), "0.5"),
    (dict(wavelet="5/3"), "5/3"),
    (dict(cblk=(32, 16)), "32x16"), (dict(cblk=32), "32x32"), (dict(cblk="16x32"), "16x32"),
    (dict(tile=[64, 32]), "64x32"),
    (dict(cblk_style=["bypass", "reset"]), "bypass+reset"), (dict(cblk_style=("vsc",)), "vsc"),
    (dict(precincts=[(128, 64), (64, 64)]), "128x64,64x64"),
    (dict(layer_rates=[20, 10.5, 5]), "20,10.5,5"),
    (dict(frame_rate=(24000, 1001)), "24000/1001"), (dict(frame_rate=fractions.Fraction(30000, 1001)), "30000/1001"),
    (dict(frame_rate=24), "24"),
    (dict(roi=(0, 0, 8, 8, 16)), "0,0,8,8,16"), (dict(roi=[(0, 0, 8, 8, 16), (8, 8, 4, 4, 16)]), "0,0,8,8,16/8,8,4,4,16"),
    (dict(poc=[(0, 0, 1, 6, 3, "rlcp")]), "0,0,1,6,3,rlcp"),
    (dict(comment="text, with = and :"), "text, with = and :"), (dict(comment="Émile © ÿ €"), "Émile © ÿ €"),
])
def test_values(value, text):
    (name,) = value
    with cj2k.Encoder(64, 48, **value) as encoder:
        assert encoder.params[name] == text


def test_every_parameter_round_trips():
    with cj2k.Encoder(64, 48, device="cpu") as encoder:
        values = {name: value for name, value in encoder.params.items() if name not in ("width", "height")}
    values["quality"] = values["quality"] if float(values["quality"]) else None  # 0 is not in its range
    with cj2k.Encoder(64, 48, **values) as again:
        for name, value in values.items():
            assert value is None or again.params[name] == value


@pytest.mark.parametrize("keywords, text", [
    (dict(foo=1), 'unknown parameter "foo"'),
    (dict(levels=33), "levels"), (dict(levels="many"), "levels"), (dict(wavelet="4/4"), "wavelet"),
    (dict(depth=17), "depth"), (dict(quality=1000), "quality"), (dict(threads=0.5), "threads"),
    (dict(lossless=1, target_bytes=1000), "lossless"),
    (dict(target_bytes=10), "the headers of a frame alone take"),
    (dict(icc_profile=b"no profile"), "icc_profile"),
    (dict(jp2_boxes=b"no boxes"), "jp2_boxes"), (dict(resolution_y=3), "resolution_x"),
])
def test_errors_of_the_library(keywords, text):
    with pytest.raises(cj2k.Error) as error:
        cj2k.encode(picture(16, 16, 3), **keywords)
    assert text in str(error.value)
    assert error.value.status == "invalid"


def test_boxes_and_resolution():
    box = (13).to_bytes(4, "big") + b"xml <a/>."
    data = cj2k.encode(picture(16, 16, 3), format="jp2", jp2_boxes=box, resolution_x=2000)
    assert box + data[data.index(b"jp2c") - 4:] == data[data.index(box):]
    assert b"resc\x07\xd0\0\x01\x07\xd0\0\x01\0\0" in data


def test_values_that_are_none():
    with pytest.raises(TypeError, match="levels: object is not a number, text, tuple or list"):
        cj2k.encode(picture(16, 16), levels=object())
    assert cj2k.encode(picture(16, 16), levels=None) == cj2k.encode(picture(16, 16))


def test_comment_is_latin():
    codestream = cj2k.encode(picture(16, 16), comment="Bücher €")
    assert b"\xff\x64\0\x0c\0\x01B\xfccher \xa4" in codestream
    with pytest.raises(cj2k.Error, match='comment "Młody": U\\+0142 is not in ISO 8859-15'):
        cj2k.encode(picture(16, 16), comment="Młody")
    with pytest.raises(cj2k.Error, match="comment"):
        cj2k.encode(picture(16, 16), comment="é" * 256)


@pytest.mark.parametrize("length", range(200, 204))
def test_message_that_is_cut_within_a_character(length):
    with pytest.raises(cj2k.Error, match="levels \"a+é"):
        cj2k.encode(picture(16, 16), levels="a" * (length - 199) + "é" * length)


@pytest.mark.parametrize("name, value", [("comment", "a\0b"), ("levels", "3\0"), ("device", "cpu\0cuda")])
def test_text_with_a_nul(name, value):
    with pytest.raises(ValueError, match=f"{name}: .* NUL"):
        cj2k.encode(picture(16, 16), **{name: value})


def test_formats():
    assert cj2k.encode(picture(16, 16), format="jp2")[4:8] == b"jP  "
    assert cj2k.encode(picture(16, 16))[:2] == b"\xff\x4f"
    planes = [picture(16, 16, seed=c) for c in range(3)]
    rgb, yuv = (cj2k.encode(planes, colour=colour, format="jp2") for colour in ("rgb", "yuv"))
    spaces = [int.from_bytes(jp2[jp2.index(b"colr") + 7:][:4], "big") for jp2 in (rgb, yuv)]
    assert spaces == [16, 18]
    with_alpha = picture(16, 16, 4)
    jp2 = [cj2k.encode(with_alpha, format="jp2", **alpha) for alpha in ({}, {"alpha": 1}, {"alpha": 0})]
    assert b"cdef" in jp2[0] and jp2[0] == jp2[1] != jp2[2]


@pytest.mark.parametrize("cap", [400, 1111, 5000, 5001])
@pytest.mark.parametrize("coder", ["ebcot", "ht"])
def test_caps(cap, coder):
    noise = np.random.default_rng(cap).integers(0, 256, (96, 128, 3), dtype=np.uint8)
    size = len(cj2k.encode(noise, target_bytes=cap, coder=coder))
    assert 0.9 * cap <= size <= cap

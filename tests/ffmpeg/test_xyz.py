# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""R'G'B' coded as X'Y'Z', against the formulas of SMPTE ST 428-1 in double precision."""

import random
import re

import pytest

import pixfmt
from codestream import Codestream
from tools import mxf_is_patched, version_of

WIDTH, HEIGHT = 64, 16
MATRICES = {
    "rec709": ((0.412391, 0.357584, 0.180481), (0.212639, 0.715169, 0.072192), (0.019331, 0.119195, 0.950532)),
    "p3d65": ((0.486571, 0.265668, 0.198217), (0.228975, 0.691739, 0.079287), (0, 0.045113, 1.043944)),
    "p3dci": ((0.445170, 0.277134, 0.172283), (0.209492, 0.721595, 0.068913), (0, 0.047061, 0.907355)),
    "rec2020": ((0.636958, 0.144617, 0.168881), (0.262700, 0.677998, 0.059302), (0, 0.028073, 1.060985)),
}
GAMMAS = {"rec709": 2.4, "p3d65": 2.6, "p3dci": 2.6, "rec2020": 2.4}


def bars(fmt_name):
    """Colour bars at full and at three quarters, a ramp, and noise also near black; one list per component."""
    fmt = pixfmt.parse(fmt_name)
    top = (1 << fmt.depth) - 1
    rng = random.Random(f"bars {fmt_name}")
    pixels = []
    for y in range(HEIGHT):
        for x in range(WIDTH):
            bar, level = 7 - x * 8 // WIDTH, top if y < 4 else top * 3 // 4
            if y < 8:
                pixels.append([level * (bar >> bit & 1) for bit in (1, 2, 0)])
            elif y == 8:
                pixels.append([top * x // (WIDTH - 1)] * 3)
            else:
                pixels.append([rng.getrandbits(fmt.depth) >> rng.randrange(fmt.depth) for _ in range(3)])
    return [list(plane) for plane in zip(*pixels)]


def check_xyz(ff, data, rgb, fmt_name, space, gamma=None):
    top = (1 << pixfmt.parse(fmt_name).depth) - 1
    coded = Codestream(data)
    assert coded.depths == [12] * 3 and coded.mct == 1
    planes = ff.opj_samples(data, pixfmt.Format("xyz", 12, [pixfmt.Plane([0, 1, 2])]), WIDTH, HEIGHT)
    if planes is None:
        pytest.skip("opj_decompress is not installed")
    not_nearest = 0
    for *pixel, x, y, z in zip(*rgb, *planes):
        linear = [(v / top) ** (gamma or GAMMAS[space]) for v in pixel]
        for row, code in zip(MATRICES[space], (x, y, z)):
            exact = 4095 * (sum(m * v for m, v in zip(row, linear)) * 48 / 52.37) ** (1 / 2.6)
            assert abs(code - round(exact)) <= 1, f"{pixel}: {code}, not {exact}"
            not_nearest += code != round(exact)
    assert not_nearest < 0.03 * 3 * WIDTH * HEIGHT


def encode(ff, fmt, *options):
    rgb = bars(fmt)
    return ff.packets("-lossless", 1, *options, fmt=fmt, width=WIDTH, height=HEIGHT, frames=[rgb])[0], rgb


@pytest.mark.parametrize("space", MATRICES)
def test_colour_bars(ff, space):
    data, rgb = encode(ff, "gbrp12le", "-xyz", space)
    check_xyz(ff, data, rgb, "gbrp12le", space)


@pytest.mark.parametrize("fmt", ["rgb24", "bgr24", "bgr0", "0rgb", "x2rgb10le", "rgb48le", "bgr48le", "gbrp", "gbrp9le",
                                 "gbrp10le", "gbrp14le", "gbrp16le"])
def test_every_format(ff, fmt):
    data, rgb = encode(ff, fmt, "-xyz", "rec709")
    check_xyz(ff, data, rgb, fmt, "rec709")


@pytest.mark.parametrize("primaries, space", [("bt709", "rec709"), ("bt2020", "rec2020"), ("smpte431", "p3dci"),
                                              ("smpte432", "p3d65")])
def test_auto_takes_the_primaries_of_the_frames(ff, primaries, space):
    data, rgb = encode(ff, "gbrp10le", "-vf", f"setparams=color_primaries={primaries}", "-xyz", "auto")
    check_xyz(ff, data, rgb, "gbrp10le", space)


@pytest.mark.parametrize("transfer, options, gamma", [
    ("linear", (), 1.0), ("bt470m", (), 2.2), ("iec61966-2-1", (), 2.2), ("bt470bg", (), 2.8), ("smpte428", (), 2.6),
    ("bt709", (), 2.4), ("bt709", ("-cj2k-params", "xyz_gamma=2.2"), 2.2)])
def test_gamma(ff, transfer, options, gamma):
    data, rgb = encode(ff, "gbrp16le", "-vf", f"setparams=color_trc={transfer}", "-xyz", "rec709", *options)
    check_xyz(ff, data, rgb, "gbrp16le", "rec709", gamma)


@pytest.mark.parametrize("fmt", ["yuv420p", "yuv422p10le", "yuv444p16le", "rgba", "gray", "gbrap16le"])
def test_what_is_no_rgb(ff, fmt):
    """Where ffmpeg asks which formats fit, it makes R'G'B'; elsewhere the message names the filter."""
    how = {"fmt": fmt, "width": WIDTH, "height": HEIGHT, "log": "info"}
    if version_of(ff) < (7, 1):
        ff.check_refused("-xyz", "rec709", says=[f"needs R'G'B' frames without alpha, not {fmt}; put format=gbrp12"], **how)
        return
    log = ff.encode("-xyz", "rec709", **how).log
    shown = re.findall(r"Video: jpeg2000.*?, (\w+)\(", log)[-1]
    assert pixfmt.parse(shown).kind == "rgb" and pixfmt.parse(shown).depth >= pixfmt.parse(fmt).depth, shown
    assert pixfmt.parse(shown).num_components == 3 and shown != "xyz12le", shown


@pytest.mark.parametrize("fmt, options, says", [
    ("xyz12le", ("-xyz", "rec709"), "leave xyz out if they are X'Y'Z'"),
    ("gbrp12le", ("-xyz", "auto"), "use xyz rec709, rec2020, p3dci or p3d65"),
    ("gbrp12le", ("-xyz", "auto", "-vf", "setparams=color_primaries=bt2020:color_trc=smpte2084"), "PQ (SMPTE ST 2084)"),
    ("gbrp12le", ("-xyz", "rec2020", "-vf", "setparams=color_trc=arib-std-b67"), "HLG (ARIB STD-B67)"),
    ("gbrp12le", ("-xyz", "rec709", "-cj2k-params", "xyz_gamma=5"), "xyz_gamma"),
])
def test_what_is_refused(ff, fmt, options, says):
    ff.check_refused(*options, fmt=fmt, width=WIDTH, height=HEIGHT, says=[says])


def test_the_stream_is_labelled(ff, tmp_path):
    path = tmp_path / "out.mxf"
    ff.ffmpeg("-f", "lavfi", "-i", f"testsrc2=size={WIDTH}x{HEIGHT}:rate=24", "-frames:v", 1, "-pix_fmt", "gbrp10le",
              "-c:v", "j2k_cuda", "-xyz", "rec709", "-q:v", 1, path)
    stream = ff.probe(path, "-show_streams")["streams"][0]
    assert (stream["color_primaries"], stream["color_transfer"]) == ("smpte428", "smpte428"), stream
    if mxf_is_patched(ff):
        assert stream["pix_fmt"] == "xyz12le", stream

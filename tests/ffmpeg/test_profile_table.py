# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Every profile with every kind of source: taken as which pixel format with which colours, or refused and why. The table in
profile_sources.md is what FFmpeg 7.1 does; CJ2K_UPDATE_README=1 writes it. Older releases refuse what these convert."""

import os
import pathlib
import re

import pytest

import pixfmt
from tools import hd, version_of

PAGE = pathlib.Path(__file__).resolve().parent / "profile_sources.md"
BEGIN, END = "<!-- table of tests/ffmpeg/test_profile_table.py -->\n", "<!-- end of the table -->\n"
SOURCES = ["xyz12le", "gbrp12le", "yuv444p12le", "yuv422p10le", "yuv420p"]
# What the row is called, the options, whether the sources say what their colours are.
ROWS = [("`cinema2k`", ["-profile:v", "cinema2k"], True),
        ("`cinema4k`", ["-profile:v", "cinema4k"], True),
        ("`cinema2k -xyz rec709`", ["-profile:v", "cinema2k", "-xyz", "rec709"], True),
        ("`imf_2k`", ["-profile:v", "imf_2k"], True),
        ("`imf_2k`, colours not said", ["-profile:v", "imf_2k"], False),
        ("`imf_4k_r`", ["-profile:v", "imf_4k_r"], True),
        ("`imf_ht`", ["-profile:v", "imf_ht"], True),
        ("`broadcast_single`", ["-profile:v", "broadcast_single"], True),
        ("`dicom_ht_r`", ["-profile:v", "dicom_ht_r"], True)]
# The message of a refusal, and what the table says of it.
REFUSALS = [(r"is X'Y'Z', the frames are not: xyz auto .* makes X'Y'Z' of R'G'B'", "refused: not X'Y'Z'"),
            (r"is R'G'B' or Y'CbCr \(ST 2067-21\), the frames are X'Y'Z'", "refused: X'Y'Z'"),
            (r"the frames have no primaries transfer matrix\n", "refused: no primaries, transfer, matrix"),
            (r"the frames have no primaries transfer\n", "refused: no primaries, transfer"),
            (r"not xyz12le; leave xyz out if they are X'Y'Z', else put format=gbrp12 at the end", "refused: `format=gbrp12`"),
            # Older releases, which do not convert.
            (r"xyz needs R'G'B' frames without alpha, not \w+; put format=gbrp12", "convert"),
            (r"component 1 subsampled by 2x2: profile \w+ has 4:4:4 and 4:2:2", "convert"),
            (r"depth\[0\] \d+: profile \w+ has", "convert")]


def encode(ff, folder, source, says_colours, *options, filters=()):
    """One frame; returns (its pixel format with its colours, "") or ("", the errors)."""
    filters = [*([hd(source)] if says_colours and source != "xyz12le" else []), *filters] or ["null"]
    result = ff.ffmpeg("-f", "lavfi", "-i", f"testsrc2=s=256x144:r=24,format={source}", "-frames:v", 1, "-vf", ",".join(filters),
                       "-c:v", "j2k_cuda", *options, folder / "a.mov", ok=None, log="info")
    if result.returncode:
        return "", "\n".join(line for line in result.text.splitlines() if "j2k_cuda" in line)
    shown = re.findall(r"Stream #0:0.*?: Video: jpeg2000.*?, (\w+)\(([^)]*)\), 256x144", result.text)[-1]
    tags = [word for word in shown[1].split(", ") if word != "progressive" and not word.startswith("unknown")]
    return " ".join([f"`{shown[0]}`", *tags]), ""


def cell(ff, folder, source, options, says_colours):
    taken, errors = encode(ff, folder, source, says_colours, *options)
    if taken:
        return taken
    found = [text for pattern, text in REFUSALS if re.search(pattern, errors)]
    assert len(found) == 1, f"{options} {source}: {errors}"
    return found[0]


def table(ff, folder):
    return {name: [cell(ff, folder, source, options, said) for source in SOURCES] for name, options, said in ROWS}


def as_markdown(rows):
    head = "| profile | " + " | ".join(f"`{source}`" for source in SOURCES) + " |\n|" + "---|" * (len(SOURCES) + 1) + "\n"
    return head + "".join(f"| {name} | {' | '.join(cells)} |\n" for name, cells in rows.items())


def documented():
    text = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    rows = [[part.strip() for part in line.strip("|\n").split(" | ")] for line in text.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


def test_table(ff, tmp_path):
    rows = table(ff, tmp_path)
    if os.environ.get("CJ2K_UPDATE_README") and version_of(ff)[0] == 7:
        head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        PAGE.write_text(head + BEGIN + as_markdown(rows) + END + rest.split(END)[1], encoding="utf-8")
    wrong, old = [], version_of(ff) < (7, 1)
    for name, cells in documented().items():
        for source, want, got in zip(SOURCES, cells, rows[name]):
            converted = want.startswith("`") and not want.startswith(f"`{source}`")
            # Older releases say less of the colours, and do not convert.
            same = got.split("` ")[0].strip("`") == want.split("` ")[0].strip("`") if old else got == want
            if not same and not (old and got == "convert" and (converted or "format=" in want)):
                wrong.append(f"{name} {source}: {got}, not {want}")
    assert not wrong and documented().keys() == rows.keys(), "\n".join(wrong)


def test_strict_unofficial_takes_them(ff, tmp_path):
    """With a warning in the place of the error, and the profile all the same: the codestream has nothing against it."""
    for source, profile, says in (("gbrp12le", "cinema2k", "is X'Y'Z', the frames are not: xyz auto"),
                                  ("xyz12le", "imf_2k", "the frames are X'Y'Z'"),
                                  ("yuv422p10le", "imf_2k", "the frames have no primaries transfer matrix")):
        path = tmp_path / f"{source}.j2c"
        log = ff.ffmpeg("-f", "lavfi", "-i", f"testsrc2=s=256x144:r=24,format={source}", "-frames:v", 1, "-c:v", "j2k_cuda",
                        "-profile:v", profile, "-strict", "unofficial", path).text
        assert says in log and "-strict" not in log, log
        assert path.read_bytes()[6:8] != b"\0\0"


@pytest.mark.parametrize("rate, nearest", [("24000/1001", 24), ("30000/1001", 30), ("60000/1001", 60), ("23", 24), ("1000", 120)])
def test_rates_that_digital_cinema_has_not(ff, rate, nearest):
    how = {"fmt": "xyz12le", "width": 64, "height": 48, "rate": rate}
    shown = rate if "/" in rate else f"{rate}/1"
    for profile in ("cinema2k", "cinema4k"):
        ff.check_refused("-profile:v", profile, says=[f"these are {shown}; the nearest is {nearest}"], **how)
        assert f"these are {shown}" in ff.encode("-profile:v", profile, "-strict", "unofficial", **how).log


@pytest.mark.parametrize("rate", [24, 25, 30, 48, 50, 60, 96, 100, 120])
def test_rates_of_digital_cinema(ff, rate):
    ff.packets("-profile:v", "cinema2k", fmt="xyz12le", width=64, height=48, rate=rate)


def test_imf_is_of_limited_range(ff, tmp_path):
    """Where ffmpeg asks for ranges it converts, elsewhere it is told to."""
    full = ["setparams=range=pc"]
    taken, errors = encode(ff, tmp_path, "yuv422p10le", True, "-profile:v", "imf_2k", filters=full)
    if version_of(ff) < (7, 1):
        assert "has Y'CbCr of limited range, the frames are of full range" in errors, taken
        full.append("scale=out_range=tv")
        taken, errors = encode(ff, tmp_path, "yuv422p10le", True, "-profile:v", "imf_2k", filters=full)
    assert re.fullmatch("`yuv422p10le` tv( bt709)?", taken), taken + errors


@pytest.mark.parametrize("profile, samplings, components, most", [("imf_2k", {(1, 1), (2, 1)}, 3, 16),
                                                                   ("broadcast_single", {(1, 1), (2, 1), (2, 2), (1, 2)}, 4, 12)])
def test_what_is_chosen_fits(ff, tmp_path, profile, samplings, components, most):
    """ffmpeg chooses a format that the profile has, and loses no bits for it where there is one as deep."""
    if version_of(ff) < (7, 1):
        pytest.skip("ffmpeg asks encoders for formats from 7.1 on")
    for source in ("yuv420p12le", "yuva444p12le", "yuv410p", "gbrap16le", "rgba", "yuv444p16le", "nv12", "gray10le"):
        taken, errors = encode(ff, tmp_path, source, True, "-profile:v", profile, "-b:v", "20M")
        assert taken, f"{source}: {errors}"
        chosen, given = pixfmt.parse(re.match(r"`(\w+)`", taken)[1]), pixfmt.parse(source)
        assert chosen.num_components <= components and chosen.depth >= min(given.depth, most) and chosen.depth <= most, taken
        assert chosen.num_components < 3 or chosen.subsampling(1) in samplings, taken
        assert chosen.kind == given.kind, taken

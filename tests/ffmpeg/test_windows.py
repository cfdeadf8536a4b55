# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""ffmpeg.exe, run by wine, does what the FFmpeg of the same version does here:

    python3 -B -m pytest tests/ffmpeg/test_windows.py --ffmpeg build/ffmpeg-7.1/ffmpeg --windows build/windows/ffmpeg-7.1/ffmpeg
"""

import json
import pathlib
import re

import pytest

from tools import Tools, run

SOURCE = ("-f", "lavfi", "-i", "testsrc2=size=352x288:rate=25", "-frames:v", 4, "-pix_fmt", "yuv422p10le")
RATES = {"20M": ("-b:v", "20M"), "capped": ("-b:v", "4M"), "lossless": ("-lossless", 1)}


@pytest.fixture
def exe(pytestconfig, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")  # by which wine reads arguments and names of files
    program = pathlib.Path(pytestconfig.getoption("windows")).resolve()
    return Tools(program, program.with_name("ffprobe"), None)


@pytest.mark.parametrize("coder", ["ebcot", "ht"])
@pytest.mark.parametrize("rate", RATES)
def test_same_packets(ff, exe, tmp_path, coder, rate):
    """Read by both; there and back through the filter; names with letters that are not ASCII; what is told of each frame."""
    packets, stats = [], []
    for number, side in enumerate((ff, exe)):
        film, ht, back, log = (tmp_path / f"ä {number} 日本{name}" for name in (".mxf", " ht.mxf", " back.mxf", ".json"))
        side.ffmpeg(*SOURCE, "-c:v", "j2k_cuda", "-coder", coder, *RATES[rate], "-stats_file", log, film)
        for source, path, to in (film, ht, "ht"), (ht, back, "ebcot"):
            side.ffmpeg("-xerror", "-i", source, "-c", "copy", "-bsf:v", f"j2k_transcode=coder={to}", path)
        packets += [[reader.copied_packets("-i", path) for path in (film, ht, back)] for reader in (ff, exe)]
        stats.append([json.loads(line) | {"ms": None} for line in log.read_bytes().decode().splitlines()])
    assert [len(film) for film in packets[0]] == [4] * 3 and all(more == packets[0] for more in packets[1:])
    assert len(stats[0]) == 4 and stats[0] == stats[1]
    if rate == "capped":
        assert 0.99 * 20000 < max(map(len, packets[0][0])) <= 20000
    if rate == "lossless":
        want = ff.frame_hashes(*SOURCE)
        assert len(want) == 4 and exe.frame_hashes("-i", back) == want
        for path in film, ht:  # of HT, 7.1 shows one frame in each of its threads
            assert exe.frame_hashes("-i", path, "-frames:v", 1) == want[:1]


def test_jp2(ff, exe, tmp_path):
    for name, side in ("a", ff), ("b", exe):
        side.ffmpeg(*SOURCE, "-c:v", "j2k_cuda", "-b:v", "4M", "-bsf:v", "j2k_jp2", tmp_path / f"{name}%d.jp2")
    files = [[(tmp_path / f"{name}{number}.jp2").read_bytes() for number in range(1, 5)] for name in "ab"]
    assert files[0] == files[1] and files[0][0][4:8] == b"jP  "


@pytest.mark.parametrize("what", ["encoder=j2k_cuda", "encoder=libcj2k", "bsf=j2k_transcode", "bsf=j2k_jp2"])
def test_same_options(ff, exe, what):
    shown = [run(side.program, "-hide_banner", "-h", what).stdout.decode().splitlines() for side in (ff, exe)]
    options = [lines[next(at for at, line in enumerate(lines) if "AVOptions" in line):] for lines in shown]
    assert shown[0][0] == shown[1][0] and len(options[0]) > 2 and options[0] == options[1]


@pytest.mark.parametrize("options", [("-b:v", 1000), ("-cblk", "5x5"), ("-progression", "abcd"), ("-stats_file", "no folder/ö.json")])
def test_same_message(ff, exe, tmp_path, options):
    texts = [side.ffmpeg(*SOURCE, "-c:v", "j2k_cuda", *options, tmp_path / "a.mxf", ok=False).text for side in (ff, exe)]
    lines = [[re.sub(r" @ \w+", "", line) for line in text.splitlines() if "[j2k_cuda @" in line] for text in texts]
    assert lines[0] == lines[1] and any(str(options[1]) in line for line in lines[0]), lines

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""--film-bytes and --film-rate: two passes, one budget."""
import pathlib
import random
import re
import shlex

import pytest

from pictures import dpx, planes, pnm

W, H, FRAMES = 160, 120, 6


@pytest.fixture
def film(tmp_path):
    """Frames from flat to noise."""
    (tmp_path / "in").mkdir()
    for frame in range(FRAMES):
        noise = random.Random(frame)
        samples = [[128 + x // 4 % 16 + noise.randrange(-frame * 8 - 1, frame * 8 + 2) for y in range(H) for x in range(W)]
                   for _ in range(3)]
        (tmp_path / f"in/{frame:04d}.ppm").write_bytes(pnm(W, H, samples, 8))
    return "in/%04d.ppm"


def sizes(tmp_path, folder="out"):
    return [path.stat().st_size for path in sorted((tmp_path / folder).glob("*.j2k"))]


@pytest.mark.parametrize("coder", ("ebcot", "ht"))
def test_budget(cj2k, tmp_path, film, coder):
    run = cj2k("-i", film, "-o", "out/", "--film-bytes", 30000, "--coder", coder, "--cblk=16x16")
    assert "analysis: 6 frames" in run.stderr
    got = sizes(tmp_path)
    assert 0.97 * 30000 <= sum(got) <= 30000 and max(got) <= 2 * 5000
    # What is hard gets more.
    assert got[5] > 1.3 * got[1]
    cj2k("-i", film, "-o", "few/", "--film-bytes", 30000, "--coder", coder, "--cblk=16x16", "--threads", 1)
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (tmp_path / "few" / path.name).read_bytes()


def test_rate_cap_and_power(cj2k, tmp_path, film):
    cj2k("-i", film, "-o", "out/", "--film-rate", "1M", "--fps", 25, "--max_frame_bytes", 6000)
    got = sizes(tmp_path)
    assert 0.97 * 30000 <= sum(got) <= 30000 and max(got) <= 6000
    cj2k("-i", film, "-o", "fair/", "--film-rate", "1M", "--fps", 25, "--film-power", 4)
    assert sizes(tmp_path, "fair")[5] > got[5]
    told = cj2k("-i", film, "-o", "less/", "--film-bytes", 30000, "--max_frame_bytes", 4000).stderr
    assert "24000 of 30000 bytes" in told and sum(sizes(tmp_path, "less")) <= 24000


def test_log(cj2k, tmp_path, film):
    arguments = ("-i", film, "-o", "out/", "--film-bytes", 30000, "--film-log", "film.log")
    assert "analysis" in cj2k(*arguments).stderr
    first = [path.read_bytes() for path in sorted((tmp_path / "out").iterdir())]
    log = (tmp_path / "film.log").read_bytes()
    assert "analysis" not in cj2k(*arguments).stderr
    assert first == [path.read_bytes() for path in sorted((tmp_path / "out").iterdir())]
    # Fewer bytes need no other log; another film, coder or cap does.
    cj2k(*arguments[:5], 20000, *arguments[6:])
    cj2k(*arguments, "--last", 4, "--max_frame_bytes", 9999, fails=1, words=("film.log", "576 each"))
    cj2k(*arguments, "--coder", "ht", fails=1, words=("film.log", "other parameters"))
    cj2k(*arguments[:5], 40000, *arguments[6:], fails=1, words=("film.log", "10000", "13334"))
    for damaged, words in ((log[:-1], "576 each"), (log[:20], "too short"), (b"x" + log[1:], "CJ2KFILM"),
                           (log[:99] + bytes([log[99] ^ 1]) + log[100:], "damaged"), (log + b"x", "576 each"),
                           (log[:8] + b"\2" + log[9:], "version 2")):
        (tmp_path / "film.log").write_bytes(damaged)
        cj2k(*arguments, fails=1, words=("film.log", words))


def test_errors(cj2k, tmp_path, film):
    io = ("-i", film, "-o", "out/")
    for words, arguments in (
            (("--film-bytes", "0", "1"), ("--film-bytes", 0)), (("--film-rate", "5X"), ("--film-rate", "5X")),
            (("--fps",), ("--film-rate", "5M")), (("--film-power 9", "1 to 8"), ("--film-bytes", 9999, "--film-power", 9)),
            (("--film-log", "--film-bytes"), ("--film-log", "a")), (("--film-power", "--film-bytes"), ("--film-power", 2)),
            (("--film-bytes", "--film-rate"), ("--film-bytes", 9999, "--film-rate", "5M")),
            (("--film-bytes", "--bitrate"), ("--film-bytes", 9999, "--bitrate", "5M", "--fps", 24)),
            (("--film-bytes", "--quality 3"), ("--film-bytes", 9999, "--quality", 3)),
            (("--film-bytes", "--skip-existing"), ("--film-bytes", 9999, "--skip-existing")),
            (("total_bytes 600", "6 frames"), ("--film-bytes", 600, "--max_frame_bytes", 9999, "--quiet"))):
        cj2k(*io, *arguments, fails=2, words=words)
    assert not (tmp_path / "out").exists() or not sizes(tmp_path)


def test_example_of_the_document(cj2k, tmp_path):
    page = (pathlib.Path(__file__).parents[2] / "docs/film.md").read_text()
    line = re.search(r"```sh\n(cj2k .*)\n```", page)[1]
    for frame in 1, 2:
        (tmp_path / f"frames_{frame:06d}.dpx").write_bytes(dpx(W, H, planes(W, H, 3, 10, seed=frame), 10))
    cj2k(*shlex.split(line)[1:])
    assert (tmp_path / "out_000002.j2c").exists()

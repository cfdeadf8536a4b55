# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""cj2k info: the facts of files, as text and as JSON; what it refuses."""

import json

import pytest
from pictures import planes, pnm


@pytest.fixture
def files(cj2k, tmp_path):
    (tmp_path / "a.ppm").write_bytes(pnm(60, 43, planes(60, 43, 3, 8), 8))
    cj2k("-i", "a.ppm", "-o", "a.jp2", "--lossless", "--tile", "32x32", "--progression", "rpcl")
    cj2k("-i", "a.ppm", "-o", "a.jhc", "--target_bytes", "3000")


def test_text(cj2k, files):
    text = cj2k("info", "a.jp2", "a.jhc").stdout
    for fact in ("a.jp2: 0 errors, 0 warnings", "60x43, 3 components of 8 bits, 4 tiles", "5/3, 5 levels", "RPCL",
                 "a.jhc: 0 errors", "9/7", "CAP: Pcap 0x00020000"):
        assert fact in text, text


def test_json(cj2k, files):
    facts = json.loads(cj2k("info", "--json", "a.jp2", "a.jhc").stdout)["files"]
    assert [(f["file"], f["width"], f["height"], f["components"], f["errors"]) for f in facts] == \
        [("a.jp2", 60, 43, 3, 0), ("a.jhc", 60, 43, 3, 0)]


def test_violations_are_no_failure(cj2k, files, tmp_path):
    (tmp_path / "cut.jhc").write_bytes((tmp_path / "a.jhc").read_bytes()[:-2])
    assert "error eoc" in cj2k("info", "cut.jhc").stdout


def test_refused(cj2k, files, tmp_path):
    cj2k("info", fails=2, words=("no file",))
    cj2k("info", "--jsn", "a.jp2", fails=2, words=("--jsn",))
    cj2k("info", "no.jp2", fails=1, words=("no.jp2", "No such file"))
    cj2k("info", "a.ppm", fails=1, words=("a.ppm", "no JPEG 2000 file"))
    (tmp_path / "empty").write_bytes(b"")
    cj2k("info", "empty", fails=1, words=("empty",))
    assert "usage: cj2k info" in cj2k("info", "--help").stdout

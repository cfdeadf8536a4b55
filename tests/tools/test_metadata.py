# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""cj2k: resolution, XMP, IPTC and Exif of TIFF and PNG in JP2 files, as jpylyzer, the validator of archives, reads them."""
import json
import struct
import subprocess
import xml.etree.ElementTree

import pytest
from pictures import planes, png, pnm, tiff_file

W, H = 60, 43
XMP = b"""<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><r:RDF
 xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></x:xmpmeta><?xpacket end="w"?>"""
IPTC = b"\x1c\x02\x05\x00\x03abc"
EXIF = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
IDS = {"XMP": "be7acfcb-97a9-42e8-9c71-999491e3afac", "IPTC": "33c7a4d2-b81d-4723-a0ba-f1a3e097ad38"}


def tiff(order, **tags):
    more = {282: ("R", [300, 1]), 283: ("R", [200, 1]), 700: ("B", XMP), 33723: ("B", IPTC)}
    more.update({int(tag[1:]): value for tag, value in tags.items()})
    return tiff_file([dict(width=W, height=H, samples=planes(W, H, 3, 8), depth=8, more=more)], order)


def boxes(path):
    """(type, body) of the boxes of a file."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], "big") or len(data) - at
        yield data[at + 4:at + 8], data[at + 8:at + size]
        at += size


def jpylyzer(path):
    """What it says of a valid file: samples per metre across and down, and identifiers of uuid boxes but XMP."""
    said = subprocess.run(["jpylyzer", path], capture_output=True, check=True).stdout
    root = xml.etree.ElementTree.fromstring(said)
    found = {}
    for element in root.iter():
        found.setdefault(element.tag.split("}")[1], []).append(element.text)
    assert found["isValid"] == ["True"], said
    return [[float(value) for value in found.get(name, [])] for name in ("hRescInPixelsPerMeter", "vRescInPixelsPerMeter")], \
        found.get("uuid", [])


def info(cj2k, name):
    return json.loads(cj2k("info", "--json", name).stdout)["files"][0]


@pytest.mark.parametrize("order", "<>")
def test_tiff(cj2k, tmp_path, order):
    (tmp_path / "a.tif").write_bytes(tiff(order))
    cj2k("-i", "a.tif", "-o", "a.jp2")
    uuids = [body for kind, body in boxes(tmp_path / "a.jp2") if kind == b"uuid"]
    assert [body[16:] for body in uuids] == [XMP, IPTC]
    assert [body[:16].hex() for body in uuids] == [IDS[name].replace("-", "") for name in ("XMP", "IPTC")]
    assert jpylyzer(tmp_path / "a.jp2") == ([[11811.02], [7874.02]], [IDS["IPTC"]])
    facts = info(cj2k, "a.jp2")
    assert facts["samples_per_metre"] == pytest.approx([300 / .0254, 200 / .0254])
    assert facts["metadata"] == [f"XMP of {len(XMP)} bytes", f"IPTC of {len(IPTC)} bytes"] and facts["errors"] == 0
    assert "300 x 200 samples per inch" in cj2k("info", "a.jp2").stdout
    # What the user says comes first; a codestream has no place for it.
    cj2k("-i", "a.tif", "-o", "b.jp2", "--resolution_x", "2000")
    assert info(cj2k, "b.jp2")["samples_per_metre"] == [2000, 2000]
    cj2k("-i", "a.tif", "-o", "c.j2k")
    assert b"uuid" not in (tmp_path / "c.j2k").read_bytes()
    # They stay when the block coder changes, in JPH files too, and verify proves the file.
    cj2k("transcode", "a.jp2", "a.jph")
    cj2k("-i", "a.tif", "-o", "d.jph", "--verify", "1")
    for name in ("a.jph", "d.jph"):
        assert info(cj2k, name)["metadata"] == facts["metadata"]


def test_iptc_in_words(cj2k, tmp_path):
    for order in "<>":
        (tmp_path / "a.tif").write_bytes(tiff(order, t33723=("I", struct.unpack(order + "2I", IPTC))))
        cj2k("-i", "a.tif", "-o", "a.jp2")
        assert [body[16:] for kind, body in boxes(tmp_path / "a.jp2") if kind == b"uuid"][1] == IPTC


@pytest.mark.parametrize("unit,per_metre", [(1, None), (2, 300 / .0254), (3, 30000)])
def test_unit_of_resolution(cj2k, tmp_path, unit, per_metre):
    (tmp_path / "a.tif").write_bytes(tiff("<", t283=("R", [300, 1]), t296=("H", [unit])))
    cj2k("-i", "a.tif", "-o", "a.jp2")
    assert info(cj2k, "a.jp2")["samples_per_metre"] == (per_metre and pytest.approx([per_metre] * 2))


@pytest.mark.parametrize("across", [[0, 1], [1, 0], [1, 4000000000]])
def test_resolution_that_is_none(cj2k, tmp_path, across):
    (tmp_path / "a.tif").write_bytes(tiff("<", t282=("R", across)))
    cj2k("-i", "a.tif", "-o", "a.jp2")
    assert info(cj2k, "a.jp2")["samples_per_metre"] is None


def test_png(cj2k, tmp_path):
    chunks = [(b"pHYs", struct.pack(">IIB", 11811, 5906, 1)), (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP), (b"eXIf", EXIF)]
    (tmp_path / "a.png").write_bytes(png(W, H, planes(W, H, 3, 8), 8, chunks))
    assert "orientation 6" in cj2k("-i", "a.png", "-o", "a.jp2").stderr
    assert jpylyzer(tmp_path / "a.jp2")[0] == [[11811], [5906]]
    assert [body[16:] for kind, body in boxes(tmp_path / "a.jp2") if kind == b"uuid"] == [XMP, EXIF]
    assert info(cj2k, "a.jp2")["metadata"] == [f"XMP of {len(XMP)} bytes", f"Exif of {len(EXIF)} bytes"]
    # Without a unit, XMP that is compressed, another text, a chunk that ends early.
    for other in ([(b"pHYs", struct.pack(">IIB", 3, 4, 0))], [(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + XMP)],
                  [(b"iTXt", b"Title\0\0\0\0\0" + XMP)], [(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0")], [(b"pHYs", b"\0")]):
        (tmp_path / "b.png").write_bytes(png(W, H, planes(W, H, 3, 8), 8, other))
        cj2k("-i", "b.png", "-o", "b.jp2")
        facts = info(cj2k, "b.jp2")
        assert facts["samples_per_metre"] is None and facts["metadata"] == []


def test_files_that_differ_in_metadata(cj2k, tmp_path):
    """Each keeps its own, though one encoder would do for the pictures."""
    for i in range(3):
        (tmp_path / f"a{i}.tif").write_bytes(tiff("<", t282=("R", [100 * (i + 1), 1]), t283=("R", [100 * (i + 1), 1])))
    cj2k("-i", "a*.tif", "-o", "out/", "--ext", "jp2")
    for i in range(3):
        assert info(cj2k, f"out/a{i}.jp2")["samples_per_metre"] == pytest.approx([100 * (i + 1) / .0254] * 2)


def test_resolution_by_hand(cj2k, tmp_path):
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))
    cj2k("-i", "a.ppm", "-o", "a.jp2", "--resolution_x", "11811.0236", "--resolution_y", "5905.5118")
    assert jpylyzer(tmp_path / "a.jp2")[0] == [[11811.02], [5905.51]]
    cj2k("-i", "a.ppm", "-o", "b.jp2", "--resolution_y", "5", fails=2, words=("resolution_x", "5"))

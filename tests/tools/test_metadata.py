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


def exif_directory(order, big, at, fields):
    """A directory that begins at `at`: fields (tag, type, count, bytes, or None and a directory behind it)."""
    wide = 8 if big else 4
    values, table = b"", struct.pack(order + ("Q" if big else "H"), len(fields))
    behind = at + len(table) + len(fields) * (4 + 2 * wide) + wide
    for tag, kind, count, value in fields:
        if isinstance(value, list):
            value = exif_directory(order, big, behind + len(values), value)
            where = struct.pack(order + ("Q" if big else "I"), behind + len(values))
            values += value
        elif len(value) > wide:
            where = struct.pack(order + ("Q" if big else "I"), behind + len(values))
            values += value + bytes(len(value) % 2)
        else:
            where = value.ljust(wide, b"\0")
        table += struct.pack(order + ("HHQ" if big else "HHI"), tag, kind, count) + where
    return table + bytes(wide) + values


def exif_fields(exif, at=None):
    """What a reader of Exif finds: {tag: (type, count, bytes)}, of directories {tag: fields}."""
    order = {b"II": "<", b"MM": ">"}[exif[:2]]
    sizes = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 10: 8}
    if at is None:
        magic, at = struct.unpack(order + "HI", exif[2:8])
        assert magic == 42
    (count,), found = struct.unpack_from(order + "H", exif, at), {}
    for i in range(count):
        tag, kind, n, where = struct.unpack_from(order + "HHII", exif, at + 2 + 12 * i)
        begin = where if n * sizes[kind] > 4 else at + 2 + 12 * i + 8
        assert begin + n * sizes[kind] <= len(exif) and not begin & 1
        found[tag] = exif_fields(exif, where) if tag in (34665, 34853, 40965) else (kind, n, exif[begin:begin + n * sizes[kind]])
    assert list(found) == sorted(found) and exif[at + 2 + 12 * count:][:4] == bytes(4)
    return found


def tiff_with_exif(order, big, exif, gps):
    tags = {271: ("B", b"Maker\0"), 274: ("H", [1]), 34665: ("Q" if big else "I", [0]), 34853: ("Q" if big else "I", [0])}
    page = dict(width=W, height=H, samples=planes(W, H, 3, 8), depth=8, more=dict(tags))
    size = len(tiff_file([dict(page)], order, big))
    first = exif_directory(order, big, size, exif)
    tags[34665], tags[34853] = ("Q" if big else "I", [size]), ("Q" if big else "I", [size + len(first)])
    page["more"] = dict(tags)
    return tiff_file([page], order, big) + first + exif_directory(order, big, size + len(first), gps)


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("order", "<>")
def test_exif_of_tiff(cj2k, tmp_path, order, big):
    time, lens, iso = b"2026:11:26 10:00:00\0", b"A lens\0", struct.pack(order + "H", 400)
    ratio, place = struct.pack(order + "2I", 1, 125), struct.pack(order + "6I", 47, 1, 30, 1, 0, 1)
    interop = (40965, 4, 1, [(1, 2, 4, b"R98\0")])
    exif = [(33434, 5, 1, ratio), (34855, 3, 1, iso), (36867, 2, len(time), time), (37500, 7, 5, b"maker"), interop,
            (42036, 2, len(lens), lens)]
    (tmp_path / "a.tif").write_bytes(tiff_with_exif(order, big, exif, [(1, 2, 2, b"N\0"), (2, 5, 3, place)]))
    cj2k("-i", "a.tif", "-o", "a.jp2", "--lossless", "1")
    (box,) = [body for kind, body in boxes(tmp_path / "a.jp2") if kind == b"uuid"]
    assert box[:16] == b"JpgTiffExif->JP2"
    assert exif_fields(box[16:]) == {
        271: (1, 6, b"Maker\0"), 274: (3, 1, struct.pack(order + "H", 1)),
        34665: {33434: (5, 1, ratio), 34855: (3, 1, iso), 36867: (2, 20, time), 37500: (7, 5, b"maker"),
                40965: {1: (2, 4, b"R98\0")}, 42036: (2, 7, lens)},
        34853: {1: (2, 2, b"N\0"), 2: (5, 3, place)}}
    assert info(cj2k, "a.jp2")["metadata"] == [f"Exif of {len(box) - 16} bytes"]
    jpylyzer(tmp_path / "a.jp2")
    cj2k("verify", "a.tif", "a.jp2")  # the samples, which libtiff reads afterwards


def test_exif_of_tiff_that_is_damaged(cj2k, tmp_path):
    iso = (34855, 3, 1, struct.pack("<H", 400))
    for exif, gps, wanted in (
            ([], [], None),  # no fields
            ([iso, (36867, 2, 1 << 30, b"\xff\xff\xff\xff")], [], {34855}),  # longer than the file
            ([iso, (36867, 77, 1, b"abcd"), (36868, 2, 0, b"")], [], {34855}),  # of no type, of no values
            ([iso, (40965, 4, 1, struct.pack("<I", 8))], [], {34855, 40965})):  # the samples as a directory
        (tmp_path / "a.tif").write_bytes(tiff_with_exif("<", False, exif, gps))
        cj2k("-i", "a.tif", "-o", "a.jp2")
        found = [body for kind, body in boxes(tmp_path / "a.jp2") if kind == b"uuid"]
        assert len(found) == (wanted is not None)
        if wanted:
            assert {34855} <= set(exif_fields(found[0][16:])[34665]) <= wanted
    whole = tiff_with_exif("<", False, [iso], [])
    (tmp_path / "a.tif").write_bytes(whole[:-20])  # ends within the directories
    cj2k("-i", "a.tif", "-o", "a.jp2")


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

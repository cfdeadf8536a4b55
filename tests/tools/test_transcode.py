# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""cj2k transcode: there and back over files of other encoders and of the media folder, names, errors."""

import os
import pathlib
import struct
import subprocess

import pytest
from pictures import decode, planes, pnm

MEDIA = pathlib.Path(os.environ.get("CJ2K_TEST_MEDIA", pathlib.Path(__file__).parents[3] / "shared/media"))
#: opj_compress and grk_compress: rates, layers, tiles, styles, progressions, tile-parts, a subsampled grid.
OTHERS = {
    "opj_compress": ("-r 20", "-r 40,20,10 -SOP -EPH -p RPCL -t 64,50 -c [64,64]", "-I -q 30,35 -p PCRL -n 4 -b 32,32",
                     "-r 10 -M 63 -p CPRL", "-r 30,10 -M 1 -TP R -p RLCP", "-d 33,17 -T 10,5 -t 111,97 -r 8,4", "-I -r 100",
                     "-r 8 -M 8 -TLM -PLT"),
    "grk_compress": ("-r 20", "-I -q 30,40 -p RPCL -c [128,128] -L -X", "-M 64", "-M 64 -I -r 10"),
}


def there_and_back(cj2k, name, suffix):
    """Returns the names with HT and, of one layer, with Part 1: by way of HT, of Part 1, and straight."""
    ht, back, layers, twice, again = (f"{kind}{suffix}" for kind in ("ht", "back", "layers", "twice", "again"))
    cj2k("transcode", "--coder", "ht", name, ht)
    cj2k("transcode", "--one-layer", ht, back)
    cj2k("transcode", "--coder=ebcot", name, layers)
    cj2k("transcode", "--coder=ebcot", "--one-layer", layers, twice)
    cj2k("transcode", "--coder=ebcot", "--one-layer", "--threads", "2", name, again)
    return ht, back, layers, twice, again


@pytest.mark.parametrize("encoder,options", [(e, o) for e, all in OTHERS.items() for o in all])
def test_other_encoders(cj2k, tmp_path, encoder, options):
    (tmp_path / "a.ppm").write_bytes(pnm(150, 110, planes(150, 110, 3, 8, noise=0.2), 8))
    subprocess.run([encoder, "-i", "a.ppm", "-o", "a.j2k", *options.split()], cwd=tmp_path, check=True, capture_output=True)
    ht, back, layers, twice, again = there_and_back(cj2k, "a.j2k", ".j2k")
    assert (tmp_path / back).read_bytes() == (tmp_path / again).read_bytes() == (tmp_path / twice).read_bytes()
    want = decode(tmp_path / "a.j2k", tmp_path)
    assert decode(tmp_path / back, tmp_path) == want
    assert decode(tmp_path / ht, tmp_path) == decode(tmp_path / layers, tmp_path) == want


@pytest.mark.parametrize("name", sorted(p.name for p in (MEDIA / "conformance").glob("*.j2k")) or ["none"])
def test_conformance(cj2k, tmp_path, name):
    """p0 and p1: ITU-T T.803, with layers and blocks that end in any pass; ds0, ds1, hifi: those of HTJ2K."""
    source = MEDIA / "conformance" / name
    if not source.exists():
        pytest.skip(f"no {source}")
    ht, back, layers, twice, again = there_and_back(cj2k, source, ".j2k")
    assert (tmp_path / back).read_bytes() == (tmp_path / again).read_bytes() == (tmp_path / twice).read_bytes()
    cj2k("transcode", "--coder", "ht", layers, "ht2.j2k")
    assert (tmp_path / "ht2.j2k").read_bytes() == (tmp_path / ht).read_bytes()


def test_files_with_boxes(cj2k, tmp_path):
    samples = planes(60, 43, 3, 8)
    (tmp_path / "a.ppm").write_bytes(pnm(60, 43, samples, 8))
    cj2k("-i", "a.ppm", "-o", "a.jp2", "--lossless")
    cj2k("transcode", "a.jp2", "b.jph")
    assert b"ftypjph " in (tmp_path / "b.jph").read_bytes()
    cj2k("transcode", "b.jph", "c.jp2")
    assert (tmp_path / "c.jp2").read_bytes() == (tmp_path / "a.jp2").read_bytes()
    cj2k("transcode", "a.jp2", "d.j2k", fails=2, words=("d.j2k", "boxes"))
    cj2k("-i", "a.ppm", "-o", "a.j2k", "--lossless")
    cj2k("transcode", "a.j2k", "d.jph", fails=2, words=("d.jph", "no boxes"))
    assert not (tmp_path / "d.j2k").exists() and not list(tmp_path.glob("*.part"))


def test_recap(cj2k, tmp_path):
    """Under a cap, from Part 1 and from HT; the profile stays, and the checker finds no fault."""
    (tmp_path / "a.ppm").write_bytes(pnm(200, 160, planes(200, 160, 3, 12), 12))
    cj2k("-i", "a.ppm", "-o", "a.j2k", "--profile", "imf_2k", "--target_bytes", "60000", "--fps", "24")
    cj2k("transcode", "--recap", 30000, "a.j2k", "b.j2k")
    cj2k("transcode", "a.j2k", "a.jhc")
    cj2k("transcode", "--recap=30000", "a.jhc", "c.j2k")
    for name in ("b.j2k", "c.j2k"):
        assert 29500 < (tmp_path / name).stat().st_size <= 30000
        assert f"{name}: 0 errors" in cj2k("info", name).stdout
    assert "profile imf_2k" in cj2k("info", "b.j2k").stdout and "profile none" in cj2k("info", "c.j2k").stdout
    cj2k("transcode", "--recap", 90, "a.j2k", "d.j2k", fails=1, words=("a.j2k", "the headers take", "90"))
    cj2k("transcode", "--recap", 9000, "--coder", "ht", "a.j2k", "d.j2k", fails=2, words=("--recap", "--coder ht"))
    cj2k("transcode", "--recap", "9k", "a.j2k", "d.j2k", fails=2, words=("--recap 9k", "is not in 1 to"))
    assert not (tmp_path / "d.j2k").exists()


def test_input_stays(cj2k, tmp_path):
    """Input and output may not be the same file, whatever its name."""
    (tmp_path / "a.ppm").write_bytes(pnm(60, 43, planes(60, 43, 3, 8), 8))
    (tmp_path / "d").mkdir()
    cj2k("-i", "a.ppm", "-o", "d/a.j2k", "--lossless")
    before = (tmp_path / "d/a.j2k").read_bytes()
    for names in (("d/a.j2k", "d/../d/a.j2k"), ("d", "./d")):
        cj2k("transcode", "--recap", 3000, *names, fails=2, words=("a.j2k", "the same file"))
    (tmp_path / "b.j2k").write_bytes((tmp_path / "a.ppm").read_bytes())
    cj2k("-i", "b.j2k", "-o", "b.j2k", fails=2, words=("b.j2k", "the same file"))
    assert (tmp_path / "d/a.j2k").read_bytes() == before


def test_refused(cj2k, tmp_path):
    (tmp_path / "a.ppm").write_bytes(pnm(60, 43, planes(60, 43, 3, 8), 8))
    cj2k("-i", "a.ppm", "-o", "a.j2k", "--lossless")
    (tmp_path / "cut.j2k").write_bytes((tmp_path / "a.j2k").read_bytes()[:-200])
    for arguments, status, words in (
            ((), 2, ("IN and OUT",)), (("a.j2k",), 2, ("IN and OUT",)), (("a.j2k", "b", "c"), 2, ("3 names",)),
            (("--coder", "mq", "a.j2k", "b.j2k"), 2, ("--coder mq",)), (("a.j2k", "b.j2k", "--coder"), 2, ("needs a value",)),
            (("--threads=0", "a.j2k", "b.j2k"), 2, ("--threads 0",)), (("--recap", "a.j2k", "b.j2k"), 2, ("--recap",)),
            (("no.j2k", "b.j2k"), 1, ("no.j2k", "no such file")), (("a.ppm", "b.j2k"), 1, ("a.ppm", "no SOC")),
            (("cut.j2k", "b.j2k"), 1, ("cut.j2k", "Psot", "at byte")), (("a.j2k", "no/b.j2k"), 1, ("no/b.j2k",))):
        cj2k("transcode", *arguments, fails=status, words=words)
    assert not (tmp_path / "b.j2k").exists()
    assert "usage: cj2k transcode" in cj2k("transcode", "--help").stdout


def test_many_files(cj2k, tmp_path):
    """A folder, a pattern and a glob; each output is that of its file alone."""
    (tmp_path / "in").mkdir()
    for i in range(3):
        (tmp_path / f"{i}.ppm").write_bytes(pnm(40, 30, planes(40, 30, 3, 8, seed=i), 8))
        cj2k("-i", f"{i}.ppm", "-o", f"in/f_{i}.j2c")
        cj2k("transcode", f"in/f_{i}.j2c", f"one_{i}.j2c")
    (tmp_path / "in/notes.txt").write_text("no picture")
    want = [(tmp_path / f"one_{i}.j2c").read_bytes() for i in range(3)]
    cj2k("transcode", "in", "folder/")
    cj2k("transcode", "--ext", "jhc", "in/*.j2c", "glob/")
    cj2k("transcode", "in/f_%d.j2c", "g_%d.j2k")
    for name in ("folder/f_%d.j2c", "glob/f_%d.jhc", "g_%d.j2k"):
        assert [(tmp_path / (name % i)).read_bytes() for i in range(3)] == want
    assert sorted(os.listdir(tmp_path / "folder")) == ["f_0.j2c", "f_1.j2c", "f_2.j2c"]


def test_many_files_with_a_damaged_one(cj2k, tmp_path):
    (tmp_path / "a.ppm").write_bytes(pnm(40, 30, planes(40, 30, 3, 8), 8))
    for i in range(3):
        cj2k("-i", "a.ppm", "-o", f"f_{i}.j2c")
    (tmp_path / "f_1.j2c").write_bytes((tmp_path / "f_1.j2c").read_bytes()[:200])
    cj2k("transcode", "f_%d.j2c", "out/", fails=1, words=("f_1.j2c",))
    assert os.listdir(tmp_path / "out") == ["f_0.j2c"]
    cj2k("transcode", "f_%d.j2c", "one.j2c", fails=2, words=("one.j2c", "3"))
    (tmp_path / "empty").mkdir()
    cj2k("transcode", "empty", "out/", fails=1, words=("empty", ".jph"))


def packed_headers(data, kind, most=60, dropped=0):
    """The same codestream, with SOP and EPH, with its packet headers in PPM or PPT segments of at most that many bytes, the last
    `dropped` bytes left out."""
    def segments(marker, payload, first=0):
        payload = payload[:len(payload) - dropped]
        pieces = [payload[i:i + most] for i in range(0, len(payload), most)] or [b""]
        return b"".join(struct.pack(">HHB", marker, 3 + len(piece), first + i) + piece for i, piece in enumerate(pieces))

    at = data.index(b"\xff\x90\x00\x0a")
    main, parts, ppm = data[:at], [], b""
    while data[at:at + 2] == b"\xff\x90":
        part = data[at:at + int.from_bytes(data[at + 6:at + 10], "big")]
        at += len(part)
        header, body = part.split(b"\xff\x93", 1)
        packets = [b"\xff\x91\x00\x04" + packet for packet in body.split(b"\xff\x91\x00\x04")[1:]]
        heads = [packet[6:packet.index(b"\xff\x92") + 2] for packet in packets]
        body = b"".join(packet[:6] + packet[6 + len(head):] for packet, head in zip(packets, heads))
        packed = b"".join(heads)
        ppm += len(packed).to_bytes(4, "big") + packed
        if kind == "PPT":  # OpenJPEG wants other numbers in each tile-part of a tile
            header += segments(0xFF61, packed, header[10] * 20)
        psot = len(header) + 2 + len(body)
        parts.append(header[:6] + psot.to_bytes(4, "big") + header[10:] + b"\xff\x93" + body)
    if kind == "PPM":
        main += segments(0xFF60, ppm)
    return main + b"".join(parts) + data[at:]


@pytest.mark.parametrize("kind", ["PPM", "PPT"])
@pytest.mark.parametrize("options", ["", "--tile 64x50 --layers 3 --progression rpcl", "--tile_parts resolution --progression rlcp",
                                     "--coder ht", "--target_bytes 3900 --tile 32x32"])
def test_packed_packet_headers(cj2k, tmp_path, kind, options):
    (tmp_path / "a.ppm").write_bytes(pnm(150, 110, planes(150, 110, 3, 8, noise=0.2), 8))
    cj2k("-i", "a.ppm", "-o", "a.j2c", "--sop", "1", "--eph", "1", "--tlm", "0", *options.split())
    data = (tmp_path / "a.j2c").read_bytes()
    (tmp_path / "packed.j2c").write_bytes(packed_headers(data, kind))
    assert decode(tmp_path / "packed.j2c", tmp_path) == decode(tmp_path / "a.j2c", tmp_path)
    cj2k("transcode", "a.j2c", "want.j2c")
    cj2k("transcode", "packed.j2c", "out.j2c")
    assert (tmp_path / "out.j2c").read_bytes() == (tmp_path / "want.j2c").read_bytes()
    (tmp_path / "cut.j2c").write_bytes(packed_headers(data, kind, dropped=3))
    cj2k("transcode", "cut.j2c", "no.j2c", fails=1, words=("cut.j2c",))

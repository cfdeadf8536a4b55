# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""cj2k: what files say beside their samples, files that a reader would make another picture of, names, and scarce memory."""

import re
import resource
import struct
import subprocess

import pytest
from pictures import dpx, pam, planes, png, pnm, segments, tiff

W, H = 60, 43


def test_extra_samples_of_tiff(cj2k, tmp_path):
    """1: the colours are multiplied by the opacity; 2: they are not; 0: the fourth sample is no opacity."""
    samples = planes(W, H, 4, 8)
    for extra, alpha in ((1, 2), (2, 1), (0, 0)):
        (tmp_path / "a.tif").write_bytes(tiff(W, H, samples, 8, more={338: extra}))
        (tmp_path / "b.pam").write_bytes(pam(W, H, samples, 8))
        cj2k("-i", "a.tif", "-o", "a.jp2", "--lossless")
        cj2k("-i", "b.pam", "-o", "b.jp2", "--lossless", "--alpha", alpha)
        cj2k("-i", "b.pam", "-o", "c.jp2", "--lossless", "--alpha", (alpha + 1) % 3)
        assert (tmp_path / "a.jp2").read_bytes() == (tmp_path / "b.jp2").read_bytes() != (tmp_path / "c.jp2").read_bytes()


def test_orientation_is_told_once(program, cj2k, tmp_path):
    for n in range(3):
        (tmp_path / f"a{n}.tif").write_bytes(tiff(W, H, planes(W, H, 3, 8), 8, more={274: 6}))
    (tmp_path / "b.dpx").write_bytes(dpx(W, H, planes(W, H, 3, 10), 10, orientation=2))
    (tmp_path / "c.dpx").write_bytes(dpx(W, H, planes(W, H, 3, 10), 10, orientation=0xffff))
    (tmp_path / "d.tif").write_bytes(tiff(W, H, planes(W, H, 3, 8), 8, more={274: 1}))
    said = cj2k("-i", "a%d.tif", "-o", "a%d.j2k").stderr
    assert said.count("orientation 6 is not applied") == 1 and "a0.tif" in said
    assert "b.dpx: orientation 2 is not applied" in cj2k("-i", "b.dpx", "-o", "b.j2k").stderr
    for order, head in (("<", b"II*\0"), (">", b"MM\0*")):
        exif = head + struct.pack(order + "IHHHIHHI", 8, 1, 274, 3, 1, 8, 0, 0)
        (tmp_path / "e.png").write_bytes(png(W, H, planes(W, H, 3, 8), 8, [(b"eXIf", exif)]))
        assert "e.png: orientation 8 is not applied" in cj2k("-i", "e.png", "-o", "e.j2k").stderr
    (tmp_path / "f.png").write_bytes(png(W, H, planes(W, H, 3, 8), 8, [(b"eXIf", exif[:11])]))
    (tmp_path / "g.png").write_bytes(png(W, H, planes(W, H, 3, 8), 8))
    for name in "c.dpx", "d.tif", "g.png":
        assert "orientation" not in cj2k("-i", name, "-o", "c.j2k").stderr
    # The libavcodec of FFmpeg 9.0 refuses Exif that is cut.
    cut = subprocess.run([program, "-i", "f.png", "-o", "f.j2k"], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert "orientation" not in cut.stderr and (cut.returncode == 0 or "f.png: damaged" in cut.stderr), cut.stderr
    assert not cj2k("-i", "a0.tif", "-o", "a.j2k", "--quiet").stderr


@pytest.mark.parametrize("depth", [2, 4])
def test_transparent_grey_of_png(cj2k, tmp_path, depth):
    (tmp_path / "a.png").write_bytes(png(W, H, planes(W, H, 1, depth), depth, [(b"tRNS", b"\0\1")]))
    cj2k("-i", "a.png", "-o", "a.j2k", fails=1, words=("a.png", "transparent"))


def test_cut_and_too_large(cj2k, tmp_path):
    (tmp_path / "head.ppm").write_bytes(b"P6\n50")
    cj2k("-i", "head.ppm", "-o", "a.j2k", fails=1, words=("head.ppm", "ends in its header"))
    (tmp_path / "cut.pam").write_bytes(pam(W, H, planes(W, H, 4, 5), 5)[:-1])
    cj2k("-i", "cut.pam", "-o", "a.j2k", fails=1, words=("cut.pam", "ends before"))
    (tmp_path / "cut.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 12), 12)[:-1])
    cj2k("-i", "cut.ppm", "-o", "a.j2k", fails=1, words=("cut.ppm", "ends before"))
    (tmp_path / "none.pgm").write_bytes(b"P5\n0 5\n255\n" + bytes(1000))
    cj2k("-i", "none.pgm", "-o", "a.j2k", fails=1, words=("none.pgm", "without samples"))
    (tmp_path / "large.pbm").write_bytes(b"P4\n20000 20000\n" + bytes(1000))
    cj2k("-i", "large.pbm", "-o", "a.j2k", fails=1, words=("large.pbm", "20000x20000", "268435456"))


def test_standard_streams(cj2k, program, tmp_path):
    """- is the standard input, and the standard output for one picture; a file of this name is ./-."""
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))
    (tmp_path / "a.tif").write_bytes(tiff(W, H, planes(W, H, 3, 8), 8))

    def piped(*arguments):
        done = subprocess.run([program, *map(str, arguments)], cwd=tmp_path, capture_output=True, timeout=120,
                              input=(tmp_path / "a.ppm").read_bytes())
        assert done.returncode == 0, done.stderr
        return done.stdout

    for extension, arguments in (("j2k", ()), ("jp2", ("--ext", "jp2")), ("jph", ("--ext", ".jph"))):
        cj2k("-i", "a.ppm", "-o", "a." + extension)
        want = (tmp_path / ("a." + extension)).read_bytes()
        assert piped("-i", "-", "-o", "-", *arguments) == want
        assert piped("-i", "a.ppm", "-o", "-", *arguments) == want
        piped("-i", "-", "-o", "b." + extension)
        assert (tmp_path / ("b." + extension)).read_bytes() == want
    (tmp_path / "-").write_bytes(pnm(W, H, planes(W, H, 1, 8), 8))
    cj2k("-i", "./-", "-o", "c.j2k")
    assert segments((tmp_path / "c.j2k").read_bytes())[0xFF51] != segments((tmp_path / "a.j2k").read_bytes())[0xFF51]
    cj2k("-i", "a.*", "-o", "-", fails=2, words=("-o -", "is one file for"))
    cj2k("-i", "a.ppm", "-o", "-", "--stat", "-", fails=2, words=("-o -", "--stat -"))
    cj2k("-i", "a.ppm", "-o", "-", "--ext", "png", fails=2, words=("-:", ".j2k"))
    cj2k("-i", "-", "-o", "d.j2k", stdin=subprocess.DEVNULL, fails=1, words=("-:", "empty"))


@pytest.mark.posix
def test_standard_output_is_full(cj2k, tmp_path):
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))
    with open("/dev/full", "wb") as full:
        done = cj2k("-i", "a.ppm", "-o", "-", fails=1, words=("standard output", "No space left"), capture_output=False, stdout=full,
                    stderr=subprocess.PIPE)
    assert done.returncode == 1


def test_names_in_any_language(cj2k, tmp_path):
    (tmp_path / "Zoë 日本.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))
    cj2k("-i", "Zoë*.ppm", "-o", "ä/", "--stat", "ö.tsv")
    assert (tmp_path / "ä/Zoë 日本.j2k").exists()
    assert "\tä/Zoë 日本.j2k\t" in (tmp_path / "ö.tsv").read_text("utf-8")


def test_percent_signs_in_names(cj2k, tmp_path):
    (tmp_path / "50%.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))
    cj2k("-i", "50%.ppm", "-o", "50%%.j2k")
    cj2k("-i", "50%.ppm", "-o", "out/")
    assert (tmp_path / "50%.j2k").read_bytes() == (tmp_path / "out/50%.j2k").read_bytes()
    cj2k("-i", "50%.ppm", "-o", "50%.j2k", fails=2, words=("50%.j2k", "%%"))


@pytest.mark.posix
@pytest.mark.parametrize("name", ["/dev/zero", "a.pgm"])
def test_scarce_memory(cj2k, tmp_path, name):
    """The file, the picture or the encoder has no room: one line names the file. Or the last of the threads has none."""
    with open(tmp_path / "a.pgm", "wb") as file:
        file.write(b"P5\n12000 12000\n255\n")
        file.truncate(file.tell() + 12000 * 12000)
    for megabytes in 400, 500, 600:
        def limit(bytes_=megabytes << 20):
            resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))
        said = cj2k("-i", name, "-o", "a.j2k", "--threads", 1, "--readers", 1, fails=1, preexec_fn=limit).stderr
        assert re.search(f"{name}: .*out of memory|no thread that writes can be started", said), said
    assert not list(tmp_path.glob("*.j2k*"))


@pytest.mark.posix
def test_scarce_threads(cj2k, program, tmp_path):
    """Room for some threads, or for none: a message, not a crash."""
    for n in range(20):
        (tmp_path / f"{n:02}.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))

    def limit_to(megabytes):
        return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    def starts(megabytes):
        return subprocess.run([program, "--version"], capture_output=True, preexec_fn=limit_to(megabytes)).returncode == 0

    least, most = 1, 1 << 14
    while least < most:
        least, most = (least, (least + most) // 2) if starts((least + most) // 2) else ((least + most) // 2 + 1, most)
    ends = set()
    for megabytes in range(least, least + 400, 9):
        result = subprocess.run([program, "-i", "*.ppm", "-o", "o/", "--readers", "16", "--threads", "2", "--quiet"],
                                cwd=tmp_path, capture_output=True, text=True, timeout=120, preexec_fn=limit_to(megabytes))
        assert result.returncode in (0, 1), f"{megabytes} MiB: {result.returncode} {result.stderr}"
        assert result.returncode == 0 or re.fullmatch("cj2k: .+\n", result.stderr), f"{megabytes} MiB: {result.stderr}"
        ends.add(result.returncode)
    assert ends == {0, 1}
    assert len(list((tmp_path / "o").glob("*.j2k"))) == 20


@pytest.mark.posix
def test_comment_is_latin(cj2k, program, tmp_path):
    """T.800 A.9.2: Rcom 1 is text of ISO/IEC 8859-15. The shell's is UTF-8, or bytes that are taken as they are."""
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))
    for text, latin in (("Zoë, 5 €", b"Zo\xeb, 5 \xa4"), (b"Zo\xeb", b"Zo\xeb"), ("ŠšŽžŒœŸ", bytes.fromhex("a6a8b4b8bcbdbe")),
                        ("plain", b"plain")):
        subprocess.run([program, "-i", "a.ppm", "-o", "a.j2k", "--comment", text], cwd=tmp_path, check=True,
                       capture_output=True)
        assert segments((tmp_path / "a.j2k").read_bytes())[0xFF64] == b"\0\1" + latin
    cj2k("-i", "a.ppm", "-o", "b.j2k", "-C", "é" * 255)
    for text in "日本", "a¤b", "½":
        cj2k("-i", "a.ppm", "-o", "c.j2k", "--comment", text, fails=2, words=("--comment", "8859-15"))


@pytest.mark.posix
def test_stat_on_a_full_disk(cj2k, tmp_path):
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))
    cj2k("-i", "a.ppm", "-o", "a.j2k", "--stat", "/dev/full", fails=1, words=("/dev/full", "No space left"))

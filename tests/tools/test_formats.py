# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""cj2k: JPEG, BMP, Y4M and raw samples, made by ffmpeg; without loss the samples are those that ffmpeg reads."""

import os
import re
import struct
import subprocess

import pytest
from pictures import decode

from test_metadata import EXIF, XMP, boxes

# Short, because filters as palettegen read their source to its end.
SOURCE = ("-f", "lavfi", "-i", "testsrc2=size=80x60:rate=25:duration=0.12,format=gbrp,crop=61:43")


def ffmpeg(folder, *arguments):
    return subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *map(str, arguments)], cwd=folder, check=True, capture_output=True).stdout


def raw(folder, name, pixels, *arguments):
    """Samples, without a conversion: the format is the file's own."""
    return ffmpeg(folder, *arguments, "-i", name, "-f", "rawvideo", "-pix_fmt", pixels, "-")


def decoded(folder, name, pixels):
    """The samples of a codestream as planes, subsampled ones by ffmpeg: opj_decompress makes RGB of them."""
    if any(kind in pixels for kind in ("420", "422", "411")):
        return raw(folder, name, pixels)
    return b"".join(struct.pack(f"<{len(plane)}{'H' if depth > 8 else 'B'}", *plane) for depth, plane in decode(folder / name, folder))


@pytest.mark.posix
def test_libavcodec_is_loaded_for_pictures_that_need_it(cj2k, program, tmp_path):
    names = set(re.findall(rb"libavcodec\.so\.\d+", program.read_bytes()))
    if not names:
        pytest.skip("libavcodec is linked")
    ffmpeg(tmp_path, *SOURCE, "-frames:v", 1, "-pix_fmt", "rgb24", "a.png", "-frames:v", 1, "-pix_fmt", "rgb24", "a.ppm")
    for name in names:
        (tmp_path / name.decode()).touch()  # no library
    broken = os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}
    cj2k("-i", "a.ppm", "-o", "a.j2k", env=broken)
    cj2k("-i", "a.png", "-o", "b.j2k", env=broken, fails=1, words=("binary PGM and PPM, TIFF, Y4M and raw samples", "libavcodec.so.", "too short"))
    assert not (tmp_path / "b.j2k").exists()
    cj2k("-i", "a.png", "-o", "b.j2k")
    assert (tmp_path / "b.j2k").read_bytes() == (tmp_path / "a.j2k").read_bytes()


@pytest.mark.parametrize("pixels, coded", [("yuvj420p", "yuv420p"), ("yuvj422p", "yuv422p"), ("yuvj444p", "yuv444p")])
def test_jpeg(cj2k, tmp_path, pixels, coded):
    ffmpeg(tmp_path, *SOURCE, "-frames:v", 1, "-pix_fmt", pixels, "-q:v", 2, "a.jpg")
    cj2k("-i", "a.jpg", "-o", "a.j2k", "--lossless")
    assert decoded(tmp_path, "a.j2k", coded) == raw(tmp_path, "a.jpg", pixels)
    cj2k("verify", "a.jpg", "a.j2k")
    cj2k("-i", "*.jpg", "-o", "o/", "--ext", "jph", "--target_bytes", 900)
    assert 800 < (tmp_path / "o/a.jph").stat().st_size <= 900


def test_jpeg_says_more(cj2k, tmp_path):
    """Exif and XMP come into JP2 files; an orientation is told."""
    ffmpeg(tmp_path, *SOURCE, "-frames:v", 1, "-pix_fmt", "yuvj444p", "a.jpg")
    plain = (tmp_path / "a.jpg").read_bytes()
    segments = b"".join(b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body
                        for body in (b"Exif\0\0" + EXIF, b"http://ns.adobe.com/xap/1.0/\0" + XMP))
    (tmp_path / "b.jpg").write_bytes(plain[:2] + segments + plain[2:])
    assert "b.jpg: orientation 6 is not applied" in cj2k("-i", "b.jpg", "-o", "b.jp2").stderr
    assert [body[16:] for kind, body in boxes(tmp_path / "b.jp2") if kind == b"uuid"] == [EXIF, XMP]
    for cut in range(len(segments) + 2):  # the head of a damaged file is read with care
        (tmp_path / "c.jpg").write_bytes((plain[:2] + segments + plain[2:])[:cut + 2])
        if cut % 17 == 0:
            cj2k("-i", "c.jpg", "-o", "c.jp2", fails=1, words=("c.jpg",))
    (tmp_path / "c.jpg").write_bytes(plain[:len(plain) // 2])
    cj2k("-i", "c.jpg", "-o", "c.jp2", fails=1, words=("c.jpg: damaged",))


def test_jpeg_with_four_components(cj2k, tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.new("CMYK", (61, 43), (10, 20, 30, 40)).save(tmp_path / "a.jpg")
    cj2k("-i", "a.jpg", "-o", "a.j2k", fails=1, words=("a.jpg", "CMYK"))


@pytest.mark.parametrize("pixels", ["bgr24", "bgra", "gray", "pal8", "monob"])
def test_bmp(cj2k, tmp_path, pixels):
    filters = ("-vf", "split[a][b];[b]palettegen[p];[a][p]paletteuse") if pixels == "pal8" else ()
    ffmpeg(tmp_path, *SOURCE, *filters, "-frames:v", 1, "-pix_fmt", pixels, "a.bmp")
    cj2k("-i", "a.bmp", "-o", "a.j2k", "--lossless")
    cj2k("verify", "a.bmp", "a.j2k")
    shown = {"bgra": "rgba", "monob": "gray", "gray": "rgb24"}.get(pixels, "rgb24")
    want = ffmpeg(tmp_path, "-i", "a.bmp", "-f", "rawvideo", "-pix_fmt", shown, "-")
    got = ffmpeg(tmp_path, "-i", "a.j2k", "-f", "rawvideo", "-pix_fmt", shown, "-")
    assert got == want


def test_bmp_with_bit_fields(cj2k, tmp_path):
    ffmpeg(tmp_path, *SOURCE, "-frames:v", 1, "-pix_fmt", "rgb565le", "a.bmp")
    cj2k("-i", "a.bmp", "-o", "a.j2k", fails=1, words=("a.bmp", "rgb565"))


@pytest.mark.parametrize("pixels", ["yuv420p", "yuv422p", "yuv444p", "yuv411p", "gray", "yuv420p10le", "yuv422p10le", "yuv444p12le",
                                    "yuv444p16le", "gray10le", "gray16le"])
def test_y4m(cj2k, tmp_path, pixels):
    """Each frame is a codestream; --page takes one."""
    # Of odd widths ffmpeg 5.1 cuts the last chroma sample of two bytes in half.
    even = ("-vf", "crop=60:43") if "p10" in pixels else ()
    ffmpeg(tmp_path, *SOURCE, *even, "-frames:v", 3, "-pix_fmt", pixels, "-strict", -1, "a.y4m")
    cj2k("-i", "a.y4m", "-o", "a%d.j2k", "--lossless")
    names = sorted(path.name for path in tmp_path.glob("*.j2k"))
    assert names == ["a1.j2k", "a2.j2k", "a3.j2k"]
    film = (tmp_path / "a.y4m").read_bytes().split(b"\n", 1)[1]
    size = len(film) // 3
    assert [b"FRAME\n" + decoded(tmp_path, name, pixels) for name in names] == [film[i * size:(i + 1) * size] for i in range(3)]
    cj2k("-i", "a.y4m", "-o", "b.j2k", "--lossless", "--page", 2)
    assert (tmp_path / "b.j2k").read_bytes() == (tmp_path / "a2.j2k").read_bytes()
    cj2k("-i", "a.y4m", "-o", "c.j2k", "--page", 4, fails=1, words=("a.y4m", "page 4 of 3"))
    cj2k("-i", "a.y4m", "-o", "f/", "--last", 2)
    assert sorted(path.name for path in (tmp_path / "f").iterdir()) == ["a-1.j2k", "a-2.j2k"]


def test_y4m_with_opacity(cj2k, tmp_path):
    ffmpeg(tmp_path, *SOURCE, "-frames:v", 1, "-vf", "format=yuva444p,colorchannelmixer=aa=0.4", "-pix_fmt", "yuva444p", "-strict", -1,
           "a.y4m")
    cj2k("-i", "a.y4m", "-o", "a.j2k", "--lossless")
    assert decoded(tmp_path, "a.j2k", "yuva444p") == (tmp_path / "a.y4m").read_bytes().split(b"FRAME\n", 1)[1]


def test_damaged_y4m(cj2k, tmp_path):
    frame = bytes(range(6))
    for head, rest, words in ((b"YUV4MPEG2 W2 H2 C420", b"", "does not end"),
                              (b"YUV4MPEG2 W2 H2 C420\n", b"", "has 0 behind its header"),
                              (b"YUV4MPEG2 W2 H2 C420\n", b"FRAME\n" + frame[1:], "has 11"),
                              (b"YUV4MPEG2 W2 H2 C420\n", b"FRAM\n\n" + frame, "frame 1"),
                              (b"YUV4MPEG2 W2 H0\n", b"FRAME\n" + frame, "no size"),
                              (b"YUV4MPEG2 W99999 H99999 C420\n", b"FRAME\n" + frame, "has 12"),
                              (b"YUV4MPEG2 W2147483647 H2147483647 C444alpha\n", b"FRAME\n" + frame, "has 12"),
                              (b"YUV4MPEG2 W2 H2 C420p17\n", b"FRAME\n" + frame, "C420p17"),
                              (b"YUV4MPEG2 W2 H2 C440\n", b"FRAME\n" + frame, "C440")):
        (tmp_path / "a.y4m").write_bytes(head + rest)
        cj2k("-i", "a.y4m", "-o", "a.j2k", fails=1, words=("a.y4m", words))
    (tmp_path / "a.y4m").write_bytes(b"YUV4MPEG2 W2 H2\nFRAME\n" + frame)
    cj2k("-i", "a.y4m", "-o", "a.j2k")
    with open(tmp_path / "a.y4m", "rb") as file:
        cj2k("-i", "-", "-o", "b.j2k", stdin=file, fails=1, words=("-:", "not a pipe"))


@pytest.mark.parametrize("pixels, layout", [("yuv420p", "61,43,3,8,u@1x1:2x2:2x2"), ("yuv422p10be", "61,43,3,10,u@1x1:2x1"), ("gray", "61,43,1,8,u"),
                                            ("yuv444p12be", "61,43,3,12,u")])
def test_raw(cj2k, tmp_path, pixels, layout):
    """Planes one behind the other; a file of several frames is a film. Little-endian by the name."""
    ffmpeg(tmp_path, *SOURCE, "-frames:v", 3, "-f", "rawvideo", "-pix_fmt", pixels, "a.raw")
    ffmpeg(tmp_path, *SOURCE, "-frames:v", 3, "-f", "rawvideo", "-pix_fmt", pixels.replace("be", "le"), "b.rawl")
    cj2k("-i", "a.raw", "-F", layout, "-o", "a%d.j2k", "--lossless")
    cj2k("-i", "b.rawl", "-raw", layout, "-o", "b%d.j2k", "--lossless")
    little = (tmp_path / "b.rawl").read_bytes()
    size = len(little) // 3
    for i in range(3):
        assert (tmp_path / f"a{i + 1}.j2k").read_bytes() == (tmp_path / f"b{i + 1}.j2k").read_bytes()
        assert decoded(tmp_path, f"a{i + 1}.j2k", pixels.replace("be", "le")) == little[i * size:(i + 1) * size]


def test_raw_of_opj_compress(cj2k, tmp_path):
    """The same layout, signed samples too: OpenJPEG's reading of our codestream is that of its own."""
    (tmp_path / "a.raw").write_bytes(bytes((7 * i * i + i // 61) % 256 for i in range(61 * 43 * 3)))
    for layout in "61,43,3,8,u", "61,43,3,8,s":
        cj2k("-i", "a.raw", "-F", layout, "-o", "a.j2k", "--lossless")
        subprocess.run(["opj_compress", "-i", "a.raw", "-F", layout, "-o", "b.j2k"], cwd=tmp_path, check=True, capture_output=True)
        samples = []
        for name in "a", "b":
            subprocess.run(["opj_decompress", "-i", name + ".j2k", "-o", name + ".raw2.raw"], cwd=tmp_path, check=True, capture_output=True)
            samples.append((tmp_path / (name + ".raw2.raw")).read_bytes())
        assert samples[0] == samples[1] == (tmp_path / "a.raw").read_bytes()


def test_damaged_raw(cj2k, tmp_path):
    (tmp_path / "a.raw").write_bytes(bytes(13))
    cj2k("-i", "a.raw", "-F", "2,2,3,8,u", "-o", "a.j2k", fails=1, words=("a.raw", "12 bytes each", "has 13"))
    (tmp_path / "b.raw").write_bytes(b"")
    cj2k("-i", "b.raw", "-F", "2,2,3,8,u", "-o", "a.j2k", fails=1, words=("b.raw", "not empty"))
    cj2k("-i", "a.raw", "-F", "13,1,1,8,u", "-o", "a.j2k")
    # The planes of the second have 2^63 bytes: their sum is beyond a size_t.
    for layout in "99999999,99999999,4,16,u", "2147483647,2147483647,4,16,u", "1073741824,1073741824,4,16,u", "14,1,1,8,u", "13,2,1,8,u":
        cj2k("-i", "a.raw", "-F", layout, "-o", "b.j2k", fails=1, words=("a.raw", "more than 13 bytes each", "has 13"))
    with open(tmp_path / "a.raw", "rb") as file:
        cj2k("-i", "-", "-F", "13,1,1,8,u", "-o", "b.j2k", stdin=file, fails=1, words=("-:", "no pipe"))

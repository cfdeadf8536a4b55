# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What arrays may be: types, strides, planes; and what is refused."""

import array

import cj2k
import numpy as np
import pytest
from conftest import picture

TYPES = (np.uint8, np.uint16, np.int8, np.int16)


def split(a):
    """The components of an array HxWxC."""
    return [a] if a.ndim == 2 else [np.ascontiguousarray(a[:, :, c]) for c in range(a.shape[2])]


@pytest.mark.parametrize("components", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
def test_lossless(decode, dtype, components):
    a = picture(37, 53, components, dtype)
    planes = split(a)
    for got, want in zip(decode(cj2k.encode(a, lossless=True), planes), planes):
        assert np.array_equal(got, want)


@pytest.mark.parametrize("coder", ["ebcot", "ht"])
@pytest.mark.parametrize("dtype, depth", [(np.uint8, 1), (np.uint8, 5), (np.uint16, 9), (np.uint16, 12), (np.int16, 10)])
def test_depths(decode, dtype, depth, coder):
    a = picture(40, 61, 3, dtype, depth)
    codestream = cj2k.encode(a, depth=depth, lossless=True, coder=coder)
    for got, want in zip(decode(codestream, split(a)), split(a)):
        assert np.array_equal(got, want)


@pytest.mark.parametrize("subsampling, shape", [("4:2:0", (20, 27)), ("422", (39, 27)), ("4:4:4", (39, 53)),
                                                ([(1, 1), (4, 2), (4, 2)], (20, 14))])
def test_planes(decode, subsampling, shape):
    planes = [picture(39, 53, seed=1), picture(*shape, seed=2), picture(*shape, seed=3)]
    codestream = cj2k.encode(planes, subsampling=subsampling, colour="yuv", lossless=True)
    for got, want in zip(decode(codestream, planes), planes):
        assert np.array_equal(got, want)
    # The sizes of the planes say the same.
    assert codestream == cj2k.encode(tuple(planes), colour="yuv", lossless=True)


def test_planes_equal_an_interleaved_array():
    a = picture(33, 47, 3, np.uint16, 12)
    assert cj2k.encode(a, depth=12) == cj2k.encode(split(a), depth=12)


def layouts(a):
    """The same samples in other memory, with what the library takes without a copy."""
    rows, columns, components = a.shape
    wide = np.zeros((rows, columns + 5, components + 1), a.dtype)
    wide[:, 2:columns + 2, :components] = a
    yield "padded rows and pixels", wide[:, 2:columns + 2, :components]
    yield "bottom-up", np.ascontiguousarray(a[::-1])[::-1]
    yield "every other row", np.repeat(a, 2, axis=0)[::2]
    yield "components backwards", np.ascontiguousarray(a[:, :, ::-1])[:, :, ::-1]
    yield "planar", np.ascontiguousarray(a.transpose(2, 0, 1)).transpose(1, 2, 0)
    # From here on it is a copy.
    yield "right to left", np.ascontiguousarray(a[:, ::-1])[:, ::-1]
    yield "columns first", np.asfortranarray(a)
    far = np.zeros((rows, columns * 40, components), a.dtype)
    far[:, ::40] = a
    yield "far columns", far[:, ::40]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
def test_strides(dtype):
    a = picture(31, 45, 3, dtype)
    want = cj2k.encode(a)
    for name, same in layouts(a):
        assert np.array_equal(same, a), name
        assert cj2k.encode(same) == want, name
    read_only = a.copy()
    read_only.setflags(write=False)
    assert cj2k.encode(read_only) == want


def test_overlapping_rows_are_copied():
    row = picture(1, 64)
    assert cj2k.encode(np.broadcast_to(row, (32, 64))) == cj2k.encode(np.repeat(row, 32, axis=0))


@pytest.mark.parametrize("shape", [(1, 1), (1, 77), (77, 1), (1, 1, 3), (1, 9, 4), (9, 1, 2)])
def test_small(decode, shape):
    a = picture(*shape) if len(shape) == 2 else picture(*shape)
    for same in (a, a[::-1, ::-1].copy()[::-1, ::-1]):
        for got, want in zip(decode(cj2k.encode(same, lossless=True), split(a)), split(a)):
            assert np.array_equal(got, want)


def test_other_buffers():
    a = picture(16, 24)
    want = cj2k.encode(a)
    assert cj2k.encode(memoryview(a.tobytes()).cast("B", (16, 24))) == want
    words = array.array("H", a.astype(np.uint16).ravel().tolist())
    assert cj2k.encode(memoryview(words).cast("B").cast("H", (16, 24)), depth=8) == want


def test_bool(decode):
    a = picture(19, 27, 1, np.uint8, 1)
    codestream = cj2k.encode(a.astype(bool), lossless=True)
    assert np.array_equal(decode(codestream, [a])[0], a)
    assert codestream == cj2k.encode(a, depth=1, lossless=True)
    with cj2k.Encoder(27, 19, num_components=1, lossless=True) as encoder:  # 8 bits
        assert [bytes(packet) for packet in encoder.encode([a.astype(bool)])] == [cj2k.encode(a, lossless=True)]
    assert codestream == cj2k.encode((a * 255).view(bool), lossless=True)  # as Pillow gives them


@pytest.mark.parametrize("kind", ["u2", "i2"])
def test_big_endian(kind):
    a = picture(31, 45, 3, "<" + kind, 12)
    want = cj2k.encode(a, depth=12)
    for _, same in layouts(a.astype(">" + kind)):
        assert cj2k.encode(same, depth=12) == want
    assert cj2k.encode(split(a.astype(">" + kind)), depth=12) == want


@pytest.mark.parametrize("mode", ["1", "L", "LA", "RGB", "RGBA"])
def test_pillow(mode):
    image = pytest.importorskip("PIL.Image").fromarray(picture(23, 37, 4)).convert(mode)
    assert cj2k.encode(image, lossless=True) == cj2k.encode(np.asarray(image), lossless=True)


@pytest.mark.parametrize("byte_order", ["little", "big"])
def test_pillow_of_16_bits(byte_order):
    pillow = pytest.importorskip("PIL.Image")
    a = picture(23, 37, 1, np.uint16)
    mode, kind = ("I;16", "<u2") if byte_order == "little" else ("I;16B", ">u2")
    image = pillow.frombytes(mode, (37, 23), a.astype(kind).tobytes())
    assert cj2k.encode(image, lossless=True) == cj2k.encode(a, lossless=True)


def test_pillow_with_a_palette():
    pillow = pytest.importorskip("PIL.Image")
    image = pillow.fromarray(picture(23, 37, 3)).quantize(16)
    assert image.mode == "P"
    assert cj2k.encode(image, lossless=True) == cj2k.encode(np.asarray(image.convert("RGB")), lossless=True)
    image.info["transparency"] = 3
    assert cj2k.encode(image, lossless=True) == cj2k.encode(np.asarray(image.convert("RGBA")), lossless=True)
    for mode in "CMYK", "YCbCr", "HSV", "F":
        with pytest.raises(TypeError, match=f"Pillow image of mode {mode}, not in"):
            cj2k.encode(pillow.fromarray(picture(23, 37, 3)).convert("L" if mode == "F" else "RGB").convert(mode))


@pytest.mark.parametrize("bad, error, text", [
    (np.zeros((4, 4), np.float32), TypeError, "array of float32, not in {uint8, uint16, int8, int16, bool}"),
    (np.zeros((4, 4), np.uint32), TypeError, "array of uint32, not in"),
    (np.zeros((4, 4), ">u4"), TypeError, "array of uint32, not in"),
    (np.zeros((4, 4), complex), TypeError, "array of format Zd"),
    ("text", TypeError, "str is no array"),
    (None, TypeError, "NoneType is no array"),
    (b"bytes", ValueError, r"shape \(5\) is not HxW or HxWxC"),
    (np.zeros((2, 4, 4, 3), np.uint8), ValueError, r"shape \(2x4x4x3\) is not HxW or HxWxC"),
    (np.zeros((3, 40, 50), np.uint8), ValueError, r"has 50 components, not in \[1, 4\]; planes are given as a list"),
    (np.zeros((0, 4), np.uint8), ValueError, r"shape \(0x4\) is empty"),
    ([], ValueError, r"0 planes, not in \[1, 4\]"),
    ([np.zeros((4, 4), np.uint8)] * 5, ValueError, r"5 planes, not in \[1, 4\]"),
    ([np.zeros((4, 4, 3), np.uint8)], ValueError, r"shape \(4x4x3\) is not HxW"),
    ([np.zeros((9, 9), np.uint8), np.zeros((4, 9), np.uint8)], ValueError, "plane 1 is 9x4, and not 9x9 over 1, 2 or 4"),
])
def test_refused(bad, error, text):
    with pytest.raises(error, match=text):
        cj2k.encode(bad)


@pytest.mark.parametrize("keywords, text", [
    (dict(subsampling="4:2:1"), "subsampling '4:2:1' not in {444, 422, 420, 440, 411, 410}"),
    (dict(subsampling=[(1, 1)]), "subsampling has 1 entries for 3 components"),
    (dict(subsampling="420", dx=[1, 2, 2]), "subsampling= excludes dx= and dy="),
    (dict(subsampling="420"), "component 1 has 8 rows of 8 samples, the encoder 4 of 4"),
    (dict(colour="red"), "colour 'red' not in {rgb, yuv, gray, grey, xyz}"),
    (dict(colour="rgb", colorspace="srgb"), "colour= excludes colorspace="),
    (dict(depth=12), "component 0 is uint8, which does not hold the encoder's 12 bits"),
    (dict(is_signed=1), "component 0 is uint8, the encoder's is_signed is 1"),
    (dict(num_components=2), "frame has 3 components, the encoder 2"),
])
def test_contradictions(keywords, text):
    with pytest.raises(ValueError) as error:
        cj2k.encode(picture(8, 8, 3), **keywords)
    assert text in str(error.value)


@pytest.mark.parametrize("dtype, value, bits, text", [
    (np.uint16, 4096, 12, "component 1 is 4096 at column 5, row 3, not in [0, 4095], the range of 12 bits"),
    (np.uint8, 128, 7, "is 128 at column 5, row 3, not in [0, 127]"),
    (np.int16, -513, 10, "is -513 at column 5, row 3, not in [-512, 511]"),
    (np.int16, 512, 10, "is 512 at column 5, row 3, not in [-512, 511]"),
    (np.int8, 64, 7, "is 64 at column 5, row 3, not in [-64, 63]"),
])
def test_samples_out_of_range(dtype, value, bits, text):
    a = picture(8, 9, 3, dtype, bits)
    a[3, 5, 1] = value
    for same in (a, split(a)):  # packed, planar
        with pytest.raises(ValueError) as error:
            cj2k.encode(same, depth=bits)
        assert text in str(error.value)
    a[3, 5, 1] = max(-(1 << (bits - 1)), min(value, (1 << bits) - 1 if np.dtype(dtype).kind == "u" else (1 << bits) // 2 - 1))
    cj2k.encode(a, depth=bits)


def test_left_aligned_samples(decode):
    a = picture(20, 30, 1, np.uint16, 12)
    codestream = cj2k.encode(a << 4, depth=12, source_depth=16, lossless=True)
    assert np.array_equal(decode(codestream, [a])[0], a)
    with pytest.raises(cj2k.Error, match="lose the lowest 4 of its 16 bits"):
        cj2k.encode((a << 4) + 1, depth=12, source_depth=16, lossless=True)

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""cj2k verify: what is equal, what differs and by how much, through libavcodec; what it refuses."""

import math
import re

import pytest
from pictures import planes, pnm

W, H = 61, 43


def picture(depth, components=3, seed=1):
    return planes(W, H, components, depth) if seed == 1 else [[(v + seed) % (1 << depth) for v in p] for p in planes(W, H, components, depth)]


@pytest.mark.parametrize("depth, components", [(8, 1), (8, 3), (10, 3), (12, 3), (16, 1), (16, 3)])
@pytest.mark.parametrize("options", [(), ("--coder", "ht")])
@pytest.mark.parametrize("name", ["a.jp2", "a.j2k"])
def test_lossless_is_equal(cj2k, tmp_path, depth, components, options, name):
    (tmp_path / "a.pnm").write_bytes(pnm(W, H, picture(depth, components), depth))
    cj2k("-i", "a.pnm", "-o", name, "--lossless", *options)
    assert cj2k("verify", "a.pnm", name).stdout == f"a.pnm and {name}: equal\n"
    assert cj2k("verify", name, "a.pnm").stdout == f"{name} and a.pnm: equal\n"


def test_one_sample(cj2k, tmp_path):
    """One sample of another value is found, counted and measured."""
    samples = picture(12)
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, samples, 12))
    cj2k("-i", "a.ppm", "-o", "a.j2k", "--lossless")
    samples[2][W * 20 + 7] ^= 16
    (tmp_path / "b.ppm").write_bytes(pnm(W, H, samples, 12))
    psnr = 10 * math.log10(4095**2 * 3 * W * H / 16**2)
    text = cj2k("verify", "b.ppm", "a.j2k", fails=1).stdout
    assert text == f"b.ppm and a.j2k: 1 of {3 * W * H} samples differ, by 16 at most; PSNR {psnr:.2f} dB\n"
    cj2k("verify", f"--psnr={psnr - 0.01:.3f}", "b.ppm", "a.j2k")
    cj2k("verify", "--psnr", f"{psnr + 0.01:.3f}", "b.ppm", "a.j2k", fails=1)


def test_psnr_is_that_of_the_encoder(cj2k, tmp_path):
    """Of a picture with a loss, within what two decoders differ by."""
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, picture(8), 8))
    told = cj2k("-i", "a.ppm", "-o", "a.j2k", "--quality", "4", "--psnr").stderr
    text = cj2k("verify", "a.ppm", "a.j2k", fails=1).stdout
    measured = float(re.search(r"PSNR ([\d.]+) dB", text)[1])
    assert abs(float(re.search(r"([\d.]+) dB", told)[1]) - measured) < 0.05, (told, text)


def test_sequences(cj2k, tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.ppm").write_bytes(pnm(W, H, picture(8, seed=1 + i), 8))
    cj2k("-i", "%d.ppm", "-o", "out_%d.j2c", "--lossless")
    cj2k("-i", "[0-2].ppm", "-o", "out/", "--ext", "jp2", "--lossless")
    assert cj2k("verify", "%d.ppm", "out_%d.j2c").stdout.count(": equal\n") == 3
    assert cj2k("verify", "[0-2].ppm", "out/", "--ext", "jp2").stdout.count(": equal\n") == 3
    (tmp_path / "out_1.j2c").write_bytes((tmp_path / "out_2.j2c").read_bytes())
    text = cj2k("verify", "%d.ppm", "out_%d.j2c", fails=1, words=("verify: 1 of 3 differ",)).stdout
    assert text.count(": equal\n") == 2, text


def test_refused(cj2k, tmp_path):
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, picture(8), 8))
    (tmp_path / "deep.ppm").write_bytes(pnm(W, H, picture(12), 12))
    (tmp_path / "grey.pgm").write_bytes(pnm(W, H, picture(8, 1), 8))
    cj2k("-i", "a.ppm", "-o", "a.j2k", "--lossless")
    cj2k("verify", "deep.ppm", "a.j2k", fails=1, words=("bits 12 and 8",))
    cj2k("verify", "grey.pgm", "a.j2k", fails=1, words=("components 1 and 3",))
    cj2k("verify", "a.ppm", "none.j2k", fails=1, words=("none.j2k",))
    cj2k("verify", "a.ppm", fails=2, words=("IN and OUT, not 1",))
    cj2k("verify", "--psnr", "0", "a.ppm", "a.j2k", fails=2, words=("--psnr 0",))
    cj2k("verify", "--pnsr", "9", "a.ppm", "a.j2k", fails=2, words=("--pnsr",))
    whole = (tmp_path / "a.j2k").read_bytes()
    (tmp_path / "a.j2k").write_bytes(whole[:60])
    cj2k("verify", "a.ppm", "a.j2k", fails=1, words=("a.j2k",))
    (tmp_path / "a.j2k").write_bytes(whole[: len(whole) // 2])
    cj2k("verify", "a.ppm", "a.j2k", fails=1)

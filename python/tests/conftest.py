# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests share: pictures, and a decoder that knows nothing of the library (opj_decompress)."""

import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest


@pytest.fixture
def decode(tmp_path):
    """decode(codestream, planes): the samples of each component, in the types of `planes`."""
    program = shutil.which("opj_decompress")
    if program is None:
        pytest.skip("no opj_decompress (scripts/install_deps.sh python)")

    def read_pgx(path, dtype):
        head, data = path.read_bytes().split(b"\n", 1)
        words = re.fullmatch(rb"PG ML ([+-]) ?(\d+) (\d+) (\d+)", head)
        assert words, head
        assert (words[1] == b"-") == (dtype.kind == "i")
        depth, columns, rows = (int(words[i]) for i in (2, 3, 4))
        samples = np.frombuffer(data, ">u1" if depth <= 8 else ">u2").reshape(rows, columns).astype(dtype)
        spare = 8 * dtype.itemsize - depth  # the words have no sign bits above the depth
        return samples << spare >> spare

    def run(codestream, planes):
        source = tmp_path / "picture.j2k"
        source.write_bytes(codestream)
        alike = all(plane.shape == planes[0].shape for plane in planes)
        # Subsampled components one by one: together opj_decompress would make RGB of them.
        for number in [None] if alike else range(len(planes)):
            only = [] if alike else ["-c", str(number)]
            target = tmp_path / f"component{'' if alike else number}.pgx"
            done = subprocess.run([program, "-i", source, *only, "-o", target], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stdout + done.stderr
        names = [f"component_{c}.pgx" if alike else f"component{c}_0.pgx" for c in range(len(planes))]
        return [read_pgx(tmp_path / name, plane.dtype) for name, plane in zip(names, planes)]

    return run


@pytest.fixture
def media():
    """The folder of test pictures."""
    folder = os.environ.get("CJ2K_TEST_MEDIA", "")
    if not folder:
        pytest.skip("CJ2K_TEST_MEDIA is not set")
    return pathlib.Path(folder)


def picture(rows, columns, components=1, dtype=np.uint8, depth=None, seed=1):
    """Waves with noise, over the whole range: HxW, or HxWxC."""
    dtype = np.dtype(dtype)
    depth = depth or 8 * dtype.itemsize
    low = -(1 << (depth - 1)) if dtype.kind == "i" else 0
    y, x, c = np.ogrid[0:rows, 0:columns, 0:components]
    waves = 0.5 + 0.45 * np.sin(x / 9.0 + c) * np.cos(y / 13.0 - c)
    noise = np.random.default_rng(seed).normal(0, 0.02, (rows, columns, components))
    samples = np.clip(waves + noise, 0, 1) * ((1 << depth) - 1) + low
    return np.rint(samples).astype(dtype)[:, :, 0] if components == 1 else np.rint(samples).astype(dtype)

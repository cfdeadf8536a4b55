#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The installed package cj2k, without NumPy: pictures without loss, which opj_decompress reads, and a cap. The last line has a hash of the
codestreams, which is the same on every machine."""

import hashlib
import pathlib
import subprocess
import tempfile

import cj2k

ROWS, COLUMNS = 131, 203


def samples_read(codestream, name):
    """What opj_decompress makes of it: the samples behind the header of a PGM or PPM."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "a.j2k"), pathlib.Path(folder, name)
        source.write_bytes(codestream)
        subprocess.run(["opj_decompress", "-i", source, "-o", target], check=True, capture_output=True)
        return target.read_bytes()


def main():
    assert "site-packages" in cj2k.__file__, cj2k.__file__
    digest = hashlib.sha256()
    for components, name in (1, "a.pgm"), (3, "a.ppm"):
        for kind, item_bytes in ("B", 1), ("H", 2):
            count = ROWS * COLUMNS * components
            words = [(i * i // 7 + i // COLUMNS) % 256 ** item_bytes for i in range(count)]
            stored = memoryview(bytearray(count * item_bytes)).cast(kind)
            for i, word in enumerate(words):
                stored[i] = word
            shape = (ROWS, COLUMNS, components) if components > 1 else (ROWS, COLUMNS)
            array = memoryview(stored.cast("B")).cast(kind, shape)
            want = b"".join(word.to_bytes(item_bytes, "big") for word in words)
            lossless, capped = cj2k.encode(array, lossless=True), cj2k.encode(array, target_bytes=5000)
            assert samples_read(lossless, name).endswith(want), (components, kind)
            assert len(capped) <= 5000
            digest.update(lossless + capped)
    with cj2k.Encoder(COLUMNS, ROWS, num_components=1, coder="ht", threads=4, depth=16) as encoder:
        grey = memoryview(bytes(2 * ROWS * COLUMNS)).cast("H", (ROWS, COLUMNS))
        assert len(list(encoder.encode([grey] * 5))) == 5
    print("cj2k", cj2k.__version__, "installed, encodes", digest.hexdigest())


main()

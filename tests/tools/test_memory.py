# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Peak memory of cj2k, so that it does not grow unseen. Each bound is between what was measured and what it was before."""
import os
import subprocess

import pytest


def peak_megabytes(program, folder, *arguments):
    process = subprocess.Popen([program, "--quiet", *map(str, arguments)], cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return used.ru_maxrss / 1000


@pytest.mark.parametrize("name, size, output, options, bound", [
    ("a.ppm", (4096, 2160), "a.jhc", ("--lossless",), 105),
    ("a.ppm", (4096, 2160), "a.jhc", ("--lossless", "--tile", "1024x1024"), 90),
    ("a.ppm", (4096, 2160), "a.jhc", ("--target_bytes", 500000), 125),
    ("a.ppm", (4096, 2160), "a.jhc", ("--target_bytes", 500000, "--frame_steps", 0), 115),
    ("a.ppm", (4096, 2160), "a.j2k", ("--target_bytes", 500000), 115),
    ("a.pgm", (9000, 8000), "a.jhc", ("--lossless", "--tile", "1024x1024"), 105)])
def test_peak(program, tmp_path, name, size, output, options, bound):
    """Pictures of tiles need the coefficients of the tiles at work, the last one also the samples of these alone; with one
    quantisation, coefficients of 16 bits."""
    width, height = size
    ramp = bytes(range(256)) * (3 * width // 256 + 2)
    step = 3 if name == "a.ppm" else 1
    with open(tmp_path / name, "wb") as file:
        file.write(b"P%d\n%d %d\n255\n" % (6 if step == 3 else 5, width, height))
        for y in range(height):
            file.write(ramp[y * y // 512 % 256:][:step * width])
    assert peak_megabytes(program, tmp_path, "-i", name, "-o", output, "--threads", 1, *options) < bound

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The types of parameters: those of the table; what mypy says of wrong ones."""

import pathlib
import shutil
import subprocess
import sys

import cj2k
import pytest

ROOT = pathlib.Path(__file__).parents[2]

PROGRAM = """
import cj2k
import fractions

picture = memoryview(bytes(64)).cast("B", (8, 8))
cj2k.encode(picture, qualty=2)  # says: "qualty"
cj2k.encode(picture, quality="high")  # says: "quality"
cj2k.encode(picture, wavelet="5/4")  # says: "wavelet"
cj2k.Encoder(8, 8, subsampling="420", levls=3)  # says: "levls"
cj2k.Film(8, 8, subsampling="420", levls=3)  # says: "levls"
cj2k.encode(picture, quality=2, levels="auto", cblk=(32, 16), cblk_style=["bypass"], lossless=True, colour="gray",
            precincts=[(256, 256), (128, 128)], layer_rates=[20, 10.5], roi=(0, 0, 8, 8), sop=None, icc_profile=None)
with cj2k.Encoder(8, 8, num_components=1, frame_rate=fractions.Fraction(24), depth=8, format="jp2") as encoder:
    print(encoder.params["levels"], [packet.psnr for packet in encoder.encode([picture])])
cj2k.Film(8, 8, max_frame_bytes=100, cblk=32, subsampling=[(1, 1)] * 3)
values: cj2k.ParamValues = {"quality": 2, "layers": 3}
cj2k.encode(picture, **values)
"""


def test_types_are_those_of_the_table():
    script = ROOT / "scripts/make_python_types.py"
    package = pathlib.Path(cj2k.__file__).parents[1]
    made = subprocess.run([sys.executable, "-B", script], env={"PYTHONPATH": str(package)}, capture_output=True, text=True)
    assert made.stdout == (ROOT / "python/cj2k/_values.py").read_text(encoding="utf-8"), made.stderr


def test_mypy(tmp_path):
    mypy = shutil.which("mypy")
    if mypy is None:
        pytest.skip("no mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    package = pathlib.Path(cj2k.__file__).parents[1]
    done = subprocess.run([mypy, "--strict", "--cache-dir", tmp_path / "cache", program, package / "cj2k"], cwd=package,
                          capture_output=True, text=True)
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    wanted = [(i, line.split("# says: ")[1]) for i, line in enumerate(PROGRAM.split("\n"), 1) if "# says: " in line]
    assert len(found) == len(wanted), done.stdout + done.stderr
    for line, (number, name) in zip(found, wanted):
        assert f"program.py:{number}: error: " in line and name in line

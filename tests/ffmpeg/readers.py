# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Programs by others that read MXF: what each makes of a file. A test skips, saying so, where one is missing."""

import functools
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

from tools import run

ROOT = pathlib.Path(__file__).resolve().parents[2]
READERS = pathlib.Path(os.environ.get("CJ2K_READERS", ROOT.parent / "shared/readers"))


def find(name):
    path = READERS / name
    if not path.exists():
        pytest.skip(f"there is no {path} (CJ2K_READERS)")
    return path


@functools.cache
def system_ffmpeg():
    """The distribution's ffmpeg, which has none of our patches."""
    path = shutil.which("ffmpeg", path="/usr/bin")
    if not path:
        pytest.skip("the distribution's ffmpeg is not installed")
    return path


def photon(path, deliver=False):
    """The errors that Netflix Photon has for a track file or a package; with `deliver`, for a track inside a delivery."""
    command = [str(find("photon/photon.sh")), *(["-p"] if deliver else []), str(path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    log = result.stdout + result.stderr
    if missing := re.search(r"^photon.sh: (\S+ is missing|no java)$", log, re.MULTILINE):
        pytest.skip(f"Photon cannot run: {missing[1]}")
    errors = re.findall(r"ERROR-(.*?)(?: \[Photon|$)", log, re.MULTILINE)
    assert (result.returncode == 0) == (not errors), log[-3000:]
    return errors


def _unwrapped(tool, path, suffix, *options):
    with tempfile.TemporaryDirectory(prefix="cj2k-unwrap-") as folder:
        result = run(find(f"bin/{tool}"), *options, path, pathlib.Path(folder) / "f_", ok=None)
        files = [file.read_bytes() for file in sorted(pathlib.Path(folder).glob(f"*{suffix}"))]
    return files if result.returncode == 0 else result.text.strip()


def as_02(path):
    """The frames that asdcplib takes out of an IMF file, or its message."""
    return _unwrapped("as-02-unwrap", path, ".j2c")


def as_dcp(path):
    """The frames that asdcplib takes out of a cinema file, or its message."""
    return _unwrapped("asdcp-unwrap", path, ".j2c")


def _unwrapped_sound(tool, path):
    """The samples of the WAV file that asdcplib writes, or its message."""
    with tempfile.TemporaryDirectory(prefix="cj2k-unwrap-") as folder:
        result = run(find(f"bin/{tool}"), path, pathlib.Path(folder) / "out.wav", ok=None)
        if result.returncode:
            return result.text.strip()
        data = (pathlib.Path(folder) / "out.wav").read_bytes()
    assert data[:4] == b"RIFF" and data[38:42] == b"data", data[:64]
    return data[data.index(b"data") + 8:]


def as_02_sound(path):
    return _unwrapped_sound("as-02-unwrap", path)


def as_dcp_sound(path):
    return _unwrapped_sound("asdcp-unwrap", path)


def bmx(path, kind="v0"):
    """The essence that bmx takes out, and what it says of the file."""
    with tempfile.TemporaryDirectory(prefix="cj2k-bmx-") as folder:
        result = run(find("bin/mxf2raw"), "--info", "--ess-out", pathlib.Path(folder) / "out", path)
        return (pathlib.Path(folder) / f"out_{kind}.raw").read_bytes(), result.stdout.decode()


def copied(program, path, kind="v"):
    """The packets of pictures (kind v) or sound (a) that an ffmpeg copies."""
    with tempfile.TemporaryDirectory(prefix="cj2k-copy-") as folder:
        run(program, "-v", "error", "-nostdin", "-i", path, "-map", f"0:{kind}", "-c", "copy", "-f", "image2", f"{folder}/%06d")
        return [file.read_bytes() for file in sorted(pathlib.Path(folder).iterdir())]


def mediainfo(path, kind):
    """What mediainfo says of the first track of a kind."""
    if not shutil.which("mediainfo"):
        pytest.skip("mediainfo is not installed")
    report = json.loads(run("mediainfo", "--Output=JSON", path).stdout)
    return next(track for track in report["media"]["track"] if track["@type"] == kind)


def needs(judge):
    """The command of a judge of whole packages: ClairMeta (PyPI) or libdcp's dcpverify. Skips where it is not installed."""
    if judge == "dcpverify":
        return [os.environ.get("CJ2K_DCPVERIFY") or shutil.which("dcpverify") or find("bin/dcpverify"), "--quiet"]
    python = os.environ.get("CJ2K_CLAIRMETA") or importlib.util.find_spec("clairmeta") and sys.executable
    if not python:
        pytest.skip("ClairMeta is not installed (pip install clairmeta; CJ2K_CLAIRMETA names its Python): its verdict is missing")
    return [python, "-m", "clairmeta.cli", "check", "-type", "dcp"]


def clairmeta(folder):
    """What ClairMeta says of a package of digital cinema."""
    path = f"{find('bin/asdcp-info').parent}:{os.environ['PATH']}"  # it calls asdcplib's programs
    result = subprocess.run([*needs("clairmeta"), str(folder)], capture_output=True, text=True, timeout=300, check=False,
                            env=os.environ | {"PATH": path})
    return result.stdout + result.stderr


def dcpverify(folder):
    """What libdcp's verifier notes of a package: errors, also against Bv2.1, and warnings."""
    result = run(*needs("dcpverify"), folder, ok=None)
    notes = re.findall(r"^(?:Error|Bv2.1 error|Warning): .*", result.stdout.decode(), re.MULTILINE)
    assert (result.returncode == 0) == (not any(note.startswith("Error") for note in notes)), result.stdout.decode() + result.text
    return notes

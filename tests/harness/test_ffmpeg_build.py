# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""ffmpeg-patch/build.sh up to the point where it unpacks FFmpeg: here its source is no tarball, and the run ends."""

import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("gcc", "g++", "make", "nasm", "pkg-config", "patch", "xz", "apt-get", "flock")
LIBRARIES = ("libopenjp2", "zlib", "libhwy", "zimg", "dav1d", "libxml-2.0", "freetype2", "harfbuzz", "fontconfig")


def test_no_clang(tmp_path):
    """Clang is for FFmpeg's CUDA filters alone. Where there is none, the shell has nothing to say."""
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    missing += [name for name in LIBRARIES if shutil.which("pkg-config") and subprocess.run(["pkg-config", "--exists", name]).returncode]
    if missing:
        pytest.skip(f"not installed, and build.sh would install it: {', '.join(missing)}")
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in os.environ["PATH"].split(":"):
        for program in pathlib.Path(folder).glob("*"):
            if not program.name.startswith("clang") and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    source = tmp_path / "cache/ffmpeg/source/ffmpeg_7.1.0.orig.tar.xz"
    source.parent.mkdir(parents=True)
    source.write_bytes(b"no tarball")
    pathlib.Path(f"{source}.sha256").write_text(f"{hashlib.sha256(b'no tarball').hexdigest()}  {source}\n")
    for name in ("lib/libcj2k.a", "lib/cj2k.pc", "include/cj2k.h", "include/cj2k_film.h", "include/cj2k_transcode.h", "include/cj2k_params.def"):
        (tmp_path / "prefix" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "prefix" / name).write_text("")
    done = subprocess.run([ROOT / "ffmpeg-patch/build.sh", "7.1"], text=True, capture_output=True, timeout=120, env=os.environ | {
        "PATH": str(programs), "CJ2K_CACHE": str(tmp_path / "cache"), "CJ2K_PREFIX": str(tmp_path / "prefix"), "CJ2K_NVCODEC": "0",
        "CJ2K_FFMPEG_PARTS": "all"})
    assert done.returncode != 0 and "7.1: unpacking and patching" in done.stdout, done.stdout + done.stderr
    assert "command not found" not in done.stderr, done.stderr
    assert done.stderr.splitlines()[0].startswith("tar: "), done.stderr


@pytest.mark.parametrize("options, version", [((), "7.1"), (("--ht",), "8.1")])
def test_samples_say_that_they_build(tmp_path, options, version):
    """A build of ten minutes is told before it begins."""
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    for name in ("scripts/install_deps.sh", "ffmpeg-patch/build.sh"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $*"\n')
        (tmp_path / name).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "CJ2K_FFMPEG"}
    done = subprocess.run([tmp_path / "samples/archive.sh", *options, "in.mov", "out.mxf"], text=True, capture_output=True, env=environment)
    said, *others = done.stdout.splitlines()
    assert said.startswith(f"FFmpeg {version}") and "is built first" in said and "ten minutes" in said, done.stdout
    assert others == ["scripts/install_deps.sh core ffmpeg", f"ffmpeg-patch/build.sh {version}"] and done.returncode == 1

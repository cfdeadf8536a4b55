# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The journey without containers, as docs/service.md and samples/service/README.md type it."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from conftest import ROOT, packet_hashes, run_ffmpeg

PAGE, README = ROOT / "docs/service.md", ROOT / "samples/service/README.md"
MARK = r"<!-- run by: tests/service/test_documents.py -->\n```sh\n(.*?)```"


def commands(text):
    return [line for line in (re.sub(r"\s*(^|\s)#\s.*", "", line).strip() for line in text.splitlines()) if line]


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_both_pages_say_the_same():
    start = commands(re.findall(MARK, PAGE.read_text(), re.DOTALL)[0])
    readme = README.read_text().split("Without containers")[1].split("Then `./submit.py`")[0]
    assert start == commands("\n".join(line for line in readme.splitlines() if line.startswith("    "))) and len(start) == 7


@pytest.mark.parametrize("with_redis", [True, False])
def test_journey(service, ffmpeg, tmp_path, with_redis):
    """In a copy of the folder, with another python3 first in PATH. Packages and FFmpeg are there; Redis is the test's."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "samples/service", tree / "samples/service", ignore=shutil.ignore_patterns("in", "out", "__pycache__"))
    for script in "scripts/install_deps.sh", "ffmpeg-patch/build.sh":
        assert (ROOT / script).exists()
        program(tree / script, ":")
    program(tree / "build/ffmpeg-7.1/ffmpeg", f'exec {ffmpeg} "$@"')
    (tree / "build/ffmpeg-7.1/ffprobe").symlink_to(pathlib.Path(ffmpeg).with_name("ffprobe"))
    program(tmp_path / "bin/python3", "echo ModuleNotFoundError >&2; exit 1")
    program(tmp_path / "bin/redis-cli", "true" if with_redis else "exit 1")
    program(tmp_path / "bin/redis-server", 'echo "started $*"')
    run_ffmpeg(ffmpeg, "-i", service.input / "short.mkv", "-c:v", "ffv1", "-vf",
               "setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709", "-f", "matroska", tmp_path / "film.mov")
    blocks = re.findall(MARK, PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 2
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        run = subprocess.Popen(["bash", "-ec", "\n".join(commands("".join(blocks)))], cwd=tree, stdout=log, stderr=log,
                               start_new_session=True, env=os.environ | {
                                   "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path),
                                   "CJ2K_REDIS": service.environment["CJ2K_REDIS"]})
        try:
            status = run.wait(timeout=120)
        finally:
            os.killpg(run.pid, signal.SIGKILL)  # the worker is still there
    said = (tmp_path / "log").read_text()
    assert status == 0 and "1 jobs have ended, 0 failed" in said, said
    assert ("started --daemonize yes" in said) != with_redis, said
    assert packet_hashes(ffmpeg, tree / "samples/service/out/film.mxf").count("\n0,") == 8

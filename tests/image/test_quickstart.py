# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""samples/quickstart.sh on a machine with an NVIDIA driver, a made-up one, and without nvcc: it ends with the CUDA backend built.

Everything is real but the driver: the wheels, the library, FFmpeg 7.1, an encode of two frames. tests/harness/test_get_nvcc.py has
the decisions alone."""

import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import ROOT

OWN_TOOLKIT = pathlib.Path("/usr/local/cuda/bin")
# It tells its version, as get_nvcc.sh asks for, and has no device.
DRIVER = """
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuInit(unsigned flags) { return 100; }
"""


@pytest.fixture
def checkout(tmp_path):
    """The files of the checkout, without its builds."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / "tree" / name)
    return tmp_path / "tree"


def test_driver_without_nvcc(full, checkout, tmp_path):
    (tmp_path / "driver.c").write_text(DRIVER)
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "driver.c", "-o", tmp_path / "libcuda.so.1"], check=True)
    clip = tmp_path / "clip.mkv"
    subprocess.run(["/usr/bin/ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=24", "-frames:v", "2",
                    "-c:v", "png", clip], check=True)
    path = ":".join(p for p in os.environ["PATH"].split(":") if not (pathlib.Path(p) / "nvcc").exists())
    env = {**os.environ, "PATH": path, "LD_LIBRARY_PATH": str(tmp_path)}
    for name in ("CUDA_PATH", "CUDA_HOME", "CJ2K_CUDA", "CJ2K_NVCC"):
        env.pop(name, None)
    command = [checkout / "samples/quickstart.sh", clip, tmp_path / "out.mxf", "24M"]
    if OWN_TOOLKIT.exists():
        command = ["unshare", "-m", "bash", "-c", f'mount -t tmpfs none {OWN_TOOLKIT} && exec "$0" "$@"', *command]
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert f"from PyPI, in {checkout}/build/cuda" in done.stdout
    assert "libcj2k: CUDA kernels by nvcc V" in done.stdout
    # The backend is in the program: what is missing is the device, not the code.
    probe = subprocess.run([checkout / "build/ffmpeg-7.1/ffmpeg", "-v", "error", "-i", clip, "-c:v", "j2k_cuda", "-device", "cuda", "-f",
                            "null", "-"], env=env, capture_output=True, text=True)
    assert probe.returncode != 0 and "built without" not in probe.stderr, probe.stderr
    assert "backend           " in done.stdout and (tmp_path / "out.mxf").stat().st_size > 1000

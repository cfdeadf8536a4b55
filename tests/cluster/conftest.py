# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of samples/cluster, in local tasks and on a real Slurm of four nodes on this machine:

    python3 -B -m pytest tests/cluster --ffmpeg build/ffmpeg-7.1/ffmpeg [-k WORD] [-m "not slurm"]

Without Slurm one test is skipped and says why; the others run.
"""

import pathlib
import shutil
import tempfile

import pytest

from job import Ffmpeg, Job
from slurm import Slurm, Unavailable

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    group = parser.getgroup("cluster")
    group.addoption("--ffmpeg", default=str(ROOT / "build/ffmpeg-7.1/ffmpeg"), help="the program to test")


def pytest_configure(config):
    if not pathlib.Path(config.getoption("ffmpeg")).is_file():
        raise pytest.UsageError(f"--ffmpeg must name the program to test, not {config.getoption('ffmpeg')}")
    config.ff = Ffmpeg(pathlib.Path(config.getoption("ffmpeg")).resolve())


def pytest_collection_modifyitems(config, items):
    """Without Slurm its tests are left out but for the one that says so."""
    reason = Slurm.why_not()
    left_out = [item for item in items if reason and item.get_closest_marker("slurm")
                and item.name != "test_four_nodes"]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def ff(pytestconfig):
    """The FFmpeg under test."""
    return pytestconfig.ff


@pytest.fixture(name="started_slurm", scope="session")
def _started_slurm():
    if Slurm.why_not():
        pytest.skip(f"no Slurm: {Slurm.why_not()}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cj2k-slurm-"))
    cluster = Slurm(folder)
    try:
        cluster.start()
        yield cluster
    except Unavailable as reason:
        pytest.skip(f"no Slurm: {reason}")
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def slurm(started_slurm):
    """Four idle nodes."""
    started_slurm.revive()
    return started_slurm


@pytest.fixture
def job(ff, tmp_path):
    """job(INPUT, OPTIONS...) prepares a run of encode.sh in a folder of this test."""
    def make(name, *options, **settings):
        return Job(ff, tmp_path, name, options, **settings)
    return make

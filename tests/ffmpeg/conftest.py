# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the encoder j2k_cuda in one built FFmpeg:

    python3 -B -m pytest -n auto tests/ffmpeg --ffmpeg build/ffmpeg-7.1/ffmpeg [--media DIR] [-k WORD]

All pictures are made here from seeds. If the media folder has the film, the main job runs on it, too.
"""

import os
import pathlib
import shutil

import pytest

from tools import Tools

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    group = parser.getgroup("j2k_cuda")
    group.addoption("--ffmpeg", help="the program to test")
    group.addoption("--ffprobe", help="default: beside ffmpeg")
    group.addoption("--opj", default=shutil.which("opj_decompress"), help="opj_decompress")
    group.addoption("--media", help="folder of test films (default: $CJ2K_TEST_MEDIA, or "
                    "../shared/media)",
                    default=os.environ.get("CJ2K_TEST_MEDIA") or str(ROOT.parent / "shared/media"))
    group.addoption("--release", action="store_true", help="the tests marked release, too, which take long")
    group.addoption("--windows", help="the ffmpeg for Windows, run by wine, that test_windows.py compares with --ffmpeg")
    group.addoption("--frames", type=int, default=2, help="frames of the film")


def pytest_configure(config):
    path = config.getoption("ffmpeg")
    if not path or not pathlib.Path(path).is_file():
        raise pytest.UsageError(f"--ffmpeg must name the program to test, not {path}")
    program = pathlib.Path(path).resolve()
    ffprobe = pathlib.Path(config.getoption("ffprobe") or program.with_name("ffprobe")).resolve()
    config.ff = Tools(program, ffprobe, config.getoption("opj"))


def pytest_ignore_collect(collection_path, config):
    return True if collection_path.name == "test_windows.py" and not config.getoption("windows") else None


def pytest_collection_modifyitems(config, items):
    if not config.getoption("release"):
        long = [item for item in items if item.get_closest_marker("release")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def pytest_report_header(config):
    opj = config.getoption("opj")
    return opj or "opj_decompress is not installed: FFmpeg's decoder is the only judge of samples"


def pytest_generate_tests(metafunc):
    if "listed_format" in metafunc.fixturenames:
        names = [name for name in metafunc.config.ff.pixel_formats if name != "cuda"]
        metafunc.parametrize("listed_format", names)


@pytest.fixture
def ff(pytestconfig):
    """The FFmpeg under test."""
    return pytestconfig.ff


@pytest.fixture
def film(pytestconfig):
    """A 4K film in the media folder."""
    path = pathlib.Path(pytestconfig.getoption("media")) / "seq/film_street_3840x2160_24f_imf_j2k_pq_p3d65_12b.mxf"
    if not path.exists():
        pytest.skip(f"no {path.name} in the media folder {path.parents[1]}")
    return path

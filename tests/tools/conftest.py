# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
import os
import pathlib
import shutil
import subprocess

import pytest


def pytest_addoption(parser):
    parser.addoption("--cj2k", required=True, help="the program under test")
    parser.addoption("--wine", action="store_true", help="the program is one for Windows: without the tests marked posix")
    parser.addoption("--params-table", help="samples/params_table.c, which prints the parameters of the library")


def pytest_configure(config):
    config.addinivalue_line("markers", "posix: limits, signals, special files and arguments that wine does not have")


@pytest.fixture(scope="session")
def program(request):
    return pathlib.Path(request.config.getoption("--cj2k")).resolve()


@pytest.fixture(scope="session")
def params_table(request):
    path = request.config.getoption("--params-table")
    if not path:
        pytest.skip("no --params-table")
    return subprocess.run([path], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def cj2k(program, tmp_path):
    """Runs cj2k in the test's folder. With `fails`, it must end with that status and one line that has all the words."""
    def run(*arguments, fails=None, words=(), **more):
        result = subprocess.run([program, *map(str, arguments)], cwd=tmp_path, text=True, timeout=120,
                                **({"capture_output": True} | more))
        assert result.returncode == (fails or 0), result.stderr
        if fails:
            assert result.stderr.count("\n") == 1, result.stderr
            for word in words:
                assert word in result.stderr, result.stderr
        return result
    return run


def pytest_collection_modifyitems(config, items):
    if config.getoption("--wine"):
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(pytest.mark.skip(reason="wine has no such limits, signals, files or arguments"))
    missing = [tool for tool in ("opj_decompress", "opj_compress", "grk_compress") if shutil.which(tool) is None]
    if os.environ.get("CJ2K_ALLOW_MISSING_DECODERS") != "1":
        assert not missing, f"no {missing[0]} (scripts/install_deps.sh test)"
    for item in items:
        for value in getattr(item, "callspec", None) and item.callspec.params.values() or ():
            if value in missing:
                item.add_marker(pytest.mark.skip(reason=f"{value} is not installed"))

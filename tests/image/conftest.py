# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the image that tests/image/build.sh has built:

    tests/image/build.sh && python3 -B -m pytest tests/image            (--full for both: what users build, built twice)

Containers have no network, a root that cannot be written, and a uid of nobody.
"""

import dataclasses
import json
import pathlib
import shutil
import subprocess
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
UID = "12345:12345"


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="the image is that of build.sh --full")


def storage(tool):
    """The command that runs buildah or podman on the storage of build.sh."""
    script = f'source {HERE}/storage.sh; printf "%s\\n" "${{storage[@]}}"'
    return [tool, *subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()]


@dataclasses.dataclass
class Result:
    returncode: int
    stdout: bytes
    log: str


class Image:
    def __init__(self, name):
        self.name = name
        self.podman = storage("podman") + ["--runtime", "runc", "--cgroup-manager", "cgroupfs"]

    def inspect(self):
        out = subprocess.run([*self.podman, "image", "inspect", self.name], capture_output=True, check=True).stdout
        return json.loads(out)[0]

    def command(self, *args, user=UID, volumes=(), tmpfs=(), env=(), entrypoint=None, name=None):
        """The command of one container. volumes: (folder of the host, path in the container, "ro" or "rw")."""
        command = [*self.podman, "run", "--rm", "--network=none", "--no-healthcheck", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024",
                   "--read-only", "--read-only-tmpfs=false", f"--user={user}"]
        command += [f"--volume={host}:{path}:{mode}" for host, path, mode in volumes]
        command += [f"--tmpfs={mount}" for mount in tmpfs]
        command += [f"--env={setting}" for setting in env]
        command += [f"--entrypoint={json.dumps(entrypoint)}"] if entrypoint else []
        command += [f"--name={name}"] if name else []
        return [*command, self.name, *map(str, args)]

    def run(self, *args, ok=True, **options):
        done = subprocess.run(self.command(*args, **options), stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        log = done.stderr.decode("utf-8", "replace")
        if ok is not None:
            assert (done.returncode == 0) == ok, f"exit status {done.returncode} of {args}\n{log[-1500:]}"
        return Result(done.returncode, done.stdout, log)

    def ffprobe(self, folder, name, *entries):
        """Lines of what ffprobe says of a file."""
        out = self.run("-v", "error", *entries, "-of", "csv=p=0", f"/data/{name}", entrypoint=["ffprobe"],
                       volumes=[(folder, "/data", "ro")])
        assert not out.log, out.log
        return out.stdout.decode().split()

    def pid(self, container):
        """The container's first process, as this machine sees it."""
        out = subprocess.run([*self.podman, "inspect", "--format={{.State.Pid}}", container], capture_output=True, check=True).stdout
        return int(out)


def needs_full(item):
    """Whether a test is about the image of --full alone, or (False) about the other one; None: about both."""
    what = item.callspec.params.get("what", "") if hasattr(item, "callspec") else ""
    if "full" in item.fixturenames or what.startswith("no GPU"):
        return True
    return False if "CUDA=OFF" in what else None


def pytest_collection_modifyitems(config, items):
    full = config.getoption("full")
    others = [item for item in items if needs_full(item) not in (None, full)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


@pytest.fixture(scope="session")
def full():
    """For tests of what users build, which tests/run.sh --release runs."""


@pytest.fixture(scope="session")
def image():
    if not shutil.which("podman"):
        pytest.skip("no podman")
    return Image("localhost/cj2k:1")


@pytest.fixture
def folder():
    """A folder that any uid may write."""
    with tempfile.TemporaryDirectory(prefix="cj2k-image-") as name:
        path = pathlib.Path(name)
        path.chmod(0o777)
        yield path


@pytest.fixture
def data(folder):
    """The same as it is mounted."""
    return [(folder, "/data", "rw")]

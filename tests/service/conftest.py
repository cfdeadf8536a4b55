# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of samples/service with a Redis server and workers of their own:

    python3 -B -m pytest tests/service --ffmpeg build/ffmpeg-7.1/ffmpeg [-s] [-k WORD]

Everything is in a temporary folder, Redis on a socket in it.
"""

import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVICE = ROOT / "samples/service"
NEEDED = {"redis-server": shutil.which("redis-server"), "setpriv": shutil.which("setpriv")} | {
    f"python3-{package}": importlib.util.find_spec(module) for package, module in
    (("rq", "rq"), ("redis", "redis"), ("prometheus-client", "prometheus_client"), ("yaml", "yaml"))}
MISSING = [name for name, found in NEEDED.items() if not found]
if "python3-rq" not in MISSING and not importlib.metadata.version("rq").startswith("1.13."):
    MISSING.append("rq 1.13")
sys.path.insert(0, str(SERVICE))


def pytest_addoption(parser):
    parser.getgroup("service").addoption("--ffmpeg", help="the program to test with, which has j2k_cuda")


def pytest_configure(config):
    path = config.getoption("ffmpeg")
    if not path or not pathlib.Path(path).is_file():
        raise pytest.UsageError(f"--ffmpeg must name the program to test with, not {path}")


def pytest_ignore_collect(collection_path):
    return bool(MISSING) and collection_path.name != "test_job.py"


def pytest_report_header():
    return f"SKIPPED: not installed: {', '.join(MISSING)}" if MISSING else None


@pytest.fixture(scope="session")
def ffmpeg(pytestconfig):
    return str(pathlib.Path(pytestconfig.getoption("ffmpeg")).resolve())


def run_ffmpeg(ffmpeg, *arguments):
    result = subprocess.run([ffmpeg, "-v", "error", "-nostdin", "-y", *map(str, arguments)], capture_output=True,
                            check=False, timeout=300)
    assert result.returncode == 0, result.stderr.decode()[-1000:]
    return result.stdout.decode()


def packet_hashes(ffmpeg, path):
    """One line for each packet, with time stamps and SHA-256."""
    return run_ffmpeg(ffmpeg, "-i", path, "-map", "0", "-c", "copy", "-f", "framehash", "-")


@pytest.fixture(scope="session")
def clips(ffmpeg):
    """A folder with films: short.mkv (8 frames), clip0.mkv to clip4.mkv (48 frames each), with sound: sound.mkv."""
    with tempfile.TemporaryDirectory(prefix="cj2k-clips-") as name:
        folder = pathlib.Path(name)

        def make(path, source, *more):
            run_ffmpeg(ffmpeg, "-f", "lavfi", "-i", source, *more, "-pix_fmt", "yuv422p10le", "-c:v", "ffv1",
                       "-c:a", "pcm_s16le", folder / path)

        make("short.mkv", "testsrc2=s=160x90:r=24:d=0.3333")
        make("sound.mkv", "testsrc2=s=160x90:r=24:d=1", "-f", "lavfi", "-i", "sine=d=1:r=48000")
        for number in range(5):
            make(f"clip{number}.mkv", f"testsrc2=s=640x360:r=24:d=2,hue=h={number * 60}")
        (folder / "text.mov").write_text("This is no film.\n")
        yield folder


class Service:
    """Redis, and the folders and workers of one test."""

    def __init__(self, folder, ffmpeg, clips):
        self.ffmpeg = ffmpeg
        self.input = clips
        self.folder = folder
        self.output = folder / "out"
        self.socket = folder / "redis.sock"
        self.workers = []
        self.start_server()
        self.environment = {
            "CJ2K_REDIS": f"unix://{self.socket}", "CJ2K_FFMPEG": ffmpeg, "CJ2K_INPUT_FOLDER": str(clips),
            "CJ2K_OUTPUT_FOLDER": str(self.output), "CJ2K_THREADS": "1", "CJ2K_LEASE_SECONDS": "10",
            "CJ2K_RECOVER_SECONDS": "0.5", "CJ2K_RETRY_SECONDS": "1,1,1"}
        import store  # pylint: disable=import-outside-toplevel
        self.store = store
        os.environ.update(self.environment)
        self.queue = store.open_queue(store.connect())
        self.wait(self._answers, "Redis answers")

    def start_server(self):
        """Redis as in the Dockerfile: the queue is in its append-only file."""
        self.server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder), "--save", "",
             "--appendonly", "yes"], stdout=subprocess.DEVNULL)

    def _answers(self):
        try:
            return self.queue.connection.ping()
        except self.store.redis.ConnectionError:
            return False

    def start_worker(self, **environment):
        with open(self.folder / "workers.log", "ab") as log:
            worker = subprocess.Popen([sys.executable, "-B", str(SERVICE / "worker.py")], stderr=log, stdout=log,
                                      env=os.environ | self.environment | environment)
        self.workers.append(worker)
        return worker

    @property
    def log(self):
        path = self.folder / "workers.log"
        return path.read_text() if path.exists() else ""

    def tool(self, name, *arguments, text=None):
        return subprocess.run([sys.executable, "-B", str(SERVICE / name), *map(str, arguments)], input=text,
                              capture_output=True, text=True, check=False, timeout=120,
                              env=os.environ | self.environment)

    def submit(self, source, output, **fields):
        from job import Job  # pylint: disable=import-outside-toplevel
        return self.store.submit(self.queue, Job.parse({"input": source, "output": output, **fields}))[0].id

    def job(self, job_id):
        return self.store.fetch(self.queue, job_id)

    def totals(self):
        return {name.decode(): int(value) for name, value in self.queue.connection.hgetall(self.store.TOTALS).items()
                if int(value)}

    def wait(self, condition, what, seconds=120):
        end = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < end, f"{what}: not within {seconds} s\n{self.log[-3000:]}"
            time.sleep(0.05)
        return value

    def wait_for(self, job_id, state):
        self.wait(lambda: self.job(job_id).get_status() == state, f"{job_id} is {state}")

    def wait_for_frames(self, job_id):
        self.wait(lambda: self.job(job_id).meta.get("frame", 0) > 0, "the first frames")

    def outputs(self):
        return sorted(path.relative_to(self.output).as_posix() for path in self.output.rglob("*") if path.is_file())

    def encoders(self):
        """The processes that write into the output folder, by their command lines."""
        lines = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                lines.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
            except OSError:
                pass  # it has ended
        return [line for line in lines if f"file:{self.output}" in line]

    def script(self, name, text):
        """A stand-in for ffmpeg. $ffmpeg is the real one."""
        path = self.folder / name
        path.write_text(f"#!/bin/bash\nffmpeg={self.ffmpeg}\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def slow(self):
        """ffmpeg at the film's own speed: a film of 2 s takes 2 s, however fast the machine is."""
        return self.script("slow", 'exec "$ffmpeg" -re "$@"')

    def close(self):
        for worker in self.workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGCONT)
                worker.kill()
            worker.wait()
        self.queue.connection.close()
        self.server.terminate()
        self.server.wait()


@pytest.fixture
def service(ffmpeg, clips):
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="cj2k-service-") as name:
        running = Service(pathlib.Path(name), ffmpeg, clips)
        try:
            yield running
        finally:
            running.close()
            os.environ.clear()
            os.environ.update(before)

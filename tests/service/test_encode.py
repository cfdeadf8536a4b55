# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""One job without a queue: outputs appear whole, once, and nothing is left of what went wrong."""

import errno
import os
import pathlib
import subprocess
import threading
import time

import pytest

import encode
from conftest import packet_hashes, run_ffmpeg
from encode import Failed, Settings, StopRequest, Stopped, Superseded, TryAgain
from job import Job


class Bench:
    """Runs jobs on the clips, into a folder of the test."""

    def __init__(self, ffmpeg, clips, folder):
        self.real = ffmpeg
        self.settings = Settings(ffmpeg, clips, folder / "out", threads=1, stall_seconds=30)
        self.out = self.settings.output_folder
        self.scripts = folder
        self.reports = []

    def encode(self, source="short.mkv", output="a.mxf", stop=None, token="t", script=None, settings=None, **fields):
        settings = settings or self.settings
        if script:
            path = self.scripts / "ffmpeg"
            path.write_text(f"#!/bin/bash\nffmpeg={self.real}\n{script}\n")
            path.chmod(0o755)
            settings = Settings(str(path), *list(vars(settings).values())[1:])
        return encode.encode(Job.parse({"input": source, "output": output, **fields}), token, settings,
                             stop or StopRequest(0), lambda progress: self.reports.append(vars(progress).copy()))

    def files(self):
        return sorted(path.name for path in self.out.rglob("*") if path.is_file())


@pytest.fixture
def bench(ffmpeg, clips, tmp_path):
    return Bench(ffmpeg, clips, tmp_path)


def test_output_is_what_one_ffmpeg_makes(bench, clips, tmp_path):
    done = bench.encode("sound.mkv", "x/y/a.mxf", rate="5M", options={"cblk": "32x32"})
    run_ffmpeg(bench.real, "-i", clips / "sound.mkv", "-c:v", "j2k_cuda", "-b:v", "5M", "-cblk", "32x32", "-c:a",
               "pcm_s24le", tmp_path / "b.mxf")
    assert packet_hashes(bench.real, bench.out / "x/y/a.mxf") == packet_hashes(bench.real, tmp_path / "b.mxf")
    assert (done.frames, done.bytes) == (24, (bench.out / "x/y/a.mxf").stat().st_size)
    assert bench.files() == ["a.mxf", "a.mxf.json"]
    assert bench.reports[-1]["frame"] == 24 and bench.reports[-1]["percent"] == 100


def test_a_finished_output_stays(bench, clips):
    assert not bench.encode().skipped
    inode = (bench.out / "a.mxf").stat().st_ino
    again = bench.encode()
    assert again.skipped and again.frames == 8 and (bench.out / "a.mxf").stat().st_ino == inode
    assert not bench.encode(rate="1M").skipped, "other settings"
    assert not bench.encode("sound.mkv", rate="1M").skipped, "another input"
    (bench.out / "a.mxf").write_bytes(b"short")
    assert not bench.encode("sound.mkv", rate="1M").skipped, "the output was changed"
    (bench.out / "a.mxf.json").write_text("[]")
    assert not bench.encode("sound.mkv", rate="1M").skipped, "no record"
    (bench.out / "a.mxf").unlink()
    assert not bench.encode("sound.mkv", rate="1M").skipped, "no output"


@pytest.mark.parametrize("source, says", [("none.mkv", "No such file"), ("text.mov", "Invalid data")])
def test_unreadable_input_fails_for_good(bench, source, says):
    with pytest.raises(Failed, match=says):
        bench.encode(source)
    assert bench.files() == []


def test_the_encoder_says_what_it_refuses(bench):
    with pytest.raises(Failed, match=r"cblk.*3x3|3x3.*cblk"):
        bench.encode(options={"cblk": "3x3"})
    with pytest.raises(Failed, match="no program /none/ffmpeg"):
        bench.encode(settings=Settings("/none/ffmpeg", *list(vars(bench.settings).values())[1:]))
    assert bench.files() == []


def test_damaged_input_fails_for_good(bench, clips, tmp_path):
    """Frames that cannot be decoded are not left out in silence."""
    run_ffmpeg(bench.real, "-i", clips / "clip0.mkv", "-c:v", "prores_ks", tmp_path / "damaged.mov")
    data = bytearray((tmp_path / "damaged.mov").read_bytes())
    data[len(data) // 2:len(data) // 2 + 20000] = bytes(20000)
    (tmp_path / "damaged.mov").write_bytes(data)
    with pytest.raises(Failed, match="invalid frame header"):
        bench.encode("damaged.mov", settings=Settings(bench.real, tmp_path, bench.out, 1, 30))
    assert bench.files() == []


def test_what_ffmpeg_does_not_fail_for_is_told(bench, clips, tmp_path):
    """ffmpeg takes a film that was cut off as one that ends there."""
    data = (clips / "clip0.mkv").read_bytes()
    (tmp_path / "cut.mkv").write_bytes(data[:len(data) // 2])
    for _ in range(2):
        done = bench.encode("cut.mkv", settings=Settings(bench.real, tmp_path, bench.out, 1, 30))
        assert done.frames < 48 and any("ended prematurely" in line for line in done.messages)
    assert done.skipped


def test_an_input_that_changes_is_tried_again(bench, tmp_path, clips):
    """As one does that is still being copied."""
    (tmp_path / "grows.mkv").write_bytes((clips / "short.mkv").read_bytes())
    bench.scripts = tmp_path
    bench.settings = Settings(bench.real, tmp_path, bench.out, 1, 30)
    with pytest.raises(TryAgain, match="has changed"):
        bench.encode("grows.mkv", script=f'"$ffmpeg" "$@"; echo >> {tmp_path}/grows.mkv')
    assert bench.files() == []


def test_an_input_is_never_replaced(bench, tmp_path, clips):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "a.mkv").write_bytes((clips / "short.mkv").read_bytes())
    with pytest.raises(Failed, match="the same file"):
        bench.encode("a.mkv", "a.mkv", settings=Settings(bench.real, folder, folder, 1, 30))
    assert (folder / "a.mkv").read_bytes() == (clips / "short.mkv").read_bytes()


def test_links_do_not_lead_out(bench, clips, tmp_path):
    (tmp_path / "media").mkdir()
    (tmp_path / "media/out").symlink_to(clips)
    with pytest.raises(Failed, match="leads out"):
        bench.encode("out/short.mkv", settings=Settings(bench.real, tmp_path / "media", bench.out, 1, 30))


def test_full_device_is_tried_again(bench):
    """ffmpeg itself writes to a device that is full."""
    with pytest.raises(TryAgain, match="No space left on device"):
        bench.encode(script='exec "$ffmpeg" "${@:1:$#-1}" /dev/full')
    assert bench.files() == []


@pytest.fixture
def small_disk(bench):
    """The output folder on a file system of its own. Yields a function that mounts it anew with other options."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a file system")
    bench.out.mkdir()

    def mount(options):
        return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", bench.out], capture_output=True, text=True,
                              check=False)

    mounted = mount("size=200k")
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield mount
    subprocess.run(["umount", bench.out], check=True)


def test_full_disk_is_tried_again(bench, small_disk):
    with pytest.raises(TryAgain, match="No space left on device"):
        bench.encode("clip0.mkv", options={"lossless": True})
    assert bench.files() == []
    assert bench.encode("short.mkv", rate="500k").frames == 8


def test_read_only_disk_is_tried_again(bench, small_disk):
    """Before ffmpeg begins, and while it writes."""
    assert small_disk("remount,ro").returncode == 0
    with pytest.raises(TryAgain, match="Read-only file system"):
        bench.encode()
    with pytest.raises(TryAgain, match="Read-only file system"):
        bench.encode(output="folder/a.mxf")
    assert bench.files() == []
    assert small_disk("remount,rw").returncode == 0
    with pytest.raises(TryAgain, match="Read-only file system"):
        bench.encode(script=f'mount -o remount,ro {bench.out}; exec "$ffmpeg" "$@"')
    assert small_disk("remount,rw").returncode == 0
    assert bench.encode().frames == 8


@pytest.mark.parametrize("status, error", [(228, TryAgain), (251, TryAgain), (237, TryAgain), (255, TryAgain),
                                           (183, Failed), (254, Failed), (234, Failed), (1, Failed)])
def test_exit_statuses(bench, status, error):
    with pytest.raises(error, match=f"exit status {status}"):
        bench.encode(script=f"exit {status}")


def test_a_killed_ffmpeg_is_tried_again(bench):
    with pytest.raises(TryAgain, match="ended by SIGKILL"):
        bench.encode(script='touch "${!#:5}"; kill -9 $$')
    assert bench.files() == []


def test_a_film_without_a_frame_fails(bench):
    with pytest.raises(Failed, match="no frame"):
        bench.encode(script='echo progress=end; touch "${!#:5}"')
    assert bench.files() == []


def test_no_progress_is_tried_again(bench):
    settings = Settings(bench.real, bench.settings.input_folder, bench.out, 1, stall_seconds=1)
    with pytest.raises(TryAgain, match="no progress for 1 s at frame 3"):
        bench.encode(script='while true; do printf "frame=3\\nprogress=continue\\n"; sleep 0.2; done', settings=settings)
    assert bench.files() == []


def test_stop_ends_ffmpeg_and_leaves_nothing(bench):
    stop = StopRequest(0.2)
    threading.Timer(1.0, stop.request).start()
    start = time.monotonic()
    with pytest.raises(Stopped):
        bench.encode("clip0.mkv", stop=stop, script='exec "$ffmpeg" -re -stream_loop 20 "$@"')
    assert time.monotonic() - start < 30 and bench.files() == []


def test_ffmpeg_that_ignores_sigterm_is_killed(bench):
    stop = StopRequest(0)
    stop.request()
    with pytest.raises(Stopped):
        bench.encode(stop=stop, script='trap "" TERM; while true; do echo frame=1; sleep 0.1; done')
    assert bench.files() == []


def test_the_last_attempt_owns_the_output(bench, clips):
    """An attempt that sleeps while another one makes the output cannot replace it."""
    first, result = threading.Event(), []

    def sleeper():
        try:
            bench.encode(token="first", script=f'"$ffmpeg" "$@"; touch {bench.scripts}/ready; '
                         f'while [ ! -e {bench.scripts}/go ]; do sleep 0.05; done')
        except Superseded as error:
            result.append(error)
        first.set()

    threading.Thread(target=sleeper).start()
    while not (bench.scripts / "ready").exists():
        time.sleep(0.05)
    assert not bench.encode(token="second", settings=Settings(bench.real, clips, bench.out, 1, 30)).skipped
    inode = (bench.out / "a.mxf").stat().st_ino
    (bench.scripts / "go").touch()
    first.wait(60)
    assert result and (bench.out / "a.mxf").stat().st_ino == inode
    assert bench.files() == ["a.mxf", "a.mxf.json"]


def test_part_files_of_dead_attempts_go(bench):
    bench.out.mkdir()
    for name in ("a.mxf.dead.part", "a.mxf.dead.json.part", "b.mxf.other.part"):
        (bench.out / name).touch()
    bench.encode()
    assert bench.files() == ["a.mxf", "a.mxf.json", "b.mxf.other.part"]


def test_everything_is_synced_before_it_is_named(bench, monkeypatch):
    """Both files, then the names, then the folder."""
    calls = []
    rename, sync = pathlib.Path.rename, encode._sync
    monkeypatch.setattr(encode, "_sync", lambda path: (calls.append(f"sync {path.name}"), sync(path)))
    monkeypatch.setattr(pathlib.Path, "rename", lambda self, to: (calls.append(f"name {to.name}"), rename(self, to)))
    bench.encode()
    assert calls == ["sync a.mxf.t.part", "sync a.mxf.t.json.part", "name a.mxf.json", "name a.mxf", "sync out"]


def test_an_error_of_the_disk_is_told_from_one_of_the_job(bench, monkeypatch):
    def sync(path):
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(encode, "_sync", sync)
    for code, error in ((errno.ENOSPC, TryAgain), (errno.EIO, TryAgain), (errno.EACCES, Failed)):
        with pytest.raises(error, match=os.strerror(code)):
            bench.encode()
        assert bench.files() == []

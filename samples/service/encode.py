# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""One job, from its input file to its finished output file. Knows nothing of the queue.

The output appears under its name when it is complete, and not before: ffmpeg writes OUTPUT.TOKEN.part, a name that no
other attempt has; then file, record and folder are synced and renamed. OUTPUT.json is the record: the job, and size and
time of input and output. A job whose record fits is not encoded again.

The last attempt to start owns the job: it removes the part files of all others. A worker that was taken for dead, but only
slept, thus finds its part file gone and cannot replace what its successor has made.
"""

import collections
import dataclasses
import errno
import glob
import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import subprocess
import time
from typing import Any, Callable

from job import Job
from settings import number

# Errors that go away without a change of the job: a full disk, one that was mounted read-only after a fault, a lost mount,
# too little memory, a GPU that another worker may have. ffmpeg's exit status is 256 - errno.
TRANSIENT = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.EAGAIN, errno.EBUSY, errno.EMFILE,
             errno.ENFILE, errno.ESTALE, errno.ETIMEDOUT, errno.ENODEV, errno.ENOTCONN, errno.EHOSTDOWN)
STATUS_STOPPED = 255  # ffmpeg was sent SIGTERM, by someone else than us
SECONDS_TO_END = 2.0  # that ffmpeg has after SIGTERM


class Failed(Exception):
    """The job cannot succeed as it is."""


class TryAgain(Exception):
    """The job may succeed later."""


class Stopped(Exception):
    """The worker is to stop, and gives the job back."""


class Superseded(Exception):
    """Another worker has taken the job over."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """From the environment, see README.md."""
    ffmpeg: str = "ffmpeg"
    input_folder: pathlib.Path = pathlib.Path("/in")
    output_folder: pathlib.Path = pathlib.Path("/out")
    threads: int | None = None
    stall_seconds: float = 300.0

    @staticmethod
    def from_environment() -> "Settings":
        get = os.environ.get
        return Settings(get("CJ2K_FFMPEG", "ffmpeg"), pathlib.Path(get("CJ2K_INPUT_FOLDER", "/in")),
                        pathlib.Path(get("CJ2K_OUTPUT_FOLDER", "/out")), int(number("CJ2K_THREADS", 0, 0, 256)) or None,
                        number("CJ2K_STALL_SECONDS", 300, 1, 86400))


@dataclasses.dataclass(frozen=True)
class Done:
    frames: int
    bytes: int
    seconds: float
    messages: list[str] = dataclasses.field(default_factory=list)  # errors that ffmpeg told and did not fail for
    skipped: bool = False  # the output was there already


@dataclasses.dataclass
class Progress:
    frame: int = 0
    fps: float = 0.0
    percent: float = 0.0  # of the input's duration; never falls; 0 where the input does not tell it


class StopRequest:
    """Set by a signal. The job in hand may go on for `grace` seconds, or until the second signal."""

    def __init__(self, grace: float):
        self.grace = grace
        self.deadline: float | None = None

    def request(self) -> None:
        now = time.monotonic()
        self.deadline = now + self.grace if self.deadline is None else now

    @property
    def requested(self) -> bool:
        return self.deadline is not None

    @property
    def is_over(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline


def encode(job: Job, token: str, settings: Settings, stop: StopRequest, report: Callable[[Progress], None]) -> Done:
    """Makes the output of a job. Raises Failed, TryAgain, Stopped or Superseded. `token` must be unlike any other's."""
    try:
        source = _below(settings.input_folder, job.input)
        target = _below(settings.output_folder, job.output)
        if source == target:
            raise Failed(f"input and output are the same file, {source}")
        stamp = _stamp(source)
        done = _finished(job, stamp, target)
        if done:
            return done
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_parts(target)
        part = target.with_name(f"{target.name}.{token}.part")
        record = part.with_suffix(".json.part")
        try:
            start = time.monotonic()
            frames, messages = _run_ffmpeg(job, source, part, settings, stop, report)
            seconds = round(time.monotonic() - start, 3)
            if _stamp(source) != stamp:
                raise TryAgain("the input has changed while it was read")
            try:
                output = _stamp(part)
                done = Done(frames, output["bytes"], seconds, messages)
                record.write_text(json.dumps(_record(job, stamp, done, output), indent=1) + "\n", encoding="utf-8")
                _publish(part, record, target)
            except FileNotFoundError:
                raise Superseded("the part file is gone: another worker has taken the job over") from None
            return done
        finally:
            part.unlink(missing_ok=True)
            record.unlink(missing_ok=True)
    except OSError as error:
        text = f"{error.strerror}: {error.filename}" if error.filename else str(error)
        raise (TryAgain if error.errno in TRANSIENT else Failed)(text) from error


def remove_parts(target: pathlib.Path) -> None:
    """Removes what attempts at this output have left, and with it takes the output away from those that still run."""
    for path in target.parent.glob(glob.escape(target.name) + ".*.part"):
        path.unlink(missing_ok=True)


def _below(folder: pathlib.Path, name: str) -> pathlib.Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise Failed(f"{name} leads out of the media folder")
    return path


# --- the record of a finished output ---------------------------------------------------------------------------------


def _stamp(path: pathlib.Path) -> dict[str, int]:
    status = path.stat()
    return {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns}


def _record(job: Job, source: dict[str, int], done: Done, output: dict[str, int]) -> dict[str, Any]:
    return {"job": job.as_dict(), "source": source, "output": output, "frames": done.frames, "seconds": done.seconds,
            "messages": done.messages}


def _finished(job: Job, source: dict[str, int], target: pathlib.Path) -> Done | None:
    """What an earlier attempt has made, if it is this job's output of this input."""
    try:
        record = json.loads(target.with_name(target.name + ".json").read_text(encoding="utf-8"))
        expected = {"job": job.as_dict(), "source": source, "output": _stamp(target)}
        if {key: record[key] for key in expected} == expected:
            return Done(record["frames"], record["output"]["bytes"], record["seconds"], record["messages"], skipped=True)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    return None


def _publish(part: pathlib.Path, record: pathlib.Path, target: pathlib.Path) -> None:
    """After a crash in between, the record does not fit what is there, and the job is done anew."""
    for path in (part, record):
        _sync(path)
    record.rename(target.with_name(target.name + ".json"))
    part.rename(target)
    _sync(target.parent)


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- ffmpeg ----------------------------------------------------------------------------------------------------------


def _run_ffmpeg(job: Job, source: pathlib.Path, part: pathlib.Path, settings: Settings, stop: StopRequest,
                report: Callable[[Progress], None]) -> tuple[int, list[str]]:
    """Encodes into `part`. Returns the number of frames, and the errors that ffmpeg did not fail for."""
    if not shutil.which(settings.ffmpeg):
        raise Failed(f"there is no program {settings.ffmpeg} (CJ2K_FFMPEG)")
    # setpriv: the kernel ends ffmpeg when this process is killed. A session of its own: Ctrl+C reaches the worker alone.
    command = ["setpriv", "--pdeathsig", "KILL", settings.ffmpeg,
               *job.ffmpeg_arguments(source, part, settings.threads)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    with process:
        watch = _Watch(process, report)
        try:
            while watch.wait(0.25):
                if stop.is_over:
                    raise Stopped("the worker stops")
                if watch.quiet_seconds > settings.stall_seconds:
                    raise TryAgain(f"no progress for {settings.stall_seconds:g} s at frame {watch.progress.frame}")
            process.wait(settings.stall_seconds)
        except subprocess.TimeoutExpired:
            raise TryAgain(f"ffmpeg did not end within {settings.stall_seconds:g} s") from None
        finally:
            _end(process)
            watch.close()
    _raise_failure(process.returncode, list(watch.errors))
    if watch.progress.frame == 0:
        raise Failed("the input has no frame")
    return watch.progress.frame, list(watch.errors)


def _end(process: subprocess.Popen) -> None:
    """Ends ffmpeg if it still runs: asked first, then killed. Its pipes are read, so that it cannot wait for us."""
    for ask in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(ask)
            try:
                process.communicate(timeout=SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                pass


def _raise_failure(status: int, errors: list[str]) -> None:
    """`status` as Popen has it: the exit status, or minus the signal."""
    if status == 0:
        return
    text = "; ".join(errors[:3]) or "ffmpeg gave no reason"
    if status < 0:
        raise TryAgain(f"ffmpeg was ended by {signal.Signals(-status).name}: {text}")
    passing = status == STATUS_STOPPED or 256 - status in TRANSIENT or any(
        os.strerror(number) in line for number in TRANSIENT for line in errors)
    raise (TryAgain if passing else Failed)(f"{text} (ffmpeg's exit status {status})")


class _Watch:
    """Reads what ffmpeg says: -progress from its output, messages from its error output."""

    _ERROR = re.compile(r"((?:\[[^]]*\] )*)\[(?:error|fatal|panic)\] (.*)")
    _DURATION = re.compile(r"Duration: (\d+):(\d\d):(\d\d(?:\.\d+)?),")

    def __init__(self, process: subprocess.Popen, report: Callable[[Progress], None]):
        self.progress = Progress()
        self.errors: collections.deque[str] = collections.deque(maxlen=20)
        self._duration: float | None = None  # seconds of the input
        self._report = report
        self._values: dict[str, str] = {}
        self._position = ("", "")
        self._last_change = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._rest = collections.defaultdict[int, bytes](bytes)  # begun lines
        for stream, take in ((process.stdout, self._take_progress), (process.stderr, self._take_message)):
            assert stream
            self._selector.register(stream, selectors.EVENT_READ, take)

    @property
    def quiet_seconds(self) -> float:
        return time.monotonic() - self._last_change

    def wait(self, seconds: float) -> bool:
        """Waits for lines, at most for this long. False once ffmpeg has closed both of its outputs."""
        for key, _ in self._selector.select(seconds):
            data = os.read(key.fd, 65536)
            *lines, rest = (self._rest[key.fd] + (data or b"\n")).split(b"\n")
            self._rest[key.fd] = rest[-4096:]
            for line in lines:
                key.data(line.decode("utf-8", "replace").strip())
            if not data:
                self._selector.unregister(key.fileobj)
        return bool(self._selector.get_map())

    def close(self) -> None:
        self._selector.close()

    def _take_message(self, line: str) -> None:
        error, duration = self._ERROR.match(line), self._DURATION.search(line)
        if error:
            self.errors.append(re.sub(r" @ 0x[0-9a-f]+", "", error[1]) + error[2])
        elif duration and self._duration is None:
            self._duration = 3600 * int(duration[1]) + 60 * int(duration[2]) + float(duration[3])

    def _take_progress(self, line: str) -> None:
        key, _, value = line.partition("=")
        if key != "progress":
            self._values[key] = value
            return
        position = (self._values.get("frame", ""), self._values.get("total_size", ""))
        if position != self._position:
            self._position, self._last_change = position, time.monotonic()
        self.progress.frame = max(self.progress.frame, int(self._number("frame")))
        self.progress.fps = self._number("fps")
        if self._duration:
            percent = min(100.0, self._number("out_time_us") / 1e4 / self._duration)
            self.progress.percent = max(self.progress.percent, round(percent, 1))
        self._report(self.progress)

    def _number(self, key: str) -> float:
        try:
            return max(0.0, float(self._values.get(key, "0")))
        except ValueError:  # N/A
            return 0.0

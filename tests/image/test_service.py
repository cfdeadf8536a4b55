# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What a service sees: exit statuses and messages as docs/container.md has them, and SIGTERM."""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from conftest import ROOT

CLIP = ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=24"]
ENCODE = ["-c:v", "j2k_cuda", "-b:v", "24M"]
ERRORS = ["-v", "error"]


def documented():
    """The rows of the table: {what happened: (exit status, text on stderr)}."""
    text = (ROOT / "docs/container.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w`][^|]*?) +\| (\d+) \| (?:`([^|]*?)`)? *\|[^|\n]*\|$", text, re.M)
    return {what: (int(status), message) for what, status, message in rows}


@dataclasses.dataclass
class Case:
    """A call of ffmpeg in the folder /data, and what is mounted."""
    args: list
    prepare: object = None  # changes the folder before
    options: dict = dataclasses.field(default_factory=dict)


def film(image, folder):
    """Twelve frames of Motion JPEG 2000, all intact."""
    image.run(*ERRORS, *CLIP, "-frames:v", 12, *ENCODE, "/data/in.mov", volumes=[(folder, "/data", "rw")])
    return folder / "in.mov"


def damage(*packets):
    """Breaks these packets of in.mov behind the main header."""
    def prepare(image, folder):
        path = film(image, folder)
        positions = image.ffprobe(folder, "in.mov", "-show_entries", "packet=pos")
        content = bytearray(path.read_bytes())
        for packet in packets:
            start = content.index(b"\xff\x90", int(positions[packet].strip(",")))
            content[start:start + 12] = bytes(12)
        path.write_bytes(content)
    return prepare


def write(name, text, mode=0o644):
    def prepare(_, folder):
        (folder / name).write_text(text)
        (folder / name).chmod(mode)
    return prepare


def locked_folder(_, folder):
    (folder / "locked").mkdir(mode=0o555)


CASES = {
    "done": Case([*CLIP, "-frames:v", 2, *ENCODE, "out.mxf"]),
    "input is missing": Case(["-i", "missing.mov", *ENCODE, "out.mxf"]),
    "input may not be read": Case(["-i", "in.mov", *ENCODE, "out.mxf"], write("in.mov", "secret", 0o600)),
    "input is not a film": Case(["-i", "in.mov", *ENCODE, "out.mxf"], write("in.mov", "no film")),
    "input is damaged almost everywhere": Case(["-i", "in.mov", *ENCODE, "out.mxf"], damage(*range(12))),
    "input is damaged, with `-xerror`": Case(["-xerror", "-i", "in.mov", *ENCODE, "out.mxf"], damage(5)),
    "output folder is missing": Case([*CLIP, "-frames:v", 2, *ENCODE, "missing/out.mxf"]),
    "output folder may not be written": Case([*CLIP, "-frames:v", 2, *ENCODE, "locked/out.mxf"], locked_folder),
    "output exists, with `-n`": Case(["-n", *CLIP, "-frames:v", 2, *ENCODE, "out.mxf"], write("out.mxf", "here")),
    "disk is full": Case([*CLIP, "-frames:v", 100, *ENCODE, "/small/out.mxf"], options={"tmpfs": ["/small:size=1m,mode=1777"]}),
    "disk is read-only": Case([*CLIP, "-frames:v", 2, *ENCODE, "/fixed/out.mxf"], options={"tmpfs": ["/fixed:ro,mode=1777"]}),
    "no GPU, with `-device cuda`": Case([*CLIP, "-frames:v", 2, *ENCODE, "-device", "cuda", "out.mxf"]),
    "`-device cuda` in an image built with `CUDA=OFF`": Case([*CLIP, "-frames:v", 2, *ENCODE, "-device", "cuda", "out.mxf"]),
    "option unknown": Case([*CLIP, "-frames:v", 2, *ENCODE, "-nosuch", 1, "out.mxf"]),
    "value out of range": Case([*CLIP, "-frames:v", 2, *ENCODE, "-levels", 99, "out.mxf"]),
    "encoder refuses what it is asked for": Case([*CLIP, "-frames:v", 2, *ENCODE, "-profile:v", "cinema2k", "out.mxf"]),
}
ELSEWHERE = {"stopped by SIGTERM or SIGINT", "killed (SIGKILL, memory limit)"}  # tests of their own


def test_each_row_is_tested():
    assert set(documented()) == set(CASES) | ELSEWHERE


@pytest.mark.parametrize("what", CASES)
def test_exit_status(image, folder, what):
    case = CASES[what]
    if case.prepare:
        case.prepare(image, folder)
    done = image.run(*ERRORS, *case.args, ok=None, volumes=[(folder, "/data", "rw")], **case.options)
    status, message = documented()[what]
    assert (done.returncode, message in done.log) == (status, True), done.log[-1500:]


def test_a_slow_reader_gets_all(image, folder, data):
    """As over a slow network, or onto a slow disk: ffmpeg waits, and its memory does not grow."""
    clip = [*ERRORS, "-f", "lavfi", "-i", "testsrc2=size=640x480:rate=24", "-frames:v", 72, "-c:v", "j2k_cuda", "-lossless", 1,
            "-bitexact", "-f", "nut"]
    image.run(*clip, "out.nut", volumes=data)
    expected = (folder / "out.nut").read_bytes()
    name, got, resident = f"cj2k-slow-{time.monotonic_ns()}", b"", []
    with subprocess.Popen(image.command(*clip, "pipe:1", name=name), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        while block := process.stdout.read(len(expected) // 60):
            got += block
            if len(got) < len(expected) // 2:
                status = (pathlib.Path("/proc") / str(image.pid(name)) / "status").read_text()
                resident.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]))
            time.sleep(0.05)
        assert process.wait(60) == 0
    assert got == expected
    assert resident[-1] < resident[len(resident) // 3] * 1.2, resident


def test_damage_passes_without_xerror(image, folder, data):
    """As docs/container.md says: exit status 0 is no proof of a whole input."""
    damage(5)(image, folder)
    done = image.run(*ERRORS, "-i", "in.mov", *ENCODE, "out.mxf", volumes=data)
    assert "Invalid data" in done.log


def interrupted(image, folder, name, signals, size="1280x720", frames=10):
    """Encodes until this many frames are in the file, sends signals; returns the exit status, the seconds, the log and the frames that were
    reported as written."""
    container = f"cj2k-stop-{time.monotonic_ns()}"
    command = image.command("-y", "-nostats", "-progress", "pipe:1", "-stats_period", "0.2", "-f", "lavfi", "-i",
                            f"testsrc2=size={size}:rate=24", "-c:v", "j2k_cuda", "-b:v", "100M", name,
                            name=container, volumes=[(folder, "/data", "rw")])
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        written = 0
        while written < frames:
            line = process.stdout.readline().decode()
            assert line, process.stderr.read().decode()
            if line.startswith("frame="):
                written = int(line[6:])
        pid, start = image.pid(container), time.monotonic()
        for number in signals:
            os.kill(pid, number)
            time.sleep(0.02)  # or they would become one
        log = process.communicate(timeout=120)[1].decode()
        return process.returncode, time.monotonic() - start, log, written


def decoded(image, folder, name):
    """The frames of a file, each of which must be decodable."""
    out = image.run(*ERRORS, "-xerror", "-i", name, "-map", "0:v", "-f", "framemd5", "-", volumes=[(folder, "/data", "ro")])
    assert not out.log, out.log
    return len(re.findall(rb"^0,", out.stdout, re.M))


@pytest.mark.parametrize("name", ["out.mxf", "out.mov"])
def test_sigterm_leaves_a_readable_file(image, folder, name):
    """And the container is gone within two seconds. The best of three counts, because the machine may be busy."""
    times = []
    while len(times) < 3 and (not times or times[-1] >= 2):
        status, seconds, log, written = interrupted(image, folder, name, [signal.SIGTERM])
        assert (status, documented()["stopped by SIGTERM or SIGINT"][1] in log) == (255, True), log
        assert decoded(image, folder, name) >= written
        times.append(seconds)
    assert min(times) < 2, times


def test_frames_that_wait_are_dropped(image, folder):
    """ffmpeg-patch/stop.patch: only what the encoder has is finished, so that large frames end soon, too. Without it, 16 or
    more frames follow the signal."""
    *_, written = interrupted(image, folder, "out.mov", [signal.SIGTERM], "3840x2160", 3)
    assert written <= decoded(image, folder, "out.mov") <= written + 10


def test_a_second_sigterm_ends_at_once(image, folder):
    """Without the file's end. MXF can be read all the same."""
    status, seconds, log, _ = interrupted(image, folder, "out.mxf", [signal.SIGTERM] * 2)
    assert status == 255, log
    assert int(image.ffprobe(folder, "out.mxf", "-count_packets", "-show_entries", "stream=nb_read_packets")[0]) > 0
    assert seconds < 2


def test_sigkill(image, folder):
    status, _, log, _ = interrupted(image, folder, "out.mxf", [signal.SIGKILL])
    assert status == documented()["killed (SIGKILL, memory limit)"][0], log

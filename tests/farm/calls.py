#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Every call that can fail, fails: system calls by strace's injection, allocations by a library in front of malloc.

    tests/farm/calls.py --cj2k build/release/tools/cj2k/cj2k [--ffmpeg FFMPEG] [--minutes N] [--seed S] [--only TEXT]

A scenario is a command line. It runs once unharmed; its calls after the program's own start are counted. Then it runs again
and again with one call failing each time, every call and error once, in an order that the seed gives, until the minutes are
over. Each run must end in time and by itself, not by a signal. cj2k: with status 0 its
files must be those of the unharmed run; with another one it must say why, and leave no file but whole ones. Faults are printed with the command that shows
them again; exit status 1 if there are any.
"""
import argparse
import collections
import dataclasses
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tools"))
import pictures  # noqa: E402  pylint: disable=wrong-import-position

TIMEOUT = 60

# Errors of each system call, as its manual page has them. Calls on the scenario's own files, in any thread:
FILE_ERRORS = {
    "openat": ("EMFILE", "EACCES"), "read": ("EIO", "EINTR"), "pread64": ("EIO",), "write": ("ENOSPC", "EIO", "EINTR"),
    "writev": ("ENOSPC",), "pwrite64": ("ENOSPC",), "lseek": ("EIO",), "newfstatat": ("EACCES",), "mmap": ("ENODEV",),
    "rename": ("EXDEV", "EACCES"), "ftruncate": ("ENOSPC",), "fallocate": ("ENOSPC",), "fsync": ("EIO",), "fdatasync": ("EIO",),
    "unlink": ("EACCES",), "mkdir": ("EACCES",), "getdents64": ("EIO",), "close": ("EIO",), "fcntl": ("EBADF",),
    "link": ("EPERM",), "chmod": ("EPERM",), "fchmod": ("EPERM",),
}
# Any call of the main thread, after the program has first named such a file:
MAIN_ERRORS = {"mmap": ("ENOMEM",), "clone3": ("EAGAIN",), "mprotect": ("ENOMEM",), "openat": ("EMFILE",)}


@dataclasses.dataclass
class Scenario:
    name: str
    command: list
    outputs: list  # names in the scenario's folder
    is_cj2k: bool = True


@dataclasses.dataclass
class Failure:
    """One call that fails: number `at` of `call`."""
    call: str
    at: int
    error: str = ""
    of_files: bool = False

    def __str__(self):
        return f"{'file ' if self.of_files else ''}{self.call} {self.at} {self.error}".strip()

    def wrap(self, command, paths):
        if self.call == "malloc":
            return command, {"LD_PRELOAD": str(FAIL_MALLOC), "CJ2K_FAIL_MALLOC": str(self.at),
                             "CJ2K_FAIL_MORE": "1" if self.error == "more" else "0"}
        return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={self.call}",
                "-e", f"inject={self.call}:error={self.error}:when={self.at}",
                *(only_files(paths) if self.of_files else ()), *command], {}


def can_trace():
    return shutil.which("strace") is not None and subprocess.run(["strace", "-o", "/dev/null", "true"], check=False,
                                                                 capture_output=True).returncode == 0


def only_files(paths):
    return [word for path in paths for word in ("-P", path)]


FAIL_MALLOC = pathlib.Path()


def run(command, folder, environment=None):
    # A run that hangs is ended with all its children: strace's child is the program.
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               stdin=subprocess.DEVNULL, errors="replace", start_new_session=True,
                               env={**os.environ, **(environment or {})})
    try:
        text = process.communicate(timeout=TIMEOUT)[1]
        return process.returncode, text
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return None, "hangs"


def fresh(folder, inputs):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(inputs, folder)


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def trace(scenario, folder, inputs, log, more):
    """@return [(thread, call, arguments)] of an unharmed run."""
    fresh(folder, inputs)
    status, text = run(["strace", "-f", "-o", str(log), *more, *scenario.command], folder)
    assert status == 0, f"{scenario.name}: {text}"
    found = (re.match(r"(\d+) +(\w+)\((.*)", line) for line in log.read_text(errors="replace").splitlines())
    return [match.groups() for match in found if match]


def failures_of(scenario, folder, inputs, log, paths):
    if can_trace():
        yield from traced_failures(scenario, folder, inputs, log, paths)
    if not scenario.is_cj2k:  # FFmpeg's own parts do not stand it
        return
    fresh(folder, inputs)
    status, text = run(scenario.command, folder, {"LD_PRELOAD": str(FAIL_MALLOC), "CJ2K_COUNT_MALLOC": str(log)})
    assert status == 0, text
    for at in range(1, int(log.read_text()) + 1):
        yield Failure("malloc", at)
        yield Failure("malloc", at, "more")


def traced_failures(scenario, folder, inputs, log, paths):
    counts = collections.Counter()
    for thread, call, _ in trace(scenario, folder, inputs, log, ["-e", "trace=" + ",".join(FILE_ERRORS), *only_files(paths)]):
        counts[thread, call] += 1
    for call, errors in FILE_ERRORS.items():
        for at in range(1, max((n for (_, name), n in counts.items() if name == call), default=0) + 1):
            for error in errors:
                yield Failure(call, at, error, True)
    seen, started = collections.Counter(), False
    calls = trace(scenario, folder, inputs, log, ["-e", "trace=execve," + ",".join(MAIN_ERRORS)])
    for thread, call, arguments in calls:
        if thread != calls[0][0] or call == "execve":
            started = started or (thread != calls[0][0])
            continue
        seen[call] += 1
        started = started or str(folder) in arguments
        if started:
            for error in MAIN_ERRORS[call]:
                yield Failure(call, seen[call], error)


def judge(scenario, failure, before, good, after, status, text):
    """@return what is wrong; or None"""
    if status is None:
        return f"hangs for {TIMEOUT} s"
    if status < 0:
        return f"ends by signal {-status}"
    if not scenario.is_cj2k:  # FFmpeg drops frames that its own parts have no memory for
        return None
    if status == 0:
        wrong = [name for name in scenario.outputs if after.get(name) != good[name]]
        return f"status 0, but wrong: {', '.join(wrong)}" if wrong else None
    if not text.strip():
        return f"status {status} without a word"
    if "std::" in text or "terminate" in text:
        return "a message for programmers"
    # A report has a line for each frame that is done.
    half = [name for name, data in after.items() if name not in before and good.get(name) != data and name != "p.tsv"
            and not (name.endswith(".part") and failure.call == "unlink")]
    return f"leaves {', '.join(half)}" if half else None


def scenarios(cj2k, ffmpeg, inputs):
    picture = pictures.planes(64, 48, 3, 8)
    for name, write in (("a.ppm", pictures.pnm), ("a.tif", pictures.tiff), ("a.png", pictures.png)):
        (inputs / name).write_bytes(write(64, 48, picture, 8))
    for i in range(3):
        (inputs / f"f{i}.ppm").write_bytes(pictures.pnm(48, 40, pictures.planes(48, 40, 3, 8, seed=i), 8))
    subprocess.run([cj2k, "-i", "a.ppm", "-o", "a_in.j2c", "--lossless", "1"], cwd=inputs, check=True, capture_output=True)
    yield Scenario("tiff", [cj2k, "-i", "@a.tif", "-o", "@t.jp2"], ["t.jp2"])
    yield Scenario("png", [cj2k, "-i", "@a.png", "-o", "@p.jp2", "--stat", "@p.tsv"], ["p.jp2"])
    yield Scenario("picture", [cj2k, "-i", "@a.ppm", "-o", "@b.jp2", "--target_bytes", "3000"], ["b.jp2"])
    yield Scenario("sequence", [cj2k, "-i", "@f%d.ppm", "-o", "@o%d.j2c", "--target_bytes", "1500"],
                   ["o0.j2c", "o1.j2c", "o2.j2c"])
    yield Scenario("film", [cj2k, "-i", "@f%d.ppm", "-o", "@o%d.j2c", "--film-bytes", "6000", "--film-log",
                            "@film.log"], ["o0.j2c", "o1.j2c", "o2.j2c", "film.log"])
    yield Scenario("transcode", [cj2k, "transcode", "@a_in.j2c", "@c.jhc"], ["c.jhc"])
    yield Scenario("info", [cj2k, "info", "@a_in.j2c"], [])
    yield Scenario("verify", [cj2k, "verify", "@a.ppm", "@a_in.j2c"], [])
    if ffmpeg:
        # The rate of frames is one that MXF has.
        source = ["-f", "image2", "-framerate", "24", "-i", "@f%d.ppm"]
        quiet = [ffmpeg, "-y", "-hide_banner", "-loglevel", "error", "-nostdin"]
        yield Scenario("ffmpeg", [*quiet, *source, "-c:v", "j2k_cuda", "-device", "cpu", "-b:v", "400k", "-fflags", "+bitexact",
                                  "@o.mov"], ["o.mov"], False)


def main():
    global FAIL_MALLOC  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cj2k", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--ffmpeg", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time() // 86400), help="of the order [the day]")
    parser.add_argument("--only", default="", help="scenarios, or failures as 'tiff: malloc 12', that begin so")
    options = parser.parse_args()
    if not can_trace():
        print("SKIPPED: strace cannot run here, only allocations fail")
    begin, counts, faults = time.monotonic(), collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory(prefix="cj2k-farm-") as name:
        top = pathlib.Path(name)
        FAIL_MALLOC = top / "fail_malloc.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", FAIL_MALLOC, HERE / "fail_malloc.c"], check=True)
        inputs, folder, log = top / "inputs", top / "work", top / "log"
        inputs.mkdir()
        jobs = []
        for scenario in scenarios(options.cj2k, options.ffmpeg, inputs):
            scenario.command = [re.sub(r"^@", f"{folder}/", word) for word in scenario.command]
            if not (scenario.name.startswith(options.only) or options.only.startswith(scenario.name + ":")):
                continue
            fresh(folder, inputs)
            before = files(folder)
            status, text = run(scenario.command, folder)
            assert status == 0, f"{scenario.name}: {text}"
            good = files(folder)
            paths = [str(folder / name) + more for name in good for more in ("", ".part")]
            jobs += [(scenario, before, good, paths, failure) for failure in failures_of(scenario, folder, inputs, log, paths)]
        random.Random(options.seed).shuffle(jobs)
        jobs.sort(key=lambda job: job[-1].call == "malloc")  # many, and more alike
        for done, (scenario, before, good, paths, failure) in enumerate(jobs):
            label = f"{scenario.name}: {failure}"
            if ":" in options.only and label != options.only:
                continue
            if time.monotonic() - begin > 60 * options.minutes:
                print(f"the minutes are over after {done} of {len(jobs)}")
                break
            fresh(folder, inputs)
            command, environment = failure.wrap(scenario.command, paths)
            status, text = run(command, folder, environment)
            counts[failure.call] += 1
            wrong = judge(scenario, failure, before, good, files(folder), status, text)
            if ":" in options.only:
                print(status, text)
            if wrong:
                faults[f"{scenario.name}, {failure.call}: {wrong}"] += 1
                print(f"FAULT {label}: {wrong} | {text.strip()[-200:]}", flush=True)
    print(f"{sum(counts.values())} failed calls ({', '.join(f'{call} {n}' for call, n in counts.most_common())}), "
          f"{sum(faults.values())} faults, seed {options.seed}, {time.monotonic() - begin:.0f} s")
    for fault, count in faults.most_common():
        print(f"{count:6} {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

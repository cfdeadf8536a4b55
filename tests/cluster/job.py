# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""encode.sh and segment.sh as Python functions, and the film that one ffmpeg makes alone."""

import json
import os
import pathlib
import signal
import subprocess
import time

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "samples/cluster"


class Ffmpeg:
    """ffmpeg, and ffprobe beside it."""

    def __init__(self, program):
        self.program = program

    def __call__(self, *args):
        result = subprocess.run([self.program, "-v", "error", "-nostdin", "-y", *map(str, args)], capture_output=True, check=False)
        assert result.returncode == 0, result.stderr.decode()[-2000:]
        return result.stdout

    def probe(self, path, *args):
        return json.loads(subprocess.run([self.program.with_name("ffprobe"), "-v", "error", "-of", "json", *args, path],
                                         capture_output=True, check=True).stdout)

    def packets(self, path):
        """Size and hash of each packet of the video."""
        lines = self("-i", path, "-map", "0:v:0", "-c", "copy", "-f", "framehash", "-hash", "murmur3", "-").decode().splitlines()
        return [tuple(field.strip() for field in line.split(",")[-2:]) for line in lines if not line.startswith("#")]

    def sound(self, path, stream="0:a"):
        return self("-i", path, "-map", stream, "-f", "s16le", "-c:a", "pcm_s16le", "-")

    def wrapped(self, folder, script):
        """Another ffmpeg: a shell script in `folder` in which $real is this one."""
        folder.mkdir()
        path = folder / "ffmpeg"
        path.write_text(f"#!/bin/bash\nreal={self.program}\n{script}\n")
        path.chmod(0o755)
        (folder / "ffprobe").symlink_to(self.program.with_name("ffprobe"))
        return Ffmpeg(path)

    def film(self, path, frames, *options, size="160x90", rate=24):
        self("-f", "lavfi", "-i", f"testsrc2=s={size}:r={rate}", *options, "-frames:v", frames, path)
        return path


class Job:
    """One call of encode.sh: `options` are the encoder's."""

    def __init__(self, ff, folder, name, options, output="out.mxf", environment=None):
        self.ff = ff
        self.folder = folder
        self.input = name
        self.options = [str(option) for option in options]
        self.output = folder / output
        self.segments = folder / f"{output}.segments"
        self.environment = os.environ | {"CJ2K_POLL_SECONDS": "0.3"} | (environment or {})

    def command(self, *flags):
        return [str(SCRIPTS / "encode.sh"), *map(str, flags), str(self.input), str(self.output), *self.options]

    def _settings(self):
        return {"cwd": self.folder, "text": True, "env": self.environment | {"CJ2K_FFMPEG": str(self.ff.program)}}

    def run(self, *flags, ok=True):
        """Runs it and returns what it says. ok=False: it must fail with one line that names the script; None: either."""
        result = subprocess.run(self.command(*flags), capture_output=True, check=False, timeout=600, **self._settings())
        return self._checked(result.returncode, result.stdout + result.stderr, ok)

    def _checked(self, status, log, ok):
        if ok is None:
            return log
        assert (status == 0) == ok, f"exit status {status}\n{log[-4000:]}"
        if ok:
            assert self.output.exists() or not "file  " in log, log
        else:
            assert not self.output.exists(), log
            assert "encode.sh: " in log.splitlines()[-1] or status == 2, log
        return log

    def start(self, *flags):
        self.log = open(self.folder / "encode.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(self.command(*flags), stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True,
                                        **self._settings())

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def wait_for(self, condition, what, seconds=90):
        end = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < end, f"waited {seconds} s for {what}\n{self.text()[-3000:]}"
            assert self.process.poll() is None, f"encode.sh has ended before {what}\n{self.text()[-3000:]}"
            time.sleep(0.1)
        return found

    def finish(self, ok=True, seconds=240):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"encode.sh goes on after {seconds} s\n{self.text()[-3000:]}") from None
        return self._checked(self.process.returncode, self.text(), ok)

    def kill(self):
        """SIGKILL to encode.sh and all that it has started here."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def segment(self, index, ok=True, **environment):
        """segment.sh, as an engine calls it."""
        result = subprocess.run([SCRIPTS / "segment.sh", self.segments], capture_output=True, check=False,
                                text=True, env=self.environment | {"CJ2K_FFMPEG": str(self.ff.program), **environment,
                                                                   "JOB_COMPLETION_INDEX": str(index)})
        assert ok is None or (result.returncode == 0) == ok, result.stdout + result.stderr
        return result.stdout + result.stderr

    def one_encode(self, *before):
        """The packets of one ffmpeg that reads the input from begin to end."""
        alone = self.folder / "alone.mxf"
        self.ff(*before, "-i", self.folder / self.input, "-map", "0:v:0", "-fps_mode", "passthrough", "-c:v", "j2k_cuda",
                *self.options, alone)
        return self.ff.packets(alone)

    def check(self, *before):
        """The joined file has the packets of one encode, and tells them."""
        packets = self.ff.packets(self.output)
        assert packets == self.one_encode(*before)
        listed = pathlib.Path(f"{self.output}.hashes").read_text(encoding="ascii").splitlines()
        assert [tuple(line.split()) for line in listed] == packets
        assert not self.segments.exists() and not list(self.folder.glob("*.part"))

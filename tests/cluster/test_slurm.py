# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""samples/cluster/encode.sh on four nodes of a real Slurm: what fails there, and what comes of it."""

import re
import subprocess

import pytest

from slurm import NODES

# One cluster for all of them (pytest -n 2 --dist loadgroup).
pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("slurm")]
RATE = ("-b:v", "3M")
# An encode takes as long as the segment lasts, so that there is a middle of a segment.
IN_REAL_TIME = 'if [[ "$*" == *-progress* ]]; then exec "$real" -re "$@"; else exec "$real" "$@"; fi'


@pytest.fixture(name="task")
def _task(ff, job, slurm, tmp_path):
    """task(FRAMES, SCRIPT): a job whose input has FRAMES frames, run by the ffmpeg SCRIPT."""
    def make(frames, script):
        ff.film(tmp_path / "in.mkv", frames, "-c:v", "ffv1", "-g", 6)
        made = job("in.mkv", *RATE, environment={"SLURM_CONF": slurm.environment["SLURM_CONF"]})
        made.ff = ff.wrapped(tmp_path / "bin", script)
        return made
    return make


def restarts(slurm):
    return [int(n) for n in re.findall(r"Restarts=(\d+)", slurm.run("scontrol", "show", "job").stdout)]


def test_four_nodes(ff, slurm, task):
    """Each node takes tasks; GPUs are asked for and named to the encoder."""
    made = task(48, f'''if [[ "$*" == *-progress* ]]; then
  [[ "$*" == *" -device cuda:0 "* ]] || exit 1
  echo "$SLURMD_NODENAME gpu $CUDA_VISIBLE_DEVICES" >&2
  sleep 1
  exec "$real" "${{@/cuda:0/cpu}}"
fi
exec "$real" "$@"''')
    log = made.run("--segments", 8, "--gpus", 1, "--keep", "--sbatch", "--comment=film", "--max-tasks", 4)
    assert "8 tasks" in log and "segments 8 of 8, frames 48 of 48" in log
    said = "".join(path.read_text() for path in made.segments.glob("*.log"))
    assert {*re.findall(r"(n\d) gpu 0$", said, re.MULTILINE)} == set(NODES)
    shown = slurm.run("scontrol", "show", "job").stdout
    assert "Comment=film" in shown and "ArrayTaskThrottle=4" in shown
    subprocess.run(["rm", "-r", made.segments], check=True)
    made.ff = ff
    made.check()


def test_two_nodes_are_killed(ff, slurm, task):
    """SIGKILL to slurmd, slurmstepd and the tasks of two nodes in mid-segment: others take the segments over."""
    made = task(6 * 48, IN_REAL_TIME)
    made.start("--segments", 6)
    made.wait_for(lambda: len(list(made.segments.glob("*.part"))) >= 4, "four segments in the making")
    assert all(slurm.kill_node(node) >= 2 for node in ("n1", "n2")), "nothing ran there"
    made.wait_for(lambda: list(made.segments.glob("??????.sums")), "a segment")
    halves = {path.name for path in made.segments.glob("*.part")}
    log = made.finish()
    assert halves and "frames 288 of 288" in log
    assert sum(restarts(slurm)) >= 2, "no task was started again"
    made.ff = ff
    made.check()


def test_film(ff, slurm, task, tmp_path):
    """One budget, on four nodes of which one is killed while it analyses: both passes on one machine give the same packets."""
    made = task(4 * 24, IN_REAL_TIME)
    made.options = []
    flags = ("--segments", 4, "--film-rate", "1.5M")
    made.start(*flags)
    made.wait_for(lambda: made.segments.exists() and len(list(made.segments.glob("*.progress"))) == 4, "four segments in analysis")
    assert slurm.kill_node("n1") >= 2, "nothing ran there"
    log = made.finish()
    assert "analyse: segments 4 of 4, frames 96 of 96" in log and "budget      750000 of 750000 bytes" in log
    assert sum(restarts(slurm)) >= 1, "no task was started again"
    for number, output in ((1, ("-f", "null", "-")), (2, (tmp_path / "alone.mxf",))):
        ff("-i", tmp_path / "in.mkv", "-c:v", "j2k_cuda", "-b:v", "1.5M", "-pass", number, "-passlogfile", tmp_path / "film", *output)
    assert ff.packets(made.output) == ff.packets(tmp_path / "alone.mxf")


def test_requeue_limit(ff, slurm, task, tmp_path):
    """A task that is killed each time is given up; the rest is done, and the next run does what is missing, with a segment that
    was damaged since."""
    made = task(24, f'''if [[ "$*" == *-progress*000002.* && ! -e {tmp_path}/healed ]]; then kill -KILL $$; fi
exec "$real" "$@"''')
    log = made.run("--segments", 4, "--requeue-limit", 1, ok=False)
    assert "1 of 4 segments are missing: 2;" in log
    assert re.search(r"segment 2: .*given up: started again 1 times \(--requeue-limit 1\)", log)
    (tmp_path / "healed").touch()
    victim = made.segments / "000000.mxf"
    victim.write_bytes(victim.read_bytes()[:-100] + bytes(100))
    log = made.run("--segments", 4, "--keep")
    assert "segment 0 is damaged" in log and "2 segments are done and right" in log and ": 2 tasks" in log
    subprocess.run(["rm", "-r", made.segments], check=True)
    made.ff = ff
    made.check()


def test_the_controller_is_restarted(ff, slurm, task):
    """encode.sh waits for it; killed itself, it finds the array job again."""
    made = task(16 * 24, IN_REAL_TIME)
    made.start("--segments", 16)
    made.wait_for(lambda: list(made.segments.glob("*.part")), "a segment in the making")
    slurm.kill_controller()
    made.wait_for(lambda: "Slurm's controller does not answer" in made.text(), "the message", 60)
    slurm.start_controller()
    made.wait_for(lambda: slurm.queue("%i") or slurm.mend(), "tasks that run")
    made.kill()
    made.start("--segments", 16)
    log = made.finish()
    assert re.search(r"Slurm job \d+ is still there: waiting for it", log)
    made.ff = ff
    made.check()


def test_full_disk(ff, slurm, task, tmp_path):
    """The shared folder is full: the message says so, nothing is joined, and with more room the same command ends well."""
    made = task(48, 'exec "$real" "$@"')
    shared = tmp_path / "shared"
    shared.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=260k", "tmpfs", shared], check=False, capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        made.output, made.segments = shared / "out.mxf", shared / "out.mxf.segments"
        log = made.run("--segments", 4, ok=False)
        assert re.search("No space left on device|is the disk full\\?", log) and "segments are missing" in log
        subprocess.run(["mount", "-o", "remount,size=1200k", shared], check=True)
        log = made.run("--segments", 4, ok=False)
        assert "place: segments" in log and "No space left on device" in log and "segments are missing" in log
        subprocess.run(["mount", "-o", "remount,size=100m", shared], check=True)
        made.run("--segments", 4)
        made.ff = ff
        made.check()
    finally:
        subprocess.run(["umount", shared], check=True)

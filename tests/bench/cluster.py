#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What samples/cluster costs, and how it scales:

    cluster.py measure --ffmpeg FFMPEG [--film FILM] > tests/bench/results/DATE_cluster.json
    cluster.py tables tests/bench/results/DATE_cluster.json            the Markdown of DATE_cluster_scaling.md, between its marks

`measure` runs encode.sh and segment.sh on a film of 4K, 4:2:2, 10 bits at 250 Mbit/s (a generated one in ProRes by default), and
notes processor time, which other programs on the machine hardly change. Each figure is the median of --runs runs. With Slurm
installed and as root it also measures what a task costs there (wall time, on four slurmd of its own).

`tables` puts these figures into the model that DATE_cluster_scaling.md explains. No number in the tables is typed.
"""

import argparse
import json
import os
import pathlib
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "samples/cluster"
RATE = ("-b:v", "250M")
SHORT, LONG = 2, 12  # frames of the two segments whose difference is the cost of frames

# --- measure ----------------------------------------------------------------------------------------------------------


def cpu_seconds(command, **settings):
    """Processor time of a command and all it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **settings)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode:
        sys.exit(f"{command[0]} failed: {(result.stdout + result.stderr)[-1000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median_of(runs, function):
    return statistics.median(function() for _ in range(runs))


class Bench:
    """The films, and encode.sh on them."""

    def __init__(self, ffmpeg, folder, runs):
        self.ffmpeg = ffmpeg
        self.folder = folder
        self.runs = runs
        self.environment = os.environ | {"CJ2K_FFMPEG": str(ffmpeg), "CJ2K_POLL_SECONDS": "0.2"}

    def encode(self, film, segments, *flags):
        return [SCRIPTS / "encode.sh", *flags, "--segments", segments, film, self.folder / "out.mxf", *RATE]

    def plan(self, film, segments):
        shutil.rmtree(self.folder / "out.mxf.segments", ignore_errors=True)
        (self.folder / "out.mxf").unlink(missing_ok=True)
        return cpu_seconds(self.encode(film, segments, "--plan"), env=self.environment)

    def segment(self, film, frames):
        """A task of that many frames. The film's first segment is as long."""
        self.plan(film, LONG // frames)
        return cpu_seconds([SCRIPTS / "segment.sh", self.folder / "out.mxf.segments", 0], env=self.environment)

    def join(self, film, segments):
        """The last step alone: checking, joining, reading back."""
        self.plan(film, segments)
        for index in range(segments):
            cpu_seconds([SCRIPTS / "segment.sh", self.folder / "out.mxf.segments", index], env=self.environment)

        def once():
            seconds = cpu_seconds(self.encode(film, segments, "--join", "--keep"), env=self.environment)
            (self.folder / "out.mxf").unlink()
            return seconds
        return median_of(self.runs, once)

    def copy(self, film):
        """What the join does with each packet: `concat` to MXF, and the hashes of what was written."""
        joined = self.folder / "joined.mxf"
        command = [self.ffmpeg, "-v", "error", "-nostdin", "-y"]
        return (cpu_seconds([*command, "-i", film, "-map", "0:v", "-c", "copy", joined])
                + cpu_seconds([*command, "-i", joined, "-map", "0:v", "-c", "copy", "-f", "framehash", "-hash", "murmur3", os.devnull]))

    def list_packets(self, film):
        return cpu_seconds([self.ffmpeg.with_name("ffprobe"), "-v", "error", "-select_streams", "v:0", "-show_entries",
                            "packet=pts_time,flags", "-of", "csv=p=0", film])


def slurm_task_seconds(tasks=24):
    """Wall time of a task that does nothing, times the nodes it has, and of the first one; None without Slurm."""
    sys.path.insert(0, str(ROOT / "tests/cluster"))
    from slurm import NODES, Slurm  # pylint: disable=import-error,import-outside-toplevel
    if Slurm.why_not():
        return None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cj2k-slurm-"))
    cluster = Slurm(folder)
    try:
        cluster.start()
        times = []
        for count in (1, tasks):
            begin = time.monotonic()
            cluster.run("sbatch", "--wait", f"--array=0-{count - 1}", "--output=/dev/null", "--wrap", "true")
            times.append(time.monotonic() - begin)
        return {"first_s": times[0], "next_s": max(0, times[1] - times[0]) / (tasks - 1) * len(NODES)}
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def measure(options):
    with tempfile.TemporaryDirectory(prefix="cj2k-cluster-") as name:
        folder = pathlib.Path(name)
        ffmpeg = pathlib.Path(options.ffmpeg).resolve()
        film, coded, many = folder / "film.mov", folder / "coded.mxf", folder / "many.mxf"
        command = [ffmpeg, "-v", "error", "-nostdin", "-y"]
        source = ["-i", options.film] if options.film else [
            "-f", "lavfi", "-i", "testsrc2=s=3840x2160:r=24,format=yuv422p10le"]
        cpu_seconds([*command, *source, "-map", "0:v", "-vf", "noise=alls=10:allf=t", "-frames:v", LONG, "-c:v", "prores", "-profile:v", 3, "-pix_fmt",
                     "yuv422p10le", film])
        cpu_seconds([*command, "-i", film, "-frames:v", 6, "-c:v", "j2k_cuda", *RATE, coded])
        cpu_seconds([*command, "-stream_loop", 79, "-i", coded, "-c", "copy", many])
        bench = Bench(ffmpeg, folder, options.runs)
        short, long = (median_of(options.runs, lambda n=n: bench.segment(film, n)) for n in (SHORT, LONG))
        frame = (long - short) / (LONG - SHORT)
        small = folder / "small.mkv"
        cpu_seconds([*command, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=24", "-frames:v", 32, "-c:v", "ffv1", small])
        few, more = (bench.join(small, segments) for segments in (2, 16))
        packets = 480
        longer = folder / "longer.mov"
        cpu_seconds([*command, "-stream_loop", 39, "-i", film, "-c", "copy", longer])
        result = {
            "conditions": {
                "machine": f"{platform.machine()}, {os.cpu_count()} cores, {cpu_name()}", "system": platform.platform(),
                "ffmpeg": subprocess.run([ffmpeg, "-version"], capture_output=True, text=True, check=True).stdout.split(" Copyright")[0],
                "film": f"{pathlib.Path(options.film).name if options.film else 'testsrc2 with noise'}, 3840x2160, with noise as of a film, as ProRes HQ (4:2:2, 10 bits); {' '.join(RATE)}",
                "runs": options.runs, "load": os.getloadavg()[0]},
            "frame_cpu_s": frame, "task_cpu_s": short - SHORT * frame,
            "plan_cpu_s": median_of(options.runs, lambda: bench.plan(film, 2)),
            "count_cpu_s_per_frame": (median_of(options.runs, lambda: bench.list_packets(longer))
                                      - median_of(options.runs, lambda: bench.list_packets(film))) / (39 * LONG),
            "join_cpu_s_per_frame": (median_of(options.runs, lambda: bench.copy(many))
                                     - median_of(options.runs, lambda: bench.copy(coded))) / (packets - 6),
            "join_cpu_s": few - 2 * (more - few) / 14, "join_cpu_s_per_segment": (more - few) / 14,
            "input_bytes_per_frame": film.stat().st_size / LONG, "output_bytes_per_frame": many.stat().st_size / packets,
            "slurm": slurm_task_seconds(),
        }
    json.dump(result, sys.stdout, indent=2)
    print()


def cpu_name():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "unknown")

# --- the model --------------------------------------------------------------------------------------------------------


CORES = 16           # of a node
RATE_FPS = 24
DISK = 1e9           # bytes per second of the shared folder, where a step reads or writes one after the other
FAST_DISK = 5e9      # a better one, for comparison
NODES = (1, 4, 16, 64)
LENGTHS = (("1 min", 60), ("10 min", 600), ("1 h", 3600), ("2 h", 7200))
TASKS_PER_NODE = 2   # segments for each node, so that a slow node does not hold up the rest


class Model:
    """Wall time from the measured costs. Encoding uses all cores of a node; the rest is one thread on one machine, or the disk."""

    def __init__(self, measured, disk=DISK):
        self.m = measured
        self.disk = disk
        self.frame = measured["frame_cpu_s"] / CORES

    def alone(self, frames):
        """One ffmpeg on one node."""
        return frames * self.frame

    def serial(self, frames):
        """Joining and reading back, at the speed of the processor, or of the disk: it reads and writes, then reads again. MOV and
        MXF tell their number of frames."""
        return frames * max(self.m["join_cpu_s_per_frame"], 3 * self.m["output_bytes_per_frame"] / self.disk)

    def limit(self, nodes):
        """How many times as fast as one node these are, for a film so long that nothing else counts."""
        return self.frame / (self.frame / nodes + self.serial(1))

    def on_nodes(self, frames, nodes):
        m, tasks = self.m, min(frames, nodes * TASKS_PER_NODE)
        slurm = m["slurm"] or {"first_s": 0, "next_s": 0}
        fixed = m["plan_cpu_s"] + slurm["first_s"] + m["join_cpu_s"] + tasks * m["join_cpu_s_per_segment"]
        task = m["task_cpu_s"] + slurm["next_s"] + -(-frames // tasks) * self.frame
        return fixed + self.serial(frames) + -(-tasks // nodes) * task

    def pays_from(self, nodes, share=0.5):
        """The shortest film, in seconds, that `nodes` encode in `share` or less of the time that a quarter of them takes (of one
        ffmpeg for four)."""
        def fewer(frames):
            return self.alone(frames) if nodes // 4 <= 1 else self.on_nodes(frames, nodes // 4)
        for seconds in (*range(1, 60), *range(60, 3600, 10), *range(3600, 10 * 3600, 60)):
            if self.on_nodes(seconds * RATE_FPS, nodes) <= share * fewer(seconds * RATE_FPS):
                return seconds
        return None


def minutes(seconds):
    if seconds is None:
        return "never"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def tables(measured):
    m, model = measured, Model(measured)
    lines = ["| measured | |", "|---|---|"]
    rows = [("a frame: decode, encode, hash", f"{m['frame_cpu_s']:.3f} s"), ("a task: start, checks, publishing", f"{m['task_cpu_s']:.2f} s"),
            ("encode.sh up to the first task", f"{m['plan_cpu_s']:.2f} s"),
            ("where frames must be counted: a packet of the input", f"{1e6 * m['count_cpu_s_per_frame']:.0f} us"),
            ("join: a packet, copied, read back and hashed", f"{1e3 * m['join_cpu_s_per_frame']:.2f} ms"),
            ("join: a segment more", f"{1e3 * m['join_cpu_s_per_segment']:.0f} ms"), ("join: the rest", f"{m['join_cpu_s']:.2f} s"),
            ("a frame of the input, of the output", f"{m['input_bytes_per_frame'] / 1e6:.2f} MB, {m['output_bytes_per_frame'] / 1e6:.2f} MB")]
    if m["slurm"]:
        rows += [("Slurm: an array job of one empty task (wall time)", f"{m['slurm']['first_s']:.1f} s"),
                 ("Slurm: each further task of a node (wall time)", f"{m['slurm']['next_s']:.1f} s")]
    lines += [f"| {what} | {value} |" for what, value in rows]
    lines += ["", "| nodes | " + " | ".join(name for name, _ in LENGTHS) + f" | pays from | at most | with {FAST_DISK / 1e9:.0f} GB/s |",
              "|---|" + "---|" * (len(LENGTHS) + 3), "| one ffmpeg | " + " | ".join(
                  minutes(model.alone(s * RATE_FPS)) for _, s in LENGTHS) + " | | | |"]
    for nodes in NODES:
        times = [(model.on_nodes(s * RATE_FPS, nodes), model.alone(s * RATE_FPS)) for _, s in LENGTHS]
        lines.append(f"| {nodes} | " + " | ".join(f"{minutes(t)} ({alone / t:.1f}x)" for t, alone in times)
                     + f" | {minutes(model.pays_from(nodes)) if nodes > 1 else ''} | "
                     f"{model.limit(nodes):.1f}x | {Model(measured, FAST_DISK).limit(nodes):.1f}x |")
    fps = 1 / model.frame
    lines += ["", f"| a node ({fps:.0f} frames/s) | reads | 64 nodes |", "|---|---|---|"]
    for name, size in (("ProRes HQ, as measured", m["input_bytes_per_frame"]), ("DPX, 10 bits", 3840 * 2160 * 4),
                       ("TIFF, 16 bits", 3840 * 2160 * 6)):
        lines.append(f"| {name} | {size * fps / 1e6:.0f} MB/s | {64 * size * fps / 1e9:.1f} GB/s |")
    out = m["output_bytes_per_frame"]
    lines += [f"| writes, and reads back, 250 Mbit/s | {out * fps / 1e6:.0f} MB/s | {64 * out * fps / 1e9:.1f} GB/s |",
              f"| the join, {DISK / 1e9:.0f} GB/s | {DISK / 3 / out:.0f} frames/s | |"]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("measure")
    runner.add_argument("--ffmpeg", default=ROOT / "build/ffmpeg-7.1/ffmpeg")
    runner.add_argument("--film", help="a film of 3840x2160 with 12 frames or more")
    runner.add_argument("--runs", type=int, default=3)
    commands.add_parser("tables").add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "measure":
        measure(options)
    else:
        print(tables(json.loads(options.file.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()

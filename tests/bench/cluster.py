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
import hashlib
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

    def tasks(self, segments):
        """The next step of all segments; returns the processor time of one."""
        return statistics.median(cpu_seconds([SCRIPTS / "segment.sh", self.folder / "out.mxf.segments", index], env=self.environment)
                                 for index in range(segments))

    def join(self, film, segments):
        """What is one machine's work when all segments are encoded, and a task that places one of them."""
        self.plan(film, segments)
        self.tasks(segments)
        layout = cpu_seconds(self.encode(film, segments, "--plan"), env=self.environment)
        place = self.tasks(segments)
        return layout + cpu_seconds(self.encode(film, segments, "--join", "--keep"), env=self.environment), place

    def lay_out(self, stubs, count):
        """The layout of `count` packets: what join.sh runs for each, and the list of packets."""
        sizes, joined, files = self.folder / "sizes", self.folder / "joined", self.folder / "list"
        sizes.write_text("packet 1300000 00112233445566778899aabbccddeeff\n" * count, encoding="ascii")
        files.write_text(f"file '{stubs}'\n", encoding="ascii")
        return (cpu_seconds([self.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "concat", "-safe", 0, "-i", files, "-c", "copy", "-f", "mxf",
                             joined])
                + cpu_seconds([SCRIPTS / "mxf.py", "layout", joined, sizes, self.folder / "glue", self.folder / "layout"])
                + cpu_seconds(["sed", "1,4d", sizes]) + cpu_seconds(["sha256sum", stubs]))

    def place(self, film):
        """Writing a segment to its place, reading it back and comparing."""
        data = film.read_bytes()
        output = self.folder / "placed.mxf"
        sizes = subprocess.run([self.ffmpeg.with_name("ffprobe"), "-v", "error", "-select_streams", "v", "-show_entries", "packet=size", "-of",
                                "csv=p=0", film], capture_output=True, text=True, check=True).stdout.split()
        (self.folder / "sizes").write_text("".join(f"packet {size} x\n" for size in sizes), encoding="ascii")
        cpu_seconds([SCRIPTS / "mxf.py", "stubs", film, self.folder / "placed.stubs"])
        names = [self.folder / name for name in ("placed.stubs", "sizes", "glue", "layout")]
        cpu_seconds([SCRIPTS / "mxf.py", "layout", *names])
        with open(output, "wb") as file:
            file.truncate(len(data))
        seconds = cpu_seconds([SCRIPTS / "mxf.py", "place", names[3], names[2], 0, film, hashlib.sha256(data).hexdigest(), output])
        output.unlink()
        return seconds

    def analyse(self, film, frames):
        """A task of pass 1; and film.py for 1000 such segments."""
        shutil.rmtree(self.folder / "out.mxf.segments", ignore_errors=True)
        (self.folder / "out.mxf").unlink(missing_ok=True)
        cpu_seconds([SCRIPTS / "encode.sh", "--plan", "--segments", LONG // frames, "--film-rate", RATE[1], film, self.folder / "out.mxf"],
                    env=self.environment)
        task = cpu_seconds([SCRIPTS / "segment.sh", self.folder / "out.mxf.segments", 0], env=self.environment)
        names = [self.folder / "out.mxf.segments/000000"] * 1000
        return task, cpu_seconds([SCRIPTS / "film.py", RATE[1].replace("M", "000000"), 24, 0, *names]) / (1000 * frames)

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
        film, coded, many, stubs, long_stubs = (folder / name for name in (
            "film.mov", "coded.mxf", "many.mxf", "stubs.mxf", "long_stubs.mxf"))
        command = [ffmpeg, "-v", "error", "-nostdin", "-y"]
        source = ["-i", options.film] if options.film else [
            "-f", "lavfi", "-i", "testsrc2=s=3840x2160:r=24,format=yuv422p10le"]
        cpu_seconds([*command, *source, "-map", "0:v", "-vf", "noise=alls=10:allf=t", "-frames:v", LONG, "-c:v", "prores", "-profile:v", 3, "-pix_fmt",
                     "yuv422p10le", film])
        cpu_seconds([*command, "-i", film, "-frames:v", 6, "-c:v", "j2k_cuda", *RATE, coded])
        cpu_seconds([*command, "-stream_loop", 39, "-i", coded, "-c", "copy", many])
        cpu_seconds([SCRIPTS / "mxf.py", "stubs", coded, stubs])
        packets, long_packets = 240, 24000
        cpu_seconds([*command, "-stream_loop", long_packets // 6 - 1, "-i", stubs, "-c", "copy", long_stubs])
        bench = Bench(ffmpeg, folder, options.runs)
        short, long = (median_of(options.runs, lambda n=n: bench.segment(film, n)) for n in (SHORT, LONG))
        frame = (long - short) / (LONG - SHORT)
        small = folder / "small.mkv"
        cpu_seconds([*command, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=24", "-frames:v", 32, "-c:v", "ffv1", small])
        (few, place_task), (more, _) = (tuple(statistics.median(run) for run in zip(*(bench.join(small, segments) for _ in range(options.runs))))
                                        for segments in (2, 16))
        (analysis_short, _), (analysis_long, budget) = (bench.analyse(film, frames) for frames in (SHORT, LONG))
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
            "layout_cpu_s_per_frame": (median_of(options.runs, lambda: bench.lay_out(long_stubs, long_packets))
                                       - median_of(options.runs, lambda: bench.lay_out(stubs, 6))) / (long_packets - 6),
            "place_cpu_s_per_frame": (median_of(options.runs, lambda: bench.place(many))
                                      - median_of(options.runs, lambda: bench.place(coded))) / (packets - 6),
            "place_cpu_s": place_task, "join_cpu_s": few - 2 * (more - few) / 14, "join_cpu_s_per_segment": (more - few) / 14,
            "analysis_cpu_s": (analysis_long - analysis_short) / (LONG - SHORT), "budget_cpu_s_per_frame": budget,
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
LINK = 1e9           # bytes per second between a node and the shared folder
FOLDER = 10e9        # of all nodes together, for a folder that has less than they ask for
NODES = (1, 4, 16, 64)
LENGTHS = (("1 min", 60), ("10 min", 600), ("1 h", 3600), ("2 h", 7200))
TASKS_PER_NODE = 2   # segments for each node, so that a slow node does not hold up the rest
PLACE_PASSES = 3     # a packet is read, written, and read back


class Model:
    """Wall time from the measured costs. Encoding uses all cores of a node. Placing is one thread of it, or its link. `folder` bounds
    what all nodes read and write together."""

    def __init__(self, measured, folder=float("inf")):
        self.m = measured
        self.folder = folder
        self.frame = measured["frame_cpu_s"] / CORES
        self.place = max(measured["place_cpu_s_per_frame"], PLACE_PASSES * measured["output_bytes_per_frame"] / LINK)

    def alone(self, frames):
        """One ffmpeg on one node."""
        return frames * self.frame

    def serial(self, frames):
        """The layout. MOV and MXF tell their number of frames."""
        return frames * self.m["layout_cpu_s_per_frame"]

    def shared(self, frames, nodes):
        """Encoding and placing, each at the speed of the nodes or of the folder."""
        read, out = self.m["input_bytes_per_frame"], self.m["output_bytes_per_frame"]
        return frames * (max(self.frame / nodes, (read + 2 * out) / self.folder)
                         + max(self.place / nodes, PLACE_PASSES * out / self.folder))

    def limit(self, nodes):
        """How many times as fast as one node these are, for a film so long that nothing else counts."""
        return self.frame / (self.shared(1, nodes) + self.serial(1))

    def on_nodes(self, frames, nodes):
        m, tasks = self.m, min(frames, nodes * TASKS_PER_NODE)
        slurm = m["slurm"] or {"first_s": 0, "next_s": 0}
        fixed = m["plan_cpu_s"] + 2 * slurm["first_s"] + m["join_cpu_s"] + tasks * m["join_cpu_s_per_segment"]
        rounds = -(-tasks // nodes)
        busy = rounds * -(-frames // tasks) * min(frames, nodes)  # frames, as if all nodes had as many as the busiest
        return fixed + self.serial(frames) + rounds * (m["task_cpu_s"] + m["place_cpu_s"] + 2 * slurm["next_s"]) + self.shared(busy, nodes)

    def pays_from(self, nodes, share=0.5):
        """The shortest film, in seconds, that `nodes` encode in `share` or less of the time that a quarter of them takes (of one
        ffmpeg for four)."""
        def fewer(frames):
            return self.alone(frames) if nodes // 4 <= 1 else self.on_nodes(frames, nodes // 4)
        for seconds in (*range(1, 60), *range(60, 3600, 10), *range(3600, 10 * 3600, 60)):
            if self.on_nodes(seconds * RATE_FPS, nodes) <= share * fewer(seconds * RATE_FPS):
                return seconds
        return None

    def folder_for(self, nodes, times):
        """The least folder, in steps of 0.1 GB/s, with which so many nodes can be that many times as fast as one; None: none is."""
        return next((tenths * 1e8 for tenths in range(1, 2000) if Model(self.m, tenths * 1e8).limit(nodes) >= times), None)


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
            ("placing: a packet, read, written, hashed, read back and compared", f"{1e3 * m['place_cpu_s_per_frame']:.2f} ms"),
            ("placing: a task", f"{m['place_cpu_s']:.2f} s"),
            ("one machine: a packet in the layout", f"{1e6 * m['layout_cpu_s_per_frame']:.0f} us"),
            ("one machine: a segment more", f"{1e3 * m['join_cpu_s_per_segment']:.0f} ms"), ("one machine: the rest", f"{m['join_cpu_s']:.2f} s"),
            ("with --film-rate: a frame in the analysis, in the budget",
             f"{m['analysis_cpu_s']:.3f} s, {1e6 * m['budget_cpu_s_per_frame']:.0f} us"),
            ("a frame of the input, of the output", f"{m['input_bytes_per_frame'] / 1e6:.2f} MB, {m['output_bytes_per_frame'] / 1e6:.2f} MB")]
    if m["slurm"]:
        rows += [("Slurm: an array job of one empty task (wall time)", f"{m['slurm']['first_s']:.1f} s"),
                 ("Slurm: each further task of a node (wall time)", f"{m['slurm']['next_s']:.1f} s")]
    lines += [f"| {what} | {value} |" for what, value in rows]
    lines += ["", "| nodes | " + " | ".join(name for name, _ in LENGTHS) + f" | pays from | at most | folder of {FOLDER / 1e9:.0f} GB/s |",
              "|---|" + "---|" * (len(LENGTHS) + 3), "| one ffmpeg | " + " | ".join(
                  minutes(model.alone(s * RATE_FPS)) for _, s in LENGTHS) + " | | | |"]
    for nodes in NODES:
        times = [(model.on_nodes(s * RATE_FPS, nodes), model.alone(s * RATE_FPS)) for _, s in LENGTHS]
        lines.append(f"| {nodes} | " + " | ".join(f"{minutes(t)} ({alone / t:.1f}x)" for t, alone in times)
                     + f" | {minutes(model.pays_from(nodes)) if nodes > 1 else ''} | "
                     f"{model.limit(nodes):.1f}x | {Model(measured, FOLDER).limit(nodes):.1f}x |")
    fps = 1 / model.frame
    lines += ["", f"| a node ({fps:.0f} frames/s) | reads | 64 nodes |", "|---|---|---|"]
    for name, size in (("ProRes HQ, as measured", m["input_bytes_per_frame"]), ("DPX, 10 bits", 3840 * 2160 * 4),
                       ("TIFF, 16 bits", 3840 * 2160 * 6)):
        lines.append(f"| {name} | {size * fps / 1e6:.0f} MB/s | {64 * size * fps / 1e9:.1f} GB/s |")
    out = m["output_bytes_per_frame"]
    place = PLACE_PASSES * out / model.place
    lines += [f"| writes, and reads back, 250 Mbit/s | {out * fps / 1e6:.0f} MB/s | {64 * out * fps / 1e9:.1f} GB/s |",
              f"| placing: reads, writes and reads back, {1 / model.place:.0f} frames/s | {place / 1e6:.0f} MB/s | {64 * place / 1e9:.1f} GB/s |"]
    lines += ["", "| for a long film, on | the folder must have |", "|---|---|"]
    for nodes, times in ((16, 12), (64, 35), (64, 40)):
        folder = model.folder_for(nodes, times)
        lines.append(f"| {nodes} nodes, {times}x | {f'{folder / 1e9:.1f} GB/s' if folder else 'never'} |")
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

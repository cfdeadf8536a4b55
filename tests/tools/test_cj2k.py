# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""cj2k: pictures of every format without loss, caps, sequences, what stops a run, errors."""

import math
import os
import pathlib
import random
import re
import resource
import shlex
import signal
import subprocess
import time

import pictures
import pytest
from pictures import decode, dpx, exr, half, pam, planes, png, pnm, segments, tiff

W, H = 60, 43


def lossless_cases():
    for depth in (8, 10, 12, 16):
        yield f"{depth}.dpx", dpx, 3, depth
    for n in (1, 3, 4):
        for depth in (8, 16):
            yield f"{n}_{depth}.tif", tiff, n, depth
    for depth in (2, 4):
        yield f"1_{depth}.tif", tiff, 1, depth
        yield f"1_{depth}.png", png, 1, depth
    yield "mm.tiff", lambda *a: tiff(*a, order=">"), 3, 16
    for n, depth in ((1, 1), (1, 4), (1, 8), (1, 12), (3, 7), (3, 8), (3, 10), (3, 16)):
        yield f"{n}_{depth}.pnm", pnm, n, depth
    for n in (1, 2, 3, 4):
        for depth in (1, 5, 8, 12, 16):
            yield f"{n}_{depth}.pam", pam, n, depth
    for n in (1, 2, 3, 4):
        for depth in (8, 16):
            yield f"{n}_{depth}.png", png, n, depth


@pytest.mark.parametrize("name,write,components,depth", lossless_cases(), ids=lambda v: v if isinstance(v, str) else "")
def test_lossless(cj2k, tmp_path, name, write, components, depth):
    samples = planes(W, H, components, depth)
    (tmp_path / name).write_bytes(write(W, H, samples, depth))
    cj2k("-i", name, "-o", "out.jp2", "--lossless")
    assert decode(tmp_path / "out.jp2", tmp_path) == [(depth, plane) for plane in samples]
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.posix
def test_pipe(cj2k, tmp_path):
    """A pipe has no size: the memory for its bytes grows, here twice."""
    (tmp_path / "a.ppm").write_bytes(pnm(300, 200, planes(300, 200, 3, 8), 8))
    os.mkfifo(tmp_path / "pipe.ppm")
    with subprocess.Popen(["sh", "-c", "cat a.ppm > pipe.ppm"], cwd=tmp_path):
        cj2k("-i", "pipe.ppm", "-o", "pipe.j2k", "--lossless")
    cj2k("-i", "a.ppm", "-o", "a.j2k", "--lossless")
    assert (tmp_path / "pipe.j2k").read_bytes() == (tmp_path / "a.j2k").read_bytes()


def test_bitmap_and_palette(cj2k, tmp_path):
    (tmp_path / "a.pbm").write_bytes(b"P4\n10 2\n" + bytes([0b10110011, 0b01000000, 0xff, 0xc0]))
    cj2k("-i", "a.pbm", "-o", "a.j2k", "--lossless")
    assert decode(tmp_path / "a.j2k", tmp_path) == [(1, [0, 1, 0, 0, 1, 1, 0, 0, 1, 0] + [0] * 10)]
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=red:s=16x8", "-vf", "drawbox=4:2:5:3:blue:fill",
                    "-frames:v", "1", "-pix_fmt", "pal8", tmp_path / "p.png"], check=True)
    cj2k("-i", "p.png", "-o", "p.j2k", "--lossless")
    rgb = subprocess.run(["ffmpeg", "-v", "error", "-i", tmp_path / "p.png", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                         check=True, capture_output=True).stdout
    assert [plane for _, plane in decode(tmp_path / "p.j2k", tmp_path)][:3] == [list(rgb[c::3]) for c in range(3)]
    assert len(set(rgb)) > 1


def test_exr(cj2k, tmp_path):
    samples = [[half(v / 4095) for v in plane] for plane in planes(W, H, 4, 12)]
    (tmp_path / "a.exr").write_bytes(exr(W, H, samples))
    result = cj2k("-i", "a.exr", "-o", "a.j2k", "--lossless")
    assert "clipped" not in result.stderr
    expected = [(16, [round(v * 65535) for v in plane]) for plane in samples]
    decoded = decode(tmp_path / "a.j2k", tmp_path)
    assert all(abs(a - b) <= 1 for (_, p), (_, q) in zip(decoded, expected) for a, b in zip(p, q))
    assert sum(a != b for (_, p), (_, q) in zip(decoded, expected) for a, b in zip(p, q)) <= 5  # halves only
    samples[0][:3] = [-0.5, 1.5, math.nan]
    (tmp_path / "b.exr").write_bytes(exr(W, H, samples))
    assert "b.exr: 3 samples outside 0 to 1 are clipped" in cj2k("-i", "b.exr", "-o", "b.j2k", "--lossless").stderr
    assert decode(tmp_path / "b.j2k", tmp_path)[0][1][:3] == [0, 65535, 0]
    try:
        cj2k("-i", "a.exr", "-o", "c.j2k", "--lossless", "--trc", "bt709")
    except AssertionError:  # FFmpeg 9.0
        cj2k("-i", "a.exr", "-o", "c.j2k", "--trc", "bt709", fails=2, words=("a.exr: --trc needs FFmpeg 8.1 or older",))
        return
    linear, curve = decoded[1][1], decode(tmp_path / "c.j2k", tmp_path)[1][1]
    assert all(c >= v for v, c in zip(linear, curve)) and curve != linear
    cj2k("-i", "a.exr", "-o", "d.j2k", "--trc", "no_such_curve", fails=2, words=("a.exr", "no_such_curve"))


def test_cap_to_the_byte(cj2k, tmp_path):
    (tmp_path / "a.ppm").write_bytes(pnm(200, 150, planes(200, 150, 3, 8), 8))
    for coder in "ebcot", "ht":
        for cap in 4000, 9999, 20001:
            cj2k("-i", "a.ppm", "-o", "a.j2k", "--target_bytes", cap, "--coder", coder, "--cblk=16x16")
            assert 0.97 * cap <= (tmp_path / "a.j2k").stat().st_size <= cap
    cj2k("-i", "a.ppm", "-o", "a.jp2", "--bitrate", "4M", "--fps", "24000/1001")
    cap = 4000000 * 1001 // 8 // 24000
    assert 0.97 * cap <= (tmp_path / "a.jp2").stat().st_size <= cap


def test_depth(cj2k, tmp_path):
    samples = planes(W, H, 3, 12)
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, [[v << 4 for v in plane] for plane in samples], 16))
    cj2k("-i", "a.ppm", "-o", "a.j2k", "--lossless", "--depth", 12)
    assert decode(tmp_path / "a.j2k", tmp_path) == [(12, plane) for plane in samples]
    cj2k("-i", "a.ppm", "-o", "b.j2k", "--lossless", "--depth", 8, fails=1, words=("a.ppm", "low"))
    cj2k("-i", "a.ppm", "-o", "b.j2k", "--lossless", "--depth", 8, "--low_bits", "cut")
    assert decode(tmp_path / "b.j2k", tmp_path) == [(8, [v >> 4 for v in plane]) for plane in samples]
    (tmp_path / "c.ppm").write_bytes(pnm(W, H, samples, 12))
    cj2k("-i", "c.ppm", "-o", "c.j2k", "--depth", 14, fails=2, words=("c.ppm", "14", "12 bits"))
    cj2k("-i", "a.ppm", "-o", "d.j2k", "--profile", "cinema2k", "--fps", 24)
    assert segments((tmp_path / "d.j2k").read_bytes())[0xff51][:2] == b"\0\x03"


def test_containers(cj2k, tmp_path):
    samples = planes(W, H, 3, 8)
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, samples, 8))
    for name, begin in (("a.jph", b"\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14ftypjph "), ("a.jhc", b"\xff\x4f\xff\x51"),
                        ("a.JP2", b"\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14ftypjp2 "), ("a.j2c", b"\xff\x4f\xff\x51")):
        cj2k("-i", "a.ppm", "-o", name, "--lossless")
        assert (tmp_path / name).read_bytes().startswith(begin)
        is_ht = 0xff50 in segments((tmp_path / name).read_bytes()) if begin[0] else name == "a.jph"
        assert is_ht == (name in ("a.jph", "a.jhc"))
    assert [plane for _, plane in decode(tmp_path / "a.jph", tmp_path)] == samples
    cj2k("-i", "a.ppm", "-o", "a.jph", "--coder", "ebcot", fails=2, words=("a.jph", "ebcot"))
    cj2k("-i", "a.ppm", "-o", "a.mj2", fails=2, words=("a.mj2", "extension"))


def make_sequence(folder, count, first=1, size=(W, H)):
    folder.mkdir(exist_ok=True)
    for n in range(first, first + count):
        samples = planes(*size, 3, 10, seed=n)
        (folder / f"f_{n:04d}.dpx").write_bytes(dpx(*size, samples, 10))


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_sequences(cj2k, tmp_path):
    make_sequence(tmp_path / "in", 5, first=8)
    cj2k("-i", "in/f_%04d.dpx", "-o", "out_%d.j2c", "--lossless")
    expected = [f"out_{n}.j2c" for n in range(8, 13)]
    assert sorted(f.name for f in tmp_path.glob("*.j2c")) == sorted(expected)
    whole = [(tmp_path / name).read_bytes() for name in expected]
    assert len(set(whole)) == 5  # in order, each its own frame
    for n, data in zip(range(8, 13), whole):
        assert decode(tmp_path / f"out_{n}.j2c", tmp_path) == [(10, p) for p in planes(W, H, 3, 10, seed=n)]
    # A folder and a glob, other numbers of threads: the same bytes.
    cj2k("-i", "in", "-o", "folder/", "--ext", "j2c", "--lossless", "--threads", 1, "--readers", 1)
    assert names(tmp_path / "folder") == [f"f_{n:04d}.j2c" for n in range(8, 13)]
    cj2k("-i", "in/*.dpx", "-o", "glob/x%03d.j2k", "--lossless", fails=1, words=("glob/x000.j2k",))
    (tmp_path / "glob").mkdir()
    cj2k("-i", "in/*.dpx", "-o", "glob/x%03d.j2k", "--lossless", "--readers", 3)
    for kind in "folder", "glob":
        assert [file.read_bytes() for file in sorted((tmp_path / kind).iterdir())] == whole
    # A range, and other numbers.
    cj2k("-i", "in/f_%04d.dpx", "-o", "r_%03d.j2k", "--first", 9, "--last", 10, "--start", 0, "--lossless")
    assert [(tmp_path / f"r_{n:03d}.j2k").read_bytes() for n in (0, 1)] == whole[1:3]
    assert not (tmp_path / "r_002.j2k").exists()


def test_stat_and_psnr(cj2k, tmp_path):
    make_sequence(tmp_path / "in", 3)
    result = cj2k("-i", "in/f_%04d.dpx", "-o", "o_%04d.j2k", "--target_bytes", 3000, "--psnr", "--stat", "stat.tsv", "--fps",
                  25)
    head, *rows = [line.split("\t") for line in (tmp_path / "stat.tsv").read_text().splitlines()]
    assert head == ["frame", "input", "output", "bytes", "ms", "psnr", "psnr_components"] and len(rows) == 3
    for n, (number, source, output, size, ms, psnr, components) in enumerate(rows, 1):
        assert (int(number), source, output) == (n, f"in/f_{n:04d}.dpx", f"o_{n:04d}.j2k")
        assert int(size) == (tmp_path / output).stat().st_size and float(ms) > 0
        samples, decoded = planes(W, H, 3, 10, seed=n), decode(tmp_path / output, tmp_path)
        errors = [sum((a - b) ** 2 for a, b in zip(p, q)) / len(p) for p, (_, q) in zip(samples, decoded)]
        assert float(psnr) == pytest.approx(10 * math.log10(1023 ** 2 / (sum(errors) / 3)), abs=0.05)
        for text, error in zip(components.split(","), errors):
            assert float(text) == pytest.approx(10 * math.log10(1023 ** 2 / error), abs=0.05)
    total = sum(int(row[3]) for row in rows)
    assert re.search(rf"3 frames, .* fps, {total} bytes, {total * 8 * 25 / 3e6:.1f} Mbit/s at 25 frames/s, PSNR \d\d\.\d\d dB",
                     result.stderr)
    assert result.stdout == "" and result.stderr.count("\n") == 1
    assert cj2k("-i", "in/f_0001.dpx", "-o", "o.j2k", "--stat", "-", "--quiet").stdout.count("\n") == 2
    assert "3/3 frames (100 %), " in cj2k("-i", "in", "-o", "o/", "--progress").stderr
    first = re.search(r"(\d)/3 frames \((\d+) %\)", cj2k("-i", "in", "-o", "o/", "--progress", "--threads", 1).stderr)
    assert (first[1], first[2]) == ("1", "33")
    assert cj2k("-i", "in", "-o", "o/", "--progress", "--quiet").stderr == ""


def test_formats_may_change_but_not_in_a_sequence(cj2k, tmp_path):
    make_sequence(tmp_path / "in", 2)
    make_sequence(tmp_path / "in", 1, first=3, size=(W, 30))
    cj2k("-i", "in/f_%04d.dpx", "-o", "o_%04d.j2k", "--lossless", fails=1, words=("f_0003.dpx", "60x30", "60x43"))
    assert sorted(f.name for f in tmp_path.glob("o_*")) == ["o_0001.j2k", "o_0002.j2k"]
    cj2k("-i", "in", "-o", "out/", "--lossless")
    assert names(tmp_path / "out") == [f"f_{n:04d}.j2k" for n in (1, 2, 3)]
    assert len(decode(tmp_path / "out/f_0003.j2k", tmp_path)[0][1]) == W * 30


@pytest.mark.posix
@pytest.mark.parametrize("stop,status", [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_stopped(cj2k, program, tmp_path, stop, status):
    """Only whole files stay, and --skip-existing makes the rest."""
    make_sequence(tmp_path / "in", 1, size=(480, 360))
    for n in range(2, 41):
        os.link(tmp_path / "in/f_0001.dpx", tmp_path / f"in/f_{n:04d}.dpx")
    arguments = ["-i", "in/f_%04d.dpx", "-o", "out/%04d.j2k", "--lossless", "--threads", "1", "--readers", "1"]
    (tmp_path / "out").mkdir()
    process = subprocess.Popen([program, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(list((tmp_path / "out").glob("*.j2k"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(stop)
    _, text = process.communicate(timeout=60)
    assert process.returncode == status and (status < 0 or "stopped by signal" in text), text
    done = sorted((tmp_path / "out").glob("*.j2k"))
    assert 3 <= len(done) < 40
    assert all(file.read_bytes().endswith(b"\xff\xd9") for file in done)
    assert status < 0 or not list((tmp_path / "out").glob("*.part"))
    before = {file: file.stat().st_mtime_ns for file in done}
    cj2k(*arguments, "--skip-existing")
    assert all(file.stat().st_mtime_ns == before[file] for file in done)
    cj2k("-i", "in/f_0001.dpx", "-o", "whole.j2k", "--lossless")
    for n in range(1, 41):
        assert (tmp_path / f"out/{n:04d}.j2k").read_bytes() == (tmp_path / "whole.j2k").read_bytes()


@pytest.mark.posix
def test_sequences_reuse_memory(cj2k, program, tmp_path):
    if b"GLIBC_" not in pathlib.Path(program).read_bytes():
        pytest.skip("only glibc is asked to keep what is freed")
    pages = 4096 * 4096 * 3 // resource.getpagesize()  # of a picture, more than glibc keeps by itself
    faults = []
    for frames in (6, 14):
        with open(tmp_path / "in.raw", "wb") as file:
            file.truncate(frames * 4096 * 4096 * 3)  # zeros, which take no room
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        cj2k("-i", "in.raw", "-F", "4096,4096,3,8,u", "-o", "o_%d.j2k", "--coder", "ht", "--lossless", "--threads", "1")
        faults.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before)
    assert faults[1] - faults[0] < 8 * pages // 4, faults


@pytest.mark.posix
def test_full_disk(cj2k, tmp_path):
    make_sequence(tmp_path / "in", 3, size=(160, 120))

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
        resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))

    cj2k("-i", "in/f_%04d.dpx", "-o", "o_%04d.j2k", "--lossless", fails=1, words=("o_0001.j2k", "too large"),
         preexec_fn=limit)
    assert not list(tmp_path.glob("o_*"))


@pytest.mark.parametrize("name,write,depth", [("a.dpx", dpx, 10), ("a.tif", tiff, 16), ("a.ppm", pnm, 8), ("a.png", png, 16),
                                             ("a.pam", pam, 16), ("a.exr", lambda w, h, s, d: exr(w, h, s), 1)])
def test_damaged(cj2k, tmp_path, name, write, depth):
    whole = write(W, H, planes(W, H, 3, depth), depth)
    for length in (len(whole) // 2, len(whole) - 100, 20, 3, 0):
        (tmp_path / name).write_bytes(whole[:length])
        cj2k("-i", name, "-o", "out.j2k", fails=1, words=(name,))
    assert not list(tmp_path.glob("out*"))


def test_errors(cj2k, tmp_path):
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))
    (tmp_path / "max.pgm").write_bytes(b"P5 2 2 100\n\0\0\0\0")
    (tmp_path / "text.dpx").write_text("no picture")
    (tmp_path / "empty").mkdir()
    (tmp_path / "zero.ppm").touch()
    with open(tmp_path / "large.ppm", "wb") as large:
        large.truncate(3 << 30)
    make_sequence(tmp_path / "gap", 4)
    (tmp_path / "gap/f_0003.dpx").unlink()
    make_sequence(tmp_path / "twice", 1)
    (tmp_path / "twice/f_0001.ppm").write_bytes((tmp_path / "a.ppm").read_bytes())
    io = ("-i", "a.ppm", "-o", "o.j2k")
    for status, words, arguments in (
            (2, ("-i IN",), ()), (2, ("-o OUT",), ("-i", "a.ppm")), (2, ("stray",), (*io, "stray")),
            (2, ("-i", "value"), ("-i",)), (2, ("cblk", "3x3", "4"), (*io, "--cblk", "3x3")),
            (2, ("levels", "33", "32"), (*io, "--levels=33")), (2, ("targt_bytes",), (*io, "--targt-bytes", "5")),
            (2, ("width", "picture"), (*io, "--width", 5)), (2, ("format", "extension"), (*io, "--format", "jp2")),
            (2, ("--fps",), (*io, "--bitrate", "5M")), (2, ("--bitrate", "5X"), (*io, "--bitrate", "5X")),
            (2, ("--first", "-1"), (*io, "--first", "-1")), (2, ("--first 5", "--last 4"), (*io, "--first", 5, "--last", 4)),
            (2, ("--readers", "0", "256"), (*io, "--readers", 0)), (2, ("--quiet",), (*io, "--quiet=1")),
            (2, ("-J",), (*io, "-J")), (2, ("%d",), ("-i", "a%s.ppm", "-o", "o.j2k")),
            (2, ("o.j2k", "3 frames"), ("-i", "gap/f_*", "-o", "o.j2k")),
            (2, ("--start",), (*io, "--start", 3)),
            (1, ("missing.ppm",), ("-i", "missing.ppm", "-o", "o.j2k")), (1, ("no*.ppm",), ("-i", "no*.ppm", "-o", "o/")),
            (1, ("no_%d",), ("-i", "no_%d.dpx", "-o", "o_%d.j2k")), (1, ("empty", ".dpx"), ("-i", "empty", "-o", "o/")),
            (1, ("frame 3", "missing"), ("-i", "gap/f_%04d.dpx", "-o", "o_%d.j2k")),
            (2, ("1 to 4",), ("-i", "gap/f_%04d.dpx", "-o", "o_%d.j2k", "--first", 7)),
            (2, ("f_0001.dpx", "f_0001.ppm", "f_0001.j2k"), ("-i", "twice", "-o", "o/")),
            (2, ("-o o.j2k is one file for 2 frames",), ("-i", "a.ppm", "-i", "a.ppm", "-o", "o.j2k")),
            (2, ("is one file for 2 frames",), (*io, "-in_file", "a.ppm")), (2, ("-a p", "o.j2k already"), (*io, "-a", "p")),
            (1, ("zero.ppm", "empty"), ("-i", "zero.ppm", "-o", "o.j2k")),
            (1, ("large.ppm", "2 GiB"), ("-i", "large.ppm", "-o", "o.j2k")),
            (1, ("text.dpx", "DPX"), ("-i", "text.dpx", "-o", "o.j2k")),
            (1, ("max.pgm", "100"), ("-i", "max.pgm", "-o", "o.j2k")),
            (2, ("target_bytes", "10"), (*io, "--target_bytes", 10)), (2, ("lossless",), (*io, "--lossless", "--quality", 1)),
            (2, ("imf_2k", "8 to 16"), (*io, "--profile", "imf_2k", "--depth", 4)),
            (1, ("none/o.j2k",), ("-i", "a.ppm", "-o", "none/o.j2k")),
            (1, ("none/stat",), (*io, "--stat", "none/stat"))):
        cj2k(*arguments, fails=status, words=words)
    assert not list(tmp_path.glob("o*.j2k")) and not (tmp_path / "o").exists() or not names(tmp_path / "o")


def test_every_parameter_is_an_option(cj2k, params_table):
    """But for what the picture and the name of the output decide. --help has the values and the defaults."""
    text = " ".join(cj2k("--help").stdout.split())
    decided = "width height num_components is_signed dx dy source_depth format".split()
    rows = re.findall(r"^\| `(\w+)` \|", params_table, re.M)
    assert len(rows) > 50 and set(decided) < set(rows)
    for name in rows:
        assert (f" --{name} " in text) == (name not in decided), name
    assert "Values: auto, lrcp, rlcp, rpcl, pcrl, cprl. Default: auto." in text
    for heading in "Files: Picture: Transform Codestream: Profile: Rate: How".split():
        assert f" {heading} " in text
    assert all(len(line) <= 101 for line in cj2k("-h").stdout.splitlines())
    assert re.fullmatch(r"cj2k \d+\.\d+\.\d+\n", cj2k("--version").stdout)


def main_header(path):
    """SIZ and COD without Rsiz."""
    found = segments(path.read_bytes())
    return found[0xff51][2:], found[0xff52]


FLAGS = [
    ["-r", "20", "-n", "4", "-b", "32,32", "-p", "RPCL", "-I"],
    ["-c", "[64,64],[32,32]", "-n", "5", "-b", "16,16", "-SOP", "-EPH", "-mct", "0"],
    ["-t", "32,40", "-d", "3,5", "-T", "2,1", "-M", "5", "-p", "CPRL"],
    ["-r", "30,10,5", "-TP", "R", "-p", "RLCP", "-I"],
    ["-M", "46", "-b", "8,128", "-p", "PCRL", "-GuardBits", "3"],
]


def test_several_inputs(cj2k, tmp_path):
    """In the order of -i, numbered from 0; each may be a folder or a glob."""
    make_sequence(tmp_path / "s", 2)
    for name in ("b", "a"):
        (tmp_path / f"{name}.ppm").write_bytes(pnm(20, 16, planes(20, 16, 3, 8), 8))
    cj2k("-i", "b.ppm", "-i", "a.ppm", "-i", "s", "-o", "o%d.j2k", "--stat", "s.tsv")
    rows = [line.split("\t") for line in (tmp_path / "s.tsv").read_text().splitlines()[1:]]
    assert [pathlib.PurePath(row[1]).name for row in rows] == ["b.ppm", "a.ppm", "f_0001.dpx", "f_0002.dpx"]
    assert [path for path in names(tmp_path) if path.endswith(".j2k")] == ["o0.j2k", "o1.j2k", "o2.j2k", "o3.j2k"]
    cj2k("-i", "a.ppm", "-i", "s/*.dpx", "-o", "p/", "--first", "1", "--last", "1")
    assert names(tmp_path / "p") == ["f_0001.j2k"]
    cj2k("-i", "a.ppm", "-i", "none.ppm", "-o", "p/", fails=1, words=("none.ppm: there is no such file",))
    cj2k("-i", "a.ppm", "-i", "a.ppm", "-o", "p/", fails=2, words=("both would be p/a.j2k",))


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: " ".join(flags))
@pytest.mark.parametrize("tool", ["opj_compress", "grk_compress"])
def test_flags_mean_the_same(cj2k, tmp_path, flags, tool):
    """SIZ and COD, the tile-parts and the size are those of the other encoder at the same flags."""
    (tmp_path / "a.ppm").write_bytes(pnm(128, 96, planes(128, 96, 3, 8), 8))
    theirs = list(flags)
    if tool == "grk_compress":
        theirs = [{"-SOP": "-S", "-EPH": "-E", "-mct": "-Y", "-TP": "-u", "-GuardBits": "-N"}.get(flag, flag) for flag in flags]
    subprocess.run([tool, "-i", "a.ppm", "-o", "theirs.j2k", *theirs], cwd=tmp_path, check=True, capture_output=True)
    defaults = [] if "-I" in flags else ["--wavelet", "5/3"] if "-r" in flags else ["--lossless"]
    cj2k("-i", "a.ppm", "-o", "ours.j2k", *theirs, *defaults)
    assert main_header(tmp_path / "ours.j2k") == main_header(tmp_path / "theirs.j2k")
    ours, other = [(tmp_path / name).read_bytes() for name in ("ours.j2k", "theirs.j2k")]
    assert ours.count(b"\xff\x90\0\x0a") == other.count(b"\xff\x90\0\x0a")
    assert segments(ours)[0xff5c][0] >> 5 == segments(other)[0xff5c][0] >> 5  # guard bits
    if "-r" in flags:
        cap = 128 * 96 * 3 // int(flags[1].split(",")[-1])
        assert 0.95 * cap <= len(ours) <= cap and len(other) <= 1.02 * cap
    else:
        # Not with theirs: with a tile offset, OpenJPEG 2.5.0 and Grok 10.0.5 do not get their own picture back.
        assert [plane for _, plane in decode(tmp_path / "ours.j2k", tmp_path)] == planes(128, 96, 3, 8)


def test_last_ratio_of_1_is_lossless(cj2k, tmp_path):
    """Also where that is more than the samples themselves."""
    noise = [list(random.Random(c).randbytes(64 * 48)) for c in range(3)]
    (tmp_path / "a.ppm").write_bytes(pnm(64, 48, noise, 8))
    cj2k("-i", "a.ppm", "-o", "a.j2k", "-r", "40,10,1")
    assert (tmp_path / "a.j2k").stat().st_size > 64 * 48 * 3
    assert [plane for _, plane in decode(tmp_path / "a.j2k", tmp_path)] == noise
    assert main_header(tmp_path / "a.j2k")[1][2:4] == b"\0\3"  # layers
    cj2k("-i", "a.ppm", "-o", "b.j2k", "-r", "40,10,1", "-I", fails=2, words=("wavelet", "lossless"))


@pytest.mark.parametrize("options", ["", "--coder ht", "--wavelet 5/3", "--cblk 16x16 --tile 70x60"])
def test_smallest_file_of_a_psnr(cj2k, tmp_path, options):
    (tmp_path / "a.ppm").write_bytes(pnm(128, 96, planes(128, 96, 3, 8), 8))
    sizes = []
    for db in 38, 44:
        told = cj2k("-i", "a.ppm", "-o", "a.j2k", f"--psnr={db}", *options.split()).stderr
        decoded = decode(tmp_path / "a.j2k", tmp_path)
        errors = [sum((a - b) ** 2 for a, b in zip(p, q)) / len(p) for p, (_, q) in zip(planes(128, 96, 3, 8), decoded)]
        shown = 10 * math.log10(255 ** 2 / (sum(errors) / 3))
        assert db - 0.02 < shown < db + 0.6  # 18 blocks: a point is tenths of a decibel
        assert abs(float(re.search(r"PSNR ([\d.]+) dB$", told)[1]) - shown) < 0.02
        sizes.append((tmp_path / "a.j2k").stat().st_size)
    assert sizes[0] < sizes[1]
    told = cj2k("-i", "a.ppm", "-o", "a.j2k", "--psnr", 44, "--max_frame_bytes", sizes[0], *options.split()).stderr
    assert (tmp_path / "a.j2k").stat().st_size <= sizes[0] and told.endswith(" dB, 1 below 44 dB\n")
    cj2k("-i", "a.ppm", "-o", "a.j2k", "--psnr", 0.5, fails=2, words=("--psnr: ", "[1, 200]"))
    cj2k("-i", "a.ppm", "-o", "a.j2k", "--psnr", 44, "--quality", 1, fails=2, words=("target_psnr 44 excludes quality",))


@pytest.mark.parametrize("flags,options", [
    ("-w 24", "--profile cinema2k --frame_rate 24 --cinema_rate full"),
    ("-cinema2K 48", "--profile cinema2k --frame_rate 48 --cinema_rate full"),
    ("-x 24", "--profile cinema4k --frame_rate 24 --cinema_rate full"), ("-cinema4K", "-cinema4k 24"),
    ("-IMF 2K,mainlevel=3,sublevel=1,framerate=24", "--profile imf_2k --main_level 3 --sub_level 1 --frame_rate 24"),
    ("-U SINGLE,mainlevel=2,framerate=25", "--profile broadcast_single --main_level 2 --fps 25"), ("-M 64", "--coder ht"), 
    ("-M 72", "--coder=ht --cblk_style=vsc"), ("-q 45", "--psnr 45"),
    ("-q 30,35,40", "--psnr 40 --layer_psnr 30,35"), ("-q 30,0", "--layer_psnr=30 --lossless"),
    ("-P T1=0,0,1,6,3,CPRL", "--poc 0,0,1,6,3,cprl"), ("-u C -p CPRL", "--tile_parts component --progression=cprl"),
    ("-L -X -C hello", "--plt --tlm 1 --comment hello"), ("-H 1 -threads ALL_CPUS", ""), ("-Y 0", "--mct off"),
], ids=lambda text: text)
def test_flags_stand_for_options(cj2k, tmp_path, flags, options):
    (tmp_path / "a.ppm").write_bytes(pnm(128, 96, planes(128, 96, 3, 12), 12))
    cj2k("-i", "a.ppm", "-o", "a.j2k", *flags.split())
    cj2k("-in_file", "a.ppm", "-out_file", "b.j2k", *options.split())
    assert (tmp_path / "a.j2k").read_bytes() == (tmp_path / "b.j2k").read_bytes()
    if options:
        cj2k("-i", "a.ppm", "-o", "c.j2k")
        assert (tmp_path / "a.j2k").read_bytes() != (tmp_path / "c.j2k").read_bytes()


def test_refused_flags(cj2k, tmp_path):
    (tmp_path / "a.ppm").write_bytes(pnm(W, H, planes(W, H, 3, 8), 8))
    text = cj2k("--help").stdout
    refused = re.findall(r"^    (-[^ ].*?)(?:  |$)", text[text.index("Refused:"):text.index("EXIT STATUS")], re.M)
    flags = [flag for row in refused for flag in row.split(", ")]
    assert {"-K", "-ROI", "-s", "-TargetBitDepth"} < set(flags)
    for flag in flags:
        cj2k("-i", "a.ppm", "-o", "o.j2k", flag, "1", fails=2, words=(flag + ": ",))
    for arguments, words in ((("-TP", "L"), ("-TP L", "R", "C")), (("-w", "25"), ("25", "24")), (("-b", "64"), ("-b 64",)),
                             (("-n", "0"), ("-n 0", "33")), (("-M", "200"), ("200", "127")), (("-c", "[9"), ("-c",)),
                             (("-c", "64"), ("-c 64",)), (("-IMF", "2K,level=3"), ("level=3",)), (("-mct", "2"), ("2",)),
                             (("-POC", "T2=0,0,1,6,3,CPRL"), ("T2",)), (("-p", "LCRP"), ("lcrp",)), (("-r", "0.5"), ("-r",)), (("-F", "8,8,3,8"), ("-F 8,8,3,8", "BITS")), (("-F", "8,8,3,17,u"), ("-F 17", "16")), (("-F", "0,8,3,8,u"), ("-F 0",)),
                             (("-F", "8,8,2,8,u@1x1:2x2:2x2"), ("-F", "not a list")), (("-q", "40,30,45"), ("layer_psnr[1] 30 not above",))):
        cj2k("-i", "a.ppm", "-o", "o.j2k", *arguments, fails=2, words=words)
    assert not (tmp_path / "o.j2k").exists()


def test_examples_of_the_documents(cj2k, tmp_path):
    """Those of docs/cj2k.md and --help, which are the same."""
    page = (pathlib.Path(__file__).parents[2] / "docs/cj2k.md").read_text()
    lines = re.search(r"```sh\n(.*?)```", page, re.S)[1].splitlines()
    assert lines == re.findall(r"^    (cj2k -i .*)", cj2k("--help").stdout.split("EXAMPLES")[1], re.M) and len(lines) == 5
    samples = planes(W, H, 3, 8)
    (tmp_path / "scan.tif").write_bytes(tiff(W, H, samples, 8))
    (tmp_path / "in.ppm").write_bytes(pnm(W, H, samples, 8))
    make_sequence(tmp_path, 2)
    for file in tmp_path.glob("f_*.dpx"):
        file.rename(tmp_path / f"frames_{int(file.stem[2:]):06d}.dpx")
    for folder, write, name in (("dcdm", tiff, "a.tif"), ("stills", png, "b.png")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(write(W, H, [[v << 4 for v in p] for p in planes(W, H, 3, 12)], 16))
    for line in lines:
        cj2k(*shlex.split(line)[1:])
    made = "scan.jp2 out_000001.j2c out_000002.j2c j2c/a.j2k frames.tsv stills/b.jph out.j2k"
    assert all((tmp_path / name).exists() for name in made.split())

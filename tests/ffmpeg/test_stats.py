# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What the encoder tells of its frames: the log, stats_file, PSNR, the properties of the rate."""

import json
import math
import re
import resource
import signal
import subprocess
import time

import pytest

import pixfmt
from pictures import noise, packed, smooth
from tools import bytes_per_frame, raw_input, run

W, H = 320, 240
SIZE = {"width": W, "height": H}
KEYS = """frame pts bytes cap header_bytes slope_threshold verified q measured psnr component_psnr mse component_bytes passes_coded
    passes_included passes_left passes_resumed bytes_coded frame_in_gop ms""".split()


def lines_of(path):
    text = path.read_text()
    assert not text or text.endswith("\n"), text[-200:]
    return [json.loads(line) for line in text.splitlines()]


def encoder_lines(log):
    return [line.split("] ", 1)[1] for line in log.splitlines() if line.startswith("[j2k_cuda @")]


# --- the log ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, says", [
    (("-b:v", "10M"), "50000 bytes a frame at 25/1 fps (10.0 Mbit/s), cpu, 2 threads"),
    ((), "quality 2, cpu, 2 threads"),
    (("-q:v", 0.5, "-maxrate", "12M"), "quality 0.5 within 60000 bytes a frame at 25/1 fps (12.0 Mbit/s), cpu, 2 threads"),
    (("-b:v", "12M", "-maxrate", "8M"), "40000 bytes a frame at 25/1 fps (8.0 Mbit/s), cpu, 2 threads"),
    (("-lossless", 1), "lossless, cpu, 2 threads"),
    (("-layer_rates", "20,10"), "layer_rates 20,10, cpu, 2 threads"),
    (("-qfactor", 50), "qfactor 50, cpu, 2 threads")])
def test_one_line_at_open(ff, options, says):
    lines = encoder_lines(ff.encode("-device", "cpu", "-threads", 2, *options, log="info", **SIZE).log)
    assert lines[0] == says and len(lines) == 2, lines


def test_rate_of_digital_cinema_at_open(ff):
    lines = encoder_lines(ff.encode("-device", "cpu", "-threads", 1, "-b:v", "250M", rate=24, log="info").log)
    assert lines[0] == "1302083 bytes a frame at 24/1 fps (250.0 Mbit/s), cpu, 1 thread", lines


@pytest.mark.parametrize("options, how", [((), "estimated before rounding and clipping"), (("-cj2k-params", "measure_mse=1"), "measured"),
                                          (("-flags", "+psnr"), "measured")], ids=lambda x: str(x))
def test_summary_at_close(ff, tmp_path, options, how):
    frames = smooth("rgb24", W, H, 1) + noise("rgb24", W, H, 2)
    encoded = ff.encode("-b:v", "10M", "-stats_file", tmp_path / "s.json", *options, frames=frames, log="info", **SIZE)
    line = encoder_lines(encoded.log)[-1]
    mean, mean_share, most, share, psnr, worst, worst_frame, said = re.fullmatch(
        r"3 frames of (\d+) bytes on average \(([\d.]+) % of the cap\), (\d+) at most \(([\d.]+) % of the cap\); "
        r"PSNR ([\d.]+) dB, ([\d.]+) dB at worst \(frame (\d)\), (\w[\w ]*); ms per frame: ingest [\d.]+, transform [\d.]+, "
        r"blocks [\d.]+, rate [\d.]+, packets [\d.]+", line).groups()
    sizes = [len(data) for data in encoded.packets]
    assert int(mean) == round(sum(sizes) / 3) and int(most) == max(sizes) and said == how, line
    assert mean_share == f"{sum(sizes) / 3 / 500:.2f}" and share == f"{max(sizes) / 500:.2f}", line
    frames_psnr = [frame["psnr"] for frame in lines_of(tmp_path / "s.json")]
    assert frames_psnr[int(worst_frame)] == min(frames_psnr) and abs(float(worst) - min(frames_psnr)) < 0.006, line
    error = sum(10 ** (-x / 10) for x in frames_psnr) / 3
    assert abs(float(psnr) + 10 * math.log10(error)) < 0.01, line


def test_profile_at_open(ff):
    lines = encoder_lines(ff.encode("-device", "cpu", "-threads", 1, "-profile:v", "cinema2k", fmt="xyz12le", rate=24, width=64,
                                    height=48, log="info").log)
    assert re.fullmatch(r"cinema2k, 1197916 bytes a frame at 24/1 fps \(230.0 Mbit/s\), cpu, 1 thread", lines[0]), lines


def test_summary_without_a_cap(ff):
    line = encoder_lines(ff.encode("-lossless", 1, log="info", **SIZE).log)[-1]
    assert re.match(r"1 frame of \d+ bytes on average, \d+ at most; lossless; ms per frame: ", line), line


def test_no_summary_without_frames(ff):
    log = ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:d=0.2", "-vf", "select=0", "-c:v", "j2k_cuda", "-f", "null",
                    "-", log="info").text
    assert "ms per frame" not in log, log


def three_sizes(ff, folder):
    """Two pictures, then one of another size, which is an error. Returns the arguments of the input."""
    for n, size in enumerate(("64x48", "64x48", "80x48")):
        ff.ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={size}", "-frames:v", 1, folder / f"{n}.png")
    return "-framerate", 25, "-i", folder / "%d.png", "-noautoscale"


def test_summary_and_stats_after_an_error(ff, tmp_path):
    result = ff.ffmpeg(*three_sizes(ff, tmp_path), "-c:v", "j2k_cuda", "-async_depth", 1, "-stats_file",
                       tmp_path / "s.json", "-f", "null", "-", ok=None, log="info")
    assert "Frame 2 is 80x48" in result.text and re.search(r"\] [12] frames? of \d+ bytes", result.text), result.text
    assert [frame["frame"] for frame in lines_of(tmp_path / "s.json")] in ([0], [0, 1])


# --- stats_file -------------------------------------------------------------------------------------------------------


def test_stats_file(ff, tmp_path):
    frames = noise("yuv422p10le", W, H, 3)
    packets = ff.packets("-b:v", "8M", "-cj2k-params", "measure_mse=1", "-stats_file", tmp_path / "s.json", fmt="yuv422p10le",
                         frames=frames, **SIZE)
    stats = lines_of(tmp_path / "s.json")
    assert [s["frame"] for s in stats] == [s["pts"] for s in stats] == [0, 1, 2]
    for s, data, samples in zip(stats, packets, frames):
        assert list(s) == KEYS, s
        assert s["bytes"] == len(data) <= s["cap"] == bytes_per_frame(8000000, 25)
        assert 0 < s["header_bytes"] < s["bytes"] and sum(s["component_bytes"]) < s["bytes"]
        assert s["passes_coded"] >= s["passes_included"] > 0 and s["passes_left"] >= 0
        assert list(s["ms"]) == ["ingest", "transform", "blocks", "rate", "packets", "saved"] and min(s["ms"].values()) >= 0
        assert s["measured"] is True and s["slope_threshold"] > 0 and s["q"] > 0
        _, shown = ff.ffmpeg_samples(data, W, H)
        total = 0
        for a, b, mse, psnr in zip(samples, shown, s["mse"], s["component_psnr"]):
            error = sum((x - y) ** 2 for x, y in zip(a, b))
            total += error
            assert abs(error / len(a) - mse) < 0.01 * mse + 0.01, (error / len(a), mse)
            assert abs(psnr - 10 * math.log10(1023**2 / mse)) < 0.001
        assert abs(s["psnr"] - 10 * math.log10(1023**2 * W * H * 2 / total)) < 0.05


def test_stats_of_an_estimate(ff, tmp_path):
    """After the colour transform, only the sum of the errors of red, green and blue is known."""
    ff.packets("-q:v", 4, "-stats_file", tmp_path / "s.json", frames=smooth("rgb24", W, H, 1), **SIZE)
    s = lines_of(tmp_path / "s.json")[0]
    assert s["measured"] is False and s["cap"] is None and abs(s["q"] - 4) < 0.02, s
    assert len(set(s["component_psnr"])) == 1 and abs(s["psnr"] - s["component_psnr"][0]) < 0.001, s
    assert abs(s["psnr"] - 10 * math.log10(255**2 * 3 / sum(s["mse"]))) < 0.001, s


def test_stats_of_lossless(ff, tmp_path):
    """JSON has no infinity."""
    ff.packets("-lossless", 1, "-stats_file", tmp_path / "s.json")
    s = lines_of(tmp_path / "s.json")[0]
    assert s["psnr"] is None and s["component_psnr"] == [None] * 3 and s["q"] == 0 and s["mse"] == [0, 0, 0], s


@pytest.mark.parametrize("path, says", [("no/such/folder/s.json", "No such file or directory"), (".", "Is a directory")])
def test_stats_file_that_cannot_be_opened(ff, tmp_path, path, says):
    ff.check_refused("-stats_file", tmp_path / path, says=[f"stats_file {tmp_path / path}: {says}"])


def test_full_disk(ff):
    """No packet is lost. One line says what happened."""
    encoded = ff.encode("-stats_file", "/dev/full", frames=noise("rgb24", 64, 48, 5), width=64, height=48)
    lines = encoder_lines(encoded.log)
    assert len(encoded.packets) == 5 and lines == [
        "stats_file /dev/full: No space left on device; it ends before frame 0, and encoding goes on"], encoded.log


def test_disk_that_fills_in_mid_line(ff, tmp_path):
    """The file ends with a whole line."""
    path, frames = tmp_path / "s.json", noise("rgb24", 64, 48, 5)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    command = [ff.program, "-hide_banner", "-loglevel", "warning", *raw_input("rgb24", 64, 48, 25), "-c:v", "j2k_cuda",
               "-stats_file", path, "-f", "null", "-"]
    result = subprocess.run([str(x) for x in command], input=packed("rgb24", 64, 48, frames), capture_output=True,
                            preexec_fn=limit, timeout=100)
    log = result.stderr.decode()
    count = len(lines_of(path))
    assert result.returncode == 0 and 1 <= count <= 3, (count, log)
    assert f"stats_file {path}: File too large; it ends before frame {count}, and encoding goes on" in log, log


def test_lines_are_whole_when_the_program_is_killed(ff, tmp_path):
    path = tmp_path / "s.json"
    command = [ff.program, "-loglevel", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-c:v",
               "j2k_cuda", "-stats_file", path, "-f", "null", "-"]
    process = subprocess.Popen([str(x) for x in command])
    try:
        for _ in range(600):
            if path.exists() and path.stat().st_size > 20000:
                break
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    assert [s["frame"] for s in lines_of(path)] == list(range(len(lines_of(path)))) and len(lines_of(path)) > 20


def test_failed_frame_has_a_line(ff, tmp_path):
    """api_test.c lets frame 2 of 4 fail."""
    program = ff.program.with_name("api_test")
    if not program.exists():
        pytest.skip("no api_test beside ffmpeg")
    path = tmp_path / "s.json"
    assert run(program, path).stdout == b"0 failures\n"
    stats = lines_of(path)
    assert [s["frame"] for s in stats] == [0, 1, 2, 3] and stats[2] == {
        "frame": 2, "pts": 102, "error": "cj2k_encoder_headline: fields 3 not in [1, 2]"}, stats
    assert list(stats[3]) == KEYS


# --- PSNR and the progress line ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ["yuv420p", "gbrp12le", "gray10le", "yuva420p10le"])
def test_psnr_is_that_of_the_filter(ff, tmp_path, fmt):
    kind = pixfmt.parse(fmt)
    source = packed(fmt, W, H, smooth(fmt, W, H, 1) + noise(fmt, W, H, 1))
    (tmp_path / "in.raw").write_bytes(source)
    raw = ["-f", "rawvideo", "-pixel_format", fmt, "-video_size", f"{W}x{H}", "-framerate", 25]
    stats, vstats, out = tmp_path / "s.json", tmp_path / "v.txt", tmp_path / "out.nut"
    progress = ff.ffmpeg(*raw, "-i", tmp_path / "in.raw", "-c:v", "j2k_cuda", "-b:v", "4M", "-flags", "+psnr", "-stats_file",
                         stats, "-vstats_file", vstats, out, log="info").text
    ff.ffmpeg("-i", out, "-f", "rawvideo", "-pix_fmt", fmt, tmp_path / "out.raw")
    # The paths of filters are in another language, so the file is written where the program runs.
    log = subprocess.run([str(ff.program), "-nostdin", *map(str, raw), "-i", "out.raw", *map(str, raw), "-i", "in.raw",
                          "-lavfi", "psnr=stats_file=filter.txt", "-f", "null", "-"], cwd=tmp_path, capture_output=True)
    assert log.returncode == 0, log.stderr.decode()
    names = "rgba" if kind.kind == "rgb" else "yuva"
    in_vstats = [float(x) for x in re.findall(r"PSNR= *([\d.]+) ", vstats.read_text())]
    filtered = (tmp_path / "filter.txt").read_text().splitlines()
    assert len(in_vstats) == len(filtered) == 2, vstats.read_text()
    for s, first, line in zip(lines_of(stats), in_vstats, filtered):
        want = [float(re.search(rf"psnr_{name}:([\d.]+)", line)[1]) for name in names[: kind.num_components]]
        assert max(abs(a - b) for a, b in zip(s["component_psnr"], want)) < 0.02, (s, line)
        assert abs(first - want[0]) < 0.02, (first, line)
        assert abs(s["psnr"] - float(re.search(r"psnr_avg:([\d.]+)", line)[1])) < 0.02, (s, line)
    shown = re.findall(r"PSNR=Y:(\S+) U:(\S+) V:(\S+) \*:(\S+) ", progress)  # FFmpeg 5.1 has it in its progress line
    assert bool(shown) == ("PSNR=" in progress), progress
    if shown and fmt == "yuv420p":
        for value, name in zip(map(float, shown[-1]), ("y", "u", "v", "avg")):
            mse = sum(255**2 / 10 ** (float(re.search(rf"psnr_{name}:([\d.]+)", line)[1]) / 10) for line in filtered) / 2
            assert abs(value - 10 * math.log10(255**2 / mse)) < 0.02, (shown, filtered)


@pytest.mark.parametrize("options, q", [(("-q:v", 3), 3), (("-q:v", 0.5), 0.5), ((), 2), (("-lossless", 1), 0)])
def test_progress_tells_q(ff, options, q):
    log = ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=320x240:d=0.2", "-c:v", "j2k_cuda", *options, "-f", "null", "-",
                    log="info").text
    assert re.findall(r"q=(-?[\d.]+) ", log)[-1] == f"{q:.1f}", log


def test_q_of_a_rate(ff, tmp_path):
    """The q of a frame with a rate, given as -q:v, makes a frame of about the same size."""
    kw = {"frames": smooth("rgb24", W, H, 1), **SIZE}
    data = ff.packets("-b:v", "2M", "-stats_file", tmp_path / "s.json", **kw)[0]
    q = lines_of(tmp_path / "s.json")[0]["q"]
    assert 0.9 < len(ff.packets("-q:v", q, **kw)[0]) / len(data) < 1.1


# --- the properties of the rate ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, says", [
    (("-b:v", "8M"), "8000000/0/8000000 buffer size: 320000"),
    (("-q:v", 1, "-maxrate", "16M", "-minrate", "2M"), "16000000/2000000/0 buffer size: 640000"), ((), None)])
def test_rate_properties(ff, tmp_path, options, says):
    log = ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=320x240:d=0.2:r=25", "-c:v", "j2k_cuda", *options,
                    tmp_path / "out.mov", log="info").text
    found = re.findall(r"(?:cpb|CPB properties): bitrate max/min/avg: (.*) vbv_delay", log)
    assert found == ([says] if says else []), log

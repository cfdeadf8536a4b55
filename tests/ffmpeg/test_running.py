# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""How the encoder runs: options that change no byte, the stop strategies, the log."""

import json
import os
import re
import signal
import subprocess

import pytest

from codestream import Codestream
from pictures import H, W, noise
from tools import bytes_per_frame, check_used

TEN_BIT = {"fmt": "yuv422p10le", "width": 200, "height": 120}


@pytest.fixture(scope="module")
def ten_bit_frames():
    return noise("yuv422p10le", 200, 120, 5)


@pytest.fixture(scope="module")
def ten_bit_packets(pytestconfig, ten_bit_frames):
    return pytestconfig.ff.packets(frames=ten_bit_frames, **TEN_BIT)


@pytest.mark.parametrize("options", """-threads 1 | -threads 2 | -threads 7 | -gop 1 | -gop 4 | -async_depth 1 |
    -async_depth 8 | -flags +low_delay | -device cpu | -device auto | -stop none | -gop 3 -threads 3 |
    -gop 4 -async_depth 3 | -gop 2 -flags +low_delay | -cj2k-params tier1=classic |
    -cj2k-params tier1=cibo | -cj2k-params tier1=fused |
    -stop exact -cj2k-params stop_margin=0""".split("|"), ids=str.strip)
def test_running_option_changes_no_byte(ff, ten_bit_frames, ten_bit_packets, options):
    assert ff.packets(*options.split(), frames=ten_bit_frames, **TEN_BIT) == ten_bit_packets


def test_running_options_change_no_byte_under_a_cap(ff, ten_bit_frames):
    ff.check_same(("-b:v", "1M"), ("-b:v", "1M", "-threads", 1), ("-b:v", "1M", "-threads", 7, "-gop", 5),
                  frames=ten_bit_frames, **TEN_BIT)


def frames_of(log):
    """What -loglevel verbose says of each frame."""
    return [json.loads(line[line.index("{"):]) for line in log.splitlines() if '] {"frame":' in line]


# --- stop strategies --------------------------------------------------------------------------------------------------


def test_stop_exact_codes_less_for_the_same_size(ff):
    def passes(stop):
        log = ff.encode("-b:v", "20M", "-cblk", "16x16", "-stop", stop, width=512, height=256,
                        frames=noise("rgb24", 512, 256, 1), log="verbose").log
        frame = frames_of(log)[0]
        return frame["passes_coded"], frame["passes_included"], frame["passes_left"]

    (all_coded, all_kept, none_left), (coded, kept, left) = passes("none"), passes("exact")
    assert none_left == 0 and coded + left == all_coded, (all_coded, none_left, coded, left)
    assert coded < 0.8 * all_coded, (coded, all_coded)
    assert abs(kept - all_kept) < 0.02 * all_kept, (kept, all_kept)


@pytest.mark.parametrize("stop", "none exact pst psb bpi".split())
def test_stop_keeps_the_cap(ff, stop):
    frames, cap = noise("rgb24", 512, 256, 3), bytes_per_frame(20000000, 25)
    for data in ff.packets("-b:v", "20M", "-cblk", "16x16", "-stop", stop, width=512, height=256, frames=frames):
        assert len(data) <= cap
        Codestream(data)
        if stop in ("none", "exact"):
            check_used(len(data), cap, stop)


# --- a signal ---------------------------------------------------------------------------------------------------------


def test_a_signal_drops_what_waits(ff, tmp_path):
    """ffmpeg-patch/stop.patch: after Ctrl-C only what the encoder has is finished. Without it 10 to 20 frames more follow, which wait
    in ffmpeg's queues; that of FFmpeg 5.1 has none."""
    if os.environ.get("CJ2K_STOP_PATCH") == "0":
        pytest.skip("this FFmpeg was built without the stop patch (CJ2K_STOP_PATCH=0)")
    path = tmp_path / "a.mov"
    command = [ff.program, "-hide_banner", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=3840x2160:r=24", "-c:v",
               "j2k_cuda", "-threads", "1", "-async_depth", "1", "-gop", "1", "-lossless", "1", "-progress", "pipe:1",
               "-stats_period", "0.05", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        frames = at_signal = 0
        for line in process.stdout:
            if line.startswith("frame="):
                frames = int(line.split("=")[1])
                if frames >= 20 and not at_signal:
                    at_signal = frames
                    process.send_signal(signal.SIGINT)
    assert process.returncode == 255
    assert at_signal <= frames <= at_signal + 5, f"{frames - at_signal} frames after the signal"
    info = ff.probe(path, "-count_packets", "-show_streams")["streams"][0]
    assert int(info["nb_read_packets"]) == frames, info


# --- the log ----------------------------------------------------------------------------------------------------------


def test_verbose_tells_of_every_frame(ff):
    encoded = ff.encode("-gop", 2, frames=noise("rgb24", W, H, 3), log="verbose")
    frames = frames_of(encoded.log)
    assert [(f["frame"], f["bytes"]) for f in frames] == [(n, len(p)) for n, p in enumerate(encoded.packets)], encoded.log
    assert [f["frame_in_gop"] for f in frames] == [0, 1, 0], frames
    for f in frames:
        assert f["passes_coded"] >= f["passes_included"] > 0 and 0 <= f["passes_resumed"] <= f["passes_coded"], f
        assert f["bytes_coded"] > 0.9 * f["bytes"], f  # at the default quality of noise, few bytes are left out
    # The backend and the number of threads.
    assert re.search(r"(cpu|cuda) backend", encoded.log) and "threads" in encoded.log, encoded.log


def test_nothing_is_logged_by_default(ff):
    log = ff.encode().log
    assert not log.strip(), log

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""-pass 1 and -pass 2: one budget for a film. One pass with lookahead: a mean and a reservoir."""

import base64
import math
import re

import pytest

from pictures import noise, packed
from tools import hd, raw_input, scratch_folder

W, H, EACH, RATE = 160, 120, 6, 25
FRAMES = 3 * EACH
MEAN = 4000  # bytes
BITS = MEAN * 8 * RATE


@pytest.fixture(scope="module")
def made(pytestconfig):
    """A film: a test picture, black, noise."""
    moving = pytestconfig.ff.ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={W}x{H}:r={RATE}", "-frames:v", EACH, "-pix_fmt", "gray",
                                    "-f", "rawvideo", "-").stdout
    film = moving + bytes(W * H * EACH) + packed("gray", W, H, noise("gray", W, H, EACH))
    assert len(film) == W * H * FRAMES
    return film


def options(number, log, *more, rate=RATE, film=None, size=(W, H), fmt="gray"):
    return dict(data=film, rate=rate, fmt=fmt, width=size[0], height=size[1]), ("-pass", number, "-passlogfile", log, *more)


def first(ff, log, film, *more, **kw):
    """The first pass, as users write it. Returns what it says; the log is then in the file `log`-0.log."""
    of, args = options(1, log, *more, film=film, **kw)
    return ff.ffmpeg(*raw_input(of["fmt"], of["width"], of["height"], of["rate"]), "-c:v", "j2k_cuda", *args, "-f", "null", "-",
                     data=film, log="info").text


def second(ff, log, film, *more, frames=FRAMES, **kw):
    of, args = options(2, log, *more, film=film, **kw)
    return ff.encode(*args, frames=range(frames), log="info", **of)


def refused(ff, log, film, says, *more, **kw):
    of, args = options(2, log, *more, film=film, **kw)
    return ff.check_refused(*args, frames=range(FRAMES), says=[says], **of)


def psnr(ff, packets, film):
    """PSNR of the mean error of all frames, by FFmpeg's decoder."""
    with scratch_folder() as folder:
        for n, packet in enumerate(packets):
            (folder / f"{n:04d}.j2k").write_bytes(packet)
        shown = ff.ffmpeg("-c:v", "jpeg2000", "-i", folder / "%04d.j2k", "-pix_fmt", "gray", "-f", "rawvideo", "-").stdout
    assert len(shown) == len(film)
    error = sum((a - b) * (a - b) for a, b in zip(shown, film))
    return 10 * math.log10(255 * 255 * len(film) / error)


def test_gain_at_the_same_total(ff, made, tmp_path):
    """More quality for the same bytes, and not one more."""
    equal = ff.packets("-b:v", BITS, data=made, frames=range(FRAMES), fmt="gray", width=W, height=H)
    assert "its packets have no bytes" in first(ff, tmp_path / "film", made, "-b:v", BITS)
    film = second(ff, tmp_path / "film", made, "-b:v", BITS)
    total = MEAN * FRAMES
    assert f"pass 2: {FRAMES} frames get {total} of {total} bytes, each at most {2 * MEAN}; " in film.log
    sizes = [len(packet) for packet in film.packets]
    assert 0.98 * total <= sum(sizes) <= total and max(sizes) <= 2 * MEAN
    assert min(sizes[-EACH:]) > max(sizes[:EACH]) > min(sizes[:EACH]) > max(sizes[EACH:2 * EACH])
    # Black frames alone do not use what they may. So at the total that equal frames take:
    bits = sum(map(len, equal)) * 8 * RATE // FRAMES
    fair = second(ff, tmp_path / "film", made, "-b:v", bits, "-maxrate", 2 * BITS).packets
    assert sum(map(len, fair)) <= sum(map(len, equal)) and max(map(len, fair)) <= 2 * MEAN
    assert psnr(ff, fair, made) > psnr(ff, equal, made) + 3


def test_caps_and_floors(ff, made, tmp_path):
    maxrate, minrate = BITS * 3 // 2, BITS // 2
    first(ff, tmp_path / "film", made, "-b:v", BITS, "-maxrate", maxrate, "-minrate", minrate)
    film = second(ff, tmp_path / "film", made, "-b:v", BITS, "-maxrate", maxrate, "-minrate", minrate)
    sizes = [len(packet) for packet in film.packets]
    assert min(sizes) == MEAN // 2 and 0.98 * MEAN * 3 // 2 <= max(sizes) <= MEAN * 3 // 2 and sum(sizes) <= MEAN * FRAMES
    # Other rates from the same log, which reaches as far as its cap.
    half = second(ff, tmp_path / "film", made, "-b:v", BITS // 2)
    assert f"get {MEAN // 2 * FRAMES} of {MEAN // 2 * FRAMES} bytes, each at most {MEAN}; " in half.log
    less = second(ff, tmp_path / "film", made, "-b:v", BITS, "-maxrate", BITS // 2)
    assert f"get {MEAN // 2 * FRAMES} of {MEAN * FRAMES} bytes, each at most {MEAN // 2}; " in less.log
    assert max(len(packet) for packet in less.packets) <= MEAN // 2
    refused(ff, tmp_path / "film", made, f"film log: made for frames of at most {MEAN * 3 // 2} bytes, and the cap is {2 * MEAN}",
            "-b:v", BITS)
    refused(ff, tmp_path / "film", made, f"pass 2: film: total_bytes {MEAN // 4 * FRAMES} is below", "-b:v", BITS // 4,
            "-minrate", BITS // 2)


def test_first_pass_without_a_rate(ff, made, tmp_path):
    """Its log serves any rate. With HT; and a frame time that is no whole number."""
    film, rate = made[-3 * W * H:], "24000/1001"
    first(ff, tmp_path / "film", film, "-coder", "ht", rate=rate)
    for bits in (400000, 3000000):
        total = bits * 3 * 1001 // (8 * 24000)
        coded = second(ff, tmp_path / "film", film, "-coder", "ht", "-b:v", bits, frames=3, rate=rate)
        assert f"pass 2: 3 frames get {total} of {total} bytes" in coded.log
        assert 0.95 * total <= sum(map(len, coded.packets)) <= total


def test_cap_of_a_profile(ff, tmp_path):
    film = packed("yuv422p10le", W, H, noise("yuv422p10le", W, H, 2))
    more = ("-vf", hd("yuv422p10le"), "-profile:v", "imf_2k", "-main_level", 2, "-sub_level", 1, "-b:v", "10M")
    first(ff, tmp_path / "film", film, *more, fmt="yuv422p10le", rate=24)
    coded = second(ff, tmp_path / "film", film, *more, fmt="yuv422p10le", rate=24, frames=2)
    cap = 200 * 1000000 // 8 // 24
    assert f"pass 2: 2 frames get 104166 of 104166 bytes, each at most {cap}; " in coded.log


def test_bytes_are_the_same_however_it_runs(ff, made, tmp_path):
    first(ff, tmp_path / "a", made, "-b:v", BITS, "-threads", 1)
    first(ff, tmp_path / "b", made, "-b:v", BITS, "-threads", 3, "-gop", 2, "-device", "cuda", "-flags", "+psnr")
    assert (tmp_path / "a-0.log").read_bytes() == (tmp_path / "b-0.log").read_bytes()
    runs = [second(ff, tmp_path / "a", made, "-b:v", BITS, *more).packets
            for more in (("-threads", 1), ("-threads", 3, "-gop", 4), ("-flags", "+psnr"))]
    assert runs[0] == runs[1] == runs[2]


def damaged(log):
    """(what is wrong, the log, what the message says)"""
    raw = base64.b64decode(log)
    changed = bytearray(raw)
    changed[1000] ^= 1
    version = raw[:8] + b"\x63" + raw[9:]
    none = "passlogfile is not a log of pass 1 of this encoder, or it is damaged"
    yield "empty", b"", none
    yield "x264's", b"#options: 1920x1080 fps=25/1\n", none
    yield "cut", log[:len(log) // 2 // 4 * 4], "film log: "
    yield "cut in the middle of a word", log[:-1], none
    yield "longer", log + b"\n", none
    yield "a bit", base64.b64encode(changed), "film log: damaged, its hash does not match"
    yield "another version", base64.b64encode(version), "film log: version 99 "
    yield "a tail", base64.b64encode(raw + raw[-576:]), "film log: "


def test_damaged_logs(ff, made, tmp_path):
    first(ff, tmp_path / "film", made, "-b:v", BITS)
    log = (tmp_path / "film-0.log").read_bytes()
    assert base64.b64encode(base64.b64decode(log, validate=True)) == log
    for _, bad, says in damaged(log):
        (tmp_path / "bad-0.log").write_bytes(bad)
        assert re.search("Invalid data|Error initializing output stream", refused(ff, tmp_path / "bad", made, says, "-b:v", BITS))


def test_logs_of_others(ff, made, tmp_path):
    first(ff, tmp_path / "film", made, "-b:v", BITS)
    refused(ff, tmp_path / "film", made, f"film log: of pictures of {W}x{H}, not of {W}x{H // 2}", "-b:v", BITS, size=(W, H // 2))
    other = "film log: made with other parameters of the picture, the coder or the codestream"
    for more in (("-pix_fmt", "gray10le"), ("-coder", "ht"), ("-levels", 3), ("-cblk", "32x32")):
        refused(ff, tmp_path / "film", made, other, "-b:v", BITS, *more)


def test_length_of_the_film(ff, made, tmp_path):
    short = made[:EACH * W * H]
    first(ff, tmp_path / "short", short, "-b:v", BITS)
    of, args = options(2, tmp_path / "short", "-b:v", BITS, film=made)
    log = ff.encode(*args, frames=range(FRAMES), ok=False, **of).log
    assert f"frame {EACH}: the log of pass 1 has only {EACH} frames" in log
    first(ff, tmp_path / "film", made, "-b:v", BITS)
    coded = second(ff, tmp_path / "film", short, "-b:v", BITS, frames=EACH)
    assert f"pass 2: the film has {EACH} frames, and the log of pass 1 {FRAMES}: " in coded.log
    whole = second(ff, tmp_path / "film", made, "-b:v", BITS)
    assert coded.packets == whole.packets[:EACH] and "the film has" not in whole.log


@pytest.mark.parametrize("number, more, says", [
    (1, ("-lossless", 1), "lossless"), (1, ("-q:v", 1), "quality"), (2, ("-b:v", BITS, "-qfactor", 90), "qfactor"),
    (1, ("-layer_rates", "20,10"), "layer_rates"), (2, ("-b:v", BITS, "-cj2k-params", "target_bytes=9000"), "target_bytes")], ids=str)
def test_what_a_pass_excludes(ff, made, tmp_path, number, more, says):
    (tmp_path / "film-0.log").write_text("Q0oyS0ZJTE0=")
    of, args = options(number, tmp_path / "film", *more, film=made)
    ff.check_refused(*args, frames=range(FRAMES), says=[f"pass {number} does not go with {says}\n"], **of)


@pytest.mark.parametrize("number, more, says", [
    (1, ("-flags", "+ildct"), "pass does not go with flags +ildct"), (2, (), "pass 2 needs b, the mean rate of the film"),
    (3, ("-b:v", BITS), "film: pass 3 not in [0, 2]")])
def test_passes_that_there_are_not(ff, made, tmp_path, number, more, says):
    (tmp_path / "film-0.log").write_text("Q0oyS0ZJTE0=")
    of, args = options(number, tmp_path / "film", *more, film=made)
    ff.check_refused(*args, frames=range(FRAMES), says=[says], **of)


# --- one pass with lookahead ------------------------------------------------------------------------------------------


def above_mean(sizes):
    """The most bytes that any frames in a row have above their mean."""
    most = above = 0
    for size in sizes:
        above = max(above, 0) + size - MEAN
        most = max(most, above)
    return most


def keeps(sizes, reservoir, cap):
    """The checker: all bytes so far are at most those of the mean, the reservoir and the cap hold."""
    so_far = all(sum(sizes[:n]) <= n * MEAN for n in range(len(sizes) + 1))
    return so_far and above_mean(sizes) <= reservoir and max(sizes) <= cap


def one_pass(ff, film, *more, frames=FRAMES):
    return ff.encode("-b:v", BITS, "-maxrate", 2 * BITS, *more, data=film, frames=range(frames), rate=RATE, fmt="gray", width=W,
                     height=H, log="info")


def test_lookahead(ff, made, tmp_path):
    """More quality than with equal frames, and the reservoir is never exceeded. Two passes do not keep it: the checker sees it."""
    equal = ff.packets("-b:v", BITS, data=made, frames=range(FRAMES), fmt="gray", width=W, height=H)
    coded = one_pass(ff, made)
    assert (f"one pass with lookahead: mean {BITS} bit/s, each frame at most {2 * MEAN} bytes, reservoir {2 * MEAN * RATE} bytes, "
            f"{RATE} frames ahead; cpu") in coded.log
    sizes = [len(packet) for packet in coded.packets]
    assert keeps(sizes, 2 * MEAN * RATE, 2 * MEAN) and min(sizes[-EACH:]) > MEAN, sizes
    assert psnr(ff, coded.packets, made) > psnr(ff, equal, made) + 1
    for bufsize in (3 * MEAN, 8 * MEAN * 3 + 7, 8 * MEAN * 8):
        sizes = [len(packet) for packet in one_pass(ff, made, "-bufsize", bufsize).packets]
        assert keeps(sizes, bufsize // 8, 2 * MEAN), sizes
    first(ff, tmp_path / "film", made, "-b:v", BITS)
    sizes = [len(packet) for packet in second(ff, tmp_path / "film", made, "-b:v", BITS).packets]
    assert not keeps(sizes, 3 * MEAN, 2 * MEAN), sizes


def test_lookahead_is_deterministic(ff, made):
    """Threads change no byte. Frames beyond the lookahead change none either."""
    ahead = ("-rc-lookahead", 4)
    film = one_pass(ff, made, *ahead).packets
    for more in (("-threads", 1), ("-threads", 3, "-gop", 2), ("-flags", "+psnr")):
        assert one_pass(ff, made, *ahead, *more).packets == film
    cut = 3 * EACH - 4
    assert one_pass(ff, made[:cut * W * H], *ahead, frames=cut).packets[:cut - 4] == film[:cut - 4]
    assert keeps([len(packet) for packet in one_pass(ff, made, "-rc-lookahead", 0, "-coder", "ht").packets], 2 * MEAN * RATE, 2 * MEAN)


def test_lookahead_is_asked_for(ff, made):
    """maxrate at or below b: every frame has the same cap, as without maxrate."""
    same = dict(data=made, frames=range(FRAMES), fmt="gray", width=W, height=H)
    plain = ff.encode("-b:v", BITS, log="info", **same)
    assert "lookahead" not in plain.log and f"{MEAN} bytes a frame" in plain.log
    assert ff.packets("-b:v", BITS, "-maxrate", BITS, **same) == plain.packets
    capped = ff.encode("-b:v", BITS, "-maxrate", 2 * BITS, "-q:v", 0.5, log="info", **same)
    assert "lookahead" not in capped.log and "quality 0.5 within" in capped.log
    floor = one_pass(ff, made, "-minrate", BITS // 2)
    assert min(map(len, floor.packets)) == MEAN // 2
    # Padding without a comment takes up to 6 bytes more.
    bare = one_pass(ff, made, "-minrate", BITS // 2, "-comment", "")
    assert MEAN // 2 <= min(map(len, bare.packets)) <= MEAN // 2 + 6


@pytest.mark.parametrize("more, says", [
    (("-flags", "+ildct"), "lookahead, as maxrate is above b, does not go with flags +ildct"),
    (("-cj2k-params", "target_bytes=1000"), "does not go with target_bytes"),
    (("-minrate", 3 * BITS // 2), f"minrate {3 * BITS // 2} is min_frame_bytes"), (("-rc-lookahead", 241), "rc-lookahead")])
def test_lookahead_refused(ff, made, more, says):
    ff.check_refused("-b:v", BITS, "-maxrate", 2 * BITS, *more, data=made, frames=range(FRAMES), fmt="gray", width=W, height=H,
                     rate=RATE, says=[says])

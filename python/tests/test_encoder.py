# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Sequences: order, states, packets, threads, memory."""

import gc
import io
import logging
import math
import os
import threading
import time
import tracemalloc

import cj2k
import numpy as np
import pytest
from conftest import picture


def frames(count, rows=48, columns=64, components=3):
    return [picture(rows, columns, components, seed=i) for i in range(count)]


def expected(pictures, **params):
    return [cj2k.encode(p, **params) for p in pictures]


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("running", [dict(threads=1), dict(threads=3, async_depth=4), dict(gop=3)])
def test_sequence(running, hold):
    pictures = frames(7)
    with cj2k.Encoder(64, 48, target_bytes=3000, **running) as encoder:
        for _ in range(2):  # an encoder is ready for another sequence
            packets = list(encoder.encode(pictures, hold=hold))
            assert [bytes(p) for p in packets] == expected(pictures, target_bytes=3000)
            assert [p.pts for p in packets] == list(range(7))


def test_samples_may_change_after_send():
    pictures = frames(4)
    buffer = np.empty_like(pictures[0])
    got = []
    with cj2k.Encoder(64, 48, async_depth=4) as encoder:
        for p in pictures:
            buffer[:] = p
            encoder.send(buffer)
        buffer[:] = 0
        encoder.drain()
        got = [bytes(p) for p in encoder]
    assert got == expected(pictures)


def test_held_samples_are_kept_alive():
    pictures = frames(6)
    with cj2k.Encoder(64, 48, async_depth=6) as encoder:
        for p in pictures:
            encoder.send(p.copy(), hold=True)
            gc.collect()
        encoder.drain()
        assert [bytes(p) for p in encoder] == expected(pictures)


def test_states():
    (frame,) = frames(1)
    with cj2k.Encoder(64, 48, async_depth=2) as encoder:
        assert encoder.receive() is None
        assert list(encoder) == []
        encoder.send(frame, pts=40, duration=5)
        encoder.send(frame)
        with pytest.raises(cj2k.Full, match="2 frames are in flight: receive a packet first") as error:
            encoder.send(frame)
        assert error.value.status == "again"
        with pytest.raises(cj2k.Full):
            encoder.send(frame, timeout=0.01)
        first = encoder.receive()
        assert (first.pts, first.duration) == (40, 5)
        encoder.drain()
        with pytest.raises(ValueError, match="takes frames again after flush"):
            encoder.send(frame)
        assert encoder.receive(timeout=math.inf).pts == 41
        with pytest.raises(EOFError):
            encoder.receive()
        with pytest.raises(EOFError):
            encoder.receive(timeout=0)
        encoder.flush()
        assert encoder.receive(timeout=0) is None
        assert not encoder.closed
    assert encoder.closed
    for call in (lambda: encoder.send(frame), encoder.receive, encoder.drain, encoder.flush, lambda: encoder.info):
        with pytest.raises(cj2k.Error, match="the encoder is closed"):
            call()
    encoder.close()


def test_limits_of_one_frame():
    (frame,) = frames(1)
    with cj2k.Encoder(64, 48, target_bytes=3000) as encoder:
        encoder.send(frame, target_bytes=1500)
        encoder.send(frame)
        encoder.drain()
        small, usual = encoder
    assert bytes(small) == cj2k.encode(frame, target_bytes=1500)
    assert bytes(usual) == cj2k.encode(frame, target_bytes=3000)
    with cj2k.Encoder(64, 48, lossless=1) as encoder:
        with pytest.raises(cj2k.Error, match="lossless 1 excludes target_bytes") as error:
            encoder.send(frame, target_bytes=1500, hold=True)
        assert error.value.pts == 0
        encoder.send(frame)  # the encoder stays usable


def test_packet(tmp_path):
    (frame,) = frames(1)
    with cj2k.Encoder(64, 48, target_bytes=3000, measure_mse=1, depth=[8, 8, 8]) as encoder:
        (packet,) = encoder.encode([frame])
        info = encoder.info
    data = bytes(packet)
    assert len(packet) == packet.size == len(data)
    assert bytes(memoryview(packet)) == data and memoryview(packet).readonly
    assert io.BytesIO(packet).getvalue() == data
    (tmp_path / "a.j2k").write_bytes(packet)
    assert (tmp_path / "a.j2k").read_bytes() == data
    assert np.frombuffer(packet, np.uint8).tobytes() == data
    assert repr(packet) == f"<cj2k.Packet: {len(data)} bytes, pts 0>"
    assert packet.blocks == info.num_blocks and info.backend == "cpu"
    assert sum(packet.component_bytes) < packet.size and packet.header_bytes > info.header_bytes
    assert 0 < packet.passes_included <= packet.passes_coded
    assert len(packet.mse) == len(packet.psnr) == 3
    for mse, psnr in zip(packet.mse, packet.psnr):
        assert math.isclose(psnr, 10 * math.log10(255**2 / mse))
    assert set(packet.stage_ms) == {"ingest", "transform", "blocks", "rate", "packets"}
    assert sum(packet.stage_ms.values()) > 0
    for name in ("passes_resumed", "passes_left", "bytes_coded", "saved_ms", "rounds", "slope_threshold", "frame_in_gop", "verified"):
        assert getattr(packet, name) >= 0


def test_psnr_is_that_of_the_decoded_picture(decode):
    frame = picture(64, 80, 1, np.uint16, 12)
    for params, low in ((dict(target_bytes=2500), 20), (dict(lossless=1), math.inf)):
        with cj2k.Encoder(80, 64, num_components=1, depth=12, measure_mse=1, **params) as encoder:
            (packet,) = encoder.encode([frame])
        (got,) = decode(bytes(packet), [frame])
        mse = np.mean((got.astype(float) - frame) ** 2)
        psnr = 10 * math.log10(4095**2 / mse) if mse else math.inf
        assert packet.psnr[0] == pytest.approx(psnr, abs=0.05) and psnr >= low
    with cj2k.Encoder(80, 64, num_components=1, depth=12) as encoder:
        (packet,) = encoder.encode([frame])
    assert packet.psnr is None and packet.mse[0] > 0


def test_a_packet_outlives_its_encoder():
    (frame,) = frames(1)
    with cj2k.Encoder(64, 48) as encoder:
        (packet,) = encoder.encode([frame])
    view = memoryview(packet)
    want = bytes(packet)
    del encoder, packet
    gc.collect()
    assert bytes(view) == want


def test_two_threads_on_one_encoder():
    pictures = frames(20)
    got = []
    with cj2k.Encoder(64, 48, threads=2, async_depth=3) as encoder:
        receiver = threading.Thread(target=lambda: got.extend(encoder.packets()))
        receiver.start()
        for i, p in enumerate(pictures):
            encoder.send(p, hold=i % 2 == 0, timeout=None)
        encoder.drain()
        receiver.join(60)
    assert [p.pts for p in got] == list(range(20))
    assert [bytes(p) for p in got] == expected(pictures)


def test_many_encoders_at_a_time():
    pictures = frames(6)
    want = expected(pictures, target_bytes=2000)
    failed = []

    def work():
        with cj2k.Encoder(64, 48, threads=2, target_bytes=2000) as encoder:
            for _ in range(3):
                if [bytes(p) for p in encoder.encode(pictures, hold=True)] != want:
                    failed.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failed and not any(thread.is_alive() for thread in threads)


def test_the_gil_is_released():
    """While a picture is coded on one thread, another thread of Python runs."""
    noise = np.random.default_rng(1).integers(0, 65536, (1000, 1000), dtype=np.uint16)
    stamps, done = [], threading.Event()

    def tick():
        while not done.is_set():
            stamps.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    cj2k.encode(noise, lossless=1, threads=1)
    end = time.perf_counter()
    done.set()
    thread.join()
    inside = sum(begin < t < end for t in stamps)
    assert inside >= 5, f"{inside} ticks in {end - begin:.3f} s"


def test_close_while_another_thread_waits():
    with cj2k.Encoder(64, 48) as encoder:
        errors = []

        def wait():
            try:
                encoder.receive(timeout=math.inf)
            except cj2k.Error as error:
                errors.append(str(error))

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.1)
    thread.join(10)
    assert errors == ["the encoder is closed"]


def resident_kb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


@pytest.mark.parametrize("hold", [False, True])
def test_no_leak_over_many_frames(hold):
    big = picture(256, 256, 3)
    reversed_columns = np.ascontiguousarray(big[:, ::-1])[:, ::-1]  # copied

    def some(encoder, count):
        for i in range(count):
            encoder.send(reversed_columns if i % 2 else big.copy(), hold=hold)
            for packet in encoder:
                assert len(packet) > 0
            with pytest.raises(ValueError):
                encoder.send(big[:5])

    with cj2k.Encoder(256, 256, levels=1, target_bytes=1500) as encoder:
        some(encoder, 20)
        tracemalloc.start()
        gc.collect()
        before, resident = tracemalloc.take_snapshot(), resident_kb()
        some(encoder, 150)  # 29 MB of frames
        gc.collect()
        after = tracemalloc.take_snapshot()
        grown = sum(line.size_diff for line in after.compare_to(before, "filename") if "pytest" not in str(line.traceback))
        tracemalloc.stop()
    assert grown < 500_000
    assert resident_kb() - resident < 10_000


def test_no_leak_over_many_encoders():
    small = picture(32, 32)
    for _ in range(10):
        cj2k.encode(small)
    resident = resident_kb()
    for i in range(100):
        if i % 2:
            encoder = cj2k.Encoder(32, 32, num_components=1)
            encoder.send(small.copy(), hold=True)
            del encoder  # with a frame in flight
        else:
            with pytest.raises(cj2k.Error):
                cj2k.encode(small, levels=99)
    assert resident_kb() - resident < 10_000


def test_times_have_64_bits():
    with cj2k.Encoder(16, 16, num_components=1, async_depth=2) as encoder:
        for bad in {"pts": 1 << 63}, {"pts": -(1 << 63) - 1}, {"duration": 1 << 63}:
            with pytest.raises(ValueError, match=r"(pts|duration) -?922337203685477580\d not in"):
                encoder.send(picture(16, 16), **bad)
        encoder.send(picture(16, 16), pts=(1 << 63) - 1, duration=-1 << 63)
        encoder.drain()
        (packet,) = encoder.packets()
        assert (packet.pts, packet.duration) == ((1 << 63) - 1, -1 << 63)


def test_log_lines_go_to_logging(caplog):
    with caplog.at_level(logging.DEBUG, logger="cj2k"):
        with cj2k.Encoder(64, 48, profile="cinema2k", profile_strict=0, depth=12, frame_rate=24, cblk=64):
            pass
    warnings = [r for r in caplog.records if r.name == "cj2k" and r.levelno == logging.WARNING]
    assert warnings and "cinema2k" in warnings[0].getMessage()


def test_a_log_handler_that_raises():
    class Handler(logging.Handler):
        def emit(self, record):
            raise KeyboardInterrupt

    logger, handler = logging.getLogger("cj2k"), Handler(logging.WARNING)
    logger.addHandler(handler)
    try:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                cj2k.Encoder(64, 48, profile="cinema2k", profile_strict=0, depth=12, frame_rate=24, cblk=64)
    finally:
        logger.removeHandler(handler)
    assert threading.active_count() == 1 and len(os.listdir("/proc/self/task")) < 50


def test_pictures_of_test_media(media, decode):
    image = pytest.importorskip("PIL.Image", reason="no Pillow (python3-pil)")
    a = np.asarray(image.open(media / "kodak" / "kodim23.png").convert("RGB"))
    codestream = cj2k.encode(a, lossless=1)
    planes = [np.ascontiguousarray(a[:, :, c]) for c in range(3)]
    for got, want in zip(decode(codestream, planes), planes):
        assert np.array_equal(got, want)
    for cap in (20_000, 100_001):
        assert 0.999 * cap <= len(cj2k.encode(a, target_bytes=cap)) <= cap
    deep = np.asarray(image.open(media / "edge" / "mr_1024x1024_gray_12b.png")).astype(np.uint16)
    (got,) = decode(cj2k.encode(deep, lossless=1, coder="ht"), [deep])
    assert np.array_equal(got, deep)


def test_repr():
    with cj2k.Encoder(64, 48, depth=10, device="cpu") as encoder:
        assert repr(encoder) == "<cj2k.Encoder: 64x48, 3 components of 10 bits, cpu>"
    assert repr(encoder) == "<cj2k.Encoder: 64x48, 3 components of 10 bits, closed>"
    assert repr(cj2k.Film(64, 48)) == "<cj2k.Film: 64x48, 0 frames analysed>"

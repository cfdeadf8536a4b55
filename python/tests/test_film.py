# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Film: analysis, allocation, encode, log."""

import cj2k
import numpy as np
import pytest

ROWS, COLUMNS, FRAMES = 96, 128, 6


def film_frames():
    """From flat to noise."""
    rng = np.random.default_rng(1)
    return [np.clip(rng.normal(128, 8 * i + 0.5, (ROWS, COLUMNS, 3)), 0, 255).astype(np.uint8) for i in range(FRAMES)]


def make_film(**params):
    return cj2k.Film(COLUMNS, ROWS, max_frame_bytes=8000, cblk=16, **params)


@pytest.mark.parametrize("coder", ["ebcot", "ht"])
def test_film(coder):
    frames = film_frames()
    film = make_film(coder=coder, threads=2)
    film.analyse(frames)
    assert len(film) == FRAMES
    for curve in film.curves:
        assert len(curve.bytes) == len(curve.error) == 72
        assert list(curve.bytes) == sorted(curve.bytes, reverse=True) and list(curve.error) == sorted(curve.error)
    targets = film.allocate(24_000)
    assert sum(targets) == 24_000 and targets[5] > 2 * targets[1]
    packets = list(film.encode(frames, targets))
    assert all(0 < packet.size <= target for packet, target in zip(packets, targets))
    assert sum(packet.size for packet in packets) > 0.95 * 24_000
    assert packets[3].curve is None
    # The same as frame by frame.
    assert bytes(packets[4]) == cj2k.encode(frames[4], coder=coder, cblk=16, target_bytes=targets[4], max_frame_bytes=8000)
    # Any division of the film gives the same curves.
    other = make_film(coder=coder, threads=1)
    for begin in range(0, FRAMES, 2):
        other.analyse(frames[begin:begin + 2], hold=True)
    assert other.curves == film.curves


def test_bounds():
    film = make_film()
    film.analyse(film_frames())
    targets = film.allocate(24_000, caps=[0, 0, 0, 0, 0, 5000], floors=[2000, 0, 0, 0, 0, 0])
    assert sum(targets) == 24_000 and targets[5] <= 5000 and targets[0] >= 2000
    assert sum(film.allocate(1_000_000)) == FRAMES * 8000
    # What power is for: a smaller largest error.
    worst = [max(np.interp(target, curve.bytes[::-1], curve.error[::-1]) for target, curve in
                 zip(film.allocate(24_000, power=power), film.curves)) for power in (1, 4)]
    assert worst[1] <= worst[0] * 1.001 and film.allocate(24_000, power=4) != film.allocate(24_000)
    with pytest.raises(ValueError, match="6 frames, not 2"):
        film.allocate(24_000, caps=[1, 2])
    with pytest.raises(cj2k.Error, match="total_bytes 100"):
        film.allocate(100)
    with pytest.raises(cj2k.Error, match="power 9"):
        film.allocate(24_000, power=9)
    for name in "target_bytes", "quality", "lossless":
        with pytest.raises(ValueError, match=name):
            make_film(**{name: 1})


def test_log():
    film = make_film()
    film.analyse(film_frames())
    again = make_film(threads=1)
    again.read_log(film.log())
    assert again.curves == film.curves
    with pytest.raises(cj2k.Error, match="damaged"):
        make_film().read_log(film.log()[:-1] + b"\x7f")
    with pytest.raises(cj2k.Error, match="other parameters"):
        make_film(coder="ht").read_log(film.log())
    packet = next(cj2k.Encoder(COLUMNS, ROWS).encode(film_frames()[:1]))
    with pytest.raises(ValueError, match="no curve"):
        film.add(packet)

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Film: one budget for all frames of a sequence."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import _cj2k, _encoder, _params
from ._cj2k import Packet
from ._values import EncoderValues

if TYPE_CHECKING:
    from typing_extensions import Unpack

_CURVE = struct.Struct(f"={_cj2k._CURVE_POINTS}I{_cj2k._CURVE_POINTS}f")


class Curve(NamedTuple):
    """What a frame costs and loses where it is cut at a slope; the fields of cj2k_curve."""

    bytes: Tuple[int, ...]
    error: Tuple[float, ...]


class Film:
    """Gives frames their bytes at one slope for all, so that the same total has the least error.

    Film(width, height, *, max_frame_bytes=0, **params)

    max_frame_bytes: cap of each frame, about twice the mean. The analysis looks as far as this; 0: at
        everything, which takes longer.
    params: those of Encoder, without a rate

        film = cj2k.Film(1920, 1080, depth=10, max_frame_bytes=1_000_000)
        film.analyse(frames)
        for packet in film.encode(frames, film.allocate(total_bytes=500_000 * len(film))):
            file.write(packet)
    """

    def __init__(self, width: int, height: int, **params: Unpack[EncoderValues]) -> None:
        for name in ("target_bytes", "quality", "lossless"):
            if name in params:
                raise ValueError(f"a film has no {name}=: allocate() has its budget")
        self._size = width, height
        self._params: Dict[str, Any] = {"max_frame_bytes": 0, **params}
        self._curves: List[bytes] = []

    def __repr__(self) -> str:
        return f"<cj2k.Film: {self._size[0]}x{self._size[1]}, {len(self)} frames analysed>"

    def __len__(self) -> int:
        """Frames that have been analysed."""
        return len(self._curves)

    @property
    def curves(self) -> List[Curve]:
        """The curve of each frame that has been analysed."""
        count = _cj2k._CURVE_POINTS
        rows = [_CURVE.unpack(curve) for curve in self._curves]
        return [Curve(row[:count], row[count:]) for row in rows]

    def analyse(self, pictures: Iterable[Any], *, hold: bool = False) -> None:
        """The first pass: adds the curves of pictures. Runs on the CPU."""
        params = {**self._params, "device": "cpu"}
        with _encoder.Encoder(*self._size, _curves="only", **params) as encoder:
            for packet in encoder.encode(pictures, hold=hold):
                self.add(packet)

    def add(self, packet: Packet) -> None:
        """Adds the curve of a packet."""
        if packet.curve is None:
            raise ValueError("the packet has no curve")
        self._curves.append(packet.curve)

    def allocate(self, total_bytes: int, *, power: float = 1, caps: Optional[Sequence[int]] = None,
                 floors: Optional[Sequence[int]] = None) -> List[int]:
        """The bytes of each frame. They sum up to total_bytes or, if that is less, to the sum of the caps.

        power: 1 .. 8; the sum of the frames' errors to this power is made small. Above 1, hard frames get more.
        caps, floors: of each frame, beside max_frame_bytes and min_frame_bytes
        """
        return _cj2k.film_allocate(b"".join(self._curves), total_bytes, int(self._params["max_frame_bytes"]),
                                   int(self._params.get("min_frame_bytes", 0)), power, list(caps or ()),
                                   list(floors or ()))

    def encode(self, pictures: Iterable[Any], targets: Sequence[int], *, hold: bool = False) -> Iterator[Packet]:
        """The second pass: the packets of the pictures, each with its bytes."""
        with _encoder.Encoder(*self._size, **self._params) as encoder:
            for picture, target in zip(pictures, targets):
                encoder.send(picture, hold=hold, target_bytes=target)
                yield from encoder
            encoder.drain()
            yield from encoder

    def _raw(self) -> _cj2k.Params:
        raw = _cj2k.Params()
        width, height = self._size
        _params.fill(raw, _encoder.given_params(width, height, self._params))
        return raw

    def log(self) -> bytes:
        """The curves as the bytes of a log, which `cj2k --film-log` reads too."""
        return _cj2k.film_write_log(self._raw(), b"".join(self._curves))

    def read_log(self, log: bytes) -> None:
        """Adds the curves of a log. Raises Error if it is damaged or of other parameters."""
        curves = _cj2k.film_read_log(self._raw(), log)
        self._curves += [curves[at:at + _CURVE.size] for at in range(0, len(curves), _CURVE.size)]

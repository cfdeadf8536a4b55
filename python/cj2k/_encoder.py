# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""encode, Encoder and what they return."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from . import _cj2k, _params, _picture
from ._cj2k import Error, Packet
from ._values import ParamValues

if TYPE_CHECKING:
    from typing_extensions import Unpack

_COLOURS = {"rgb": "srgb", "yuv": "sycc", "gray": "gray", "grey": "gray", "xyz": "xyz"}


class Full(Error):
    """The encoder takes no more frames until a packet is received."""

    status = "again"
    pts = None


class Info(NamedTuple):
    """What an encoder has reserved and chosen; the fields of cj2k_info."""

    backend: str
    simd: str
    threads: int
    gop: int
    async_depth: int
    num_tiles: int
    num_blocks: int
    num_packets: int
    host_bytes: int
    header_bytes: int
    device_name: str
    device_bytes: int
    pinned_bytes: int
    tier1: str
    rsiz: int
    least_frame_bytes: int
    least_component_bytes: int
    most_frame_bytes: int


@dataclass(frozen=True)
class Device:
    """A CUDA device; the fields of cj2k_device_info."""

    index: int
    usable: bool
    name: str
    uuid: str
    memory_bytes: int
    compute: Tuple[int, int]
    #: Why the device is not usable.
    reason: str


def devices() -> List[Device]:
    """The CUDA devices of this machine, usable or not."""
    return [Device(*row) for row in _cj2k.devices()]


def _with_layout(
        params: Dict[str, Any], components: int, subsampling: Any, colour: Optional[str]) -> Dict[str, Any]:
    """The parameters, with what subsampling= and colour= stand for."""
    given = dict(params)
    if subsampling is not None:
        if "dx" in given or "dy" in given:
            raise ValueError("subsampling= excludes dx= and dy=")
        steps = _picture.subsampling_steps(subsampling, components)
        given["dx"], given["dy"] = [dx for dx, _ in steps], [dy for _, dy in steps]
    if colour is not None:
        if "colorspace" in given:
            raise ValueError("colour= excludes colorspace=")
        if colour not in _COLOURS:
            raise ValueError(f"colour {colour!r} not in {{{', '.join(_COLOURS)}}}")
        given["colorspace"] = _COLOURS[colour]
    return given


def given_params(width: int, height: int, params: Dict[str, Any]) -> Dict[str, Any]:
    """The parameters of an encoder, in the library's names."""
    given = {"subsampling": None, "colour": None, **params}
    subsampling, colour = given.pop("subsampling"), given.pop("colour")
    components = int(given.get("num_components", _cj2k.Params().get("num_components")))
    return {"width": width, "height": height, **_with_layout(given, components, subsampling, colour)}


class Encoder:
    """Encodes a sequence of pictures of one size. See also `encode`, for one picture.

    Encoder(width, height, *, subsampling=None, colour=None, icc_profile=None, jp2_boxes=None,
            cuda_context=0, cuda_stream=0, **params)

    subsampling: "4:2:0", "4:2:2", .. or pairs (dx, dy) of each component, in place of dx and dy
    colour: "rgb", "yuv", "gray" or "xyz", in place of colorspace
    icc_profile: bytes of a restricted ICC profile, for format="jp2"
    jp2_boxes: bytes of whole uuid, xml and uinf boxes, for format="jp2"
    cuda_context, cuda_stream: the application's CUcontext and CUstream, as integers

    A context manager. Leaving it closes the encoder and drops packets that were not received.
    One thread may send while another receives. Lines that the library logs go to the logger "cj2k".
    """

    def __init__(self, width: int, height: int, *, subsampling: Any = None, colour: Optional[str] = None,
                 icc_profile: Optional[bytes] = None, jp2_boxes: Optional[bytes] = None, cuda_context: int = 0,
                 cuda_stream: int = 0, _curves: str = "off", **params: Unpack[ParamValues]) -> None:
        raw = _cj2k.Params()
        _params.fill(raw, given_params(width, height, {"subsampling": subsampling, "colour": colour, **params}))
        raw.set_cuda(cuda_context, cuda_stream)
        raw.set_curves(_curves == "only")
        if icc_profile is not None:
            raw.set_icc_profile(bytes(icc_profile))
        if jp2_boxes is not None:
            raw.set_jp2_boxes(bytes(jp2_boxes))
        self._core = _cj2k.Encoder(raw)
        self._components = self._read_components()
        self._next_pts = 0

    def _numbers(self, name: str) -> List[int]:
        """The value of each component."""
        count = int(self._core.param("num_components"))
        values = [int(n) for n in self._core.param(name).split(",")]
        return values + values[-1:] * (count - len(values))

    def _read_components(self) -> List[Tuple[int, int, int, bool]]:
        """(columns, rows, bits, signed) of each component."""
        left, top = map(int, self._core.param("image_offset").split("x"))
        right, bottom = left + int(self._core.param("width")), top + int(self._core.param("height"))
        steps = zip(self._numbers("dx"), self._numbers("dy"))
        depths = zip(self._numbers("depth"), self._numbers("source_depth"))
        return [(-(-right // dx) + -left // dx, -(-bottom // dy) + -top // dy, max(depth), bool(signed))
                for (dx, dy), depth, signed in zip(steps, depths, self._numbers("is_signed"))]

    def __repr__(self) -> str:
        size = f"{self._core.param('width')}x{self._core.param('height')}"
        depth = self._core.param("depth")
        state = "closed" if self.closed else self.info.backend
        return f"<cj2k.Encoder: {size}, {len(self._components)} components of {depth} bits, {state}>"

    def __enter__(self) -> Encoder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Waits for work in flight and frees everything but packets that the caller has."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.is_closed

    @property
    def info(self) -> Info:
        """What the encoder has reserved and chosen."""
        return Info(*self._core.info())

    @property
    def params(self) -> Dict[str, str]:
        """The parameters as text, with each "chosen" and "auto" replaced by its value."""
        return {name: self._core.param(name) for name in _params.params()}

    def _views(self, picture: _picture.Picture) -> List[Tuple[Any, ...]]:
        if len(picture.planes) != len(self._components):
            raise ValueError(f"frame has {len(picture.planes)} components, the encoder {len(self._components)}")
        views = []
        for c, (plane, (columns, rows, bits, signed)) in enumerate(zip(picture.planes, self._components)):
            kind = plane.memory.type
            if (plane.columns, plane.rows) != (columns, rows):
                raise ValueError(
                    f"component {c} has {plane.rows} rows of {plane.columns} samples, the encoder {rows} of {columns}")
            if bits > 8 * plane.memory.item_bytes:
                raise ValueError(f"component {c} is {kind}, which does not hold the encoder's {bits} bits")
            if kind.startswith("i") != signed:
                raise ValueError(f"component {c} is {kind}, the encoder's is_signed is {int(signed)}")
            views.append((*plane, bits))
        return views

    def send(self, picture: Any, *, pts: Optional[int] = None, duration: int = 0, hold: bool = False,
             timeout: Optional[float] = 0, target_bytes: int = 0, max_frame_bytes: int = 0,
             max_component_bytes: int = 0, quality: float = 0) -> None:
        """Takes one picture: an array HxW or HxWxC, or a list with an array HxW for each component.

        pts: comes back with the packet; default 0, 1, 2, ..
        hold: the samples are read later, and must not change until the packet is received. Without it
            they are read before send returns, which keeps this thread busy with the first stage.
        timeout: seconds to wait for room while another thread receives; None: no limit. Then `Full`.
        target_bytes, max_frame_bytes, max_component_bytes, quality: of this frame; 0: those of the encoder.
        """
        self._send(_picture.read(picture), pts, duration, hold, timeout,
                   (target_bytes, max_frame_bytes, max_component_bytes, quality))

    def _send(self, frame: _picture.Picture, pts: Optional[int] = None, duration: int = 0, hold: bool = False,
              timeout: Optional[float] = 0, limits: Tuple[int, int, int, float] = (0, 0, 0, 0)) -> None:
        number = self._next_pts if pts is None else pts
        for name, value in ("pts", number), ("duration", duration):
            if not -1 << 63 <= value < 1 << 63:
                raise ValueError(f"{name} {value} not in [-2^63, 2^63 - 1]")
        answer = self._core.send(
            self._views(frame), number, duration, hold, -1 if timeout is None else max(0, timeout), frame.stream, *limits)
        if answer == "again":
            raise Full(f"{self.info.async_depth} frames are in flight: receive a packet first")
        if answer == "end":
            raise ValueError("the encoder drains: it takes frames again after flush")
        self._next_pts = number + 1

    def drain(self) -> None:
        """Says that no more frames come. All packets are then due."""
        self._core.drain()

    def flush(self) -> None:
        """Drops all frames in flight. The encoder is ready for a new sequence."""
        self._core.flush()
        self._next_pts = 0

    def receive(self, timeout: Optional[float] = None) -> Optional[Packet]:
        """The packet of the next frame, or None if none is due. Raises EOFError after the last.

        timeout: seconds to wait for a packet, due or not; math.inf: no limit. None if none is ready then.
        """
        if timeout is None:
            answer, packet = self._core.receive()
        else:
            answer, packet = self._core.receive_ready(-1 if timeout == math.inf else max(0, timeout))
        if answer == "end":
            raise EOFError("no more packets come: the encoder has drained")
        return packet

    def __iter__(self) -> Iterator[Packet]:
        """The packets that are due."""
        while True:
            try:
                packet = self.receive()
            except EOFError:
                return
            if packet is None:
                return
            yield packet

    def packets(self) -> Iterator[Packet]:
        """All packets until the last after `drain`, for a thread of its own beside one that sends."""
        while True:
            try:
                packet = self.receive(math.inf)
            except EOFError:
                return
            if packet is not None:
                yield packet

    def encode(self, pictures: Iterable[Any], *, hold: bool = False) -> Iterator[Packet]:
        """The packets of a whole sequence. Afterwards the encoder is ready for another."""
        for picture in pictures:
            self.send(picture, hold=hold)
            yield from self
        self.drain()
        yield from self
        self.flush()


def encode(picture: Any, *, subsampling: Any = None, colour: Optional[str] = None,
           icc_profile: Optional[bytes] = None, jp2_boxes: Optional[bytes] = None,
           **params: Unpack[ParamValues]) -> bytes:
    """Encodes one picture and returns its codestream, or JP2 file with format="jp2".

    picture: an array HxW, HxWx3 or HxWx4 (the fourth is opacity) of uint8, uint16 or bool, or a list
        with an array HxW for each component. Anything with a buffer, __dlpack__ or
        __cuda_array_interface__ is an array, and so is a Pillow image. Signed arrays are coded as
        signed samples.
    subsampling: "4:2:0", "4:2:2", .. or pairs (dx, dy) of each component; default: from the planes' sizes
    colour: "rgb", "yuv", "gray" or "xyz"; default: what the library finds. YUV 4:4:4 needs "yuv".
    depth: default 8, 16 or 1 (bool), those of the arrays. The samples are in the low bits.
    icc_profile: bytes of a restricted ICC profile, for format="jp2"
    jp2_boxes: bytes of whole uuid, xml and uinf boxes, such as XMP, for format="jp2"
    """
    frame = _picture.read(picture)
    first = frame.planes[0]
    components = len(frame.planes)
    given = _with_layout(dict(params), components, subsampling, colour)
    if "dx" not in given and "dy" not in given:
        steps = _picture.found_steps(frame)
        given["dx"], given["dy"] = [dx for dx, _ in steps], [dy for _, dy in steps]
    given.setdefault("num_components", components)
    given.setdefault("depth", frame.depth)
    given.setdefault("is_signed", frame.is_signed)
    given.setdefault("alpha", int(components in (2, 4)))
    if frame.is_cuda:
        given.setdefault("device", f"cuda:{first.memory.device}")
    with Encoder(first.columns, first.rows, icc_profile=icc_profile, jp2_boxes=jp2_boxes, **given) as encoder:
        encoder._send(frame, hold=True)
        encoder.drain()
        packet = encoder.receive()
        assert packet is not None
        return bytes(packet)


Encoder.__doc__ = _params.docstring(Encoder.__doc__ or "")
encode.__doc__ = _params.docstring(encode.__doc__ or "")

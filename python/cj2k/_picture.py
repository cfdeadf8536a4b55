# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""From arrays to the views of components that the library reads."""

from __future__ import annotations

import array
import sys
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from . import _cj2k

_TYPES = ("uint8", "uint16", "int8", "int16", "bool")
_MOST_COMPONENTS = 4
_MOST_STEP_BYTES = 64
_CUDA_STREAM_LEGACY = 1
_PILLOW_MODES = ("1", "L", "LA", "RGB", "RGBA", "I;16", "I;16B")
_KINDS = {"u": "uint", "i": "int", "f": "float", "b": "bool", "c": "complex"}


class Plane(NamedTuple):
    """A component: where its samples are."""

    memory: _cj2k.Memory
    offset: int
    stride_bytes: int
    step_bytes: int
    columns: int
    rows: int


class Picture(NamedTuple):
    planes: List[Plane]
    #: The stream that writes the samples, or 0.
    stream: int

    @property
    def is_cuda(self) -> bool:
        return self.planes[0].memory.is_cuda

    @property
    def depth(self) -> List[int]:
        """Bits of a sample, by the arrays' types."""
        return [1 if plane.memory.type == "bool" else 8 * plane.memory.item_bytes for plane in self.planes]

    @property
    def is_signed(self) -> List[bool]:
        return [plane.memory.type.startswith("i") for plane in self.planes]


def _from_cuda_interface(array: Any) -> Tuple[_cj2k.Memory, int]:
    """Version 2 or 3 of __cuda_array_interface__."""
    interface = array.__cuda_array_interface__
    typestr = interface["typestr"]
    size = int(typestr[2:])
    kind = _KINDS.get(typestr[1], typestr[1])
    name = kind if kind == "bool" else f"{kind}{8 * size}"
    if typestr[0] == ">" and size > 1:
        name = "big-endian " + name
    if interface.get("mask") is not None:
        raise TypeError("__cuda_array_interface__ with a mask is not taken")
    shape = list(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        strides, step = [0] * len(shape), size
        for i in reversed(range(len(shape))):
            strides[i], step = step, step * shape[i]
    memory = _cj2k.Memory.from_cuda(interface["data"][0], shape, list(strides), size, name, array)
    return memory, int(interface.get("stream") or 0)


def _from_pillow(image: Any) -> Any:
    """The samples of a Pillow image."""
    if image.mode in ("P", "PA"):  # the colours, not their numbers
        image = image.convert("RGBA" if image.mode == "PA" or "transparency" in image.info else "RGB")
    if image.mode not in _PILLOW_MODES:
        raise TypeError(f"Pillow image of mode {image.mode}, not in {{{', '.join(_PILLOW_MODES)}, P, PA}}: see its convert()")
    columns, rows = image.size
    if image.mode == "1":
        return memoryview(image.tobytes("raw", "L")).cast("?", (rows, columns))
    if image.mode.startswith("I;16"):
        words = array.array("H", image.tobytes())
        if (image.mode == "I;16B") != (sys.byteorder == "big"):
            words.byteswap()
        return memoryview(words).cast("B").cast("H", (rows, columns))
    bands = len(image.getbands())
    return memoryview(image.tobytes()).cast("B", (rows, columns, bands)[:3 if bands > 1 else 2])


def _memory(array: Any) -> Tuple[_cj2k.Memory, int]:
    """The memory of an array, and the stream that writes it."""
    pillow = sys.modules.get("PIL.Image")
    if pillow is not None and isinstance(array, pillow.Image):
        array = _from_pillow(array)
    try:
        return _cj2k.Memory.from_buffer(array), 0
    except TypeError:
        pass  # no buffer
    except BufferError as error:
        raise TypeError(f"{type(array).__name__} gives no buffer with strides: {error}") from None
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        on_cuda = array.__dlpack_device__()[0] in (2, 13)
        capsule = array.__dlpack__(stream=_CUDA_STREAM_LEGACY) if on_cuda else array.__dlpack__()
        return _cj2k.Memory.from_dlpack(capsule), _CUDA_STREAM_LEGACY if on_cuda else 0
    if hasattr(array, "__cuda_array_interface__"):
        return _from_cuda_interface(array)
    raise TypeError(
        f"{type(array).__name__} is no array: it has no buffer, no __dlpack__ and no __cuda_array_interface__")


def _size(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _checked(array: Any, dimensions: Tuple[int, ...]) -> Tuple[_cj2k.Memory, int]:
    memory, stream = _memory(array)
    if memory.type not in _TYPES or (memory.is_cuda and memory.type == "bool"):
        raise TypeError(f"array of {memory.type}, not in {{{', '.join(_TYPES)}}}")
    if len(memory.shape) not in dimensions:
        wanted = " or ".join({2: "HxW", 3: "HxWxC"}[n] for n in dimensions)
        raise ValueError(f"array of shape ({_size(memory.shape)}) is not {wanted}")
    if 0 in memory.shape:
        raise ValueError(f"array of shape ({_size(memory.shape)}) is empty")
    return memory, stream


def _views(memory: _cj2k.Memory, components: int) -> Optional[List[Plane]]:
    """Views of the components, or None where the library cannot take the words as they are."""
    if memory.is_foreign:
        return None
    rows, columns = memory.shape[:2]
    word = memory.item_bytes
    step = memory.strides[1] if columns > 1 else word * components
    row = (columns - 1) * step + word
    stride = memory.strides[0] if rows > 1 else row
    if not word <= step <= _MOST_STEP_BYTES or abs(stride) < row:
        return None
    distance = memory.strides[2] if components > 1 else 0
    return [Plane(memory, c * distance, stride, step, columns, rows) for c in range(components)]


def _planes(memory: _cj2k.Memory, components: int) -> List[Plane]:
    views = _views(memory, components)
    if views is None and memory.is_cuda:
        raise ValueError(
            f"device array of shape ({_size(memory.shape)}) with strides ({_size(memory.strides)}) bytes: the samples "
            f"of a row must be {memory.item_bytes} to {_MOST_STEP_BYTES} bytes apart, and rows must not overlap")
    if views is None:
        views = _views(memory.contiguous(), components)
        assert views is not None
    return views


def read(picture: Any) -> Picture:
    """Reads an array HxW or HxWxC, or a list or tuple with an array HxW for each component."""
    if isinstance(picture, (list, tuple)):
        if not 1 <= len(picture) <= _MOST_COMPONENTS:
            raise ValueError(f"{len(picture)} planes, not in [1, {_MOST_COMPONENTS}]")
        parts = [_checked(plane, (2,)) for plane in picture]
        planes = [_planes(memory, 1)[0] for memory, _ in parts]
        streams = {stream for _, stream in parts}
        if len({(p.memory.is_cuda, p.memory.device) for p in planes}) > 1:
            raise ValueError("the planes of a frame are on different devices")
        if len(streams) > 1:
            raise ValueError(f"the planes of a frame come from different streams: {sorted(streams)}")
        return Picture(planes, streams.pop())
    memory, stream = _checked(picture, (2, 3))
    components = memory.shape[2] if len(memory.shape) == 3 else 1
    if components > _MOST_COMPONENTS:
        raise ValueError(
            f"array of shape ({_size(memory.shape)}) has {components} components, not in [1, {_MOST_COMPONENTS}]; "
            "planes are given as a list")
    return Picture(_planes(memory, components), stream)


_NAMED_SUBSAMPLING = {"444": (1, 1), "422": (2, 1), "420": (2, 2), "440": (1, 2), "411": (4, 1), "410": (4, 2)}


def subsampling_steps(subsampling: Any, components: int) -> List[Tuple[int, int]]:
    """(dx, dy) of each component for "4:2:0", "420", or [(1, 1), (2, 2), (2, 2)]."""
    if isinstance(subsampling, str):
        steps = _NAMED_SUBSAMPLING.get(subsampling.replace(":", ""))
        if steps is None:
            raise ValueError(f"subsampling {subsampling!r} not in {{{', '.join(_NAMED_SUBSAMPLING)}}}")
        if components < 3 and steps != (1, 1):
            raise ValueError(f"subsampling {subsampling!r} needs 3 or 4 components, not {components}")
        return [steps if c in (1, 2) else (1, 1) for c in range(components)]
    pairs = [(int(dx), int(dy)) for dx, dy in subsampling]
    if len(pairs) != components:
        raise ValueError(f"subsampling has {len(pairs)} entries for {components} components")
    return pairs


def found_steps(picture: Picture) -> List[Tuple[int, int]]:
    """(dx, dy) of each plane, from its size beside that of the first."""
    first = picture.planes[0]
    steps = []
    for c, plane in enumerate(picture.planes):
        dx = _step(first.columns, plane.columns)
        dy = _step(first.rows, plane.rows)
        if dx == 0 or dy == 0:
            raise ValueError(
                f"plane {c} is {plane.columns}x{plane.rows}, and not {first.columns}x{first.rows} over 1, 2 or 4")
        steps.append((dx, dy))
    return steps


def _step(whole: int, part: int) -> int:
    return next((d for d in (1, 2, 4) if -(-whole // d) == part), 0)

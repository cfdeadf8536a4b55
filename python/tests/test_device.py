# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""DLPack and __cuda_array_interface__.

Without a GPU the frames in device memory are refused. The tests named test_shim_* need the module that is built on the host
implementation of the device (build/release/python/shim), where they are encoded.
"""

import ctypes

import cj2k
import numpy as np
import pytest
from cj2k import _cj2k
from conftest import picture

SHIM = hasattr(_cj2k, "DeviceWords")
CPU, CUDA, ROCM = 1, 2, 10
SIGNED, UNSIGNED, FLOAT = 0, 1, 2


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class ManagedTensor(ctypes.Structure):
    pass


Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(ManagedTensor))
ManagedTensor._fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Dlpack:
    """An array of another library: words of `like` at `address`."""

    def __init__(self, like, address, device=(CPU, 0), strides=True, byte_offset=0, code=None, bits=None, lanes=1):
        self.device, self.deleted, self.streams = device, 0, []
        self.shape = (ctypes.c_int64 * like.ndim)(*like.shape)
        self.strides = (ctypes.c_int64 * like.ndim)(*(s // like.itemsize for s in like.strides))
        code = {"u": UNSIGNED, "i": SIGNED}[like.dtype.kind] if code is None else code
        tensor = Tensor(address - byte_offset, *device, like.ndim, code, bits or 8 * like.itemsize, lanes, self.shape,
                        self.strides if strides else None, byte_offset)
        self.managed = ManagedTensor(tensor, None, Deleter(self._delete))

    def _delete(self, _):
        self.deleted += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return new_capsule(ctypes.addressof(self.managed), b"dltensor", None)


class CudaArray:
    def __init__(self, like, address, **more):
        self.__cuda_array_interface__ = {"shape": like.shape, "typestr": like.dtype.str, "data": (address, False),
                                         "version": 3, "strides": like.strides, **more}


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16])
def test_dlpack_in_host_memory(dtype):
    a = picture(21, 33, 3, dtype)
    for strided in (a, a[:, ::-1]):
        other = Dlpack(strided, strided.ctypes.data)
        assert cj2k.encode(other) == cj2k.encode(a[:, ::-1] if strided is not a else a)
        assert other.deleted == 1 and other.streams == [None]
    assert cj2k.encode(Dlpack(a, a.ctypes.data, strides=False, byte_offset=16)) == cj2k.encode(a)


def test_dlpack_is_held_until_it_has_been_read():
    a = picture(48, 64, 3)
    others = [Dlpack(a, a.ctypes.data) for _ in range(3)]
    with cj2k.Encoder(64, 48) as encoder:
        packets = list(encoder.encode(others, hold=True))
    assert [o.deleted for o in others] == [1, 1, 1]
    assert {bytes(p) for p in packets} == {cj2k.encode(a)}


@pytest.mark.parametrize("change, text", [
    (dict(code=FLOAT, bits=32), "array of DLPack type 2 of 32 bits in 1 lanes, not in {uint8"),
    (dict(lanes=4), "DLPack type 1 of 8 bits in 4 lanes"),
    (dict(bits=32), "array of uint32, not in"),
    (dict(device=(ROCM, 0)), "DLPack device type 10 not in {1 (CPU), 2 (CUDA), 3 (CUDA host), 13 (CUDA managed)}"),
])
def test_dlpack_refused(change, text):
    a = picture(8, 8)
    with pytest.raises(TypeError) as error:
        cj2k.encode(Dlpack(a, a.ctypes.data, **change))
    assert text in str(error.value)


def test_a_capsule_is_used_once():
    a = picture(8, 8)
    other = Dlpack(a, a.ctypes.data)
    capsule = other.__dlpack__()
    memory = _cj2k.Memory.from_dlpack(capsule)
    assert (memory.shape, memory.strides, memory.type) == ([8, 8], [8, 1], "uint8")
    with pytest.raises(ValueError, match='must be named "dltensor", and is used once'):
        _cj2k.Memory.from_dlpack(capsule)
    del memory
    assert other.deleted == 1


@pytest.mark.parametrize("change, error, text", [
    (dict(typestr="<f4"), TypeError, "array of float32, not in"),
    (dict(typestr=">u2"), TypeError, "array of big-endian uint16"),
    (dict(typestr="|b1"), TypeError, "array of bool"),
    (dict(mask=object()), TypeError, "with a mask"),
    (dict(shape=(4, 4, 4, 4), strides=None), ValueError, "shape (4x4x4x4) is not HxW or HxWxC"),
    (dict(strides=(8, -1)), ValueError, "device array of shape (8x8) with strides (8x-1) bytes: the samples of a row must be"),
    (dict(strides=(0, 1)), ValueError, "rows must not overlap"),
])
def test_cuda_array_refused(change, error, text):
    with pytest.raises(error) as raised:
        cj2k.encode(CudaArray(picture(8, 8), 0x10000, **change))
    assert text in str(raised.value)


def test_planes_on_different_devices():
    a = picture(8, 8)
    with pytest.raises(ValueError, match="the planes of a frame are on different devices"):
        cj2k.encode([a, CudaArray(a, 0x10000)])
    with pytest.raises(ValueError, match=r"come from different streams: \[0, 7\]"):
        cj2k.encode([CudaArray(a, 0x10000), CudaArray(a, 0x20000, stream=7)])


@pytest.mark.skipif(SHIM, reason="this module has a device")
def test_device_frames_need_a_device():
    if any(device.usable for device in cj2k.devices()):
        pytest.skip("this machine has a CUDA device")
    a = picture(48, 64, 3)
    other = Dlpack(a, 0x10000, (CUDA, 0))
    for frame in (other, CudaArray(a, 0x10000)):
        with pytest.raises(cj2k.Error, match="built without CUDA|no CUDA") as error:
            cj2k.encode(frame)
        assert error.value.status in ("not_supported", "device")
        with cj2k.Encoder(64, 48) as encoder:
            with pytest.raises(cj2k.Error, match="CUDA memory") as error:
                encoder.send(frame, hold=True)
            assert error.value.pts == 0
    assert other.deleted == 2 and other.streams == [1, 1]


@pytest.mark.skipif(not SHIM, reason="needs the module on the host implementation of the device")
@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_shim_encodes_device_frames(dtype, hold):
    assert [d.index for d in cj2k.devices() if d.usable] == [0]
    a = picture(24, 32, 3, dtype)
    want = cj2k.encode(a, device="cpu", levels=2, target_bytes=900)
    words = _cj2k.DeviceWords(a.tobytes())
    planar = _cj2k.DeviceWords(np.ascontiguousarray(a.transpose(2, 0, 1)).tobytes())
    one = a[:, :, 0].copy()
    others = [Dlpack(a, words.address, (CUDA, 0)), Dlpack(a, words.address, (CUDA, 0), strides=False),
              CudaArray(a, words.address), CudaArray(a, words.address, strides=None, stream=1),
              [CudaArray(one, planar.address + c * one.nbytes) for c in range(3)]]
    depth = 8 * a.itemsize
    with cj2k.Encoder(32, 24, device="cuda", depth=depth, levels=2, target_bytes=900, async_depth=2) as encoder:
        packets = list(encoder.encode(others, hold=hold))
        assert encoder.info.backend == "cuda"
    assert [bytes(p) == want for p in packets] == [True] * len(others)
    assert [o.deleted for o in others[:2]] == [1, 1] and others[0].streams == [1]


@pytest.mark.skipif(not SHIM, reason="needs the module on the host implementation of the device")
def test_shim_picks_the_device_of_the_frame():
    a = picture(24, 32)
    words = _cj2k.DeviceWords(a.tobytes())
    assert cj2k.encode(CudaArray(a, words.address), levels=1) == cj2k.encode(a, levels=1, device="cpu")
    with pytest.raises(cj2k.Error, match="1"):
        cj2k.encode(Dlpack(a, words.address, (CUDA, 1)))

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""cj2k: a JPEG 2000 encoder with an exact byte cap per frame.

    codestream = cj2k.encode(array, target_bytes=100_000)

    with cj2k.Encoder(1920, 1080, depth=10, target_bytes=500_000) as encoder:
        for packet in encoder.encode(frames):
            file.write(packet)

`cj2k.params()` lists the parameters.
"""

from ._cj2k import Error, Packet, version
from ._encoder import Device, Encoder, Full, Info, devices, encode
from ._film import Curve, Film
from ._params import Param, params
from ._values import EncoderValues, ParamValues

__all__ = ["Curve", "Device", "Encoder", "EncoderValues", "Error", "Film", "Full", "Info", "Packet", "Param", "ParamValues",
           "devices", "encode", "params", "version"]
__version__ = version()

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Reads the marker segments of a JPEG 2000 codestream (T.800 Annex A)."""

import struct

SOC, SIZ, COD, QCD, COM, TLM, PLT = 0xFF4F, 0xFF51, 0xFF52, 0xFF5C, 0xFF64, 0xFF55, 0xFF58
SOT, SOD, EOC, SOP = 0xFF90, 0xFF93, 0xFFD9, 0xFF91
RGN, POC = 0xFF5E, 0xFF5F
JP2_SIGNATURE = bytes.fromhex("0000000c6a5020200d0a870a")


class Codestream:
    def __init__(self, data):
        assert data[:4] == b"\xff\x4f\xff\x51", f"starts with {data[:4].hex()}, not with SOC SIZ"
        self.data = data
        self.main = {}  # marker -> list of segment bodies
        self.tile_parts = []  # (tile, Psot, {marker: bodies}, packet bytes)
        at = self._segments(2, self.main)
        while True:
            marker = self._u16(at)
            if marker == EOC:
                break
            assert marker == SOT, f"marker {marker:04x} at {at}, not SOT or EOC"
            tile, psot = struct.unpack(">HI", data[at + 4 : at + 10])
            markers = {}
            body = self._segments(at + 12, markers)
            assert self._u16(body) == SOD
            assert psot >= body + 2 - at and at + psot <= len(data) - 2, f"Psot {psot}"
            self.tile_parts.append((tile, psot, markers, data[body + 2 : at + psot]))
            at += psot
        assert at + 2 == len(data), f"{len(data) - at - 2} bytes after EOC"
        self._siz(self.main[SIZ][0])
        self._cod(self.main[COD][0])
        self.guard_bits = self.main[QCD][0][0] >> 5
        self.comments = [c[2:].decode("iso8859-15") for c in self.main.get(COM, [])]

    def _u16(self, at):
        return struct.unpack(">H", self.data[at : at + 2])[0]

    def _segments(self, at, into):
        """Reads segments up to SOT or SOD and returns its offset."""
        while (marker := self._u16(at)) not in (SOT, SOD):
            length = self._u16(at + 2)
            into.setdefault(marker, []).append(self.data[at + 4 : at + 2 + length])
            at += 2 + length
        return at

    def _siz(self, b):
        (_, x1, y1, x0, y0, self.tile_width, self.tile_height, _, _,
         num_components) = struct.unpack(">HIIIIIIIIH", b[:36])
        self.width, self.height, self.num_components = x1 - x0, y1 - y0, num_components
        components = [b[36 + 3 * c : 39 + 3 * c] for c in range(self.num_components)]
        self.depths = [(c[0] & 127) + 1 for c in components]
        self.subsampling = [(c[1], c[2]) for c in components]

    def _cod(self, b):
        self.scod = b[0]
        self.progression, self.layers, self.mct = b[1], struct.unpack(">H", b[2:4])[0], b[4]
        self.levels, self.cblk = b[5], (4 << b[6], 4 << b[7])
        self.cblk_style, self.wavelet = b[8], "5/3" if b[9] else "9/7"
        self.precincts = [(1 << (p & 15), 1 << (p >> 4)) for p in reversed(b[10:])]  # highest resolution first


def split(data):
    """The codestreams of a packet that has one for each field."""
    at = 2
    while (marker := struct.unpack(">H", data[at : at + 2])[0]) != EOC:
        at += struct.unpack(">I", data[at + 6 : at + 10])[0] if marker == SOT else 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    rest = data[at + 2 :]
    return [data[: at + 2], *(split(rest) if rest else [])]


def from_jp2(data):
    """The codestream of a JP2 file whose boxes have 32-bit lengths, and the types of its boxes."""
    assert data[:12] == JP2_SIGNATURE, f"starts with {data[:12].hex()}, not with a JP2 signature"
    at, types = 0, []
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        types.append(kind.decode("latin-1"))
        end = at + length if length else len(data)
        if kind == b"jp2c":
            return Codestream(data[at + 8 : end]), types
        at = end
    raise AssertionError("no jp2c box")

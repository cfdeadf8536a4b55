#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""MXF files of JPEG 2000 as FFmpeg's muxer writes them, with other packets in their places (SMPTE ST 377-1):

    mxf.py stubs SEGMENT.mxf STUBS.mxf          SEGMENT with a stub for each packet: its main header and an empty tile-part
    mxf.py layout STUBS.mxf SIZES GLUE LAYOUT   what lies around the packets where they have SIZES
    mxf.py place LAYOUT GLUE FIRST SEGMENT.mxf SHA256 OUTPUT.mxf

A muxer that gets stubs does all that it does for whole packets, in little time. Only lengths and offsets are others then: those of
the packets, of fill behind them, in partition packs, index tables and the random index pack. `layout` puts in the right ones. It
writes the bytes before, between and behind the packets to GLUE, and to LAYOUT a line for each packet: bytes of glue before it, their
CRC-32, bytes of the packet. The last line is the glue at the end. SIZES has the size of a packet as the second word of each line.

`place` writes the packets of SEGMENT, of which the first is number FIRST, with the glue before them (and, behind the last one,
at the end) to their places in OUTPUT, and reads them back. It fails if SEGMENT does not have the hash SHA256.
"""

import hashlib
import mmap
import os
import struct
import sys
import zlib

UL = bytes.fromhex("060e2b34")
# Bytes 4 to 13 of keys, or to 12, without byte 7, the version of the register.
PARTITION, INDEX, RANDOM_INDEX, FILL, PICTURE = "partition", "index", "random index", "fill", "picture"
FILL_KEY = UL + bytes.fromhex("01010102" "0301021001000000")
KINDS = {bytes.fromhex("020501" "0d010201" "01" + digits): kind
         for digits, kind in (("02", PARTITION), ("03", PARTITION), ("04", PARTITION), ("11", RANDOM_INDEX))}
KINDS[bytes.fromhex("025301" "0d010201" "0110")] = INDEX
KINDS[bytes.fromhex("010101" "03010210" "01")] = FILL
KINDS[bytes.fromhex("010201" "0d010301" "15")] = PICTURE
ESSENCE = bytes.fromhex("0d010301")  # bytes 8 to 11, of the system item, too
SOC, SOT, EOC = b"\xff\x4f", b"\xff\x90", b"\xff\xd9"
EMPTY_TILE_PART = SOT + struct.pack(">HHIBB", 10, 0, 14, 0, 1) + b"\xff\x93"  # and SOD


class Failure(Exception):
    """Said to the user."""


def opened(path):
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise Failure(f"{path} is empty")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def elements(data):
    """Kind, start, start of the value and end of each KLV element."""
    at = 0
    while at < len(data):
        head = data[at:at + 25]
        value = at + 17
        length = head[16] if len(head) > 16 else 0
        if length & 0x80:
            value += length & 0x7f
            length = int.from_bytes(head[17:value - at], "big")
        if head[:4] != UL or value + length > len(data):
            raise Failure(f"no MXF element at byte {at}")
        name = head[4:7] + head[8:14]
        yield KINDS.get(name) or KINDS.get(name[:-1]), at, value, value + length
        at = value + length


def length_of(size):
    """As the muxer writes it."""
    return struct.pack(">BQ", 0x88, size) if size >> 24 else struct.pack(">I", 0x83000000 | size)


def stub(packet):
    """The least that the muxer, and a decoder that opens the file, take for the same packet: of each field a codestream."""
    made, at = b"", 0
    while packet[at:at + 2] == SOC:
        begin = at
        at += 2
        while (marker := packet[at:at + 2]) != SOT:
            if len(marker) < 2 or marker < b"\xff\x50":
                raise Failure("a packet has no JPEG 2000 main header")
            at += 2 + int.from_bytes(packet[at + 2:at + 4], "big")
        made += packet[begin:at] + EMPTY_TILE_PART + EOC
        while packet[at:at + 2] == SOT:
            at += int.from_bytes(packet[at + 6:at + 10], "big") or len(packet)
        at += 2
    if not made:
        raise Failure("a packet is no JPEG 2000 codestream")
    return made


class Layout:
    """Where everything lies when the pictures of a file get other sizes."""

    def __init__(self, data, sizes):
        self.data = data
        self.sizes = sizes
        self.file = {}   # offsets of elements: old -> new
        self.body = {}   # offsets in the essence container: old -> new
        self.grid = 1    # elements begin at multiples of it; with this project's patch of the muxer, anywhere
        moved = old = new = number = 0
        in_body, last = False, None
        for kind, start, value, end in elements(data):
            self.file[start] = start + moved
            size = grown = end - start
            if kind == PARTITION:
                in_body = False
                self.grid, = struct.unpack_from(">I", data, value + 4)
            elif kind == PICTURE:
                if number == len(sizes):
                    raise Failure(f"more than {number} packets")
                grown = 16 + len(length_of(sizes[number])) + sizes[number]
                grown += self._fill(start + moved + grown)
                number += 1
            elif kind == FILL and last == PICTURE and self.grid > 1:
                grown = 0  # counted with the picture
            moved += grown - size
            in_body = in_body or data[start + 8:start + 12] == ESSENCE
            self.body[old] = new
            if in_body and kind not in (INDEX, RANDOM_INDEX):
                old += size
                new += grown
            last = kind
        if number != len(sizes):
            raise Failure(f"{number} packets, not {len(sizes)}")

    def _fill(self, at):
        """Bytes of the fill element there, which has 20 or more."""
        pad = -at % self.grid
        return pad + self.grid if 0 < pad < 20 else pad

    def glue(self):
        """The bytes before each picture, with its key and length, and those behind the last one."""
        made, number, at, last = bytearray(), 0, 0, None
        for kind, start, value, end in elements(self.data):
            if kind == PICTURE:
                made += self.data[start:start + 16] + length_of(self.sizes[number])
                yield bytes(made)
                at = self.file[start] + 16 + len(length_of(self.sizes[number])) + self.sizes[number]
                fill = self._fill(at)
                made = bytearray(FILL_KEY + struct.pack(">I", 0x83000000 | fill - 20) + bytes(fill - 20) if fill else b"")
                number += 1
            elif kind != FILL or last != PICTURE or self.grid == 1:
                at = len(made) + value - start
                made += self.data[start:end]
                if kind == PARTITION:
                    self._partition(made, at)
                elif kind == INDEX:
                    self._index(made, at)
                elif kind == RANDOM_INDEX:
                    for entry in range(at, len(made) - 4, 12):
                        self._move(made, entry + 4)
            last = kind
        yield bytes(made)

    def _move(self, made, at):
        struct.pack_into(">Q", made, at, self.file[struct.unpack_from(">Q", made, at)[0]])

    def _partition(self, made, at):
        for field in (8, 16, 24):  # ThisPartition, PreviousPartition, FooterPartition
            self._move(made, at + field)
        struct.pack_into(">Q", made, at + 52, self.body[struct.unpack_from(">Q", made, at + 52)[0]])  # BodyOffset

    def _index(self, made, at):
        while at < len(made):
            tag, length = struct.unpack_from(">HH", made, at)
            if tag == 0x3F0A:  # IndexEntryArray
                count, size = struct.unpack_from(">II", made, at + 4)
                for entry in range(at + 12, at + 12 + count * size, size):
                    offset, = struct.unpack_from(">Q", made, entry + 3)
                    struct.pack_into(">Q", made, entry + 3, self.body[offset])
                    if size > 11:  # SliceOffset: of the sound behind the picture
                        place, = struct.unpack_from(">I", made, entry + 11)
                        struct.pack_into(">I", made, entry + 11, self.body[offset + place] - self.body[offset])
            at += 4 + length


def pictures(data):
    return ((value, end) for kind, _, value, end in elements(data) if kind == PICTURE)


def write_stubs(segment, path):
    data = opened(segment)
    stubs = [stub(data[value:end]) for value, end in pictures(data)]
    with open(path, "wb") as out:
        for glue, packet in zip(Layout(data, [len(packet) for packet in stubs]).glue(), [*stubs, b""]):
            out.write(glue + packet)


def write_layout(stubs, sizes_path, glue_path, layout_path):
    with open(sizes_path, encoding="ascii") as file:
        sizes = [int(line.split()[1]) for line in file]
    total = 0
    with open(glue_path, "wb") as out, open(layout_path, "w", encoding="ascii") as layout:
        for glue, size in zip(Layout(opened(stubs), sizes).glue(), [*sizes, 0]):
            out.write(glue)
            layout.write(f"{len(glue)} {zlib.crc32(glue):08x} {size}\n")
            total += len(glue) + size
    print(total)


def pieces(lines, glue_path, glue_at, data, check):
    """The bytes of the segment in the output, one piece after the other; check(data) sees all of `data` in between."""
    found, done = pictures(data), 0
    with open(glue_path, "rb") as file:
        file.seek(glue_at)
        for size, crc, picture in lines:
            glue = file.read(int(size))
            if zlib.crc32(glue) != int(crc, 16):
                raise Failure(f"{glue_path} is damaged")
            yield glue
            value, end = next(found, (0, 0)) if int(picture) else (0, 0)
            if end - value != int(picture):
                raise Failure("the segment has other packets than the layout")
            check(data[done:value])
            packet = data[value:end]
            check(packet)
            yield packet
            done = max(done, end)
    check(data[done:])


def place(layout_path, glue_path, first, segment, sha256, output):
    data = opened(segment)
    with open(layout_path, encoding="ascii") as file:
        lines = [line.split() for line in file]
    first, count = int(first), sum(1 for _ in pictures(data))
    glue_at = sum(int(size) for size, _, _ in lines[:first])
    begin = glue_at + sum(int(size) for _, _, size in lines[:first])
    lines = lines[first:first + count + (first + count == len(lines) - 1)]
    found = hashlib.sha256()
    # For writing alone: a client of NFS that may read, too, writes whole pages, with stale bytes of the segments beside.
    with open(os.open(output, os.O_WRONLY), "wb") as out:
        out.seek(begin)
        for piece in pieces(lines, glue_path, glue_at, data, found.update):
            out.write(piece)
        if found.hexdigest() != sha256:
            raise Failure(f"{segment} has changed since it was done")
        out.flush()
        os.fsync(out.fileno())
        os.posix_fadvise(out.fileno(), begin, out.tell() - begin, os.POSIX_FADV_DONTNEED)  # what is read then is not this memory
    with open(output, "rb") as made:
        made.seek(begin)
        for piece in pieces(lines, glue_path, glue_at, data, len):
            if made.read(len(piece)) != piece:
                raise Failure(f"{output} does not have what was written, before byte {made.tell()}")


def main():
    commands = {"stubs": (write_stubs, 2), "layout": (write_layout, 4), "place": (place, 6)}
    function, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if not function or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    try:
        function(*sys.argv[2:])
    except (Failure, OSError, KeyError) as reason:
        sys.exit(f"mxf.py: {reason!r}" if isinstance(reason, KeyError) else f"mxf.py: {reason}")


if __name__ == "__main__":
    main()

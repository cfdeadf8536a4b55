# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""A strict reader of MXF files (SMPTE ST 336, ST 377-1) with frame-wrapped essence.

It asserts what a strict program relies on: every length in long form, partitions that point at each other, byte counts,
sets whose items are in the primer pack and fill the set exactly, references that lead somewhere, and an index whose every
entry leads to the element it stands for.
"""

import dataclasses
import struct

LABEL = bytes.fromhex("060e2b34")
PARTITION = bytes.fromhex("060e2b34020501010d01020101")  # then kind, status
PRIMER = bytes.fromhex("060e2b34020501010d01020101050100")
RANDOM_INDEX = bytes.fromhex("060e2b34020501010d01020101110100")
INDEX = bytes.fromhex("060e2b34025301010d01020101100100")
FILL = bytes.fromhex("060e2b34010101020301021001000000")
SET = bytes.fromhex("060e2b34025301010d01010101")  # then three bytes of the kind
SYSTEM = bytes.fromhex("060e2b34020501010d01030104010100")
PACKAGE_SYSTEM = bytes.fromhex("060e2b34024301010d01030104010201")
ESSENCE = bytes.fromhex("060e2b34010201010d010301")

SETS = {0x2F: "Preface", 0x30: "Identification", 0x18: "ContentStorage", 0x23: "EssenceContainerData", 0x36: "MaterialPackage",
        0x37: "SourcePackage", 0x3B: "Track", 0x0F: "Sequence", 0x11: "SourceClip", 0x14: "TimecodeComponent",
        0x44: "MultipleDescriptor", 0x28: "CDCI", 0x29: "RGBA", 0x47: "AES3", 0x48: "Wave", 0x5A: "JPEG2000"}

REFERENCES = {0x3B03: False, 0x3B06: True, 0x1901: True, 0x1902: True, 0x4403: True, 0x4701: False, 0x4803: False,
              0x1001: True, 0x3F01: True, 0x8100: True, 0x3B08: False}  # tag: an array of them?


@dataclasses.dataclass
class Item:
    """One key, length and value, at `at` of the file."""
    at: int
    key: bytes
    start: int
    end: int


@dataclasses.dataclass
class Partition:
    kind: int  # 2 header, 3 body, 4 footer
    status: int
    at: int
    kag: int
    previous: int
    footer: int
    header_bytes: int
    index_bytes: int
    index_sid: int
    body_offset: int
    body_sid: int
    pattern: bytes
    items: list


def _u32(data, at=0):
    return struct.unpack_from(">I", data, at)[0]


def _array(data, item_size=None):
    """The items of an array or batch, which starts with their number and size."""
    count, size = struct.unpack_from(">II", data)
    assert len(data) == 8 + count * size, f"{count} items of {size} bytes in {len(data)} bytes"
    assert item_size in (None, size) or not count, f"items of {size} bytes, not {item_size}"
    return [data[8 + n * size:8 + (n + 1) * size] for n in range(count)]


class Mxf:
    def __init__(self, data):
        self.data = data
        self.items = list(self._read_items())
        self.sets = []  # (kind, {tag: value})
        self.index = []  # (start, {tag: value})
        self._read_partitions()
        for partition in self.partitions:
            self._check_partition(partition)
        self._check_references()
        self._check_random_index()
        self._check_index()

    # --- items --------------------------------------------------------------------------------------------------------

    def _read_items(self):
        at = 0
        while at < len(self.data):
            key = self.data[at:at + 16]
            assert key[:4] == LABEL, f"no key but {key.hex()} at {at}"
            form = self.data[at + 16]
            assert 0x81 <= form <= 0x88, f"length {form:#x} at {at + 16} is not in long form"
            start = at + 17 + (form & 15)
            length = int.from_bytes(self.data[at + 17:start], "big")
            assert start + length <= len(self.data), f"{length} bytes at {at} end behind the file"
            yield Item(at, key, start, start + length)
            at = start + length

    def value(self, item):
        return self.data[item.start:item.end]

    def _read_partitions(self):
        self.partitions = []
        for item in self.items:
            if item.key[:13] == PARTITION and item.key[13] in (2, 3, 4):
                self.partitions.append(self._partition(item))
            elif item.key != RANDOM_INDEX:
                assert self.partitions, "the file does not start with a partition"
                self.partitions[-1].items.append(item)

    def _partition(self, item):
        value = self.value(item)
        (major, minor, kag, this, previous, footer, header_bytes, index_bytes, index_sid, body_offset,
         body_sid) = struct.unpack_from(">HHIQQQQQIQI", value)
        assert (major, minor, this) == (1, 3, item.at), f"version {major}.{minor}, offset {this} of the partition at {item.at}"
        assert not item.at % kag, f"partition at {item.at}, grid {kag}"
        _array(value[80:], 16)
        return Partition(item.key[13], item.key[14], item.at, kag, previous, footer, header_bytes, index_bytes, index_sid,
                         body_offset, body_sid, value[64:80], [])

    # --- partitions ---------------------------------------------------------------------------------------------------

    def _check_partition(self, partition):
        number = self.partitions.index(partition)
        what = f"partition {number} at {partition.at}"
        kinds = [2] + [3] * (len(self.partitions) - 2) + [4]
        assert partition.kind == kinds[number] and partition.status == 4, what  # closed, complete
        previous = self.partitions[number - 1].at if number else 0
        # A body partition behind the header may say 0: the header's offset.
        assert partition.previous == previous, f"{what}: previous {partition.previous}, not {previous}"
        assert partition.footer == self.partitions[-1].at, f"{what}: footer {partition.footer}"
        items = [item for item in partition.items]
        if items and items[0].key == FILL:
            items.pop(0)
        assert self._take(items, lambda key: key == PRIMER or key[:13] == SET, self._read_set) == partition.header_bytes, what
        assert self._take(items, lambda key: key == INDEX, self._read_index) == partition.index_bytes, what
        assert bool(partition.index_bytes) == bool(partition.index_sid), what
        partition.items = items
        assert not (partition.index_bytes and items), f"{what} has both index and essence"
        assert not partition.header_bytes or self.only("Preface")[0x3B08] in (
            items[0x3C0A] for kind, items in self.sets if kind == "SourcePackage"), "no primary package"
        if partition.kind != 3:
            assert not items, f"{what}: {items[0].key.hex()}"

    def _take(self, items, wanted, read):
        """Reads and removes the leading wanted items and the fill between and behind them. Returns their bytes."""
        first = last = items[0].at if items else 0
        while items and (wanted(items[0].key) or items[0].key == FILL and last > first):
            item = items.pop(0)
            if item.key != FILL:
                read(item)
            last = item.end
        return last - first

    def _read_set(self, item):
        if item.key == PRIMER:
            entries = [(struct.unpack(">H", entry[:2])[0], entry[2:]) for entry in _array(self.value(item), 18)]
            self.primer = dict(entries)
            assert len(self.primer) == len(entries), "a tag is twice in the primer pack"
            assert len(set(self.primer.values())) == len(entries), "a label is twice in the primer pack"
            return
        kind = SETS.get(item.key[14], item.key.hex())
        self.sets.append((kind, self._local_set(item)))

    def _local_set(self, item):
        value, at, items = self.value(item), 0, {}
        while at < len(value):
            tag, size = struct.unpack_from(">HH", value, at)
            assert tag in self.primer, f"tag {tag:04x} is not in the primer pack"
            assert tag not in items, f"tag {tag:04x} is twice in the set at {item.at}"
            assert at + 4 + size <= len(value), f"tag {tag:04x} ends behind its set at {item.at}"
            items[tag] = value[at + 4:at + 4 + size]
            at += 4 + size
        return items

    def _read_index(self, item):
        self.index.append(self._local_set(item))

    def _check_references(self):
        instances = [items[0x3C0A] for _, items in self.sets]
        assert len(set(instances)) == len(instances), "two sets have one instance"
        referred = {instances[0]}  # the preface
        for kind, items in self.sets:
            for tag in REFERENCES.keys() & items.keys():
                uids = _array(items[tag], 16) if REFERENCES[tag] else [items[tag]]
                for uid in uids:
                    assert uid in instances, f"{kind} {tag:04x} refers to no set"
                    referred.add(uid)
        for kind, items in self.sets:
            assert items[0x3C0A] in referred, f"nothing refers to {kind}"

    def _check_random_index(self):
        item = self.items[-1]
        assert item.key == RANDOM_INDEX, "the file does not end with a random index pack"
        value = self.value(item)
        assert _u32(value, len(value) - 4) == item.end - item.at
        entries = [struct.unpack_from(">IQ", value, at) for at in range(0, len(value) - 4, 12)]
        assert entries == [(p.body_sid, p.at) for p in self.partitions], entries

    # --- essence ------------------------------------------------------------------------------------------------------

    def elements(self, kind):
        """The values of all elements of a kind (0x15 picture, 0x16 sound), in the order of the file."""
        return [self.value(item) for part in self.partitions for item in part.items
                if item.key[:12] == ESSENCE and item.key[12] == kind]

    def _essence(self):
        """{offset in the essence container: item}."""
        stream, offset = {}, 0
        for partition in self.partitions:
            if not partition.body_sid:
                continue
            assert partition.body_offset == offset, f"body offset {partition.body_offset}, not {offset}"
            for item in partition.items:
                stream[offset + item.at - partition.items[0].at] = item
            offset += partition.items[-1].end - partition.items[0].at
        return stream

    def _check_index(self):
        stream = self._essence()
        keys = self.tracks()
        if any(item.key == SYSTEM for item in stream.values()):
            keys.insert(0, SYSTEM)  # it starts an edit unit
        starts = [at for at, item in stream.items() if item.key == keys[0]]
        position = 0
        if not starts:
            raise AssertionError("no essence")
        if all(0x3F0A not in segment for segment in self.index):
            self._check_constant_index(starts)
            return
        for segment in self.index:
            start, duration = (struct.unpack(">Q", segment[tag])[0] for tag in (0x3F0C, 0x3F0D))
            assert start == position, f"index segment starts at {start}, not {position}"
            one_element = struct.pack(">II", 1, 6) + bytes(6)
            deltas = [struct.unpack(">bBI", entry) for entry in _array(segment.get(0x3F09, one_element), 6)]
            entries = _array(segment[0x3F0A], 11 + 4 * segment[0x3F08][0])
            assert len(entries) == duration and len(deltas) == len(keys), (len(entries), len(deltas))
            for entry in entries:
                self._check_entry(stream, starts[position], entry, zip(keys, deltas))
                position += 1
        assert position == len(starts), f"{position} index entries of {len(starts)} edit units"
        self.duration = position

    def _check_constant_index(self, starts):
        """An index without entries: all edit units have one size."""
        segment, = self.index
        start, duration = (struct.unpack(">Q", segment[tag])[0] for tag in (0x3F0C, 0x3F0D))
        size = _u32(segment[0x3F05])
        body, = (part for part in self.partitions if part.body_sid)
        if len(starts) == 1 and starts[0] == 0 and size * duration == len(self.value(body.items[0])):  # clip-wrapped
            pass
        else:
            assert starts == [n * size for n in range(duration)], f"edit units of {size} bytes, but elements at {starts}"
            assert body.items[-1].end - body.items[0].at == size * duration
        assert start == 0
        self.duration = duration

    def _check_entry(self, stream, unit, entry, elements):
        temporal, key_frame, flags, offset = struct.unpack_from(">bbBQ", entry)
        assert (temporal, key_frame, flags, offset) == (0, 0, 0x80, unit), f"{entry.hex()}, edit unit at {unit}"
        slices = [0] + [_u32(entry, at) for at in range(11, len(entry), 4)]
        for key, (_, slice_number, delta) in elements:
            item = stream.get(offset + slices[slice_number] + delta)
            assert item, f"no element of the edit unit at {unit} is at {slices[slice_number]} + {delta}"
            assert item.key == key, f"an element of the edit unit at {unit} has key {item.key.hex()}, not {key.hex()}"

    def tracks(self):
        """The keys of the elements, in the order of the index: picture, then sound."""
        keys = {item.key for part in self.partitions for item in part.items if item.key[:12] == ESSENCE}
        return sorted(keys, key=lambda key: (key[12], key[15]))

    # --- properties ---------------------------------------------------------------------------------------------------

    def only(self, kind):
        """The items of the only set of a kind."""
        found = [items for name, items in self.sets if name == kind]
        assert len(found) == 1, f"{len(found)} sets {kind}"
        return found[0]

    def picture(self):
        """(kind, items) of the picture descriptor, which is CDCI or RGBA."""
        found = [(name, items) for name, items in self.sets if name in ("CDCI", "RGBA")]
        assert len(found) == 1, f"{len(found)} picture descriptors"
        return found[0]

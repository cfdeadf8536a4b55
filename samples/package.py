#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the package of a picture and its sound. samples/dcp.sh and samples/imf.sh call it.

    samples/package.py dcp | imf | check TITLE FOLDER

FOLDER has picture.mxf and maybe sound.mxf, as FFmpeg's -f mxf_dcp or -f mxf_imf writes them. Beside them it gets a composition
playlist, a packing list, an asset map and a volume index, unencrypted:

    dcp     digital cinema, SMPTE ST 429-7, -8, -9, with the metadata of ST 429-16 and RDD 52 (Bv2.1)
    imf     the Interoperable Master Format, ST 2067-2, -3, Application 2E (ST 2067-21), with the descriptors as RegXML (ST 2001-1)
    check   nothing: it only refuses a TITLE that XML cannot hold, and a FOLDER that has a package

Identifiers, rates, durations and descriptors are those of the MXF files.
"""

import base64
import datetime
import fractions
import hashlib
import pathlib
import re
import struct
import sys
import uuid
from xml.etree import ElementTree

# --- MXF (SMPTE ST 377-1) ---------------------------------------------------------------------------------------------

LABEL = bytes.fromhex("060e2b34")
SET = bytes.fromhex("060e2b34025301010d01010101")
KINDS = {0x2F: "Preface", 0x37: "SourcePackage", 0x3B: "Track", 0x28: "CDCIDescriptor", 0x29: "RGBADescriptor", 0x48: "WAVEPCMDescriptor",
         0x5A: "JPEG2000SubDescriptor", 0x6B: "AudioChannelLabelSubDescriptor", 0x6C: "SoundfieldGroupLabelSubDescriptor"}
ESSENCES = {"picture": "JPEG2000SubDescriptor", "sound": "WAVEPCMDescriptor"}


def read_sets(path):
    """The sets of the header partition: {instance: (kind, {tag: value})}."""
    sets = {}
    with open(path, "rb") as file:
        while (key := file.read(16)).startswith(LABEL):
            form = file.read(1)[0]
            value = file.read(int.from_bytes(file.read(form & 127), "big") if form & 128 else form)
            if key[:13] == SET:
                items, at = {}, 0
                while at < len(value):
                    tag, size = struct.unpack_from(">HH", value, at)
                    items[tag] = value[at + 4:at + 4 + size]
                    at += 4 + size
                sets[items[0x3C0A]] = KINDS.get(key[14], ""), items
            elif sets:
                break
    return sets


def batch(value):
    """The items of an array, behind their number and size."""
    count, size = struct.unpack_from(">II", value)
    return [value[8 + n * size:8 + (n + 1) * size] for n in range(count)]


class Track:
    """A track file: what its file package says of it."""

    def __init__(self, path):
        self.path = path
        self.sets = read_sets(path)
        preface = next(items for kind, items in self.sets.values() if kind == "Preface")
        package = self.sets[preface[0x3B08]][1]
        self.id = uuid.UUID(bytes=package[0x4401][16:])
        track = next(items for items in (self.sets[ref][1] for ref in batch(package[0x4403])) if any(items[0x4804]))
        self.rate = fractions.Fraction(*struct.unpack(">II", track[0x4B01]))
        self.duration = int.from_bytes(self.sets[track[0x4803]][1][0x0202], "big")
        self.kind, self.descriptor = self.sets[package[0x4701]]
        self.subs = [self.sets[ref] for ref in batch(self.descriptor.get(0x8100, bytes(8)))]
        self.xml = regxml(self, self.kind, self.descriptor, **REGXML)

    def __str__(self):
        return f"{self.path} ({self.duration} at {self.rate}/s)"

    def number(self, tag):
        return int.from_bytes(self.descriptor[tag], "big")

    def labels(self):
        """The symbols of soundfield and channels."""
        return [text(items[0x8503]) for _, items in self.subs]


def read_track(path):
    """A picture or sound by the name of its file. What is no such track ends the program."""
    try:
        track = Track(path)
        if ESSENCES[path.stem] in (track.kind, *(kind for kind, _ in track.subs)):
            return track
    except (ArithmeticError, LookupError, MemoryError, StopIteration, ValueError, struct.error):
        pass
    sys.exit(f"package.py: {path} is no {path.stem} track of -f mxf_dcp or -f mxf_imf")


# --- XML --------------------------------------------------------------------------------------------------------------


def node(name, *content, **attributes):
    """An element with text or elements in it. None is left out, __ in a name of an attribute is a colon."""
    made = ElementTree.Element(name, {key.replace("__", ":"): value for key, value in attributes.items()})
    for part in content:
        if isinstance(part, ElementTree.Element):
            made.append(part)
        elif part is not None:
            made.text = str(part)
    return made


def urn(identifier):
    return f"urn:uuid:{identifier}"


def new_id():
    return node("Id", urn(uuid.uuid4()))


def rational(value):
    return f"{value.numerator} {value.denominator}"


def sha1(path):
    digest = hashlib.sha1()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return base64.b64encode(digest.digest()).decode()


def write(path, root):
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="UTF-8", xml_declaration=True)


SHA1 = node("HashAlgorithm", Algorithm="http://www.w3.org/2000/09/xmldsig#sha1")


class Package:
    """What both kinds have: packing list, asset map and volume index of the files of a folder."""

    def __init__(self, folder, title, creator):
        self.folder, self.title = folder, title
        self.issue = [node("IssueDate", datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")),
                      node("Issuer", "libcj2k"), node("Creator", creator)]
        self.tracks = [read_track(path) for name in ESSENCES if (path := folder / f"{name}.mxf").exists()]
        if len({track.id for track in self.tracks}) < len(self.tracks):
            sys.exit(f"package.py: picture and sound in {folder} have the same identifier")
        if not self.fits(self.tracks[0], self.tracks[-1], self.frames_more()):
            sys.exit(f"package.py: {self.tracks[0]} and {self.tracks[1]} do not end together")
        self.assets = [(track.id, track.path, "application/mxf", sha1(track.path)) for track in self.tracks]

    def frames_more(self):
        """How much longer the sound is than the picture."""
        picture, sound = self.tracks[0], self.tracks[-1]
        return sound.duration / sound.rate * picture.rate - picture.duration

    def hash_of(self, track):
        return next(digest for _, path, _, digest in self.assets if path == track.path)

    def write_playlist(self, root):
        identifier = uuid.UUID(root[0].text)
        path = self.folder / f"CPL_{identifier}.xml"
        write(path, root)
        self.assets.append((identifier, path, "text/xml", sha1(path)))

    def write_lists(self, namespace, *algorithm):
        identifier = uuid.uuid4()
        path = self.folder / f"PKL_{identifier}.xml"
        write(path, node("PackingList", node("Id", urn(identifier)), node("AnnotationText", self.title), *self.issue, node("AssetList", *(
            node("Asset", node("Id", urn(asset)), node("Hash", digest), node("Size", file.stat().st_size), node("Type", kind), *algorithm)
            for asset, file, kind, digest in self.assets)), xmlns=namespace))

        def mapped(asset, file, *more):
            return node("Asset", node("Id", urn(asset)), *more, node("ChunkList", node(
                "Chunk", node("Path", file.name), node("VolumeIndex", 1), node("Offset", 0), node("Length", file.stat().st_size))))
        date, issuer, creator = self.issue
        write(self.folder / "ASSETMAP.xml", node("AssetMap", new_id(), creator, node("VolumeCount", 1), date, issuer, node(
            "AssetList", mapped(identifier, path, node("PackingList", "true")), *(mapped(asset, file) for asset, file, _, _ in self.assets)),
            xmlns=ASSET_MAP))
        write(self.folder / "VOLINDEX.xml", node("VolumeIndex", node("Index", 1), xmlns=ASSET_MAP))


ASSET_MAP = "http://www.smpte-ra.org/schemas/429-9/2007/AM"
REGXML = {"xmlns__r0": "http://www.smpte-ra.org/reg/395/2014/13/1/aaf", "xmlns__r1": "http://www.smpte-ra.org/reg/335/2012",
          "xmlns__r2": "http://www.smpte-ra.org/reg/2003/2012"}

# --- descriptors as RegXML (ST 2001-1), with the names of the registers ST 335, ST 395 and ST 2003 ----------------------


def number(value):
    return int.from_bytes(value, "big")


def ratio(value):
    return "{}/{}".format(*struct.unpack(">ii", value))


def label(value):
    return "urn:smpte:ul:" + ".".join(value.hex()[at:at + 8] for at in range(0, 32, 8))


def identity(value):
    return urn(uuid.UUID(bytes=value))


def text(value):
    return value.decode("utf-16-be")


def choice(*names, unknown=None):
    return lambda value: unknown if unknown and value[0] == 255 else names[value[0]]


def sizing(value):
    return [node("r2:J2KComponentSizing", *(node(f"r2:{name}", byte) for name, byte in zip(("Ssiz", "XRSiz", "YRSiz"), component)))
            for component in batch(value)]


def layout(value):
    names = dict(zip(b"\0RGBAFYUV", "Null Red Green Blue Alpha Fill Luma ColorDifferenceU ColorDifferenceV".split()))
    return [node("r2:RGBAComponent", node("r2:Code", f"Comp{names.get(code, 'None')}"), node("r2:ComponentSize", size))
            for code, size in zip(value[::2], value[1::2])]


def primaries(value):
    pairs = [node("r2:ColorPrimary", node("r2:X", x), node("r2:Y", y)) for x, y in struct.iter_unpack(">HH", value)]
    return pairs if len(pairs) > 1 else list(pairs[0])


def capabilities(value):
    return [node("r2:Pcap", number(value[:4])), node("r2:Ccapi", *(node("r2:UInt16", number(ccap)) for ccap in batch(value[4:])))]


PROPERTIES = {  # local tag that FFmpeg's muxer gives it: name, conversion
    0x3C0A: ("InstanceID", identity), 0x3006: ("LinkedTrackID", number), 0x3001: ("SampleRate", ratio), 0x3002: ("EssenceLength", number),
    0x3004: ("ContainerFormat", label),
    # pictures
    0x3203: ("StoredWidth", number), 0x3202: ("StoredHeight", number), 0x3205: ("SampledWidth", number), 0x3204: ("SampledHeight", number),
    0x3206: ("SampledXOffset", number), 0x3207: ("SampledYOffset", number), 0x3209: ("DisplayWidth", number),
    0x3208: ("DisplayHeight", number), 0x320A: ("DisplayXOffset", number), 0x320B: ("DisplayYOffset", number),
    0x320C: ("FrameLayout", choice("FullFrame", "SeparateFields", "OneField", "MixedFields", "SegmentedFrame")),
    0x320D: ("VideoLineMap", lambda value: [node("r2:Int32", number(line)) for line in batch(value)]),
    0x320E: ("ImageAspectRatio", ratio), 0x3212: ("FieldDominance", number), 0x3201: ("PictureCompression", label),
    0x3210: ("TransferCharacteristic", label), 0x3219: ("ColorPrimaries", label), 0x321A: ("CodingEquations", label),
    0x3301: ("ComponentDepth", number), 0x3302: ("HorizontalSubsampling", number), 0x3308: ("VerticalSubsampling", number),
    0x3303: ("ColorSiting", choice("CoSiting", "HorizontalMidpoint", "ThreeTap", "Quincunx", "Rec601", "LineAlternating", "VerticalMidpoint",
                                   unknown="UnknownSiting")),
    0x3304: ("BlackRefLevel", number), 0x3305: ("WhiteRefLevel", number), 0x3306: ("ColorRange", number), 0x3307: ("PaddingBits", number),
    0x3309: ("AlphaSampleDepth", number), 0x3401: ("PixelLayout", layout), 0x3406: ("ComponentMaxRef", number),
    0x3407: ("ComponentMinRef", number), 0x3408: ("AlphaMaxRef", number), 0x3409: ("AlphaMinRef", number),
    0x3405: ("ScanningDirection", choice("ScanningDirection_LeftToRightTopToBottom")),
    0x8301: ("MasteringDisplayPrimaries", primaries), 0x8302: ("MasteringDisplayWhitePointChromaticity", primaries),
    0x8303: ("MasteringDisplayMaximumLuminance", number), 0x8304: ("MasteringDisplayMinimumLuminance", number),
    # JPEG 2000
    **{0x8401 + at: (name, number) for at, name in enumerate("Rsiz Xsiz Ysiz XOsiz YOsiz XTsiz YTsiz XTOsiz YTOsiz Csiz".split())},
    0x840B: ("PictureComponentSizing", sizing),
    0x840C: ("J2CLayout", layout), 0x840D: ("CodingStyleDefault", bytes.hex), 0x840E: ("QuantizationDefault", bytes.hex),
    0x840F: ("J2KExtendedCapabilities", capabilities),
    # sound
    0x3D02: ("Locked", choice("False", "True")), 0x3D03: ("AudioSampleRate", ratio), 0x3D07: ("ChannelCount", number),
    0x3D01: ("QuantizationBits", number), 0x3D0A: ("BlockAlign", number), 0x3D09: ("AverageBytesPerSecond", number),
    0x3D32: ("ChannelAssignment", label), 0x8501: ("MCALabelDictionaryID", label), 0x8502: ("MCALinkID", identity),
    0x8503: ("MCATagSymbol", text), 0x8504: ("MCATagName", text), 0x8505: ("RFC5646SpokenLanguage", bytes.decode), 0x8506: ("MCATitle", text),
    0x8507: ("MCATitleVersion", text), 0x8508: ("MCAAudioContentKind", text), 0x8509: ("MCAAudioElementKind", text),
    0x850A: ("MCAChannelID", number), 0x850B: ("SoundfieldGroupLinkID", identity)}

LIGHT_LEVEL = {0x8305: "MaxCLL", 0x8306: "MaxFALL"}


def regxml(track, kind, items, **attributes):
    """A set of the header as XML."""
    made = []
    for tag, value in items.items():
        if tag == 0x8100:
            made.append(node("r1:SubDescriptors", *(regxml(track, *track.sets[ref]) for ref in batch(value))))
        elif tag not in LIGHT_LEVEL:
            name, convert = PROPERTIES[tag]
            content = convert(value)
            made.append(node(f"r1:{name}", *content) if isinstance(content, list) else node(f"r1:{name}", content))
    return node(f"r0:{kind}", *made, **attributes)


# --- compositions -----------------------------------------------------------------------------------------------------


class Dcp(Package):
    def __init__(self, folder, title):
        super().__init__(folder, title, "samples/dcp.sh")
        cpl = "http://www.smpte-ra.org/schemas/429-7/2006/CPL"
        assets = [self.asset(track) for track in self.tracks]
        self.write_playlist(node(
            "CompositionPlaylist", new_id(), node("AnnotationText", title), *self.issue, node("ContentTitleText", title),
            node("ContentKind", "short"), node("ContentVersion", new_id(), node("LabelText", title)), node("RatingList"),
            node("ReelList", node("Reel", new_id(), node("AssetList", self.markers(), *assets, self.metadata()))), xmlns=cpl))
        self.write_lists("http://www.smpte-ra.org/schemas/429-8/2007/PKL")

    def fits(self, picture, sound, more):
        return picture.rate == sound.rate and more == 0

    def times(self, track):
        return [node("EditRate", rational(track.rate)), node("IntrinsicDuration", track.duration)]

    def asset(self, track):
        more, name = [], "MainSound"
        if track is self.tracks[0]:
            name, size = "MainPicture", f"{track.number(0x3203)} {track.number(0x3202)}"
            more = [node("FrameRate", rational(track.rate)), node("ScreenAspectRatio", size)]
        return node(name, node("Id", urn(track.id)), *self.times(track), node("EntryPoint", 0), node("Duration", track.duration),
                    node("Hash", self.hash_of(track)), *more)

    def markers(self):
        """First and last frame of content, as Bv2.1 has them."""
        picture = self.tracks[0]
        return node("MainMarkers", new_id(), *self.times(picture), node("MarkerList", *(
            node("Marker", node("Label", name), node("Offset", at)) for name, at in (("FFOC", 1), ("LFOC", picture.duration - 1)))))

    def metadata(self):
        """ST 429-16; it names the channels of the sound, so that there is none without labels."""
        picture, *sound = self.tracks
        symbols = [symbol for track in sound for symbol in track.labels()]
        if not symbols:
            return None
        size = [node("meta:Width", picture.number(0x3203)), node("meta:Height", picture.number(0x3202))]
        channels = ",".join(symbol.removeprefix("ch") for symbol in symbols[1:])
        labels = [regxml(sound[0], *sub) for sub in sound[0].subs]
        return node(
            "meta:CompositionMetadataAsset", new_id(), *self.times(picture), node("meta:FullContentTitleText", self.title),
            node("meta:VersionNumber", 1, status="final"), node("meta:MainSoundConfiguration", f"{symbols[0].removeprefix('sg')}/{channels}"),
            node("meta:MainSoundSampleRate", "{} {}".format(*struct.unpack(">II", sound[0].descriptor[0x3D03]))),
            node("meta:MainPictureStoredArea", *size), node("meta:MainPictureActiveArea", *size),
            node("meta:ExtensionMetadataList", node("meta:ExtensionMetadata", node("meta:Name", "Application"), node("meta:PropertyList", node(
                "meta:Property", node("meta:Name", "DCP Constraints Profile"), node("meta:Value", "SMPTE-RDD-52:2020-Bv2.1"))),
                scope="http://isdcf.com/ns/cplmd/app")),
            node("mca:MCASubDescriptors", *labels, xmlns__mca="http://isdcf.com/ns/cplmd/mca", **REGXML),
            xmlns__meta="http://www.smpte-ra.org/schemas/429-16/2014/CPL-Metadata")


class Imf(Package):
    def __init__(self, folder, title):
        super().__init__(folder, title, "samples/imf.sh")
        encodings = [uuid.uuid4() for _ in self.tracks]
        descriptors = [node("EssenceDescriptor", node("Id", urn(encoding)), track.xml) for track, encoding in zip(self.tracks, encodings)]
        sequences = [node(f"cc:{name}", new_id(), node("TrackId", urn(uuid.uuid4())), node("ResourceList", *self.resources(track, encoding)))
                     for name, track, encoding in zip(("MainImageSequence", "MainAudioSequence"), self.tracks, encodings)]
        self.write_playlist(node(
            "CompositionPlaylist", new_id(), *self.issue, node("ContentTitle", title), node("EssenceDescriptorList", *descriptors),
            node("EditRate", rational(self.tracks[0].rate)),
            node("ExtensionProperties", node("cc:ApplicationIdentification", "http://www.smpte-ra.org/ns/2067-21/2021"), *self.light_level()),
            node("SegmentList", node("Segment", new_id(), node("SequenceList", *sequences))),
            xmlns="http://www.smpte-ra.org/schemas/2067-3/2016", xmlns__cc="http://www.smpte-ra.org/ns/2067-2/2020",
            xmlns__xsi="http://www.w3.org/2001/XMLSchema-instance"))
        self.write_lists("http://www.smpte-ra.org/schemas/2067-2/2016/PKL", SHA1)

    def light_level(self):
        """MaxCLL and MaxFALL, which the register of RegXML has not."""
        picture = self.tracks[0]
        return [node(f"app2e:{name}", picture.number(tag), xmlns__app2e="http://www.smpte-ra.org/schemas/2067-21/2016")
                for tag, name in LIGHT_LEVEL.items() if tag in picture.descriptor]

    def fits(self, picture, sound, more):
        """A sequence lasts a whole number of frames: where sound can only do so with some frames more than the picture (30000/1001:
        8008 samples in 5 frames), the last picture is repeated."""
        return more in range((sound.rate / picture.rate).denominator)

    def resources(self, track, encoding):
        more = self.frames_more() if track is self.tracks[0] else 0
        parts = [(0, track.duration, 1)] + ([(track.duration - 1, 1, more)] if more else [])
        return [node("Resource", new_id(), node("EditRate", rational(track.rate)), node("IntrinsicDuration", track.duration),
                     node("EntryPoint", entry), node("SourceDuration", duration), node("RepeatCount", times),
                     node("SourceEncoding", urn(encoding)), node("TrackFileId", urn(track.id)), node("Hash", self.hash_of(track)), SHA1,
                     xsi__type="TrackFileResourceType") for entry, duration, times in parts]


if __name__ == "__main__":
    makers = {"dcp": Dcp, "imf": Imf, "check": None}
    if len(sys.argv) != 4 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    maker, name, to = makers[sys.argv[1]], sys.argv[2], pathlib.Path(sys.argv[3])
    if re.search("[^ -~\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", name):
        sys.exit(f"package.py: the title {ascii(name)} has control characters, or bytes that are no UTF-8")
    if (to / "ASSETMAP.xml").exists():
        sys.exit(f"package.py: there is a package in {to} already")
    if maker:
        if not (to / "picture.mxf").exists():
            sys.exit(f"package.py: there is no {to}/picture.mxf")
        maker(to, name)

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What programs by others make of our MXF files: Photon, asdcplib, bmx, MediaInfo, the distribution's FFmpeg and ours."""

import pathlib
import sys
import uuid

import pytest

import readers
from klv import FILL, Mxf
from tools import hd, mxf_is_patched, run

PICTURE, SOUND = 0x15, 0x16
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "samples/package.py"


def pytest_generate_tests(metafunc):
    if not mxf_is_patched(metafunc.config.ff):
        pytest.skip("this FFmpeg has no MXF patch", allow_module_level=True)


def source(fmt, rate, frames, size):
    return ["-f", "lavfi", "-i", f"testsrc2=s={size}:r={rate}", "-frames:v", frames, "-pix_fmt", fmt]


PROFILES = {  # profile: pixel format, options
    "none": ("yuv422p10le", ()), "broadcast_single": ("yuv422p10le", ("-b:v", "20M")),
    "cinema2k": ("xyz12le", ("-b:v", "20M")), "cinema4k": ("xyz12le", ("-b:v", "20M", "-strict", "unofficial")),
    "imf_2k": ("gbrp12le", ("-b:v", "20M", "-vf", hd("gbrp"))), "imf_2k_r": ("yuv422p10le", ("-vf", hd("yuv"))),
    "imf_4k": ("gbrp12le", ("-b:v", "20M", "-vf", hd("gbrp"))), "imf_4k_r": ("yuv422p10le", ("-vf", hd("yuv"))),
    "imf_ht_r": ("gbrp12le", ("-vf", hd("gbrp"))), "imf_ht": ("gbrp12le", ("-b:v", "20M", "-vf", hd("gbrp")))}


def encode(ff, path, profile, rate, *options, frames=4, size="192x108"):
    """Writes a film, and checks it with our own strict reader. Returns the codestreams."""
    fmt, more = PROFILES[profile]
    named = () if profile == "none" else ("-profile:v", profile)
    ff.ffmpeg(*source(fmt, rate, frames, size), "-c:v", "j2k_cuda", *named, *more, *options, path)
    mxf = Mxf(path.read_bytes())
    packets = mxf.elements(PICTURE)
    assert len(packets) == mxf.duration == frames
    return packets


def check_readers(ff, path, packets, rate, photon=True):
    """Photon's parser, bmx, MediaInfo and two FFmpegs read the file; each frame is what was written."""
    if photon:
        assert readers.photon(path) == []
    essence, info = readers.bmx(path)
    assert essence == b"".join(packets) and f"count='{len(packets)}'" in info, info
    video = readers.mediainfo(path, "Video")
    assert (video["Format"], video["FrameCount"]) == ("JPEG 2000", str(len(packets))), video
    assert abs(float(video["FrameRate"]) - rate) < 0.001
    assert ff.copied_packets("-i", path) == packets
    assert readers.copied(readers.system_ffmpeg(), path) == packets


@pytest.mark.parametrize("profile, rate", [
    ("none", 25), ("broadcast_single", 25), ("cinema2k", 24), ("cinema4k", 24), ("imf_2k", 24), ("imf_2k_r", 30), ("imf_4k", 48),
    ("imf_ht", 60)])
def test_plain(ff, tmp_path, profile, rate):
    """An OP1a file of one track: no error of Photon's parser, and asdcplib takes every frame out."""
    path = tmp_path / "a.mxf"
    packets = encode(ff, path, profile, rate)
    check_readers(ff, path, packets, rate)
    assert readers.as_02(path) == packets


def test_long_plain(ff, tmp_path):
    """Several partitions of essence, and of index."""
    path = tmp_path / "a.mxf"
    packets = encode(ff, path, "none", 24, frames=520, size="32x32")
    check_readers(ff, path, packets, 24)
    assert readers.as_02(path) == packets


def test_plain_with_sound(ff, tmp_path):
    """A track file of the IMF has one track, so Photon and asdcplib refuse a second one. The others read both."""
    path = tmp_path / "a.mxf"
    ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=192x108:r=24:d=2", "-f", "lavfi", "-i", "sine=r=48000:d=2", "-c:v", "j2k_cuda",
              "-c:a", "pcm_s16le", path)
    packets = Mxf(path.read_bytes()).elements(PICTURE)
    errors = readers.photon(path)
    assert len(errors) == 1 and "Number of essence tracks in FilePackage" in errors[0], errors
    assert "not proper OP-Atom/AS-DCP" in readers.as_02(path)
    assert readers.bmx(path)[0] == b"".join(packets) and len(packets) == 48
    assert readers.mediainfo(path, "Audio")["SamplingRate"] == "48000"
    assert readers.mediainfo(path, "Video")["FrameCount"] == "48"
    assert [readers.copied(program, path) for program in (ff.program, readers.system_ffmpeg())] == [packets, packets]


# --- the table of readers ---------------------------------------------------------------------------------------------

TRACKS = {  # profile: muxer of its track files, sizes
    "cinema2k": ("mxf_dcp", "1998x1080"), "cinema4k": ("mxf_dcp", "4096x2160"), "imf_2k": ("mxf_imf", "1920x1080"),
    "imf_2k_r": ("mxf_imf", "1920x1080"), "imf_4k": ("mxf_imf", "3840x2160"), "imf_4k_r": ("mxf_imf", "3840x2160"),
    "imf_ht": ("mxf_imf", "1920x1080", "3840x2160"), "imf_ht_r": ("mxf_imf", "2048x1080", "4096x2160"),
    "broadcast_single": ("mxf_imf", "1920x1080", "3840x2160"), "none": ("mxf", "1920x1080", "3840x2160")}
RATES = (24, 25, 30, 48, 60)


def cells():
    """Each profile, size and rate, as a picture and as a picture and its sound. All but a few run with --release."""
    for number, (profile, (muxer, *sizes)) in enumerate(TRACKS.items()):
        for size in sizes:
            for rate in RATES:
                if profile.startswith("broadcast") and size == "3840x2160" and rate > 30:
                    continue  # main level 6, for which there is no label
                for sound in (False, True):
                    short = rate == RATES[number % 5] and size == sizes[0] and sound and not profile.endswith("_r")
                    yield pytest.param(profile, muxer, size, rate, sound, marks=() if short else pytest.mark.release)


@pytest.mark.parametrize("profile, muxer, size, rate, sound", cells())
def test_table(ff, tmp_path, profile, muxer, size, rate, sound):
    """Two frames, as a plain file and as track files, and what each reader makes of them."""
    track, plain = tmp_path / "picture.mxf", tmp_path / "plain.mxf"
    colours = () if muxer == "mxf_dcp" or "imf" in profile else ("-vf", hd("yuv"))
    packets = encode(ff, track, profile, rate, *colours, "-f", muxer, frames=2, size=size)
    tone = ["-i", tmp_path / "sound.mov", "-map", 0, "-map", 1] if sound else []
    if sound:
        ff.ffmpeg("-f", "lavfi", "-i", f"sine=r=48000:samples_per_frame={2 * 48000 // rate}", "-frames:a", 1, "-ac", 6, "-c:a", "pcm_s24le",
                  tmp_path / "sound.mov")
    ff.ffmpeg("-i", track, *tone, "-c", "copy", plain)
    check_readers(ff, track, packets, rate, photon=muxer != "mxf_dcp")
    check_readers(ff, plain, packets, rate, photon=not sound)
    if sound:
        assert "not proper OP-Atom/AS-DCP" in readers.as_02(plain)
        errors = readers.photon(plain)
        assert len(errors) == 1 and "Number of essence tracks in FilePackage" in errors[0], errors
        assert readers.mediainfo(plain, "Audio")["SamplingRate"] == "48000"
    else:
        assert readers.as_02(plain) == packets
    if muxer != "mxf":
        (check_dcp if muxer == "mxf_dcp" else check_imf)(ff, tmp_path, packets, profile, rate, sound)


def check_track_sound(ff, folder, rate, muxer):
    """The sound track file beside a picture. Returns its samples."""
    ff.ffmpeg("-i", folder / "sound.mov", "-c", "copy", "-mxf_audio_edit_rate", rate, "-f", muxer, folder / "sound.mxf")
    want = ff.ffmpeg("-i", folder / "sound.mov", "-map", 0, "-c", "copy", "-f", "rawvideo", "-").stdout
    assert len(want) == 3 * 6 * 2 * 48000 // rate and readers.bmx(folder / "sound.mxf", "a0")[0] == want
    for program in (ff.program, readers.system_ffmpeg()):
        assert b"".join(readers.copied(program, folder / "sound.mxf", "a")) == want
    return want


def check_dcp(ff, folder, packets, profile, rate, sound):
    """A track file of digital cinema, which is none of IMF."""
    track = folder / "picture.mxf"
    assert readers.as_dcp(track) == packets
    errors = readers.photon(track)
    assert len(errors) == 1 and "violate IMF OP1A compliance" in errors[0], errors
    assert "not AS-02 essence" in readers.as_02(track)
    assert readers.mediainfo(track, "Video")["Format_Profile"] == {"cinema2k": "D-Cinema 2k", "cinema4k": "D-Cinema 4k"}[profile]
    if sound:
        want = check_track_sound(ff, folder, rate, "mxf_dcp")
        assert readers.as_dcp_sound(folder / "sound.mxf") == want


def check_imf(ff, folder, packets, profile, rate, sound):
    """A track file of IMF: no error of Photon, alone and, of Application 2E, in a package."""
    track = folder / "picture.mxf"
    assert readers.as_02(track) == packets
    assert "not ASDCP essence" in readers.as_dcp(track)
    if sound:
        want = check_track_sound(ff, folder, rate, "mxf_imf")
        assert readers.as_02_sound(folder / "sound.mxf").startswith(want)  # as-02-unwrap fills up whole frames of its own rate, 24
        assert readers.photon(folder / "sound.mxf") == []
    if "imf" in profile:
        run(sys.executable, "-B", PACKAGE, "imf", "A film", folder)
        errors = readers.photon(folder)  # Application 2E has no 48 frames/s
        assert len(errors) == 1 and "SampleRate: 48/1" in errors[0] if rate == 48 else not errors, errors


# --- track files of IMF -----------------------------------------------------------------------------------------------


def test_imf_structure(ff, tmp_path):
    """As Netflix's files are: grid 1, one essence container (P1), the bare index in the footer."""
    path = tmp_path / "a.mxf"
    packets = encode(ff, path, "imf_2k", 24, "-f", "mxf_imf")
    mxf = Mxf(path.read_bytes())
    header, body, footer = mxf.partitions
    assert {(part.kag, part.pattern.hex()) for part in mxf.partitions} == {(1, "060e2b34040101010d01020101010100")}
    assert mxf.only("Preface")[0x3B0A].hex() == "0000000100000010" "060e2b340401010d0d010301020c0600"
    assert not body.index_bytes and footer.index_bytes and not header.index_bytes and len(body.items) == len(packets)
    assert not [item for item in mxf.items if item.key == FILL]
    for name in ("MaterialPackage", "SourcePackage"):
        umid = mxf.only(name)[0x4401]
        assert umid[:16].hex() == "060a2b340101010501010f2013000000" and uuid.UUID(bytes=umid[16:]).version == 4


# --- sound ------------------------------------------------------------------------------------------------------------

LABELS = {  # channels: soundfield, labels of the channels
    2: ("sgST", "chL chR"), 6: ("sg51", "chL chR chC chLFE chLs chRs"), 8: ("sg71", "chL chR chC chLFE chLrs chRrs chLss chRss")}


def labels_of(mxf):
    """The symbols of all soundfields and channels, in the order of the file."""
    return [items[0x8503].decode("utf-16-be") for kind, items in mxf.sets if 0x8503 in items]


@pytest.mark.parametrize("channels, hertz, rate", [(2, 48000, 24), (6, 48000, 25), (8, 96000, 48)])
@pytest.mark.parametrize("muxer", ["mxf_imf", "mxf_dcp"])
def test_sound_track(ff, tmp_path, muxer, channels, hertz, rate):
    """A sound track file: each reader takes out the samples that went in."""
    path = tmp_path / "a.mxf"
    sound = ["-f", "lavfi", "-i", f"sine=r={hertz}:d=1", "-ac", channels, "-c:a", "pcm_s24le"]
    ff.ffmpeg(*sound, "-mxf_audio_edit_rate", rate, "-f", muxer, path)
    want = ff.ffmpeg(*sound, "-map", 0, "-f", "rawvideo", "-").stdout
    mxf = Mxf(path.read_bytes())
    elements = mxf.elements(SOUND)
    assert b"".join(elements) == want and len(want) == 3 * channels * hertz
    assert len(elements) == (1 if muxer == "mxf_imf" else rate)
    assert labels_of(mxf) == [LABELS[channels][0], *LABELS[channels][1].split()]

    unwrap, other = (readers.as_02_sound, readers.as_dcp_sound)[::1 if muxer == "mxf_imf" else -1]
    assert unwrap(path) == want and isinstance(other(path), str)
    assert (readers.photon(path) == []) == (muxer == "mxf_imf")
    assert readers.bmx(path, "a0")[0] == want
    shown = readers.mediainfo(path, "Audio")
    assert (shown["Format"], shown["Channels"], shown["SamplingRate"], shown["BitDepth"]) == ("PCM", str(channels), str(hertz), "24")
    for program in (ff.program, readers.system_ffmpeg()):
        assert b"".join(readers.copied(program, path, "a")) == want
    assert ff.probe(path, "-show_streams")["streams"][0]["channels"] == channels


def test_sound_language(ff, tmp_path):
    """Language and title go into the labels. Sound without labels is said to have none."""
    path = tmp_path / "a.mxf"
    sound = ["-f", "lavfi", "-i", "sine=r=48000:d=1", "-c:a", "pcm_s24le"]
    ff.ffmpeg(*sound, "-ac", 2, "-metadata:s:a", "language=ger", "-metadata", "title=Ein Film", "-f", "mxf_imf", path)
    mxf = Mxf(path.read_bytes())
    sets = [items for kind, items in mxf.sets if 0x8505 in items]
    assert {items[0x8505] for items in sets} == {b"de"} and sets[0][0x8506].decode("utf-16-be") == "Ein Film"
    assert readers.photon(path) == []
    log = ff.ffmpeg(*sound, "-ac", 1, "-f", "mxf_dcp", path).text
    assert "1 channels without labels" in log and not labels_of(Mxf(path.read_bytes()))
    assert len(readers.as_dcp_sound(path)) == 3 * 48000
    ff.ffmpeg(*sound, "-ac", 1, "-f", "mxf_imf", path)
    assert readers.photon(path) != []


# --- what is refused --------------------------------------------------------------------------------------------------

CINEMA, IMF = ("-profile:v", "cinema2k"), ("-profile:v", "imf_2k", "-b:v", "20M", "-vf", hd("gbrp"))
SINE = ("-f", "lavfi", "-i", "sine=r=48000:d=1")


@pytest.mark.parametrize("muxer, fmt, rate, options, says", [
    ("mxf_dcp", "gbrp12le", 24, IMF, "has Rsiz 0411, which is no profile of digital cinema"),
    ("mxf_opatom", "yuv422p10le", 24, (), "has Rsiz 0000, which is no profile of digital cinema"),
    ("mxf_imf", "xyz12le", 24, CINEMA, "has Rsiz 0003, which is no profile of IMF"),
    ("mxf_imf", "yuv422p10le", 24, (), "has Rsiz 0000, which is no profile of IMF"),
    ("mxf_dcp", "yuv422p10le", "24000/1001", (), "not 24000/1001; -r 24 before -i"),
    ("mxf_dcp", "xyz12le", 24, (*SINE, "-map", 0, "-map", 1, *CINEMA), "A track file has one stream, not 2; -map 0:v:0"),
    ("mxf_imf", "yuv422p10le", 24, ("-c:v", "rawvideo"), "A picture track file has JPEG 2000, not rawvideo"),
    ("mxf_imf", "gray", 24, (*SINE, "-map", 1, "-c:a", "pcm_s16le"), "not pcm_s16le; -c:a pcm_s24le converts them"),
    ("mxf_dcp", "gray", 24, (*SINE, "-map", 1, "-c:a", "pcm_s24le", "-ar", 44100), "-ar 48000"),
    ("mxf_dcp", "gray", 24, (*SINE, "-map", 1, "-c:a", "pcm_s24le", "-mxf_audio_edit_rate", "30000/1001"),
     "A frame of 1001/30000 has no whole number of samples at 48000 Hz")])
def test_refused(ff, tmp_path, muxer, fmt, rate, options, says):
    inputs, rest = (SINE, options[len(SINE):]) if options[:4] == SINE else ((), options)
    film = source(fmt, rate, 2, "96x64")
    result = ff.ffmpeg(*film[:4], *inputs, *film[4:], "-c:v", "j2k_cuda", *rest, "-f", muxer, tmp_path / "a.mxf", ok=False)
    assert says in result.text, result.text


@pytest.mark.parametrize("muxer, rate", [("mxf_dcp", "24000/1001"), ("mxf_imf", 24)])
def test_allowed(ff, tmp_path, muxer, rate):
    """-strict unofficial writes a profile or rate that a track file has not."""
    log = ff.ffmpeg(*source("yuv422p10le", rate, 2, "96x64"), "-c:v", "j2k_cuda", "-strict", "unofficial", "-f", muxer,
                    tmp_path / "a.mxf").text
    assert "has Rsiz 0000, which is no profile of" in log, log
    assert Mxf((tmp_path / "a.mxf").read_bytes()).duration == 2

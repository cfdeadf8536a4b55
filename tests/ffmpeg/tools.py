# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The programs under test and the decoders that check their output, as Python functions.

An exit status alone is never trusted: bytes, samples and messages are compared.
"""

import array
import contextlib
import dataclasses
import fractions
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pixfmt
from codestream import Codestream
from pictures import H, W, noise, packed



@dataclasses.dataclass
class Encoded:
    packets: list
    log: str


def run(tool, *args, data=None, ok=True):
    """Runs a program that must succeed (ok=True) or fail (False). `text` of the result is its stderr."""
    result = subprocess.run([str(tool), *map(str, args)], input=data, capture_output=True, timeout=600)
    result.text = result.stderr.decode("utf-8", "replace")
    status, tail = result.returncode, result.text[-1500:]
    if ok is not None:
        assert (status == 0) == ok, f"exit status {status} of {tool} {' '.join(map(str, args))}\n{tail}"
    assert status >= 0 and status not in (134, 139), f"{tool} crashed: {status}\n{tail}"
    return result


def decoder_is_patched(ff):
    """Whether this FFmpeg has the patches in ffmpeg-patch/jpeg2000."""
    return not run(ff.program, "-version").stdout.decode().split()[2].startswith("5.1")


def mxf_is_patched(ff):
    """Whether this FFmpeg has the patches in ffmpeg-patch/mxf."""
    return decoder_is_patched(ff) and os.environ.get("CJ2K_MXF_PATCH") != "0"


def say_linear(path):
    """The header of a DPX file says linear light, as FFmpeg up to 7.1 writes it of all pictures."""
    data = bytearray(path.read_bytes())
    assert data[:4] in (b"SDPX", b"XPDS"), path
    data[801] = 2  # transfer characteristic of the first element
    path.write_bytes(data)


def reads_ht(ff, first=7):
    """FFmpeg's own decoder has it from 7.1 on; the one of 5.1 shows noise."""
    version = run(ff.program, "-version").stdout.decode().split()[2]
    return int(version.split(".")[0]) >= first


@contextlib.contextmanager
def scratch_folder():
    with tempfile.TemporaryDirectory(prefix="cj2k-ffmpeg-") as name:
        yield pathlib.Path(name)


@functools.cache
def names_of(program, what):
    """The names that `ffmpeg -encoders`, `-decoders` or `-demuxers` lists."""
    text = run(program, "-hide_banner", f"-{what}").stdout.decode()
    return {name for line in text.splitlines() if (m := re.match(r"\s*[A-Z.]+\s+(\S+)", line))
            for name in m[1].split(",")}


def find_tool(name, folder, variable=None):
    """The path of a tool: what the variable says, the installed one, or that of the latest build; None if there is none."""
    root = pathlib.Path(__file__).resolve().parents[2]
    built = sorted(root.glob(f"build/*/tools/{folder}/{name}"), key=lambda path: -path.stat().st_mtime)
    found = [os.environ.get(variable or ""), shutil.which(name), *map(str, built)]
    return next((path for path in found if path), None)


def find_checker():
    return find_tool("cj2k-check", "check", "CJ2K_CHECK")


def bytes_per_frame(bits_per_second, rate):
    return int(bits_per_second / 8 / fractions.Fraction(str(rate)))


def check_used(size, cap, what):
    """Not one byte above the cap, and 99.9 % of the cap is used.

    A coding pass of a 64x64 block of white noise has up to about 500 bytes and is included whole or not at all. So with
    a small cap that many bytes may stay unused.
    """
    assert size <= cap, f"{what}: {size} bytes, cap {cap}"
    assert size >= 0.999 * cap or cap < 500000 and size > cap - 512, f"{what}: only {size} bytes of {cap}"


def raw_input(fmt, width, height, rate):
    return ["-f", "rawvideo", "-pixel_format", fmt, "-video_size", f"{width}x{height}", "-framerate", rate,
            "-i", "pipe:0"]


def version_of(ff):
    """Major and minor version of this FFmpeg."""
    return tuple(map(int, re.match(r"n?(\d+)\.(\d+)", run(ff.program, "-version").stdout.decode().split()[2]).groups()))


def hd(fmt):
    """The filter that says that frames have the colours of HD, as IMF asks of them."""
    return "setparams=color_primaries=bt709:color_trc=bt709" + ("" if re.search("rgb|gbr", fmt) else ":colorspace=bt709")


class Tools:
    """One built FFmpeg, its ffprobe, and opj_decompress (None if it is not installed)."""

    def __init__(self, ffmpeg, ffprobe, opj):
        self.program = ffmpeg
        self.opj = opj
        self._ffprobe = ffprobe

    def ffmpeg(self, *args, data=None, ok=True, log="warning"):
        stdin = [] if data is not None else ["-nostdin"]
        return run(self.program, "-hide_banner", "-loglevel", log, *stdin, "-y", *args, data=data, ok=ok)

    def probe(self, path, *args):
        return json.loads(run(self._ffprobe, "-v", "error", "-of", "json", *args, path).stdout)

    @functools.cached_property
    def encoder_help(self):
        return self.ffmpeg("-h", "encoder=j2k_cuda", log="info").stdout.decode()

    @functools.cached_property
    def pixel_formats(self):
        return re.search(r"Supported pixel formats: (.*)", self.encoder_help)[1].split()

    @functools.cached_property
    def why_no_cuda(self):
        """The encoder's error line for `-device cuda`; empty if it encodes."""
        encoded = self.encode("-device", "cuda", ok=None)
        lines = [line for line in encoded.log.splitlines() if "[j2k_cuda" in line or "j2k_cuda @" in line]
        assert bool(encoded.packets) != bool(lines), encoded.log
        return lines[0] if lines else ""

    # --- encoding -----------------------------------------------------------------------------------------------------

    def encode(self, *options, fmt="rgb24", width=W, height=H, frames=None, rate=25, ext="j2c", ok=True, log="warning",
               data=None, is_hd=False):
        """Encodes `frames` (default: one frame of noise), or `data`, raw video with that many frames."""
        options = [*(("-vf", hd(fmt)) if is_hd else ()), *options]
        frames = noise(fmt, width, height, 1) if frames is None else frames
        data = packed(fmt, width, height, frames) if data is None else data
        with scratch_folder() as out:
            result = self.ffmpeg(*raw_input(fmt, width, height, rate), "-c:v", "j2k_cuda", *options, "-f", "image2",
                                 out / f"%04d.{ext}", data=data, ok=ok, log=log)
            packets = [path.read_bytes() for path in sorted(out.iterdir())]
        if ok:
            assert len(packets) == len(frames), f"{len(packets)} packets of {len(frames)} frames\n{result.text}"
        return Encoded(packets, result.text)

    def packets(self, *options, **kw):
        return self.encode(*options, **kw).packets

    def parsed(self, *options, **kw):
        return Codestream(self.packets(*options, **kw)[0])

    def check_same(self, *runs, **kw):
        """All runs must give the same bytes. A run is a tuple of options."""
        first = self.packets(*runs[0], **kw)
        for options in runs[1:]:
            assert self.packets(*options, **kw) == first, f"{options} and {runs[0]} give other bytes"

    def check_refused(self, *options, says, **kw):
        """The command must fail without a packet, with every text of `says` in its message. Returns the log."""
        encoded = self.encode(*options, ok=False, **kw)
        assert not encoded.packets, f"{len(encoded.packets)} packets in spite of the error"
        for text in says:
            assert text in encoded.log, f"{text!r} is not in the message:\n{encoded.log}"
        return encoded.log

    # --- decoding -----------------------------------------------------------------------------------------------------

    def opj_samples(self, data, fmt, width, height):
        """The samples from opj_decompress. None if it would convert to RGB or is not installed."""
        if not self.opj or fmt.num_components == 3 and fmt.size(1, 4, 4) in ((2, 2), (2, 4)):
            return None
        with scratch_folder() as folder:
            (folder / "a.j2k").write_bytes(data)
            run(self.opj, "-i", folder / "a.j2k", "-o", folder / "a.pgx")
            return [self._pgx_samples(folder / f"a_{component}.pgx", fmt.depth, fmt.size(component, width, height))
                    for component in range(fmt.num_components)]

    @staticmethod
    def _pgx_samples(path, depth, size):
        header, raw = path.read_bytes().split(b"\n", 1)
        assert header.split() == [b"PG", b"ML", b"+", *(b"%d" % n for n in (depth, *size))], header
        words = array.array("B" if depth <= 8 else "H", raw)
        if sys.byteorder == "little":
            words.byteswap()
        return list(words)

    def ffmpeg_samples(self, data, width, height):
        """The result of FFmpeg's own decoder: (format, samples)."""
        with scratch_folder() as folder:
            path = folder / "a.j2k"
            path.write_bytes(data)
            info = self.probe(path, "-show_streams")["streams"][0]
            assert (info["width"], info["height"]) == (width, height), info
            fmt = pixfmt.parse(info.get("pix_fmt", "none"))
            assert fmt, f"Unknown pix_fmt {info.get('pix_fmt')}"
            raw = self.ffmpeg("-c:v", "jpeg2000", "-i", path, "-f", "rawvideo", "-pix_fmt", info["pix_fmt"], "-").stdout
        return fmt, fmt.unpack(raw, width, height)

    def check_lossless(self, data, fmt, samples, width, height):
        """Every decoder that supports these components must return exactly `samples`. Fails if none does."""
        got = self.opj_samples(data, fmt, width, height)
        assert got in (None, samples), "opj_decompress: samples differ"
        try:
            shown, decoded = self.ffmpeg_samples(data, width, height)
        except AssertionError as error:
            unknown = "Unknown pix_fmt|Invalid data|not supported|unsupported"
            if got is None or not re.search(unknown, str(error), re.IGNORECASE):
                raise
            return
        same_layout = shown.num_components == fmt.num_components and shown.depth >= fmt.depth and all(
            shown.size(c, width, height) == fmt.size(c, width, height) for c in range(fmt.num_components))
        if same_layout:
            # If FFmpeg has no format of this depth it uses a deeper one, with samples shifted up (packed) or not.
            up = shown.depth - fmt.depth
            shifted = [[v << up for v in s] for s in samples]
            assert decoded in (samples, shifted), f"FFmpeg ({shown.name}): samples differ"
        assert same_layout or got is not None, "no decoder could show it"

    # --- containers ---------------------------------------------------------------------------------------------------

    def frame_hashes(self, *args):
        out = self.ffmpeg(*args, "-f", "framemd5", "-").stdout.decode()
        return [line.split(",")[-1].strip() for line in out.splitlines() if line and not line.startswith("#")]

    def copied_packets(self, *source):
        """The packets of a stream, as a muxer gets them."""
        with scratch_folder() as out:
            self.ffmpeg(*source, "-c:v", "copy", "-f", "image2", out / "%04d.bin")
            return [path.read_bytes() for path in sorted(out.iterdir())]

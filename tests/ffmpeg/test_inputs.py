# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What people have: the command of docs/ffmpeg.md, word for word, on files as cameras, editors and scanners write them.

    ffmpeg -i INPUT -c:v j2k_cuda -b:v 250M out.mxf

Each input gives the right file (streams, size, rate, depth, pictures, duration), or one message that names the remedy. The
inputs are written by the system's own ffmpeg, which is not under test.
"""

import array
import fractions
import math
import shutil
import struct
import subprocess

import pytest

import pixfmt
from codestream import Codestream
from tools import mxf_is_patched, names_of, run, version_of

WRITER = shutil.which("ffmpeg")
COMMAND = ("-c:v", "j2k_cuda", "-b:v", "250M", "out.mxf")


@pytest.fixture(name="write")
def _write(tmp_path):
    """write(encoder, ..., name): makes an input in tmp_path. Skips where the system's ffmpeg lacks the encoder."""
    def write(*args, needs=()):
        if not WRITER:
            pytest.skip("there is no ffmpeg in PATH to write the inputs")
        if missing := set(needs) - names_of(WRITER, "encoders"):
            pytest.skip(f"{WRITER} has no encoder {', '.join(sorted(missing))}")
        run(WRITER, "-v", "error", "-nostdin", "-y", *args[:-1], tmp_path / args[-1])
        return args[-1]
    return write


def bars(rate=24, size="128x72", frames=6):
    return ["-f", "lavfi", "-i", f"testsrc2=s={size}:r={rate}:d={float((frames - 0.5) / fractions.Fraction(rate)):.4f}"]


def tone(rate=48000, seconds=0.25, hertz=440):
    return ["-f", "lavfi", "-i", f"sine={hertz}:r={rate}:d={seconds}"]


def needs(ff, *decoders):
    """The builds for the tests alone have only some decoders."""
    if missing := set(decoders) - names_of(ff.program, "decoders"):
        pytest.skip(f"this ffmpeg has no decoder {', '.join(sorted(missing))}")


class Result:
    """The command's output file, as ffprobe and the codestreams describe it."""

    def __init__(self, ff, folder, source, log):
        self.ff, self.folder, self.source, self.log = ff, folder, source, log
        self.path = folder / "out.mxf"
        info = ff.probe(self.path, "-show_streams", "-show_format", "-count_packets")
        self.streams = [s for s in info["streams"] if s["codec_type"] != "data"]
        self.kinds = [s["codec_name"] for s in self.streams]
        self.video = self.streams[0]
        self.duration = float(info["format"]["duration"])
        self.tags = info["format"].get("tags", {})
        self.packets = ff.copied_packets("-i", self.path, "-map", "0:v:0")
        self.stream = Codestream(self.packets[0])

    def check(self, size, rate, frames, depth, components=3, audio=()):
        assert self.kinds == ["jpeg2000", *audio], self.kinds
        assert (self.stream.width, self.stream.height) == size == (self.video["width"], self.video["height"])
        assert self.stream.depths == [depth] * components, self.stream.depths
        assert fractions.Fraction(self.video["r_frame_rate"]) == fractions.Fraction(rate), self.video
        assert len(self.packets) == frames, len(self.packets)
        assert abs(self.duration - frames / fractions.Fraction(rate)) < 0.05, self.duration
        cap = int(250e6 / 8 / fractions.Fraction(rate))
        assert max(map(len, self.packets)) <= cap

    def check_pictures(self, pix_fmt, least=45, filters=()):
        """The samples that a decoder shows against those of the source, component by component."""
        fmt = pixfmt.parse(pix_fmt)
        width, height = self.stream.width, self.stream.height
        raw = self.ff.ffmpeg(*self.source, "-map", "0:v:0", *filters, "-frames:v", len(self.packets), "-f", "rawvideo",
                             "-pix_fmt", pix_fmt, "-").stdout
        size = fmt.frame_bytes(width, height)
        for n, packet in enumerate(self.packets):
            want = fmt.unpack(raw[n * size:(n + 1) * size], width, height)
            shown, got = self.ff.ffmpeg_samples(packet, width, height)
            for component, (a, b) in enumerate(zip(want, got, strict=True)):
                db = psnr(a, b, fmt.depth, shown.depth - fmt.depth)
                assert db > least, f"frame {n}, component {component}: {db:.1f} dB"


def psnr(a, b, depth, up):
    assert len(a) == len(b)
    error = sum((x - (y >> up)) ** 2 for x, y in zip(array.array("i", a), array.array("i", b))) / len(a)
    return 10 * math.log10(((1 << depth) - 1) ** 2 / error) if error else math.inf


def encode(ff, folder, source, *more, data=None):
    """Runs the command in `folder`. Returns the Result; `more` are the options of a remedy."""
    source, more = [*source], map(str, more)
    stdin = ["-nostdin"] if data is None else []
    result = subprocess.run([str(ff.program), "-hide_banner", "-loglevel", "warning", *stdin, "-y", *source, *more,
                             *COMMAND], cwd=folder, input=data, capture_output=True, timeout=600, check=False)
    result.text = result.stderr.decode("utf-8", "replace")
    if result.returncode:
        return result
    absolute = [str(folder / s) if n and source[n - 1] == "-i" and s != "-" else s for n, s in enumerate(source)]
    return Result(ff, folder, absolute, result.text)


def check_refused(result, *says):
    """An exit status, and one line in the log that names what helps."""
    assert not isinstance(result, Result), "not refused"
    assert result.returncode > 0, result.returncode
    for text in says:
        assert text in result.text, f"{text!r} is not in the message:\n{result.text}"


# --- cameras ----------------------------------------------------------------------------------------------------------


def rotate(path):
    """Writes the matrix of a turn by 90 degrees into the first track header, as phones do."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 44
    height = struct.unpack(">I", data[at + 40 : at + 44])[0]
    data[at : at + 36] = struct.pack(">9I", 0, 1 << 16, 0, 0xFFFF0000, 0, 0, height, 0, 1 << 30)
    path.write_bytes(data)


@pytest.mark.parametrize("name, rate, becomes", [("phone.mov", "90000/3749", "24"),
                                                 ("phone.mp4", "90000/1501", "60000/1001")])
def test_phone(ff, tmp_path, write, name, rate, becomes):
    """A rate beside the standard one, 44.1 kHz AAC, held upright."""
    needs(ff, "h264", "aac")
    write(*bars(rate), *tone(44100), "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
          "-video_track_timescale", 90000, "-c:a", "aac", name, needs=("libx264", "aac"))
    rotate(tmp_path / name)
    result = encode(ff, tmp_path, ["-i", name])
    if not mxf_is_patched(ff):
        check_refused(result, "nsupported frame rate")
        result = encode(ff, tmp_path, ["-i", name], "-r", becomes, "-ar", 48000)
    result.check((72, 128), becomes, 6, 8, audio=["pcm_s16le"])
    result.check_pictures("yuv420p")


def test_variable_frame_rate(ff, tmp_path, write):
    """Frames are repeated to the constant rate that MXF has; the duration stays."""
    needs(ff, "h264")
    write(*bars(30, frames=12), "-vf", "select='not(eq(n,3))*not(eq(n,4))*not(eq(n,8))'", "-vsync", "vfr", "-c:v",
          "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "vfr.mp4", needs=("libx264",))
    assert len(ff.copied_packets("-i", tmp_path / "vfr.mp4")) == 9
    result = encode(ff, tmp_path, ["-i", "vfr.mp4"])
    result.check((128, 72), 30, 12, 8)
    assert result.packets[3] == result.packets[2], "frame 3 is not the repeated frame 2"
    result.check_pictures("yuv420p", filters=("-r", 30))


def test_sound_shorter_than_the_picture(ff, tmp_path, write):
    """FFmpeg's MXF muxer ends where the shortest track ends; the remedy of docs/ffmpeg.md keeps every frame."""
    needs(ff, "pcm_s24le", "prores")
    write(*bars(25), *tone(seconds=0.1), "-c:v", "prores_ks", "-pix_fmt", "yuv422p10le", "-c:a", "pcm_s24le", "in.mov",
          needs=("prores_ks",))
    if mxf_is_patched(ff):
        log = encode(ff, tmp_path, ["-i", "in.mov"]).log
        assert "The end of the picture is not written (3 frames)" in log and "-af apad=whole_dur=SECONDS" in log, log
    # With -shortest FFmpeg drops the last frame in one run of ten, whatever the encoder.
    result = encode(ff, tmp_path, ["-i", "in.mov"], "-af", "apad=whole_dur=0.24")
    result.check((128, 72), 25, 6, 10, audio=["pcm_s16le"])


# --- editing ----------------------------------------------------------------------------------------------------------


def test_prores_with_timecode_and_tracks(ff, tmp_path, write):
    """One audio track is ffmpeg's choice; -map 0:v -map 0:a takes them all."""
    needs(ff, "prores", "pcm_s24le")
    write(*bars(), *tone(), *tone(hertz=880), "-map", 0, "-map", 1, "-map", 2, "-c:v", "prores_ks", "-pix_fmt",
          "yuv422p10le", "-c:a", "pcm_s24le", "-timecode", "10:00:00:00", "in.mov", needs=("prores_ks",))
    result = encode(ff, tmp_path, ["-i", "in.mov"])
    result.check((128, 72), 24, 6, 10, audio=["pcm_s16le"])
    result.check_pictures("yuv422p10le")
    assert result.tags.get("timecode") == "10:00:00:00", result.tags
    everything = encode(ff, tmp_path, ["-i", "in.mov"], "-map", "0:v", "-map", "0:a", "-c:a", "pcm_s24le")
    everything.check((128, 72), 24, 6, 10, audio=["pcm_s24le"] * 2)


def test_prores_4444_with_alpha(ff, tmp_path, write):
    needs(ff, "prores")
    write(*bars(), "-vf", "format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='X*2'", "-c:v", "prores_ks", "-profile:v",
          "4444", "-pix_fmt", "yuva444p10le", "in.mov", needs=("prores_ks",))
    pix_fmt = ff.probe(tmp_path / "in.mov", "-show_streams")["streams"][0]["pix_fmt"]
    assert pix_fmt in ("yuva444p10le", "yuva444p12le"), pix_fmt
    result = encode(ff, tmp_path, ["-i", "in.mov"])
    result.check((128, 72), 24, 6, pixfmt.parse(pix_fmt).depth, components=4)
    result.check_pictures(pix_fmt)


def test_dnxhr_in_mxf(ff, tmp_path, write):
    needs(ff, "dnxhd", "pcm_s24le")
    write(*bars(25, "256x144"), *tone(seconds=0.24), "-c:v", "dnxhd", "-profile:v", "dnxhr_hqx", "-pix_fmt", "yuv422p10le",
          "-c:a", "pcm_s24le", "in.mxf", needs=("dnxhd",))
    result = encode(ff, tmp_path, ["-i", "in.mxf"])
    result.check((256, 144), 25, 6, 10, audio=["pcm_s16le"])
    result.check_pictures("yuv422p10le")


def test_interlaced(ff, tmp_path, write):
    """Both fields stay in one picture, as they are; the log says so once."""
    needs(ff, "prores")
    write(*bars(50, frames=12), "-vf", "tinterlace=interleave_top,setfield=tff", "-c:v", "prores_ks", "-flags", "+ildct",
          "-pix_fmt", "yuv422p10le", "in.mov", needs=("prores_ks",))
    result = encode(ff, tmp_path, ["-i", "in.mov"])
    result.check((128, 72), 25, 6, 10)
    result.check_pictures("yuv422p10le")
    assert result.log.count("interlace") == 1, result.log


# --- scans, renders, masters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension, written, depth", [("dpx", "gbrp10le", 10), ("dpx", "gbrp12le", 12),
                                                       ("tiff", "rgb48le", 16), ("tiff", "rgb24", 8)])
def test_sequence(ff, tmp_path, write, extension, written, depth):
    needs(ff, extension)
    write(*bars(25, frames=4), "-pix_fmt", written, f"f_%04d.{extension}", needs=(extension,))
    result = encode(ff, tmp_path, ["-i", f"f_%04d.{extension}"])
    result.check((128, 72), 25, 4, depth)
    result.check_pictures(f"gbrp{depth}le".replace("8le", ""))


def test_exr_sequence(ff, tmp_path, write):
    """Linear light in floating point: coded in 16 bits. The log must say so where the decoder does."""
    needs(ff, "exr")
    write(*bars(25, frames=2), "-pix_fmt", "gbrpf32le", "f_%04d.exr", needs=("exr",))
    result = encode(ff, tmp_path, ["-i", "f_%04d.exr"])
    result.check((128, 72), 25, 2, 16)
    result.check_pictures("gbrp16le")
    assert ("linear light" in result.log) == (version_of(ff) >= (7,)), result.log


def test_jpeg2000_of_12_bits(ff, tmp_path, write):
    """FFmpeg decodes it as rgb48le with 12 significant bits."""
    write(*bars(), "-c:v", "libopenjpeg", "-pix_fmt", "gbrp12le", "-format", "j2k", "in.mxf", needs=("libopenjpeg",))
    result = encode(ff, tmp_path, ["-i", "in.mxf"])
    result.check((128, 72), 24, 6, 12)
    result.check_pictures("gbrp12le")


def test_y4m_from_a_pipe(ff, tmp_path, write):
    if "yuv4mpegpipe" not in names_of(ff.program, "demuxers"):
        pytest.skip("this ffmpeg has no demuxer yuv4mpegpipe")
    write(*bars(25), "-pix_fmt", "yuv422p10le", "-strict", -1, "in.y4m", needs=("wrapped_avframe",))
    data = (tmp_path / "in.y4m").read_bytes()
    result = encode(ff, tmp_path, ["-i", "-"], data=data)
    result.source = ["-i", str(tmp_path / "in.y4m")]
    result.check((128, 72), 25, 6, 10)
    result.check_pictures("yuv422p10le")

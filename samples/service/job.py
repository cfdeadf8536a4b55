# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What a job is: its JSON, the check of every value, and the ffmpeg command it stands for.

    {"input": "reel1.mov", "output": "reel1.mxf", "profile": "imf_4k", "rate": "800M", "options": {"audio": "none"}}

Only what is listed here reaches ffmpeg's command line. What depends on the picture (a rate too low for its size, a size
that the profile does not have) is refused by the encoder, in one line of its own.
"""

import dataclasses
import json
import pathlib
import re
from typing import Any

FORMATS = {".mxf": "mxf", ".mov": "mov", ".mkv": "matroska"}
PROFILES = ("profile0", "profile1", "cinema2k", "cinema4k", "imf_2k", "imf_4k", "imf_8k", "imf_2k_r", "imf_4k_r",
            "imf_8k_r", "broadcast_single", "broadcast_multi", "broadcast_multi_r", "imf_ht", "imf_ht_r", "dicom_ht",
            "dicom_ht_r", "dicom_ht_rpcl")
AUDIO = {"none": ["-an"], "copy": ["-c:a", "copy"], "pcm_s16le": ["-c:a", "pcm_s16le"], "pcm_s24le": ["-c:a", "pcm_s24le"]}
# What the colours of the input are, where it does not say it: a filter that converts nothing. YUV has a matrix, too; R'G'B' leaves
# it alone.
COLOURS = {name: f"setparams=color_primaries={primaries}:color_trc={transfer}:colorspace={matrix}"
           for name, primaries, transfer, matrix in (
               ("rec601_525", "smpte170m", "bt709", "smpte170m"), ("rec601_625", "bt470bg", "bt709", "bt470bg"),
               ("rec709", "bt709", "bt709", "bt709"), ("rec2020", "bt2020", "bt2020-10", "bt2020nc"),
               ("rec2020pq", "bt2020", "smpte2084", "bt2020nc"), ("rec2020hlg", "bt2020", "arib-std-b67", "bt2020nc"))}
LEAST_RATE, MOST_RATE = 100_000, 10_000_000_000
LONGEST_NAME = 200  # of a file name; part files add to it


class BadJob(Exception):
    """A job that is refused. The text has one line for each fault."""


@dataclasses.dataclass(frozen=True)
class OneOf:
    values: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.values

    def __str__(self) -> str:
        return "one of " + ", ".join(self.values)


@dataclasses.dataclass(frozen=True)
class Number:
    least: float
    most: float
    whole: bool = True

    def accepts(self, value: Any) -> bool:
        is_number = isinstance(value, int if self.whole else (int, float)) and not isinstance(value, bool)
        return is_number and self.least <= value <= self.most

    def __str__(self) -> str:
        return f"{'a whole number' if self.whole else 'a number'} from {self.least} to {self.most}"


@dataclasses.dataclass(frozen=True)
class Text:
    pattern: str
    example: str

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and re.fullmatch(self.pattern, value) is not None

    def __str__(self) -> str:
        return f"like {self.example}"


class TrueOnly:
    def accepts(self, value: Any) -> bool:
        return value is True

    def __str__(self) -> str:
        return "true"


# Option of a job: ffmpeg's option, and what it may be.
OPTIONS: dict[str, tuple[str, Any]] = {
    "lossless": ("-lossless", TrueOnly()),
    "quality": ("-q:v", Number(0.01, 1000, whole=False)),
    "pix_fmt": ("-pix_fmt", Text(r"[a-z0-9]{2,20}", "yuv422p10le")),
    "frame_rate": ("-r", Text(r"[1-9]\d{0,2}(/1|/1001)?|[1-9]\d{1,5}/1001", "24 or 24000/1001")),
    "xyz": ("-xyz", OneOf(("auto", "off", "rec709", "p3d65", "p3dci", "rec2020"))),
    "cinema_rate": ("-cinema_rate", OneOf(("safe", "full", "hfr"))),
    "cblk": ("-cblk", Text(r"auto|\d{1,4}x\d{1,4}", "32x32")),
    "levels": ("-levels", Number(0, 32)),
    "progression": ("-progression", OneOf(("auto", "lrcp", "rlcp", "rpcl", "pcrl", "cprl"))),
    "tile_parts": ("-tile_parts", OneOf(("auto", "none", "resolution", "component"))),
    "stop": ("-stop", OneOf(("none", "exact", "pst", "psb", "bpi"))),
    "device": ("-device", Text(r"auto|cpu|cuda(:\d{1,2}(,\d{1,2})*)?", "auto, cpu, cuda or cuda:1")),
    "threads": ("-threads", Number(1, 256)),
    "audio": ("", OneOf(tuple(AUDIO))),
    "colours": ("", OneOf(tuple(COLOURS))),
}


def bits_per_second(value: Any) -> int | None:
    """250000000, "250M" or "0.8G" in bit/s; None if it is no rate."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([kMG]?)", value) if isinstance(value, str) else None
    return round(float(match[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[match[2]]) if match else None


def shown(value: Any) -> str:
    """A value of the JSON, on one line."""
    return json.dumps(value)[:80]


def path_fault(value: Any) -> str | None:
    """Why a value cannot be the name of a file below the media folder."""
    if not isinstance(value, str) or not value:
        return "is not a file name"
    parts = pathlib.PurePosixPath(value).parts
    if value.startswith("/") or ".." in parts:
        return "must be a path below the media folder, with neither a leading / nor .."
    if not value.isprintable():
        return "has control characters"
    if not parts or len(parts[-1].encode()) > LONGEST_NAME:
        return f"has a file name that is not 1 to {LONGEST_NAME} bytes long"
    return None


@dataclasses.dataclass(frozen=True)
class Job:
    input: str
    output: str
    profile: str | None = None
    rate: int | None = None  # bit/s
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @staticmethod
    def parse(data: Any) -> "Job":
        """A job from JSON, as text or already read. BadJob says all that is wrong, with names, values and ranges."""
        if isinstance(data, (str, bytes)):
            try:
                data = json.loads(data)
            except (ValueError, RecursionError) as error:
                raise BadJob(f"not JSON: {error}") from None
        if not isinstance(data, dict):
            raise BadJob(f"a job is an object like {{\"input\": ..., \"output\": ...}}, not {shown(data)}")
        faults = list(Job._faults(data))
        if faults:
            raise BadJob("\n".join(faults))
        rate = None if data.get("rate") is None else bits_per_second(data["rate"])
        normal = {name: str(pathlib.PurePosixPath(data[name])) for name in ("input", "output")}
        return Job(**normal, profile=data.get("profile"), rate=rate, options=dict(sorted(data.get("options", {}).items())))

    @staticmethod
    def _faults(data: dict[str, Any]):
        fields = [field.name for field in dataclasses.fields(Job)]
        for name in data.keys() - fields:
            yield f"{name if name.isidentifier() else shown(name)} is not one of {', '.join(fields)}"
        for name in ("input", "output"):
            fault = path_fault(data.get(name))
            if fault:
                yield f"{name} {shown(data.get(name))} {fault}"
            elif name == "output" and pathlib.PurePosixPath(data[name]).suffix not in FORMATS:
                yield f"output {shown(data[name])} is not named {', '.join(FORMATS)}"
        profile, rate, options = data.get("profile"), data.get("rate"), data.get("options", {})
        if profile is not None and profile not in PROFILES:
            yield f"profile {shown(profile)} is not one of {', '.join(PROFILES)}"
        if rate is not None and not LEAST_RATE <= (bits_per_second(rate) or 0) <= MOST_RATE:
            yield f"rate {shown(rate)} is not a rate from 100k to 10G bit/s, such as \"250M\""
        if not isinstance(options, dict):
            yield f"options {shown(options)} is not an object"
            return
        for name, value in options.items():
            if name not in OPTIONS:
                yield f"option {name if name.isidentifier() else shown(name)} is not one of {', '.join(OPTIONS)}"
            elif not OPTIONS[name][1].accepts(value):
                yield f"option {name} {shown(value)} is not {OPTIONS[name][1]}"

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def ffmpeg_arguments(self, source: pathlib.Path, part: pathlib.Path, threads: int | None) -> list[str]:
        """All arguments of ffmpeg. `threads` is the worker's own limit, for jobs that name none."""
        arguments = ["-hide_banner", "-nostdin", "-y", "-nostats", "-loglevel", "level+info",
                     "-progress", "pipe:1", "-stats_period", "0.5",
                     # A file may name others (playlists, IMF packages): only files, no network.
                     "-protocol_whitelist", "file",
                     # A frame that cannot be decoded fails the job. Else ffmpeg would show the one before again.
                     "-xerror", "-i", f"file:{source}", "-map", "0:v:0", "-map", "0:a?", "-c:v", "j2k_cuda"]
        if self.profile is not None:
            arguments += ["-profile:v", self.profile]
        if self.rate is not None:
            arguments += ["-b:v", str(self.rate)]
        options = dict(self.options)
        if threads:
            options.setdefault("threads", threads)
        arguments += AUDIO[options.pop("audio", "pcm_s24le")]
        if "colours" in options:
            arguments += ["-vf", COLOURS[options.pop("colours")]]
        for name, value in options.items():
            arguments += [OPTIONS[name][0], "1" if value is True else str(value)]
        return arguments + ["-f", FORMATS[pathlib.PurePosixPath(self.output).suffix], f"file:{part}"]

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""What jobs may say, and what ffmpeg is told."""

import json
import pathlib
import re
import subprocess

import pytest

import conftest
import job
from job import BadJob, Job

GOOD = {"input": "a.mov", "output": "a.mxf"}


def test_tools_are_installed():
    """Everything else needs them; without them this line is the only result."""
    if conftest.MISSING:
        pytest.skip(f"not installed: {', '.join(conftest.MISSING)}; scripts/install_deps.sh service installs them")


@pytest.mark.parametrize("change, says", [
    ({"input": None}, "input null is not a file name"),
    ({"input": "/etc/passwd"}, 'input "/etc/passwd" must be a path below the media folder'),
    ({"input": "a/../../b.mov"}, "must be a path below the media folder"),
    ({"input": "a\nb"}, "has control characters"),
    ({"output": "a.avi"}, 'output "a.avi" is not named .mxf, .mov, .mkv'),
    ({"output": "a" * 300 + ".mxf"}, "1 to 200 bytes"),
    ({"output": "."}, "1 to 200 bytes"),
    ({"output": "\ud800.mxf"}, "has control characters"),
    ({"rate": float("nan")}, "rate NaN is not a rate"),
    ({"a\nb": 1}, '"a\\nb" is not one of input,'),
    ({"options": {"a\nb": 1}}, 'option "a\\nb" is not one of'),
    ({"profile": "imf"}, 'profile "imf" is not one of profile0,'),
    ({"rate": "fast"}, 'rate "fast" is not a rate from 100k to 10G bit/s'),
    ({"rate": 0}, "rate 0 is not a rate from 100k to 10G"),
    ({"rate": "11G"}, 'rate "11G" is not'),
    ({"rate": True}, "rate true is not"),
    ({"options": {"levels": 33}}, "option levels 33 is not a whole number from 0 to 32"),
    ({"options": {"levels": True}}, "option levels true is not"),
    ({"options": {"vf": "movie=/etc/passwd"}}, "option vf is not one of lossless,"),
    ({"options": {"audio": "mp3"}}, 'option audio "mp3" is not one of none, copy,'),
    ({"options": {"cblk": "64x64 -y"}}, "is not like 32x32"),
    ({"options": {"lossless": False}}, "option lossless false is not true"),
    ({"options": []}, "options [] is not an object"),
    ({"priority": 1}, "priority is not one of input, output, profile, rate, options"),
])
def test_bad_values_are_named_with_their_range(change, says):
    with pytest.raises(BadJob) as error:
        Job.parse(GOOD | change)
    assert says in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"a"', "null", "[" * 100000, '{"input": "a", "input": {}}', b"\xff"])
def test_what_is_no_job_is_refused(text):
    with pytest.raises(BadJob):
        Job.parse(text)


def test_every_fault_has_its_line():
    with pytest.raises(BadJob) as error:
        Job.parse({"input": 1, "output": 2, "rate": 3, "options": {"levels": "x", "y": 1}})
    assert len(str(error.value).splitlines()) == 5


def test_jobs_are_normal():
    """The same job in other words is the same job."""
    parsed = Job.parse(json.dumps({"input": "./x//a.mov", "output": "a.mxf", "rate": "0.25G", "options": {}}))
    assert parsed == Job.parse({"input": "x/a.mov", "output": "./a.mxf", "rate": 250000000})
    assert Job.parse(parsed.as_dict()) == parsed


def test_arguments():
    everything = GOOD | {"profile": "imf_2k", "rate": "100M", "options": {"levels": 4, "audio": "none", "lossless": True}}
    arguments = " ".join(Job.parse(everything).ffmpeg_arguments(pathlib.Path("/in/a.mov"), pathlib.Path("/out/p"), 3))
    for words in ("-i file:/in/a.mov", "-profile:v imf_2k", "-b:v 100000000", "-levels 4", "-an", "-lossless 1",
                  "-threads 3", "-f mxf file:/out/p"):
        assert words in arguments
    named = Job.parse(GOOD | {"profile": "imf_2k", "options": {"colours": "rec709"}})
    filters = "-vf setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709 "
    assert filters in " ".join(named.ffmpeg_arguments(pathlib.Path("a"), pathlib.Path("b"), None))
    one_thread = Job.parse(GOOD | {"options": {"threads": 1}})
    assert "-threads 1 " in " ".join(one_thread.ffmpeg_arguments(pathlib.Path("a"), pathlib.Path("b"), 3))


def test_the_lists_are_the_encoders(ffmpeg):
    """Profiles, enumerations and ranges are those of the encoder."""
    text = subprocess.run([ffmpeg, "-hide_banner", "-h", "encoder=j2k_cuda"], capture_output=True, text=True,
                          check=True).stdout
    values = {}
    for line in text.splitlines():
        if found := re.match(r"  -(\w+) +<", line):
            values[option := found[1]] = []
            if bounds := re.search(r"\(from (-?\d+) to (\d+)\)", line):
                values[option].append(bounds[2])
        elif found := re.match(r"     (\S+) +-?\d+ ", line):
            values[option].append(found[1])
    assert set(job.PROFILES) == set(values["profile"][1:]) - {"none"}
    for name, (flag, rule) in job.OPTIONS.items():
        if isinstance(rule, job.OneOf) and flag:
            assert set(rule.values) == set(values[flag[1:]][1:]), name
    assert values["levels"][0] == str(job.OPTIONS["levels"][1].most)
    assert all(flag[1:].split(":")[0] in values.keys() | {"", "q", "pix_fmt", "r", "threads"}
               for flag, _ in job.OPTIONS.values())

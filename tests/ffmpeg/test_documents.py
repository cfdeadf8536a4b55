# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Every command in the README and in the manual runs as it stands, on a small film that is named as there."""

import os
import pathlib
import re
import shlex
import subprocess

import pytest

from tools import find_checker, names_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKER = find_checker()
FRAMES = 3

# Commands that need a GPU.
ON_A_GPU = {
    "ffmpeg -i in.mov -c:v j2k_cuda -device cuda:0,1 -b:v 250M out.mxf",
    "ffmpeg -hwaccel cuda -hwaccel_output_format cuda -i in.mov -c:v j2k_cuda -b:v 250M out.mxf",
    "ffmpeg -hwaccel cuda -hwaccel_output_format cuda -i in.mp4 -vf scale_cuda=1920:-2 -c:v j2k_cuda -b:v 100M out.mxf",
}
# Lines of code in the README that are run elsewhere, and where.
ELSEWHERE = {
    "./samples/quickstart.sh [INPUT] [OUTPUT.mxf] [BITRATE]": "it builds FFmpeg: tests/run.sh does that",
    "./tests/run.sh": "runs this test",
    "cj2k-check --profile cinema4k --fps 24 --sequence frames/*.j2c": "tests/conformance",
    "cj2k-check --json track.mxf": "tests/conformance",
    'docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" libcj2k -i in.mov -c:v j2k_cuda -b:v 250M out.mxf': "tests/image",
    "cc encode.c $(pkg-config --cflags --libs cj2k)": "tests/package/package_test.sh",
    "find_package(cj2k 0.1 REQUIRED)": "tests/package/package_test.sh",
    "target_link_libraries(encode PRIVATE cj2k::cj2k)": "tests/package/package_test.sh",
}


def commands(lines):
    """The commands in `lines`, without comments. A backslash at the end of a line goes on in the next one."""
    text = re.sub(r"\\\n\s*", "", "\n".join(lines) + "\n")
    return [" ".join(re.sub(r"\s#\s.*", "", line).split()) for line in text.splitlines() if line.strip()]


def in_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    inline = [" ".join(command.split()) for command in re.findall(r"`(ffmpeg [^`]*)`", text)]
    return commands(line for line in text.splitlines() if line.startswith("    ")) + inline


def in_manual():
    """The examples of doc/encoders.texi, which is a part of the patch."""
    patch = (ROOT / "ffmpeg-patch/j2k_cuda.patch").read_text(encoding="utf-8")
    added = "\n".join(line[1:] for line in patch.splitlines() if line.startswith("+"))
    examples = re.findall(r"^@example\n(.*?)^@end example", added, re.MULTILINE | re.DOTALL)
    return [c for e in examples for c in commands(re.sub(r"@([{}@])", r"\1", e).splitlines())]


def test_there_are_commands():
    assert len(in_readme()) > 10 and len(in_manual()) > 4
    gone = (ON_A_GPU | ELSEWHERE.keys()) - {*in_readme(), *in_manual()}
    assert not gone, f"no longer in the README or in the manual: {gone}"


def make_film(ff, path):
    """The file or the sequence of a command: what every build can decode, or the kind of image that the name says."""
    path.parent.mkdir(exist_ok=True)
    kind = path.suffix[1:]
    codec = {"mxf": ["-c:v", "jpeg2000", "-pix_fmt", "yuv422p10le"], "dpx": ["-pix_fmt", "gbrp10le"],
             "tiff": ["-pix_fmt", "rgb48le"], "exr": ["-pix_fmt", "gbrpf32le"]}.get(kind, ["-c:v", "png", "-pix_fmt", "rgb48be", "-f", "mov"])
    if kind in ("dpx", "tiff", "exr"):
        for kinds in ("decoders", "encoders"):
            if kind not in names_of(ff.program, kinds):
                pytest.skip(f"this ffmpeg has no {kind} among its {kinds}")
    ff.ffmpeg("-f", "lavfi", "-i", "testsrc2=s=320x180:r=24", "-frames:v", FRAMES, *codec, path)


def execute(ff, folder, words):
    environment = os.environ | {"CJ2K_FFMPEG": str(ff.program), "CJ2K_CHECK": CHECKER or ""}
    return subprocess.run(words, cwd=folder, text=True, capture_output=True, timeout=300, env=environment, check=False)


def run_ffmpeg(ff, folder, arguments):
    if "zscale" in " ".join(arguments) and "zscale" not in names_of(ff.program, "filters"):
        pytest.skip("this ffmpeg has no filter zscale")
    for word, name in zip(arguments, arguments[1:]):
        if word == "-i" and not (folder / name).exists():
            make_film(ff, folder / name)
        if word == "-vf" and (missing := set(re.findall(r"(?:^|,)(\w+)", name)) - names_of(ff.program, "filters")):
            pytest.skip(f"this ffmpeg has no filter {', '.join(sorted(missing))}")
    result = execute(ff, folder, [str(ff.program), "-hide_banner", "-nostdin", "-y", *arguments])
    assert result.returncode == 0, result.stderr[-3000:]
    if "-i" not in arguments:
        assert "j2k_cuda" in result.stdout, result.stdout
        return
    info = ff.probe(folder / arguments[-1], "-count_packets", "-show_streams")["streams"][0]
    assert (info["codec_name"], info["nb_read_packets"]) == ("jpeg2000", str(FRAMES)), info


@pytest.mark.parametrize("command", sorted({*in_readme(), *in_manual()} - ON_A_GPU - ELSEWHERE.keys()))
def test_command(ff, tmp_path, command):
    words = shlex.split(command)
    if words[0] == "ffmpeg":
        run_ffmpeg(ff, tmp_path, words[1:])
        return
    assert words[0].startswith("samples/"), f"{command}: run by no test (tests/ffmpeg/test_documents.py)"
    if words[0] == "samples/proxy.sh" and "prores_ks" not in names_of(ff.program, "encoders"):
        pytest.skip("this ffmpeg has no encoder prores_ks")
    if words[0] in ("samples/dcp.sh", "samples/imf.sh"):
        if not CHECKER:
            pytest.skip("there is no cj2k-check in PATH or in build")
        if "lutrgb" not in names_of(ff.program, "filters"):
            pytest.skip("this ffmpeg was built for the tests alone")
    make_film(ff, tmp_path / words[1])
    result = execute(ff, tmp_path, [str(ROOT / words[0]), *words[1:]])
    assert result.returncode == 0, result.stdout + result.stderr[-3000:]

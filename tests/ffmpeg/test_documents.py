# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Every command in README.md, docs/ and the manual runs as it stands, on a small film that is named as there.

The commands are those of ```sh blocks. A comment before a block says if it is not run here, or what it must print:

    <!-- needs: a GPU -->             skipped with this reason
    <!-- run by: tests/cluster -->    skipped: this runs it
    <!-- says: part of a line -->     its last command prints this; it may fail, all others must not
"""

import functools
import os
import pathlib
import re
import shlex
import subprocess

import pytest

from tools import find_checker, find_tool, hd, mxf_is_patched, names_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# What runs with every FFmpeg.
EVERYWHERE = ("README.md", "manual", "ffmpeg.md", "profiles.md")
FRAMES = 3
BLOCK = re.compile(r"(?:^<!-- (needs|run by|says): ([^\n]*) -->\n)?^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(ffmpeg (?:-i|-h) [^`]*j2k_cuda[^`]*)`")
# What the commands may call. The scripts are those of this checkout.
TOOLS = ("ffmpeg", "cj2k", "cj2k-check", "mkdir")
FOLDERS = ("samples", "scripts", "tests")
ON_A_GPU = re.compile(r"-(device|hwaccel) cuda")  # in the manual, which has no marks
FILM = re.compile(r"[\w/%.-]+\.(mov|mp4|mxf|dpx|tiff|exr|png)")


def commands(text):
    """The commands in `text`, without comments. A backslash at the end of a line goes on in the next one."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [" ".join(re.sub(r"(^|\s)#\s.*", "", line).split()) for line in lines if re.sub(r"(^|\s)#\s.*", "", line).strip()]


class Block:
    """Commands that follow each other in one folder."""

    def __init__(self, place, text, kind=None, note=None):
        self.place, self.commands, self.kind, self.note = place, commands(text), kind, note

    def __repr__(self):
        return self.place


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start(3)) + 1
        yield Block(f"{page.name}:{line}", match[3], match[1], match[2])
    for match in INLINE.finditer(text):
        yield Block(f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}", match[1])


def manual_blocks():
    """The examples of doc/encoders.texi, which is a part of the patch."""
    patch = (ROOT / "ffmpeg-patch/j2k_cuda.patch").read_text(encoding="utf-8")
    added = "\n".join(line[1:] for line in patch.splitlines() if line.startswith("+"))
    examples = re.findall(r"^@example\n(.*?)^@end example", added, re.MULTILINE | re.DOTALL)
    return [Block(f"manual:{i}", re.sub(r"@([{}@])", r"\1", text)) for i, text in enumerate(examples, 1)]


def message_blocks():
    """Lines of messages.tsv: a command, and the part of a heading of docs/troubleshooting.md that it prints."""
    lines = (ROOT / "tests/ffmpeg/messages.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines]
    return [Block(f"messages.tsv:{number}", command, "says", says) for number, (command, says) in enumerate(pairs, 1)]


BLOCKS = [block for page in PAGES for block in blocks_of(page)] + manual_blocks() + message_blocks()


def test_there_are_commands():
    assert len(manual_blocks()) > 2
    for page in ("README", "start", "dcp", "imf", "archive", "proxy", "ffmpeg", "options", "troubleshooting"):
        assert any(block.place.startswith(f"{page}.md:") for block in BLOCKS), f"no command in {page}.md"


def test_messages_are_quoted():
    """Each command prints the message of another heading. Three headings have a block of their own, or depend on the build."""
    quoted = re.findall(r"^### `(.*)`$", (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE)
    printed = {heading for heading in quoted for block in message_blocks() if block.note in heading}
    assert len(printed) == len(message_blocks()) and len(quoted) - len(printed) == 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_are_marked(page):
    """A comment that BLOCK does not take for a mark would let its block run, or not."""
    text = page.read_text(encoding="utf-8")
    marks = re.findall(r"^<!-- (?:needs|run by|says): .*-->$", text, re.MULTILINE)
    assert len(marks) == sum(1 for block in blocks_of(page) if block.kind), "a mark does not stand right before a ```sh block"


def make_film(ff, path, frames=FRAMES, size="320x180", sound=False):
    """The file or the sequence of a command: what every build can decode, or the kind of image that the name says."""
    path.parent.mkdir(exist_ok=True)
    kind = path.suffix[1:]
    codec = {"mxf": ["-c:v", "jpeg2000", "-pix_fmt", "yuv422p10le"], "dpx": ["-pix_fmt", "gbrp10le"],
             "tiff": ["-pix_fmt", "rgb48le"], "exr": ["-pix_fmt", "gbrpf32le"]}.get(kind, ["-c:v", "png", "-pix_fmt", "rgb48be", "-f", "mov"])
    codec = ["-vf", hd("rgb" if kind == "mov" else "yuv"), *codec]  # films say what their colours are
    if kind in ("dpx", "tiff", "exr"):
        for kinds in ("decoders", "encoders"):
            if kind not in names_of(ff.program, kinds):
                pytest.skip(f"this ffmpeg has no {kind} among its {kinds}")
    tone = ["-f", "lavfi", "-i", "sine=r=48000:d=0.5", "-ac", 2, "-c:a", "pcm_s16le"] if sound else []
    ff.ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={size}:r=24", *tone, "-frames:v", frames, *codec, path)


def make_inputs(ff, folder, words):
    """The films that a command reads: after -i, or the first one that a script names."""
    if words[0] == "ffmpeg":
        names = [name for word, name in zip(words, words[1:]) if word == "-i" and name != "-"]
    else:
        names = [word for word in words[1:] if FILM.fullmatch(word)][:1]
    size = "1920x1080" if words[0].startswith("samples/") else "320x180"  # a script must stand real sizes
    sound = "0:a:0" in words
    for name in names:
        if sound or not (folder / name).exists() and not (folder / (name % 1 if "%" in name else name)).exists():
            make_film(ff, folder / name, 8 if words[0] == "samples/cluster/encode.sh" else FRAMES, size, sound)  # 8: one for each segment


def check_parts(ff, words):
    """Skips what this ffmpeg was not built with."""
    for option, kinds in (("-vf", "filters"), ("-c:v", "encoders")):
        for word, name in zip(words, words[1:]):
            wanted = set(re.findall(r"(?:^|,)(\w+)", name)) if option == "-vf" else {name}
            if word == option and (missing := wanted - names_of(ff.program, kinds)):
                pytest.skip(f"this ffmpeg has not, among its {kinds}: {', '.join(sorted(missing))}")


def make_tools(ff, folder):
    """A folder for PATH with the programs of TOOLS, and the scripts of this checkout beside the film."""
    path = folder / ".tools"
    path.mkdir()
    (path / "ffmpeg").write_text(f'#!/bin/sh\nexec "{ff.program}" -hide_banner -nostdin -y "$@"\n', encoding="utf-8")
    (path / "ffmpeg").chmod(0o755)
    for name, program in (("cj2k-check", find_checker()), ("cj2k", find_tool("cj2k", "cj2k", "CJ2K_TOOL"))):
        if program:
            (path / name).symlink_to(pathlib.Path(program).resolve())
    for name in FOLDERS:
        (folder / name).symlink_to(ROOT / name)
    return path


def needed(ff, words, tools):
    """Why the command cannot run here; empty if it can."""
    if words[0] in ("cj2k", "cj2k-check") and not (tools / words[0]).exists():
        return f"there is no {words[0]} in PATH or in build"
    if words[0] == "samples/proxy.sh" and "prores_ks" not in names_of(ff.program, "encoders"):
        return "this ffmpeg has no encoder prores_ks"
    if {"mxf_dcp", "mxf_imf"} & set(words) and not mxf_is_patched(ff):
        return "this FFmpeg has no MXF patch"
    if words[0] in ("samples/dcp.sh", "samples/imf.sh"):
        if not (tools / "cj2k-check").exists():
            return "there is no cj2k-check in PATH or in build"
        if "lutrgb" not in names_of(ff.program, "filters"):
            return "this ffmpeg was built for the tests alone"
    return ""


@functools.cache
def is_quickstarts(program):
    """Whether it is FFmpeg 7.1, and was not built for the tests alone."""
    version = subprocess.run([program, "-version"], text=True, capture_output=True, check=True).stdout.split()[2]
    return version.startswith("7.1") and "prores_ks" in names_of(program, "encoders")


def execute(ff, folder, tools, command):
    environment = os.environ | {"CJ2K_FFMPEG": str(ff.program), "CJ2K_CHECK": find_checker() or "",
                                "PATH": f"{tools}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", command], cwd=folder, text=True, capture_output=True, timeout=300, env=environment,
                          check=False)


def check_output(ff, folder, words):
    """What an encode or a copy of the film leaves: as many packets of JPEG 2000; or its sound."""
    info = ff.probe(folder / words[-1], "-count_packets", "-show_streams")["streams"][0]
    if "0:a:0" in words:
        assert (info["codec_name"], info["channels"]) == ("pcm_s24le", 2), info
        return
    expected = "jpeg2000" if {"j2k_cuda", "copy"} & set(words) else words[words.index("-c:v") + 1].removesuffix("_ks")
    assert (info["codec_name"], info["nb_read_packets"]) == (expected, str(FRAMES)), info


def run_command(ff, folder, tools, command, says):
    """Runs one command; `says`: what it must print instead of succeeding."""
    if ON_A_GPU.search(command) and not says:
        pytest.skip("needs a GPU")
    words = shlex.split(command)
    assert words[0] in TOOLS or words[0].split("/")[0] in FOLDERS, f"{command}: not run here, and its block is not marked"
    if reason := needed(ff, words, tools):
        pytest.skip(reason)
    check_parts(ff, words)
    make_inputs(ff, folder, words)
    result = execute(ff, folder, tools, command)
    if says:
        assert says in result.stdout + result.stderr, result.stdout + result.stderr
        return
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr[-3000:]}"
    if words[0] == "ffmpeg" and words[-1] == "-":
        assert "-pass" in words  # the next command reads its log
    elif words[0] == "ffmpeg" and "-i" in words:
        check_output(ff, folder, words)
    elif words[0] == "ffmpeg":
        assert "j2k_cuda" in result.stdout, result.stdout


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
def test_block(ff, tmp_path, block):
    if block.kind in ("needs", "run by"):
        pytest.skip(f"{block.kind} {block.note}")
    if not block.place.startswith(EVERYWHERE) and not is_quickstarts(ff.program):
        pytest.skip("these pages run with FFmpeg 7.1, as samples/quickstart.sh builds it")
    tools = make_tools(ff, tmp_path)
    skipped = []
    for number, command in enumerate(block.commands, 1):
        if skipped and command.startswith("cj2k-check"):
            continue  # what it reads was not made
        try:
            run_command(ff, tmp_path, tools, command, block.note if block.kind == "says" and number == len(block.commands) else None)
        except pytest.skip.Exception as reason:
            skipped.append(str(reason))
    if skipped:
        pytest.skip("; ".join(sorted(set(skipped))))

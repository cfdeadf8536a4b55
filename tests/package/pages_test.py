#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""pages_test.py ROOT: pages of docs/ against the sources.

- Each message that docs/troubleshooting.md quotes is one of the sources, with values in place of its conversions.
- Each option of ours in docs/migration.md exists.
- Each parameter has an example in docs/options.md.
- The figures are those that scripts/site/figures.py draws from the result files.
"""
import pathlib
import re
import subprocess
import sys

LITERAL = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"(?:\s|PRI\w+)*)+')
CONVERSION = re.compile(r"%[-+ #0]*[\d*]*(?:\.[\d*]+)?(?:hh|h|ll|l|z|t|j)?[diouxXeEfgGcsp]")
LEAST = 10  # letters that a quoted message must share with its source
# Options of FFmpeg's own that docs/migration.md names.
OF_FFMPEG = {"b:v", "q:v", "r", "profile:v", "threads", "update"}


def literals(text):
    """The string literals of a C source: neighbours joined, the conversions of <inttypes.h> as %d."""
    for match in LITERAL.finditer(text):
        parts = re.findall(r'"((?:[^"\\\n]|\\.)*)"|(PRI)\w+', match[0])
        yield "".join("d" if macro else part for part, macro in parts).replace('\\"', '"').replace("\\n", "")


def known_messages(root):
    """The plain parts, between conversions, of each literal of the library, the encoder and the patches for FFmpeg."""
    sources = [*root.glob("libcj2k/**/*.cc"), *root.glob("libcj2k/**/*.h"), *root.glob("ffmpeg-patch/*.c")]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    for patch in root.glob("ffmpeg-patch/**/*.patch"):
        lines = patch.read_text(encoding="utf-8").splitlines()
        texts.append("\n".join(line[1:] for line in lines if line.startswith("+")))
    found = {tuple(part.replace("%%", "%") for part in CONVERSION.split(literal)) for text in texts for literal in literals(text)}
    return [parts for parts in found if sum(map(len, parts)) >= LEAST]


def fits(parts, message):
    """Whether `message` holds all of a literal, or ends within it."""
    for count in range(len(parts), -1, -1):
        head = re.search(".*?".join(map(re.escape, parts[:count])), message)
        if not head:
            continue
        letters = sum(map(len, parts[:count]))
        if count == len(parts):
            return True
        for begin in range(head.end(), len(message) + 1):
            tail = message[begin:]
            if parts[count].startswith(tail) and letters + len(tail) >= LEAST:
                return True
    return False


def unknown_messages(root):
    known = known_messages(root)
    quoted = re.findall(r"^### `(.*)`$", (root / "docs/troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(quoted) > 10, "docs/troubleshooting.md quotes no messages"
    return [f"docs/troubleshooting.md: no source says: {message}" for message in quoted
            if not any(fits(parts, message) for parts in known)]


def parameters(root):
    table = (root / "libcj2k/include/cj2k_params.def").read_text(encoding="utf-8")
    return re.findall(r"^CJ2K_(?:NUMBER|TEXT)\((\w+),", table, re.MULTILINE)


def unknown_options(root):
    """The second column of the tables of migration.md."""
    encoder = (root / "ffmpeg-patch/libcj2kenc.c").read_text(encoding="utf-8")
    known = {*re.findall(r'^    (?:\{ "|OPT\(|STR\()([\w-]+)', encoder, re.MULTILINE), *OF_FFMPEG}
    rows = re.findall(r"^\|[^|]*\|([^|]*)\|", (root / "docs/migration.md").read_text(encoding="utf-8"), re.MULTILINE)
    options = [option for cell in rows for code in re.findall(r"`([^`]*)`", cell) for option in re.findall(r"(?:^| )-([a-z][\w:-]*)", code)]
    keys = [key for cell in rows for code in re.findall(r"`([^`]*)`", cell) for key in re.findall(r"(?:^| |:)(\w+)=", code)]
    assert len(options) > 50, "docs/migration.md names no options"
    assert len(keys) > 20, "docs/migration.md names no parameters"
    return [f"docs/migration.md: there is no option -{option}" for option in sorted(set(options) - known)] + [
        f"docs/migration.md: there is no parameter {key}" for key in sorted(set(keys) - set(parameters(root)))]


def without_example(root):
    page = (root / "docs/options.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    return [f"docs/options.md: no example of {name}" for name in parameters(root)
            if not re.search(rf'(?:-|"|# .*\b){name}\b', blocks)]


def main():
    root = pathlib.Path(sys.argv[1])
    problems = unknown_messages(root) + unknown_options(root) + without_example(root)
    for problem in problems:
        print(problem)
    drawn = subprocess.run([sys.executable, "-B", root / "scripts/site/figures.py", "--check"], check=False)
    # What is not in the sources must be found.
    assert not any(fits(parts, "b 1000 is too few bytes of a frame, so it is refused") for parts in known_messages(root))
    return 1 if problems or drawn.returncode else 0


if __name__ == "__main__":
    sys.exit(main())

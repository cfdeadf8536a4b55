#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""check_docs.py [ROOT]: checks that what the Markdown files name exists.

Checked are the targets of relative links, headings in them included (`page.md#part`), the paths in `code` that begin with a
folder of the project (`libcj2k/cpu/`, `tests/unit/test_stop.cc`, `kernels/pixels/dwt_first_level.*`), and the symbols in `code`
with a class or namespace (`Class::member`): a source must have both names outside its comments. Comments in sources may name only
such symbols, too. CHANGELOG.md and the results of benchmarks are history and may name what is gone. Prints file, line and name for each that does not exist. In tables no `code` has an escaped bar, whose
backslash the site shows. The exit status is 1 if there is a problem.
"""

import functools
import pathlib
import re
import sys

FOLDERS = ("libcj2k", "kernels", "tests", "scripts", "samples", "docs", "cmake", "ffmpeg-patch", "python", "tools")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
PATH = re.compile(r"`((?:%s)/[\w./*{},-]*)`" % "|".join(FOLDERS))
BAR = re.compile(r"`[^`|]*\\\|[^`]*`")
SYMBOL = re.compile(r"`((?:\w+::)+~?\w+)[^`]*`")
COMMENT = re.compile(r"//.*")
NAMED = re.compile(r"(?<![\w:])(?:\w+::)+~?\w+")
SOURCES = ("libcj2k", "kernels", "tools", "tests", "python", "samples")
ENDINGS = {".h", ".cc", ".c", ".cuh", ".cu", ".def", ".inc"}
HISTORY = ("CHANGELOG.md", "tests/bench/results/")
# Namespaces whose symbols are not the project's.
FOREIGN = {"std", "hwy", "tbb", "cub"}
# Names that stand for many, in instructions.
PLACEHOLDER = re.compile(r"NAME|FOLDER|VERSION")


def expanded(name):
    """The patterns that `a.{h,cc}` stands for."""
    braces = re.search(r"\{([^}]*)\}", name)
    if not braces:
        return [name]
    return [name[: braces.start()] + part + name[braces.end():] for part in braces[1].split(",")]


def exists(root, pattern):
    """Whether there is such a file or folder, or the source of a program of this name."""
    return any(True for _ in root.glob(pattern)) or any(True for _ in root.glob(pattern + ".c*"))


@functools.cache
def anchors(document):
    """The anchors that its headings have on GitHub, and those of <a id="...">."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings} | set(re.findall(r'<a id="([^"]+)"', text))


@functools.cache
def sources(root):
    return [path for folder in SOURCES for path in sorted((root / folder).rglob("*")) if path.suffix in ENDINGS]


@functools.cache
def identifiers(root):
    """The names that each source has outside its comments."""
    return [frozenset(re.findall(r"\w+", COMMENT.sub("", path.read_text(encoding="utf-8")))) for path in sources(root)]


def known(root, symbol):
    """Whether a source has the symbol's last two names."""
    names = set(symbol.replace("~", "").split("::")[-2:])
    return any(names <= source for source in identifiers(root))


def gone(root, file):
    """Yields (line number, symbol) of each symbol of a page, or of a source's comments, that no source has."""
    if str(file.relative_to(root)).startswith(HISTORY):
        return
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        symbols = SYMBOL.findall(line) if file.suffix == ".md" else NAMED.findall("".join(COMMENT.findall(line)))
        for symbol in symbols:
            if symbol.split("::")[0] not in FOREIGN and not known(root, symbol):
                yield number, symbol


def missing(root, document):
    """Yields (line number, name) of each link and path without a file."""
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        for target, part in LINK.findall(line):
            file = document.parent / target if target else document
            if "://" in target:
                continue
            if not file.exists():
                yield number, target
            elif part and file.suffix == ".md" and part not in anchors(file):
                yield number, f"{target}#{part}"
        for name in PATH.findall(line):
            if PLACEHOLDER.search(name):
                continue
            if not all(exists(root, pattern.rstrip("/")) for pattern in expanded(name)):
                yield number, name


def bars(document):
    """Yields (line number, code) of each escaped bar in a table's code. GitHub takes the backslash away, the site does not."""
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("|"):
            yield from ((number, code) for code in BAR.findall(line))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    documents = [path for path in sorted(root.rglob("*.md")) if "build" not in path.relative_to(root).parts]
    problems = 0
    for source in sources(root):
        for number, name in gone(root, source):
            print(f"{source.relative_to(root)}:{number}: {name} does not exist")
            problems += 1
    for document in documents:
        for number, name in [*missing(root, document), *gone(root, document)]:
            print(f"{document.relative_to(root)}:{number}: {name} does not exist")
            problems += 1
        for number, code in bars(document):
            print(f"{document.relative_to(root)}:{number}: {code} has a bar: <code>a &#124; b</code> is shown everywhere")
            problems += 1
    print(f"{len(documents)} documents, {problems} problems")
    return 1 if problems or not documents else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""check_docs.py [ROOT]: checks that what the Markdown files name exists.

Two things are checked: the targets of relative links, and the paths in `code` that begin with a folder of the project
(`libcj2k/cpu/`, `tests/unit/test_stop.cc`, `kernels/pixels/dwt_first_level.*`). Prints file, line and name for each that does
not exist. The exit status is 1 if there is one.
"""

import pathlib
import re
import sys

FOLDERS = ("libcj2k", "kernels", "tests", "scripts", "samples", "docs", "cmake", "ffmpeg-patch")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:%s)/[\w./*{},-]*)`" % "|".join(FOLDERS))
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


def missing(root, document):
    """Yields (line number, name) of each link and path without a file."""
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        for target in LINK.findall(line):
            if "://" not in target and not (document.parent / target).exists():
                yield number, target
        for name in PATH.findall(line):
            if PLACEHOLDER.search(name):
                continue
            if not all(exists(root, pattern.rstrip("/")) for pattern in expanded(name)):
                yield number, name


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    documents = [path for path in sorted(root.rglob("*.md")) if "build" not in path.relative_to(root).parts]
    problems = 0
    for document in documents:
        for number, name in missing(root, document):
            print(f"{document.relative_to(root)}:{number}: {name} does not exist")
            problems += 1
    print(f"{len(documents)} documents, {problems} problems")
    return 1 if problems or not documents else 0


if __name__ == "__main__":
    sys.exit(main())

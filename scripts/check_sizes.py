#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""check_sizes.py [ROOT]: prints the ten longest functions and files of C, C++ and CUDA code.

The exit status is 1 if a function has more than 75 lines or a file more than 700. A function is counted from the first line
of its head to its closing brace.
"""
import pathlib
import re
import sys

MOST_FUNCTION_LINES = 75
MOST_FILE_LINES = 700
FOLDERS = ("libcj2k", "kernels", "samples", "tools", "tests", "ffmpeg-patch", "python")
FILES = ("*.h", "*.cc", "*.c", "*.cuh", "*.cu")
# File or function: the reason why it may be longer.
EXCEPTIONS = {
    "ffmpeg-patch/libcj2kenc.c": "one file, as the wrappers of FFmpeg are, with the tables of formats and options",
    "libcj2k/include/cj2k.h": "the C API of encoders, which is one header",
    "tests/api/params.cc: TEST_CASE(\"open: every field at and outside its range\")": "a table",
}

# Comments, literals and directives. Braces in them are not code.
NO_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | R"(\w*)\(.*?\)\1" | "(?:\\.|[^"\\\n])*" | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'
        | ^[ \t]*\#(?:\\\n|[^\n])*""", re.S | re.M | re.X)
ACCESS = re.compile(r"^((public|private|protected)\s*:\s*)+")
CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()]*$")


def blank(text):
    """The text, with everything that is not code replaced by spaces. Its length stays the same."""
    return NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def functions(text):
    """Yields (line, number of lines, head) of each function of a file, namespace or class. Raises ValueError if braces do not
    match."""
    code = blank(text)
    containers = 0  # open braces of namespaces and classes
    inner = 0  # open braces of bodies and initialisers
    head = body = 0  # where the statement begins, and where its last outermost body or initialiser begins
    for at in (m.start() for m in re.finditer(r"[{};]", code)):
        if code[at] == "{":
            if inner == 0 and CONTAINER.search(code[head:at].strip()):
                containers += 1
            else:
                body = at if inner == 0 else body
                inner += 1
                continue
        elif code[at] == "}" and inner > 0:
            inner -= 1
            if inner == 0 and not code[at + 1:].lstrip()[:1] in tuple(",{("):  # else an initialiser: the statement continues
                words = ACCESS.sub("", code[head:body].lstrip())
                if "(" in words and not words.rstrip().endswith("="):
                    first = body - len(words)
                    yield code.count("\n", 0, first) + 1, code.count("\n", first, at) + 1, " ".join(text[first:body].split())
            else:
                continue
        elif code[at] == "}":
            containers -= 1
            if containers < 0:
                raise ValueError(f"line {code.count(chr(10), 0, at) + 1}: a brace too many")
        if inner == 0:
            head = at + 1
    if inner or containers:
        raise ValueError(f"{inner + containers} braces are not closed")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    all_functions, all_files, problems, unused = [], [], [], set(EXCEPTIONS)
    for file in sorted(f for folder in FOLDERS for pattern in FILES for f in (root / folder).rglob(pattern)):
        path, text = file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")
        all_files.append((text.count("\n"), path, 1))
        try:
            all_functions += [(lines, f"{path}: {head[:90]}", line) for line, lines, head in functions(text)]
        except ValueError as error:
            problems.append(f"{path}: {error}")
    for what, most, rows in (("functions", MOST_FUNCTION_LINES, all_functions), ("files", MOST_FILE_LINES, all_files)):
        print(f"{len(rows)} {what}, the longest:")
        for lines, name, line in sorted(rows, reverse=True)[:10]:
            print(f"{lines:5} {name} (line {line})")
        too_long = {name: f"{name} (line {line}) has {lines} lines, more than {most}" for lines, name, line in sorted(rows)
                    if lines > most}
        problems += [text for name, text in too_long.items() if name not in EXCEPTIONS]
        unused -= set(too_long)
    problems += [f"{name} is no longer too long: take the exception away" for name in sorted(unused)]
    print("\n".join(problems or ["none is too long"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

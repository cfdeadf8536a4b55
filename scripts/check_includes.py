#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""check_includes.py [ROOT]: checks which folder includes which.

Prints file, line and rule for each #include that breaks the table below. The exit status is 1 if there is one. A file
belongs to the first row that matches it. Each row may include its own files. In a pattern, * stands for a name or a part of
a name, and ** for any path.
"""
import pathlib
import re
import sys

# Row: its files, and what else they may include: rows above it, or patterns of files there. A row can never include a row
# below it, so no two rows can include each other.
ROWS = {
    "api": ("libcj2k/include/*", ""),
    "base": ("libcj2k/base/*", "api"),
    "core": ("libcj2k/core/**", "api"),
    "params": ("libcj2k/params/*", "api base"),
    "plan": ("libcj2k/plan/*", "api base core params"),
    "pixels": ("libcj2k/pixels/*", "api base core plan"),
    "coders": ("libcj2k/coders/**", "core plan pixels"),
    "packets": ("libcj2k/packets/*", "core plan coders libcj2k/params/icc_profile.h"),
    "transcode": ("libcj2k/transcode/*", "api base core plan coders packets"),
    "rate": ("libcj2k/rate/*", "base core plan coders packets"),
    "depth": ("libcj2k/depth/*", "core plan coders rate"),
    "film": ("libcj2k/film/*", "api base core params plan pixels coders rate depth"),
    "backend": ("libcj2k/backend.h", "api base params plan pixels coders depth"),
    "simt": ("kernels/simt/**", "libcj2k/base/status.h libcj2k/base/log.h"),
    "kernels": ("kernels/**", "api core simt libcj2k/base/status.h"),
    "cpu": ("libcj2k/cpu/*", "api base core plan pixels coders rate depth film backend"),
    "cuda": ("libcj2k/cuda/*", "api base core params plan pixels coders packets rate depth backend kernels/**.h"),
    "run": ("libcj2k/run/*", "api base core params plan pixels coders packets rate depth film backend"),
    "boundary": ("libcj2k/api.cc", "api base params film backend run libcj2k/transcode/transcode.h"),
    "samples": ("samples/*", "api"),
    # The checker is evidence only if it shares nothing with the library.
    "checker": ("tools/check/*", ""),
    "tools": ("tools/cj2k/*", "api tools/check/check.h"),
    "tests": ("tests/**", "**"),
}

# (file, the file that it includes): the reason why it may.
EXCEPTIONS = {}

FILES = ("*.h", "*.cc", "*.c", "*.cuh", "*.cu", "*.def")
FOLDERS = ("libcj2k", "kernels", "samples", "tools", "tests")
# These files are built inside an FFmpeg tree with its headers, so they are not checked.
ELSEWHERE = "tests/ffmpeg/*"
ORDER = list(ROWS)
INCLUDE_DIRS = ("", "libcj2k", "libcj2k/include", "kernels", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def matches(path, patterns):
    for pattern in patterns.split():
        expression = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
        if re.fullmatch(expression, path):
            return True
    return False


def row_of(path):
    return next((name for name, (files, _) in ROWS.items() if matches(path, files)), None)


def is_allowed(path, included):
    row, other = row_of(path), row_of(included)
    allowed = ROWS[row][1]
    is_above = ORDER.index(other) < ORDER.index(row)
    return row == other or is_above and (other in allowed.split() or matches(included, allowed))


def resolve(root, path, name, quoted):
    """The file of this tree that the #include names, or None."""
    places = [(root / path).parent] if quoted else []
    for place in places + [root / folder for folder in INCLUDE_DIRS]:
        file = (place / name).resolve()
        if file.is_file() and file.is_relative_to(root):
            return file.relative_to(root).as_posix()
    return None


def includes(text):
    """Yields (line number, name, whether the name is quoted) of each #include outside of comments."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found[1] or found[2], found[1] is not None


def check(root):
    problems = []
    unused = set(EXCEPTIONS)
    files = sorted({file.relative_to(root).as_posix() for folder in FOLDERS for pattern in FILES
                    for file in (root / folder).rglob(pattern)})
    count = 0
    for path in files:
        if matches(path, ELSEWHERE):
            continue
        if not row_of(path):
            problems.append(f"{path}:1: is in no row of the table")
            continue
        for line, name, quoted in includes((root / path).read_text(encoding="utf-8")):
            included = resolve(root, path, name, quoted)
            count += 1
            if included is None:
                if quoted:
                    problems.append(f'{path}:{line}: "{name}" is not in this tree')
            elif (path, included) in EXCEPTIONS:
                unused.discard((path, included))
            elif not is_allowed(path, included):
                row, other = row_of(path), row_of(included)
                problems.append(f"{path}:{line}: includes {included} ({other}); {row} may include {ROWS[row][1] or 'nothing'}")
    problems += [f"{path}: no longer includes {included}: take the exception away" for path, included in sorted(unused)]
    return problems, len(files), count


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    problems, num_files, num_includes = check(root)
    print("\n".join(problems + [f"{num_files} files, {num_includes} includes, {len(problems)} problems"]))
    return 1 if problems or not num_includes else 0


if __name__ == "__main__":
    sys.exit(main())

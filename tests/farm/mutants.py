#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of the CPU code: one operator, constant or comparison is changed, and some fast test must fail.

    tests/farm/mutants.py [--minutes N] [--seed S] [--files GLOB]... [--build FOLDER] [--count N]

Works on a copy of the tree in FOLDER [build/mutants]. A mutant that does not compile, or makes the same object, does not count.
One that golden, unit, api, simd and round-trip tests do not notice is printed with its line: it needs a test, or does not change what the code
does. Exit status 0; the last line gives the score.
"""
import argparse
import collections
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["rate/*.cc", "packets/*.cc", "coders/*.cc", "coders/*/*_ref.cc", "coders/*/*points.cc", "params/*.cc", "plan/*.cc",
         "depth/*.cc", "film/*.cc", "transcode/*.cc"]
TESTS = ["unit", "golden", "api", "simd", "roundtrip"]  # what notices most in the least time comes first
TIMEOUT = 300

# Operators have blanks around them in this code; what is in <> of a template has none.
CHANGES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" / ", " * "), (r" % ", " / "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" << ", " >> "), (r" >> ", " << "), (r" & ", " | "), (r" \| ", " & "), (r" \+= ", " -= "), (r" -= ", " += "),
    (r"std::min\b", "std::max"), (r"std::max\b", "std::min"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"(?<![\w.\"'])(\d+)(?![\w.\"'])", None), (r"\bif \((?!constexpr)", "if (!"), (r"\+\+(?=\w)", "--"),
]


def sites(path):
    """@return [(line, begin, end, replacement)] outside of comments, texts, directives and static_assert."""
    found = []
    for number, line in enumerate(path.read_text().splitlines()):
        code = re.sub(r'"(\\.|[^"\\])*"', lambda text: '"' + " " * (len(text.group()) - 2) + '"', line)
        code = code.split("//")[0]
        if code.lstrip().startswith(("#", "static_assert", "*", "/*", "template", "case", "using")):
            continue
        for pattern, replacement in CHANGES:
            for match in re.finditer(pattern, code):
                text = str(int(match.group()) + 1) if replacement is None else replacement
                found.append((number, match.start(), match.end(), text))
    return found


def mutate(text, site):
    lines = text.splitlines(keepends=True)
    number, begin, end, replacement = site
    line = lines[number]
    lines[number] = line[:begin] + replacement + line[end:]
    # `if (!` needs the whole condition in brackets.
    if replacement == "if (!":
        depth, at = 0, begin + len("if (!") - 2
        for at in range(begin + 3, len(lines[number])):
            depth += {"(": 1, ")": -1}.get(lines[number][at], 0)
            if depth == 0:
                break
        if depth != 0:
            return None
        lines[number] = line[:begin] + "if (!(" + line[end:at - 1] + "))" + line[at:]
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--count", type=int, default=10**6)
    parser.add_argument("--seed", type=int, default=int(time.time() // 86400), help="of the choice [the day]")
    parser.add_argument("--files", action="append", help="below libcj2k")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/mutants")
    options = parser.parse_args()
    begin = time.monotonic()
    tree, build = options.build.resolve() / "tree", options.build.resolve() / "build"
    shutil.rmtree(tree, ignore_errors=True)
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True,
                             capture_output=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    if not build.is_dir():
        subprocess.run(["cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCJ2K_CUDA=OFF",
                        "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DCJ2K_BUILD_TESTS=ON", "-DCJ2K_SLOW_TESTS=OFF"], check=True,
                       stdout=subprocess.DEVNULL)
    environment = {**os.environ, "CCACHE_DISABLE": "1", "CJ2K_ALLOW_MISSING_DECODERS": "1"}

    def compiles(target):
        return subprocess.run(["ninja", "-C", build, target], capture_output=True, check=False, env=environment).returncode == 0

    def first_failure():
        """The first test that fails. Each is linked when those before it have passed."""
        for name in TESTS:
            command = [build / "tests" / f"test_{name}", "--abort-after=1", "--source-file-exclude=*_slow.cc,*_long.cc"]
            try:
                if not compiles(f"test_{name}"):
                    return name
                subprocess.run(command, capture_output=True, check=True, timeout=TIMEOUT, cwd=build / "tests", env=environment)
            except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
                return name
        return None

    def digest():
        return hashlib.sha256((build / "libcj2k_internal.a").read_bytes()).hexdigest()

    assert first_failure() is None, "the tests fail without a mutant"
    good = digest()
    files = sorted(path for pattern in options.files or FILES for path in (tree / "libcj2k").glob(pattern))
    every = [(path, site) for path in files for site in sites(path)]
    print(f"{len(every)} sites in {len(files)} files, seed {options.seed}", flush=True)
    random.Random(options.seed).shuffle(every)
    noticed, survivors = collections.Counter(), []
    for path, site in every:
        done = sum(noticed.values()) + len(survivors)
        if time.monotonic() - begin > 60 * options.minutes or done == options.count:
            break
        text = path.read_text()
        changed = mutate(text, site)
        if changed is None:
            continue
        path.write_text(changed)
        try:
            if not compiles("libcj2k_internal.a") or digest() == good:
                continue
            test = first_failure()
        finally:
            path.write_text(text)
        if test:
            noticed[test] += 1
            continue
        survivors.append(path)
        print(f"SURVIVES {path.relative_to(tree)}:{site[0] + 1}: {changed.splitlines()[site[0]].strip()}", flush=True)
    done = sum(noticed.values())
    print(f"{done} of {done + len(survivors)} mutants noticed ({', '.join(f'{t} {n}' for t, n in noticed.most_common())}), "
          f"seed {options.seed}, {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of the CPU code: one operator, constant or comparison is changed, and some fast test must fail.

    tests/farm/mutants.py --build BUILD [--minutes N] [--seed S] [--files GLOB]... [--programs NAME,...] [--only NUMBER,...]

Needs python3-clang. Each site of a file becomes `(cj2k_mutant(n) ? changed : as it was)`: the file compiled once has all its mutants, and
CJ2K_MUTANT=n chooses one when a program starts. Such objects go in front of the library of BUILD when its fast test programs are linked
again, in BUILD/mutants. Each test case is run once to learn which mutants it reaches. A mutant is run by the cases that reach it, the
quickest first, until one fails. What is constexpr has no mutants. Each mutant that no case notices is printed with its line, and the
last line gives the score. Exit status 1 if it is below --least and ten mutants or more were reached.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import threading
import time

try:
    from clang import cindex
except ImportError:
    print("skipped: python3-clang is not installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["rate/*.cc", "packets/*.cc", "coders/*.cc", "coders/*/*_ref.cc", "coders/*/*points.cc", "coders/*/block_decoder.cc",
         "params/*.cc", "plan/*.cc", "depth/*.cc", "film/*.cc", "transcode/*.cc", "cpu/*.cc", "run/*.cc"]
FEW = 10
PROGRAMS = ["unit", "golden", "api", "simd", "roundtrip"]

BINARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*", "%": "/",
          "&&": "||", "||": "&&", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "+=": "-=", "-=": "+="}

# Included in front of each file. The numbers of mutants that were reached are written when the program ends.
HEADER = """#pragma once
#include <cstdio>
#include <cstdlib>
inline const int cj2k_mutant_chosen = std::getenv("CJ2K_MUTANT") ? std::atoi(std::getenv("CJ2K_MUTANT")) : -1;
inline struct Cj2kMutantsReached {
  bool at[%d] = {};
  ~Cj2kMutantsReached() {
    const char* name = std::getenv("CJ2K_MUTANTS_REACHED");
    std::FILE* file = name ? std::fopen(name, "w") : nullptr;
    if (!file) return;
    for (int i = 0; i < %d; ++i)
      if (at[i]) std::fprintf(file, "%%d\\n", i);
    std::fclose(file);
  }
} cj2k_mutants_reached;
constexpr bool cj2k_mutant(int n) {
  if (__builtin_is_constant_evaluated()) return false;
  if (!cj2k_mutants_reached.at[n]) cj2k_mutants_reached.at[n] = true;
  return cj2k_mutant_chosen == n;
}
"""


class Site:
    """Bytes begin to end of a file, and what a mutant has there; `flips`: a condition, which is negated."""

    def __init__(self, path, begin, end, changed, flips=False):
        self.path, self.begin, self.end, self.changed, self.flips, self.number = path, begin, end, changed, flips, -1


def sites(path):
    """@return the sites of one file, outer ones first."""
    source = path.read_bytes()
    unit = cindex.Index.create().parse(str(path), args=[f"-I{ROOT}/libcj2k", f"-I{ROOT}/libcj2k/include", "-std=c++20", "-x", "c++"])
    found = []

    def text(begin, end):
        return source[begin:end].decode()

    def add(begin, end, changed, flips=False):
        if "//" not in text(begin, end):
            found.append(Site(path, begin, end, changed, flips))

    def look_at(cursor, children, begin, end):
        kind = cursor.kind.name
        if kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR") and len(children) == 2:
            left, right = (child.extent for child in children)
            operator = text(left.end.offset, right.start.offset)
            pointers = any(child.type.get_canonical().kind.name == "POINTER" for child in children)
            if operator.strip() in BINARY and not (pointers and operator.strip() in "+-"):
                add(begin, end, f"({text(begin, left.end.offset)}) {BINARY[operator.strip()]} ({text(right.start.offset, end)})")
        elif kind == "INTEGER_LITERAL" and re.fullmatch(r"\d+", text(begin, end)):
            add(begin, end, str(int(text(begin, end)) + 1))
        elif kind == "CXX_BOOL_LITERAL_EXPR" and text(begin, end) in ("true", "false"):
            add(begin, end, "false" if text(begin, end) == "true" else "true")
        elif kind == "UNARY_OPERATOR" and text(begin, end).startswith("++"):
            add(begin, end, "--" + text(begin + 2, end))
        elif kind == "CALL_EXPR" and (match := re.match(r"std::(min|max)\b", text(begin, end))):
            add(begin, end, "std::" + {"min": "max", "max": "min"}[match[1]] + text(begin + len(match[0]), end))
        elif kind == "IF_STMT" and text(begin, begin + 4) == "if (" and children[0].kind.is_expression():
            condition = children[0].extent
            if condition.start.offset == begin + 4 and source[condition.end.offset:condition.end.offset + 1] == b")":
                add(condition.start.offset, condition.end.offset, "", True)

    def visit(cursor):
        """Leaves out what is constant: sizes of arrays, arguments of templates, initialisers and functions that are constexpr."""
        kind = cursor.kind.name
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        if kind in ("STATIC_ASSERT", "ENUM_DECL", "FIELD_DECL"):
            return
        children = list(cursor.get_children())
        if kind.endswith("_DECL") and "constexpr" in re.split("[={]", text(begin, end))[0]:
            return
        if kind in ("FUNCTION_DECL", "CXX_METHOD", "FUNCTION_TEMPLATE"):
            children = [child for child in children if child.kind.name == "COMPOUND_STMT"]
        elif kind == "CASE_STMT":
            children = children[1:]
        elif kind == "VAR_DECL":
            children = [child for child in children if source[child.extent.start.offset - 1:child.extent.start.offset] not in (b"[", b"<")]
        look_at(cursor, children, begin, end)
        for child in children:
            visit(child)

    for cursor in unit.cursor.get_children():
        if cursor.location.file and cursor.location.file.name == str(path):
            visit(cursor)
    unique = {(site.begin, site.end, site.flips): site for site in found}
    return sorted(unique.values(), key=lambda site: (site.begin, -site.end, not site.flips))


def source_line(source, offset):
    return source.count(b"\n", 0, offset) + 1


def with_sites(source, chosen):
    """@return the file with its mutants. What a mutant has is on one line, so that lines keep their numbers."""
    def render(begin, end, inside):
        out, at = b"", begin
        while inside:
            site, rest = inside[0], inside[1:]
            nested = [other for other in rest if other.end <= site.end]
            inside = [other for other in rest if other.begin >= site.end]
            if len(nested) + len(inside) != len(rest):
                raise RuntimeError(f"{site.path}:{source_line(source, site.begin)}: sites overlap, as in the arguments of a macro")
            body = render(site.begin, site.end, nested)
            call = f"cj2k_mutant({site.number})"
            changed = " ".join(site.changed.split("\n"))
            new = f"{call} != static_cast<bool>(".encode() + body + b")" if site.flips else \
                f"({call} ? ({changed}) : (".encode() + body + b"))"
            out, at = out + source[at:site.begin] + new, site.end
        return out + source[at:end]
    return render(0, len(source), chosen)


def build_programs(build, programs, files):
    """Compiles the files with all their mutants, but for those that do not compile, and links the programs. @return sites by number."""
    folder = build / "mutants"
    folder.mkdir(exist_ok=True)
    sources = {path: path.read_bytes() for path in files}
    by_file = {path: sites(path) for path in files}
    for number, site in enumerate(site for path in files for site in by_file[path]):
        site.number = number
    count = sum(map(len, by_file.values()))
    (folder / "mutant.h").write_text(HEADER % (count, count))
    commands = {entry["file"]: entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())}

    def object_of(path):
        name = path.relative_to(ROOT / "libcj2k").as_posix().replace("/", "_")
        return folder / f"{name}.o"

    def compile_file(path):
        changed = object_of(path).with_suffix("")
        command = shlex.split(commands[str(path)])
        command = command[:command.index("-o")] + ["-w", "-o", str(object_of(path)), "-c", str(changed)]
        while True:
            first = b'#include "%s"\n#line 1 "%s"\n' % (bytes(folder / "mutant.h"), bytes(path))
            changed.write_bytes(first + with_sites(sources[path], by_file[path]))
            made = subprocess.run(command, capture_output=True, text=True, check=False, cwd=build)
            if made.returncode == 0:
                return
            wrong = {int(line) for line in re.findall(rf"^{re.escape(str(path))}:(\d+):\d+: (?:fatal )?error", made.stderr, re.M)}
            left = [site for site in by_file[path]
                    if not any(source_line(sources[path], site.begin) <= line <= source_line(sources[path], site.end) for line in wrong)]
            if len(left) == len(by_file[path]):
                raise RuntimeError(made.stderr)
            by_file[path] = left

    def link(program):
        every = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", f"tests/test_{program}"], capture_output=True, text=True,
                               check=True).stdout
        objects = " ".join(shlex.quote(str(object_of(path))) for path in files)
        command = every.splitlines()[-1].replace(f" -o tests/test_{program} ", f" -o mutants/test_{program} {objects} ")
        # The library that is installed hides what the objects need.
        subprocess.run(command.replace(" libcj2k.a ", " libcj2k_internal.a "), shell=True, check=True, cwd=build)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_file, files))
        list(pool.map(link, programs))
    return {site.number: site for path in files for site in by_file[path]}


class Case:
    """One test case of a program."""

    def __init__(self, build, program, name):
        escaped = re.sub(r"([,\\])", r"\\\1", name)
        self.folder = build / "tests"
        # A mutant may ask for any memory.
        self.command = ["prlimit", f"--as={2**34}", build / "mutants" / f"test_{program}", "--abort-after=1", "--test-case=" + escaped,
                        "--source-file-exclude=*_slow.cc,*_long.cc"]
        self.name, self.program, self.seconds, self.reaches = name, program, 0.0, set()

    def passes(self, **environment):
        settings = {**os.environ, "CJ2K_ALLOW_MISSING_DECODERS": "1", **{name: str(value) for name, value in environment.items()}}
        try:
            return subprocess.run(self.command, capture_output=True, check=False, env=settings, cwd=self.folder,
                                  timeout=20 + 20 * self.seconds).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def learn(self, folder):
        """Runs the case without a mutant."""
        file, begin = folder / f"reached.{threading.get_ident()}", time.monotonic()
        self.seconds = 60
        if not self.passes(CJ2K_MUTANTS_REACHED=file):
            sys.exit(f"{self.program}: {self.name}: fails without a mutant")
        self.seconds = time.monotonic() - begin
        self.reaches = set(map(int, file.read_text().split()))


def cases_of(build, program):
    listed = subprocess.run([build / "mutants" / f"test_{program}", "--list-test-cases", "--no-colors",
                             "--source-file-exclude=*_slow.cc,*_long.cc"], capture_output=True, check=True, text=True).stdout
    return [Case(build, program, line) for line in listed.splitlines() if line and not line.startswith(("[doctest]", "=="))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the folder of a build with tests")
    parser.add_argument("--minutes", type=float, default=30, help="for the mutants, after the build")
    parser.add_argument("--seed", type=int, default=int(time.time() // 86400), help="of the choice [the day]")
    parser.add_argument("--files", action="append", help="below libcj2k")
    parser.add_argument("--slice", action="store_true", help="one of the files, by the seed")
    parser.add_argument("--programs", default=PROGRAMS, type=lambda text: text.split(","), help=",".join(PROGRAMS))
    parser.add_argument("--only", type=lambda text: [int(number) for number in text.split(",")], help="these mutants")
    parser.add_argument("--least", type=float, default=0, help=f"percent of those reached, if {FEW} or more")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    build = options.build.resolve()
    subprocess.run(["ninja", "-C", build, *(f"tests/test_{program}" for program in options.programs)], check=True,
                   stdout=subprocess.DEVNULL)
    files = sorted({path for pattern in options.files or FILES for path in (ROOT / "libcj2k").glob(pattern) if "simd" not in path.name})
    if options.slice:
        files = [random.Random(options.seed).choice(files)]
    every = build_programs(build, options.programs, files)
    cases = [case for program in options.programs for case in cases_of(build, program)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda case: case.learn(build / "mutants"), cases))
    cases.sort(key=lambda case: case.seconds)
    print(f"{len(every)} mutants in {len(files)} files; {len(cases)} cases, {sum(case.seconds for case in cases):.0f} s; "
          f"seed {options.seed}", flush=True)
    chosen = options.only or random.Random(options.seed).sample(sorted(every), len(every))
    end = time.monotonic() + 60 * options.minutes

    def noticed_by(number):
        """@return the first case that fails, None: none; "": there was no time left."""
        if time.monotonic() > end:
            return ""
        return next((case for case in cases if number in case.reaches and not case.passes(CJ2K_MUTANT=number)), None)

    by_program, left = collections.Counter(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, case in zip(chosen, pool.map(noticed_by, chosen)):
            site = every[number]
            line = source_line(site.path.read_bytes(), site.begin)
            if case is None:
                how = "survives" if any(number in other.reaches for other in cases) else "is not reached"
                left[how] += 1
                print(f"{number} {how}: {site.path.relative_to(ROOT)}:{line}: {site.changed or 'negated'}", flush=True)
            elif case != "":
                by_program[case.program] += 1
    noticed = sum(by_program.values())
    print(f"{noticed} of {noticed + sum(left.values())} mutants noticed ({', '.join(f'{t} {n}' for t, n in by_program.most_common())}); "
          f"{left['survives']} survive, {left['is not reached']} are not reached; seed {options.seed}")
    reached = noticed + left["survives"]
    return reached >= FEW and 100 * noticed < options.least * reached


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""abi_test.py CC HEADERS: programs that were built with the headers of the last release go on to work. abidiff compares
libcj2k.abi, which is beside this file, with the functions and types of the headers. New functions, and fields at the end of the
structs that begin with their size, are no break. CJ2K_UPDATE_ABI=1 writes libcj2k.abi anew, which a release does."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DUMP = HERE / "libcj2k.abi"
# (name, old, new) of changes of the headers.
BREAKS = [
    ("a field is gone", r"\n  int32_t async_depth;", ""),
    ("fields change places", r"(\n  int32_t threads;)(\s+int32_t gop;)", r"\2\1"),
    ("a wider field", r"int32_t threads;", "int64_t threads;"),
    ("a field before the end", r"\n  int32_t threads;", r"\n  int32_t another;\g<0>"),
    ("a wider field, and one at the end", r"int32_t threads;(.*?\n)(} cj2k_params;)", r"int64_t threads;\1  int32_t another;\n\2"),
    ("growth and a break", r"\n} cj2k_params;(.*)(\n  int32_t frame_in_gop;)", r"\n  int32_t another;\n} cj2k_params;\1\n  int32_t more;\2"),
    ("a field at the end of a struct without its size", r"\n} cj2k_curve;", r"\n  int32_t another;\g<0>"),
    ("another value", r"CJ2K_LRCP = \d+", "CJ2K_LRCP = 77"),
    ("a function is gone", r"CJ2K_API const char\* cj2k_version\(void\);", ""),
    ("another argument", r"cj2k_version\(void\);", "cj2k_version(int which);"),
]
GROWTH = [
    ("a field at the end of a struct with its size", r"\n} cj2k_params;", r"\n  int32_t another;\g<0>"),
    ("two fields", r"\n} cj2k_params;", r"\n  int32_t another;\n  double more[3];\g<0>"),
    ("a struct with its size, which no encoder has", r"\n} cj2k_packet;", r"\n  int32_t another, more;\g<0>"),
    ("a value at the end of an enumeration", r"\n} cj2k_stop;", r", CJ2K_STOP_OTHER\g<0>"),
    ("another function", r"CJ2K_API int cj2k_version_number\(void\);", r"\g<0> CJ2K_API int cj2k_other(void);"),
]


def read(headers):
    """The headers without comments, as one file of C."""
    text = "".join((headers / name).read_text(encoding="utf-8") for name in ("cj2k.h", "cj2k_film.h", "cj2k_transcode.h"))
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def dump(cc, headers, text, target):
    """Every function of the API gets a body, so that debug information has it and its types."""
    library = target.with_suffix(".so")
    text = re.sub(r"\bCJ2K_API (?!__)([^;{]*\));", r"CJ2K_API \1 { __builtin_trap(); }", text)
    options = ["-g", "-O0", "-shared", "-fPIC", "-w", f"-I{headers}", "-Wl,-soname,libcj2k.so.0", "-nostdlib"]
    subprocess.run([cc, *options, "-xc", "-", "-o", library], input=text, text=True, check=True)
    options = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash"]
    with target.open("w") as file:
        subprocess.run(["abidw", *options, library], stdout=file, check=True)
    return target


# What abidiff prints of structs that grow at their end, and where that is. Its suppressions would hide too much.
CONTEXT = re.compile(r"\s*|(Functions|Variables) changes summary: 0 Removed, .*|\d+ functions? with some indirect sub-type change:|"
                     r".*has (some indirect )?sub-type changes:|\s*in (pointed to|unqualified underlying) type .*:|"
                     r"\s*\d+ data member insertions?:|.*'(typedef )?cj2k_\w+( const)?' changed:|.* has been reported (above|earlier|below)|"
                     r"\s*underlying type 'struct (?P<struct>\w+)' changed:|\s*type size changed from (?P<size>\d+) to .*|"
                     r"\s*'.*', at offset (?P<offset>\d+) \(in bits\)")


def is_growth(report, text):
    """Only structs that begin with struct_size have changed, and only by fields behind their end."""
    size, is_sized = 0, False
    for line in report.splitlines():
        found = CONTEXT.fullmatch(line)
        if found is None:
            return False
        if found["struct"]:
            is_sized = re.search(rf"typedef struct {found['struct']} {{\s*size_t struct_size;", text) is not None
        elif found["size"]:
            size = int(found["size"])
        elif found["offset"] and (not is_sized or int(found["offset"]) < size):
            return False
    return True


def differences(old, new, text):
    """What abidiff says, if it is no mere growth; else ""."""
    done = subprocess.run(["abidiff", "--no-added-syms", old, new], capture_output=True, text=True, check=False)
    assert done.returncode & 3 == 0, done.stderr
    return "" if done.returncode == 0 or is_growth(done.stdout, text) else done.stdout


def main(cc, headers):
    for program in "abidw", "abidiff":
        if shutil.which(program) is None:
            print(f"no {program} (scripts/install_deps.sh test)")
            return 77
    text = read(headers)
    with tempfile.TemporaryDirectory() as folder:
        now = dump(cc, headers, text, pathlib.Path(folder, "now.abi"))
        if os.environ.get("CJ2K_UPDATE_ABI"):
            shutil.copy(now, DUMP)
        found = differences(DUMP, now, text)
        if found:
            print(found, "This breaks programs that were built before. Where that is meant: CJ2K_UPDATE_ABI=1", sep="\n")
            return 1
        for is_break, changes in (True, BREAKS), (False, GROWTH):
            for name, old, new in changes:
                changed, count = re.subn(old, new, text, count=1, flags=re.S)
                assert count == 1, f"{name}: not in the headers: {old}"
                found = differences(now, dump(cc, headers, changed, pathlib.Path(folder, "changed.abi")), changed)
                assert bool(found) == is_break, f"{name}: {found or 'not noticed'}"
    print(f"the ABI of the last release; {len(BREAKS)} breaks are noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))

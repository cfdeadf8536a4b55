#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""sass.py NVCC FATBIN...: checks the machine code and the PTX of the kernels for sm_90, and compares them with sass_table.tsv.

Rules for every kernel:

    no multiplication is fused with an addition: both are rounded, so that every machine gives the same bits; but for those that
    the source asks for, whose number is in FUSED
    no local memory (LDL, STL, stack): everything is in registers; but for what the source asks for, whose bytes are in SPILLED
    kernels of rate control (RATE) need at most a quarter of a multiprocessor, so that they run beside the long kernels of other
    GOPs: 512 threads, 16,384 registers, 57 KB of shared memory; but for those of one thread block a frame (WHOLE)
    in the loops of the MQ coder (cj2k_tier1_mq*) nobody reads the index of the thread (S2R), which takes some twenty cycles

The table has what else a change of a kernel may change, so that a review sees it. It holds for the release of nvcc that its first
line names; with another one only the rules are checked. CJ2K_UPDATE_SASS=1 writes it.

cuobjdump and nvdisasm are looked for beside nvcc, in PATH and in build/cuda_binutils, into which pip brings them from PyPI.
Exit status: 0 all is well; 1 a rule is broken or the table differs; 77 skipped, with the reason in one line.
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).resolve().with_name("sass_table.tsv")
ROOT = TABLE.parents[2]
ARCH = "90"
WHEELS = ("nvidia-cuda-cuobjdump==13.5.37", "nvidia-cuda-nvdisasm==13.5.37")

# The matrix of X'Y'Z' (core/xyz.h) is of fused multiply-adds on every machine: nine for each of the four pixels of a thread.
FUSED = {"cj2k_xyz_words": 36}
# The search of rate control, between its steps.
SPILLED = {"cj2k_rate_allocate": 168, "cj2k_ht_allocate": 168}
MQ = re.compile(r"cj2k_tier1_mq")
RATE = re.compile(r"cj2k_(rate|slopes|plane|resume|(ht_)?packet)_|cj2k_ht_allocate")
WHOLE = ("cj2k_rate_allocate", "cj2k_ht_allocate", "cj2k_resume_blocks")  # with half of a multiprocessor an H200 was as fast, one GOP alone slower
QUARTER = {"threads": 512, "registers": 16384, "shared": 57 << 10}
THREAD = re.compile(r"SR_(TID|LANEID|[LG][TE]MASK|EQMASK|CTAID)")

FUNCTION = re.compile(r"^\s*Function : (\w+)", re.M)
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*);", re.M)
USAGE = re.compile(r"Function (\w+):\s*\n\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
ENTRY = re.compile(r"\.entry (\w+)\(")
THREADS = re.compile(r"\.maxntid (\d+)")
# S2R: reads of special registers. The last columns are of the PTX.
COLUMNS = ("threads", "registers", "shared", "stack", "local", "instructions", "LDG", "LDG.128", "STG", "STG.128", "LDL", "STL", "FFMA",
           "S2R", "S2R_in_loops", "S2R_of_thread_in_loops", "ptx_fma", "ptx_local")


class Skipped(Exception):
    """The machine code cannot be read here."""


def find_tools(nvcc):
    """The environment in which cuobjdump runs, which calls nvdisasm."""
    fetched = ROOT / "build" / "cuda_binutils"
    folders = [pathlib.Path(nvcc).resolve().parent, *map(pathlib.Path, os.environ["PATH"].split(os.pathsep))]
    reason = ""
    for _ in range(2):
        wheels = sorted(fetched.glob("nvidia/*/bin"))
        for folder in folders + wheels:
            if all(os.access(folder / name, os.X_OK) for name in ("cuobjdump", "nvdisasm")):
                return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        if wheels:
            break
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--root-user-action=ignore",
                               "--disable-pip-version-check", "--target", fetched, *WHEELS],
                              capture_output=True, text=True, timeout=120)
        for tool in fetched.glob("nvidia/*/bin/*"):
            tool.chmod(0o755)
        if done.returncode != 0:
            shutil.rmtree(fetched, ignore_errors=True)
            reason = (done.stderr.strip() or "pip failed").splitlines()[-1]
    raise Skipped(f"no cuobjdump and nvdisasm beside nvcc or in PATH, nor from PyPI ({reason})")


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def loops(code):
    """(begin, end) of each loop: a branch back to `begin` at `end`. The addresses are those of instructions."""
    found = []
    for address, name, operands in code:
        if name.split(".")[0] in ("BRA", "BRX", "JMP"):
            target = re.search(r"\b0x([0-9a-f]+)\s*$", operands.strip())
            # A branch to itself is the padding after the last instruction.
            if target and int(target[1], 16) < address:
                found.append((int(target[1], 16), address))
    return found


def measure(code):
    """The counts of a kernel, from its instructions."""
    all_loops = loops(code)
    counts = collections.Counter()
    for address, name, operands in code:
        parts = name.split(".")
        if parts[0] == "NOP":
            continue
        counts["instructions"] += 1
        if parts[0] in ("LDG", "STG", "LDL", "STL"):
            counts[parts[0]] += 1
            counts[parts[0] + ".128"] += "128" in parts
        # The division of doubles moves a word by FFMA with a factor RZ, which multiplies nothing.
        counts["FFMA"] += parts[0] == "FFMA" and "RZ" not in operands
        if parts[0] in ("S2R", "S2UR"):
            in_loop = any(begin <= address <= end for begin, end in all_loops)
            counts["S2R"] += 1
            counts["S2R_in_loops"] += in_loop
            counts["S2R_of_thread_in_loops"] += in_loop and bool(THREAD.search(operands))
    return counts


def read(files, environment):
    """The counts of all kernels, by name."""
    rows = {}
    arch = ["-arch", f"sm_{ARCH}"]
    for file in files:
        if f"sm_{ARCH}" not in run(["cuobjdump", "-lelf", file], environment):
            raise Skipped(f"{pathlib.Path(file).name} has no machine code for sm_{ARCH}, see CJ2K_CUDA_ARCHITECTURES")
        parts = FUNCTION.split(run(["cuobjdump", "-sass", *arch, file], environment))
        for name, text in zip(parts[1::2], parts[2::2]):
            rows[name] = measure([(int(m[1], 16), m[2], m[3]) for m in INSTRUCTION.finditer(text)])
        for name, *usage in USAGE.findall(run(["cuobjdump", "-res-usage", *arch, file], environment)):
            rows[name].update(dict(zip(("registers", "stack", "shared", "local"), map(int, usage))))
        parts = ENTRY.split(run(["cuobjdump", "-ptx", *arch, file], environment))
        for name, text in zip(parts[1::2], parts[2::2]):
            rows[name]["threads"] = int(THREADS.search(text)[1])
            rows[name]["ptx_fma"] = len(re.findall(r"^\s*(?:@!?%p\d+ )?fma\.", text, re.M))
            rows[name]["ptx_local"] = len(re.findall(r"\.local\b", text))
    return rows


def broken_rules(rows):
    """A line for each rule that a kernel breaks."""
    for name, row in sorted(rows.items()):
        for column in ("FFMA", "ptx_fma"):
            if row[column] != FUSED.get(name, 0):
                but = f", but for {FUSED[name]}" if name in FUSED else ""
                yield f"{name}: {row[column]} {column}: products and sums must be rounded apart{but}"
        spilled = row["stack"] if name in SPILLED and row["stack"] <= SPILLED[name] else 0
        for column in ("LDL", "STL", "stack", "local", "ptx_local"):
            if row[column] and not (spilled and column in ("LDL", "STL", "stack")):
                yield f"{name}: {column} {row[column]}: memory in place of registers"
        if RATE.match(name) and name not in WHOLE:
            # Registers are given to a warp in units of 256.
            needs = {**row, "registers": (row["registers"] + 7) // 8 * 8 * row["threads"]}
            for column, most in QUARTER.items():
                if needs.get(column, 0) > most:
                    yield f"{name}: {needs[column]} {column}, more than a quarter of a multiprocessor has: {most}"
        if MQ.match(name) and row["S2R_of_thread_in_loops"]:
            yield f"{name}: {row['S2R_of_thread_in_loops']} S2R of the thread's index in loops; see in_register in tier1_mq.cuh"
        if not row["registers"] or not row["instructions"]:
            yield f"{name}: cuobjdump shows no code"


def table_of(rows, version):
    lines = [f"# nvcc {version}, sm_{ARCH}; written by CJ2K_UPDATE_SASS=1 ctest -R device_sass", "\t".join(("kernel", *COLUMNS))]
    lines += ["\t".join((name, *(str(row[column]) for column in COLUMNS))) for name, row in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def differences(old, new):
    """Lines that say which kernel changed in what."""
    def cells(text):
        head, *body = (line.split("\t") for line in text.splitlines()[1:])
        return {row[0]: dict(zip(head, row)) for row in body}

    before, after = cells(old), cells(new)
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            yield f"{name}: " + ("new" if name in after else "gone")
            continue
        for column, value in after[name].items():
            if before[name].get(column) != value:
                yield f"{name}: {column} {before[name].get(column)} -> {value}"


def main(nvcc, *files):
    found = re.search(r"V([\d.]+)", run([nvcc, "--version"], os.environ))
    version = found[1] if found else "of no version"
    rows = read(files, find_tools(nvcc))
    problems = list(broken_rules(rows))
    new = table_of(rows, version)
    if os.environ.get("CJ2K_UPDATE_SASS") == "1":
        TABLE.write_text(new, encoding="utf-8")
    old = TABLE.read_text(encoding="utf-8")
    of = re.match(r"# nvcc ([\d.]+),", old)[1]
    if of == version:
        changed = list(differences(old, new))
        if changed:
            problems += [*changed, f"{TABLE.name} differs: CJ2K_UPDATE_SASS=1 writes it"]
        compared = "compared"
    else:
        compared = f"the table is of nvcc {of} and was not compared"
    print("\n".join(problems + [f"{len(rows)} kernels by nvcc {version}, {compared}, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except Skipped as reason:
        print(f"skipped: {reason}")
        sys.exit(77)

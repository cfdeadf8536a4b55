#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""coverage.py BUILD [--least PERCENT] [--missing KERNEL] [--checks NAME,...]: which PTX instructions of the kernels the checks execute.

Runs the checks (stems of tests/device/*.cc; default: all that a GPU runs) on the interpreter of BUILD and prints a line for
each kernel of the library, lowest first. --missing lists the instructions of one kernel that no check executed, each run of
them with its first index. The exit status is 1 if a check fails, or a kernel is below --least.
"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

SAMPLES = "cj2k_sample_"  # kernels of the tests themselves


def checks_of(build):
    lines = subprocess.run(["ctest", "--test-dir", build, "-N", "-L", "gpu"], capture_output=True, text=True, check=True).stdout
    return [line.split("gpu_", 1)[1].strip() for line in lines.splitlines() if ": gpu_" in line]


def run(build, check, folder):
    environment = dict(os.environ, LD_LIBRARY_PATH=f"{build}/tests/ptx/lib", CJ2K_PTX_COVER=folder)
    result = subprocess.run([f"{build}/tests/device/test_device_gpu", f"--source-file=*/device/{check}.cc"], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        print(f"{check} failed:\n{result.stdout[-2000:]}")
    return result.returncode == 0


def read(folder):
    """Kernel to list of [executed, instruction]."""
    kernels = collections.defaultdict(dict)
    for file in pathlib.Path(folder).glob("*.tsv"):
        for line in file.read_text(encoding="utf-8").splitlines():
            kernel, index, executed, text = line.split("\t", 3)
            entry = kernels[kernel].setdefault(int(index), [False, text])
            entry[0] = entry[0] or executed != "0"
    return {kernel: [code[k] for k in sorted(code)] for kernel, code in kernels.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--checks", default="")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--missing", metavar="KERNEL")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    with tempfile.TemporaryDirectory() as folder:
        passed = [run(build, check, folder) for check in (args.checks.split(",") if args.checks else checks_of(build))]
        kernels = read(folder)
    if not passed or not kernels:
        sys.exit("no check ran")
    rows = sorted((100 * sum(e for e, _ in code) / len(code), len(code), kernel) for kernel, code in kernels.items()
                  if not kernel.startswith(SAMPLES))
    for percent, count, kernel in rows:
        print(f"{kernel:40} {percent:5.1f} % of {count}")
    total = sum(count for _, count, _ in rows)
    print(f"{len(rows)} kernels, {sum(p * n for p, n, _ in rows) / total:.1f} % of {total}, {len(passed)} checks")
    before = True
    for index, (executed, text) in enumerate(kernels.get(args.missing, [])):
        if not executed:
            print(f"{'' if not before else index:>6}  {text}")
        before = executed
    return 0 if all(passed) and rows[0][0] >= args.least else 1


if __name__ == "__main__":
    sys.exit(main())

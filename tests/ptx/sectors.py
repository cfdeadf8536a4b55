#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""sectors.py BUILD [--checks NAME,... | --case NAME] [--kernels NAME,...] [--worst N]: how kernels touch global memory.

Runs the checks (stems of tests/device/*.cc; default: encode_every_kernel), or one test case, on the interpreter of BUILD. A
request is what the lanes of a warp ask for by one instruction; a sector is a piece of 32 bytes. For each kernel it prints the
sectors that its loads and stores touched (atomics are stores), and how many would be full of the bytes that were asked for.
--worst also lists the N instructions that touched most sectors beyond that. Caches are not part of the count.
"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

SAMPLES = "cj2k_sample_"  # kernels of the tests themselves


def run(build, selection, **variables):
    """Runs test_device_gpu. Returns its exit status and a list of (kernel, index, requests, sectors, best, instruction)."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, LD_LIBRARY_PATH=f"{build}/tests/ptx/lib", CJ2K_PTX_SECTORS=folder, **variables)
        result = subprocess.run([f"{build}/tests/device/test_device_gpu", selection], env=environment, capture_output=True,
                                check=False)
        rows = []
        for file in pathlib.Path(folder).glob("*.tsv"):
            for line in file.read_text(encoding="utf-8").splitlines():
                kernel, index, requests, sectors, best, text = line.split("\t", 5)
                rows.append((kernel, int(index), int(requests), int(sectors), int(best), text))
    return result.returncode, rows


def is_load(text):
    return text.split(" ")[0 if not text.startswith("@") else 1].startswith("ld")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--checks", default="encode_every_kernel")
    parser.add_argument("--case")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--worst", type=int, default=0)
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    selections = [f"--test-case={args.case}"] if args.case else [f"--source-file=*/device/{c}.cc" for c in args.checks.split(",")]
    accesses = collections.defaultdict(lambda: [0, 0, 0])
    for selection in selections:
        status, rows = run(build, selection)
        if status != 0 or not rows:
            sys.exit(f"{selection}: failed, or no kernel ran")
        for kernel, index, *counts, text in rows:
            if not kernel.startswith(SAMPLES) and (not args.kernels or kernel.removeprefix("cj2k_") in args.kernels.split(",")):
                sums = accesses[kernel, index, text]
                for k in range(3):
                    sums[k] += counts[k]
    kernels = collections.defaultdict(lambda: {True: [0, 0, 0], False: [0, 0, 0]})
    for (kernel, _, text), counts in accesses.items():
        sums = kernels[kernel][is_load(text)]
        for k in range(3):
            sums[k] += counts[k]
    head = f"{'requests':>11} {'sectors':>11} {'full':>11} {'ratio':>6}"
    print(f"{'':36} {'loads':>42} {'stores':>43}\n{'kernel':36} {head}  {head}")
    for kernel, both in sorted(kernels.items()):
        columns = [f"{r:11} {s:11} {b:11} {s / b if b else 0:6.2f}" for r, s, b in (both[True], both[False])]
        print(f"{kernel:36} {columns[0]}  {columns[1]}")
    for (kernel, index, text), (requests, sectors, best) in sorted(accesses.items(), key=lambda a: a[1][2] - a[1][1])[:args.worst]:
        print(f"{kernel} {index}: {requests} requests, {sectors} sectors, {best} full: {text}")


if __name__ == "__main__":
    main()

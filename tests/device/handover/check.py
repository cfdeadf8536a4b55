#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""check.py [--long]: checks the model fused.pml with Spin, and that Spin finds every planted fault.

Exit status: 0 all as it must be; 1 not; 77 Spin or a C compiler is missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fused.pml")
# BLOCKS, PLANES of a block, units of a SMALL pass.
SIZES = [(3, 2, 1), (2, 2, 0)]
LONG_SIZES = [(2, 3, 1), (2, 3, 0), (3, 2, 0)]
# The size at which a fault shows, and what the model says of it.
FAULTS = {
    1: ((2, 3, 1), "ring["),
    2: ((2, 3, 0), "produced"),
    3: ((2, 3, 1), "ring["),
    4: ((2, 3, 1), "ring["),
    5: ((2, 3, 1), "block=="),
    6: ((2, 3, 1), "num_given>0"),
    7: ((2, 3, 0), "num_given<"),
}


def verify(folder, size, fault=0):
    """Returns what Spin's verifier prints."""
    blocks, planes, small = size
    macros = [f"-DBLOCKS={blocks}", f"-DPLANES={planes}", f"-DSMALL={small}", f"-DFAULT={fault}"]
    run = dict(cwd=folder, check=True, capture_output=True, text=True)
    subprocess.run(["spin", "-a", *macros, MODEL], **run)
    # SAFETY: assertions and end states, no liveness; the model has no loop that could run for ever without a change.
    subprocess.run(["cc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"], **run)
    # Ends with an error if the search is cut (depth, memory).
    return subprocess.run(["./pan", "-m100000", "-w22"], **{**run, "check": False}).stdout


def is_clean(report):
    return "errors: 0" in report and "Search not completed" not in report and "max search depth" not in report


def main():
    for program in ("spin", "cc"):
        if shutil.which(program) is None:
            print(f"check.py: {program} is missing")
            return 77
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES + (LONG_SIZES if "--long" in sys.argv[1:] else []):
            report = verify(folder, size)
            states = re.search(r"(\d+) states, stored", report)
            print(f"{size[0]} blocks, {size[1]} planes, small passes of {size[2]} units: "
                  f"{states[1] if states else '?'} states", flush=True)
            if not is_clean(report):
                print(report)
                failures += 1
        for fault, (size, claim) in FAULTS.items():
            found = re.search(r"assertion violated \((.*)\) \(at depth", verify(folder, size, fault))
            print(f"fault {fault}: {found[1] if found else 'not found'}", flush=True)
            failures += not (found and claim in found[1])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

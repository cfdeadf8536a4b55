#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""per_decision.py BUILD [--ptx DIR]: PTX instructions that a warp of each tier-1 kernel executes for 32 MQ decisions.

Runs one check of tests/device/kernel_tier1.cc on the interpreter of BUILD: 64 blocks of 32x32 and 7 planes, in all three forms.
--ptx takes kernels from DIR/*.ptx (CJ2K_PTX_DIR). The interpreter lets lanes that parted meet again where their paths do, as a
GPU should; it says nothing of time.
"""
import argparse
import os
import re
import subprocess
import sys

CASE = "tier-1 kernels: blocks like those of pictures"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--ptx")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    environment = dict(os.environ, LD_LIBRARY_PATH=f"{build}/tests/ptx/lib", CJ2K_PTX_STATS="1")
    if args.ptx:
        environment["CJ2K_PTX_DIR"] = args.ptx
    done = subprocess.run([f"{build}/tests/device/test_device_gpu", f"--test-case={CASE}"], env=environment,
                          capture_output=True, text=True, check=False)
    decisions = re.search(r"MQ decisions: (\d+)", done.stdout + done.stderr)
    if done.returncode != 0 or decisions is None:
        sys.exit(f"the check failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    decisions = int(decisions[1])
    print(f"{decisions} decisions\n{'kernel':28} {'instructions':>14} {'per 32 decisions':>17} {'lanes':>8}")
    for line in done.stderr.splitlines():
        fields = line.split()
        if len(fields) == 5 and "tier1" in fields[0]:
            warps, lanes = int(fields[3]), int(fields[4])
            print(f"{fields[0]:28} {warps:14} {warps * 32 / decisions:17.1f} {100 * lanes / (32 * warps):6.1f} %")


if __name__ == "__main__":
    main()

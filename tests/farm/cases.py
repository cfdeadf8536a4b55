#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Machines that are test cases, for as many minutes as are given.

    tests/farm/cases.py MACHINE --build BUILD [--minutes N] [--seed S]

    scan      random pictures, sizes, depths and settings at 200 rates: exact against none, the curves' shape (tests/scan)
    callers   several encoders, each called by several threads in random order; best in a build with ThreadSanitizer
    frames    small frames under random caps: none above it

Exit status 1 if a run fails. It has printed the seed, which is the day's if none is given.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

# Program, test case, and the environment of run `n`, which begins with `seconds` left.
MACHINES = {
    "scan": ("test_scan", "random pictures*", lambda seed, n, seconds: {"SCAN_SEED": seed + 10000 * n, "SCAN_MINUTES": seconds / 60}),
    "callers": ("test_roundtrip", "random callers", lambda seed, n, seconds: {"RANDOM_SEED": seed + n, "CALLERS_SECONDS": int(seconds) + 1}),
    "frames": ("test_roundtrip", "frames under random caps", lambda seed, n, _: {"RANDOM_FIRST": seed + 20000 * n, "RANDOM_COUNT": 20000}),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machine", choices=MACHINES)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the folder of the build")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time() // 86400) % 1000 * 10**6)
    options = parser.parse_args()
    program, case, environment = MACHINES[options.machine]
    end, runs, failures = time.monotonic() + 60 * options.minutes, 0, 0
    while runs == 0 or (left := end - time.monotonic()) > 0:
        settings = environment(options.seed, runs, 60 * options.minutes if runs == 0 else left)
        settings = {f"CJ2K_{name}": str(value) for name, value in settings.items()}
        print(*(f"{name}={value}" for name, value in settings.items()), flush=True)
        failures += subprocess.run([options.build / "tests" / program, "--test-case=" + case], env=os.environ | settings,
                                   check=False).returncode != 0
        runs += 1
    print(f"{options.machine}: {runs} runs from seed {options.seed}, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

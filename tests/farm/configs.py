#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""Random configurations through OpenJPEG, FFmpeg and OpenJPH; a failure shrinks itself to the parameters that it needs.

    tests/farm/configs.py --tests build/release/tests/test_roundtrip [--case CASE]... [--minutes N] [--seed S] [--path FOLDER]

Runs the cases of test_roundtrip that take seeds ("random sequences", "random combinations", "HT: random combinations"),
from the first seed on, until the minutes are over. --path names a folder
with other versions of the decoders. A seed that fails runs again with one parameter after the other at its default; what is
left fails too. Exit status 1 if there are failures.
"""
import argparse
import os
import re
import subprocess
import sys
import time

CHUNK = 50
TIMEOUT = 900
CASES = ["random sequences", "random combinations", "HT: random combinations"]


class Farm:
    def __init__(self, options):
        self.options = options
        self.environment = {**os.environ, "CJ2K_RANDOM_DECODERS": options.decoders}
        if options.path:
            self.environment["PATH"] = options.path + ":" + os.environ["PATH"]

    def run(self, case, **more):
        """@return (whether it passed, its output)"""
        environment = {**self.environment, **{"CJ2K_RANDOM_" + name: str(value) for name, value in more.items()}}
        try:
            result = subprocess.run([self.options.tests, "--test-case=" + case], capture_output=True, text=True, env=environment,
                                    errors="replace", timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return False, f"hangs for {TIMEOUT} s"
        return result.returncode == 0, result.stdout + result.stderr

    def parameters(self, text):
        line = re.search(r"parameters: (.*)", text)
        return re.findall(r"(\w+)=('[^']*'|\S+)", line.group(1)) if line else []

    def shrink(self, case, seed):
        """@return the output with as few parameters as possible"""
        _, text = self.run(case, SEED=seed)
        why = reason(text)
        reset = []
        for name, _ in self.parameters(text):
            passed, less = self.run(case, SEED=seed, RESET=",".join([*reset, name]))
            if not passed and reason(less) == why:
                reset.append(name)
                text = less
        return text


def reason(text):
    """The check that failed, without its values."""
    found = re.search(r"([\w/.]+\.(?:cc|h):\d+): (?:FATAL )?ERROR: (.*)", text)
    return found.groups() if found else text[-200:]


def count(text):
    found = re.findall(r"(\d+) of \d+ combinations coded|(\d+) combinations coded", text)
    return sum(int(a or b) for a, b in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", required=True, help="test_roundtrip")
    parser.add_argument("--case", action="append", help="one of test_roundtrip that takes seeds")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time() // 86400) * 1000, help="the first [by the day]")
    parser.add_argument("--decoders", default="all", choices=["all", "openjpeg"], help="for random sequences")
    parser.add_argument("--path", help="a folder of decoders, before those in PATH")
    options = parser.parse_args()
    farm, begin = Farm(options), time.monotonic()
    failures, coded, seed = {}, 0, options.seed
    cases = options.case or CASES
    while time.monotonic() - begin < 60 * options.minutes:
        for case in cases:
            first = seed
            while first < seed + CHUNK and time.monotonic() - begin < 60 * options.minutes:
                passed, text = farm.run(case, FIRST=first, COUNT=seed + CHUNK - first)
                if passed:
                    coded += count(text)
                    break
                found = re.search(r"CJ2K_RANDOM_SEED=(\d+)", text)
                if not found:
                    print(f"FAULT {case}, from seed {first}: {text[-2000:]}", flush=True)
                    failures[reason(text)] = failures.get(reason(text), 0) + 1
                    break
                coded += int(found.group(1)) - first
                first = int(found.group(1)) + 1
                why = reason(text)
                failures[why] = failures.get(why, 0) + 1
                if failures[why] == 1:
                    text = farm.shrink(case, first - 1)
                print(f"FAULT {case}, seed {first - 1}, {' '.join(why)}\n{text if failures[why] == 1 else ''}", flush=True)
        seed += CHUNK
    print(f"{coded} configurations, seeds {options.seed} to {seed - 1} of {len(cases)} cases, {sum(failures.values())} failures, "
          f"{time.monotonic() - begin:.0f} s")
    for why, number in sorted(failures.items()):
        print(f"{number:6} {' '.join(why) if isinstance(why, tuple) else why}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

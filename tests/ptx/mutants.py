#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""mutants.py BUILD [OPTION...]: do the checks notice a wrong instruction?

Changes one PTX instruction of a kernel that some check executes, and runs the checks that execute it on the interpreter of
BUILD, the quickest first, until one fails. Prints each mutant that none of them noticed, and the share that was noticed. A
mutant may be equivalent: it never changes a result. --checks limits the checks (stems of tests/device/*.cc).
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import coverage

# What is looked for, and what takes its place.
RULES = [(re.compile(old), new) for old, new in (
    (r"^add\.s", "sub.s"), (r"^add\.rn", "sub.rn"), (r"^sub\.s", "add.s"), (r"^sub\.rn", "add.rn"),
    (r"^mul\.rn\.(f32|f64)", r"add.rn.\1"),
    (r"^and\.b", "or.b"), (r"^or\.b", "and.b"), (r"^xor\.b", "or.b"), (r"^and\.pred", "or.pred"), (r"^or\.pred", "and.pred"),
    (r"^shl\.b32", "shr.u32"), (r"^shr\.u32", "shl.b32"), (r"^shr\.s32", "shr.u32"), (r"^shl\.b64", "shr.u64"),
    (r"^min\.", "max."), (r"^max\.", "min."), (r"^setp\.lt\.", "setp.le."), (r"^setp\.le\.", "setp.lt."),
    (r"^setp\.gt\.", "setp.ge."), (r"^setp\.ge\.", "setp.gt."), (r"^setp\.eq\.", "setp.ne."), (r"^setp\.ne\.", "setp.eq."),
    (r"^@(%p\d+ bra)", r"@!\1"), (r"^@!(%p\d+ bra)", r"@\1"), (r"^cvt\.s32\.s8", "cvt.u32.u8"), (r"^cvt\.s64\.s32", "cvt.u64.u32"),
    (r"^(selp\.\w+ %\w+), (\S+), (\S+),", r"\1, \3, \2,"), (r"^shfl\.sync\.up", "shfl.sync.down"),
    (r"^shfl\.sync\.bfly", "shfl.sync.idx"), (r"^vote\.sync\.any", "vote.sync.all"), (r"^popc\.b32", "clz.b32"),
    (r"^(st\.(?:shared|global)\.[\w.]+ \[%\w+\+)(\d+)\]", lambda m: f"{m[1]}{int(m[2]) + 4}]"),
    (r"^(mov\.u32 %r\d+), (\d+)$", lambda m: f"{m[1]}, {int(m[2]) + 1}"),
    (r"^(add\.s32 %r\d+, %r\d+), (-?\d+)$", lambda m: f"{m[1]}, {int(m[2]) + 1}"),
)]
HANG = 5  # times as long as without the mutant, and five seconds


def mutations(text):
    found = [rule.sub(new, text, count=1) for rule, new in RULES if rule.search(text)]
    return [new for new in found if new != text]


class Checks:
    def __init__(self, build, names, seconds):
        self.build = build
        self.deadline = time.monotonic() + seconds
        self.seconds = {}
        self.executed = collections.defaultdict(list)  # (kernel, index): checks
        self.kernels = {}
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                start = time.monotonic()
                if not coverage.run(build, name, folder):
                    sys.exit(f"{name} fails without a mutant")
                self.seconds[name] = time.monotonic() - start
                for kernel, code in coverage.read(folder).items():
                    self.kernels[kernel] = [text for _, text in code]
                    for index, (executed, _) in enumerate(code):
                        if executed:
                            self.executed[kernel, index].append(name)

    def noticed_by(self, mutant):
        """The check that fails, and how; None: no check does; False: no time was left."""
        if time.monotonic() > self.deadline:
            return False
        kernel, index, text = mutant
        environment = dict(os.environ, LD_LIBRARY_PATH=f"{self.build}/tests/ptx/lib", CJ2K_PTX_MUTANT=f"{kernel}:{index}:{text}")
        for name in sorted(self.executed[kernel, index], key=self.seconds.get):
            try:
                result = subprocess.run([f"{self.build}/tests/device/test_device_gpu", f"--source-file=*/device/{name}.cc", "-aa=1"],
                                        env=environment, capture_output=True, timeout=HANG * self.seconds[name] + 5, check=False)
            except subprocess.TimeoutExpired:
                return name, "hang"
            if f"ptx: {kernel}:".encode() not in result.stderr:
                sys.exit(f"{mutant}: the kernel was not changed")
            if result.returncode != 0:
                ended = any(line.startswith(b"ptx: ") and b" instead of " not in line for line in result.stderr.splitlines())
                return name, "device error" if ended else "other bytes"
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--per-kernel", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no mutant after this time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--checks", default="")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    checks = Checks(build, args.checks.split(",") if args.checks else coverage.checks_of(build), args.seconds)
    rng = random.Random(args.seed)
    mutants = []
    for kernel, code in sorted(checks.kernels.items()):
        if kernel.startswith(coverage.SAMPLES) or args.kernels and kernel not in args.kernels.split(","):
            continue
        places = [(kernel, k, new) for k, text in enumerate(code) if checks.executed[kernel, k] for new in mutations(text)]
        mutants += rng.sample(places, min(args.per_kernel, len(places)))
    rng.shuffle(mutants)  # so that those for which there is time are of all kernels
    how = collections.Counter()
    by_kernel = collections.defaultdict(lambda: [0, 0])
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for mutant, notice in zip(mutants, pool.map(checks.noticed_by, mutants)):
            if notice is False:
                continue
            kernel, index, text = mutant
            by_kernel[kernel][0] += notice is not None
            by_kernel[kernel][1] += 1
            how[notice[1] if notice else "not noticed"] += 1
            if notice is None:
                print(f"not noticed: {kernel} {index}: {checks.kernels[kernel][index]} -> {text}", flush=True)
    for kernel, (noticed, count) in sorted(by_kernel.items()):
        print(f"{kernel:40} {noticed:3} of {count}")
    ran = sum(n for _, n in by_kernel.values())
    print(f"{sum(n for n, _ in by_kernel.values())} of {ran} mutants noticed; " +
          ", ".join(f"{name} {count}" for name, count in how.most_common()))


if __name__ == "__main__":
    main()

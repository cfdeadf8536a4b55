#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""mutants.py BUILD [OPTION...]: do the checks notice a wrong instruction?

Changes one PTX instruction of a kernel that some check executes, and runs the checks that execute it on the interpreter of
BUILD, test case by test case, the quickest first, until one fails. Prints each mutant that none of them noticed, and the share
that was noticed. A mutant may be equivalent: it never changes a result. The same seed draws the same mutants.
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
HANG = 4  # times as long as without the mutant, and two seconds


def mutations(text):
    found = [rule.sub(new, text, count=1) for rule, new in RULES if rule.search(text)]
    return [new for new in found if new != text]


class Cases:
    """The test cases of the checks: how long they take, and which instructions they execute."""

    def __init__(self, build, checks, jobs):
        self.build = build
        self.deadline = self.patience = 1e9
        self.seconds = {}
        self.executed = collections.defaultdict(list)  # (kernel, index): cases
        self.kernels = {}
        names = [(check, case) for check in checks for case in self.names(check)]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for name, (took, kernels) in zip(names, pool.map(self.measure, names)):
                self.seconds[name] = took
                for kernel, code in kernels.items():
                    self.kernels[kernel] = [text for _, text in code]
                    for index, (executed, _) in enumerate(code):
                        if executed:
                            self.executed[kernel, index].append(name)

    def run(self, name, limit=None, options=(), **environment):
        check, case = name
        environment = dict(os.environ, LD_LIBRARY_PATH=f"{self.build}/tests/ptx/lib", **environment)
        return subprocess.run([f"{self.build}/tests/device/test_device_gpu", f"--source-file=*/device/{check}.cc",
                               f"--test-case={case.replace(',', '?')}", *options],
                              env=environment, capture_output=True, timeout=limit, check=False)

    def names(self, check):
        lines = self.run((check, "*"), options=["-ltc", "--no-intro", "--no-version"]).stdout.decode().splitlines()
        rules = [k for k, line in enumerate(lines) if line.startswith("=====")]
        return lines[rules[0] + 1:rules[1]]

    def measure(self, name):
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            result = self.run(name, CJ2K_PTX_COVER=folder)
            if result.returncode != 0:
                sys.exit(f"{name} fails without a mutant: {result.stdout.decode()[-2000:]}")
            return time.monotonic() - start, coverage.read(folder)

    def noticed_by(self, mutant):
        """How, and by which case; None: no case notices it; False: no time was left."""
        kernel, index, text = mutant
        if time.monotonic() > self.deadline:
            return False
        patience = self.patience
        for name in sorted(self.executed[kernel, index], key=self.seconds.get):
            if patience < 0:
                break
            patience -= self.seconds[name]
            try:
                result = self.run(name, HANG * self.seconds[name] + 2, ["-aa=1"], CJ2K_PTX_MUTANT=f"{kernel}:{index}:{text}")
            except subprocess.TimeoutExpired:
                return "hang", name
            if f"ptx: {kernel}:".encode() not in result.stderr:
                sys.exit(f"{mutant}: the kernel was not changed")
            if result.returncode != 0:
                ended = any(line.startswith(b"ptx: ") and b" instead of " not in line for line in result.stderr.splitlines())
                return "device error" if ended else "other bytes", name
        return None


def draw(cases, kernel, count, seed):
    """Mutants of instructions that some case executes; the same ones whatever other kernels are drawn from."""
    places = [(kernel, k, new) for k, text in enumerate(cases.kernels[kernel]) for new in mutations(text)]
    random.Random(f"{seed} {kernel}").shuffle(places)
    return [place for place in places if cases.executed[place[:2]]][:count]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--kernels", default="", metavar="NAME[=COUNT],...", help="default: all")
    parser.add_argument("--per-kernel", type=int, default=10)
    parser.add_argument("--checks", default="", help="stems of tests/device/*.cc; default: all that a GPU runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no mutant after this time")
    parser.add_argument("--patience", type=float, default=1e9, help="run no more cases for a mutant after so many seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=pathlib.Path, help="a line for each mutant: kernel, index, both instructions, how, check, case")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    cases = Cases(build, args.checks.split(",") if args.checks else coverage.checks_of(build), args.jobs)
    cases.deadline, cases.patience = time.monotonic() + args.seconds, args.patience
    counts = {name: int(count or args.per_kernel) for name, _, count in (k.partition("=") for k in args.kernels.split(",") if k)}
    for name in counts.keys() - cases.kernels.keys():
        sys.exit(f"{name}: no check executes it")
    counts = counts or {k: args.per_kernel for k in cases.kernels if not k.startswith(coverage.SAMPLES)}
    mutants = [mutant for kernel in sorted(counts) for mutant in draw(cases, kernel, counts[kernel], args.seed)]
    random.Random(args.seed).shuffle(mutants)  # so that those for which there is time are of all kernels
    how = collections.Counter()
    by_kernel = collections.defaultdict(lambda: [0, 0])
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, open(args.out or os.devnull, "w", encoding="utf-8") as out:
        for mutant, notice in zip(mutants, pool.map(cases.noticed_by, mutants)):
            if notice is False:
                continue
            kernel, index, text = mutant
            by_kernel[kernel][0] += notice is not None
            by_kernel[kernel][1] += 1
            result, (check, case) = notice or ("not noticed", ("", ""))
            how[result] += 1
            print(kernel, index, cases.kernels[kernel][index], text, result, check, case, sep="\t", file=out, flush=True)
            if notice is None:
                print(f"not noticed: {kernel} {index}: {cases.kernels[kernel][index]} -> {text}", flush=True)
    for kernel, (noticed, count) in sorted(by_kernel.items()):
        print(f"{kernel:40} {noticed:3} of {count}")
    ran = sum(n for _, n in by_kernel.values())
    print(f"{sum(n for n, _ in by_kernel.values())} of {ran} mutants noticed; " +
          ", ".join(f"{name} {count}" for name, count in how.most_common()))


if __name__ == "__main__":
    main()

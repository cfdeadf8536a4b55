#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""JUnit files of test steps, as CTest and pytest write them.

    junit.py summary STEP:SECONDS:STATUS:FILE...     prints passed, failed and skipped of each step, the names of what
                                                     failed or was skipped with the reasons, and the sum; STATUS is the
                                                     exit status of the step; exit status 1 if anything failed
    junit.py write FILE STEP SECONDS passed|failed|skipped [REASON]     a file for a step that is one test

A step in which nothing ran or every test was skipped has failed, and so has one whose file cannot be read. A test that
passed may have left something out: each line of its output that starts with SKIPPED: counts as a skipped test.
"""

import argparse
import collections
import dataclasses
import pathlib
import sys
import xml.etree.ElementTree as ET

SKIPPED_LINE = "SKIPPED:"
# CTest's messages for a test that skipped itself. Its other messages (no executable, a file is missing) are failures.
CTEST_SKIPS = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION")


@dataclasses.dataclass
class Step:
    name: str
    seconds: int
    passed: int = 0
    failed: list = dataclasses.field(default_factory=list)  # (test, reason)
    skipped: list = dataclasses.field(default_factory=list)

    def line(self):
        return (f"{self.name:<28} {self.seconds:5} s  {self.passed:4} passed  {len(self.failed):3} failed  "
                f"{len(self.skipped):3} skipped")


def last_line(text):
    lines = (text or "").strip().splitlines()
    return lines[-1] if lines else ""


def why_failed(failure, output):
    """pytest gives the reason in one line. For a CTest test it is doctest's first error in the output."""
    message = (failure.get("message") or "").split("\n")[0]
    return message or next((line for line in output.splitlines() if "ERROR:" in line), last_line(output))


def test_name(case):
    """The name as pytest's -k and ctest's -R accept it."""
    name, group = case.get("name"), case.get("classname")
    return name if group in (None, "", name) else f"{group}::{name}"


def add_case(step, case):
    name, output = test_name(case), case.findtext("system-out") or ""
    failure = case.find("failure")
    if failure is None:
        failure = case.find("error")
    skip = case.find("skipped")
    message = (skip.get("message") or "") if skip is not None else ""
    is_ctest = case.get("status") is not None
    for line in output.splitlines():
        if line.startswith(SKIPPED_LINE):
            step.skipped.append((name, line.removeprefix(SKIPPED_LINE).strip()))
    if failure is not None:
        step.failed.append((name, why_failed(failure, output)))
    elif is_ctest and skip is not None and not message.startswith(CTEST_SKIPS):
        step.failed.append((name, message or "not run"))
    elif is_ctest and skip is not None:
        step.skipped.append((name, last_line(output) or message))
    elif skip is not None or case.get("status") == "disabled":
        step.skipped.append((name, message or "disabled"))
    else:
        step.passed += 1


def read_step(name, seconds, status, path):
    step = Step(name, seconds)
    try:
        for case in ET.parse(path).iter("testcase"):
            add_case(step, case)
    except (OSError, ET.ParseError) as error:
        step.failed.append((name, f"no results: {error}"))
    is_itself_skipped = [test for test, _ in step.skipped] == [name]
    if not step.passed and not step.failed and not is_itself_skipped:
        step.failed.append((name, "nothing ran"))
    if status and not step.failed:
        step.failed.append((name, f"exit status {status}"))
    return step


def print_reasons(verdict, steps):
    """Prints one line for each reason, with the tests that gave it."""
    names = collections.defaultdict(list)
    for step in steps:
        for test, reason in getattr(step, verdict):
            names[step.name, reason].append(test)
    for (step, reason), tests in names.items():
        unique = list(dict.fromkeys(tests))
        times = f" ({len(tests)}x)" if len(tests) > 1 else ""
        print(f"{verdict}{times}: {step}: {', '.join(unique)}{': ' if reason else ''}{reason}")


def summary(texts):
    steps = []
    for text in texts:
        name, seconds, status, path = text.split(":", 3)
        steps.append(read_step(name, int(seconds), int(status), path))
    for step in steps:
        print(step.line())
    print_reasons("skipped", steps)
    print_reasons("failed", steps)
    passed = sum(step.passed for step in steps)
    failed = sum(len(step.failed) for step in steps)
    if len(steps) > 1:
        print(f"{passed} passed, {failed} failed, {sum(len(step.skipped) for step in steps)} skipped")
    return 0 if passed and not failed else 1


def write(path, step, seconds, verdict, reason):
    suite = ET.Element("testsuite", name=step, tests="1", time=str(seconds))
    case = ET.SubElement(suite, "testcase", name=step, classname=step, time=str(seconds))
    if verdict != "passed":
        ET.SubElement(case, {"failed": "failure", "skipped": "skipped"}[verdict], message=reason)
    ET.ElementTree(suite).write(path, encoding="unicode", xml_declaration=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("summary")
    command.add_argument("steps", nargs="+", metavar="STEP:SECONDS:STATUS:FILE")
    command = commands.add_parser("write")
    command.add_argument("path", type=pathlib.Path)
    command.add_argument("step")
    command.add_argument("seconds", type=int)
    command.add_argument("verdict", choices=["passed", "failed", "skipped"])
    command.add_argument("reason", nargs="?", default="")
    args = parser.parse_args()
    if args.command == "summary":
        return summary(args.steps)
    return write(args.path, args.step, args.seconds, args.verdict, args.reason)


if __name__ == "__main__":
    sys.exit(main())

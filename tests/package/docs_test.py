#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""docs_test.py SCRIPTS: check_docs.py finds what is missing, and only that."""

import pathlib
import subprocess
import sys
import tempfile

TREE = {
    "README.md": """[a page](docs/page.md#part) [outside](https://example.org/x) `libcj2k/plan/plan.{h,cc}` `tests/*.cc`
`samples/encode` `kernels/FOLDER/x.cu` [gone](docs/gone.md) `libcj2k/gone.h`
""",
    "docs/page.md": """# The `first` part: one

[back](../README.md) [gone](README.md) `tests/{a,gone}.cc` `libcj2k/`
[here](#the-first-part-one) [there](page.md#part) [gone](#second)
<a id="part"></a>
""",
    "libcj2k/plan/plan.h": "", "libcj2k/plan/plan.cc": "", "tests/a.cc": "", "samples/encode.c": "",
}
EXPECTED = ["README.md:2: docs/gone.md", "README.md:2: libcj2k/gone.h", "docs/page.md:3: README.md",
            "docs/page.md:3: tests/{a,gone}.cc", "docs/page.md:4: #second"]


def check(script, root):
    return subprocess.run([sys.executable, script, root], capture_output=True, text=True, check=False)


def main():
    script = pathlib.Path(sys.argv[1]) / "check_docs.py"
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        assert check(script, root).returncode == 1, "a tree without documents passes"
        for path, text in TREE.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        result = check(script, root)
        found = [line.removesuffix(" does not exist") for line in result.stdout.splitlines()[:-1]]
        assert result.returncode == 1 and found == EXPECTED, result.stdout
        (root / "README.md").write_text("| `a \\| b` | `c` |\n`a \\| b`\n| `c` \\| <code>a &#124; b</code> |\n", encoding="utf-8")
        (root / "docs/page.md").unlink()
        result = check(script, root)
        assert result.returncode == 1 and result.stdout.startswith("README.md:1: `a \\| b` has a bar"), result.stdout
        assert result.stdout.endswith("1 documents, 1 problems\n"), result.stdout
        (root / "README.md").write_text("[a page](docs/page.md)", encoding="utf-8")
        (root / "docs/page.md").write_text("# Part\n`samples/encode` [here](#part)", encoding="utf-8")
        result = check(script, root)
        assert result.returncode == 0, result.stdout
        check_symbols(script, root)


def check_symbols(script, root):
    """Symbols that no source has together with their class are found, in comments too, but not in the history."""
    names = "`Plan::of` `Plan::gone(x)` `plan::Plan::gone` `Gone::of` `Plan::~Plan` `std::gone` Plan::gone\n`a::far`"
    for path in ("docs/page.md", "CHANGELOG.md", "tests/bench/results/page.md"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(names, encoding="utf-8")
    (root / "README.md").write_text("", encoding="utf-8")
    (root / "libcj2k/plan/plan.h").write_text("struct Plan { static Plan of(); };\nint a;", encoding="utf-8")
    (root / "libcj2k/plan/plan.cc").write_text("int far;  // Plan::of, std::gone and Plan::old\nPlan::of();", encoding="utf-8")
    found = [line.removesuffix(" does not exist") for line in check(script, root).stdout.splitlines()[:-1]]
    assert found == ["libcj2k/plan/plan.cc:1: Plan::old", "docs/page.md:1: Plan::gone", "docs/page.md:1: plan::Plan::gone", "docs/page.md:1: Gone::of",
                     "docs/page.md:2: a::far"], found


main()

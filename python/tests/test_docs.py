# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""The examples in docs/python.md run, one after the other."""

import ast
import os
import pathlib
import re
import subprocess
import sys

import cj2k

ROOT = pathlib.Path(__file__).parents[2]


def examples():
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), re.M | re.S)


def test_examples(tmp_path):
    assert len(examples()) >= 6
    package = pathlib.Path(cj2k.__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", "\n".join(examples())], cwd=tmp_path, capture_output=True, text=True,
                          timeout=120, env={**os.environ, "PYTHONPATH": str(package)})
    assert done.returncode == 0, done.stderr
    assert "invalid levels" in done.stdout
    assert "array of float32, not in {uint8, uint16, int8, int16, bool}" in done.stdout
    assert [p.name for p in sorted(tmp_path.iterdir())] == [f"00000{i}.j2k" for i in range(5)] + ["picture.jp2"]


def test_stubs_have_every_name():
    """_cj2k.pyi names what the module has, and nothing else."""
    from cj2k import _cj2k

    tree = ast.parse((ROOT / "python/cj2k/_cj2k.pyi").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert callable(getattr(_cj2k, node.name))
        elif isinstance(node, ast.ClassDef) and node.name != "Error":
            declared = {n.name for n in node.body if isinstance(n, ast.FunctionDef)} - {"__init__", "__buffer__"}
            found = {n for n in vars(getattr(_cj2k, node.name)) if not n.startswith("_")}
            assert {n for n in declared if not n.startswith("_")} == found, node.name
    names = {n.name for n in tree.body if hasattr(n, "name")}
    assert names == {n for n in vars(_cj2k) if not n.startswith("_")} - {"DeviceWords"}

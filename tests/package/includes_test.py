#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""includes_test.py ROOT: scripts/check_includes.py finds each #include that its table does not allow."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

# A file of each row, an include that it must not have, and a word of the message.
BAD = [
    ("libcj2k/include/cj2k.h", '"base/status.h"', "api may include nothing"),
    ("libcj2k/base/status.h", '"core/lifting.h"', "base may include"),
    ("libcj2k/core/lifting.h", '"plan/plan.h"', "core may include"),
    ("libcj2k/params/params.h", '"plan/plan.h"', "params may include"),
    ("libcj2k/plan/plan.h", '"packets/markers.h"', "plan may include"),
    ("libcj2k/pixels/quantize.h", '"coders/hull.h"', "pixels may include"),
    ("libcj2k/coders/hull.h", '"params/profiles.h"', "coders may include"),
    ("libcj2k/packets/bytes.h", '"rate/rate.h"', "packets may include"),
    ("libcj2k/rate/rate.h", '"depth/early_stop.h"', "rate may include"),
    ("libcj2k/depth/early_stop.h", '"params/params.h"', "depth may include"),
    ("libcj2k/backend.h", '"run/gop.h"', "backend may include"),
    ("libcj2k/cpu/backend_cpu.cc", '"run/gop.h"', "cpu may include"),
    ("libcj2k/cuda/gop_memory.h", '"cpu/cpu_pixels.h"', "cuda may include"),
    ("libcj2k/cuda/gop_memory.cc", '"pixels/dwt.cuh"', "cuda may include"),
    ("kernels/pixels/dwt.cuh", '"../../libcj2k/base/threads.h"', "kernels may include"),
    ("kernels/simt/types.h", '"core/lifting.h"', "simt may include"),
    ("libcj2k/run/encoder.h", '"cpu/cpu_pixels.h"', "run may include"),
    ("libcj2k/api.cc", '"support/encode.h"', "boundary may include"),
    ("samples/encode.c", '"params/params.h"', "samples may include api"),
    ("tools/check/check.h", '"cj2k.h"', "checker may include nothing"),
    ("tests/support/picture.h", '"no_such_file.h"', "is not in this tree"),
    ("libcj2k/new/file.h", '"cj2k.h"', "is in no row"),
]


def main():
    root = pathlib.Path(sys.argv[1])
    missing = []
    with tempfile.TemporaryDirectory() as name:
        copy = pathlib.Path(name)
        for folder in ("libcj2k", "kernels", "samples", "tests", "tools"):
            shutil.copytree(root / folder, copy / folder)
        (copy / "libcj2k/new").mkdir()
        (copy / "libcj2k/new/file.h").touch()
        lines = []
        for path, include, _ in BAD:
            text = (copy / path).read_text(encoding="utf-8")
            (copy / path).write_text(f"// first line\n#include {include}\n{text}", encoding="utf-8")
            lines.append(1 if "new" in path else 2)
        result = subprocess.run([root / "scripts/check_includes.py", copy], capture_output=True, text=True)
        for (path, include, words), line in zip(BAD, lines):
            if not any(x.startswith(f"{path}:{line}: ") and words in x for x in result.stdout.splitlines()):
                missing.append(f"{path}:{line}: {include}: no line with '{words}'")
    if missing or result.returncode != 1:
        print(result.stdout, result.stderr, *missing, f"exit status {result.returncode}", sep="\n")
        return 1
    print(f"each of {len(BAD)} wrong lines was found")
    return 0


if __name__ == "__main__":
    sys.exit(main())

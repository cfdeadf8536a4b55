#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""sectors_test.py BUILD: the interpreter counts the sectors of counted/halve.ptx as by hand."""
import os
import pathlib
import sys

import sectors

# The accesses in order: sectors, and sectors full of the bytes, of one warp.
EXPECTED = [
    ("ld.global.u32", 4, 4),  # 32 neighbours
    ("ld.global.u32", 5, 4),  # the same, 4 bytes further on
    ("ld.global.u32", 1, 1),  # one word for all lanes
    ("st.global.v4.u32", 32, 16),  # 16 of every 64 bytes
    ("st.global.u32", 3, 1),  # three lanes, 64 bytes apart
]


def main():
    os.environ["CJ2K_PTX_DIR"] = str(pathlib.Path(__file__).parent / "counted")
    # The kernel does not halve, so the check itself fails; that is not the matter here.
    _, rows = sectors.run(os.path.abspath(sys.argv[1]), "--test-case=16-byte accesses*")
    rows = sorted((row for row in rows if row[0] == "cj2k_sample_halve"), key=lambda row: row[1])
    counts = [(text.split(" ")[0], touched / requests, best / requests) for _, _, requests, touched, best, text in rows]
    if counts != EXPECTED or len({row[2] for row in rows}) != 1:
        sys.exit(f"counted {rows}, expected {EXPECTED}")
    if [sectors.is_load(row[5]) for row in rows] != [True, True, True, False, False]:
        sys.exit("loads and stores are not told apart")


if __name__ == "__main__":
    main()

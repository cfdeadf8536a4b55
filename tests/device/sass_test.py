#!/usr/bin/env python3
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
"""sass.py finds what it is for, in machine code and PTX as cuobjdump prints them. Needs no nvcc."""

import collections
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import sass  # noqa: E402

CUOBJDUMP = """#!/bin/sh
here=$(dirname "$0")
case "$1" in
  -lelf) echo "ELF file    1: a.1.sm_90.cubin" ;;
  *) cat "$here/$1" ;;
esac
"""
CODE = """
        Function : cj2k_tier1_mq
    .headerflags    @"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;      /* 0x00000a00ff017b82 */
        /*0010*/                   S2R R4, SR_TID.X ;          /* 0x0000000000047919 */
        /*0020*/                   LDG.E.128.CONSTANT R4, desc[UR6][R8.64] ; /* 0x0 */
        /*0030*/                   LDG.E R4, desc[UR6][R8.64] ; /* 0x0 */
{inside}
        /*0050*/              @!P0 STG.E.128 desc[UR6][R8.64], R4 ; /* 0x0 */
        /*0060*/               @P1 BRA 0x30 ;                  /* 0x0 */
        /*0070*/                   FFMA R14, RZ, R25, R21 ;    /* 0x0 */
        /*0080*/                   EXIT ;                      /* 0x0 */
        /*0090*/                   BRA 0x90;                   /* 0x0 */
        /*00a0*/                   NOP;                        /* 0x0 */
"""
USAGE = " Function cj2k_tier1_mq:\n  REG:{reg} STACK:{stack} SHARED:5752 LOCAL:0 CONSTANT[0]:680\n"
PTX = ".visible .entry cj2k_tier1_mq(\n)\n.maxntid 192\n{{\n{ptx}\n\tret;\n}}\n"


class Sass(unittest.TestCase):
    def read(self, inside="IADD3 R1, R1, 0x1, RZ", stack=0, ptx="mul.f32 %f1, %f2, %f3;", reg=80):
        with tempfile.TemporaryDirectory() as folder:
            tools = pathlib.Path(folder)
            (tools / "-sass").write_text(CODE.format(inside=f"        /*0040*/    {inside} ;   /* 0x0 */"))
            (tools / "-res-usage").write_text(USAGE.format(stack=stack, reg=reg))
            (tools / "-ptx").write_text(PTX.format(ptx="\t" + ptx))
            (tools / "cuobjdump").write_text(CUOBJDUMP)
            (tools / "cuobjdump").chmod(0o755)
            return sass.read(["a.fatbin"], {"PATH": f"{folder}:/usr/bin:/bin"})

    def broken(self, **change):
        return "\n".join(sass.broken_rules(self.read(**change)))

    def test_counts(self):
        row = self.read()["cj2k_tier1_mq"]
        counts = {c: row[c] for c in sass.COLUMNS if row[c]}
        self.assertEqual(counts, {"threads": 192, "registers": 80, "shared": 5752, "instructions": 10, "LDG": 2, "LDG.128": 1, "STG": 1,
                                  "STG.128": 1, "S2R": 1})
        self.assertEqual(self.broken(), "")

    def test_each_rule(self):
        for change, text in ((dict(inside="FFMA R1, R2, R3, R4"), "1 FFMA: products and sums"),
                             (dict(inside="@P0 FFMA.FTZ R1, R2, R3, R4"), "1 FFMA: products and sums"),
                             (dict(ptx="fma.rn.f32 %f1, %f2, %f3, %f4;"), "1 ptx_fma: products and sums"),
                             (dict(ptx="@%p2 fma.rn.f64 %fd1, %fd2, %fd3, %fd4;"), "1 ptx_fma"),
                             (dict(inside="LDL R1, [R1+0x4]"), "LDL 1: memory in place of registers"),
                             (dict(inside="STL.64 [R1], R2"), "STL 1: memory"), (dict(stack=8), "stack 8: memory"),
                             (dict(ptx=".local .align 4 .b8 __local_depot0[8];"), "ptx_local 1: memory"),
                             (dict(inside="S2R R4, SR_TID.X"), "1 S2R of the thread's index in loops"),
                             (dict(inside="@!P2 S2UR UR4, SR_CTAID.X"), "1 S2R of the thread's index"),
                             (dict(reg=0), "cuobjdump shows no code")):
            with self.subTest(change):
                self.assertIn(text, self.broken(**change))
        self.assertEqual(self.broken(inside="S2UR UR5, SR_CgaCtaId"), "")

    def test_rate_control_needs_a_quarter_of_a_multiprocessor(self):
        row = self.read()["cj2k_tier1_mq"]
        for change, text in (({}, ""), ({"threads": 256, "registers": 64}, ""), ({"threads": 256, "registers": 65}, "18432 registers"),
                             ({"threads": 768, "registers": 16}, "768 threads"), ({"shared": 60000}, "60000 shared")):
            with self.subTest(change):
                lines = "\n".join(sass.broken_rules({"cj2k_packet_bodies": collections.Counter({**row, **change})}))
                self.assertIn(text, lines)
                self.assertEqual(lines == "", text == "")
        for change, text in (({"threads": 1024}, ""), ({"stack": 168, "LDL": 3, "STL": 2}, ""),
                             ({"stack": 176, "LDL": 3}, "stack 176: memory")):
            with self.subTest(change):
                lines = "\n".join(sass.broken_rules({"cj2k_rate_allocate": collections.Counter({**row, **change})}))
                self.assertIn(text, lines)
                self.assertEqual(lines == "", text == "")
        self.assertEqual("\n".join(sass.broken_rules({"cj2k_tier1_mq": collections.Counter({**row, "threads": 1024})})), "")

    def test_fused_where_the_source_asks_for_it(self):
        row = self.read()["cj2k_tier1_mq"]
        for ffma, ptx_fma, text in ((36, 36, ""), (37, 36, "37 FFMA"), (36, 37, "37 ptx_fma"), (0, 36, "0 FFMA")):
            row["FFMA"], row["ptx_fma"] = ffma, ptx_fma
            lines = list(sass.broken_rules({"cj2k_xyz_words": row}))
            self.assertEqual(lines, [f"cj2k_xyz_words: {text}: products and sums must be rounded apart, but for 36"] if text else [])

    def test_differences(self):
        old = sass.table_of(self.read(), "13.0.88")
        self.assertEqual(list(sass.differences(old, old)), [])
        new = sass.table_of(self.read(reg=90), "13.0.88")
        self.assertEqual(list(sass.differences(old, new)), ["cj2k_tier1_mq: registers 80 -> 90"])
        self.assertEqual(list(sass.differences(old, sass.table_of({}, "13.0.88"))), ["cj2k_tier1_mq: gone"])
        self.assertTrue(old.startswith("# nvcc 13.0.88, sm_90;"))

    def test_no_code_for_the_architecture(self):
        sass.ARCH, arch = "91", sass.ARCH
        try:
            with self.assertRaisesRegex(sass.Skipped, "a.fatbin has no machine code for sm_91"):
                self.read()
        finally:
            sass.ARCH = arch


if __name__ == "__main__":
    unittest.main()

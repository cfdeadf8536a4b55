#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# report.sh NVCC FLAG... -- FILE.cu...
#
# Compiles for sm_90 ($ARCH) and prints what ptxas reports for each kernel: registers, bytes of stack frame, spills and static
# shared memory. Then it prints the numbers of 16-byte loads (by gload_ro) and stores of global memory: in the PTX and, if a
# cuobjdump is found ($CUOBJDUMP, beside nvcc, or on the PATH), in the machine code.
# Fails on any warning, and if a kernel that moves planes of samples (dwt*, ingest*, quantize*) spills, has no 16-byte store,
# or has no 16-byte load. Kernels that read the stored words of a frame (dwt_first_level*, ingest*) need no 16-byte load,
# because four words take 4 to 16 bytes.
set -euo pipefail

nvcc=$1
shift
flags=()
while [ "$1" != -- ]; do
  flags+=("$1")
  shift
done
shift
arch=${ARCH:-90}
cuobjdump=${CUOBJDUMP:-$(dirname "$(command -v "$nvcc")")/cuobjdump}
[ -x "$cuobjdump" ] || cuobjdump=$(command -v cuobjdump || true)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

printf '%-34s %9s %6s %6s %6s %7s  %-9s %-9s\n' "" "" "" spill spill "" "16 B: PTX" "SASS"
printf '%-34s %9s %6s %6s %6s %7s %5s %4s %5s %4s\n' "kernel (sm_$arch)" registers stack store load shared load st. load st.
status=0
for file in "$@"; do
  rm -rf "$out/keep"
  mkdir "$out/keep"
  "$nvcc" -cubin -arch="sm_$arch" "${flags[@]}" --keep --keep-dir "$out/keep" -Xptxas -v "$file" -o "$out/cubin" \
    > "$out/log" 2>&1 || {
    cat "$out/log" >&2
    exit 1
  }
  grep -iE 'warning' "$out/log" >&2 && status=1
  sass=$out/sass
  : > "$sass"
  if [ -n "$cuobjdump" ]; then "$cuobjdump" -sass "$out/cubin" > "$sass"; fi
  awk -v has_sass="${cuobjdump:+1}" '
    function is_wide(text) { return text ~ /\.v4\.[a-z](32)/ || text ~ /\.v2\.[a-z](64)/ }
    FNR == 1 { ++part }
    # PTX: .visible .entry cj2k_NAME(
    part == 1 && /\.entry / { name = $0; sub(/.*\.entry /, "", name); sub(/\(.*/, "", name) }
    part == 1 && /ld\.global\.nc/ && is_wide($0) { ++load16[name] }
    part == 1 && /st\.global/ && is_wide($0) { ++store16[name] }
    # cuobjdump: Function : cj2k_NAME
    part == 2 && /Function :/ { name = $3 }
    part == 2 && /LDG\.[A-Z0-9.]*128\.CONSTANT/ { ++sass_load[name] }
    part == 2 && /STG\.[A-Z0-9.]*128/ { ++sass_store[name] }
    # ptxas
    part == 3 && /Compiling entry function/ { split($0, quoted, "\047"); name = quoted[2] }
    part == 3 && /bytes stack frame/ { stack = $1; store = $5; load = $9 }
    part == 3 && /Used [0-9]+ registers/ {
      shared = 0
      for (i = 1; i < NF; ++i) if ($(i + 2) ~ /^smem/) shared = $i
      for (i = 1; i < NF; ++i) if ($i == "Used") registers = $(i + 1)
      remark = stack + store + load > 0 ? "  <-- memory instead of registers" : ""
      moves_planes = name ~ /^cj2k_(dwt|ingest|quantize)/
      reads_planes = name !~ /^cj2k_(dwt_first_level|ingest)/
      if (moves_planes) {
        if ((reads_planes && (load16[name] + 0 == 0 || (has_sass && sass_load[name] + 0 == 0))) ||
            store16[name] + 0 == 0 || (has_sass && sass_store[name] + 0 == 0)) {
          remark = remark "  <-- no 16-byte accesses"
        }
        if (remark != "") bad = 1
      }
      short = name
      sub(/^cj2k_/, "", short)
      printf "%-34s %9d %6d %6d %6d %7d %5d %4d %5s %4s%s\n", short, registers, stack, store, load, shared,
             load16[name], store16[name], has_sass ? sass_load[name] + 0 : "-", has_sass ? sass_store[name] + 0 : "-", remark
    }
    END { exit bad }' <(cat "$out"/keep/*.ptx; echo) <(cat "$sass"; echo) "$out/log" || status=1
done
exit "$status"

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# report.sh NVCC FLAG... -- FILE.cu...
#
# Compiles for sm_90 ($ARCH) and prints what ptxas says of each kernel: registers, bytes of stack frame, spills and static
# shared memory. Fails with any warning.
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
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

printf '%-44s %9s %6s %6s %6s %8s\n' "kernel (sm_$arch)" registers stack store load shared
status=0
for file in "$@"; do
  "$nvcc" -cubin -arch="sm_$arch" "${flags[@]}" -Xptxas -v "$file" -o "$out/cubin" > "$out/log" 2>&1 || {
    cat "$out/log" >&2
    exit 1
  }
  grep -iE 'warning' "$out/log" >&2 && status=1
  awk '/Compiling entry function/ { split($0, part, "\047"); name = part[2]; sub(/^cj2k_/, "", name) }
       /bytes stack frame/ { stack = $1; store = $5; load = $9 }
       /Used [0-9]+ registers/ {
         shared = 0
         for (i = 1; i < NF; ++i) if ($(i + 2) ~ /^smem/) shared = $i
         for (i = 1; i < NF; ++i) if ($i == "Used") registers = $(i + 1)
         printf "%-44s %9d %6d %6d %6d %8d%s\n", name, registers, stack, store, load, shared,
                (stack + store + load > 0) ? "  <-- memory instead of registers" : ""
       }' "$out/log"
done
exit "$status"

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# options_test.sh GPU_BENCH: --gop, --gops-in-flight and --tier1 make these rows and no others, beside those of the CPU.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --smoke --gop 8 --gops-in-flight 3 --tier1 classic,fused --workloads 4k8-1.23bpp-6 --out "$work/out"
rows=$(grep -v '^#' "$work/out.tsv" | awk -F'\t' 'NR > 1 { print $1, $3, $4, $5, $6, $NF }' | sort)
expected='4k8-1.23bpp-6 cj2k cpu 1 threads - 1x1 host>host ok
4k8-1.23bpp-6 cj2k cuda classic 8x3 dev>host ok
4k8-1.23bpp-6 cj2k cuda classic 8x3 host>host ok
4k8-1.23bpp-6 cj2k cuda fused 8x3 dev>host ok
4k8-1.23bpp-6 cj2k cuda fused 8x3 host>host ok'
diff <(echo "$expected") <(echo "$rows")
if "$1" --tier > "$work/log" 2>&1; then
  echo "an unknown option is taken"
  exit 1
fi
if "$1" --smoke --picture "$work/none.ppm" > "$work/log" 2>&1 || ! grep -q 'none.ppm: No such file' "$work/log"; then
  echo "a picture that is not there is taken"
  exit 1
fi

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# gpu_dry_run.sh BUILD [build]: tests/gpu.sh as on a machine with a GPU, from the probe to the report, on the PTX interpreter.
#
# The programs of BUILD are checked and measured; then a kernel is broken on purpose, and gpu.sh must say so. With `build`
# gpu.sh also configures and builds them, in a folder of its own, and runs all checks. compute-sanitizer is a stand-in. The
# pictures of the benchmark are tiny; its figures mean nothing.
set -uo pipefail

build=$(cd "$1" && pwd)
mode=${2:-links}
root=$(cd "$(dirname "$0")/../.." && pwd)
dry=$build/tests/ptx/dry_run_$mode
failed=0

fail() { # LINE
  echo "FAILED: $1"
  failed=1
}
expect() { # FILE REGEX
  grep -qE "$2" "$1" || fail "$1 has no line like: $2"
}
# gpu NAME EXIT_STATUS OPTION...: its output is NAME.log, its results NAME.*.
gpu() {
  local name=$1 wanted=$2 status=0
  shift 2
  "$root/tests/gpu.sh" --keep-going --build-dir "$dry" --out "$dry/$name" "$@" > "$dry/$name.log" 2>&1 || status=$?
  cat "$dry/$name.log"
  [ $status = "$wanted" ] || fail "$name: exit status $status of gpu.sh, not $wanted"
}

export LD_LIBRARY_PATH=$build/tests/ptx/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$root/tests/ptx/tools:$PATH
export CJ2K_SOAK_SIZE=32x24 CJ2K_SOAK_FRAMES=64
mkdir -p "$dry"
bench=(-- --smoke --workloads "4k12-250M-none,4k8-lossless,4k8-1.25bpp-ht")
checks=(gpu_simt_ops gpu_kernel_dwt gpu_kernel_ht gpu_kernel_hulls gpu_encode_every_kernel gpu_backend_soak)
if [ "$mode" = links ]; then
  # gpu.sh writes its logs and results into the build folder, so it gets one that is made of links.
  find "$dry" -mindepth 1 -delete
  for entry in CTestTestfile.cmake tests kernels samples; do
    [ ! -e "$build/$entry" ] || ln -s "$build/$entry" "$dry/$entry"
  done
  gpu whole 0 --check --bench --jit --sanitize --budget 280 --tests "$(IFS='|' && echo "^(${checks[*]})\$")" "${bench[@]}"
else
  checks+=(gpu_kernel_decisions gpu_kernel_ingest gpu_kernel_quantize gpu_kernel_slopes gpu_kernel_tier1
    gpu_kernel_tier1_fused gpu_encode gpu_encode_ht gpu_backend gpu_backend_frames gpu_backend_rate)
  gpu whole 0 --all --budget 3000 "${bench[@]}"
fi

expect "$dry/whole.log" '^GPU: PTX interpreter, compute_[0-9]+, compute capability [0-9]+\.[0-9], '
expect "$dry/whole.log" '^gpu\.sh: all passed on PTX interpreter'
steps=$dry/whole.steps.txt
expect "$steps" 'steps of tests/gpu.sh on PTX interpreter'
for step in device-checks bench ptx-jit memcheck-classic memcheck-cibo memcheck-fused memcheck-HT racecheck-classic \
  racecheck-cibo racecheck-HT memcheck-operations racecheck-operations; do
  expect "$steps" "^ +$step +[0-9]+ s  passed$"
done
expect "$steps" '^ +open: [0-9.e-]+ s, the first of the process$'
expect "$steps" '^ +soak: [0-9]+ frames of 32x24, '
for check in "${checks[@]}"; do expect "$steps" "^ +$check: +Passed"; done
expect "$dry/whole.txt" 'PTX interpreter'
[ "$(tail -n +2 "$dry/whole.tsv" | wc -l)" -ge 3 ] || fail "whole.tsv has fewer than three rows"

# A kernel that the device ends: the check fails with the driver's error, and its log is kept.
export CJ2K_PTX_DIR=$root/tests/ptx/broken/outside
gpu outside 1 --check --sanitize --tests '^gpu_simt_ops$'
expect "$dry/outside.log" '^gpu\.sh: something failed on PTX interpreter'
expect "$dry/outside.steps.txt" '^ +device-checks .* FAILED'
expect "$dry/outside.steps.txt" '^ +gpu_simt_ops: \*\*\*Failed'
expect "$dry/outside.steps.txt" '^ +memcheck-operations .* FAILED'
expect "$dry/outside.device-checks.log" 'out-of-bounds access of 4 bytes .* at: st\.global\.u32'

# A kernel that never ends: the check is ended in time, and the others still run.
export CJ2K_PTX_DIR=$root/tests/ptx/broken/endless
gpu endless 1 --check --tests '^gpu_(simt_ops|kernel_hulls)$' --budget 30
expect "$dry/endless.steps.txt" '^ +gpu_simt_ops: \*\*\*Timeout'
expect "$dry/endless.steps.txt" '^ +gpu_kernel_hulls: +Passed'
exit $failed

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# test.sh: tests/gpu.sh without a GPU and without a build: a driver with one device, an nvcc that compiles nothing, a folder of
# programs that only print, and a compute-sanitizer that behaves in several ways.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
for program in gcc ctest cmake pkg-config pgrep; do
  command -v $program > /dev/null || {
    echo "no $program"
    exit 77
  }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { # LINE
  echo "FAILED: $1"
  failed=1
}

mkdir -p "$work"/{lib,cuda/bin} "$work"/build/tests/{bench,device}
gcc -shared -fPIC -o "$work/lib/libcuda.so.1" "$here/driver.c" || exit 1
cat > "$work/cuda/bin/nvcc" << 'END'
#!/bin/sh
case $1 in
  --list-gpu-arch) echo compute_90 ;;
  --version) echo 'Cuda compilation tools, release 13.0, V13.0.88' ;;
esac
END
# What the holder of the device is, while a test runs, and what the environment says.
cat > "$work/build/tests/device/test_device_gpu" << 'END'
#!/bin/sh
pgrep -f -x "$WORK/build/gpu_probe --hold" > "$WORK/holder"
echo "$* jit=${CUDA_FORCE_PTX_JIT:-no} soak=${CJ2K_SOAK_SECONDS:-no}" >> "$WORK/calls"
echo 'backend.cc:30: MESSAGE: open: 1.5 s, the first of the process'
echo 'backend_soak.cc:30: MESSAGE: 640 frames of 4096x2160, GOPs of 8, 32 frames in flight, 6 s'
echo '[doctest] Status: SUCCESS!'
END
cat > "$work/build/tests/bench/gpu_bench" << 'END'
#!/bin/sh
echo "$*" > "$WORK/bench"
END
cat > "$work/build/CTestTestfile.cmake" << END
add_test(gpu_one "$work/build/tests/device/test_device_gpu" "one")
set_tests_properties(gpu_one PROPERTIES LABELS "fast;gpu")
END
chmod +x "$work"/cuda/bin/nvcc "$work"/build/tests/*/*

export WORK=$work FAKE_CONTEXTS=$work/contexts LD_LIBRARY_PATH=$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export CUDA_PATH=$work/cuda
unset CJ2K_DEPS CJ2K_SOAK_SECONDS CJ2K_SOAK_FRAMES CJ2K_FFMPEG NVJPEG2K_ROOT
# gpu EXIT_STATUS OPTION...: its output is gpu.log.
gpu() {
  local wanted=$1 status=0
  shift
  rm -f "$work"/{contexts,holder,calls,bench}
  "$root/tests/gpu.sh" --build-dir "$work/build" "$@" > "$work/gpu.log" 2>&1 || status=$?
  [ $status = "$wanted" ] || {
    cat "$work/gpu.log"
    fail "$*: exit status $status of gpu.sh, not $wanted"
  }
  ! pgrep -f -x "$work/build/gpu_probe --hold" > /dev/null || fail "$*: the device is still held open"
}
expect() { # REGEX [NUMBER_OF_LINES]
  local count
  count=$(grep -cE "$1" "$work/build/results.steps.txt")
  [ "$count" = "${2:-1}" ] || {
    cat "$work/build/results.steps.txt"
    fail "$count steps are like: $1"
  }
}

# No compute-sanitizer at all, if this machine has none.
if ! command -v compute-sanitizer > /dev/null; then
  gpu 0 --sanitize
  expect '^ +sanitize +0 s  skipped: no compute-sanitizer$'
fi

export PATH=$here:$PATH
export FAKE_SANITIZER
FAKE_SANITIZER=works
gpu 0 --sanitize
expect '^ +(mem|race)check-[a-zHT]+ +[0-9]+ s  passed$' 9
[ "$(wc -l < "$work/calls")" = 9 ] || fail "the sanitizer did not run all tests"

# A tool that does not work here is skipped with its own words, and not tried again.
skipped() { # REASON
  gpu 0 --check --sanitize
  expect 'FAILED' 0
  expect "^ +memcheck-classic +[0-9]+ s  skipped: $1"
  expect "^ +racecheck-classic +[0-9]+ s  skipped: $1"
  expect '^ +(mem|race)check-' 2
  expect '^ +gpu_one: +Passed'
  grep -q '^gpu.sh: all passed on fake GPU' "$work/gpu.log" || fail "$FAKE_SANITIZER: not 'all passed'"
}
FAKE_SANITIZER=terminated
skipped 'Error: Target application terminated before first instrumented API call$'
FAKE_SANITIZER=device
skipped 'Error: Device not supported\.'
FAKE_SANITIZER=driver
skipped 'ERROR: The application is using an unsupported driver$'
FAKE_SANITIZER=nothing
skipped 'compute-sanitizer ended without an error, but did not run the tests$'
FAKE_SANITIZER=no_racecheck
gpu 0 --sanitize
expect '^ +memcheck-[a-zHT]+ +[0-9]+ s  passed$' 5
expect '^ +racecheck-.* skipped: Error: Device not supported$'

# What it finds is a failure, also beside such words, and so is a test that fails.
for FAKE_SANITIZER in finds finds_unsupported fails; do
  gpu 1 --sanitize --keep-going
  expect '^ +(mem|race)check-[a-zHT]+ .* FAILED' 9
  expect 'skipped' 0
done

# The device is held open once, during every step, and only where other processes may use it, too.
FAKE_SANITIZER=works
gpu 0 --check
[ "$(cat "$work/contexts" 2> /dev/null)" = retained ] || fail "no context is held open"
[ -s "$work/holder" ] || fail "the device is not held open during a check"
FAKE_COMPUTE_MODE=3 gpu 0 --check
[ ! -e "$work/contexts" ] || fail "a device for one process is held open"

# The options of a first, short look; the soak has a share of the budget.
gpu 0 --check --bench --keep-going --budget 540 -- --gop 8 --tier1 classic,fused
grep -qx -- "--out $work/build/results --deadline [0-9]* --gop 8 --tier1 classic,fused" "$work/bench" ||
  fail "gpu_bench gets other options: $(cat "$work/bench")"
grep -q 'one jit=no soak=[1-9][0-9]*$' "$work/calls" || fail "the soak has no share: $(cat "$work/calls")"
expect '^ +soak: 640 frames of 4096x2160, GOPs of 8, 32 frames in flight, 6 s$'

gpu 0 --jit
expect '^ +ptx-jit +[0-9]+ s  passed$'
expect '^ +open: 1\.5 s, the first of the process$'
grep -q 'how long open takes jit=1' "$work/calls" || fail "not with PTX: $(cat "$work/calls")"

[ $failed = 0 ] && echo "gpu.sh does what it says"
exit $failed

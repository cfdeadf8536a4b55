#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs what is missing and runs the tests:
#
#     tests/run.sh               all but the long tail: tests, sanitizers, fuzzing, the encoder in FFmpeg
#     tests/run.sh --release     all, also what takes long and seldom fails by itself
#     tests/run.sh --fast        the tests labelled fast of the release build, four minutes on two cores
#     tests/run.sh --only NAME   one step (--list), or the CTest tests NAME and NAME_* of the release build; repeatable
#     tests/run.sh --list        names the steps, and the CTest tests where there is a release build
#
# Ends with one line per step, the names of failed and skipped tests with the reasons, and the sum; exit status 1 if any
# failed. Logs and JUnit files are in build/logs.
# Environment: JOBS (default: cores), CJ2K_TEST_MEDIA (folder of test pictures), CJ2K_ALLOW_MISSING_DECODERS=1,
# CJ2K_FUZZ_SECONDS (default 60).
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
jobs=${JOBS:-$(nproc)}
# Debian's, for which install_deps.sh gets pytest: another may come first in PATH.
python=$(command -v /usr/bin/python3 python3 | head -n 1)
logs=$root/build/logs
mkdir -p "$logs"

usage() { sed -n '5,16p' "${BASH_SOURCE[0]}" | cut -c3- >&2; exit 2; }

list() {
  printf '%s\n' 'build         the release build' 'tests         its CTest tests' \
    'harness       the scripts that read results' 'asan          fast tests with AddressSanitizer and UBSan' \
    'tsan          fast tests with ThreadSanitizer' 'fuzz          libFuzzer' \
    'ffmpeg-7.1    the encoder in FFmpeg 7.1; also 5.1, 8.1 and 9.0'
  [ ! -e build/release/CTestTestfile.cmake ] || ctest --test-dir build/release -N | sed -n 's/^ *Test *#[0-9]*: /  /p'
}

mode=normal
only=()
while [ $# -gt 0 ]; do
  case $1 in
    --fast | --release) mode=${1#--} ;;
    --only) only+=("${2:?--only NAME}"); shift ;;
    --list) list; exit 0 ;;
    *) usage ;;
  esac
  shift
done

# --- results ----------------------------------------------------------------------------------------------------------

steps=() # NAME:SECONDS:JUNIT_FILE

# finish STEP START: prints what its JUnit file says; exit status 1 where something failed.
finish() {
  local result=$1:$((SECONDS - $2)):$logs/$1.xml
  steps+=("$result")
  printf '== '
  "$python" -B tests/harness/junit.py summary "$result"
}

# step NAME COMMAND...: one that passes or fails as a whole.
step() {
  local name=$1 start=$SECONDS verdict=(passed)
  shift
  printf '== %s\n' "$name"
  if ! "$@" > "$logs/$name.log" 2>&1; then
    tail -n 40 "$logs/$name.log"
    verdict=(failed "see $logs/$name.log")
  fi
  "$python" -B tests/harness/junit.py write "$logs/$name.xml" "$name" $((SECONDS - start)) "${verdict[@]}"
  finish "$name" "$start"
}

# test_step NAME COMMAND...: one that writes its JUnit file.
test_step() {
  local name=$1 start=$SECONDS
  shift
  printf '== %s\n' "$name"
  rm -f "$logs/$name.xml"
  "$@" 2>&1 | tee "$logs/$name.log"
  finish "$name" "$start"
}

# ctest_step NAME PRESET CTEST_ARGUMENTS...
ctest_step() {
  local name=$1 preset=$2
  shift 2
  # The output of tests that passed says what they skipped.
  test_step "$name" ctest --preset "$preset" -j "$jobs" --output-junit "$logs/$name.xml" \
    --test-output-size-passed 10000000 "$@"
}

# --- steps ------------------------------------------------------------------------------------------------------------

build() { # PRESET CMAKE_ARGUMENTS...
  local preset=$1
  shift
  cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$jobs"
}

is_built=0
release_build() {
  [ $is_built = 1 ] || { step build build release -DCJ2K_WERROR=ON && is_built=1; }
}

sanitizer() { # NAME
  # The fast tests only: they are some ten times slower.
  step "$1-build" build "$1" -DCJ2K_WERROR=ON -DCJ2K_BUILD_SAMPLES=OFF && ctest_step "$1" "$1" -L fast
}

fuzz() {
  local seconds=${CJ2K_FUZZ_SECONDS:-60} corpus=$root/build/fuzz/corpus
  mkdir -p "$corpus" "$logs/fuzz"
  "$root/build/fuzz/tests/fuzz/fuzz_encode" "$corpus" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=4096 \
    -artifact_prefix="$logs/fuzz/" -print_final_stats=1
}

ffmpeg_version() { # VERSION
  local name=ffmpeg-$1 start=$SECONDS status=0
  printf '== %s-build\n' "$name"
  ffmpeg-patch/build.sh "$1" > "$logs/$name-build.log" 2>&1 || status=$?
  case $status in
    0) "$python" -B tests/harness/junit.py write "$logs/$name-build.xml" "$name-build" $((SECONDS - start)) passed ;;
    3) "$python" -B tests/harness/junit.py write "$logs/$name-build.xml" "$name-build" $((SECONDS - start)) skipped \
      "$(tail -n 1 "$logs/$name-build.log")" ;;
    *) tail -n 30 "$logs/$name-build.log"
      "$python" -B tests/harness/junit.py write "$logs/$name-build.xml" "$name-build" $((SECONDS - start)) failed \
        "see $logs/$name-build.log" ;;
  esac
  finish "$name-build" "$start"
  [ $status = 0 ] || return $((status != 3))
  test_step "$name" "$python" -B -m pytest -q -n "$jobs" tests/ffmpeg --ffmpeg "build/$name/ffmpeg" \
    --junitxml "$logs/$name.xml"
}

run_step() { # NAME
  case $1 in
    build) release_build ;;
    harness) test_step harness "$python" -B -m pytest -q tests/harness --junitxml "$logs/harness.xml" ;;
    tests)
      local selection=(-LE long)
      [ "$mode" != release ] || selection=()
      [ "$mode" != fast ] || selection=(-L fast)
      release_build && ctest_step tests release "${selection[@]}" ;;
    asan | tsan) sanitizer "$1" ;;
    fuzz) step fuzz-build build fuzz && step fuzz fuzz ;;
    ffmpeg-5.1 | ffmpeg-7.1 | ffmpeg-8.1 | ffmpeg-9.0) ffmpeg_version "${1#ffmpeg-}" ;;
    *) release_build && ctest_step "$1" release -R "^$1(_|\$)" ;;
  esac
}

names=(build harness tests)
groups=(core test)
if [ "$mode" != fast ]; then names+=(asan tsan fuzz ffmpeg-7.1 ffmpeg-5.1 ffmpeg-9.0 ffmpeg-8.1); fi
if [ ${#only[@]} -gt 0 ]; then names=("${only[@]}"); fi
case " ${names[*]}" in *" ffmpeg-"*) groups=(all) ;; esac
scripts/install_deps.sh "${groups[@]}" || exit 1

for name in "${names[@]}"; do run_step "$name"; done

printf '\n'
"$python" -B tests/harness/junit.py summary "${steps[@]}"
status=$?
printf '%d s\n' "$SECONDS"
exit $status

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs what is missing and runs all tests:
#
#     tests/run.sh           everything: all tests, sanitizers, fuzzing, the encoder in FFmpeg 5.1, 7.1, 8.1 and 9.0
#     tests/run.sh --fast    the tests labelled fast of the release build, four minutes on two cores
#
# Ends with one line per step and the sum of passed, failed and skipped tests; exit status 1 if any failed.
# Environment: JOBS (default: cores), CJ2K_TEST_MEDIA (folder of test pictures), CJ2K_ALLOW_MISSING_DECODERS=1,
# CJ2K_FUZZ_SECONDS (default 60).
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
jobs=${JOBS:-$(nproc)}
fast=0
case ${1:-} in
  "") ;;
  --fast) fast=1 ;;
  *) sed -n '5,11p' "${BASH_SOURCE[0]}" | cut -c3- >&2; exit 2 ;;
esac

logs=$root/build/logs
mkdir -p "$logs"
passed=0 failed=0 skipped=0
summary=()

# --- counting ---------------------------------------------------------------------------------------------------------

# report STEP SECONDS PASSED FAILED SKIPPED
report() {
  passed=$((passed + $3)) failed=$((failed + $4)) skipped=$((skipped + $5))
  local line
  line=$(printf '%-28s %5d s  %4d passed  %3d failed  %3d skipped' "$@")
  summary+=("$line")
  printf '== %s\n' "$line"
}

# A step that passes or fails as a whole: step NAME COMMAND...
step() {
  local name=$1 start=$SECONDS
  shift
  printf '== %s\n' "$name"
  if "$@" > "$logs/$name.log" 2>&1; then
    report "$name" $((SECONDS - start)) 1 0 0
    return 0
  fi
  tail -n 40 "$logs/$name.log"
  report "$name" $((SECONDS - start)) 0 1 0
  return 1
}

# ctest_step NAME PRESET CTEST_ARGUMENTS...: one test each; cases that say SKIPPED are counted on top.
ctest_step() {
  local name=$1 preset=$2 start=$SECONDS good bad cases
  shift 2
  printf '== %s\n' "$name"
  ctest --preset "$preset" -j "$jobs" "$@" 2>&1 | tee "$logs/$name.log" |
    grep -E '^ *[0-9]+/[0-9]+ |^TEST CASE|ERROR:|^  values:|^  logged:|tests passed' || true
  local last=$root/build/$preset/Testing/Temporary/LastTest.log
  good=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#.* Passed ' "$logs/$name.log")
  bad=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#.*(\*\*\*Failed|\*\*\*Timeout|\*\*\*Not Run|\*\*\*Exception)' "$logs/$name.log")
  cases=$(grep -cE '\*\*\*Skipped' "$logs/$name.log")
  if [ -e "$last" ]; then
    cp "$last" "$logs/$name.full.log"
    cases=$((cases + $(grep -c '^SKIPPED:' "$last")))
    grep '^SKIPPED:' "$last" | sort | uniq -c
  fi
  [ $((good + bad)) -gt 0 ] || bad=1 # nothing ran: that is no success
  report "$name" $((SECONDS - start)) "$good" "$bad" "$cases"
}

build() { # PRESET CMAKE_ARGUMENTS...
  local preset=$1
  shift
  cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$jobs"
}

# --- steps ------------------------------------------------------------------------------------------------------------

groups=(core test)
[ $fast = 1 ] || groups=(all)
scripts/install_deps.sh "${groups[@]}" || exit 1

if step build build release -DCJ2K_WERROR=ON; then
  if [ $fast = 1 ]; then
    ctest_step fast release -L fast
  else
    ctest_step tests release
  fi
fi

sanitizer() { # NAME CTEST_ARGUMENTS...
  local name=$1
  shift
  if step "$name-build" build "$name" -DCJ2K_WERROR=ON -DCJ2K_BUILD_SAMPLES=OFF; then ctest_step "$name" "$name" "$@"; fi
}

fuzz() {
  local seconds=${CJ2K_FUZZ_SECONDS:-60} corpus=$root/build/fuzz/corpus
  mkdir -p "$corpus" "$logs/fuzz"
  "$root/build/fuzz/tests/fuzz/fuzz_encode" "$corpus" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=4096 \
    -artifact_prefix="$logs/fuzz/" -print_final_stats=1
}

ffmpeg_version() { # VERSION
  local version=$1 name=ffmpeg-$1 start=$SECONDS status=0 counts
  local arguments=(--ffmpeg "build/$name/ffmpeg")
  [ -z "${CJ2K_TEST_MEDIA:-}" ] || arguments+=(--media "$CJ2K_TEST_MEDIA")
  printf '== %s\n' "$name"
  ffmpeg-patch/build.sh "$version" > "$logs/$name-build.log" 2>&1 || status=$?
  tail -n 1 "$logs/$name-build.log"
  if [ $status = 3 ]; then
    report "$name" $((SECONDS - start)) 0 0 1
    return
  elif [ $status != 0 ]; then
    tail -n 30 "$logs/$name-build.log"
    report "$name" $((SECONDS - start)) 0 1 0
    return
  fi
  python3 tests/ffmpeg/run.py "${arguments[@]}" > "$logs/$name.log" 2>&1 || status=$?
  grep -E '^(failed|skipped)' "$logs/$name.log"
  counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$logs/$name.log" | tail -n 1)
  if [ -z "$counts" ]; then
    tail -n 20 "$logs/$name.log"
    counts="0 1 0"
  fi
  # shellcheck disable=SC2086 # three numbers
  report "$name" $((SECONDS - start)) $counts
}

if [ $fast = 0 ]; then
  # The sanitizers take the fast tests only: they are some ten times slower.
  sanitizer asan -L fast
  sanitizer tsan -L fast
  if step fuzz-build build fuzz; then step fuzz fuzz; fi
  for version in 7.1 8.1 5.1 9.0; do ffmpeg_version "$version"; done
fi

printf '\n'
printf '%s\n' "${summary[@]}"
printf '%d s\n' "$SECONDS"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]

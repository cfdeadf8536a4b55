#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs what is missing and runs the tests:
#
#     tests/run.sh               tests, sanitizers, fuzzing, the encoder in FFmpeg 5.1, 7.1 and 9.0, the service, the
#                                Docker image, several machines, the command line tool, the Python package, 64-bit ARM by
#                                qemu, Windows by wine, the documentation as a site
#     tests/run.sh --release     the same and more: tests labelled long, sanitizers with the code that uses the
#                                CUDA driver, ThreadSanitizer with all fast tests, more tests on ARM and Windows, FFmpeg
#                                8.1 too, every FFmpeg as a user builds it, not only 7.1, and the image as a user builds
#                                it, twice; quickstart on a machine with a made-up NVIDIA driver; quickstart, and these
#                                tests, on a fresh Debian 12
#     tests/run.sh --fast        the tests labelled fast of the release build, four minutes on two cores
#     tests/run.sh --only NAME   one step (--list), or the CTest tests NAME and NAME_* of the release build; repeatable
#     tests/run.sh --list        prints the steps, and the CTest tests if there is a release build
#
# Ends with one line per step, the names of failed and skipped tests with the reasons, and the sum; exit status 1 if any
# failed. Logs and JUnit files are in build/logs.
#
# Environment: JOBS (default: cores), CJ2K_TEST_MEDIA (folder of test pictures), CJ2K_ALLOW_MISSING_DECODERS=1,
# CJ2K_FUZZ_SECONDS (default 60), CJ2K_FULL_SIZE (frames of 2K and of 4K that --release holds against the caps of cinema;
# default 12 and 6; 2000 take 24 minutes of a core), CJ2K_FRESH_STEPS (the tests that --release runs on a fresh Debian 12, as
# names for --only; default: all that run without --release).
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
jobs=${JOBS:-$(nproc)}
readonly kSkipped=75 # exit status of a step that cannot run here; the last line of its log gives the reason
logs=$root/build/logs
mkdir -p "$logs"

usage() { sed -n '5,25p' "${BASH_SOURCE[0]}" | cut -c3- >&2; exit 2; }

list() {
  printf '%s\n' 'build         the release build' 'tests         its CTest tests' \
    'harness       the scripts that read results' 'asan          fast tests with AddressSanitizer and UBSan' \
    'tsan          tests with several threads, with ThreadSanitizer' 'fuzz          libFuzzer' \
    'ffmpeg-7.1    the encoder in FFmpeg 7.1; also 5.1, 8.1 and 9.0' \
    'site          the documentation as a site: links, anchors, pictures' \
    'service       samples/service with FFmpeg 7.1 and a Redis server of its own' \
    'image         the Docker image, by buildah and podman' \
    'cluster       samples/cluster with FFmpeg 7.1 and a Slurm of four nodes of its own' \
    'aarch64       golden bytes and SIMD on 64-bit ARM, by qemu' \
    'windows       golden bytes, SIMD and cj2k on x86-64 Windows, by wine; --release also units, API and ffmpeg.exe' \
    'python        the Python package, with frames in device memory too, and wheel; --release also the one for ARM, and pip' \
    'portable      a cj2k for any Linux; the oldest CMake and GCC; GCC 13, 14 and clang 19; compiled for macOS; with --release' \
    'fresh         samples/quickstart.sh and tests/run.sh, each on a fresh Debian 12 in a chroot; with --release'
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

steps=() # NAME:SECONDS:EXIT_STATUS:JUNIT_FILE
failed_logs=() # of steps that fail as a whole

# finish STEP START EXIT_STATUS: prints the results of its JUnit file. Exit status 1 if something failed.
finish() {
  local result=$1:$((SECONDS - $2)):$3:$logs/$1.xml
  steps+=("$result")
  printf '== '
  "$python" -B tests/harness/junit.py summary "$result"
}

# step NAME COMMAND...: runs a step that passes or fails as a whole.
step() {
  local name=$1 start=$SECONDS status=0
  shift
  printf '== %s\n' "$name"
  "$@" > "$logs/$name.log" 2>&1 || status=$?
  whole_step "$name" "$start" $status
}

# whole_step NAME START EXIT_STATUS: records a step that is one test. Its output is in its log.
whole_step() {
  local name=$1 verdict=(passed)
  if [ "$3" = $kSkipped ]; then
    verdict=(skipped "$(tail -n 1 "$logs/$name.log")")
  elif [ "$3" != 0 ]; then
    tail -n 40 "$logs/$name.log"
    verdict=(failed "see $logs/$name.log")
    failed_logs+=("$logs/$name.log")
  fi
  "$python" -B tests/harness/junit.py write "$logs/$name.xml" "$name" $((SECONDS - $2)) "${verdict[@]}"
  finish "$name" "$2" 0 && [ "$3" = 0 ]
}

# test_step NAME COMMAND...: runs a step that writes its own JUnit file.
test_step() {
  local name=$1 start=$SECONDS
  shift
  printf '== %s\n' "$name"
  rm -f "$logs/$name.xml"
  "$@" 2>&1 | tee "$logs/$name.log"
  finish "$name" "$start" "${PIPESTATUS[0]}"
}

# ctest_step NAME PRESET CTEST_ARGUMENTS...
ctest_step() {
  local name=$1 preset=$2
  shift 2
  # Tests that passed name in their output what they skipped.
  test_step "$name" ctest --preset "$preset" -j "$jobs" --output-junit "$logs/$name.xml" \
    --test-output-size-passed 10000000 "$@"
}

# --- steps ------------------------------------------------------------------------------------------------------------

build() { # PRESET CMAKE_ARGUMENTS...
  local preset=$1
  shift
  cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$jobs" ${targets:+--target $targets}
}

release_status= # empty: not built by this run
release_build() {
  if [ -z "$release_status" ]; then
    # AUTO would leave out tests where something is missing
    step build build release -DCJ2K_WERROR=ON -DCJ2K_BUILD_TESTS=ON -DCJ2K_TOOLS=ON \
      "-DCJ2K_CUDA_ARCHITECTURES=75-virtual;90" # what the tests look at
    release_status=$?
  fi
  return $release_status
}

sanitizer() { # NAME LABEL [TARGETS]: of the build, by default all
  # Only the tests with that label: sanitizers make them about ten times slower. What nvcc builds is the same as in the
  # release build; building it here would add only the search for a driver.
  local cuda=OFF targets=${3:-} without=()
  case $1 in # tests of minutes
    # The shim checks the memory of kernels by itself.
    asan) without=(-E '^device_(encode_(ht|rdoq)|kernel_(packets|tier1|tier1_fused))$') ;;
    # Others run the same threads.
    tsan) without=(-E '^roundtrip_(kept_steps|profiles|target_psnr|transcode)$') ;;
  esac
  [ "$mode" != release ] || { cuda=AUTO without=(); }
  step "$1-build" build "$1" -DCJ2K_WERROR=ON -DCJ2K_BUILD_TESTS=ON -DCJ2K_BUILD_SAMPLES=OFF -DCJ2K_SLOW_TESTS=OFF \
    -DCJ2K_TOOLS=OFF -DCJ2K_CUDA=$cuda &&
    ctest_step "$1" "$1" -L "$2" "${without[@]}"
}

# run_fuzzers SECONDS NAME...: one after the other, each with a corpus of its own.
run_fuzzers() {
  local seconds=$1 name corpus
  shift
  for name in "$@"; do
    corpus=$root/build/fuzz/corpus-$name
    mkdir "$corpus"
    "$root/build/fuzz/tests/fuzz/fuzz_$name" "$corpus" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=4096 \
      -max_len=20000 -artifact_prefix="$logs/fuzz/$name-" -print_final_stats=1 || return 1
  done
}

fuzz() {
  local seconds=${CJ2K_FUZZ_SECONDS:-60} encode status=0
  rm -rf "$root/build/fuzz/corpus-"* # only an empty folder gets the seeds of this source
  mkdir -p "$logs/fuzz"
  run_fuzzers "$seconds" encode > "$logs/fuzz/encode.log" 2>&1 &
  encode=$!
  run_fuzzers $((seconds / 3)) check decode transcode || status=1
  wait $encode || status=1
  cat "$logs/fuzz/encode.log"
  return $status
}

declare -A ffmpeg_built=() # by this run, as VERSION PARTS
ffmpeg_build() { # VERSION PARTS
  [ -z "${ffmpeg_built[$*]:-}" ] || return 0
  local settings=("CJ2K_FFMPEG_PARTS=$2")
  # Uses the library of the release build if this run has built it.
  if [ "$release_status" = 0 ]; then
    cmake --install build/release --prefix build/release/prefix || return 1
    settings+=("CJ2K_PREFIX=$root/build/release/prefix")
  fi
  local status=0
  env "${settings[@]}" ffmpeg-patch/build.sh "$1" || status=$?
  if [ "$status" = 3 ]; then status=$kSkipped; fi # no suite has this version
  [ "$status" != 0 ] || ffmpeg_built[$*]=1
  return "$status"
}

ffmpeg_version() { # VERSION
  local name=ffmpeg-$1 parts=tests long=()
  if [ "$1" = 7.1 ] || [ "$mode" = release ]; then parts=all; fi
  [ "$mode" != release ] || [ "$1" != 8.1 ] || long=(--release) # with one version, of those with the MXF patch
  step "$name-build" ffmpeg_build "$1" $parts || return
  test_step "$name" "$python" -B -m pytest -q -n "$jobs" tests/ffmpeg "${long[@]}" --ffmpeg "build/$name/ffmpeg" \
    --junitxml "$logs/$name.xml"
}

service() {
  step service-build ffmpeg_build 7.1 all || return
  test_step service "$python" -B -m pytest -q -n "$jobs" tests/service --ffmpeg build/ffmpeg-7.1/ffmpeg \
    --junitxml "$logs/service.xml"
}

site() {
  step site-build scripts/build_site.sh || return
  test_step site "$python" -B -m pytest -q tests/site --junitxml "$logs/site.xml"
}

image() {
  local full=()
  [ "$mode" != release ] || full=(--full)
  step image-build tests/image/build.sh "${full[@]}" || return
  test_step image "$python" -B -m pytest -q tests/image "${full[@]}" --junitxml "$logs/image.xml"
}

cluster() {
  # The schemas of Kubernetes; without them a test of its file is skipped.
  [ -d build/python/kubernetes_validate ] ||
    "$python" -m pip install -q --root-user-action=ignore --target build/python kubernetes-validate==1.37.0 \
      > "$logs/cluster-pip.log" 2>&1 || true
  step cluster-build ffmpeg_build 7.1 all || return
  PYTHONPATH=build/python test_step cluster "$python" -B -m pytest -q -n "$jobs" --dist loadgroup tests/cluster \
    --ffmpeg build/ffmpeg-7.1/ffmpeg --junitxml "$logs/cluster.xml"
}

python_build() {
  cmake --preset release -DCJ2K_WERROR=ON -DCJ2K_BUILD_PYTHON=ON -DPython_EXECUTABLE="$python" &&
    cmake --build --preset release -j "$jobs" --target cj2k_python cj2k_python_shim
}

# Installs the package as a user does, in an environment of its own.
python_pip() {
  local environment=build/python-venv
  rm -rf "$environment"
  "$python" -m venv --system-site-packages "$environment" || return 1
  "$environment/bin/pip" download -q --no-deps -d build/pip-probe scikit-build-core || {
    echo "no scikit-build-core from PyPI, which pip install . needs"
    return $kSkipped
  }
  "$environment/bin/pip" install --config-settings=cmake.define.CJ2K_CUDA=OFF . &&
    (cd build && "../$environment/bin/python" -B -m pytest -q -p no:cacheprovider ../python/tests)
}

python_package() {
  step python-build python_build || return
  [ -x build/mypy/bin/mypy ] || { "$python" -m venv build/mypy && build/mypy/bin/pip install -q mypy==2.4.1; } \
    > "$logs/python-mypy.log" 2>&1 || true
  PATH=$PATH:$root/build/mypy/bin PYTHONPATH=$root/build/release/python test_step python "$python" -B -m pytest -q python/tests \
    --junitxml "$logs/python.xml"
  PYTHONPATH=$root/build/release/python/shim test_step python-device "$python" -B -m pytest -q \
    python/tests/test_device.py --junitxml "$logs/python-device.xml"
  local fresh=()
  [ "$mode" != release ] || fresh=(--fresh)
  step python-wheel scripts/wheels.sh --library build/release "${fresh[@]}" "$python"
  if [ "$mode" = release ]; then
    step python-wheel-aarch64 scripts/wheels.sh --aarch64 "$python"
    step python-pip python_pip
  fi
}

aarch64() {
  local targets=(test_golden test_simd) tests='golden|simd'
  if [ "$mode" = release ]; then
    targets+=(test_unit test_api test_device)
    tests+='|unit|api|device_(kernel|encode)_.*'
  fi
  step aarch64-build tests/aarch64/build.sh "${targets[@]}" || return
  test_step aarch64 ctest --test-dir build/aarch64 -j "$jobs" -LE long -R "^($tests)\$" --timeout 1200 \
    --output-junit "$logs/aarch64.xml"
}

windows_ffmpeg() {
  step windows-ffmpeg-build ffmpeg_build 7.1 all && step windows-ffmpeg-exe ffmpeg-patch/build.sh --windows || return
  test_step windows-ffmpeg "$python" -B -m pytest -q -n "$jobs" tests/ffmpeg/test_windows.py --ffmpeg build/ffmpeg-7.1/ffmpeg \
    --windows build/windows/ffmpeg-7.1/ffmpeg --junitxml "$logs/windows-ffmpeg.xml"
}

windows() {
  local targets=(test_golden test_simd test_dll cj2k_tool cj2k_check) tests='golden|simd|dll'
  if [ "$mode" = release ]; then
    targets+=(test_unit test_api)
    tests+='|unit|api'
  fi
  step windows-build scripts/build_windows.sh "${targets[@]}" || return
  # A server that stays: else it ends with each program, which takes a second, and fails the one that starts meanwhile.
  # It does not start while another runs, as the build's does for seconds: -k ends that, -w waits for its end.
  local server=(env "WINEPREFIX=$root/build/windows/wine" /usr/lib/wine/wineserver64)
  "${server[@]}" -k || true
  "${server[@]}" -w
  step windows-server "${server[@]}" -p || return
  # The first program starts the services of wine, which keep its output open: a test would wait for them.
  build/windows/cj2k --version
  test_step windows ctest --test-dir build/windows -j "$jobs" -R "^($tests)\$" --timeout 600 \
    --output-junit "$logs/windows.xml"
  local files=(tests/tools/test_{cj2k,film,info,inputs,metadata}.py) # the others take minutes
  [ "$mode" != release ] || files=(tests/tools)
  test_step windows-tool "$python" -B -m pytest -q -n "$jobs" "${files[@]}" --wine --cj2k build/windows/cj2k \
    --junitxml "$logs/windows-tool.xml"
  [ "$mode" != release ] || windows_ffmpeg
  "${server[@]}" -k
}

# Without the C library of Debian, with the oldest compiler, and what of other systems can be compiled here.
portable() {
  local target=x86_64-linux-musl alone=$root/build/alone
  step musl-build scripts/build_zig.sh "$target" test_golden test_simd test_unit cj2k_tool cj2k_check || return
  test_step musl ctest --test-dir "build/$target" -j "$jobs" -R '^(golden|simd|unit)$' --timeout 600 --output-junit "$logs/musl.xml"
  test_step musl-tool "$python" -B -m pytest -q -n "$jobs" tests/tools --cj2k "build/$target/tools/cj2k/cj2k" \
    --junitxml "$logs/musl-tool.xml"
  mkdir -p "$alone" && cp "build/$target/tools/cj2k/cj2k" "$alone" && step musl-alone chroot "$alone" /cj2k --version
  step oldest tests/package/oldest_test.sh
  CJ2K_FRESH_SUITE=trixie step newest tests/fresh/run.sh newest tests/package/newest_test.sh
  step macos-build scripts/build_zig.sh aarch64-macos cj2k cj2k_other cj2k_check test_golden test_simd test_unit
}

# What is installed is only what a command of the README installs by itself.
fresh() {
  local name steps=()
  for name in ${CJ2K_FRESH_STEPS:-}; do steps+=(--only "$name"); done
  step fresh-quickstart tests/fresh/run.sh fresh-quickstart samples/quickstart.sh
  step fresh-tests tests/fresh/run.sh fresh-tests tests/run.sh "${steps[@]}"
}

# beside NAME...: starts steps, one after the other, that mostly wait: for other processes, downloads, disks. They take
# the FFmpeg that is built by then. `join` waits for them and takes over their results.
beside() {
  rm -f "$logs/beside.steps"
  set -m # it gets a process group of its own, which ends with this run
  (
    set +m
    steps=() failed_logs=()
    for name in "$@"; do run_step "$name"; done
    printf '%s\n' "${failed_logs[@]}" > "$logs/beside.failed"
    printf '%s\n' "${steps[@]}" > "$logs/beside.steps"
  ) < /dev/null > "$logs/beside.log" 2>&1 &
  beside_group=$!
  trap 'kill -- "-$beside_group" 2> /dev/null' EXIT
  set +m
}

join() {
  local more=() start=$SECONDS
  wait
  trap - EXIT
  [ -e "$logs/beside.steps" ] || { whole_step beside "$start" 1; return; } # it was killed
  cat "$logs/beside.log"
  mapfile -t more < "$logs/beside.steps" && steps+=("${more[@]}")
  mapfile -t more < "$logs/beside.failed"
  for name in "${more[@]}"; do [ -z "$name" ] || failed_logs+=("$name"); done
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
    asan) sanitizer asan fast ;;
    tsan) if [ "$mode" = release ]; then sanitizer tsan fast; else
      sanitizer tsan threads "test_unit_threads test_api test_roundtrip"; fi ;;
    image) image ;;
    fuzz) step fuzz-build build fuzz && step fuzz fuzz ;;
    ffmpeg-5.1 | ffmpeg-7.1 | ffmpeg-8.1 | ffmpeg-9.0) ffmpeg_version "${1#ffmpeg-}" ;;
    service) service ;;
    site) site ;;
    cluster) cluster ;;
    aarch64) aarch64 ;;
    windows) windows ;;
    python) python_package ;;
    portable) portable ;;
    fresh) fresh ;;
    beside) beside service cluster image ;;
    join) join ;;
    *) release_build && ctest_step "$1" release -R "^$1(_|\$)" ;;
  esac
}

names=(build harness tests)
groups=(core test)
if [ "$mode" != fast ]; then names+=(python aarch64 windows asan tsan fuzz site ffmpeg-7.1 beside ffmpeg-5.1 ffmpeg-9.0); fi
if [ "$mode" = release ]; then names+=(ffmpeg-8.1 portable fresh); fi # the image has 8.1, too
if [ "$mode" != fast ]; then names+=(join); fi
if [ ${#only[@]} -gt 0 ]; then names=("${only[@]}"); fi
case " ${names[*]}" in
  *" ffmpeg-"* | *" service"* | *" cluster"*) groups=(all) ;;
  *" image"*) groups+=(image) ;;
esac
if [[ " ${names[*]}" == *" ffmpeg-"* && -e ${CJ2K_READERS:-../shared/readers}/photon ]]; then groups+=(readers); fi
case " ${names[*]} " in *" portable "*) groups+=(portable fresh) ;; esac
case " ${names[*]} " in *" site "*) groups+=(site) ;; esac
case " ${names[*]} " in *" aarch64 "*) groups+=(aarch64) ;; esac
case " ${names[*]} " in *" windows "*) groups+=(windows) ;; esac
case " ${names[*]} " in *" python "*) groups+=(python) ;; esac
case " ${names[*]} " in *" fresh "*) groups+=(fresh) ;; esac
case "$mode ${names[*]} " in
  release* | *" package "* | *" package_deb "*) groups+=(packages) ;;
esac
scripts/install_deps.sh "${groups[@]}" || exit 1
# Debian's Python, for which install_deps.sh has installed pytest. Another one may come first in PATH.
python=$(command -v /usr/bin/python3 python3 | head -n 1)

for name in "${names[@]}"; do run_step "$name"; done

printf '\n'
"$python" -B tests/harness/junit.py summary "${steps[@]}"
status=$?
# Once more: what was printed when the step ended may be far above, or gone.
if [ ${#failed_logs[@]} -gt 0 ]; then tail -n 20 "${failed_logs[@]}"; fi
printf '%d s\n' "$SECONDS"
exit $status

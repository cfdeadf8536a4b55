#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# For a machine with an NVIDIA GPU, which may be offline. Builds for that GPU, runs every check on it against the CPU's
# bytes, then the benchmark, then compute-sanitizer, and prints one table.
#
#     tests/gpu.sh [--build] [--check] [--bench] [--jit] [--sanitize]    these phases; default: --build --check --bench
#         --jit             one check with the kernels' PTX instead of their machine code, and how long open takes then
#         --all             all five
#         --keep-going      continues after a failed check; the exit status is still 1
#         --budget SECONDS  ends within this time: every step gets a share of the time left, and is ended if it takes
#                           more; the list of steps says what was cut short or left out
#         --tests REGEX     only the checks whose CTest name matches
#         --out PREFIX      PREFIX.txt (the table), PREFIX.tsv, PREFIX.steps.txt, and PREFIX.STEP.log for each step that
#                           failed; default BUILD/results
#         --build-dir DIR   default build/gpu
#         -- OPTION...      options of gpu_bench, e.g. -- --full --picture in.ppm
#
# One call for a machine that is lent for ten minutes: tests/gpu.sh --all --keep-going --budget 540. Each phase can be run
# again by itself. A first, short look: tests/gpu.sh --build --check --bench --keep-going --budget 540 -- --gop 8 --tier1
# classic,fused. Needs an NVIDIA driver, nvcc, g++ and CMake; anything else that is missing comes from CJ2K_DEPS, a folder
# that scripts/gpu_packages.sh makes.
#
# Environment: CJ2K_DEPS, CUDA_PATH (default: nvcc's folder, or /usr/local/cuda), NVJPEG2K_ROOT (default: in CJ2K_DEPS),
# CJ2K_FFMPEG (an ffmpeg with j2k_cuda, to time whole commands), JOBS (default: cores), CJ2K_SOAK_SECONDS and
# CJ2K_SOAK_FRAMES (how long the check gpu_backend_soak encodes).
#
# Exit status: 0 all passed; 1 something failed; 77 there is no CUDA device.
# Without a device the same is built for CJ2K_GPU_ARCH (default 90), and the kernels' tests run on the host instead. If
# they pass, the exit status is 77.
# shellcheck disable=SC2317,SC2016 # functions and text for bash -c, under timeout
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/gpu
out=
phases=
keep_going=0
budget=0
tests=.
bench_options=()
while [ $# -gt 0 ]; do
  case $1 in
    --build | --check | --sanitize | --bench | --jit) phases+=" ${1#--} " ;;
    --all) phases=" build check bench jit sanitize " ;;
    --keep-going) keep_going=1 ;;
    --budget) budget=${2:?--budget SECONDS}; shift ;;
    --tests) tests=${2:?--tests REGEX}; shift ;;
    --out) out=${2:?--out PREFIX}; shift ;;
    --build-dir) mkdir -p "${2:?--build-dir DIR}" && build=$(cd "$2" && pwd); shift ;;
    --) shift; bench_options=("$@"); break ;;
    *) sed -n '5,31p' "${BASH_SOURCE[0]}" | cut -c3- >&2; exit 2 ;;
  esac
  shift
done
phases=${phases:-" build check bench "}
out=${out:-$build/results}
jobs=${JOBS:-$(nproc)}
mkdir -p "$build/logs" "$(dirname "$out")" || exit 1

# --- tools ------------------------------------------------------------------------------------------------------------

# Programs of CJ2K_DEPS find their libraries through a wrapper. A global LD_LIBRARY_PATH would give the machine's own
# programs older libraries than they need. The caller's LD_LIBRARY_PATH comes first: it may name the driver's folder, and
# the tests that ctest starts look for the driver.
wrap() { # PROGRAM
  printf '#!/bin/sh\nLD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}%s exec %s "$@"\n' "$multiarch" "$1"
}
tools=$build/tools
rm -rf "$tools"
mkdir -p "$tools"
if [ -n "${CJ2K_DEPS:-}" ]; then
  CJ2K_DEPS=$(cd "$CJ2K_DEPS" && pwd) || exit 1
  multiarch=$CJ2K_DEPS/usr/lib/$(uname -m)-linux-gnu
  for program in "$CJ2K_DEPS"/usr/bin/{opj_decompress,cmake,ctest,ninja}; do
    name=${program##*/}
    if [ ! -e "$program" ]; then continue; fi
    if command -v "$name" > /dev/null; then continue; fi # the machine has its own
    wrap "$program" > "$tools/$name"
    chmod +x "$tools/$name"
  done
  # pkg-config sees only the folder's packages, with their paths below the folder.
  packages=$multiarch/pkgconfig:$CJ2K_DEPS/usr/share/pkgconfig
  wrap "$CJ2K_DEPS/usr/bin/pkgconf" |
    sed "1a export PKG_CONFIG_SYSROOT_DIR=$CJ2K_DEPS PKG_CONFIG_LIBDIR=$packages" > "$tools/pkg-config"
  chmod +x "$tools/pkg-config"
  export PKG_CONFIG=$tools/pkg-config
fi
export PATH=$tools:$PATH

nvcc=$(PATH=${CUDA_PATH:+$CUDA_PATH/bin:}$PATH:/usr/local/cuda/bin command -v nvcc)
if [ -z "$nvcc" ]; then
  echo "gpu.sh: no nvcc (CUDA_PATH names the toolkit)"
  exit 1
fi
cuda=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)
for program in g++ cmake ctest pkg-config; do
  command -v $program > /dev/null || {
    echo "gpu.sh: no $program on this machine; scripts/gpu_packages.sh [--cmake] collects what is missing (CJ2K_DEPS)"
    exit 1
  }
done
if [ -z "${NVJPEG2K_ROOT:-}" ] && [ -n "${CJ2K_DEPS:-}" ]; then
  major=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
  [ ! -d "$CJ2K_DEPS/nvjpeg2k-cu$major" ] || NVJPEG2K_ROOT=$CJ2K_DEPS/nvjpeg2k-cu$major/nvidia/nvjpeg2k
fi
[ -z "${NVJPEG2K_ROOT:-}" ] || export NVJPEG2K_ROOT

# --- counting ---------------------------------------------------------------------------------------------------------

summary=()
failed=0
cut_short=0
readonly grace=5 # seconds from the first signal to the last, and again to write the results
left() { # seconds
  if [ "$budget" = 0 ]; then echo 86400; else echo $((budget - 2 * grace - SECONDS)); fi
}

# share PERCENT PHASE...: this part of the time left, or all of it if none of these phases is selected.
share() {
  local percent=$1 phase
  shift
  for phase in "$@"; do
    if [[ $phases == *" $phase "* ]]; then
      echo $(($(left) * percent / 100))
      return
    fi
  done
  left
}

# step NAME SECONDS SECONDS_AT_LEAST COMMAND...: runs the command for this time at most, keeps its output in a log, and
# shows the last lines if it failed. Exit status 77 of the command: skipped. 75: left out, 124: cut short.
step() {
  local name=$1 limit=$2 least=$3 start=$SECONDS status=0 verdict=passed
  shift 3
  rm -f "$out.$name.log"
  if [ "$limit" -lt "$least" ]; then
    verdict="left out: its share of the $budget s would be $((limit > 0 ? limit : 0)) s"
    status=75
    cut_short=1
  else
    printf '== %s\n' "$name"
    timeout --kill-after=$grace "$limit" "$@" > "$build/logs/$name.log" 2>&1 < /dev/null || status=$?
    [ $status != 137 ] || status=124
    case $status in
      0) ;;
      77) verdict="skipped: $(tail -n 1 "$build/logs/$name.log")" ;;
      124) verdict="CUT SHORT: its share was $limit s"; cut_short=1 ;;
      *) verdict="FAILED ($status)" ;;
    esac
    # A sanitizer that is cut short has failed if it had found something.
    if [ $status = 124 ] && { ! [[ $name =~ ^(mem|race)check- ]] || sanitizer_found "$build/logs/$name.log"; }; then
      verdict="FAILED, $verdict"
    fi
    if [[ $verdict == FAILED* ]]; then
      failed=1
      tail -n 40 "$build/logs/$name.log"
      cp "$build/logs/$name.log" "$out.$name.log"
      verdict+=", see $out.$name.log"
    fi
  fi
  note "$(printf '%-28s %5d s  %s' "$name" $((SECONDS - start)) "$verdict")"
  return "$status"
}
note() { # LINE
  summary+=("$1")
  printf '== %s\n' "$1"
}
# What compute-sanitizer says where it does not know the device or the driver, or may not attach.
readonly unsupported='Target application terminated before first instrumented API call|[Dd]evice (is )?not supported|[Uu]nsupported (device|driver|GPU|CUDA)|using an unsupported|[Dd]river version is insufficient|Insufficient driver|does not have permission|Unable to find injection library|Internal Sanitizer Error|No attachable process found'
sanitizer_found() { # LOG: findings other than the end of the program by a signal
  grep -E '^=+ +(Invalid|Misaligned|Error|Warning: Race|Program hit|.* hazard)|ERROR: ' "$1" |
    grep -qvE "didn't terminate|0 errors|0 hazards|SIGTERM"
}

# The device stays open in a process of its own during all steps.
holder=
clips=
clean_up() {
  if [ -n "$holder" ]; then
    kill "$holder" 2> /dev/null
    wait "$holder" 2> /dev/null # until the device is closed
  fi
  [ -z "$clips" ] || rm -rf "$clips"
}
trap clean_up EXIT

finish() { # STATUS LINE
  {
    printf 'steps of tests/gpu.sh on %s\n' "${name:-a machine without a GPU}"
    [ ${#summary[@]} = 0 ] || printf '  %s\n' "${summary[@]}"
    printf '  %d s in all\n' "$SECONDS"
    [ $cut_short = 0 ] || echo "  the budget of $budget s cut something short or left it out"
  } > "$out.steps.txt"
  printf '\n'
  if [ -n "${benched:-}" ] && [ -f "$out.txt" ]; then
    { printf '\n' && cat "$out.steps.txt"; } >> "$out.txt"
    cat "$out.txt"
    echo "table: $out.txt, $out.tsv"
  else
    cat "$out.steps.txt"
  fi
  echo "gpu.sh: $2"
  exit "$1"
}

# --- build ------------------------------------------------------------------------------------------------------------

# The probe is compiled each time, because it is the only source of facts about the GPU.
gcc -O1 -o "$build/gpu_probe" "$root/tests/bench/gpu_probe.c" -ldl 2> "$build/logs/probe.log" ||
  g++ -x c -O1 -o "$build/gpu_probe" "$root/tests/bench/gpu_probe.c" -ldl 2> "$build/logs/probe.log" || {
  cat "$build/logs/probe.log"
  exit 1
}
devices=$("$build/gpu_probe")
have_gpu=$?
if [ $have_gpu = 0 ]; then
  "$build/gpu_probe" --hold > "$build/logs/hold.log" 2>&1 < /dev/null &
  holder=$!
  IFS=$'\t' read -r _ arch cuda_version memory name <<< "$devices"
  echo "GPU: $name, compute capability ${arch%?}.${arch: -1}, $memory MiB; the driver knows CUDA $cuda_version"
else
  arch=${CJ2K_GPU_ARCH:-90}
  echo "no GPU: $devices; building for ${arch%?}.${arch: -1}"
fi
# Machine code for this GPU, and its PTX. If nvcc is older than the GPU: PTX of the newest architecture it knows.
if "$nvcc" --list-gpu-arch | grep -qx "compute_$arch"; then
  target=$arch
else
  target=$("$nvcc" --list-gpu-arch | sed -n 's/^compute_\([0-9]*\)$/\1/p' | sort -n | awk -v a="$arch" '$1 <= a' | tail -n 1)-virtual
fi

configure() {
  local options=(-DCMAKE_BUILD_TYPE=Release -DCJ2K_CUDA=ON "-DCJ2K_CUDA_ARCHITECTURES=$target" "-DCJ2K_NVCC=$nvcc"
    -DCJ2K_BUILD_TESTS=ON -DCJ2K_BUILD_SAMPLES=OFF "-DCMAKE_PREFIX_PATH=${CJ2K_DEPS:+$CJ2K_DEPS/usr}")
  if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja > /dev/null; then options+=(-G Ninja); fi
  CUDA_PATH=$cuda cmake -S "$root" -B "$build" "${options[@]}"
}

# label_targets LABEL: the programs of the tests with that label. CTest itself does not name programs that are not built
# yet. Test names are bare, quoted or in [=[ ]=], depending on the version of CMake.
label_targets() {
  find "$build" -name CTestTestfile.cmake -exec cat {} + | sed -E 's/\[=\[|\]=\]//g; s/^([a-z_]+)\("([^" ]*)"/\1(\2/' | awk -v label="$1" '
    match($0, /^add_test\([^ ]+ "[^"]+"/) {
      split(substr($0, RSTART + 9), part, " "); split($0, quoted, "\""); path[part[1]] = quoted[2]
    }
    match($0, /^set_tests_properties\([^ ]+ /) && $0 ~ ("LABELS \"([^\"]*;)?" label "[;\"]") {
      split(substr($0, 22), part, " "); if (part[1] in path) print path[part[1]]
    }' | sed 's|.*/||' | sort -u
}

build_all() {
  local targets
  mapfile -t targets < <(label_targets gpu)
  [ ${#targets[@]} -gt 0 ] || {
    echo "no tests with the label gpu are configured"
    return 1
  }
  [ "$have_gpu" = 0 ] || targets+=(test_device gpu_bench_shim)
  cmake --build "$build" --parallel "$jobs" --target "${targets[@]}" gpu_bench
}

export -f label_targets build_all configure
export root build target nvcc cuda jobs have_gpu
[ -z "${CJ2K_DEPS:-}" ] || export CJ2K_DEPS
if [[ $phases == *" build "* ]]; then
  step configure "$(share 20 build)" 1 bash -c configure || finish 1 "the build cannot be configured"
  step build "$(share 70 check bench sanitize)" 5 bash -c build_all || finish 1 "the build failed"
elif ! [ -x "$build/tests/bench/gpu_bench" ]; then
  finish 1 "$build has no build; --build makes one"
fi

# --- no GPU -----------------------------------------------------------------------------------------------------------

if [ $have_gpu != 0 ]; then
  if [[ $phases == *" check "* ]]; then
    step host-kernels "$(share 90 check)" 5 ctest --test-dir "$build" --output-on-failure --no-tests=error \
      -L fast -R '^(device_|gpu_bench_shim$)'
    # These must link, start and skip themselves.
    step device-checks "$(left)" 1 bash -c 'ctest --test-dir "$build" --output-on-failure --no-tests=error -L gpu || exit
      echo "no device"; exit 77'
  fi
  [ $failed = 0 ] || finish 1 "no CUDA device here ($devices), and the host part failed"
  finish 77 "no CUDA device here ($devices): built, host part passed; checks on the device and benchmark not run"
fi

# --- checks -----------------------------------------------------------------------------------------------------------

# Every line of a check goes to the log at once, so the lines of a check that is cut short are kept. The time limit of a
# check lets the others run if one hangs.
device_checks() {
  ctest --test-dir "$build" -V --no-tests=error -L gpu -R "$tests" --timeout $((limit * 2 / 5)) | tee "$build/logs/ctest.log"
  [ "${PIPESTATUS[0]}" = 0 ] || return 1
  if grep -E '\*\*\*(Skipped|Not Run)' "$build/logs/ctest.log"; then
    echo "a device check was skipped although there is a GPU"
    return 1
  fi
}
export -f device_checks
export tests limit
if [[ $phases == *" check "* ]]; then
  limit=$(share 55 bench sanitize)
  # Without a budget gpu_backend_soak takes its 5,000 frames.
  [ "$budget" = 0 ] || export CJ2K_SOAK_SECONDS=${CJ2K_SOAK_SECONDS:-$((limit / 8 + 1))}
  step device-checks "$limit" 5 bash -c device_checks
  # Each check by name, including those without a result because the step was ended.
  for check in $(ctest --test-dir "$build" -N -L gpu -R "$tests" | sed -nE 's/^ *Test +#[0-9]+: //p'); do
    result=$(sed -nE "s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: $check [. ]*(.*)\$/\1/p" "$build/logs/device-checks.log" |
      tail -n 1)
    note "  $check: ${result:-no result}"
  done
  while read -r line; do note "  soak: $line"; done < <(sed -nE 's/.*MESSAGE: ([0-9]+ frames of .*)/\1/p' \
    "$build/logs/device-checks.log")
fi

# --- benchmark --------------------------------------------------------------------------------------------------------

# ffmpeg_bench CLIPS_DIR: times the whole ffmpeg command, from raw video in a file to no file. Median of three.
ffmpeg_bench() {
  local path clip depth distinct size format frames codec device seconds start failed=0
  local rate=${CJ2K_FFMPEG_RATE:-239M}
  "$build/tests/bench/gpu_bench" --write-clips "$1" "${bench_options[@]}" > "$1/clips" || return 1
  printf '\nboundary (c): whole ffmpeg commands, 3 runs, frames/s of the wall time; start and reading of raw video included\n'
  while IFS=$'\t' read -r path clip depth distinct; do
    size=$(basename "$path" .gbrp)
    size=${size%_*}
    format=gbrp
    [ "$depth" = 8 ] || format=gbrp${depth}le
    for device in cuda:0 cpu; do
      frames=${CJ2K_FFMPEG_FRAMES:-240}
      [ "$device" != cpu ] || frames=$((frames / 5))
      frames=$(((frames + distinct - 1) / distinct * distinct))
      for codec in "-b:v $rate" "-lossless 1"; do
        # shellcheck disable=SC2086 # options
        seconds=$(for _ in 1 2 3; do
          start=$EPOCHREALTIME
          "$CJ2K_FFMPEG" -v error -nostdin -f rawvideo -pix_fmt $format -s "$size" -framerate 24 \
            -stream_loop $((frames / distinct - 1)) -i "$path" -c:v j2k_cuda -device $device $codec -cblk 32x32 -f null - \
            2> "$1/error" && echo "$start $EPOCHREALTIME"
        done | awk '{ print $2 - $1 }' | sort -n | tr '\n' ' ')
        printf '  %-20s %-9s %2d bit  -device %-6s %-12s %4d frames  ' "$clip" "$size" "$depth" "$device" "$codec" "$frames"
        if [ "$(wc -w <<< "$seconds")" = 3 ]; then
          awk -v n="$frames" '{ printf "%.1f fps (%.1f-%.1f)\n", n / $2, n / $3, n / $1 }' <<< "$seconds"
        else
          echo "FAILED: $(head -n 1 "$1/error")"
          failed=1
        fi
      done
    done
  done < "$1/clips"
  return "$failed"
}

go_on() { [ $failed = 0 ] || [ $keep_going = 1 ]; }

if [[ $phases == *" bench "* ]] && go_on; then
  deadline=()
  limit=$(share 60 sanitize)
  # A round that runs at the deadline ends its group; then pictures are decoded for PSNR. Each group writes its results.
  [ "$budget" = 0 ] || deadline=(--deadline $((limit > 150 ? limit - 60 : limit * 6 / 10)))
  rm -f "$build/logs/bench-ffmpeg.log" "$out.txt" "$out.tsv"
  benched=1
  step bench "$limit" 20 "$build/tests/bench/gpu_bench" --out "$out" "${deadline[@]}" "${bench_options[@]}"
  status=$?
  if [ -n "${CJ2K_FFMPEG:-}" ] && [ $status != 75 ]; then
    clips=$(mktemp -d "${TMPDIR:-/tmp}/gpu_bench_XXXXXX")
    export -f ffmpeg_bench
    export CJ2K_FFMPEG
    step bench-ffmpeg "$(share 40 sanitize)" 60 bash -c 'bench_options=("${@:2}"); ffmpeg_bench "$1"' - "$clips" \
      "${bench_options[@]}"
    [ ! -s "$build/logs/bench-ffmpeg.log" ] || cat "$build/logs/bench-ffmpeg.log" >> "$out.txt"
  fi
elif [[ $phases == *" bench "* ]]; then
  note "bench                            0 s  left out: a check failed (--keep-going)"
fi

# --- PTX --------------------------------------------------------------------------------------------------------------

# The driver compiles the kernels' PTX, as it does for a GPU that is newer than the build, and keeps the result in a folder
# that is empty at first.
jit() {
  local cache status=0
  cache=$(mktemp -d "${TMPDIR:-/tmp}/gpu_jit_XXXXXX")
  CUDA_FORCE_PTX_JIT=1 CUDA_CACHE_PATH=$cache CUDA_CACHE_MAXSIZE=1073741824 \
    "$build/tests/device/test_device_gpu" '--test-case=backend: how long open takes' || status=$?
  rm -rf "$cache"
  return "$status"
}
if [[ $phases == *" jit "* ]] && go_on; then
  export -f jit
  step ptx-jit "$(share 50 sanitize)" 20 bash -c jit
  while read -r line; do note "  $line"; done < <(sed -nE 's/.*MESSAGE: (open: .*)/\1/p' "$build/logs/ptx-jit.log")
elif [[ $phases == *" jit "* ]]; then
  note "ptx-jit                          0 s  left out: a check failed (--keep-going)"
fi

# --- sanitizer --------------------------------------------------------------------------------------------------------

# Encodes of tiny pictures that launch every kernel of the library (the check asserts this), and the operations that
# kernels are made of. racecheck knows barriers, but not counters in shared memory. It would report code that synchronizes
# by counters (tier1=fused, one of the operations) as hazards only, so that code is left out of racecheck.
sanitizer_runs=9
declare -A without=() # tools that do not work on this machine
# run_sanitizer TOOL OPTION_OF_THE_TESTS...: 77 and the reason if the tool says that it cannot watch the program, or ends well
# without the program's last line.
run_sanitizer() {
  local log=$build/logs/sanitizer.log status reason
  # Its kernels take too long for the watchdog of the library.
  CJ2K_DEVICE_TIMEOUT=0 compute-sanitizer --tool "$1" --error-exitcode 9 --print-limit 20 "$build/tests/device/test_device_gpu" "${@:2}" 2>&1 |
    tee "$log"
  status=${PIPESTATUS[0]}
  if reason=$(grep -m 1 -E "$unsupported" "$log") && ! grep -qE '^=+ +(Invalid|Misaligned|Warning: Race|Error: Race)' "$log"; then
    echo "${reason##*=== }"
    return 77
  fi
  [ "$status" = 0 ] || return "$status"
  grep -q '^\[doctest\] Status: SUCCESS!' "$log" && return
  echo "compute-sanitizer ended without an error, but did not run the tests"
  return 77
}
sanitize() { # TOOL WHAT OPTION_OF_THE_TESTS...
  local tool=$1 name=$1-$2
  shift 2
  [ -z "${without[$tool]:-}" ] || return
  # Twice an even share, because the first runs are the most useful.
  step "$name" $(($(left) * 2 / (sanitizer_runs + 1))) 5 bash -c 'run_sanitizer "$@"' - "$tool" "$@"
  [ $? != 77 ] || without[$tool]=yes
  sanitizer_runs=$((sanitizer_runs - 1))
}
export unsupported
export -f run_sanitizer
if [[ $phases != *" sanitize "* ]]; then
  :
elif ! go_on; then
  note "sanitize                         0 s  left out: something failed (--keep-going)"
elif ! PATH=$PATH:$cuda/bin:$cuda/compute-sanitizer command -v compute-sanitizer > /dev/null; then
  note "sanitize                         0 s  skipped: no compute-sanitizer"
else
  export PATH=$PATH:$cuda/bin:$cuda/compute-sanitizer
  for form in classic cibo fused HT; do
    sanitize memcheck $form '--source-file=*/encode_every_kernel.cc' "--test-case=*: $form"
  done
  for form in classic cibo HT; do
    sanitize racecheck $form '--source-file=*/encode_every_kernel.cc' "--test-case=*: $form"
  done
  sanitize memcheck operations '--source-file=*/simt_ops.cc'
  sanitize racecheck operations '--source-file=*/simt_ops.cc' '--test-case-exclude=release and acquire*'
fi

if [ $failed = 0 ] && [ $cut_short = 1 ]; then finish 0 "what was run passed on $name; not everything was run"; fi
if [ $failed = 0 ]; then finish 0 "all passed on $name"; fi
finish 1 "something failed on $name"

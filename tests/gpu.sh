#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# On a machine with an NVIDIA GPU, also an offline one: builds for that GPU, runs every check on it against the CPU's bytes,
# then the benchmark, and prints one table.
#
#     tests/gpu.sh [--build] [--check] [--sanitize] [--bench]    these phases; default: --build --check --bench
#         --all             all four
#         --keep-going      benchmarks even where a check failed; the exit status is 1 all the same
#         --budget SECONDS  ends within about this time: late steps are cut short or left out, which is said
#         --out PREFIX      PREFIX.txt (the table) and PREFIX.tsv; default BUILD/results
#         --build-dir DIR   default build/gpu
#         -- OPTION...      of gpu_bench, e.g. -- --full --picture in.ppm
#
# Each phase can be run again by itself. Needs an NVIDIA driver, nvcc, g++ and CMake; what else is missing is taken from
# CJ2K_DEPS, a folder made by scripts/gpu_packages.sh. Environment: CJ2K_DEPS, CUDA_PATH (default: where nvcc is, or
# /usr/local/cuda), NVJPEG2K_ROOT (default: CJ2K_DEPS's), CJ2K_FFMPEG (an ffmpeg with j2k_cuda: whole commands are timed,
# too), JOBS (default: cores).
#
# Exit status: 0 all passed; 1 something failed; 77 there is no CUDA device: then the same is built, for CJ2K_GPU_ARCH
# (default 90), and the kernels' tests run on the host instead.
# shellcheck disable=SC2317,SC2016 # functions and text for bash -c, under timeout
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/gpu
out=
phases=
keep_going=0
budget=0
bench_options=()
while [ $# -gt 0 ]; do
  case $1 in
    --build | --check | --sanitize | --bench) phases+=" ${1#--} " ;;
    --all) phases=" build check sanitize bench " ;;
    --keep-going) keep_going=1 ;;
    --budget) budget=${2:?--budget SECONDS}; shift ;;
    --out) out=${2:?--out PREFIX}; shift ;;
    --build-dir) mkdir -p "${2:?--build-dir DIR}" && build=$(cd "$2" && pwd); shift ;;
    --) shift; bench_options=("$@"); break ;;
    *) sed -n '5,24p' "${BASH_SOURCE[0]}" | cut -c3- >&2; exit 2 ;;
  esac
  shift
done
phases=${phases:-" build check bench "}
out=${out:-$build/results}
jobs=${JOBS:-$(nproc)}
mkdir -p "$build/logs" "$(dirname "$out")" || exit 1

# --- tools ------------------------------------------------------------------------------------------------------------

# Programs of CJ2K_DEPS find their libraries through a wrapper: LD_LIBRARY_PATH for all would give the machine's own
# programs older libraries than theirs.
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
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$multiarch" "$program" > "$tools/$name"
    chmod +x "$tools/$name"
  done
  # pkg-config sees the folder's packages alone, with their paths below it.
  {
    printf '#!/bin/sh\nexport PKG_CONFIG_SYSROOT_DIR=%s PKG_CONFIG_LIBDIR=%s:%s\n' "$CJ2K_DEPS" "$multiarch/pkgconfig" \
      "$CJ2K_DEPS/usr/share/pkgconfig"
    printf 'LD_LIBRARY_PATH=%s exec %s "$@"\n' "$multiarch" "$CJ2K_DEPS/usr/bin/pkgconf"
  } > "$tools/pkg-config"
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
left() { # seconds
  if [ "$budget" = 0 ]; then echo 86400; else echo $((budget - SECONDS)); fi
}

# step NAME SECONDS_AT_LEAST COMMAND...: runs it within the budget, keeps its output in a log, shows its last lines where
# it failed. Exit status 77 of the command: skipped.
step() {
  local name=$1 least=$2 start=$SECONDS status=0 verdict=passed
  shift 2
  if [ "$(left)" -lt "$least" ]; then
    verdict="left out: $(left) s of $budget s are left"
    status=75
    cut_short=1
  else
    printf '== %s\n' "$name"
    timeout --kill-after=10 "$(left)" "$@" > "$build/logs/$name.log" 2>&1 < /dev/null || status=$?
    case $status in
      0) ;;
      77) verdict="skipped: $(tail -n 1 "$build/logs/$name.log")" ;;
      124 | 137) verdict="FAILED: out of time"; failed=1; cut_short=1 ;;
      *) verdict="FAILED ($status)"; failed=1; tail -n 40 "$build/logs/$name.log" ;;
    esac
  fi
  summary+=("$(printf '%-28s %5d s  %s' "$name" $((SECONDS - start)) "$verdict")")
  printf '== %s\n' "${summary[-1]}"
  return $status
}

finish() { # STATUS LINE
  printf '\n'
  printf '%s\n' "${summary[@]}"
  printf '%d s in all\n' "$SECONDS"
  [ $cut_short = 0 ] || echo "the budget of $budget s cut something short or left it out"
  echo "gpu.sh: $2"
  exit "$1"
}

# --- build ------------------------------------------------------------------------------------------------------------

# The probe is compiled each time: without it nothing is known of the GPU.
gcc -O1 -o "$build/gpu_probe" "$root/tests/bench/gpu_probe.c" -ldl 2> "$build/logs/probe.log" ||
  g++ -x c -O1 -o "$build/gpu_probe" "$root/tests/bench/gpu_probe.c" -ldl 2> "$build/logs/probe.log" || {
  cat "$build/logs/probe.log"
  exit 1
}
devices=$("$build/gpu_probe")
have_gpu=$?
if [ $have_gpu = 0 ]; then
  IFS=$'\t' read -r _ arch cuda_version memory name <<< "$devices"
  echo "GPU: $name, compute capability ${arch%?}.${arch: -1}, $memory MiB; the driver knows CUDA $cuda_version"
else
  arch=${CJ2K_GPU_ARCH:-90}
  echo "no GPU: $devices; building for ${arch%?}.${arch: -1}"
fi
# Machine code for this GPU, or, where this nvcc is older than it, PTX of the newest it knows.
if "$nvcc" --list-gpu-arch | grep -qx "compute_$arch"; then
  target=$arch-real
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
# yet; names of tests are bare, quoted or in [=[ ]=], as the version of CMake has it.
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
  [ "$have_gpu" = 0 ] || targets+=(test_shim gpu_bench_shim)
  cmake --build "$build" --parallel "$jobs" --target "${targets[@]}" gpu_bench
}

export -f label_targets build_all configure
export root build target nvcc cuda jobs have_gpu
[ -z "${CJ2K_DEPS:-}" ] || export CJ2K_DEPS
if [[ $phases == *" build "* ]]; then
  step configure 1 bash -c configure || finish 1 "the build cannot be configured"
  step build 5 bash -c build_all || finish 1 "the build failed"
elif ! [ -x "$build/tests/bench/gpu_bench" ]; then
  finish 1 "$build has no build; --build makes one"
fi

# --- no GPU -----------------------------------------------------------------------------------------------------------

if [ $have_gpu != 0 ]; then
  if [[ $phases == *" check "* ]]; then
    step host-kernels 5 ctest --test-dir "$build" --output-on-failure --no-tests=error -R '^(shim|gpu_bench_shim)$'
    # That they link, start and skip themselves.
    step device-checks 1 bash -c 'ctest --test-dir "$build" --output-on-failure --no-tests=error -L gpu || exit
      echo "no device"; exit 77'
  fi
  [ $failed = 0 ] || finish 1 "no CUDA device here ($devices), and the host part failed"
  finish 77 "no CUDA device here ($devices): built, host part passed; checks on the device and benchmark not run"
fi

# --- checks -----------------------------------------------------------------------------------------------------------

device_checks() {
  ctest --test-dir "$build" --output-on-failure --no-tests=error -L gpu | tee "$build/logs/ctest.log"
  [ "${PIPESTATUS[0]}" = 0 ] || return 1
  if grep -E '\*\*\*(Skipped|Not Run)' "$build/logs/ctest.log"; then
    echo "a device check was skipped although there is a GPU"
    return 1
  fi
}
export -f device_checks
if [[ $phases == *" check "* ]]; then step device-checks 5 bash -c device_checks; fi

sanitize() { # TOOL COMMAND...
  local tool=$1
  shift
  compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 20 "$@"
}
export -f sanitize
if [[ $phases == *" sanitize "* ]]; then
  if PATH=$PATH:$cuda/bin:$cuda/compute-sanitizer command -v compute-sanitizer > /dev/null; then
    export PATH=$PATH:$cuda/bin:$cuda/compute-sanitizer
    # Whole encodes of tiny pictures, every form of tier-1 and every stop strategy of the benchmark; the operations that
    # kernels are made of.
    for tool in memcheck racecheck; do
      step "$tool-encode" 20 bash -c 'sanitize "$@"' - $tool "$build/tests/bench/gpu_bench" --smoke --no-cpu --no-nvjpeg2k
      step "$tool-operations" 10 bash -c 'sanitize "$@"' - $tool "$build/tests/shim/test_simt_cuda" \
        '--source-file=*test_ops.cc'
    done
  else
    summary+=("sanitize                         0 s  skipped: no compute-sanitizer")
  fi
fi

# --- benchmark --------------------------------------------------------------------------------------------------------

# The whole ffmpeg command, from raw video in a file to no file: median of three. ffmpeg_bench CLIPS_DIR
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

if [[ $phases == *" bench "* ]] && { [ $failed = 0 ] || [ $keep_going = 1 ]; }; then
  deadline=()
  # What is under way when its time is over ends its group, then pictures are decoded for PSNR.
  [ "$budget" = 0 ] || deadline=(--deadline $(($(left) > 120 ? $(left) - 90 : $(left) / 3)))
  rm -f "$build/logs/bench-ffmpeg.log" "$out.txt" "$out.tsv"
  step bench 20 "$build/tests/bench/gpu_bench" --out "$out" "${deadline[@]}" "${bench_options[@]}"
  status=$?
  if [ -n "${CJ2K_FFMPEG:-}" ] && [ $status != 75 ]; then
    clips=$(mktemp -d "${TMPDIR:-/tmp}/gpu_bench_XXXXXX")
    trap 'rm -rf "$clips"' EXIT
    export -f ffmpeg_bench
    export CJ2K_FFMPEG
    step bench-ffmpeg 60 bash -c 'bench_options=("${@:2}"); ffmpeg_bench "$1"' - "$clips" "${bench_options[@]}"
    [ ! -s "$build/logs/bench-ffmpeg.log" ] || cat "$build/logs/bench-ffmpeg.log" >> "$out.txt"
  fi
  if [ -f "$out.txt" ] && [ $status != 75 ]; then
    {
      printf '\nsteps of tests/gpu.sh on %s\n' "$name"
      printf '  %s\n' "${summary[@]}"
    } >> "$out.txt"
    cat "$out.txt"
    echo "table: $out.txt, $out.tsv"
  fi
elif [[ $phases == *" bench "* ]]; then
  summary+=("bench                            0 s  left out: a check failed (--keep-going)")
fi

if [ $failed = 0 ] && [ $cut_short = 1 ]; then finish 0 "what was run passed on $name; not everything was run"; fi
if [ $failed = 0 ]; then finish 0 "all passed on $name"; fi
finish 1 "something failed on $name"

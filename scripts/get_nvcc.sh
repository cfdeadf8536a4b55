#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# get_nvcc.sh [--for-driver] DIR
#
# Prints the path of an nvcc that compiles C++20 with this machine's g++, and on stderr one line that says which it is. The
# first one that does is taken:
#
#     1. $CJ2K_NVCC, nvcc in PATH, in $CUDA_PATH, $CUDA_HOME and /usr/local/cuda
#     2. DIR/bin/nvcc, which an earlier run has left
#     3. nvidia-cuda-toolkit, if apt has it in version 12.0 or newer (Debian: non-free; Ubuntu: multiverse). Only root gets it.
#     4. Python wheels from NVIDIA on PyPI, unpacked into DIR
#
# --for-driver: without an NVIDIA driver, nothing is fetched; and a toolkit must not be newer than the driver's CUDA version,
# because the driver would refuse its code.
# Exit status: 0 found; 1 there is none: one line on stderr says why; 2 wrong usage; 3 --for-driver, and there is no driver.
#
# Environment: CJ2K_NVCC, CUDA_PATH, CUDA_HOME; CXX (default g++).
set -euo pipefail

readonly kOldest=12.0 # the first with C++20
readonly kWheels=13.0 # the first whose wheels have nvcc; the older the toolkit, the older the driver may be
readonly packages=(nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime)

for_driver=0
if [ "${1:-}" = --for-driver ]; then
  for_driver=1
  shift
fi
if [ $# != 1 ]; then
  sed -n '5,21p' "$0" | cut -c3- >&2
  exit 2
fi
mkdir -p "$1"
dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# at_least A B: whether version A is B or newer.
at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

# driver_version: the CUDA version of the NVIDIA driver, such as 13.0. Found as the library finds it, by dlopen.
driver_version() {
  python3 - <<'PYTHON'
import ctypes, sys
try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError:
    sys.exit(1)
version = ctypes.c_int(0)
if driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
    sys.exit(1)
print(f"{version.value // 1000}.{version.value % 1000 // 10}")
PYTHON
}

reasons=()
driver=
if [ $for_driver = 1 ]; then
  driver=$(driver_version) || { echo "no NVIDIA driver: no nvcc needed" >&2; exit 3; }
fi

# works NVCC: whether it compiles a kernel in C++20; if not, the reason is noted.
works() {
  local version
  version=$("$1" --version 2> /dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
  if [ -z "$version" ] || ! at_least "$version" $kOldest; then
    reasons+=("$1 is version ${version:-unknown}, $kOldest or newer is needed")
    return 1
  fi
  if [ -n "$driver" ] && ! at_least "${driver%%.*}" "${version%%.*}"; then
    reasons+=("$1 is version $version, but the driver is for CUDA $driver")
    return 1
  fi
  cat > "$work/probe.cu" <<'CUDA'
template <typename T> concept Small = sizeof(T) <= 8;
template <Small T> __global__ void scale(T* data, T factor) { data[blockIdx.x * blockDim.x + threadIdx.x] *= factor; }
template __global__ void scale<float>(float*, float);
CUDA
  if ! "$1" -std=c++20 -arch=sm_80 -fatbin -ccbin "${CXX:-g++}" "$work/probe.cu" -o "$work/probe.fatbin" > "$work/log" 2>&1; then
    reasons+=("$1 $version fails: $(grep -m 1 -i error "$work/log" || tail -n 1 "$work/log")")
    return 1
  fi
}

# take NVCC WHERE: ends the script with this nvcc, if it works.
take() {
  works "$1" || return 1
  echo "nvcc $("$1" --version | sed -n 's/.* V\([0-9.]*\).*/\1/p') from $2" >&2
  echo "$1"
  exit 0
}

from_machine() {
  local nvcc
  for nvcc in "${CJ2K_NVCC:-}" "$(command -v nvcc || true)" "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" \
    "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" /usr/local/cuda/bin/nvcc; do
    if [ -n "$nvcc" ] && [ -x "$nvcc" ]; then # the first that works
      take "$nvcc" "this machine" || true
    fi
  done
}

# newest_gcc VERSION: the newest g++ that the toolkits of a distribution accept.
newest_gcc() {
  if at_least "$1" 12.8; then echo 14; elif at_least "$1" 12.4; then echo 13; else echo 12; fi
}

from_distribution() {
  local candidate gcc
  command -v apt-cache > /dev/null || return 0
  candidate=$(apt-cache policy nvidia-cuda-toolkit 2> /dev/null | sed -n 's/^ *Candidate: \([0-9][0-9.]*\).*/\1/p')
  gcc=$("${CXX:-g++}" -dumpversion)
  if [ -z "$candidate" ]; then
    reasons+=("the distribution's sources have no nvidia-cuda-toolkit")
  elif ! at_least "$candidate" $kOldest; then
    reasons+=("the distribution's nvidia-cuda-toolkit is $candidate, $kOldest or newer is needed")
  elif [ "${gcc%%.*}" -gt "$(newest_gcc "$candidate")" ]; then
    reasons+=("the distribution's nvidia-cuda-toolkit $candidate does not take g++ ${gcc%%.*}")
  elif [ "$(id -u)" != 0 ]; then
    reasons+=("root could install the distribution's nvidia-cuda-toolkit $candidate")
  elif ! DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends nvidia-cuda-toolkit \
    > "$work/log" 2>&1 < /dev/null; then
    reasons+=("nvidia-cuda-toolkit: $(tail -n 1 "$work/log")")
  else
    take "$(command -v nvcc)" "nvidia-cuda-toolkit" || true
  fi
}

have_pip() { python3 -m pip --version > /dev/null 2>&1; }

from_wheels() {
  local wheel
  if [ -n "$driver" ] && ! at_least "$driver" $kWheels; then
    reasons+=("the nvcc of PyPI is $kWheels, but the driver is for CUDA $driver: a newer driver, or a CUDA toolkit 12, is needed")
    return
  fi
  if ! have_pip && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    { apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3-pip; } \
      > "$work/log" 2>&1 < /dev/null || true
  fi
  if ! have_pip; then
    reasons+=("no pip (Debian: python3-pip) to fetch it with")
    return
  fi
  if ! python3 -m pip --quiet --disable-pip-version-check download --no-deps --only-binary=:all: -d "$work/wheels" \
    "${packages[@]/%/==$kWheels.*}" > "$work/log" 2>&1; then
    reasons+=("PyPI: $(grep -m 1 ERROR "$work/log" || tail -n 1 "$work/log")")
    return
  fi
  for wheel in "$work"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$work/unpacked"; done
  rm -rf "${dir:?}"/{bin,nvvm,include,lib,licenses}
  mv "$work"/unpacked/nvidia/cu*/* "$dir/"
  for wheel in "$work"/unpacked/*.dist-info; do
    mkdir -p "$dir/licenses"
    if [ -d "$wheel/licenses" ]; then cp -r "$wheel/licenses" "$dir/licenses/$(basename "$wheel" .dist-info)"; fi
  done
  chmod +x "$dir"/bin/* "$dir"/nvvm/bin/* 2> /dev/null || true
  take "$dir/bin/nvcc" "PyPI, in $dir" || true
}

from_machine
if [ -x "$dir/bin/nvcc" ]; then take "$dir/bin/nvcc" "$dir" || true; fi
from_distribution
from_wheels
printf -v all '%s; ' "${reasons[@]}"
echo "no nvcc: ${all%; }" >&2
exit 1

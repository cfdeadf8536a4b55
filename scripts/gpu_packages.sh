#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# gpu_packages.sh [--cmake] DIR
#
# Run it on a machine with a network. It collects what tests/gpu.sh needs on a GPU machine without a network: Debian or
# Ubuntu packages, unpacked below DIR, and nvJPEG2000 for comparison. It also packs DIR into DIR.tar.xz. It installs nothing
# and needs no root. The GPU machine must have an NVIDIA driver, a CUDA toolkit and g++. There, run
#
#     tar xJf DIR.tar.xz && CJ2K_DEPS=$PWD/DIR tests/gpu.sh
#
#     --cmake    also collect CMake and Ninja (self-contained Python wheels), for a GPU machine without them
#
# Left out for size: g++, CUDA, and Grok and FFmpeg, which the checks on the GPU do not need. Run it on the same Debian or
# Ubuntu release as the GPU machine's, or on an older one: the libraries need the libc and libstdc++ of that machine.
set -euo pipefail

cmake=0
if [ "${1:-}" = --cmake ]; then
  cmake=1
  shift
fi
if [ $# != 1 ]; then
  sed -n '5,16p' "$0" | cut -c3- >&2
  exit 2
fi
mkdir -p "$1"
dir=$(cd "$1" && pwd)
if [ -n "$(ls -A "$dir")" ]; then
  echo "gpu_packages.sh: $dir is not empty" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Packages that are left out: every machine with g++ has them, or they only serve a desktop or NUMA.
readonly present='^(libc6|libc6-dev|libc-dev-bin|libc-bin|libcrypt.*|libgcc-s1|libgcc-[0-9]+-dev|libstdc\+\+6|libstdc\+\+-.*|gcc.*|g\+\+.*|cpp.*|linux-libc-dev|libc-dev|rpcsvc-proto|libnsl.*|libtirpc.*|debconf.*|cdebconf.*|perl.*|dpkg.*|install-info|libhwloc.*|libpciaccess.*|libxml2.*|libicu.*|libnuma.*|python3.*|tzdata|cmake|googletest|libgtest.*)$'

# closure PACKAGE...: prints the packages and all that they depend on, without those in `present`.
closure() {
  local queue=("$@") package
  declare -A seen=()
  while [ ${#queue[@]} -gt 0 ]; do
    package=${queue[0]%%:*}
    queue=("${queue[@]:1}")
    if [ -n "${seen[$package]:-}" ] || [[ $package =~ $present ]]; then continue; fi
    seen[$package]=1
    echo "$package"
    # Alternatives (marked with |) are all taken. Virtual packages (in <>) have no file, so they are left out.
    mapfile -t -O "${#queue[@]}" queue < <(apt-cache depends --no-recommends --no-suggests --no-conflicts --no-breaks \
      --no-replaces --no-enhances "$package" | sed -nE 's/^ +\|?(Pre)?Depends: ([a-z0-9][^ ]*)$/\2/p')
  done
}

mapfile -t packages < <(closure libhwy-dev doctest-dev libboost-context-dev pkgconf libopenjp2-tools)
echo "packages: ${packages[*]}"
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}")
for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$dir"; done

# nvJPEG2000 for CUDA 12 and 13: tests/gpu.sh uses the one that fits the machine's nvcc.
pip=(python3 -m pip --quiet --disable-pip-version-check download --no-deps --only-binary=:all:)
for toolkit in cu12 cu13; do
  if "${pip[@]}" -d "$work/$toolkit" "nvidia-nvjpeg2k-$toolkit"; then
    python3 -m zipfile -e "$work/$toolkit"/*.whl "$dir/nvjpeg2k-$toolkit"
  else
    echo "gpu_packages.sh: no nvJPEG2000 for $toolkit; the benchmark leaves it out" >&2
  fi
done
if [ $cmake = 1 ]; then
  "${pip[@]}" -d "$work/cmake" cmake ninja
  for wheel in "$work"/cmake/*.whl; do python3 -m zipfile -e "$wheel" "$dir/wheels"; done
  mkdir -p "$dir/usr/bin"
  for program in "$dir"/wheels/cmake/data/bin/{cmake,ctest} "$dir"/wheels/ninja/data/bin/ninja "$dir"/wheels/*.data/scripts/ninja; do
    [ -f "$program" ] || continue
    chmod +x "$program"
    ln -sf "../../${program#"$dir/"}" "$dir/usr/bin/${program##*/}"
  done
fi

# To save size, remove documentation, unused tools, and all Boost headers that kernels/ does not include.
rm -rf "$dir"/usr/share/{doc,doc-base,man,lintian,locale,bug} "$dir"/wheels/cmake/data/{doc,man} \
  "$dir"/usr/lib/*/libhwy_test* "$dir"/wheels/cmake/data/bin/{ccmake,cpack}
boost=$dir/usr/include/boost
if [ -d "$boost" ] && command -v g++ > /dev/null; then
  root=$(cd "$(dirname "$0")/.." && pwd)
  grep -rhE '^#include <boost/' "$root/kernels" > "$work/boost.cc"
  echo '#include <boost/version.hpp>' >> "$work/boost.cc"
  g++ -std=c++20 -I"$dir/usr/include" -M "$work/boost.cc" | tr -s '[:space:]' '\n' | grep -F "$boost/" | sort -u > "$work/used"
  find "$boost" -type f | sort > "$work/all"
  comm -13 "$work/used" "$work/all" | tr '\n' '\0' | xargs -0 rm -f
  find "$boost" -type d -empty -delete
fi

tar -C "$(dirname "$dir")" -cJf "$dir.tar.xz" "$(basename "$dir")"
printf '%s MB below %s, %s MB in %s\n' "$(du -sm "$dir" | cut -f1)" "$dir" "$(du -m "$dir.tar.xz" | cut -f1)" "$dir.tar.xz"

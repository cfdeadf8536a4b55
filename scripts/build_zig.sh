#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# build_zig.sh ZIG_TARGET [TARGET...]: builds the library, its programs and tests in build/ZIG_TARGET with Zig's clang, its libc++ and
# its C library, for
#
#     x86_64-linux-musl   programs that need no library and run on any Linux
#     aarch64-macos       all but cj2k; nothing here can run it
#
# Zig comes from PyPI. Highway, zlib and, for cj2k, libtiff and FFmpeg's decoders of pictures come as sources from the Debian
# archive and are compiled once, below CJ2K_CACHE (~/.cache/cj2k). Needs the group portable of scripts/install_deps.sh.
# Exit status 75: no Zig or no sources.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${1:?a target of Zig, such as x86_64-linux-musl}
shift
build=$root/build/$target
cache=${CJ2K_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cj2k}/ffmpeg
jobs=${JOBS:-$(nproc)}
readonly zig=0.14.1
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }
cannot() { echo "no build for $target: $1"; exit 75; }

tool=ON
case $target in
  x86_64-linux-musl) system=() ;;
  aarch64-macos) system=(-DCMAKE_SYSTEM_NAME=Darwin -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_INSTALL_NAME_TOOL=true) tool=OFF ;;
  *) sed -n '5,14p' "$0" | cut -c3- >&2; exit 2 ;;
esac
arch=${target%%-*}

tools=$root/build/zig/$zig
if [ ! -x "$tools/bin/python" ]; then
  python3 -m venv "$tools" && "$tools/bin/pip" install -q "ziglang==$zig" || { rm -rf "$tools"; cannot "no Zig from PyPI"; }
fi
mkdir -p "$build/bin"
cpu=
[ "$arch" != x86_64 ] || cpu=" -mcpu=x86_64+evex512" # else clang refuses vectors of 512 bits where a function asks for AVX-512
for program in cc c++ ar ranlib; do
  flags=
  [[ $program != c* ]] || flags="-target $target$cpu"
  printf '#!/bin/sh\nexec %s -m ziglang %s %s "$@"\n' "$tools/bin/python" "$program" "$flags" > "$build/bin/$program"
  chmod +x "$build/bin/$program"
done
toolchain=("${system[@]}" "-DCMAKE_C_COMPILER=$build/bin/cc" "-DCMAKE_CXX_COMPILER=$build/bin/c++" "-DCMAKE_AR=$build/bin/ar"
  "-DCMAKE_RANLIB=$build/bin/ranlib" -DCMAKE_FIND_ROOT_PATH_MODE_{LIBRARY,INCLUDE,PACKAGE}=ONLY)
cc=$build/bin/cc
ffmpeg_system=("--ar=$build/bin/ar" "--ranlib=$build/bin/ranlib" "--arch=$arch" --target-os=linux --disable-stripping)
# shellcheck source-path=SCRIPTDIR
source "$root/scripts/cross_libraries.sh"

build_zlib() {
  cd "$1/zlib" && CC="${launcher[*]} $cc" AR="$build/bin/ar" RANLIB="$build/bin/ranlib" ./configure --static --prefix="$1/root" &&
    make -j "$jobs" install
}
sources=(highway:1.0:bookworm)
[ "$tool" = OFF ] || sources+=(zlib:1.2:bookworm tiff:4.5:bookworm ffmpeg:7.1:trixie)
cross_libraries "zig/$target" "$zig$cpu" "${sources[@]}"

export PKG_CONFIG_LIBDIR=$libraries/lib/pkgconfig
cmake --preset release -S "$root" -B "$build" "${toolchain[@]}" -DCMAKE_FIND_ROOT_PATH="$libraries" -DDOCTEST_INCLUDE="$libraries/include" \
  -DCJ2K_CUDA=OFF -DCJ2K_WERROR=ON -DCJ2K_TOOLS=$tool -DCJ2K_BUILD_SAMPLES=OFF \
  -DCMAKE_EXE_LINKER_FLAGS=-s
cmake --build "$build" -j "$jobs" ${@+--target "$@"}

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# build_windows.sh [TARGET...]: builds the library, its programs and tests for x86-64 Windows, in build/windows, with Debian's
# MinGW-w64. CTest runs programs by wine. Needs the group windows of scripts/install_deps.sh. Highway and,
# for cj2k.exe, libtiff and FFmpeg's decoders of pictures come as sources from the Debian archive and are compiled once, below
# CJ2K_CACHE (~/.cache/cj2k).
# Exit status 75: no compiler, no wine, or no sources.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/windows
cache=${CJ2K_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cj2k}/ffmpeg
jobs=${JOBS:-$(nproc)}
readonly triplet=x86_64-w64-mingw32
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }
cannot() { echo "no build for Windows: $1"; exit 75; }

for program in $triplet-g++-posix $triplet-windres cmake ninja make nasm pkg-config apt-get; do
  command -v "$program" > /dev/null || cannot "no $program"
done
wine=$(PATH=$PATH:/usr/lib/wine command -v wine64) || cannot "no wine64"
[ -e /usr/$triplet/include/zlib.h ] || cannot "no zlib for MinGW (Debian: libz-mingw-w64-dev)"
[ -e /usr/include/doctest/doctest.h ] || cannot "no doctest"

toolchain=("-DCMAKE_TOOLCHAIN_FILE=$root/cmake/windows.cmake" -DCMAKE_CROSSCOMPILING_EMULATOR=true)
cc=$triplet-gcc-posix
ffmpeg_system=("--cross-prefix=$triplet-" --arch=x86_64 --target-os=mingw32 --disable-w32threads)
# shellcheck source-path=SCRIPTDIR
source "$root/scripts/cross_libraries.sh"
finish() {
  cp /usr/$triplet/lib/libz.a "$1/root/lib"
  sed -i 's/^Libs: .*/& -lz/; /^Requires.private:/d' "$1/root/lib/pkgconfig/libtiff-4.pc" # MinGW's zlib has no .pc file
}
cross_libraries windows "$($cc --version) $(cat "$root/cmake/windows.cmake")" highway:1.0:bookworm tiff:4.5:bookworm ffmpeg:7.1:trixie
mkdir -p "$build"
ln -sfn "$libraries" "$build/root"

cmake --preset windows -S "$root" -DCJ2K_WERROR=ON -DCJ2K_BUILD_TESTS=ON -DCJ2K_TOOLS=ON
cmake --build "$build" -j "$jobs" ${@+--target "$@"}

# A program of this name runs cj2k.exe, for tests/tools and those who try it here.
cat > "$build/cj2k" << END
#!/bin/sh
export WINEPREFIX=$build/wine WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml=
exec $wine $build/tools/cj2k/cj2k.exe "\$@"
END
chmod +x "$build/cj2k"
# The first program sets wine's folder up, which takes seconds.
"$build/cj2k" --version

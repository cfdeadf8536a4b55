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
readonly decoders=bmp,dpx,exr,jpeg2000,mjpeg,pam,pbm,pgm,png,ppm
readonly configure=(--enable-cross-compile "--cross-prefix=$triplet-" --arch=x86_64 --target-os=mingw32 --pkg-config=false
  --disable-all --disable-autodetect --disable-debug --disable-w32threads --enable-pthreads --enable-zlib
  --enable-avcodec "--enable-decoder=$decoders")
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }
cannot() { echo "no build for Windows: $1"; exit 75; }

# shellcheck source-path=SCRIPTDIR
source "$root/ffmpeg-patch/sources.sh"

for program in $triplet-g++-posix $triplet-windres cmake ninja make nasm pkg-config apt-get; do
  command -v "$program" > /dev/null || cannot "no $program"
done
wine=$(PATH=$PATH:/usr/lib/wine command -v wine64) || cannot "no wine64"
[ -e /usr/$triplet/include/zlib.h ] || cannot "no zlib for MinGW (Debian: libz-mingw-w64-dev)"
[ -e /usr/include/doctest/doctest.h ] || cannot "no doctest"
launcher=() launchers=()
if command -v ccache > /dev/null; then
  launcher=(ccache) launchers=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

declare -A tarballs
for source in highway:1.0:bookworm tiff:4.5:bookworm ffmpeg:7.1:trixie; do
  IFS=: read -r name version suite <<< "$source"
  fetch_source "$name" "$version" "$suite" || tarball=
  [ -n "$tarball" ] || cannot "no sources of $name $version"
  tarballs[$name]=$tarball
done

# with_cmake DIR NAME OPTION...
with_cmake() {
  local dir=$1 name=$2
  shift 2
  cmake -S "$dir/$name" -B "$dir/$name/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_TOOLCHAIN_FILE="$root/cmake/windows.cmake" -DCMAKE_CROSSCOMPILING_EMULATOR=true -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_INSTALL_PREFIX="$dir/root" "${launchers[@]}" "$@" &&
    cmake --build "$dir/$name/build" -j "$jobs" && cmake --install "$dir/$name/build"
}

# build_libraries DIR: leaves them in DIR/root.
build_libraries() {
  local name
  for name in highway tiff ffmpeg; do
    mkdir "$1/$name"
    tar -xf "${tarballs[$name]}" -C "$1/$name" --strip-components=1 || return
  done
  install -D -m 644 -t "$1/root/include/doctest" /usr/include/doctest/doctest.h
  with_cmake "$1" highway -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF &&
    with_cmake "$1" tiff -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF -Dtiff-docs=OFF -Djpeg=OFF -Dlzma=OFF -Dzstd=OFF \
      -Dwebp=OFF -Djbig=OFF -Dlerc=OFF -Dlibdeflate=OFF || return
  cd "$1/ffmpeg"
  ./configure --prefix="$1/root" --cc="${launcher[*]} $triplet-gcc-posix" "${configure[@]}" && make -j "$jobs" &&
    make install || return
  sed -i "s|$1/root|$libraries|" "$1"/root/lib/pkgconfig/*.pc
}

# What goes into the libraries names their folder.
key=$({ basename -a "${tarballs[@]}"; $triplet-gcc-posix --version; echo "${configure[*]}"; declare -f with_cmake build_libraries;
  cat "$root/cmake/windows.cmake"; } | sha256sum | cut -c1-16)
libraries=${cache%/*}/windows/$key
if [ ! -d "$libraries" ]; then
  say "compiling Highway, libtiff and FFmpeg's decoders"
  work=$build/libraries # the same folder each time, for ccache
  rm -rf "$work"
  mkdir -p "$work" "${libraries%/*}"
  (build_libraries "$work") > "$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
  cp /usr/$triplet/lib/libz.a "$work/root/lib"
  sed -i 's/^Libs: .*/& -lz/; /^Requires.private:/d' "$work/root/lib/pkgconfig/libtiff-4.pc" # MinGW's zlib has no .pc file
  mv "$work/root" "$libraries"
  rm -rf "$work"
fi
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

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
readonly decoders=bmp,dpx,exr,jpeg2000,mjpeg,pam,pbm,pgm,png,ppm
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }
cannot() { echo "no build for $target: $1"; exit 75; }

# shellcheck source-path=SCRIPTDIR
source "$root/ffmpeg-patch/sources.sh"

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
  "-DCMAKE_RANLIB=$build/bin/ranlib")
launcher=()
if command -v ccache > /dev/null; then
  launcher=(ccache)
  toolchain+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

declare -A tarballs
sources=(highway:1.0:bookworm)
[ "$tool" = OFF ] || sources+=(zlib:1.2:bookworm tiff:4.5:bookworm ffmpeg:7.1:trixie)
for source in "${sources[@]}"; do
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
    "${toolchain[@]}" -DCMAKE_FIND_ROOT_PATH="$dir/root" -DCMAKE_FIND_ROOT_PATH_MODE_{LIBRARY,INCLUDE,PACKAGE}=ONLY \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX="$dir/root" "$@" &&
    cmake --build "$dir/$name/build" -j "$jobs" && cmake --install "$dir/$name/build"
}

# build_libraries DIR: leaves them in DIR/root.
build_libraries() {
  local name
  for name in "${sources[@]%%:*}"; do
    mkdir "$1/$name"
    tar -xf "${tarballs[$name]}" -C "$1/$name" --strip-components=1 || return
  done
  install -D -m 644 -t "$1/root/include/doctest" /usr/include/doctest/doctest.h
  with_cmake "$1" highway -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF || return
  if [ "$tool" = ON ]; then
    (cd "$1/zlib" && CC="${launcher[*]} $build/bin/cc" AR="$build/bin/ar" RANLIB="$build/bin/ranlib" ./configure --static \
      --prefix="$1/root" && make -j "$jobs" install) &&
      with_cmake "$1" tiff -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF -Dtiff-docs=OFF -Djpeg=OFF -Dlzma=OFF -Dzstd=OFF \
        -Dwebp=OFF -Djbig=OFF -Dlerc=OFF -Dlibdeflate=OFF || return
    cd "$1/ffmpeg"
    ./configure --prefix="$1/root" --cc="${launcher[*]} $build/bin/cc" --ar="$build/bin/ar" --ranlib="$build/bin/ranlib" \
      --enable-cross-compile "--arch=$arch" --target-os=linux --pkg-config=false --disable-all --disable-autodetect --disable-debug \
      --enable-pthreads --disable-stripping --extra-cflags="-I$1/root/include" --extra-ldflags="-L$1/root/lib" \
      --enable-zlib --enable-avcodec "--enable-decoder=$decoders" && make -j "$jobs" && make install || return
  fi
  sed -i "s|$1/root|$libraries|" "$1"/root/lib/pkgconfig/*.pc
}

# What goes into the libraries names their folder.
key=$({ basename -a "${tarballs[@]}"; declare -p target zig cpu tool decoders; declare -f with_cmake build_libraries; } | sha256sum | cut -c1-16)
libraries=${cache%/*}/zig/$target-$key
if [ ! -d "$libraries" ]; then
  say "compiling ${sources[*]}"
  work=$build/libraries # the same folder each time, for ccache
  rm -rf "$work"
  mkdir -p "$work" "${libraries%/*}"
  (build_libraries "$work") > "$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
  mv "$work/root" "$libraries"
  rm -rf "$work"
fi

export PKG_CONFIG_LIBDIR=$libraries/lib/pkgconfig
cmake --preset release -S "$root" -B "$build" "${toolchain[@]}" -DCMAKE_FIND_ROOT_PATH="$libraries" -DDOCTEST_INCLUDE="$libraries/include" \
  -DCMAKE_FIND_ROOT_PATH_MODE_{LIBRARY,INCLUDE,PACKAGE}=ONLY -DCJ2K_CUDA=OFF -DCJ2K_WERROR=ON -DCJ2K_TOOLS=$tool -DCJ2K_BUILD_SAMPLES=OFF \
  -DCMAKE_EXE_LINKER_FLAGS=-s
cmake --build "$build" -j "$jobs" ${@+--target "$@"}

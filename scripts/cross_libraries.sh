# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # the caller sets root, build, cache, jobs, toolchain, cc, say and cannot
#
# The libraries that a build for another system needs, for build_windows.sh and build_zig.sh: sources of the Debian archive, compiled once,
# below the cache.

# shellcheck source-path=SCRIPTDIR
source "$root/ffmpeg-patch/sources.sh"

# FFmpeg's decoders of pictures, for cj2k.
readonly ffmpeg_parts=(--enable-cross-compile --pkg-config=false --disable-all --disable-autodetect --disable-debug --enable-pthreads
  --enable-zlib --enable-avcodec --enable-decoder=bmp,dpx,exr,jpeg2000,mjpeg,pam,pbm,pgm,png,ppm)
launcher=()
if command -v ccache > /dev/null; then
  launcher=(ccache)
  toolchain+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

# with_cmake DIR NAME OPTION...
with_cmake() {
  local dir=$1 name=$2
  shift 2
  cmake -S "$dir/$name" -B "$dir/$name/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DBUILD_SHARED_LIBS=OFF \
    "${toolchain[@]}" -DCMAKE_FIND_ROOT_PATH="$dir/root" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX="$dir/root" "$@" &&
    cmake --build "$dir/$name/build" -j "$jobs" && cmake --install "$dir/$name/build"
}

# One function for each library: build_NAME DIR compiles DIR/NAME into DIR/root.
build_highway() { with_cmake "$1" highway -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF; }
build_tiff() {
  with_cmake "$1" tiff -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF -Dtiff-docs=OFF -Djpeg=OFF -Dlzma=OFF -Dzstd=OFF \
    -Dwebp=OFF -Djbig=OFF -Dlerc=OFF -Dlibdeflate=OFF
}
build_ffmpeg() {
  cd "$1/ffmpeg" && ./configure --prefix="$1/root" --cc="${launcher[*]} $cc" "${ffmpeg_parts[@]}" "${ffmpeg_system[@]}" \
    --extra-cflags="-I$1/root/include" --extra-ldflags="-L$1/root/lib" && make -j "$jobs" && make install
}

finish() { :; } # finish DIR: the last word on DIR/root; a caller may have its own

# build_all DIR NAME...: libraries from `tarballs`, and doctest's header, in DIR/root.
build_all() {
  local dir=$1 name
  shift
  install -D -m 644 -t "$dir/root/include/doctest" /usr/include/doctest/doctest.h || return
  for name; do
    mkdir "$dir/$name" && tar -xf "${tarballs[$name]}" -C "$dir/$name" --strip-components=1 && ("build_$name" "$dir") || return
  done
  sed -i "s|$dir/root|$libraries|" "$dir"/root/lib/pkgconfig/*.pc
}

# cross_libraries FOLDER FACTS NAME:VERSION:SUITE...: compiles them unless they are there; `libraries` is then their folder. What goes into
# them, FACTS too, names it.
cross_libraries() {
  local kind=$1 facts=$2 source name version suite names=() work=$build/libraries # the same folder each time, for ccache
  local -A tarballs
  shift 2
  for source; do
    IFS=: read -r name version suite <<< "$source"
    fetch_source "$name" "$version" "$suite" || tarball=
    [ -n "$tarball" ] || cannot "no sources of $name $version"
    tarballs[$name]=$tarball names+=("$name")
  done
  libraries=${cache%/*}/$kind/$({
    basename -a "${tarballs[@]}"
    echo "$facts ${ffmpeg_parts[*]} ${ffmpeg_system[*]}"
    declare -f with_cmake build_all "${names[@]/#/build_}" finish
  } | sha256sum | cut -c1-16)
  [ ! -d "$libraries" ] || return 0
  say "compiling ${names[*]}"
  rm -rf "$work"
  mkdir -p "$work" "${libraries%/*}"
  (build_all "$work" "${names[@]}") > "$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
  finish "$work"
  mv "$work/root" "$libraries"
  rm -rf "$work"
}

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# package_test.sh static|shared BUILD_DIR SCRATCH_DIR TARGET: installs the library of a target, moves the installed tree, and
# builds the same C program against it through find_package and through pkg-config.
set -euo pipefail
kind=$1 build=$2 scratch=$3 target=$4
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$scratch"
mkdir -p "$scratch"

component=()
[ "$target" = cj2k ] || component=(--component "$target")
cmake --install "$build" --prefix "$scratch/first" "${component[@]}" > "$scratch/install.log"
mv "$scratch/first" "$scratch/moved"
(cd "$scratch/moved" && find . ! -type d | sort)

fail() { echo "$*"; exit 1; }

# cj2k.pc's libdir must follow the moved file, also if the build tree was configured for another prefix.
pc_dir=$(dirname "$(find "$scratch/moved" -name cj2k.pc)")
libdir=$(dirname "$pc_dir")
export PKG_CONFIG_PATH=$pc_dir LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# shellcheck disable=SC2046 # several words
cc -std=c11 -pedantic -Wall -Wextra -Werror "$here/consumer.c" $(pkg-config --cflags --libs cj2k) -o "$scratch/by_pc"
"$scratch/by_pc"
cmake -S "$here" -B "$scratch/by_cmake" -DCMAKE_PREFIX_PATH="$scratch/moved" > "$scratch/configure.log"
cmake --build "$scratch/by_cmake" > "$scratch/build.log"
(unset LD_LIBRARY_PATH && "$scratch/by_cmake/consumer")

# cj2k-check is installed with the library that the build is for.
if [ "$target" = cj2k ]; then
  "$scratch/moved/bin/cj2k-check" --help > "$scratch/check.help" || fail "cj2k-check does not run"
fi

libs=$(pkg-config --libs cj2k)
needed=$(readelf -d "$scratch/by_pc" "$scratch/by_cmake/consumer" | grep -c 'NEEDED.*\[libcj2k\.so\.' || true)
if [ "$kind" = static ]; then
  [ ! -e "$libdir/libcj2k.so" ] && [ "$needed" = 0 ] || fail "a shared library is in use"
  # Everything FFmpeg's configure needs must be in Libs, not Libs.private.
  case $libs in *-lstdc++* | *-lc++*) ;; *) fail "no C++ library in: $libs" ;; esac
else
  [ ! -e "$libdir/libcj2k.a" ] && [ "$needed" = 2 ] || fail "the shared library is not in use"
  case $libs in *stdc++* | *-lhwy*) fail "what the library itself needs stands in: $libs" ;; esac
  version=$(pkg-config --modversion cj2k)
  soname=libcj2k.so.${version%%.*}
  readelf -d "$libdir/libcj2k.so.$version" | grep -qF "soname: [$soname]" || fail "the soname is not $soname"
  [ "$(readlink "$libdir/$soname")" = "libcj2k.so.$version" ] || fail "$soname is not libcj2k.so.$version"
fi

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# package_test.sh BUILD_DIR SCRATCH_DIR: installs, moves the installed tree, and builds the same C program against it
# through find_package and through pkg-config.
set -euo pipefail
build=$1 scratch=$2
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$scratch"
mkdir -p "$scratch"

cmake --install "$build" --prefix "$scratch/first" > "$scratch/install.log"
mv "$scratch/first" "$scratch/moved"
(cd "$scratch/moved" && find . -type f | sort)

# The build tree may have been configured for another prefix: then cj2k.pc's libdir still follows the file.
pc_dir=$(dirname "$(find "$scratch/moved" -name cj2k.pc)")
export PKG_CONFIG_PATH=$pc_dir
# shellcheck disable=SC2046 # several words
cc -std=c11 -pedantic -Wall -Wextra -Werror "$here/consumer.c" $(pkg-config --cflags --libs cj2k) -o "$scratch/by_pc"
"$scratch/by_pc"
# Everything FFmpeg's configure needs must be in Libs, not Libs.private.
pkg-config --libs cj2k | grep -q -- "-lstdc++"

cmake -S "$here" -B "$scratch/by_cmake" -DCMAKE_PREFIX_PATH="$scratch/moved" > "$scratch/configure.log"
cmake --build "$scratch/by_cmake" > "$scratch/build.log"
"$scratch/by_cmake/consumer"

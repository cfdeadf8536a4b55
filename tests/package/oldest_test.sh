#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# oldest_test.sh: the oldest CMake and GCC that will do, in build/oldest, with CJ2K_FETCH=ON: golden tests, and the installed package.
# Highway's release comes from the Debian archive; it must be the one that cmake/highway.cmake has the hash of. Needs the group portable
# of scripts/install_deps.sh, and PyPI. Exit status 75: one of them is missing.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/oldest
cache=${CJ2K_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cj2k}/ffmpeg
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }
cannot() { echo "no build with the oldest tools: $1"; exit 75; }
# shellcheck source-path=SCRIPTDIR
source "$root/ffmpeg-patch/sources.sh"

command -v g++-11 > /dev/null || cannot "no g++-11"
python3 -m venv "$build/tools"
"$build/tools/bin/pip" install -q cmake==3.22.6 > "$build/pip.log" 2>&1 || cannot "no CMake from PyPI"
fetch_source highway 1.2 trixie || tarball=
[ -n "$tarball" ] || cannot "no sources of Highway 1.2"
sed -n 's/.*SHA256=\([0-9a-f]*\).*/\1/p' "$root/cmake/highway.cmake" | sed "s|\$|  $tarball|" | sha256sum -c
mkdir -p "$build/highway"
tar -xf "$tarball" -C "$build/highway" --strip-components=1

export CC=gcc-11 CXX=g++-11 PATH=$build/tools/bin:$PATH
cmake --preset release -S "$root" -B "$build" -DCJ2K_FETCH=ON -DFETCHCONTENT_SOURCE_DIR_HIGHWAY="$build/highway" -DCJ2K_CUDA=OFF \
  -DCJ2K_TOOLS=OFF -DCJ2K_WERROR=ON
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target cj2k cj2k_other cj2k_check test_golden
(cd "$build/tests" && ./test_golden)
"$root/tests/package/package_test.sh" static "$build" "$build/static" cj2k
"$root/tests/package/package_test.sh" shared "$build" "$build/shared" cj2k_other
! grep -r hwy "$build/static/moved/lib" --include='*.pc' --include='*-targets.cmake' || { echo "the package still asks for Highway"; exit 1; }

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tree.sh OUT
#
# For the Dockerfile: builds the library, cj2k-check and FFmpeg, and lays out in OUT what is added to the runtime image:
# programs, licences, documents, the patches that make this FFmpeg, and the list of packages whose libraries the programs load.
#
# Environment: CUDA=ON|OFF, CUDA_ARCHITECTURES, FFMPEG_VERSION, FFMPEG_PARTS, FFMPEG_FLAGS, JOBS as in the Dockerfile.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${1:?tree.sh OUT}
jobs=${JOBS:-$(nproc)}
# A folder that is mounted here keeps tarballs and objects from one build to the next. Programs are linked anew each time.
export CJ2K_CACHE=/build/cache CCACHE_DIR=/build/cache/ccache CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1
rm -rf "$CJ2K_CACHE"/ffmpeg/{tree,bin}
cd "$root"

cuda=(-DCJ2K_CUDA=OFF)
if [ "$CUDA" = ON ]; then
  nvcc=$(scripts/get_nvcc.sh /opt/cuda)
  cuda=(-DCJ2K_CUDA=ON "-DCJ2K_NVCC=$nvcc" "-DCJ2K_CUDA_ARCHITECTURES=$CUDA_ARCHITECTURES")
fi
cmake -S . -B build/image -G Ninja -DCMAKE_BUILD_TYPE=Release -DCJ2K_BUILD_TESTS=OFF -DCJ2K_TOOLS=OFF -DCJ2K_BUILD_SAMPLES=OFF \
  -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "${cuda[@]}"
cmake --build build/image -j "$jobs" --target cj2k cj2k_check
cmake --install build/image --prefix /opt/cj2k --strip
CJ2K_PREFIX=/opt/cj2k CJ2K_FFMPEG_PARTS=$FFMPEG_PARTS CJ2K_FFMPEG_FLAGS=$FFMPEG_FLAGS JOBS=$jobs \
  ffmpeg-patch/build.sh "$FFMPEG_VERSION"

# --- programs ---

programs=("build/ffmpeg-$FFMPEG_VERSION/ffmpeg" "build/ffmpeg-$FFMPEG_VERSION/ffprobe" /opt/cj2k/bin/cj2k-check)
install -D -m 755 -t "$out/usr/local/bin" "${programs[@]}"

# --- licences and documents ---

docs=$out/usr/share/doc/cj2k
install -D -m 644 -t "$docs" LICENSE README.md CHANGELOG.md
install -D -m 644 -t "$docs/docs" docs/*.md
install -D -m 644 -t "$docs/docs/figures" docs/figures/*.svg

# The sources of this FFmpeg: its tarball, with its checksum, and what is changed in it. The LGPL asks for both.
tarball=$(find "$CJ2K_CACHE/ffmpeg/source" -name "ffmpeg_$FFMPEG_VERSION.*.orig.tar.?z" | sort -V | tail -n 1)
tree=$(find "$CJ2K_CACHE/ffmpeg/tree" -maxdepth 1 -name "$FFMPEG_VERSION-*" -type d | head -n 1)
sources=$out/usr/share/doc/ffmpeg-j2k_cuda
install -D -m 644 -t "$sources" "$tree"/src/{LICENSE.md,COPYING.LGPLv2.1,COPYING.LGPLv3,COPYING.GPLv2,COPYING.GPLv3} \
  ffmpeg-patch/{libcj2kenc.c,j2k_transcode_bsf.c,components.sh,sources.sh,build.sh}
while read -r patch; do
  install -D -m 644 "$patch" "$sources/${patch#ffmpeg-patch/}"
done < "$tree/.patched"
{
  printf 'tarball: %s, of the Debian archive\n' "${tarball##*/}"
  printf 'sha256: %s\n' "$(sha256sum < "$tarball" | cut -d' ' -f1)"
  sed 's|^ffmpeg-patch/|patch: |' "$tree/.patched"
  "$out/usr/local/bin/ffmpeg" -version | sed -n '1s/ Copyright.*//p; /^configuration/p'
} > "$sources/SOURCE"

# --- packages of the shared libraries ---

# package_of FILE: the package that owns it, by its path with or without /usr, or by its link.
package_of() {
  local file path
  file=$(realpath "$1")
  for path in "$file" "${file#/usr}" "$1"; do
    if dpkg-query -S "$path" 2> /dev/null; then break; fi
  done | sed -n '1s/:.*//p'
}
ldd "${programs[@]}" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | sort -u | while read -r library; do
  package=$(package_of "$library")
  [ -n "$package" ] || { echo "tree.sh: $library is in no package" >&2; exit 1; }
  echo "$package"
done | sort -u > "$docs/packages"

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# build.sh [--full]
#
# Builds the image of the Dockerfile without a Docker engine, as localhost/cj2k:1 in a storage of its own (storage.sh). The
# base image is made from the distribution's packages, so that no registry is needed.
#
# Without --full: no CUDA backend, and the part of FFmpeg that tests need. --full: the image as users build it, twice, the
# second time as localhost/cj2k:2 with an empty cache, so that the layers can be compared.
# Exit status 75: this machine cannot build images; the last line says why.
#
# Environment: CJ2K_CACHE and CCACHE_DIR as for ffmpeg-patch/build.sh; JOBS; CJ2K_IMAGE_BASE, a base image to pull instead.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/storage.sh"
full=0
[ "${1:-}" != --full ] || full=1
work=$root/build/image
mkdir -p "$work"

say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }
skip() { echo "$*"; exit 75; }

for tool in buildah podman runc mmdebstrap; do
  command -v $tool > /dev/null || skip "no $tool (Debian: scripts/install_deps.sh image)"
done
# buildah makes / private before it unpacks a layer, which only a mount point can be.
mountpoint -q / || skip "the root of this machine is no mount point (a chroot?): buildah fails with \"remount /: invalid argument\""
# A container of nothing shows whether this user may mount and have namespaces at all.
probe=$(in_storage buildah from scratch 2> "$work/probe.log") || skip "buildah: $(tail -n 1 "$work/probe.log")"
in_storage buildah rm "$probe" > /dev/null

# make_base: debian:bookworm-slim as its makers have it: no manuals, no translations, of the documents the licences.
make_base() {
  local container tar=$work/base.tar
  say "base image from packages"
  rm -f "$tar"
  SOURCE_DATE_EPOCH=1700000000 mmdebstrap --quiet --variant=minbase --include=usr-is-merged \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' --dpkgopt=force-unsafe-io \
    --customize-hook='chroot "$1" apt-get -qq purge -y --auto-remove usrmerge perl > /dev/null' \
    bookworm "$tar" < /dev/null
  container=$(in_storage buildah from scratch)
  in_storage buildah add --quiet "$container" "$tar" / > /dev/null
  in_storage buildah config --cmd /bin/bash --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  in_storage buildah commit --quiet --rm "$container" "$base" > /dev/null
  rm -f "$tar"
}

# build TAG CACHE ARGUMENT...
build() {
  local tag=$1 cache=$2
  shift 2
  mkdir -p "$cache/ffmpeg/source" "$cache/ccache"
  say "image $tag"
  CJ2K_IMAGE_TOOL=buildah CJ2K_BUILDAH_OPTIONS="${storage[*]}" "$root/scripts/build_image.sh" --isolation chroot -t "$tag" \
    --build-arg "BASE=$base" --build-arg "RUNTIME_BASE=$base" --build-arg "JOBS=${JOBS:-$(nproc)}" \
    -v "$cache:/build/cache" "$@" > "$work/${tag##*:}.log" 2>&1 || { tail -n 40 "$work/${tag##*:}.log"; exit 1; }
}

# seed CACHE: puts the tarballs of the cache of ffmpeg-patch/build.sh into another one, whose name is part of their checksums.
seed() {
  local from=${CJ2K_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cj2k}/ffmpeg/source file
  mkdir -p "$1/ffmpeg/source"
  for file in "$from"/*.orig.tar.?z; do
    [ -e "$file" ] || continue
    cp -n "$file" "$1/ffmpeg/source/"
    sed 's|  .*/|  /build/cache/ffmpeg/source/|' "$file.sha256" > "$1/ffmpeg/source/${file##*/}.sha256"
  done
}

base=${CJ2K_IMAGE_BASE:-localhost/debian:bookworm-slim}
if [ -z "${CJ2K_IMAGE_BASE:-}" ] && ! in_storage podman image exists "$base"; then make_base; fi
in_storage podman --runtime runc --cgroup-manager cgroupfs run --rm --network none --ulimit nofile=1024:1024 \
  --ulimit nproc=1024:1024 "$base" true > "$work/probe.log" 2>&1 || skip "podman: $(tail -n 1 "$work/probe.log")"

seed "$work/cache"
arguments=()
compilers=${CCACHE_DIR:-}
if [ -z "$compilers" ] && command -v ccache > /dev/null; then compilers=$(ccache --get-config cache_dir); fi
if [ -n "$compilers" ]; then
  mkdir -p "$compilers"
  arguments=(-v "$compilers:/build/cache/ccache")
fi
if [ $full = 0 ]; then
  build localhost/cj2k:1 "$work/cache" "${arguments[@]}" --build-arg CUDA=OFF --build-arg FFMPEG_PARTS=tests
else
  # In a chroot the machine's CUDA toolkit is not there; one in the place where a CUDA base image has it saves fetching it.
  if [ -x /usr/local/cuda/bin/nvcc ]; then arguments+=(-v /usr/local/cuda:/usr/local/cuda:ro); fi
  build localhost/cj2k:1 "$work/cache" "${arguments[@]}"
  rm -rf "$work/cache2"
  seed "$work/cache2"
  if [ -x /usr/local/cuda/bin/nvcc ]; then arguments=(-v /usr/local/cuda:/usr/local/cuda:ro); else arguments=(); fi
  build localhost/cj2k:2 "$work/cache2" "${arguments[@]}"
fi
in_storage podman image prune --force > /dev/null # stages, and what the last run has left
say "done"

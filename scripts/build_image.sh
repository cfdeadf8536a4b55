#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# build_image.sh [OPTION...]
#
# Builds the image of the Dockerfile with labels (version, revision, time) and reproducible layers: all times are those of the
# last commit, so that the same checkout and the same packages of the distribution give the same layers. By docker (BuildKit)
# if there is one, else by buildah. OPTION... goes to its build command, for example
#
#     scripts/build_image.sh -t libcj2k --build-arg CUDA=OFF
#     scripts/build_image.sh -t libcj2k --build-arg BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04 --build-arg RUNTIME_BASE=ubuntu:24.04
#
# Environment: SOURCE_DATE_EPOCH (default: the last commit's time), CJ2K_IMAGE_TOOL (docker or buildah), and
# CJ2K_BUILDAH_OPTIONS, options of buildah that come before its command.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case ${1:-} in -h | --help) sed -n '5,16p' "$0" | cut -c3-; exit ;; esac
tool=${CJ2K_IMAGE_TOOL:-$(command -v docker > /dev/null && echo docker || echo buildah)}
if ! command -v "$tool" > /dev/null; then
  echo "build_image.sh: neither docker nor buildah is installed (Debian: scripts/install_deps.sh image)" >&2
  exit 1
fi

in_git() { git -C "$root" "$@" 2> /dev/null; }
epoch=${SOURCE_DATE_EPOCH:-$(in_git log -1 --format=%ct || date +%s)}
revision=$(in_git rev-parse HEAD || echo unknown)
if [ -n "$(in_git status --porcelain || true)" ]; then revision+=-dirty; fi
version=$(sed -n 's/^#define CJ2K_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)$/\2/p' "$root/libcj2k/include/cj2k.h" | paste -sd.)
arguments=(
  --build-arg "VERSION=$version" --build-arg "REVISION=$revision" --build-arg "SOURCE_DATE_EPOCH=$epoch"
  --build-arg "CREATED=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)"
)
case $tool in
  docker)
    exec docker build "${arguments[@]}" --output type=docker,rewrite-timestamp=true "$@" "$root" ;;
  buildah)
    read -ra options <<< "${CJ2K_BUILDAH_OPTIONS:-}"
    # HEALTHCHECK is part of Docker's format alone.
    exec buildah "${options[@]}" bud --format docker --timestamp "$epoch" "${arguments[@]}" "$@" "$root" ;;
  *)
    echo "build_image.sh: CJ2K_IMAGE_TOOL=$tool is not docker or buildah" >&2
    exit 1 ;;
esac

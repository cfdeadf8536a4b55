#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# install_deps.sh [core|test|ffmpeg|all|bench]...    (default core)
#
# Installs missing Debian packages with apt: for the library (core), for its tests and sanitizers (test), for building
# FFmpeg (ffmpeg), for the plots of benchmarks (bench, which is not part of all). It asks no questions. If packages are
# missing, it needs root or sudo without a password.
set -euo pipefail

readonly core="g++ cmake ninja-build pkg-config libhwy-dev libtbb-dev"
readonly test="doctest-dev libboost-context-dev libopenjp2-tools grokj2k-tools ffmpeg python3 python3-pytest
  python3-pytest-xdist clang libclang-rt-14-dev"
readonly ffmpeg="gcc make nasm patch xz-utils util-linux debian-archive-keyring ca-certificates libopenjp2-7-dev
  zlib1g-dev ccache python3 mediainfo"
readonly bench="python3-matplotlib"

wanted=()
for group in "${@:-core}"; do
  # shellcheck disable=SC2206 # the lists are split into words
  case $group in
    core) wanted+=($core) ;;
    test) wanted+=($core $test) ;;
    ffmpeg) wanted+=($core $ffmpeg) ;;
    bench) wanted+=($bench) ;;
    all) wanted+=($core $test $ffmpeg) ;;
    *) sed -n '5,9p' "$0" | cut -c3- >&2; exit 2 ;;
  esac
done

missing=()
for package in $(printf '%s\n' "${wanted[@]}" | sort -u); do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  sudo -n true 2> /dev/null || {
    echo "install_deps.sh: run as root: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo -n)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=5 -o DPkg::Lock::Timeout=600 "$@"; }

echo "installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for attempt in 1 2 3; do
  # A fresh container has no package lists, and old lists name packages that no longer exist.
  if apt update > "$log" 2>&1 < /dev/null &&
     apt install -y --no-install-recommends "${missing[@]}" > "$log" 2>&1 < /dev/null; then
    exit 0
  fi
  echo "install_deps.sh: attempt $attempt failed: $(tail -n 1 "$log")" >&2
  sleep $((attempt * 5))
done
cat "$log" >&2
exit 1

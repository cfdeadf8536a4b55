#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# install_deps.sh [core|tools|test|aarch64|windows|portable|packages|ffmpeg|ffmpeg_optional|ffmpeg_full|service|image|cluster|
#                  site|python|fresh|readers|all|bench]...
# (default core)
#
# Installs missing Debian packages with apt: for the library (core), for cj2k, the command line tool (tools), for the tests
# and sanitizers (test), for the tests on 64-bit ARM (aarch64), for building for Windows and the tests there (windows), for
# programs that run on any Linux and builds with the oldest compiler (portable), for the test of the Debian packages (packages),
# for building FFmpeg (ffmpeg), for more of its components (ffmpeg_optional, and ffmpeg_full for build.sh --full), for
# samples/service and its tests (service), for the tests of the image (image) and of samples/cluster (cluster), for the
# documentation as a site (site), for the Python package and its tests (python), for tests on a fresh Debian 12 (fresh), for
# Netflix Photon, which reads our MXF files in tests (readers), for benchmarks' plots and visual metrics (bench). all: without
# portable, ffmpeg_full, fresh, readers and bench. Of aarch64, windows, ffmpeg_optional, ffmpeg_full, image, cluster, fresh and
# readers, what the archive lacks is left out.
# It asks no questions. If packages are missing, it needs root or sudo without a password.
set -euo pipefail

readonly core="g++ cmake ninja-build pkg-config libhwy-dev"
readonly tools="libavcodec-dev libavutil-dev libtiff-dev"
readonly test="$tools doctest-dev libboost-context-dev libopenjp2-tools grokj2k-tools openjph-tools ffmpeg python3 python3-pytest
  python3-pytest-xdist python3-numpy clang libclang-rt-14-dev git unifdef spin man-db mandoc
  bsdextrautils strace python3-jpylyzer abigail-tools python3-clang"
readonly aarch64="g++-aarch64-linux-gnu qemu-user-static"
readonly windows="g++-mingw-w64-x86-64-posix libz-mingw-w64-dev wine64 nasm make xz-utils bzip2 debian-archive-keyring"
readonly portable="g++-11 make nasm xz-utils bzip2 debian-archive-keyring python3-venv"
readonly debian="lintian mmdebstrap"
readonly ffmpeg="gcc make nasm patch xz-utils util-linux debian-archive-keyring ca-certificates libopenjp2-7-dev
  zlib1g-dev ccache python3 mediainfo"
readonly ffmpeg_optional="libzimg-dev libdav1d-dev libxml2-dev libfreetype-dev libharfbuzz-dev libfontconfig-dev"
readonly ffmpeg_full="$ffmpeg_optional libgnutls28-dev libsrt-gnutls-dev libsoxr-dev libopus-dev libmp3lame-dev libvpx-dev
  libsvtav1enc-dev libopenh264-dev libwebp-dev libass-dev liblcms2-dev libsnappy-dev libbz2-dev liblzma-dev clang"
readonly image="buildah podman runc mmdebstrap"
readonly service="python3 python3-pytest python3-pytest-xdist python3-rq python3-redis python3-prometheus-client
  python3-yaml redis-server util-linux"
readonly cluster="slurmctld slurmd slurm-client munge python3-yaml python3-pip"
readonly site="python3 python3-pip python3-pytest"
readonly python="python3 python3-dev python3-venv pybind11-dev python3-numpy python3-pytest python3-pil libopenjp2-tools"
readonly fresh="mmdebstrap git"
readonly readers="default-jre-headless libjaxb-java libslf4j-java libactivation-java libjsr305-java"
readonly bench="python3-matplotlib python3-numpy libjxl-devtools"

wanted=()
optional=()
for group in "${@:-core}"; do
  # shellcheck disable=SC2206 # the lists are split into words
  case $group in
    core) wanted+=($core) ;;
    packages) wanted+=($debian) ;;
    aarch64) optional+=($aarch64) ;;
    windows) optional+=($windows) ;;
    portable) wanted+=($core $test $portable) ;;
    tools) wanted+=($core $tools) ;;
    test) wanted+=($core $test) ;;
    ffmpeg) wanted+=($core $ffmpeg) ;;
    ffmpeg_optional) optional+=($ffmpeg_optional) ;;
    ffmpeg_full) optional+=($ffmpeg_full) ;;
    service) wanted+=($service) ;;
    image) optional+=($image) ;;
    cluster) optional+=($cluster) ;;
    site) wanted+=($site) ;;
    python) wanted+=($core $python) ;;
    fresh) optional+=($fresh) ;;
    readers) optional+=($readers) ;;
    bench) wanted+=($bench) ;;
    all) wanted+=($core $test $ffmpeg $service $python); optional+=($aarch64 $windows $ffmpeg_optional $image $cluster) ;;
    *) sed -n '5,18p' "$0" | cut -c3- >&2; exit 2 ;;
  esac
done

not_installed() { # PACKAGES...
  local package
  for package in $(printf '%s\n' "$@" | sort -u); do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || echo "$package"
  done
}
mapfile -t missing < <(not_installed "${wanted[@]}")
mapfile -t optional < <(not_installed "${optional[@]}")
[ $((${#missing[@]} + ${#optional[@]})) -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  sudo -n true 2> /dev/null || {
    echo "install_deps.sh: run as root: apt-get install ${missing[*]} ${optional[*]}" >&2
    [ ${#missing[@]} = 0 ]
    exit
  }
  as_root=(sudo -n)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=5 -o DPkg::Lock::Timeout=600 "$@"; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
available() { apt-cache show "$1" > /dev/null 2>&1; }
for attempt in 1 2 3; do
  # A fresh container has no package lists, and old lists name packages that no longer exist.
  if apt update > "$log" 2>&1 < /dev/null; then
    packages=("${missing[@]}")
    for package in "${optional[@]}"; do
      if available "$package"; then packages+=("$package"); else echo "no package $package, going on without it"; fi
    done
    [ ${#packages[@]} -gt 0 ] || exit 0
    echo "installing ${packages[*]}"
    if apt install -y --no-install-recommends "${packages[@]}" > "$log" 2>&1 < /dev/null; then exit 0; fi
  fi
  echo "install_deps.sh: attempt $attempt failed: $(tail -n 1 "$log")" >&2
  sleep $((attempt * 5))
done
cat "$log" >&2
exit 1

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# wheel.sh WHEEL [SUITE]: pip installs a wheel of the Python package on a Debian (default bookworm) that has Python and a decoder, and
# no compiler, and it works. For a wheel for aarch64 it is Debian's arm64, by qemu-user. Exit status 75: this machine can make none, the
# last line says why.
set -euo pipefail
wheel=$(realpath "${1:?wheel.sh WHEEL [SUITE]}") suite=${2:-bookworm}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
skip() { echo "no fresh machine: $*"; exit 75; }
command -v mmdebstrap > /dev/null || skip "no mmdebstrap (Debian: scripts/install_deps.sh fresh)"
[ "$(id -u)" = 0 ] || skip "this user may not mount (not root)"

options=(--variant=minbase) native='' run=()
if [[ $wheel = *_aarch64.whl && $(uname -m) != aarch64 ]]; then
  # Python is ARM's. What it calls, the decoder, and qemu are of this machine, and packages are unpacked alone, without their scripts:
  # so the kernel need not know of qemu.
  native=:$(dpkg --print-architecture) run=(qemu-aarch64-static)
  options=(--variant=extract --architectures="arm64,${native#:}" --include="qemu-user-static$native")
fi
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
chmod 755 "$fresh"
packages=python3,python3-pip-whl,libopenjp2-tools$native
case $suite in jammy | noble) options+=("--components=main,universe") ;; esac # Ubuntu 22.04 and 24.04
[ "$suite" != jammy ] || packages+=,python3-distutils
mmdebstrap --quiet "${options[@]}" --include="$packages" --dpkgopt=force-unsafe-io \
  "$suite" "$fresh" < /dev/null || skip "mmdebstrap made none"
cp "$here/../package/wheel_test.py" "$wheel" "$fresh"
pip=$(cd "$fresh" && echo usr/share/python-wheels/pip-*.whl)
python() { chroot "$fresh" "${run[@]}" /usr/bin/python3 "$@"; }
PIP_ROOT_USER_ACTION=ignore python "$pip/pip" install -q --no-index --target /site-packages "/$(basename "$wheel")"
PYTHONPATH=/site-packages python /wheel_test.py

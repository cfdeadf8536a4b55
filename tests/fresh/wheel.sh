#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# wheel.sh WHEEL [SUITE]: a wheel of the Python package works on a Debian (default bookworm) that has Python and a decoder, and no
# compiler. Exit status 75: this machine can make none, the last line says why.
set -euo pipefail
wheel=$(realpath "${1:?wheel.sh WHEEL [SUITE]}") suite=${2:-bookworm}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
skip() { echo "no fresh machine: $*"; exit 75; }
command -v mmdebstrap > /dev/null || skip "no mmdebstrap (Debian: scripts/install_deps.sh fresh)"
[ "$(id -u)" = 0 ] || skip "this user may not mount (not root)"

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
chmod 755 "$fresh"
mmdebstrap --quiet --variant=minbase --include=python3,libopenjp2-tools --dpkgopt=force-unsafe-io "$suite" "$fresh" \
  < /dev/null || skip "mmdebstrap made none"
mkdir "$fresh/site-packages"
cp "$here/../package/wheel_test.py" "$fresh"
cp "$wheel" "$fresh/wheel.zip"
chroot "$fresh" python3 -m zipfile -e wheel.zip site-packages
chroot "$fresh" env PYTHONPATH=/site-packages python3 /wheel_test.py

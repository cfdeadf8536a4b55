#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# run.sh NAME COMMAND...
#
# Runs a command of the checkout on a fresh Debian 12, or what CJ2K_FRESH_SUITE names, such as trixie or Ubuntu's jammy: a chroot of variant
# minbase in build/NAME, made for it and removed afterwards. It has this checkout without its builds, the network, /dev and /sys of this
# machine, and no caches. Its root is no mount point. What the command leaves in build/logs is then in build/logs/NAME.
# Exit status: that of the command; 75: this machine has no such chroot, the last line says why.
#
# Environment, for the command: JOBS, CJ2K_FUZZ_SECONDS, http_proxy, https_proxy, no_proxy, PIP_INDEX_URL, PIP_CERT.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
name=${1:?run.sh NAME COMMAND...}
fresh=$root/build/$name
shift
skip() { echo "no fresh machine: $*"; exit 75; }

command -v mmdebstrap > /dev/null || skip "no mmdebstrap (Debian: scripts/install_deps.sh fresh)"
[ "$(id -u)" = 0 ] || skip "this user may not mount (not root)"
# Mounts and processes of the chroot are in namespaces of their own, and end with them.
namespace=(unshare --mount --pid --fork --kill-child)
why=$("${namespace[@]}" mount -t proc proc /proc 2>&1) || skip "$why"

rm -rf "$fresh"
trap 'rm -rf "$fresh"' EXIT
mkdir -p "$fresh"
suite=${CJ2K_FRESH_SUITE:-bookworm}
components=main
case $suite in jammy | noble) components=main,universe ;; esac # Ubuntu 22.04 and 24.04, if their archive's key is here
mmdebstrap --quiet --variant=minbase --include=apt --components="$components" --dpkgopt=force-unsafe-io "$suite" "$fresh" < /dev/null ||
  skip "mmdebstrap made none"
cp -L /etc/resolv.conf /etc/hosts "$fresh/etc/"
mkdir "$fresh/checkout"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T -) |
  tar -x -C "$fresh/checkout"

environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
for variable in JOBS CJ2K_FUZZ_SECONDS http_proxy https_proxy no_proxy PIP_INDEX_URL; do
  if [ -n "${!variable:-}" ]; then environment+=("$variable=${!variable}"); fi
done
if [ -f "${PIP_CERT:-}" ]; then
  cp "$PIP_CERT" "$fresh/root/pip.crt"
  environment+=(PIP_CERT=/root/pip.crt)
fi
status=0
# shellcheck disable=SC2016 # the inner shells expand it
"${namespace[@]}" bash -euc 'mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; mount --rbind /sys "$0/sys"
  chroot "$0" "$@"' "$fresh" env -i "${environment[@]}" sh -c 'cd /checkout && exec "$@"' sh "$@" < /dev/null || status=$?
rm -rf "$root/build/logs/$name"
if [ -d "$fresh/checkout/build/logs" ]; then cp -r "$fresh/checkout/build/logs" "$root/build/logs/$name"; fi
exit $status

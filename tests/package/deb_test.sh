#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# deb_test.sh BUILD_DIR SCRATCH_DIR: makes the Debian packages and installs them into a fresh Debian, which has nothing else of
# what they need. There a program is compiled with either library, and pictures are encoded and checked; then the packages
# go, and nothing of them is left. Takes about two minutes, most of them apt's.
set -euo pipefail
build=$1 scratch=$2
here=$(cd "$(dirname "$0")" && pwd)

skip() { echo "SKIPPED: $*"; exit 77; }
for tool in lintian mmdebstrap dpkg-deb; do
  command -v $tool > /dev/null || skip "no $tool (Debian: scripts/install_deps.sh packages)"
done
mmdebstrap --simulate --variant=extract bookworm /dev/null < /dev/null > /dev/null 2>&1 ||
  skip "mmdebstrap cannot work here (needs root or user namespaces, and a mirror)"

cmake --build "$build" --target deb > /dev/null
rm -rf "$scratch"
mkdir -p "$scratch/cj2k"
cp "$build"/deb/*.deb "$here/consumer.c" "$scratch/cj2k"
(cd "$scratch/cj2k" && ls -- *.deb)
[ "$(find "$scratch/cj2k" -name '*.deb' | wc -l)" = 3 ] || { echo "not three packages"; exit 1; }
lintian --allow-root --fail-on warning,error "$scratch"/cj2k/*.deb

cat > "$scratch/cj2k/inside.sh" << 'INSIDE'
set -eux
export DEBIAN_FRONTEND=noninteractive
cd /cj2k
apt-get -qq install -y --no-install-recommends /cj2k/*.deb > install.log 2>&1 || { tail -n 20 install.log; exit 1; }

cc -Wall -Werror consumer.c $(pkg-config --cflags --libs cj2k) -o with_shared
./with_shared
ldd with_shared | grep -q 'libcj2k\.so\.0 => /'
cc -Wall -Werror consumer.c $(pkg-config --cflags cj2k) /usr/lib/*/libcj2k.a \
  $(pkg-config --static --libs cj2k | sed 's/-lcj2k//') -o with_static
./with_static
if ldd with_static | grep cj2k; then exit 1; fi

{ printf 'P6 64 48 255\n'; head -c $((64 * 48 * 3)) /usr/bin/cc; } > in.ppm
cj2k -i in.ppm -o out.j2k --lossless --psnr 2>&1 | grep 'PSNR inf'
cj2k -i in.ppm -o out.jph --target_bytes 4000
cj2k-check out.j2k out.jph > check.log
[ "$(stat -c %s out.jph)" -le 4000 ]
for page in cj2k cj2k-check; do test -s /usr/share/man/man1/$page.1.gz; done

apt-get -qq purge -y libcj2k0 libcj2k-dev cj2k-tools > remove.log 2>&1
if dpkg -l | grep cj2k; then exit 1; fi
left=$(find / -xdev \( -path /proc -o -path /cj2k -o -path /var/log \) -prune -o -name '*cj2k*' -print)
[ -z "$left" ]
if ./with_shared; then exit 1; fi
./with_static
INSIDE
mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io --format=null --include=g++,libc6-dev,pkg-config \
  --customize-hook="copy-in $scratch/cj2k /" --customize-hook='chroot "$1" sh /cj2k/inside.sh' bookworm - < /dev/null
echo "installed, used, removed"

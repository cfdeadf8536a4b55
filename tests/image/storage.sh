# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Where the tests of the image keep their images, and how they call buildah and podman: a storage below build/, and no
# cgroups, systemd or Docker engine. build.sh and conftest.py use the same folder.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export BUILDAH_ISOLATION=chroot

# overlay where the kernel and the file system have it; vfs copies the tree for each layer.
driver=vfs
if grep -qw overlay /proc/filesystems 2> /dev/null && [ "$(id -u)" = 0 ] &&
  [ "$(stat -f -c %T "$root" 2> /dev/null)" != overlayfs ]; then
  driver=overlay
fi
storage=(--storage-driver "$driver" --root "$root/build/image/storage" --runroot "$root/build/image/run")

# in_storage buildah|podman ARGUMENT...
in_storage() {
  local tool=$1
  shift
  mkdir -p "$root/build/image"
  "$tool" "${storage[@]}" "$@"
}

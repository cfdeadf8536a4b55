# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # tarball is a result; the caller sets cache and defines say
#
# Upstream tarballs of the Debian archive, which apt fetches and verifies with a configuration of its own.

# Prints the Debian mirror of this machine, found in one-line and deb822 sources.
debian_mirror() {
  local uri
  uri=$(
    { sed -n 's/^deb\(-src\)\?[[:space:]]\+\(\[[^]]*\][[:space:]]*\)\?\([^[:space:]]*\).*/\3/p' \
        /etc/apt/sources.list /etc/apt/sources.list.d/*.list
      sed -n 's/^URIs:[[:space:]]*//p' /etc/apt/sources.list.d/*.sources | tr ' ' '\n'
    } 2>/dev/null | grep -E '^https?://.*/debian/?$' | head -n 1
  ) || true
  echo "${uri:-http://deb.debian.org/debian}"
}

# private_apt DIR TOOL ARGUMENT...: runs an apt tool with lists, cache and sources of its own in DIR. A mirror may be a snapshot,
# whose lists of sid have expired. Their signatures are verified all the same.
private_apt() {
  local dir=$1 tool=$2; shift 2
  "$tool" -o Dir::Etc::sourcelist="$dir/debian.sources" -o Dir::Etc::sourceparts=- \
    -o Dir::State="$dir" -o Dir::State::lists="$dir/lists" -o Dir::State::status="$dir/status" \
    -o Dir::Cache="$dir/cache" -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 -o Acquire::Check-Valid-Until=false "$@"
}

# fetch_source PACKAGE VERSION SUITE...: puts the newest tarball of PACKAGE VERSION.* into the cache and its path into
# `tarball`, which is empty if no suite has one.
fetch_source() {
  local package=$1 version=$2 dir mirror full upstream complete=yes
  shift 2
  mkdir -p "$cache/source"
  tarball=$(find "$cache/source" -name "${package}_$version.*.orig.tar.?z*" ! -name "*.sha256" | sort -V | tail -n 1)
  if [[ -n $tarball ]] && (cd "$cache/source" && sha256sum --quiet -c "$tarball.sha256" >/dev/null 2>&1); then
    say "source ${tarball##*/} from the cache"
    return
  fi

  tarball=
  dir=$(mktemp -d)
  mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/out"
  : >"$dir/status"
  mirror=$(debian_mirror)
  printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$mirror" "$*" \
    /usr/share/keyrings/debian-archive-keyring.gpg >"$dir/debian.sources"
  say "$package $version: reading the source index of $* at $mirror"
  private_apt "$dir" apt-get -qq update >"$dir/log" 2>&1 || complete=no
  full=$(private_apt "$dir" apt-cache showsrc --only-source "$package" 2>/dev/null |
    sed -n 's/^Version: //p' | grep -E "^([0-9]+:)?${version//./\\.}\.[0-9]" | sort -V | tail -n 1) || true
  if [[ -z $full ]]; then
    [[ $complete == yes ]] || { tail -n 5 "$dir/log" >&2; return 1; }
    rm -rf "$dir"
    return
  fi
  upstream=${full#*:}
  upstream=${upstream%-*}
  say "fetching $package $upstream"
  # Fetch only the upstream tarball. The signed index has its checksum, and Debian's patches are not wanted.
  (cd "$dir/out" && private_apt "$dir" apt-get -qq source --download-only --tar-only "$package=$full" >"$dir/log" 2>&1) ||
    { tail -n 5 "$dir/log" >&2; return 1; }
  tarball=$(find "$dir/out" -name "${package}_$upstream.orig.tar.?z*")
  [[ -n $tarball ]] && mv "$tarball" "$cache/source/" || return 1
  tarball=$cache/source/${tarball##*/}
  sha256sum "$tarball" >"$tarball.sha256"
  rm -rf "$dir"
}

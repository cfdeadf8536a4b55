# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # build.sh reads this file: root, tarball and kAbsent are its variables
#
# build.sh --export DIR VERSION: the patches as FFmpeg's developers read them, for one version and without a trace of others.
# Each folder is a series of its own, which "git am" applies to the release of that version:
#
#     DIR/libcj2k    the encoder, its manual, and the bitstream filter j2k_transcode
#     DIR/mxf        the MXF muxer and demuxer, from ffmpeg-patch/mxf (not for 5.1)
#     DIR/jpeg2000   faults around JPEG 2000 elsewhere, from ffmpeg-patch/jpeg2000 (not for 5.1)
#     DIR/fate-suite samples that FATE tests of the series read, made with this encoder
#
# What differs between releases comes in here: entries of the Changelog and the versions of the libraries.

readonly kIdentity="libcj2k authors"
readonly kMail=libcj2k@localhost
readonly kDate="2026-11-01T00:00:00+0000"

# defined NAME TREE: whether a header of FFmpeg defines the macro NAME.
defined() { grep -rqE --include='*.h' "^[[:space:]]*#[[:space:]]*define[[:space:]]+$1\b" "$2/libavcodec" "$2/libavutil"; }

# version_of LIBRARY TREE: LIBAVCODEC_VERSION_INT or the like, as a number.
version_of() {
  local library=$1 tree=$2 part number=0 files=("$2/lib$1/version"*.h)
  for part in MAJOR MINOR MICRO; do
    number=$((number * 256 + $(sed -n "s/^#define LIB${library^^}_VERSION_$part *\([0-9]*\)$/\1/p" "${files[@]}" | head -n 1)))
  done
  echo "$number"
}

# strip_shims TREE < libcj2kenc.c: without the lines for other versions. What a header of TREE defines is known, and so are
# the versions of its libraries. CONFIG_* stay.
strip_shims() {
  local tree=$1 name symbols=() source
  source=$(cat)
  while read -r name; do
    if defined "$name" "$tree"; then symbols+=("-D$name=1"); else symbols+=("-U$name"); fi
  done < <(grep -oP '^#(ifdef|ifndef)\s+\K\w+' <<<"$source" | sort -u)
  for name in avcodec avutil; do symbols+=("-DLIB${name^^}_VERSION_INT=$(version_of $name "$tree")"); done
  source=$(perl -pe 's/AV_VERSION_INT\((\d+), *(\d+), *(\d+)\)/($1 << 16) + ($2 << 8) + $3/ge if /^#(el)?if/' <<<"$source" |
    unifdef -x 2 "${symbols[@]}")
  # The flag whose bit means the opposite from 7.1 on is a shim without a value there.
  if ! defined FF_CODEC_CAP_INIT_THREADSAFE "$tree"; then
    source=$(perl -0pe 's/#define FF_CODEC_CAP_INIT_THREADSAFE 0\n//; s/\bFF_CODEC_CAP_INIT_THREADSAFE\s*\|\s*//g' <<<"$source")
  fi
  grep -q 'LIBAVCODEC_VERSION_INT' <<<"${source//defines LIBAVCODEC_VERSION_INT/}" ||
    source=$(sed '/^#include "version\.h"/d' <<<"$source")
  # One file for all versions it is no more.
  sed -e '/^ \* One file for FFmpeg/d' -e '/^$/N;/^\n$/D' <<<"$source"
}

# add_changelog TREE PLACE LINE: a line at the top, in the middle (as sixth) or at the end of the list of the newest version. Each
# series has its place, so that all fit one tree.
add_changelog() {
  awk -v line=" $3" -v place="$2" '
    versions == 1 && (place == "end" && /^$/ || place == "middle" && ++entries == 6) { print line; ++versions }
    { print }
    /^version / && ++versions == 1 && place == "top" { print line; ++versions }' "$1/Changelog" >"$1/Changelog.new"
  mv "$1/Changelog.new" "$1/Changelog"
}

# bump_minor TREE LIBRARY
bump_minor() {
  perl -i -pe 's/^(#define LIB\w+_VERSION_MINOR +)(\d+)/$1 . ($2 + 1)/e; s/^(#define LIB\w+_VERSION_MICRO +)\d+/${1}100/' \
    "$1/lib$2/version.h"
}

# tree_git TREE ARGUMENT...: git with settings and an identity of its own.
tree_git() {
  local tree=$1
  shift
  GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=$kIdentity GIT_AUTHOR_EMAIL=$kMail \
    GIT_AUTHOR_DATE=$kDate GIT_COMMITTER_NAME=$kIdentity GIT_COMMITTER_EMAIL=$kMail GIT_COMMITTER_DATE=$kDate \
    git -C "$tree" "$@"
}

# add_source TREE NAME NEIGHBOUR: a file of ours, and who maintains it: the line before that of NEIGHBOUR.
add_source() {
  local tree=$1 name=$2 neighbour=$3
  strip_shims "$tree" <"$root/ffmpeg-patch/$name" >"$tree/libavcodec/$name"
  sed -i "/^  $neighbour /i\\  $(printf '%-37s' "$name") $kIdentity" "$tree/MAINTAINERS"
}

# commit_mail TREE NUMBER: commits what is there with the text of a mail of j2k_cuda.patch, but for the last paragraph, which is
# about the patch for all versions.
commit_mail() {
  local tree=$1 mail=$1/.git/mails/$2 subject
  subject=$(tree_git "$tree" mailinfo "$mail.body" /dev/null <"$mail" | sed -n 's/^Subject: //p')
  tree_git "$tree" commit -q -m "$subject" -m "$(sed '/^The patch fits/,$d' "$mail.body")"
}

# make_libcj2k TREE: commits the encoder, its manual, and the bitstream filter.
make_libcj2k() {
  local tree=$1 mails=$1/.git/mails
  mkdir -p "$mails"
  tree_git "$tree" mailsplit -o"$mails" "$root/ffmpeg-patch/j2k_cuda.patch" >"$tree/.git/mailsplit.log"
  quietly "$tree/.git/patch.log" patch -d "$tree" -p1 --fuzz=0 --no-backup-if-mismatch -i "$mails/0001"
  add_source "$tree" libcj2kenc.c 'libcodec2\.c'
  add_changelog "$tree" top "avcodec: add libcj2k, a JPEG 2000 encoder, which is also j2k_cuda"
  bump_minor "$tree" avcodec
  tree_git "$tree" add -A
  tree_git "$tree" reset -q doc/encoders.texi
  commit_mail "$tree" 0001
  tree_git "$tree" commit -q -a -m "doc/encoders: add libcj2k"
  quietly "$tree/.git/patch.log" patch -d "$tree" -p1 --fuzz=0 --no-backup-if-mismatch -i "$mails/0002"
  add_source "$tree" j2k_transcode_bsf.c 'jpeg2000\*'
  add_changelog "$tree" top "avcodec: add the bitstream filter j2k_transcode"
  bump_minor "$tree" avcodec
  tree_git "$tree" add -A
  commit_mail "$tree" 0002
}

# make_series TREE PLACE PATCH...: commits the patches, and the release's own lines with those that add a component. The version
# of libavcodec is raised by the series libcj2k alone.
make_series() {
  local tree=$1 place=$2 patch subject library
  shift 2
  for patch in "$@"; do
    quietly "$tree/.git/am.log" tree_git "$tree" am -q "$patch"
    subject=$(tree_git "$tree" log -1 --format=%s)
    [[ $subject == *": add the "* ]] || continue
    library=${subject%%/*}
    add_changelog "$tree" "$place" "$library: add ${subject#*: add }"
    [[ $library == avcodec ]] || bump_minor "$tree" "$library"
    tree_git "$tree" commit -q -a --amend --no-edit
  done
}

# export_series DIR VERSION
export_series() {
  local to=$1 version=$2 tree tool series patches names
  for tool in git unifdef perl; do
    command -v "$tool" >/dev/null || die "--export needs $tool (Debian: apt-get install $tool)"
  done
  # shellcheck disable=SC2046 # each suite is one word
  fetch_source ffmpeg "$version" $(suites_of "$version") || die "cannot fetch FFmpeg $version"
  [[ -n $tarball ]] || { say "$version: SKIPPED, no suite of ($(suites_of "$version")) has it"; exit "$kAbsent"; }
  tree=$(mktemp -d)
  # shellcheck disable=SC2064 # the path of now
  trap "rm -rf '$tree'" EXIT
  say "$version: unpacking"
  # What the patches change, and the headers: git takes long for all of FFmpeg.
  mapfile -t patches < <(patches_of mxf "$version"; patches_of jpeg2000 "$version")
  mapfile -t names < <(awk '/^--- a\// && !(substr($2, 3) in ours) { print "*/" substr($2, 3) }
      /^--- / { from = $2 }
      /^\+\+\+ b\// && from == "/dev/null" { ours[substr($2, 3)] }' "$root/ffmpeg-patch/j2k_cuda.patch" "${patches[@]}" |
    grep -v -e '^\*/Changelog$' -e '^\*/libav[a-z]*/[^/]*\.h$' -e '^\*/tests/ref/' | sort -u) # tar finds a file for one pattern only
  tar -xf "$tarball" -C "$tree" --strip-components=1 --wildcards '*/Changelog' '*/MAINTAINERS' '*/libav*/*.h' "${names[@]}"
  tree_git "$tree" -c init.defaultBranch=main init -q
  tree_git "$tree" add -A
  tree_git "$tree" commit -q -m "FFmpeg $version"
  tree_git "$tree" tag release
  mkdir -p "$to"
  to=$(cd "$to" && pwd)
  for series in libcj2k mxf jpeg2000; do
    rm -rf "${to:?}/$series"
    tree_git "$tree" checkout -q --detach release
    if [[ $series == libcj2k ]]; then
      make_libcj2k "$tree"
    else
      mapfile -t patches < <(patches_of "$series" "$version")
      make_series "$tree" "$([[ $series == mxf ]] && echo end || echo middle)" "${patches[@]}"
    fi
    tree_git "$tree" format-patch -q --zero-commit --signature=libcj2k -o "$to/$series" release
  done
  rm -rf "${to:?}/fate-suite"
  if ((${#patches[@]})); then cp -r "$root/ffmpeg-patch/fate-suite" "$to/"; fi
  (cd "$to" && ls -1 -- */0*.patch)
}

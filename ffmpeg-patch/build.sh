#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Builds FFmpeg with the encoder j2k_cuda:
#
#     ffmpeg-patch/build.sh [--full] [5.1 | 7.1 | 8.1 | 9.0 | all]...       (default 7.1)
#     ffmpeg-patch/build.sh --windows [7.1]                                 ffmpeg.exe for x86-64 Windows
#     ffmpeg-patch/build.sh --export DIR 5.1 | 7.1 | 8.1 | 9.0              the series of one version, for "git am"
#
# --full builds every component of FFmpeg's own, not only what post-production uses around JPEG 2000. The programs ffmpeg,
# ffprobe and, for the tests, api_test and cuda_frames_test go to build/ffmpeg-VERSION/. They are under the LGPL, version 3 or
# later; with --enable-gpl in CJ2K_FFMPEG_FLAGS under the GPL, version 3 or later.
# --windows takes compiler and library from scripts/build_windows.sh and leaves ffmpeg.exe and ffprobe.exe, which need no other
# DLL but those of Windows, in build/windows/ffmpeg-VERSION/, with scripts ffmpeg and ffprobe that run them by wine. They have
# none of the libraries in components.sh, no OpenJPEG and no CUDA frames.
# The sources are the upstream tarballs of the Debian archive. apt fetches and verifies them with a configuration of its own,
# so the apt of the machine stays unchanged. Root is needed only if packages are missing.
# Exit status: 0 built; 1 an error; 2 wrong usage; 3 a version is in none of its suites (the others are built); 75 nothing to
# build for Windows with.
#
# Environment:
#     CJ2K_PREFIX   folder of an installed libcj2k; unset, or with --windows: this checkout is built and installed into
#                   build/install or build/windows/install
#     CJ2K_CUDA     AUTO (default), ON or OFF: the CUDA backend of the libcj2k that is built; AUTO: where an nvcc is found
#     CJ2K_NVCC     the nvcc for it; default: the one that CMake finds
#     CJ2K_CACHE    folder of the cache; default ${XDG_CACHE_HOME:-$HOME/.cache}/cj2k
#     CJ2K_NVCODEC  1 (default): with CUDA frames, if nv-codec-headers can be fetched from the Debian archive like FFmpeg's
#                   source (headers of the NVIDIA driver's interface, no library); 0: without CUDA frames
#     CJ2K_FFMPEG_PARTS   all (default); tests: only what tests/ffmpeg cannot do without, in less time; full: as --full
#     CJ2K_FFMPEG_FLAGS   more flags for FFmpeg's configure, such as "--enable-gpl --enable-libx264"
#     CJ2K_FFMPEG_PATCHES more patches for FFmpeg, separated by blanks
#     CJ2K_MXF_PATCH      1 (default): with the patches in mxf/ (5.1 has none); 0: with FFmpeg's own MXF muxer and demuxer. Those
#                         in jpeg2000/ are always applied, but to 5.1
#     CJ2K_STOP_PATCH     1 (default): with stop.patch: ffmpeg ends soon after a signal (5.1 has no queue that it would need it
#                         for); 0: frames that wait are encoded first
#     JOBS          number of parallel jobs; default the number of cores
#
# The cache has three parts, which are safe to delete. A hash of all that goes into a tree or into programs names them:
#     source/       the tarball that apt has verified, and its SHA-256
#     tree/         FFmpeg, configured and compiled; a change of libcj2k or our sources recompiles them and links again
#     bin/          the programs; their hash covers libcj2k.a, our sources and the tree
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${CJ2K_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cj2k}/ffmpeg
jobs=${JOBS:-$(nproc)}
readonly root cache jobs
readonly kAbsent=3
readonly kHeaders=(cj2k.h cj2k_film.h cj2k_transcode.h cj2k_params.def)
readonly kSources=(libcj2kenc.c j2k_transcode_bsf.c)

say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }
die() { printf 'build.sh: %s\n' "$*" >&2; exit 1; }

# quietly LOG COMMAND...: runs a long command with its output in LOG. If it fails, shows the last 30 lines.
quietly() {
  local log=$1; shift
  "$@" >"$log" 2>&1 || { tail -n 30 "$log" >&2; die "failed: $* (all of it: $log)"; }
}

hash_of() { sha256sum | cut -c1-16; }

# --- the command line ------------------------------------------------------------------------------------------------

usage() { sed -n '5,37p' "${BASH_SOURCE[0]}" | cut -c3- >&2; exit 2; }

versions=()
export_to=
windows=
while [[ $# -gt 0 ]]; do
  case $1 in
    5.1 | 7.1 | 8.1 | 9.0) versions+=("$1") ;;
    all) versions+=(5.1 7.1 8.1 9.0) ;;
    --full) CJ2K_FFMPEG_PARTS=full ;;
    --windows) windows=windows ;;
    --export) export_to=${2:-}; [[ -n $export_to ]] || usage; shift ;;
    *) usage ;;
  esac
  shift
done
[[ -z $export_to || ${#versions[@]} == 1 ]] || usage
[[ ${#versions[@]} -gt 0 ]] || versions=(7.1)
[[ -z $windows || $export_to${versions[*]} == 7.1 && ${CJ2K_FFMPEG_PARTS:-all} != full ]] || usage

compiler=gcc
exe=
programs=(ffmpeg ffprobe api_test cuda_frames_test)
if [[ -n $windows ]]; then
  compiler=x86_64-w64-mingw32-gcc-posix
  exe=.exe
  programs=(ffmpeg.exe ffprobe.exe)
  CJ2K_NVCODEC=0
fi
readonly windows compiler exe programs

# shellcheck source-path=SCRIPTDIR
source "$root/ffmpeg-patch/components.sh"
# shellcheck source-path=SCRIPTDIR
source "$root/ffmpeg-patch/export.sh"
# shellcheck source-path=SCRIPTDIR
source "$root/ffmpeg-patch/sources.sh"

# --- packages --------------------------------------------------------------------------------------------------------

have_packages() {
  local tool
  for tool in gcc g++ make nasm pkg-config patch xz apt-get flock; do
    command -v "$tool" >/dev/null || return 1
  done
  [[ -n ${CJ2K_PREFIX:-} ]] || command -v cmake >/dev/null || return 1
  [[ -e /usr/share/keyrings/debian-archive-keyring.gpg ]] || return 1
  pkg-config --exists libopenjp2 zlib libhwy
}

# have_library CONDITION: whether pkg-config finds it or, if it is a path, whether it exists.
have_library() {
  if [[ $1 == /* ]]; then [[ -e $1 ]]; else pkg-config --exists "$1"; fi
}

# missing_libraries: the lines of kLibraries that are not installed.
missing_libraries() {
  local line
  [[ ${CJ2K_FFMPEG_PARTS:-all} != tests ]] || return 0
  for line in "${kLibraries[@]}"; do have_library "${line%%|*}" || echo "$line"; done
}

install_packages() {
  local condition flag package what
  install_required
  if [[ -n $(missing_libraries) && -x $root/scripts/install_deps.sh ]]; then
    say "installing libraries for FFmpeg"
    local groups=(ffmpeg_optional)
    [[ ${CJ2K_FFMPEG_PARTS:-all} != full ]] || groups+=(ffmpeg_full)
    "$root/scripts/install_deps.sh" "${groups[@]}" || true
  fi
  while IFS='|' read -r condition flag package what; do
    say "no $condition (Debian: $package): FFmpeg is built without $what"
  done < <(missing_libraries)
}

install_required() {
  have_packages && return
  local helper=$root/scripts/install_deps.sh
  [[ -x $helper ]] || die "packages are missing; on Debian: apt-get install build-essential cmake ninja-build nasm \
pkg-config patch xz-utils util-linux debian-archive-keyring libopenjp2-7-dev zlib1g-dev libhwy-dev ccache"
  say "installing missing packages"
  "$helper" ffmpeg
  have_packages || die "packages are still missing after $helper ffmpeg"
}

# --- the sources -----------------------------------------------------------------------------------------------------

suites_of() {
  case $1 in
    5.1) echo bookworm ;;
    7.1) echo trixie ;;
    8.1 | 9.0) echo sid experimental ;;
  esac
}

# Puts the path of the nv-codec-headers tarball into `headers`, which is empty if FFmpeg is built without CUDA frames. Every
# FFmpeg from 5.1 on accepts version 12.1.
fetch_headers() {
  headers=
  [[ ${CJ2K_NVCODEC:-1} == 1 ]] || return 0
  fetch_source nv-codec-headers 12.1 trixie || tarball=
  headers=$tarball
  [[ -n $headers ]] || say "no nv-codec-headers: building without CUDA frames"
}

# --- libcj2k ---------------------------------------------------------------------------------------------------------

# Puts the folder of the installed library into `prefix`, its archive into `library` and its cj2k.pc into `pc`.
build_library() {
  if [[ -n $windows ]]; then
    prefix=$root/build/windows/install
    say "libcj2k: building for Windows"
    "$root/scripts/build_windows.sh" cj2k cj2k_tool || exit
    mkdir -p "$prefix/lib"
    quietly "$prefix.log" cmake --install "$root/build/windows" --component cj2k --prefix "$prefix"
    cp "$root/build/windows/root/lib/libhwy.a" "$prefix/lib/"
  elif [[ -n ${CJ2K_PREFIX:-} ]]; then
    prefix=$(cd "$CJ2K_PREFIX" && pwd)
  else
    local build=$root/build/libcj2k generator=()
    prefix=$root/build/install
    mkdir -p "$build"
    if command -v ninja >/dev/null; then generator=(-G Ninja); fi
    say "libcj2k: building"
    quietly "$build.log" cmake -S "$root" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
      -DCJ2K_BUILD_TESTS=OFF -DCJ2K_TOOLS=OFF -DCJ2K_BUILD_SAMPLES=OFF -DCMAKE_INSTALL_LIBDIR=lib "-DCJ2K_CUDA=${CJ2K_CUDA:-AUTO}" ${CJ2K_NVCC:+"-DCJ2K_NVCC=$CJ2K_NVCC"}
    sed -n 's/^-- cj2k: /libcj2k: /p' "$build.log" | while IFS= read -r line; do say "$line"; done
    quietly "$build.log" cmake --build "$build" --target cj2k -j "$jobs"
    quietly "$build.log" cmake --install "$build" --prefix "$prefix"
  fi
  library=$(find "$prefix" -name libcj2k.a | head -n 1)
  pc=$(find "$prefix" -name cj2k.pc | head -n 1)
  [[ -n $library && -n $pc && -e $prefix/include/cj2k.h && -e $prefix/include/cj2k_params.def ]] ||
    die "no libcj2k.a, cj2k.pc, cj2k.h and cj2k_params.def in $prefix"
}

# --- FFmpeg ----------------------------------------------------------------------------------------------------------

# Puts the flags for the configure of a version into `flags`.
set_flags() {
  local version=$1 line flag more=()
  flags=("${kFlags[@]}" "${parts[@]}")
  if [[ ${CJ2K_FFMPEG_PARTS:-all} != tests ]]; then
    for line in "${kLibraries[@]}"; do
      flag=${line#*|}
      flag=${flag%%|*}
      if [[ $version == 5.1 && $flag == --enable-libharfbuzz ]]; then continue; fi # drawtext of 5.1 works without
      if have_library "${line%%|*}"; then flags+=("$flag"); fi
    done
  fi
  if [[ -n $windows ]]; then flags+=("${kWindowsFlags[@]}"); fi
  if [[ -n $headers ]]; then
    flags+=("${kCudaFlags[@]}" "${cuda_parts[@]}")
    if [[ ${CJ2K_FFMPEG_PARTS:-all} == tests ]]; then
      : # only the tests of CUDA frames, which need no filter of FFmpeg's own
    elif command -v clang >/dev/null; then
      flags+=("${kCudaFilters[@]}")
    else
      say "no clang: FFmpeg is built without scale_cuda and its other CUDA filters"
    fi
  fi
  mapfile -t more < <(printf '%s' "${CJ2K_FFMPEG_FLAGS:-}" | xargs -r -n 1 printf '%s\n') # knows quotes
  flags+=("${more[@]}")
}

# install_library_into DIR: copies the library to a path that is the same for every checkout. Files with the same content
# keep their time, so that make sees what has changed.
install_library_into() {
  local to=$1 header
  mkdir -p "$to/include" "$to/lib/pkgconfig"
  for header in "${kHeaders[@]}"; do
    cmp -s "$prefix/include/$header" "$to/include/$header" || cp "$prefix/include/$header" "$to/include/"
  done
  cmp -s "$library" "$to/lib/libcj2k.a" || cp "$library" "$to/lib/"
  if [[ -n $windows ]]; then cp "${library%/*}/libhwy.a" "$to/lib/"; fi
  sed -e "s|^prefix=.*|prefix=$to|" -e "s|^libdir=.*|libdir=$to/lib|" "$pc" >"$to/lib/pkgconfig/cj2k.pc"
}

# patches_of SERIES VERSION: the paths of the patches in ffmpeg-patch/SERIES, in order. They are made for 8.1 and fit 9.0; 5.1 has
# none. For 7.1, mxf-7.1.patch comes first: what 8.1 changed in the muxer. Patches in SERIES/7.1 are in place of those of the same
# name there, and it has no alpha modes.
patches_of() {
  local patch
  [[ $2 != 5.1 ]] || return 0
  if [[ $1 == mxf && $2 == 7.1 ]]; then echo "$root/ffmpeg-patch/mxf-7.1.patch"; fi
  for patch in "$root/ffmpeg-patch/$1"/*.patch; do
    if [[ $2 == 7.1 && $patch == *-premultiplied-alpha.patch ]]; then continue; fi
    if [[ -e ${patch%/*}/$2/${patch##*/} ]]; then patch=${patch%/*}/$2/${patch##*/}; fi
    echo "$patch"
  done
}

# prepare_tree VERSION TREE: unpacks, patches and configures FFmpeg in TREE. Steps that are done already are left out.
prepare_tree() {
  local version=$1 tree=$2 cc=$compiler stamp patch source
  if [[ ! -e $tree/.patched ]]; then
    say "$version: unpacking and patching"
    rm -rf "$tree/src"
    mkdir -p "$tree/src"
    tar -xf "$tarball" -C "$tree/src" --strip-components=1
    for patch in "${patches[@]}"; do
      quietly "$tree/patch.log" patch -d "$tree/src" -p1 --fuzz=0 -i "$patch"
    done
    check_manual "$version" "$tree"
    printf '%s\n' "${patches[@]#"$root/"}" >"$tree/.patched"
  fi
  for source in "${kSources[@]}"; do
    cmp -s "$root/ffmpeg-patch/$source" "$tree/src/libavcodec/$source" ||
      cp "$root/ffmpeg-patch/$source" "$tree/src/libavcodec/"
  done

  if [[ -n $headers && ! -e $tree/nvcodec/lib/pkgconfig/ffnvcodec.pc ]]; then
    mkdir -p "$tree/nvcodec/src"
    tar -xf "$headers" -C "$tree/nvcodec/src" --strip-components=1
    quietly "$tree/nvcodec.log" make -C "$tree/nvcodec/src" "PREFIX=$tree/nvcodec" install
  fi
  install_library_into "$tree/cj2k"
  if command -v ccache >/dev/null; then cc="ccache $compiler"; fi
  stamp=$(printf '%s\n' "$cc" | cat - "$tree/cj2k/lib/pkgconfig/cj2k.pc" | hash_of)
  if [[ $(cat "$tree/.configured" 2>/dev/null) != "$stamp" ]]; then
    say "$version: configuring"
    # For Windows it finds libcj2k alone.
    if [[ -n $windows ]]; then export PKG_CONFIG_LIBDIR=$tree/cj2k/lib/pkgconfig; fi
    (cd "$tree/src" && PKG_CONFIG_PATH=$tree/cj2k/lib/pkgconfig:$tree/nvcodec/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} \
      quietly "$tree/configure.log" ./configure "--cc=$cc" "${flags[@]}")
    echo "$stamp" >"$tree/.configured"
  fi
}

# The manual is not built here, but the sections of the encoder and the filter must be valid texinfo.
check_manual() {
  local version=$1 tree=$2 name
  command -v makeinfo >/dev/null || return 0
  printf '\\input texinfo\n@settitle manual\n@top manual\n@include encoders.texi\n@include bitstream_filters.texi\n@bye\n' \
    >"$tree/manual.texi"
  quietly "$tree/manual.log" makeinfo --html --no-split --no-validate -I "$tree/src/doc" -o "$tree/manual.html" "$tree/manual.texi"
  for name in j2k_cuda j2k_transcode; do
    grep -q "$name" "$tree/manual.html" || die "$version: the manual has no section $name"
  done
}

# build_tool TREE NAME LINKER_FLAG...: builds a test program like FFmpeg's own tools, linked against all its libraries.
build_tool() {
  local tree=$1 name=$2
  shift 2
  cp "$root/tests/ffmpeg/$name.c" "$tree/src/tools/"
  rm -f "$tree/src/tools/$name"
  quietly "$tree/$name.log" make -C "$tree/src" "TOOLS=tools/$name" "ELIBS=$* \$(FF_DEP_LIBS) \$(FF_EXTRALIBS)" "tools/$name"
}

# make does not know the headers and the archive outside of the source. If they are newer, the files that depend on them are
# removed first.
compile_tree() {
  local version=$1 tree=$2 source object header
  for source in "${kSources[@]}"; do
    object=$tree/src/libavcodec/${source%.c}.o
    for header in "${kHeaders[@]}"; do
      if [[ $tree/cj2k/include/$header -nt $object ]]; then rm -f "$object"; fi
    done
  done
  if [[ $tree/cj2k/lib/libcj2k.a -nt $tree/src/ffmpeg_g$exe ]]; then rm -f "$tree/src/"{ffmpeg,ffprobe}{,_g}"$exe"; fi
  say "$version: compiling with $jobs jobs"
  quietly "$tree/make.log" make -C "$tree/src" -j "$jobs" "ffmpeg$exe" "ffprobe$exe"
  if [[ -z $windows ]]; then build_tool "$tree" api_test -Wl,--wrap={av_frame_alloc,cj2k_encoder_receive_packet}; fi
  if [[ -n $headers ]]; then
    build_tool "$tree" cuda_frames_test -rdynamic -Wl,--wrap={dlopen,cj2k_encoder_open,cj2k_encoder_send_frame}
  fi
  if grep -E -A 4 '(libcj2kenc|j2k_transcode_bsf)\.c:.*warning' "$tree/make.log" >&2; then
    if [[ -n ${CI:-} ]]; then die "$version: warnings in ${kSources[*]}"; fi
  fi
}

# prune NAME TREE: keeps only TREE of the trees of a name, which have about 200 MB each, and the last 8 sets of programs.
prune() {
  local name=$1 keep=$2 old
  for old in "$cache/tree/$name-"*/; do
    old=${old%/}
    if [[ -d $old && $old != "$keep" ]]; then flock -n "$old.lock" rm -rf "$old" && rm -f "$old.lock"; fi
  done
  # shellcheck disable=SC2012 # the names are hashes, safe for ls
  ls -1dt "$cache/bin/"* 2>/dev/null | tail -n +9 | xargs -r rm -rf
}

build() {
  local version=$1 name=${windows:+$windows-}$1 to=$root/build/${windows:+$windows/}ffmpeg-$1
  local start=$SECONDS module tree_key bin_key tree bin program flags=()
  local patches=("$root/ffmpeg-patch/j2k_cuda.patch")
  mapfile -t -O 1 patches < <(
    if [[ ${CJ2K_MXF_PATCH:-1} == 1 ]]; then patches_of mxf "$version"; fi
    patches_of jpeg2000 "$version"
  )
  if [[ ${CJ2K_STOP_PATCH:-1} == 1 && $version != 5.1 ]]; then patches+=("$root/ffmpeg-patch/stop.patch"); fi
  # shellcheck disable=SC2206 # paths without blanks
  patches+=(${CJ2K_FFMPEG_PATCHES:-})
  set_flags "$version"
  tree_key=$({
    printf '%s\n' "${tarball##*/}" "${headers##*/}" "${flags[@]}" "$($compiler -dumpmachine)" "$($compiler -dumpfullversion)"
    pkg-config --modversion libopenjp2 zlib
    if [[ ${CJ2K_FFMPEG_PARTS:-all} != tests ]]; then
      { # without those that are missing
        for module in "${kLibraries[@]%%|*}"; do pkg-config --modversion "${module%% *}" || true; done
        clang -dumpversion || true
      } 2>/dev/null
    fi
    cat "$tarball.sha256" "${patches[@]}"
  } | sed "s|$cache||" | hash_of)
  bin_key=$({
    printf '%s\n' "$version" "$tree_key"
    pkg-config --modversion libhwy || true
    sed "s|$prefix||g" "$pc" # without its path
    cat "${kSources[@]/#/$root/ffmpeg-patch/}" "$root/ffmpeg-patch/build.sh" "$root/tests/ffmpeg/"{api_test,cuda_frames_test}.c "$library"
    cat "${kHeaders[@]/#/$prefix/include/}"
  } | hash_of)
  tree=$cache/tree/$name-$tree_key
  bin=$cache/bin/$name-$bin_key

  if [[ -d $bin ]]; then
    say "$version: programs from the cache"
    touch "$bin"
  else
    mkdir -p "$tree" "$cache/bin"
    (
      flock 9
      prepare_tree "$version" "$tree"
      compile_tree "$version" "$tree"
      rm -rf "$bin.part"
      mkdir -p "$bin.part"
      cp "$tree/src/ffmpeg$exe" "$tree/src/ffprobe$exe" "$bin.part/"
      if [[ -z $windows ]]; then cp "$tree/src/tools/api_test" "$bin.part/"; fi
      if [[ -n $headers ]]; then cp "$tree/src/tools/cuda_frames_test" "$bin.part/"; fi
      rm -rf "$bin"
      mv "$bin.part" "$bin"
    ) 9>"$tree.lock"
    prune "$name" "$tree"
  fi

  mkdir -p "$to"
  for program in "${programs[@]}"; do
    [[ -e $bin/$program ]] || { rm -f "$to/$program"; continue; }
    cp "$bin/$program" "$to/$program.part"
    mv "$to/$program.part" "$to/$program"
    if [[ -n $windows ]]; then # as build_windows.sh makes it for cj2k.exe
      sed "s|[^ ]*/cj2k.exe|$to/$program|" "$root/build/windows/cj2k" >"$to/${program%.exe}"
      chmod +x "$to/${program%.exe}"
    fi
  done
  [[ $("$to/ffmpeg" -hide_banner -h encoder=j2k_cuda) == "Encoder j2k_cuda"* ]] || die "$version: ffmpeg has no j2k_cuda"
  [[ $("$to/ffmpeg" -hide_banner -h bsf=j2k_transcode) == "Bit stream filter j2k_transcode"* ]] ||
    die "$version: ffmpeg has no j2k_transcode"
  say "$version: $("$to/ffmpeg" -version | sed -n '1s/ Copyright.*//p') in ${to#"$root"/}, $((SECONDS - start)) s"
}

# --- main ------------------------------------------------------------------------------------------------------------

if [[ -n $export_to ]]; then
  export_series "$export_to" "${versions[0]}"
  exit
fi
install_packages
build_library
fetch_headers
result=0
for version in "${versions[@]}"; do
  # shellcheck disable=SC2046 # each suite is one word
  fetch_source ffmpeg "$version" $(suites_of "$version") || die "cannot fetch FFmpeg $version"
  if [[ -n $tarball ]]; then
    build "$version"
  else
    say "$version: SKIPPED, no suite of ($(suites_of "$version")) has an FFmpeg $version"
    result=$kAbsent
  fi
done
exit "$result"

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # the samples use the variables
# What the samples share. Each sets `root` and reads this file.
#
# Environment: CJ2K_FFMPEG   the ffmpeg to use, ffprobe beside it; default: build/ffmpeg-7.1/ffmpeg, built where it is missing

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# usage: prints the head of the script, from its fifth line to the first line that is no comment, and ends with STATUS.
usage() {
  sed -n '5,/^[^#]/p' "$0" | sed -n 's/^# \{0,1\}//p'
  exit "${1:-0}"
}

# Puts the programs into `ffmpeg` and `ffprobe`.
find_ffmpeg() {
  ffmpeg=${CJ2K_FFMPEG:-$root/build/ffmpeg-7.1/ffmpeg}
  if [[ -z ${CJ2K_FFMPEG:-} && ! -x $ffmpeg ]]; then
    "$root/scripts/install_deps.sh" core ffmpeg
    "$root/ffmpeg-patch/build.sh" 7.1
  fi
  [[ -x $ffmpeg ]] || die "$ffmpeg is no program (CJ2K_FFMPEG)"
  ffprobe=$(dirname "$ffmpeg")/ffprobe
  [[ $("$ffmpeg" -hide_banner -h encoder=j2k_cuda 2>&1) == "Encoder j2k_cuda"* ]] || die "$ffmpeg has no encoder j2k_cuda"
}

run_ffmpeg() { "$ffmpeg" -hide_banner -nostdin -y "$@"; }
quiet_ffmpeg() { run_ffmpeg -v error "$@"; }

# stream FIELD INPUT...: a field of the first video stream.
stream() {
  local field=$1
  shift
  "$ffprobe" -v error -select_streams v:0 -show_entries "stream=$field" -of default=nw=1:nk=1 "$@" | head -n 1
}

# is_sequence INPUT: a pattern such as frames/%06d.dpx.
is_sequence() { [[ ${1##*/} == *%*d* ]]; }

# set_input INPUT RATE: puts the options that open it into `input`. RATE is for image sequences, whose first number is found.
set_input() {
  local name=${1##*/} folder first begin end
  input=(-i "$1")
  is_sequence "$1" || { [[ -e $1 ]] || die "there is no $1"; return 0; }
  folder=$(dirname "$1")
  [[ -d $folder ]] || die "there is no folder $folder"
  begin=${name%%%*}
  end=${name#*%}
  end=${end#*d}
  first=$(find "$folder" -maxdepth 1 -name "$begin*$end" -printf '%f\n' | sed "s/^$begin\([0-9]*\)$end\$/\1/" |
    sort -n | head -n 1)
  [[ $first =~ ^[0-9]+$ ]] || die "no file is named like $1"
  input=(-start_number "$((10#$first))" -framerate "$2" -i "$1")
}

# seconds_since START: with START from EPOCHREALTIME.
seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'; }

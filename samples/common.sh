# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # the samples use the variables
# What the samples share. Each sets `root` and reads this file.
#
# Environment: CJ2K_FFMPEG   the ffmpeg to use, ffprobe beside it; default: build/ffmpeg-7.1/ffmpeg (to read HTJ2K: 8.1), built
#                            where it is missing

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# usage: prints the head of the script, from its fifth line to the first line that is no comment, and ends with STATUS.
usage() {
  sed -n '5,/^[^#]/p' "$0" | sed -n 's/^# \{0,1\}//p'
  exit "${1:-0}"
}

# find_ffmpeg [VERSION [WHY]]: puts the programs into `ffmpeg` and `ffprobe`, which it builds where they are missing.
find_ffmpeg() {
  local version=${1:-7.1}
  ffmpeg=${CJ2K_FFMPEG:-$root/build/ffmpeg-$version/ffmpeg}
  if [[ -z ${CJ2K_FFMPEG:-} && ! -x $ffmpeg ]]; then
    echo "FFmpeg $version${2:+, $2,} is built first, in ${ffmpeg%/*}: about ten minutes with two cores"
    "$root/scripts/install_deps.sh" core ffmpeg
    "$root/ffmpeg-patch/build.sh" "$version"
  fi
  [[ -x $ffmpeg ]] || die "$ffmpeg is no program (CJ2K_FFMPEG)"
  ffprobe=$(dirname "$ffmpeg")/ffprobe
  [[ $("$ffmpeg" -hide_banner -h encoder=j2k_cuda 2>&1) == "Encoder j2k_cuda"* ]] || die "$ffmpeg has no encoder j2k_cuda"
}

# needs_ht_decoder: ends where this FFmpeg does not read films of HTJ2K.
needs_ht_decoder() {
  local version
  version=$("$ffmpeg" -hide_banner -version | sed -n 's/^ffmpeg version n\{0,1\}\([0-9]*\)\..*/\1/p')
  [[ -z $version ]] || ((version >= 8)) || die "HTJ2K cannot be proven with $ffmpeg: from 8.1 on FFmpeg reads films of it"
}

run_ffmpeg() { "$ffmpeg" -hide_banner -nostdin -y "$@"; }
quiet_ffmpeg() { run_ffmpeg -v error "$@"; }

# stream FIELD INPUT...: a field of the first video stream.
stream() {
  local field=$1
  shift
  "$ffprobe" -v error -select_streams v:0 -show_entries "stream=$field" -of default=nw=1:nk=1 "$@" | sed -n 1p
}

# is_sequence INPUT: a pattern such as frames/%06d.dpx.
is_sequence() { [[ ${1##*/} == *%*d* ]]; }

# set_input INPUT RATE: puts the options that open it into `input`, and what input_field tells into `probed`. RATE is for image
# sequences, whose first number is found.
set_input() {
  input=(-i "$1")
  if is_sequence "$1"; then set_sequence "$1" "$2"; else [[ -e $1 ]] || die "there is no $1"; fi
  probed=$("$ffprobe" -v error -select_streams v:0 -of default=nw=1 -show_entries \
    stream=pix_fmt,width,height,avg_frame_rate,field_order,color_space,color_primaries,color_transfer "${input[@]}") ||
    die "$1 cannot be read, see above"
}

# input_field FIELD: of the first video stream of the input.
input_field() { sed -n "/^$1=/{s///p;q}" <<<"$probed"; }

set_sequence() {
  local name=${1##*/} folder first begin end
  folder=$(dirname "$1")
  [[ -d $folder ]] || die "there is no folder $folder"
  begin=${name%%%*}
  end=${name#*%}
  end=${end#*d}
  first=$(find "$folder" -maxdepth 1 -name "$begin*$end" -printf '%f\n' | sed "s/^$begin\([0-9]*\)$end\$/\1/" |
    sort -n | sed -n 1p)
  [[ $first =~ ^[0-9]+$ ]] || die "no file is named like $1"
  input=(-start_number "$((10#$first))" -framerate "$2" -i "$1")
}

# seconds_since START: with START from EPOCHREALTIME.
seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'; }

# Puts the checker into `check`: CJ2K_CHECK, the installed one, or one that is built in build/check.
find_check() {
  local built=$root/build/check/tools/check/cj2k-check
  check=${CJ2K_CHECK:-$(command -v cj2k-check || echo "$built")}
  if [[ ! -x $check && -z ${CJ2K_CHECK:-} ]]; then
    "$root/scripts/install_deps.sh" core
    echo "building cj2k-check"
    { cmake -S "$root" -B "$root/build/check" -DCMAKE_BUILD_TYPE=Release -DCJ2K_CUDA=OFF -DCJ2K_BUILD_TESTS=OFF -DCJ2K_TOOLS=OFF \
        -DCJ2K_BUILD_SAMPLES=OFF && cmake --build "$root/build/check" -j "$(nproc)" --target cj2k_check; } \
      >"$root/build/check.log" 2>&1 || die "cj2k-check cannot be built: $root/build/check.log"
  fi
  [[ -x $check ]] || die "$check is no program (CJ2K_CHECK)"
}

# set_rate INPUT WANTED RATES...: puts the frame rate of the output into `rate`: WANTED, or the one of RATES that is nearest to
# that of INPUT, at most 0.1 % off. Then `retime` are the options before -i that play each frame at that rate, and `rate_filter` is a filter
# that repeats or drops frames where WANTED is another rate.
set_rate() {
  local source=$1 wanted=$2 have known
  shift 2
  retime=() rate_filter=
  have=$(input_field avg_frame_rate)
  rate=$(awk -v have="$have" -v known="$*" 'BEGIN {
    split(have, h, "/"); n = split(known, k, " ")
    for (i = 1; i <= n; ++i) {
      split(k[i] "/1", r, "/"); x = h[1] / h[2] * r[2] / r[1] - 1
      if (x * x < 1e-6 && (nearest == "" || x * x < least)) { nearest = k[i]; least = x * x }
    }
    print nearest }')
  if [[ -n $wanted && $wanted != "$rate" ]]; then
    for known in "$@"; do
      if [[ $known == "$wanted" ]]; then
        rate=$wanted
        rate_filter=fps=$rate,
        echo "frame rate  $have becomes $rate: frames are repeated or dropped"
        return
      fi
    done
    die "--rate $wanted is not one of $*"
  fi
  [[ -n $rate ]] || die "$source has $have frames per second, not one of $*: --rate converts it"
  if [[ $(awk -v r="$rate" -v have="$have" 'BEGIN { split(have, h, "/"); split(r "/1", k, "/"); print h[1] * k[2] == k[1] * h[2] }') == 0 ]]; then
    retime=(-r "$rate")
    echo "frame rate  $have is played as $rate: the duration changes by less than 0.1 %, sound must follow"
  fi
}

# The matrix that the YUV of the input was made with, for the filter scale.
input_matrix() {
  local matrix
  matrix=$(input_field color_space)
  case $matrix in
    bt709 | bt2020nc | smpte170m | bt470bg | smpte240m | fcc) echo "${matrix/bt2020nc/bt2020}" ;;
    *) if [[ $(input_field height) -ge 720 ]]; then echo bt709; else echo smpte170m; fi ;;
  esac
}

# is_kind INPUT KIND: whether the name of a file or sequence ends so.
is_kind() { [[ ${1,,} == *.$2 ]]; }

# refuse_interlaced INPUT: a film with fields needs a choice of its owner's.
refuse_interlaced() {
  case $(input_field field_order) in
    tt | bb | tb | bt) die "$1 is interlaced; first: $ffmpeg -i $1 -vf bwdif -c:v ffv1 progressive.mkv" ;;
  esac
}

# extract_codestreams FOLDER: the frames of its picture.mxf as they are, into j2c/000000.j2c and on.
extract_codestreams() {
  quiet_ffmpeg -i "$1/picture.mxf" -map 0:v:0 -c:v copy -f image2 -start_number 0 "$1/j2c/%06d.j2c"
}

# count_codestreams FOLDER, largest_codestream FOLDER
count_codestreams() { find "$1" -maxdepth 1 -name '*.j2c' | wc -l; }
largest_codestream() { find "$1" -maxdepth 1 -name '*.j2c' -printf '%s\n' | sort -n | tail -n 1; }

# check_track FOLDER PROFILE RATE: cj2k-check on each frame of picture.mxf.
check_track() {
  "$check" --profile "$2" --fps "$3" --quiet "$1/picture.mxf" || die "cj2k-check found what stands above in picture.mxf"
}

# finish_track FOLDER PROFILE RATE: checks picture.mxf, and puts its codestreams into j2c and their number into `frames`.
finish_track() {
  local folder=$1 profile=$2 rate=$3
  extract_codestreams "$folder"
  frames=$(count_codestreams "$folder/j2c")
  [[ $frames -gt 0 ]] || die "no frame was written"
  echo "checking $frames codestreams"
  check_track "$folder" "$profile" "$rate"
}

# write_sound INPUT FOLDER RATE MUXER: the first sound track of INPUT as sound.mxf, as long as the `frames` of the picture, and what
# it is in `sound`; that is empty if there is none. Where `retime` plays the picture faster or slower, sound follows. At rates such
# as 30000/1001 it is up to four frames longer: as many as have a whole number of samples, which IMF asks for.
write_sound() {
  local source=$1 folder=$2 rate=$3 muxer=$4 channels speed have filter
  sound=
  is_sequence "$source" && return
  IFS=, read -r channels _ < <("$ffprobe" -v error -select_streams a:0 -show_entries stream=channels -of csv=p=0 "$source") || return 0
  have=$(input_field avg_frame_rate)
  filter=
  if [[ ${#retime[@]} -gt 0 ]]; then
    speed=$(awk -v r="$rate" -v h="$have" 'BEGIN {
      split(r "/1", a, "/"); split(h, b, "/"); printf "%.0f", 48000 * a[1] / a[2] / b[1] * b[2] }')
    filter=aresample=48000,asetrate=$speed, # asetrate takes whole numbers: 48048 is exact
  fi
  ((channels != 1)) || channels=2 # a soundfield that has a label
  filter+="aresample=48000,apad,atrim=end_sample=$(awk -v n="$frames" -v r="$rate" 'BEGIN {
    split(r "/1", a, "/"); while (n * 48000 * a[2] % a[1]) ++n; printf "%.0f", n * 48000 * a[2] / a[1] }')"
  run_ffmpeg -v warning -i "$source" -map 0:a:0 -af "$filter" -ac "$channels" -c:a pcm_s24le -mxf_audio_edit_rate "$rate" -f "$muxer" \
    "$folder/sound.mxf" || die "ffmpeg failed, see above"
  sound="$channels channels"
}

# needs_package TITLE FOLDER: ends where --package cannot make one.
needs_package() {
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || die "--package needs Python 3.9 or later as python3"
  python3 -B "$root/samples/package.py" check "$1" "$2/package" || die "--package cannot be made, see above"
}

# write_package KIND FOLDER TITLE: moves the tracks of FOLDER into FOLDER/package and writes the package's files beside them. FOLDER
# becomes that folder.
write_package() {
  mkdir -p "$2/package"
  mv "$2/picture.mxf" ${sound:+"$2/sound.mxf"} "$2/package/"
  python3 -B "$root/samples/package.py" "$1" "$3" "$2/package"
  folder=$2/package
  echo "package     $folder"
}

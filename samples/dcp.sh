#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# The tracks of a Digital Cinema Package:
#
#     samples/dcp.sh [--4k] [--size WxH] [--rate FPS] [--bitrate RATE] [--colour NAME] [--trc CURVE] [--package TITLE]
#         INPUT OUTPUT_FOLDER
#
# INPUT is a film such as ProRes, or a sequence of images such as scan/%06d.tiff (at FPS, default 24). The picture is fitted
# into 1998x1080 or 2048x858, whichever is nearer (--4k: twice that; --size: another), with black around it, taken to X'Y'Z'
# with 12 bits, encoded as cinema2k or cinema4k, and checked by cj2k-check frame by frame. OUTPUT_FOLDER gets
#
#     j2c/000000.j2c ...   the codestreams
#     picture.mxf          the picture as a track file (SMPTE ST 429-3)
#     sound.mxf            the first sound track of INPUT, if it has one: 48 kHz, 24 bits, as long as the picture; mono becomes
#                          stereo
#
# With --package both go to OUTPUT_FOLDER/package, with the composition playlist, packing list, asset map and volume index of an
# unencrypted package of that title.
#
# FPS is 24, 25, 30, 48, 50 or 60; 23.976 and the like are played at the whole rate. RATE is at most 250M (default: what
# -cinema_rate safe gives; 240M leaves room for encryption). NAME is what RGB is: auto (as the file says, else rec709),
# rec709, p3d65, p3dci, rec2020. CURVE is the transfer function of its samples, by FFmpeg's name (default: as the file says;
# DPX is taken for bt709, because it says linear whatever it holds). Log needs a LUT before.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR
source "$root/samples/common.sh"

scale=1 size='' wanted='' target=() colour=auto trc='' title=''
while [[ ${1:-} == -* ]]; do
  case $1 in
    -h | --help) usage ;;
    --4k) scale=2; shift ;;
    --size) size=${2:?--size WxH}; shift 2 ;;
    --rate) wanted=${2:?--rate FPS}; shift 2 ;;
    --bitrate) target=(-b:v "${2:?--bitrate RATE}"); shift 2 ;;
    --colour) colour=${2:?--colour NAME}; shift 2 ;;
    --trc) trc=${2:?--trc CURVE}; shift 2 ;;
    --package) title=${2:?--package TITLE}; shift 2 ;;
    *) usage 2 >&2 ;;
  esac
done
[[ $# == 2 ]] || usage 2 >&2
folder=$2
[[ -z $title ]] || needs_package "$title" "$folder"
find_ffmpeg
find_check
set_input "$1" "${wanted:-24}"
refuse_interlaced "$1"
case $(input_field pix_fmt) in xyz*) die "$1 is X'Y'Z' already: ffmpeg -i $1 -c:v j2k_cuda -profile:v cinema2k, without -xyz" ;; esac
if [[ $colour == auto ]]; then
  case $(input_field color_primaries) in
    bt709 | bt2020 | smpte431 | smpte432) ;;
    *) colour=rec709; echo "colour      the file names no primaries that -xyz knows: taken for rec709 (--colour)" ;;
  esac
fi
if [[ -z $trc ]] && is_kind "$1" dpx && [[ $(input_field color_transfer) == linear ]]; then
  trc=bt709
  echo "curve       DPX says linear whatever it holds: taken for bt709 (--trc)"
fi
set_rate "$1" "$wanted" 24 25 30 48 50 60

# flat (1.85) or scope (2.39): the frame that leaves less black.
if [[ -z $size ]]; then
  size=$(awk -v w="$(input_field width)" -v h="$(input_field height)" -v s="$scale" 'BEGIN {
    if (w / h > sqrt(1998 / 1080 * 2048 / 858)) print 2048 * s "x" 858 * s; else print 1998 * s "x" 1080 * s }')
fi
[[ $size =~ ^([0-9]+)x([0-9]+)$ ]] || die "--size $size is not WxH"
width=${BASH_REMATCH[1]} height=${BASH_REMATCH[2]}
if ((width > 2048 || height > 1080)); then profile=cinema4k; else profile=cinema2k; fi

mkdir -p "$folder/j2c"
[[ $(count_codestreams "$folder/j2c") == 0 ]] || die "there are .j2c files in $folder/j2c already"
# Fitted with zscale, whose white is exact; libswscale's is 0.4 % too dark where it makes 16 bits of fewer.
fitted=$(awk -v w="$(input_field width)" -v h="$(input_field height)" -v W="$width" -v H="$height" 'BEGIN {
  s = W / w < H / h ? W / w : H / h; print int(w * s + 0.5) ":" int(h * s + 0.5) }')
if [[ $("$ffmpeg" -hide_banner -h filter=zscale 2>&1) == "Filter zscale"* ]]; then
  matrix=$(input_matrix)
  filter=zscale=$fitted:f=lanczos:m=gbr:r=full
  case $(input_field color_space) in '' | unknown) filter+=:min=${matrix/#bt/}; filter=${filter/smpte/} ;; esac
else
  filter=scale=$fitted:flags=lanczos+accurate_rnd:in_color_matrix=$(input_matrix)
fi
[[ -z $trc ]] || filter+=,setparams=color_trc=$trc
filter="$rate_filter$filter,format=gbrp16le,pad=$width:$height:(ow-iw)/2:(oh-ih)/2"
start=$EPOCHREALTIME
run_ffmpeg -v warning -stats "${retime[@]}" "${input[@]}" -map 0:v:0 -vf "$filter" -c:v j2k_cuda -profile:v "$profile" \
  -xyz "$colour" "${target[@]}" -f mxf_dcp "$folder/picture.mxf" || die "ffmpeg failed, see above"
seconds=$(seconds_since "$start")
finish_track "$folder" "$profile" "$rate"
write_sound "$1" "$folder" "$rate" mxf_dcp
awk -v n="$frames" -v s="$seconds" 'BEGIN { printf "frames      %d in %s s, %.2f fps\n", n, s, n / s }'
echo "bytes       at most $(largest_codestream "$folder/j2c") in a frame, of $((250000000 / 8 / rate)) allowed"
echo "conforms    $profile at $rate fps, $size: cj2k-check finds nothing"
[[ -z $title ]] || write_package dcp "$folder" "$title"
echo "files       $folder/picture.mxf${sound:+, $folder/sound.mxf ($sound)}"

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# The tracks of an Interoperable Master Format package (Application 2E):
#
#     samples/imf.sh [--ht] [--reversible] [--rate FPS] [--bitrate RATE] [--colour NAME] [--package TITLE] INPUT OUTPUT_FOLDER
#
# INPUT is a film such as ProRes, or a sequence of images such as scan/%06d.dpx (at FPS, default 24). Size and depth stay as
# they are, RGB stays RGB, YUV stays YUV (4:2:0 becomes 4:2:2, which IMF asks for); alpha is left out. The profile is imf_2k,
# imf_4k or imf_8k by the size, at RATE (default 250M, 800M, 1600M), or with --reversible imf_2k_r ..., without loss. Main and
# sub level follow from size, frame rate and bit rate. With --ht the pictures are HTJ2K, profile imf_ht or imf_ht_r, which have
# no levels. NAME is what the colours are: auto (as the file says; what it does not say is rec709 from 720 lines on, below
# rec601), rec601_525, rec601_625, rec709, rec2020, rec2020pq, rec2020hlg, p3d65pq. It relabels and converts nothing, but for EXR,
# whose linear light goes through the curve of NAME. cj2k-check checks every frame. OUTPUT_FOLDER gets
#
#     j2c/000000.j2c ...   the codestreams
#     picture.mxf          the picture as a track file (SMPTE ST 2067-5)
#     sound.mxf            the first sound track of INPUT, if it has one: 48 kHz, 24 bits, as long as the picture; mono becomes
#                          stereo
#
# With --package both go to OUTPUT_FOLDER/package, with the composition playlist, packing list, asset map and volume index of a
# package of that title. Application 2E has no 48 frames per second.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR
source "$root/samples/common.sh"

reversible='' wanted='' bitrate='' ht='' colour=auto title=''
while [[ ${1:-} == -* ]]; do
  case $1 in
    -h | --help) usage ;;
    --ht) ht=1; shift ;;
    --reversible) reversible=_r; shift ;;
    --rate) wanted=${2:?--rate FPS}; shift 2 ;;
    --bitrate) bitrate=${2:?--bitrate RATE}; shift 2 ;;
    --colour) colour=${2:?--colour NAME}; shift 2 ;;
    --package) title=${2:?--package TITLE}; shift 2 ;;
    *) usage 2 >&2 ;;
  esac
done
[[ $# == 2 && ! (-n $reversible && -n $bitrate) ]] || usage 2 >&2
folder=$2
[[ -z $title ]] || needs_package "$title" "$folder"
find_ffmpeg
find_check
set_input "$1" "${wanted:-24}"
refuse_interlaced "$1"
set_rate "$1" "$wanted" 24 25 30 48 50 60 120 24000/1001 30000/1001 60000/1001
[[ -z $title || $rate != 48 ]] || die "--package: Application 2E has no 48 frames/s; --rate converts"

# said FIELD DEFAULT: what the file says, else DEFAULT. DPX says linear whatever it holds, and EXR is made what is said here.
said() {
  local value
  value=$(input_field "$1")
  case $value in '' | unknown | reserved | linear) echo "$2" ;; *) echo "$value" ;; esac
}
named=$colour
if [[ $named == auto ]]; then
  case $(input_field height) in
    480 | 486 | 512) named=rec601_525 ;;
    576 | 608) named=rec601_625 ;;
    *) if [[ $(input_field height) -ge 720 ]]; then named=rec709; else named=rec601_525; fi ;;
  esac
fi
case $named in
  rec601_525) primaries=smpte170m trc=bt709 matrix=smpte170m ;;
  rec601_625) primaries=bt470bg trc=bt709 matrix=bt470bg ;;
  rec709) primaries=bt709 trc=bt709 matrix=bt709 ;;
  rec2020) primaries=bt2020 trc=bt2020-10 matrix=bt2020nc ;;
  rec2020pq) primaries=bt2020 trc=smpte2084 matrix=bt2020nc ;;
  rec2020hlg) primaries=bt2020 trc=arib-std-b67 matrix=bt2020nc ;;
  p3d65pq) primaries=smpte432 trc=smpte2084 matrix=$(said color_space bt709) ;; # RGB has none
  *) die "--colour $named is not auto, rec601_525, rec601_625, rec709, rec2020, rec2020pq, rec2020hlg or p3d65pq" ;;
esac
if [[ $colour == auto ]]; then
  primaries=$(said color_primaries "$primaries") trc=$(said color_transfer "$trc")
  case $(input_field color_space) in gbr) ;; *) matrix=$(said color_space "$matrix") ;; esac
fi

width=$(input_field width)
format=$(input_field pix_fmt)
curve=
case $format in
  *f32* | *f16*) # EXR: linear light
    format=gbrp16le
    if is_kind "$1" exr; then curve=zscale=tin=linear:t=$trc,; fi ;;
  yuv420p | yuvj420p | nv12 | nv21) format=yuv422p ;;
  yuv420p* | yuva420p* | p010* | p012* | p016*) format=yuv422p10le ;;
  yuvj*) format=yuv${format#yuvj} ;; # full range becomes limited
  yuva*) format=yuv${format#yuva} ;;
  gbrap*) format=gbrp${format#gbrap} ;;
  rgba64* | bgra64*) format=rgb48le ;;
  rgba | bgra | argb | abgr) format=rgb24 ;;
esac
case $format in
  gbr* | rgb* | bgr* | x2* | 0* | xyz*) tags=color_primaries=$primaries:color_trc=$trc matrix=gbr ;;
  *) tags=color_primaries=$primaries:color_trc=$trc:colorspace=$matrix ;;
esac
if ((width > 4096)); then profile=imf_8k; default=1600M
elif ((width > 2048)); then profile=imf_4k; default=800M
else profile=imf_2k; default=250M; fi
[[ -z $ht ]] || profile=imf_ht
profile+=$reversible
target=(-b:v "${bitrate:-$default}")
[[ -z $reversible ]] || target=()

mkdir -p "$folder/j2c"
[[ $(count_codestreams "$folder/j2c") == 0 ]] || die "there are .j2c files in $folder/j2c already"
start=$EPOCHREALTIME
run_ffmpeg -v warning -stats "${retime[@]}" "${input[@]}" -map 0:v:0 -vf "$rate_filter${curve}format=$format,setparams=$tags" -c:v j2k_cuda \
  -profile:v "$profile" "${target[@]}" -f mxf_imf "$folder/picture.mxf" || die "ffmpeg failed, see above"
seconds=$(seconds_since "$start")
finish_track "$folder" "$profile" "$rate"
write_sound "$1" "$folder" "$rate" mxf_imf
awk -v n="$frames" -v s="$seconds" 'BEGIN { printf "frames      %d in %s s, %.2f fps\n", n, s, n / s }'
echo "pixels      $format, at most $(largest_codestream "$folder/j2c") bytes in a frame"
echo "colours     primaries $primaries, curve $trc, matrix $matrix$([[ $colour != auto ]] || echo ", as the file says or by its size (--colour)")"
echo "conforms    $profile at $rate fps: cj2k-check finds nothing"
[[ -z $title ]] || write_package imf "$folder" "$title"
echo "files       $folder/picture.mxf${sound:+, $folder/sound.mxf ($sound)}"

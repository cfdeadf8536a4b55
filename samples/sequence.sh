#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# A sequence of DPX, TIFF, EXR or PNG images to JPEG 2000 codestreams, one for each image:
#
#     samples/sequence.sh [--rate FPS] [--trc CURVE] INPUT OUTPUT_FOLDER [BITRATE | lossless]
#
# INPUT is a pattern such as scan/%06d.dpx, or a folder of images of one kind. OUTPUT_FOLDER gets 000000.j2c, 000001.j2c, ...
# at BITRATE (default 250M) and FPS (default 24). EXR holds linear light: CURVE is what it goes through on the way to 16 bits,
# by its name in the filter zscale (default bt709, gamma 2.4; iec61966-2-1 for sRGB, smpte2084 for PQ, where 1 is 100 cd/m2;
# linear for none).
# Each file is checked for its begin, its end and the cap, and the first one is decoded and compared with its image.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR
source "$root/samples/common.sh"

rate=24
trc=bt709
while [[ ${1:-} == -* ]]; do
  case $1 in
    -h | --help) usage ;;
    --rate) rate=${2:?--rate FPS}; shift 2 ;;
    --trc) trc=${2:?--trc CURVE}; shift 2 ;;
    *) usage 2 >&2 ;;
  esac
done
[[ $# == 2 || $# == 3 ]] || usage 2 >&2
source=$1
folder=$2
bitrate=${3:-250M}
find_ffmpeg

if [[ -d $source ]]; then
  kinds=$(find "$source" -maxdepth 1 -type f -iregex '.*\.\(dpx\|tiff?\|exr\|png\)' -printf '%f\n' | sed 's/.*\.//' | sort -u)
  [[ -n $kinds ]] || die "no DPX, TIFF, EXR or PNG images in $source"
  [[ $kinds != *$'\n'* ]] || die "images of several kinds in $source: ${kinds//$'\n'/ }"
  input=(-framerate "$rate" -pattern_type glob -i "$source/*.$kinds")
  images=$(find "$source" -maxdepth 1 -type f -name "*.$kinds" | wc -l)
else
  is_sequence "$source" || die "$source is no folder and no pattern such as scan/%06d.dpx"
  set_input "$source" "$rate"
  kinds=${source##*.}
  name=${source##*/}
  end=${name#*%}
  images=$(find "$(dirname "$source")" -maxdepth 1 -type f -name "${name%%%*}*${end#*d}" | wc -l)
fi
curve=
if [[ ${kinds,,} == exr ]]; then
  echo "EXR: linear light, through the curve $trc to 16 bits"
  curve=zscale=tin=linear:t=${trc//_/-},
fi
if [[ $bitrate == lossless ]]; then target=(-lossless 1); else target=(-b:v "$bitrate"); fi

mkdir -p "$folder"
[[ -z $(find "$folder" -maxdepth 1 -name '*.j2c' -print -quit) ]] || die "there are .j2c files in $folder already"
start=$EPOCHREALTIME
run_ffmpeg -v warning -stats "${input[@]}" -map 0:v:0 -vf "${curve}null" -fps_mode passthrough -c:v j2k_cuda "${target[@]}" \
  -f image2 -start_number 0 "$folder/%06d.j2c"
seconds=$(seconds_since "$start")

mapfile -t files < <(find "$folder" -maxdepth 1 -name '[0-9]*.j2c' | sort)
[[ ${#files[@]} == "$images" ]] || die "${#files[@]} codestreams of $images images: is a number missing in the sequence?"
largest=0
for file in "${files[@]}"; do
  [[ $(head -c 4 "$file" | od -An -tx1) == " ff 4f ff 51" && $(tail -c 2 "$file" | od -An -tx1) == " ff d9" ]] ||
    die "$file is no whole codestream"
  size=$(stat -c %s "$file")
  largest=$((size > largest ? size : largest))
done
format=$(stream pix_fmt "${input[@]}")
if [[ $format == *f32* || $format == *f16* || $format == rgb* ]]; then format=gbrp16le; fi
quality=$(quiet_ffmpeg -i "${files[0]}" "${input[@]}" -filter_complex \
  "[0:v:0]format=$format,setpts=N[a];[1:v:0]${curve}format=$format,setpts=N[b];[a][b]psnr=stats_file=-" -frames:v 1 -f null - |
  sed -n 's/.*psnr_avg:\([^ ]*\).*/\1/p' | head -n 1)
[[ $quality == inf || ${quality%.*} -ge 20 ]] || die "${files[0]} does not show its image: PSNR ${quality:-unknown} dB"
[[ $bitrate != lossless || $quality == inf ]] || die "${files[0]} is not lossless: PSNR $quality dB"
awk -v n="${#files[@]}" -v seconds="$seconds" 'BEGIN { printf "frames      %d in %s s, %.2f fps\n", n, seconds, n / seconds }'
echo "bytes       at most $largest in a frame"
echo "quality     ${quality/inf/lossless,} dB in the first frame" | sed 's/, dB/,/'
echo "files       $folder/000000.j2c and on"

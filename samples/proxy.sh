#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# A proxy out of a JPEG 2000 film, which holds its picture at 1/2, 1/4, 1/8, ... of the size:
#
#     samples/proxy.sh INPUT [OUTPUT.mov [LEVEL]]
#
# Decodes INPUT at each of its resolution levels and prints size and frames per second, then writes OUTPUT (default: INPUT with
# .proxy.mov, ProRes 422 Proxy) from level LEVEL (default 2: a quarter of the width and height). Nothing is scaled: the decoder
# leaves out the wavelet levels that the proxy does not need.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR
source "$root/samples/common.sh"

case ${1:-} in
  -h | --help) usage ;;
  '' | -*) usage 2 >&2 ;;
esac
[[ $# -le 3 ]] || usage 2 >&2
source=$1
output=${2:-${1%.*}.proxy.mov}
level=${3:-2}
[[ -e $source ]] || die "there is no $source"
find_ffmpeg
codec=$(stream codec_name -i "$source")
[[ $codec == jpeg2000 ]] ||
  die "$source is ${codec:-no film}, not jpeg2000; first: $ffmpeg -i $source -c:v j2k_cuda -b:v 250M master.mxf"

# Wavelet levels of the first frame: a byte of COD (FF52), six after its length.
# A reader that stops before the end of the frame would end ffmpeg by a signal.
main=$(quiet_ffmpeg -i "$source" -map 0:v:0 -frames:v 1 -c copy -f rawvideo - 2>/dev/null |
  { od -An -v -tx1 -N 4096; cat >/dev/null; } | tr -d ' \n')
main=${main#*ff4fff51}
main=${main:2*16#${main:0:4}}
while [[ -n $main && $main != ff52* ]]; do main=${main:4+2*16#${main:4:4}}; done
[[ -n $main ]] || die "the first frame of $source has no COD marker segment"
levels=$((16#${main:18:2}))
[[ $level =~ ^[0-9]+$ && $level -le $levels ]] || die "LEVEL $level not in [0, $levels], the wavelet levels of $source"

printf 'level  size        frames  fps\n'
for ((n = 0; n <= levels; ++n)); do
  start=$EPOCHREALTIME
  result=$(quiet_ffmpeg -lowres "$n" -i "$source" -map 0:v:0 -frames:v 48 -f framemd5 - |
    awk -F'[ ,]+' '/^#dimensions 0:/ { size = $3 } !/^#/ { ++frames } END { print size, frames }')
  read -r size frames <<<"$result"
  [[ -n ${frames:-} ]] || die "level $n cannot be decoded"
  awk -v n="$n" -v size="$size" -v frames="$frames" -v seconds="$(seconds_since "$start")" \
    'BEGIN { printf "%5d  %-10s  %6d  %.1f\n", n, size, frames, frames / seconds }'
done

run_ffmpeg -v warning -stats -lowres "$level" -i "$source" -map 0:v:0 -map '0:a?' -c:v prores_ks -profile:v proxy \
  -pix_fmt yuv422p10le -c:a pcm_s16le "$output"
packets() {
  "$ffprobe" -v error -select_streams v:0 -count_packets -show_entries stream=nb_read_packets -of default=nw=1:nk=1 "$1" | sed -n 1p
}
[[ $(packets "$output") == "$(packets "$source")" ]] || die "$output has $(packets "$output") frames, $source $(packets "$source")"
echo "file   $output, $(stream width "$output")x$(stream height "$output"), $(packets "$output") frames, \
$(($(stat -c %s "$output") * 100 / $(stat -c %s "$source"))) % of the bytes"

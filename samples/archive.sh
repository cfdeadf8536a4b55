#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Archives a film without loss, and proves that every bit comes back:
#
#     samples/archive.sh [--ht] [--rate FPS] INPUT OUTPUT.mkv|.mov|.mxf
#
# INPUT is a film, or a sequence of images such as scan/%06d.tiff, at FPS (default 24). The pixel format stays as it is, up to
# RGB with 16 bits. Audio is kept without loss. The encoder decodes each codestream before it leaves (verify=1). The MD5 of every decoded frame of OUTPUT must equal the one of INPUT; both
# lists stay beside OUTPUT (OUTPUT.source.md5, OUTPUT.md5). Exit status 1, and no OUTPUT, where they differ.
# --ht takes HTJ2K (Part 15): a third of the time, 7 to 10 % more bytes, and fewer programs read it; needs FFmpeg 8.1 or later, a
# second one beside that of the quickstart: where it is missing, it is built first, in about ten minutes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR
source "$root/samples/common.sh"

rate=24 ht=
while [[ ${1:-} == -* ]]; do
  case $1 in
    -h | --help) usage ;;
    --ht) ht=1; shift ;;
    --rate) rate=${2:?--rate FPS}; shift 2 ;;
    *) usage 2 >&2 ;;
  esac
done
[[ $# == 2 ]] || usage 2 >&2
output=$2
find_ffmpeg ${ht:+8.1 "the first that reads films of HTJ2K"}
coder=()
if [[ -n $ht ]]; then
  needs_ht_decoder
  coder=(-coder ht)
fi
set_input "$1" "$rate"

case $output in
  *.mkv) audio=(-c:a flac) ;;
  *.mov | *.mxf) audio=(-c:a pcm_s24le) ;;
  *) die "$output is not named .mkv, .mov or .mxf" ;;
esac
# Samples of 24 bits hold every lossless source but those of 32 bits, and every lossy one as it is decoded, to 24 bits.
format=$(input_field pix_fmt)
case $format in
  *f32* | *f16*) die "$1 has floating-point samples ($format): JPEG 2000 has integers; archive the files themselves" ;;
  pal8) die "$1 has a palette (pal8): add -pix_fmt rgb24 to a command of your own" ;;
esac

# frame_md5 INPUT...: one line for each frame, with neither times nor time base.
frame_md5() {
  quiet_ffmpeg "$@" -map 0:v:0 -fps_mode passthrough -pix_fmt "$format" -c:v rawvideo -f framemd5 - |
    awk -F, '!/^#/ { gsub(/ /, "", $NF); print $NF }'
}

stats=$(mktemp)
trap 'rm -f "$stats"' EXIT
start=$EPOCHREALTIME
run_ffmpeg -v warning -stats "${input[@]}" -map 0:v:0 -map '0:a?' -fps_mode passthrough -c:v j2k_cuda -lossless 1 "${coder[@]}" \
  -cj2k-params verify=1 -stats_file "$stats" "${audio[@]}" "$output"
seconds=$(seconds_since "$start")

echo "comparing every frame with the source"
frame_md5 "${input[@]}" >"$output.source.md5"
frame_md5 -i "$output" >"$output.md5"
frames=$(wc -l <"$output.md5")
if [[ $frames == 0 ]] || ! cmp -s "$output.source.md5" "$output.md5"; then
  mv "$output" "$output.failed"
  die "$(diff "$output.source.md5" "$output.md5" | grep -c '^[<>]' || true) lines differ between $output.source.md5 and \
$output.md5; the file is $output.failed"
fi
proved=$(grep -cE '"verified": *2\b' "$stats" || true) # without a difference, down to the samples
[[ $proved == "$frames" ]] || die "the encoder has proved $proved of $frames frames"
raw=$(quiet_ffmpeg "${input[@]}" -map 0:v:0 -frames:v 1 -pix_fmt "$format" -f rawvideo - | wc -c)
"$ffprobe" -v error -select_streams v:0 -show_entries packet=size -of csv=p=0 "$output" | tr -d , |
  awk -v seconds="$seconds" -v raw="$raw" -v format="$format" '
    { sum += $1 }
    END { printf "frames      %d in %s s, %.2f fps\n", NR, seconds, NR / seconds
          printf "pixels      %s, %d bytes a frame, coded in %.0f (%.1f %%)\n", format, raw, sum / NR, 100 * sum / NR / raw }'
echo "proved      $proved codestreams, each decoded before it left the encoder"
echo "reversible  yes: $frames MD5 sums of frames are equal"
echo "file        $output"

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# From a fresh checkout to a JPEG 2000 film:
#
#     samples/quickstart.sh [INPUT [OUTPUT.mxf [BITRATE]]]
#
# Installs missing packages, builds libcj2k and FFmpeg, encodes INPUT to OUTPUT at BITRATE, and prints the results. Defaults:
# INPUT is a clip that this script makes (24 frames, 3840x2160, 12 bits), OUTPUT is build/quickstart/out.mxf, BITRATE is 250M.
# On a machine with an NVIDIA driver and without nvcc, an nvcc is fetched into build/cuda (scripts/get_nvcc.sh); where that fails,
# the CPU encodes. CJ2K_CUDA=OFF leaves the CUDA backend out.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
here=$root/build/quickstart
ffmpeg=$root/build/ffmpeg-7.1/ffmpeg
ffprobe=$root/build/ffmpeg-7.1/ffprobe
case ${1:-} in -h | --help) sed -n '5,12p' "$0" | cut -c3-; exit ;; esac
input=${1:-$here/clip.mkv}
output=${2:-$here/out.mxf}
bitrate=${3:-250M}
mkdir -p "$here"

"$root/scripts/install_deps.sh" core ffmpeg

# Which nvcc was found or fetched, or why there is none, is said in one line.
export CJ2K_CUDA=${CJ2K_CUDA:-AUTO}
if [ "$CJ2K_CUDA" != OFF ]; then
  status=0
  nvcc=$("$root/scripts/get_nvcc.sh" --for-driver "$root/build/cuda") || status=$?
  case $status in
    0) export CJ2K_NVCC=$nvcc ;;
    3) ;; # no driver: with the CUDA backend only if this machine has an nvcc
    *)
      echo "going on with the CPU"
      CJ2K_CUDA=OFF ;;
  esac
fi
"$root/ffmpeg-patch/build.sh" 7.1

# Makes the clip: detail, edges and motion from two sources, and film grain that differs in every frame.
make_clip() {
  local size=3840x2160 rate=24 frames=24
  echo "making a clip of $frames frames, $size, 12 bits"
  "$ffmpeg" -v error -nostdin -y \
    -f lavfi -i "mandelbrot=size=1920x1080:rate=$rate:start_scale=0.6:end_scale=0.05:end_pts=200" \
    -f lavfi -i "testsrc2=size=$size:rate=$rate" \
    -f lavfi -i "color=gray:size=$size:rate=$rate,format=gbrp,noise=alls=5:allf=t+u:all_seed=1" \
    -filter_complex "[0]scale=$size:flags=bicubic,format=gbrp12le[fractal];[1]format=gbrp12le[moving];
      [fractal][moving]blend=all_mode=average[picture];[2]format=gbrp12le[grain];
      [picture][grain]blend=all_mode=grainmerge" \
    -frames:v $frames -c:v ffvhuff "$here/clip.part.mkv" # lossless and fast to read
  mv "$here/clip.part.mkv" "$here/clip.mkv"
}
[ $# -ge 1 ] || [ -e "$here/clip.mkv" ] || make_clip

# Encode. FFmpeg shows its progress on the screen.
log=$here/encode.log
start=$EPOCHREALTIME
"$ffmpeg" -hide_banner -nostdin -y -i "$input" -map 0:v:0 -map "0:a?" -c:v j2k_cuda -b:v "$bitrate" "$output" 2> >(tee "$log" >&2)
seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }')
sleep 0.2 # until tee has written the log

stream() { "$ffprobe" -v error -select_streams v:0 -show_entries "stream=$1" -of default=nw=1:nk=1 "$2" | head -n 1; }

# Compare both as planar samples at the depth of the source. MSE is in squared units of these samples.
format=$(stream pix_fmt "$input")
case $format in
  rgb24 | bgr24 | rgba | bgra | argb | abgr | 0rgb | rgb0 | 0bgr | bgr0) format=gbrp ;;
  rgb48* | bgr48* | rgba64* | bgra64*) format=gbrp16le ;;
esac
"$ffmpeg" -v error -nostdin -i "$output" -i "$input" -filter_complex \
  "[0:v:0]settb=AVTB,setpts=N,format=${format}[out];[1:v:0]settb=AVTB,setpts=N,format=${format}[in];
   [out][in]psnr=stats_file=$here/psnr.log" -f null -

echo
"$ffprobe" -v error -select_streams v:0 -show_entries packet=size -of csv=p=0 "$output" | tr -d , |
  awk -v seconds="$seconds" -v bitrate="$bitrate" -v rate="$(stream r_frame_rate "$output")" '
    { sum += $1; if (NR == 1 || $1 < min) min = $1; if ($1 > max) max = $1 }
    END {
      split(rate, r, "/")
      unit["k"] = unit["K"] = 1e3; unit["M"] = 1e6; unit["G"] = 1e9
      last = substr(bitrate, length(bitrate))
      bits = last in unit ? substr(bitrate, 1, length(bitrate) - 1) * unit[last] : bitrate + 0
      cap = int(bits * r[2] / r[1] / 8)
      printf "frames            %d in %s s, %.2f fps with decoding and writing\n", NR, seconds, NR / seconds
      printf "bytes per frame   min %d, mean %.0f, max %d, cap %d: %s\n", min, sum / NR, max, cap,
             max <= cap ? "kept" : "BROKEN"
      if (max > cap) exit 1
    }'
awk '
  { for (i = 1; i <= NF; ++i) { split($i, p, ":"); sum[p[1]] += p[2]; if (NR == 1) order[i] = p[1] } }
  END {
    printf "quality           mean MSE %.3f (", sum["mse_avg"] / NR
    for (i = 1; i in order; ++i)
      if (order[i] ~ /^mse_/ && order[i] != "mse_avg") { printf "%s%s %.3f", sep, substr(order[i], 5), sum[order[i]] / NR; sep = ", " }
    printf "), mean PSNR %.2f dB\n", sum["psnr_avg"] / NR
  }' "$here/psnr.log"
echo "backend           $(sed -n 's/^\[j2k_cuda[^]]*\] .* Mbit\/s), \(.*\)/\1/p' "$log" | head -n 1)"
echo "file              $output"

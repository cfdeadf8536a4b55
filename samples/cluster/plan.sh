# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # encode.sh uses what is set here, and sets what is used
# How encode.sh plans a job: which options and inputs it takes, where the frames are, and where the input is cut.

# refuse_options OPTION...: those that encode.sh sets itself, and those under which a frame depends on others.
refuse_options() {
  local option
  for option in "$@"; do
    case $option in
      -i | -ss | -sseof | -to | -t | -itsoffset | -frames | -frames:* | -vframes | -map | -r | -r:* | -fps_mode* | -vsync | -f | \
        -c | -c:* | -codec* | -vcodec | -acodec | -an | -vn | -filter_complex | -lavfi | -start_number | -framerate | -timecode | \
        -copyts | -progress | -y | -n | -fflags | -metadata* | -filter_script* | -/*)
        die "$option is set by encode.sh and cannot be an encoder option" ;;
      -stats_file | -vstats | -vstats_file) die "$option writes one file for all frames: segments would overwrite it" ;;
      -pass | -pass:* | -passlogfile*) die "$option is for one machine: --film-rate does both passes" ;;
    esac
  done
  [[ ! " $* " =~ " -stop"(:[[:graph:]]*)?" "(pst|2)" "|stop=(pst|2) ]] ||
    die "stop=pst looks back at the frames before, which are in another segment: use -stop exact"
  refuse_filters "$@"
}

# bits_of RATE: a number of bits per second, such as 2500k, as a whole number.
bits_of() {
  [[ $1 =~ ^([0-9]+(\.[0-9]+)?)([kKMG]?)$ ]] || return
  awk -v n="${BASH_REMATCH[1]}" -v unit="${BASH_REMATCH[3]}" 'BEGIN {
    n = int(n * (unit ? 1000 ^ index("KMG", toupper(unit)) : 1) + .5); printf "%.0f", n; exit n < 1 }'
}

# refuse_rates OPTION...: rates under which the frames of a segment share bytes, and with --film-rate those that it sets. Puts
# -minrate into `least`.
refuse_rates() {
  local option before='' mean='' most='' floor=''
  for option in "$@"; do
    case $before in
      -b | -b:*) mean=$option ;;
      -maxrate | -maxrate:*) most=$option ;;
      -minrate | -minrate:*) floor=$option ;;
    esac
    before=$option
  done
  least=0
  if [[ -n $film_rate ]]; then
    [[ -z $mean ]] || die "-b:v is set by --film-rate"
    [[ ! $* =~ min_frame_bytes ]] || die "min_frame_bytes does not go with --film-rate: use -minrate"
    [[ -z $floor ]] || least=$(bits_of "$floor") || die "-minrate $floor is no rate such as 100M"
  elif [[ -n $mean && -n $most ]]; then
    for option in "$mean" "$most"; do bits_of "$option" >/dev/null || die "-b:v or -maxrate $option is no rate such as 100M"; done
    (($(bits_of "$most") <= $(bits_of "$mean"))) ||
      die "-maxrate above -b:v shares bytes among frames (lookahead): --film-rate does that for all segments"
  fi
}

# refuse_filters OPTION...: filters that look at more than one frame, or change their number.
refuse_filters() {
  local filter
  options=("$@")
  split_options
  for filter in yadif bwdif w3fdif estdif fps framerate framestep minterpolate interlace tinterlace telecine detelecine pullup \
    fieldmatch decimate separatefields weave doubleweave mix tmix deflicker atadenoise hqdn3d dejudder select trim loop reverse \
    tpad fade setpts thumbnail tile; do
    [[ ! $filters =~ (^|[^[:alnum:]_])$filter([^[:alnum:]_]|$) ]] ||
      die "the filter $filter looks at more than one frame or at its time: run it before, on the whole input"
  done
}

# plan_images: sets `frames`, `rate` and `first_image`; each number from the first to the last must be there.
plan_images() {
  local name=${job_input##*/} begin end
  rate=${wanted_rate:-24}
  set_input "$job_input" "$rate"
  first_image=${input[1]}
  begin=${name%%%*}
  end=${name#*%}
  frames=$(find "$(dirname "$job_input")" -maxdepth 1 -name "$begin*${end#*d}" -printf '%f\n' |
    sed -n "s/^$begin\([0-9][0-9]*\)${end#*d}\$/\1/p" | wc -l)
  job_identity=$(identity_of_images "$job_input" "$first_image" "$frames" 2>/dev/null) ||
    die "$frames images are named like $job_input, but not with the numbers $first_image to $((first_image + frames - 1))"
  [[ $rate == */* ]] || rate=$rate/1
}

# told_by_container FILE LIST: where each packet is a frame of its own (intra-frame codecs), MOV and MXF tell their number, and
# it need not be found by reading the whole film. The first and the last packets must be where rate and number say; each task
# counts its own. Sets `rate` and writes LIST.
told_by_container() {
  local average number duration base first last
  [[ $(stream codec_name "$1") =~ ^(prores|dnxhd|jpeg2000|cfhd|v210|v410|r210|r10k|rawvideo|mjpeg|png)$ ]] || return 1
  rate=$(stream r_frame_rate "$1")
  average=$(stream avg_frame_rate "$1")
  [[ $average == "$rate" || $average == 0/0 ]] || return 1
  number=$(stream nb_frames "$1")
  duration=$(stream duration_ts "$1")
  base=$(stream time_base "$1")
  if [[ ! $number =~ ^[0-9]+$ && $base == "${rate#*/}/${rate%/*}" ]]; then number=$duration; fi
  [[ $number =~ ^[1-9][0-9]*$ && $rate =~ ^[1-9][0-9]*/[1-9][0-9]*$ ]] || return 1
  first=$(packets_from "$1" '%+#1')
  [[ $first =~ ^-?[0-9.]+,K_ ]] || return 1
  awk -v n="$number" -v rate="$rate" -v begin="${first%%,*}" '
    BEGIN { split(rate, r, "/"); for (i = 0; i < n; ++i) printf "%.6f,K__\n", begin + i * r[2] / r[1] }' >"$2"
  last=$(tail -n 1 "$2" | cut -d , -f 1)
  packets_from "$1" "$(awk -v t="$last" -v rate="$rate" 'BEGIN { split(rate, r, "/"); printf "%.6f", t - 2.5 * r[2] / r[1] }')%" |
    awk -F, -v last="$last" -v rate="$rate" '
      BEGIN { split(rate, r, "/") } { end = $1; if ($2 !~ /^K_/) bad = 1 }
      END { off = (end - last) * r[1] / r[2]; exit bad || NR == 0 || off * off > 1 / 16 }'
}

# packets_from FILE INTERVAL: time and flags of the packets there.
packets_from() {
  "$ffprobe" -v error -select_streams v:0 -read_intervals "$2" -show_entries packet=pts_time,flags -of csv=p=0 "$1"
}

# plan_film FILE: finds the times of its frames, and sets `frames`, `rate` and `begin`, the time of the first frame. The file
# $folder/times gets time and flags of each frame, in the order in which frames are shown.
plan_film() {
  local tried irregular first_guess='' first_place list=$folder/times
  [[ -z $wanted_rate ]] || die "--rate is for images: $1 has a rate of its own"
  [[ -r $1 ]] || die "$1 cannot be read"
  job_identity=$(identity_of_film "$1")
  if told_by_container "$1" "$list"; then
    set_first_and_count "$list"
    return
  fi
  echo "counting the frames of $1"
  "$ffprobe" -v error -select_streams v:0 -show_entries packet=pts_time,flags -of csv=p=0 "$1" |
    awk -F, 'NF && $2 !~ /D/' | sort -s -t , -k 1,1n >"$list"
  [[ -s $list ]] || die "$1 has no video"
  ! grep -qm1 '^N/A' "$list" || die "$1 does not tell the times of its frames; first: $ffmpeg -i $1 -map 0 -c copy other.mkv"
  set_first_and_count "$list"
  for tried in r_frame_rate avg_frame_rate; do
    rate=$(stream "$tried" "$1")
    if irregular=$(first_irregular "$list"); then return; fi
    if [[ -z $first_guess ]]; then first_guess=$rate first_place=$irregular; fi
  done
  die "$1 has a variable frame rate (frame $first_place); first: $ffmpeg -i $1 -fps_mode cfr -r ${first_guess%/1} -c:v ffv1 -c:a copy constant.mkv"
}

set_first_and_count() {
  frames=$(wc -l <"$1")
  begin=$(head -n 1 "$1" | cut -d , -f 1)
}

# first_irregular LIST: fails, and tells the first frame that is more than a quarter of a frame off its place at `rate`.
first_irregular() {
  awk -F, -v rate="$rate" '
    BEGIN { split(rate, r, "/"); if (!(r[1] > 0 && r[2] > 0)) { print "0, no rate is known"; exit failed = 1 } }
    NR == 1 { begin = $1 }
    { place = begin + (NR - 1) * r[2] / r[1]; off = ($1 - place) * r[1] / r[2]
      if (off * off > 1 / 16) { printf "%d is at %.3f s, not at %.3f s", NR - 1, $1, place; exit failed = 1 } }
    END { exit failed }' "$1"
}

# write_plan: the file `plan`. A segment of a film is read from the last key frame but one before it, so that frames which lean
# on the key frame before are right, too. Its range begins a quarter of a frame before its first frame, and ends a quarter before
# the next segment's: no frame is nearer, and a time base as coarse as a frame rounds to the right one. The last range has no end, so
# that a frame too many is noticed.
write_plan() {
  local index number
  if [[ $job_kind == film ]]; then
    awk -F, -v rate="$rate" -v frames="$frames" -v segments="$segments" -v size="$size" '
      function cut(k) { return size ? (k * size < frames ? k * size : frames) : int(k * frames / segments) }
      BEGIN { split(rate, r, "/"); quarter = r[2] / r[1] / 4 }
      { time[NR - 1] = $1; if ($2 ~ /K/) keys[++n] = $1; seek[NR - 1] = n > 2 ? keys[n - 1] : 0 }
      END { for (k = 0; k < segments; ++k) { a = cut(k); b = cut(k + 1)
              printf "%d %d %d %s %.6f %.6f -\n", k, a, b - a, seek[a], time[a] - quarter,
              b < frames ? time[b] - quarter : time[b - 1] + 1e5 } }' \
      "$folder/times"
    rm "$folder/times"
  else
    for ((index = 0; index < segments; ++index)); do
      if [[ $size != 0 ]]; then
        first=$((index * size)) last=$(((index + 1) * size < frames ? (index + 1) * size : frames))
      else
        first=$((index * frames / segments)) last=$(((index + 1) * frames / segments))
      fi
      number=$((first_image + first))
      echo "$index $number $((last - first)) 0 0 0 $(identity_of_images "$job_input" "$number" "$((last - first))")"
    done
  fi >"$folder/plan.new"
}

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # `root`, `ffmpeg` and `folder` are the scripts'; they use what is read here
# What encode.sh and segment.sh share: the job folder. Each sets `folder` and reads ../common.sh first.
#
#     job             NAME=VALUE lines: input, its kind and identity, program, frames, rate, segments, time of the first frame
#     options         options of the encoder, each ended by a NUL
#     plan            a line for each segment: index, first frame, frames, seek, start, end, identity of its images ('-': none)
#     000000.mxf      a segment, and in 000000.sums the proof that it is done:
#                         job ID / segment INDEX FIRST FRAMES / file SHA256 BYTES / packet SIZE MURMUR3, for each frame
#     000000.log      what its tasks said
#     000000.progress what ffmpeg told last

# name_of INDEX: a segment's file without its ending.
name_of() { printf '%s/%06d' "$folder" "$1"; }

hash_of_file() { sha256sum <"$1" | cut -d ' ' -f 1; }

# identity_of_film FILE: size, time of the last change, hash of its first and its last MiB.
identity_of_film() {
  local hash
  [[ -r $1 ]] || die "$1 cannot be read here"
  hash=$( (head -c 1048576 "$1"; tail -c 1048576 "$1") | sha256sum | cut -c 1-32)
  printf '%s-%s-%s' "$(stat -L -c %s "$1")" "$(stat -L -c %.9Y "$1")" "$hash"
}

# identity_of_images PATTERN FIRST COUNT: a hash of names, sizes and times of the last change.
identity_of_images() {
  local number names=()
  for ((number = $2; number < $2 + $3; ++number)); do
    # shellcheck disable=SC2059 # the pattern is the format
    names+=("$(printf "$1" "$number")")
  done
  printf '%s\0' "${names[@]}" | xargs -0 stat -L -c '%n %s %.9Y' -- | sha256sum | cut -c 1-32
}

# identity_of_program: the ffmpeg that runs here. Other builds may give other bytes.
identity_of_program() { hash_of_file "$ffmpeg" | cut -c 1-32; }

# id_of_job: a hash of all that decides the bytes of its segments.
id_of_job() { cat "$folder/job" "$folder/options" "$folder/plan" | sha256sum | cut -c 1-32; }

# read_job: puts the job into `job_input`, `job_frames`, ..., `options` and `id`.
read_job() {
  local name value
  [[ -e $folder/plan ]] || die "there is no plan in $folder: encode.sh makes it"
  while IFS='=' read -r name value; do
    printf -v "job_$name" '%s' "$value"
  done <"$folder/job"
  mapfile -d '' -t options <"$folder/options"
  id=$(id_of_job)
}

# read_segment INDEX: puts its line of the plan into `first`, `frames`, `seek`, `start`, `end` and `images`.
read_segment() {
  local index
  while read -r index first frames seek start end images; do
    [[ $index != "$1" ]] || return 0
  done <"$folder/plan"
  die "the plan in $folder has no segment $1, but 0 to $((job_segments - 1))"
}

# check_sums INDEX FIRST FRAMES: whether 000000.sums is complete and of this job.
check_sums() {
  awk -v job="job $id" -v segment="segment $*" -v frames="$3" '
    NR == 1 { good = $0 == job } NR == 2 { good = good && $0 == segment } NR == 3 { good = good && $1 == "file" && NF == 3 }
    NR > 3 { good = good && $1 == "packet" && NF == 3 } END { exit !(good && NR == frames + 3) }' "$(name_of "$1").sums" 2>/dev/null
}

# check_segment INDEX FIRST FRAMES: whether the segment is done: its proof is of this job and fits its file.
check_segment() {
  local name
  name=$(name_of "$1")
  [[ -s $name.mxf ]] && check_sums "$@" || return 1
  [[ $(sed -n 3p "$name.sums") == "file $(hash_of_file "$name.mxf") $(stat -c %s "$name.mxf")" ]]
}

# hash_packets INPUT...: "packet SIZE MURMUR3" for each packet of the video. MurmurHash3 (128 bits) finds every accident, and
# takes a fraction of the time of MD5.
hash_packets() {
  quiet_ffmpeg "$@" -map 0:v:0 -c copy -f framehash -hash murmur3 - | awk -F, '!/^#/ { gsub(/ /, ""); print "packet", $5, $6 }'
}

# set_job_input FIRST: puts the options that open the input into `input`; images begin with number FIRST.
set_job_input() {
  input=(-i "$job_input")
  if [[ $job_kind == images ]]; then input=(-start_number "$1" -framerate "$job_rate" -i "$job_input"); fi
}

# split_options: puts the filters among `options` into `filters`, and the others into `coding`.
split_options() {
  local i
  filters='' coding=()
  for ((i = 0; i < ${#options[@]}; ++i)); do
    case ${options[i]} in
      -vf | -filter:v) filters=${options[++i]:-} ;;
      *) coding+=("${options[i]}") ;;
    esac
  done
}

# set_coding FILTER: puts into `how` what makes codestreams of frames: one after the other at the rate of the job,
# through FILTER and the filters among the options.
set_coding() {
  local chain
  split_options
  chain=${1:+$1,}settb=${job_rate#*/}/${job_rate%/*},setpts=N${filters:+,$filters}
  how=(-map 0:v:0 -vf "$chain" -r "$job_rate" -fps_mode cfr -c:v j2k_cuda "${coding[@]}")
}

# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # `root`, `ffmpeg` and `folder` are the scripts'; they use what is read here
# What encode.sh and segment.sh share: the job folder. Each sets `folder` and reads ../common.sh first.
#
#     job              NAME=VALUE lines: input, its kind and identity, program, frames, rate, segments, time of the first frame
#     options          options of the encoder, each ended by a NUL
#     plan             a line for each segment: index, first frame, frames, seek, start, end, identity of its images ('-': none)
#     000000.log       what its tasks said
#     000000.progress  what ffmpeg told last
#
# A segment goes through up to three steps, each with a proof that it is done. Its first lines are job ID / segment INDEX FIRST
# FRAMES. The step in which all segments are follows from the files that encode.sh makes between them.
#
#     analyse  000000-1.log, its log of pass 1; 000000.analysis: file SHA256 BYTES of that log. Only with --film-rate
#     encode   000000.mxf, the segment, and 000000.stubs, for the layout (mxf.py); 000000.sums: file SHA256 BYTES and stubs SHA256
#              BYTES of these, and packet SIZE MURMUR3 for each frame. With --film-rate once there is `budget`, and for each segment
#              000000-0.log and 000000.rate (film.py)
#     place    its bytes in OUTPUT.LAYOUT.part, once there are `glue` and `layout` (mxf.py); LAYOUT is the hash of the latter,
#              `glue.sum` that of the former. 000000.placed: layout LAYOUT

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

# first_packet INDEX: the number of its first frame in the film.
first_packet() { awk -v index_of="$1" '$1 < index_of { sum += $3 } END { print sum + 0 }' "$folder/plan"; }

declare -rA kProof=([analyse]=analysis [encode]=sums [place]=placed)

# proof_of STEP INDEX: the file that says that the step is done.
proof_of() { printf '%s.%s' "$(name_of "$2")" "${kProof[$1]}"; }

# file_line NAME FILE: as it stands in a proof.
file_line() { printf '%s %s %s\n' "$1" "$(hash_of_file "$2")" "$(stat -c %s "$2")"; }

# id_of_layout: a hash of where everything lies in the output.
id_of_layout() { hash_of_file "$folder/layout" | cut -c 1-16; }

# check_proof STEP INDEX FIRST FRAMES: whether the proof is complete and of this job. Logs are small enough to be read.
check_proof() {
  local step=$1
  shift
  awk -v job="job $id" -v segment="segment $*" -v step="$step" -v frames="$3" '
    NR == 1 { good = $0 == job } NR == 2 { good = good && $0 == segment }
    NR == 3 { good = good && $1 == (step == "place" ? "layout" : "file") } NR == 4 { good = good && $1 == "stubs" && NF == 3 }
    NR > 4 { good = good && $1 == "packet" && NF == 3 } END { exit !(good && NR == (step == "encode" ? frames + 4 : 3)) }' \
    "$(proof_of "$step" "$1")" 2>/dev/null || return 1
  case $step in
    analyse) [[ $(sed -n 3p "$(proof_of analyse "$1")") == "$(file_line file "$(name_of "$1")-1.log" 2>/dev/null)" ]] ;;
    place) [[ $(sed -n 3p "$(proof_of place "$1")") == "layout $(id_of_layout)" ]] ;;
  esac
}

# check_segment INDEX FIRST FRAMES: whether the segment is encoded: its proof is of this job and fits its files.
check_segment() {
  local name
  name=$(name_of "$1")
  [[ -s $name.mxf && -s $name.stubs ]] && check_proof encode "$@" || return 1
  [[ $(sed -n 3,4p "$name.sums") == "$(file_line file "$name.mxf")"$'\n'"$(file_line stubs "$name.stubs")" ]]
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
      -vf | -filter | -filter:*) filters=${options[++i]:-} ;;
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
  [[ -z $job_film_rate ]] || how+=(-b:v "$job_film_rate")
}

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Does the next step of one segment of a job that samples/cluster/encode.sh has planned:
#
#     samples/cluster/segment.sh [--step STEP] [--requeue-limit N] FOLDER [INDEX] [OPTION...]
#
# STEP is analyse (with encode.sh --film-rate), encode, or place, which writes the segment into the output (job.sh). Default: the
# next one, as the files of FOLDER tell. INDEX is SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX where it is not given. OPTION is for
# the encoder and must not change its bytes: -device cuda:0, -threads 8. A step that is done and right is left alone, so the script
# may run as often as you like, even twice at a time. Exit status 0: FOLDER has the proof of the step; else the last line says why:
# 137 or 143 if a program was killed, or 1. Slurm starts it anew at most N times (default 3) where a node fails.
#
# Environment: CJ2K_FFMPEG   the ffmpeg to use, ffprobe beside it; it must be the one that made the plan
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR
source "$root/samples/common.sh"
# shellcheck source-path=SCRIPTDIR
source "$root/samples/cluster/job.sh"

limit=3 step=
while [[ ${1:-} == -* ]]; do
  case $1 in
    -h | --help) usage ;;
    --step) step=${2:?--step STEP}; shift 2 ;;
    --requeue-limit) limit=${2:?--requeue-limit N}; shift 2 ;;
    *) usage 2 >&2 ;;
  esac
done
[[ $# -ge 1 && $limit =~ ^[0-9]+$ && $step =~ ^(analyse|encode|place)?$ ]] || usage 2 >&2
folder=${1%/}
shift
index=${SLURM_ARRAY_TASK_ID:-${JOB_COMPLETION_INDEX:-}}
if [[ ${1:-} =~ ^[0-9]+$ ]]; then index=$1; shift; fi
[[ $index =~ ^[0-9]+$ ]] || die "no INDEX, and neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set"
index=$((10#$index))
more=("$@")

# Where the disk is full, the log has room for the message a little later.
die() {
  for _ in 1 2 3 4 5; do
    printf 'segment.sh: segment %s on %s: %s\n' "$index" "$(uname -n)" "$*" >&2 2>/dev/null && break
    sleep 1
  done
  exit 1
}

say() { printf 'segment %s: %s\n' "$index" "$*" 2>/dev/null || true; }

[[ ${SLURM_RESTART_COUNT:-0} -le $limit ]] || die "given up: started again $((SLURM_RESTART_COUNT - 1)) times (--requeue-limit $limit)"
export CJ2K_FFMPEG=${CJ2K_FFMPEG:-$root/build/ffmpeg-7.1/ffmpeg}
find_ffmpeg
read_job
read_segment "$index"
name=$(name_of "$index")

# The input is that of the plan.
# shellcheck disable=SC2154 # read_job sets job_NAME
check_source() {
  local now
  if [[ $job_kind == images ]]; then
    now=$(identity_of_images "$job_input" "$first" "$frames") || die "images of $job_input are missing"
    [[ $now == "$images" ]] || die "the images of $job_input are other ones than in the plan"
  else
    now=$(identity_of_film "$job_input")
    [[ $now == "$job_identity" ]] || die "$job_input is another file than in the plan"
  fi
}

# encode SEEK: codes the frames of the segment, and puts into `said` what ffmpeg says, into `found` the number of frames. Writes
# the segment into `part` and its packets into `packets`, or its log of pass 1 into `part`. SEEK is a time at which a key frame is
# shown, or 0 to read from the beginning.
encode() {
  local range='' limits=() output=(-f mxf "$part") bits cap
  packets='' found=0
  set_job_input "$first"
  if [[ $job_kind == images ]]; then
    limits=(-frames:v "$frames")
  else
    range=trim=start=$start:end=$end
    input=(-copyts "${input[@]}")
    if [[ $1 != 0 ]]; then input=(-seek_timestamp 1 -noaccurate_seek -ss "$1" "${input[@]}"); fi
  fi
  set_coding "$range"
  if [[ $step == analyse ]]; then
    output=(-pass 1 -passlogfile "$part" -f null -)
  elif [[ -n $job_film_rate ]]; then
    read -r bits cap <"$name.rate"
    how+=(-b:v "$bits" -maxrate "$cap" -pass 2 -passlogfile "$name")
  fi
  said=$(run_ffmpeg -v warning -progress "$name.progress" "${input[@]}" "${how[@]}" "${more[@]}" "${limits[@]}" -fflags +bitexact \
    "${output[@]}" 2>&1 >/dev/null) || return
  if [[ $step == analyse ]]; then
    [[ ! -e $part-0.log ]] || found=$((($(base64 -d <"$part-0.log" | wc -c) - 56) / 576)) # libcj2k/film/film_log.h
  else
    packets=$(hash_packets -i "$part")
    found=$(printf '%s\n' "$packets" | grep -c '^packet ') || true # a here-string needs a file, which a read-only /tmp refuses
  fi
}

# failed STATUS [PROGRAM]: ends with what the program, by default ffmpeg, has said of the cause. If it was killed (by a lack of
# memory, say), the exit status says so, for RequeueExit=137,143 in slurm.conf.
failed() {
  local program=${2:-ffmpeg} cause=${said##*$'\n'}
  rm -f "$part"* # where the disk is full, there is room for the message now
  printf '%s\n' "$said" >&2 2>/dev/null || true
  if [[ $1 == 137 || $1 == 143 ]]; then (die "$program was ended by signal $(($1 - 128))") || exit "$1"; fi
  [[ $program != ffmpeg ]] || cause=$(printf '%s\n' "$said" | awk '
    NR == 1 { first = $0 } /No space left|^.j2k_cuda/ && !cause { cause = $0 } END { print cause ? cause : first }')
  cause=${cause#mxf.py: }
  die "$program failed: ${cause:-exit status $1}"
}

# mxf ARGUMENT...: runs mxf.py.
mxf() { said=$("$root/samples/cluster/mxf.py" "$@" 2>&1) || failed $? mxf.py; }

# encoded_none: whether not one frame has come out.
encoded_none() { ! grep -q '^frame=[1-9]' "$name.progress" 2>/dev/null; }

# place_segment: writes the segment to its place in the output.
place_segment() {
  local layout hash
  layout=$(id_of_layout)
  check_proof encode "$index" "$first" "$frames" || die "$name.sums has changed since it was written"
  hash=$(awk 'NR == 3 { print $2 }' "$name.sums")
  mxf place "$folder/layout" "$folder/glue" "$(first_packet "$index")" "$name.mxf" "$hash" "${folder%.segments}.$layout.part"
  proof="layout $layout"
}

# shellcheck disable=SC2154 # read_job sets job_NAME
[[ $(identity_of_program) == "$job_program" ]] || die "$ffmpeg is another program than the one that made the plan"
# encode.sh names the step: with NFS, a node may see for a while that a file is not there, until it opens the folder.
if [[ -z $step ]]; then
  ls "$folder" >/dev/null
  step=encode
  if [[ -e $folder/layout ]]; then step=place; elif [[ -n $job_film_rate && ! -e $folder/budget ]]; then step=analyse; fi
fi
check=(check_proof "$step")
[[ $step != encode ]] || check=(check_segment)
if "${check[@]}" "$index" "$first" "$frames"; then
  say "done already"
  exit 0
fi
began=$EPOCHREALTIME
part=$name.$(uname -n).$$.part
trap 'rm -f "$part"*' EXIT
if [[ $step == place ]]; then
  place_segment
else
  check_source
  # What an earlier task has left goes. A task that still runs elsewhere then fails, or writes the same bytes.
  rm -f "$(proof_of "$step" "$index")" "$name".*.part*
  rm -f "$name.progress"
  found=0
  if [[ $seek != 0 ]]; then
    encode "$seek" || { status=$?; encoded_none || failed "$status"; }
    [[ $found == "$frames" ]] || say "$found of $frames frames after a seek to $seek s; reading $job_input from its beginning"
  fi
  if [[ $found != "$frames" ]]; then encode 0 || failed $?; fi
  [[ -z $said ]] || say "$said"
  [[ $found == "$frames" ]] || die "$found frames, not $frames: $job_input cannot be decoded as its packets say"
  check_source
  if [[ $step == analyse ]]; then
    proof=$(file_line file "$part-0.log")
    sync "$part-0.log" || die "what was written cannot be synchronized"
    mv -T "$part-0.log" "$name-1.log"
  else
    mxf stubs "$part" "$part.stubs"
    proof=$(file_line file "$part" && file_line stubs "$part.stubs" && printf '%s\n' "$packets")
    sync "$part" "$part.stubs" || die "what was written cannot be synchronized"
    mv -T "$part" "$name.mxf"
    mv -T "$part.stubs" "$name.stubs"
  fi
fi
printf 'job %s\nsegment %s %s %s\n%s\n' "$id" "$index" "$first" "$frames" "$proof" >"$part.proof" || {
  rm -f "$part"*
  die "$part.proof cannot be written: is the disk full?"
}
sync "$part.proof" || die "what was written cannot be synchronized"
mv -T "$part.proof" "$(proof_of "$step" "$index")"
sync "$folder"
case $step in analyse) did=analysed ;; encode) did=encoded ;; place) did=placed ;; esac
say "$did $frames frames from $first in $(seconds_since "$began") s on $(uname -n)"

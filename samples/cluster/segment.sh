#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Encodes one segment of a job that samples/cluster/encode.sh has planned:
#
#     samples/cluster/segment.sh [--requeue-limit N] FOLDER [INDEX] [OPTION...]
#
# INDEX is SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX where it is not given. OPTION is for the encoder and must not change its
# bytes: -device cuda:0, -threads 8. A segment that is done and right is left alone, so the script may run as often as it likes,
# even twice at a time. Exit status 0: FOLDER has INDEX.mxf with the right frames, and INDEX.sums with its hashes; else 1, and
# the last line says why. Slurm starts it anew at most N times (default 3) where a node fails.
#
# Environment: CJ2K_FFMPEG   the ffmpeg to use, ffprobe beside it; it must be the one that made the plan
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR
source "$root/samples/common.sh"
# shellcheck source-path=SCRIPTDIR
source "$root/samples/cluster/job.sh"

limit=3
while [[ ${1:-} == -* ]]; do
  case $1 in
    -h | --help) usage ;;
    --requeue-limit) limit=${2:?--requeue-limit N}; shift 2 ;;
    *) usage 2 >&2 ;;
  esac
done
[[ $# -ge 1 && $limit =~ ^[0-9]+$ ]] || usage 2 >&2
folder=$1
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

# encode SEEK: writes the segment into `part`, its packets into `packets`, and what ffmpeg says into `said`. SEEK is a time at
# which a key frame is shown, or 0 to read from the beginning.
encode() {
  local range='' limits=()
  packets=
  set_job_input "$first"
  if [[ $job_kind == images ]]; then
    limits=(-frames:v "$frames")
  else
    range=trim=start=$start:end=$end
    input=(-copyts "${input[@]}")
    if [[ $1 != 0 ]]; then input=(-seek_timestamp 1 -noaccurate_seek -ss "$1" "${input[@]}"); fi
  fi
  set_coding "$range"
  said=$(run_ffmpeg -v warning -progress "$name.progress" "${input[@]}" "${how[@]}" "${more[@]}" "${limits[@]}" -fflags +bitexact \
    -f mxf "$part" 2>&1 >/dev/null) && packets=$(hash_packets -i "$part")
}

# failed STATUS: ends with what ffmpeg has said of the cause. If it was killed (by a lack of memory, say), the exit status says
# so, for RequeueExit=137,143 in slurm.conf.
failed() {
  rm -f "$part"* # where the disk is full, there is room for the message now
  printf '%s\n' "$said" >&2 2>/dev/null || true
  if [[ $1 == 137 || $1 == 143 ]]; then (die "ffmpeg was ended by signal $(($1 - 128))") || exit "$1"; fi
  die "ffmpeg failed: $(printf '%s\n' "$said" | awk '
    NR == 1 { first = $0 } /No space left|^.j2k_cuda/ && !cause { cause = $0 } END { print cause ? cause : first }')"
}

# encoded_none: whether not one frame has come out.
encoded_none() { ! grep -q '^frame=[1-9]' "$name.progress" 2>/dev/null; }

# count: without a here-string, whose file a read-only /tmp refuses.
count() { printf '%s\n' "$packets" | grep -c '^packet ' || true; }

# shellcheck disable=SC2154 # read_job sets job_NAME
[[ $(identity_of_program) == "$job_program" ]] || die "$ffmpeg is another program than the one that made the plan"
check_source
if check_segment "$index" "$first" "$frames"; then
  say "done already"
  exit 0
fi

# What an earlier task has left goes. A task that still runs elsewhere then fails, or writes the same bytes.
rm -f "$name.sums" "$name.mxf" "$name".*.part*
part=$name.$(uname -n).$$.part
trap 'rm -f "$part" "$part".*' EXIT
began=$EPOCHREALTIME
rm -f "$name.progress"
packets=
if [[ $seek != 0 ]]; then
  encode "$seek" || { status=$?; encoded_none || failed "$status"; }
  [[ $(count) == "$frames" ]] ||
    say "$(count) of $frames frames after a seek to $seek s; reading $job_input from its beginning"
fi
if [[ $(count) != "$frames" ]]; then encode 0 || failed $?; fi
[[ -z $said ]] || say "$said"
[[ $(count) == "$frames" ]] || die "$(count) frames, not $frames: $job_input cannot be decoded as its packets say"
check_source

proof=$(printf 'job %s\nsegment %s %s %s\nfile %s %s\n%s' "$id" "$index" "$first" "$frames" "$(hash_of_file "$part")" \
  "$(stat -c %s "$part")" "$packets")
printf '%s\n' "$proof" >"$part.sums" || { rm -f "$part"*; die "$part.sums cannot be written: is the disk full?"; }
sync "$part" "$part.sums" || die "what was written cannot be synchronized"
mv -T "$part" "$name.mxf"
mv -T "$part.sums" "$name.sums"
sync "$folder"
say "frames $first to $((first + frames - 1)) in $(seconds_since "$began") s on $(uname -n)"

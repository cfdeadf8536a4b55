#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Encodes a film, or a sequence of images such as scan/%06d.dpx, on several machines, and proves the result:
#
#     samples/cluster/encode.sh [OPTIONS] INPUT OUTPUT.mxf [ENCODER OPTIONS]
#
#     --segments N          cut into N segments of about the same length
#     --segment-seconds S   cut into segments of S seconds (default: 60)
#     --local N             N tasks at a time on this machine, without Slurm
#     --rate FPS            frame rate of a sequence of images (default 24)
#     --film-rate RATE      one budget for the film, such as 100M: RATE is its mean, -maxrate the cap of each frame (docs/film.md)
#     --max-tasks N         at most N Slurm tasks at a time
#     --gpus N              each Slurm task gets N GPUs (--gres=gpu:N) and encodes on them (-device cuda:0,...)
#     --sbatch OPTION       one more option for sbatch, such as --partition=film or --cpus-per-task=16; may be repeated
#     --requeue-limit N     how often Slurm may start a task again after a node has failed (default 3)
#     --verify              encode INPUT once more, in one piece on this machine, and compare the packets
#     --keep                keep the segments
#     --plan                only what comes before the next step of the segments, which another engine does (indexed-job.yaml)
#     --join                only what comes after their last step
#
# INPUT, OUTPUT and this folder must have the same path on all machines, and ffmpeg must be the same program. They need python3.
# INPUT needs a constant frame rate. ENCODER OPTIONS are those of j2k_cuda, and -vf with filters that look at one frame at a time.
#
# The segments are encoded by segment.sh into OUTPUT.mxf.segments, as a Slurm array job. When all sizes are known, a second array
# job writes them to their places in the output and reads them back; with --film-rate, one before both analyses them. Audio (as PCM)
# and timecode come from INPUT. A frame is coded without regard to its neighbours, so the packets are those of one encode;
# OUTPUT.mxf.hashes lists their sizes and hashes. If something fails, the last lines say what: the same command goes on from there,
# with segments that are done, and right, left as they are.
#
# Environment: CJ2K_FFMPEG         the ffmpeg to use, ffprobe beside it; default: build/ffmpeg-7.1/ffmpeg
#              CJ2K_POLL_SECONDS   seconds between two looks at the tasks; default: 1, with Slurm 5
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR
source "$root/samples/common.sh"
# shellcheck source-path=SCRIPTDIR
source "$root/samples/cluster/job.sh"
# shellcheck source-path=SCRIPTDIR
source "$root/samples/cluster/plan.sh"
# shellcheck source-path=SCRIPTDIR
source "$root/samples/cluster/join.sh"
readonly kSegment=$root/samples/cluster/segment.sh

wanted_segments='' wanted_seconds='' wanted_rate='' film_rate='' local_tasks='' max_tasks='' gpus='' limit=3
steps=all verify='' keep='' sbatch_options=()
number() { [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] || die "$1 $2 is not a whole number from 1 to 999999"; }
while [[ ${1:-} == -* ]]; do
  case $1 in
    -h | --help) usage ;;
    --segments) number "$1" "${2:-}"; wanted_segments=$2; shift 2 ;;
    --segment-seconds) wanted_seconds=${2:?--segment-seconds S}; shift 2 ;;
    --film-rate) film_rate=$(bits_of "${2:-}") || die "--film-rate ${2:-} is no rate such as 100M"; shift 2 ;;
    --local) number "$1" "${2:-}"; local_tasks=$2; shift 2 ;;
    --rate) wanted_rate=${2:?--rate FPS}; shift 2 ;;
    --max-tasks) number "$1" "${2:-}"; max_tasks=$2; shift 2 ;;
    --gpus) number "$1" "${2:-}"; gpus=$2; shift 2 ;;
    --sbatch) sbatch_options+=("${2:?--sbatch OPTION}"); shift 2 ;;
    --requeue-limit) [[ ${2:-} =~ ^[0-9]+$ ]] || die "--requeue-limit ${2:-} is not a number"; limit=$2; shift 2 ;;
    --verify) verify=1; shift ;;
    --keep) keep=1; shift ;;
    --plan | --join) steps=${1#--}; shift ;;
    *) usage 2 >&2 ;;
  esac
done
[[ $# -ge 2 && ! (-n $wanted_segments && -n $wanted_seconds) ]] || usage 2 >&2
[[ -z $wanted_seconds || ($wanted_seconds =~ ^[0-9]+(\.[0-9]+)?$ && $wanted_seconds =~ [1-9]) ]] ||
  die "--segment-seconds $wanted_seconds is not a positive number"
[[ -z $wanted_rate || $wanted_rate =~ ^[1-9][0-9]*(/[1-9][0-9]*)?$ ]] || die "--rate $wanted_rate is no rate such as 24 or 24000/1001"
film=$1
output=$2
shift 2
[[ $output == *.mxf ]] || die "$output is not named .mxf"
[[ -z $local_tasks || -z $gpus$max_tasks ]] || die "--gpus and --max-tasks are for Slurm, not for --local"
refuse_options "$@"
refuse_rates "$@"
options=("$@")
[[ ! -e $output ]] || die "there is $output already"
if [[ $steps == all && -z $local_tasks ]] && ! command -v sbatch >/dev/null; then
  die "there is no sbatch here: install Slurm (Debian: slurm-client), or use --local N"
fi
command -v python3 >/dev/null || die "there is no python3 here"
find_ffmpeg
export CJ2K_FFMPEG=$ffmpeg
is_sequence "$film" || [[ -f $film ]] || die "there is no $film"
[[ -d $(dirname "$film") ]] || die "there is no folder $(dirname "$film")"
job_input=$(cd "$(dirname "$film")" && pwd)/${film##*/}
[[ -d $(dirname "$output") ]] || die "there is no folder $(dirname "$output")"
output=$(cd "$(dirname "$output")" && pwd)/${output##*/}
[[ $output != *[?#]* ]] || die "ffmpeg cannot join files in a path with ? or #: $output"
folder=$output.segments
mkdir -p "$folder" || die "the folder $folder cannot be made"
exec 9>"$folder/lock"
flock -n 9 || die "another encode.sh, or one of its tasks, works in $folder"

# request: the part of the job that the command line decides.
request() {
  printf '%s=%s\n' input "$job_input" kind "$job_kind" program "$(identity_of_program)" \
    cut "${wanted_segments:+$wanted_segments segments}${wanted_seconds:+$wanted_seconds s}" wanted_rate "$wanted_rate" film_rate "$film_rate"
}

# plan: makes the job, or takes up the one that is there.
plan() {
  local input
  job_kind=film
  ! is_sequence "$job_input" || job_kind=images
  request >"$folder/request.new"
  { [[ ${#options[@]} == 0 ]] || printf '%s\0' "${options[@]}"; } >"$folder/options.new"
  if [[ -e $folder/plan ]]; then
    take_up
    return
  fi
  if [[ $job_kind == images ]]; then plan_images; begin=0; else plan_film "$job_input"; fi
  size=0 segments=${wanted_segments:-0}
  if [[ -z $wanted_segments ]]; then
    size=$(awk -v s="${wanted_seconds:-60}" -v r="$rate" '
      BEGIN { split(r, f, "/"); n = int(s * f[1] / f[2] + .5); print n < 1 ? 1 : n }')
    segments=$(((frames + size - 1) / size))
  fi
  [[ $segments -le $frames ]] || die "--segments $segments: $film has only $frames frames"
  write_plan
  {
    cat "$folder/request.new"
    printf '%s=%s\n' identity "$job_identity" frames "$frames" rate "$rate" segments "$segments" begin "$begin"
  } >"$folder/job.new"
  mv "$folder/options.new" "$folder/options"
  mv "$folder/job.new" "$folder/job"
  sync "$folder/plan.new" "$folder/job" "$folder/options"
  mv "$folder/plan.new" "$folder/plan"
  rm "$folder/request.new"
}

# take_up: the job in the folder must be this one.
take_up() {
  local now
  cmp -s "$folder/options.new" "$folder/options" ||
    die "$folder has segments with other encoder options: remove it, or name another OUTPUT"
  head -n "$(wc -l <"$folder/request.new")" "$folder/job" | cmp -s - "$folder/request.new" ||
    die "$folder belongs to another job ($(head -n "$(wc -l <"$folder/request.new")" "$folder/job" | diff - "$folder/request.new" | sed -n 's/^< //p' |
      paste -s -d ' ')): \
remove it, or name another OUTPUT"
  rm "$folder/options.new" "$folder/request.new"
  read_job
  check_input
}

# check_input: INPUT is what it was when the job was planned.
check_input() {
  local now
  if [[ $job_kind == images ]]; then
    read_segment 0
    now=$(identity_of_images "$job_input" "$first" "$job_frames" 2>/dev/null) || now=
  else
    now=$(identity_of_film "$job_input")
  fi
  [[ $now == "$job_identity" ]] || die "$film has changed since $folder was planned: remove that folder"
}

# find_missing [INDEX...]: puts those segments, or all, whose step is not done into `missing`. Those that an earlier run has encoded
# are read and checked by their hashes; others are read when they are placed.
find_missing() {
  local index first frames rest
  missing=()
  while read -r index first frames rest; do
    [[ $# == 0 || " $* " == *" $index "* ]] || continue
    if [[ $step == encode && $steps == all ]]; then
      if check_segment "$index" "$first" "$frames"; then continue; fi
      [[ ! -e $(name_of "$index").sums ]] || echo "segment $index is damaged, or of another job: it is encoded again"
    elif check_proof "$step" "$index" "$first" "$frames"; then
      continue
    fi
    rm -f "$(proof_of "$step" "$index")" "$(name_of "$index").progress"
    missing+=("$index")
  done <"$folder/plan"
}

# show_progress WHAT: one line where something has changed.
show_progress() {
  local index first frames rest done_segments=0 done_frames=0 line
  while read -r index first frames rest; do
    if [[ -e $(proof_of "$step" "$index") ]]; then
      done_segments=$((done_segments + 1)) done_frames=$((done_frames + frames))
    elif [[ $step != place && -s $(name_of "$index").progress ]]; then
      line=$(tail -n 30 "$(name_of "$index").progress" 2>/dev/null | sed -n 's/^frame=//p' | tail -n 1) || line=
      done_frames=$((done_frames + ${line:-0}))
    fi
  done <"$folder/plan"
  line="$step: segments $done_segments of $job_segments, frames $done_frames of $job_frames${1:+, $1}"
  [[ $line != "${shown:-}" ]] || return 0
  shown=$line
  printf '[%4d s] %s\n' "$SECONDS" "$line"
}

# end_local PID: ends the tasks: those of a script that leads its process group now; else those that have begun end by
# themselves, and hold the lock until then.
end_local() {
  trap - INT TERM
  echo "ended; the same command goes on from here" >&2
  kill -TERM "$1"
  if [[ $(cut -d ' ' -f 5 "/proc/$$/stat") == "$$" ]]; then kill -TERM 0; fi
  exit 130
}

run_local() {
  local tasks
  printf '%s\n' "${missing[@]}" |
    xargs -P "${local_tasks:-1}" -I{} bash -c "exec \"\$1\" --step $step \"\$2\" {} >>\"\$2/\$(printf %06d {}).log\" 2>&1" - "$kSegment" "$folder" &
  tasks=$!
  trap 'end_local "$tasks"' INT TERM
  while kill -0 "$tasks" 2>/dev/null; do
    show_progress ''
    sleep "${CJ2K_POLL_SECONDS:-1}"
  done
  wait "$tasks" || true
  trap - INT TERM
}

# ranges NUMBER...: as 0-3,7,9-11.
ranges() {
  printf '%s\n' "$@" | awk '
    function put() { printf "%s%s", sep, a == b ? a : a "-" b; sep = "," }
    NR == 1 { a = b = $1; next } $1 == b + 1 { b = $1; next } { put(); a = b = $1 } END { put() }'
}

# submit: the missing segments as an array job, whose number is put into `number`, and with the step into the file `slurm`. If the
# job of an earlier run of that step is still there, its number is taken.
submit() {
  local device=() resources=() words earlier
  if [[ -s $folder/slurm ]]; then
    read -r number earlier <"$folder/slurm"
    if [[ $earlier == "$step" ]] && job_is_there && [[ -n $there ]]; then
      echo "Slurm job $number is still there: waiting for it"
      return
    fi
  fi
  if [[ -n $gpus && $step == encode ]]; then
    resources=("--gres=gpu:$gpus")
    device=(-device "cuda:$(seq -s , 0 $((gpus - 1)))")
  fi
  printf -v words '%q ' "$kSegment" --step "$step" --requeue-limit "$limit" "$folder"
  [[ ${#device[@]} == 0 ]] || printf -v words '%s%q %q' "$words" "${device[@]}"
  number=$(sbatch --parsable --requeue --job-name="cj2k-${output##*/}" \
    --array="$(ranges "${missing[@]}")${max_tasks:+%$max_tasks}" \
    --chdir="$folder" --open-mode=append --output="$folder/%6a.log" "${resources[@]}" "${sbatch_options[@]}" --wrap="exec $words") ||
    die "sbatch failed, see above"
  number=${number%%;*}
  echo "$number $step" >"$folder/slurm"
  echo "Slurm job $number: ${#missing[@]} tasks (scancel $number ends it)"
}

# job_is_there: puts the states of its tasks into `there`; empty: it has ended. Fails while the controller does not answer.
job_is_there() {
  if there=$(squeue -h -r -j "$number" -o '%T (%r)' 2>"$folder/squeue.log"); then
    there=$(sort <<<"$there" | uniq -c | awk 'NF > 1 { $1 = $1; sub(/ \(None\)/, ""); print tolower($0) }' | paste -s -d ';' |
      sed 's/;/, /g')
  elif grep -q 'Invalid job id' "$folder/squeue.log"; then
    there=
  else
    return 1
  fi
}

# all_done: whether each segment has the proof of the step.
all_done() {
  local index first frames rest
  while read -r index first frames rest; do
    [[ -e $(proof_of "$step" "$index") ]] || return 1
  done <"$folder/plan"
}

run_slurm() {
  local state=''
  submit
  trap 'echo; echo "job $number goes on: the same command waits for it, scancel $number ends it"; exit 130' INT TERM
  while :; do
    if job_is_there; then
      # A task that starts again may be in no queue for a moment.
      if all_done || [[ -z $there && $state == ended ]]; then break; fi
      state=${there:-ended}
      if [[ -n $there && $(tr , '\n' <<<"$there" | grep -vc held) == 0 ]]; then
        echo "Slurm holds what is left ($there)"
        break
      fi
    else
      state="Slurm's controller does not answer"
    fi
    show_progress "$state"
    sleep "${CJ2K_POLL_SECONDS:-5}"
  done
  trap - INT TERM
  # Tasks that Slurm holds, or has started twice, are of no use.
  [[ -z $there ]] || scancel "$number" || true
  rm -f "$folder/slurm"
}

# report_missing: what is missing, and why.
report_missing() {
  local index said room
  case $step in
    place) find_damage "${missing[@]}" ;;
    encode) rm -f "$folder/budget" ;; # it is made again, since a log that has come of it may be damaged
  esac
  for index in "${missing[@]:0:10}"; do
    said=$(grep -v '^$' "$(name_of "$index").log" 2>/dev/null | tail -n 1) || true
    room=$(df -h --output=avail "$folder" | tail -n 1 | tr -d ' ')
    printf 'segment %s: %s\n' "$index" \
      "${said:-no task has said why: it was killed, has not run, or the disk is full ($room free)}" >&2
  done
  die "${#missing[@]} of $job_segments segments are missing: $(ranges "${missing[@]}"); the logs are $folder/*.log. The same command \
goes on from here"
}

# run_step STEP: ends when all segments have done it, or with what is missing.
run_step() {
  local index kept state='done and right'
  step=$1
  [[ $step != place ]] || state=placed
  find_missing
  kept=$((job_segments - ${#missing[@]}))
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $steps == plan ]]; then
    # Where others are placed, these may have failed because they are damaged.
    [[ $step != place || $kept == 0 ]] || find_damage "${missing[@]}"
    printf 'folder      %s\nnext        %s segments %s\n' "$folder" "$step" "$(ranges "${missing[@]}")"
    exit
  fi
  if [[ $steps == all || $step == place ]]; then
    [[ $kept == 0 ]] || echo "$kept segments are $state"
    if [[ -n $local_tasks || $steps == join ]]; then run_local; else run_slurm; fi
    for index in "${!missing[@]}"; do
      read_segment "${missing[index]}"
      if check_proof "$step" "${missing[index]}" "$first" "$frames"; then unset "missing[index]"; fi
    done
    missing=("${missing[@]}")
  fi
  show_progress ''
  [[ ${#missing[@]} == 0 ]] || report_missing
}

plan
read_job
printf 'input       %s\nframes      %s at %s fps, in %s segments\n' "$job_input" "$job_frames" "${job_rate%/1}" "$job_segments"
if [[ -n $job_film_rate && ! -e $folder/budget ]]; then
  run_step analyse
  share_budget
fi
[[ -e $folder/layout ]] || run_step encode
lay_out
run_step place
check_input
[[ $steps != plan ]] || { echo "next        --join"; exit; }
check_output
if [[ -n $verify ]]; then verify_once; fi
finish

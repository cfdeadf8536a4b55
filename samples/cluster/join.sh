# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2120,SC2154 # encode.sh and job.sh set and call what is here
# How encode.sh makes one file of the segments and proves the result, and what it does between their steps.

# audio_codecs, timecode_of: of the input.
audio_codecs() { # of each stream once, also where it is in a program or a group
  "$ffprobe" -v error -select_streams a -show_entries stream=index,codec_name -of csv=p=0 "$job_input" |
    awk -F, 'NF > 1 && !seen[$1]++ { print $2 }'
}
timecode_of() {
  "$ffprobe" -v error -show_entries stream_tags=timecode:format_tags=timecode -of default=nw=1:nk=1 "$job_input" | sed -n 1p
}

# set_sound: puts into `sound` the options that open the input, and into `tracks` those of its audio: PCM that begins with the
# first frame and is as long as the picture. 16 bits stay, all else has 24.
set_sound() {
  local codec track=0 length shift timecode
  sound=() tracks=()
  [[ $job_kind == film ]] || return 0
  timecode=$(timecode_of)
  if [[ -n $timecode ]]; then tracks+=(-timecode "$timecode"); fi
  while read -r codec; do
    [[ -n $codec ]] || continue
    if [[ $codec == pcm_s16* ]]; then codec=pcm_s16le; else codec=pcm_s24le; fi
    tracks+=("-c:a:$track" "$codec")
    track=$((track + 1))
  done < <(audio_codecs)
  [[ $track -gt 0 ]] || return 0
  length=$(awk -v n="$job_frames" -v rate="$job_rate" 'BEGIN { split(rate, r, "/"); printf "%.6f", n * r[2] / r[1] }')
  # Where the video does not begin with the file, silence fills what the audio lacks, and what is too early goes.
  shift=$(awk -v video="$job_begin" -v all="$("$ffprobe" -v error -show_entries format=start_time -of default=nw=1:nk=1 "$job_input")" \
    'BEGIN { printf "%.6f", all - video }')
  sound=(-itsoffset "$shift" -i "$job_input")
  tracks+=(-map '1:a' -af "aresample=async=1:first_pts=0,apad=whole_dur=$length,atrim=duration=$length")
  echo "audio       $track tracks"
}

# share_budget: gives each frame of the film its bytes, from what the segments' analyses have found.
share_budget() {
  local index rest names=()
  while read -r index rest; do names+=("$(name_of "$index")"); done <"$folder/plan"
  "$root/samples/cluster/film.py" "$job_film_rate" "$job_rate" "$least" "${names[@]}" >"$folder/budget.new" || die "there is no budget, see above"
  cat "$folder/budget.new"
  sync "$folder"/*-0.log "$folder"/*.rate "$folder/budget.new"
  mv "$folder/budget.new" "$folder/budget"
}

# lay_out: finds out where everything lies in the output, which is `part` until it is done. Its muxer sees stubs instead of packets,
# so this takes little time; mxf.py says how.
lay_out() {
  local index first frames rest total
  if [[ -e $folder/layout ]]; then
    part=$output.$(id_of_layout).part
    if [[ -e $part && $(file_line glue "$folder/glue" 2>/dev/null) == "$(cat "$folder/glue.sum")" ]]; then return; fi
    rm -f "$folder/layout"
  fi
  rm -f "$output".????????????????.part "$folder"/*.placed
  while read -r index first frames rest; do
    [[ $(sed -n 4p "$(name_of "$index").sums") == "$(file_line stubs "$(name_of "$index").stubs")" ]] || find_damage
    sed 1,4d "$(name_of "$index").sums"
    printf "file '%06d.stubs'\n" "$index" >&3
  done <"$folder/plan" >"$folder/expected" 3>"$folder/list"
  [[ $(wc -l <"$folder/expected") == "$job_frames" ]] || die "the segments have $(wc -l <"$folder/expected") frames, not $job_frames"
  set_sound
  echo "laying out $job_segments segments"
  if ! run_ffmpeg -v warning -f concat -safe 0 -i "$folder/list" "${sound[@]}" -map 0:v:0 -c:v copy "${tracks[@]}" -f mxf "$folder/stubs" ||
    ! total=$("$root/samples/cluster/mxf.py" layout "$folder/stubs" "$folder/expected" "$folder/glue" "$folder/layout.new"); then
    find_damage
    die "the segments cannot be joined, see above"
  fi
  rm "$folder/stubs"
  part=$output.$(hash_of_file "$folder/layout.new" | cut -c 1-16).part
  truncate -s "$total" "$part"
  file_line glue "$folder/glue" >"$folder/glue.sum" || die "$folder/glue.sum cannot be written: is the disk full?"
  sync "$folder/glue" "$folder/glue.sum" "$folder/layout.new" "$folder/expected" "$part"
  mv "$folder/layout.new" "$folder/layout"
}

different() { diff "$folder/$1" "$folder/$2" | grep -c '^[<>]' || true; }

# find_damage [INDEX...]: ends with the names of those segments, or of all, whose files are not what they were.
find_damage() {
  local step=encode steps=all missing
  echo "checking the segments" >&2
  find_missing "$@" >/dev/null
  [[ ${#missing[@]} != 0 ]] || return 0
  rm -f "$folder/layout" "${part:-}"
  die "segments $(ranges "${missing[@]}") have changed since they were done; the same command makes them again"
}

# check_output: the tasks have read back all bytes. Whoever opens the file finds the first and the last frame of each segment in
# their places.
check_output() {
  local intervals
  awk '{ print at + 0; if ($3 > 1) print at + $3 - 1; at += $3 }' "$folder/plan" >"$folder/numbers"
  awk 'NR == FNR { wanted[$1]; next } FNR - 1 in wanted' "$folder/numbers" "$folder/expected" >"$folder/sought"
  # An argument has at most 128 KiB.
  awk -v rate="$job_rate" 'BEGIN { split(rate, r, "/") } { printf "%.6f%%+#1\n", ($1 + .25) * r[2] / r[1] }' "$folder/numbers" |
    xargs -n 2000 | tr ' ' , | while read -r intervals; do
    "$ffprobe" -v error -select_streams v:0 -show_data_hash murmur3 -show_entries packet=size,data_hash -read_intervals "$intervals" \
      -of csv=p=0 "$part"
  done | sed 's/^\([0-9]*\),murmur3:/packet \1 /i' >"$folder/found" || true
  cmp -s "$folder/sought" "$folder/found" || {
    mv "$part" "$output.failed"
    die "$(different sought found) packets of the joined file are not where they should be; it is $output.failed"
  }
}

# verify_once: the whole input through the same options, in one piece.
verify_once() {
  local whole=$folder/whole.mxf limits=()
  echo "encoding $job_input in one piece"
  read_segment 0
  set_job_input "$first"
  set_coding ''
  [[ $job_kind != images ]] || limits=(-frames:v "$job_frames")
  if [[ -n $job_film_rate ]]; then
    run_ffmpeg -v warning "${input[@]}" "${how[@]}" "${limits[@]}" -pass 1 -passlogfile "$whole" -f null - ||
      die "the input cannot be analysed in one piece, see above"
    how+=(-pass 2 -passlogfile "$whole")
  fi
  run_ffmpeg -v warning -stats "${input[@]}" "${how[@]}" "${limits[@]}" -fflags +bitexact -f mxf "$whole" ||
    die "the input cannot be encoded in one piece, see above"
  hash_packets -i "$whole" >"$folder/whole"
  rm "$whole"*
  if ! cmp -s "$folder/expected" "$folder/whole"; then
    mv "$part" "$output.failed"
    die "$(different expected whole) packets differ between one encode and the joined file, which is $output.failed"
  fi
  echo "verified    one encode on this machine gives the same $job_frames packets"
}

# finish: the joined file gets its name.
finish() {
  [[ ! -e $output ]] || die "there is $output now, which is not of this job; the joined file is $part"
  awk '{ print $2, $3 }' "$folder/expected" >"$output.hashes"
  sync "$part"
  mv -T "$part" "$output"
  sync "$(dirname "$output")"
  if [[ -z $keep ]]; then
    exec 9>&- # NFS keeps a file that is open, and so the folder
    rm -r "$folder"
  fi
  echo "packets     $job_frames, with the sizes and hashes of the segments ($output.hashes)"
  echo "file        $output"
}

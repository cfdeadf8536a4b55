# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # encode.sh and job.sh set what is used here
# How encode.sh joins segments and proves the result.

# audio_codecs, timecode_of: of the input.
audio_codecs() { "$ffprobe" -v error -select_streams a -show_entries stream=codec_name -of csv=p=0 "$job_input"; }
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

# join: all segments into `part`. What lies in the file then must be what the tasks have hashed.
join() {
  local index first frames rest
  part=$output.part
  while read -r index first frames rest; do
    sed 1,3d "$(name_of "$index").sums"
    printf "file '%06d.mxf'\n" "$index" >&3
  done <"$folder/plan" >"$folder/expected" 3>"$folder/list"
  [[ $(wc -l <"$folder/expected") == "$job_frames" ]] || die "the segments have $(wc -l <"$folder/expected") frames, not $job_frames"
  set_sound
  echo "joining $job_segments segments"
  run_ffmpeg -v warning -f concat -safe 0 -i "$folder/list" "${sound[@]}" -map 0:v:0 -c:v copy "${tracks[@]}" -f mxf "$part" || {
    rm -f "$part"
    find_damage
    die "the segments cannot be joined, see above"
  }
  echo "reading what was written"
  hash_packets -i "$part" >"$folder/written" || true
  if ! cmp -s "$folder/expected" "$folder/written"; then
    mv "$part" "$output.failed"
    find_damage
    die "$(different expected written) packets in the joined file are not those of the segments; it is $output.failed"
  fi
}

different() { diff "$folder/$1" "$folder/$2" | grep -c '^[<>]' || true; }

# find_damage: ends with the names of the segments whose files are not what they were.
find_damage() {
  find_missing
  [[ ${#missing[@]} == 0 ]] || { rm -f "$output.failed"; die "segments $(ranges "${missing[@]}") have changed since they were done; the same command makes them again"; }
}

# verify_once: the whole input through the same options, in one piece.
verify_once() {
  local whole=$folder/whole.mxf limits=()
  echo "encoding $job_input in one piece"
  read_segment 0
  set_job_input "$first"
  set_coding ''
  [[ $job_kind != images ]] || limits=(-frames:v "$job_frames")
  run_ffmpeg -v warning -stats "${input[@]}" "${how[@]}" "${limits[@]}" -fflags +bitexact -f mxf "$whole" ||
    die "the input cannot be encoded in one piece, see above"
  hash_packets -i "$whole" >"$folder/whole"
  rm "$whole"
  if ! cmp -s "$folder/expected" "$folder/whole"; then
    mv "$part" "$output.failed"
    die "$(different expected whole) packets differ between one encode and the joined file, which is $output.failed"
  fi
  echo "verified    one encode on this machine gives the same $job_frames packets"
}

# finish: the joined file gets its name.
finish() {
  awk '{ print $2, $3 }' "$folder/written" >"$output.hashes"
  sync "$part"
  mv -T "$part" "$output"
  sync "$(dirname "$output")"
  if [[ -z $keep ]]; then rm -r "$folder"; fi
  echo "packets     $job_frames, with the sizes and hashes of the segments ($output.hashes)"
  echo "file        $output"
}

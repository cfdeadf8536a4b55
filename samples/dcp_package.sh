# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # samples/dcp.sh sets the variables
# A package of digital cinema (SMPTE ST 429-7, ST 429-8, ST 429-9), unencrypted, one reel. samples/dcp.sh reads this file.

new_uuid() { cat /proc/sys/kernel/random/uuid; }

# track_uuid FILE: that of its file package, by which packing list and composition name the file.
track_uuid() {
  "$ffprobe" -v error -show_entries stream_tags=file_package_umid -of default=nw=1:nk=1 "$1" | sed -n '1s/^0x//p' | tr 'A-F' 'a-f' |
    sed 's/^.\{32\}\(.\{8\}\)\(.\{4\}\)\(.\{4\}\)\(.\{4\}\)\(.\{12\}\)$/\1-\2-\3-\4-\5/'
}

# sha1 FILE: as packing lists have it, in base64.
sha1() { printf '%b' "$(sha1sum "$1" | cut -c1-40 | sed 's/../\\x&/g')" | base64; }

xml_text() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$1"; }

# asset UUID FILE TYPE: its entry in the packing list.
asset() {
  printf '    <Asset>\n      <Id>urn:uuid:%s</Id>\n      <Hash>%s</Hash>\n      <Size>%s</Size>\n      <Type>%s</Type>\n    </Asset>\n' \
    "$1" "$(sha1 "$2")" "$(stat -c %s "$2")" "$3"
}

# mapped UUID FILE [EXTRA]: its entry in the asset map.
mapped() {
  printf '    <Asset>\n      <Id>urn:uuid:%s</Id>%s\n      <ChunkList><Chunk><Path>%s</Path><VolumeIndex>1</VolumeIndex><Offset>0</Offset><Length>%s</Length></Chunk></ChunkList>\n    </Asset>\n' \
    "$1" "${3:-}" "${2##*/}" "$(stat -c %s "$2")"
}

# reel_asset ELEMENT UUID FILE MORE
reel_asset() {
  printf '        <%s>\n          <Id>urn:uuid:%s</Id>\n          <EditRate>%s 1</EditRate>\n          <IntrinsicDuration>%s</IntrinsicDuration>\n' \
    "$1" "$2" "$rate" "$frames"
  printf '          <EntryPoint>0</EntryPoint>\n          <Duration>%s</Duration>\n          <Hash>%s</Hash>\n%s        </%s>\n' \
    "$frames" "$(sha1 "$3")" "${4:-}" "$1"
}

# write_package FOLDER TITLE: moves the tracks of FOLDER into FOLDER/package and writes the package's files beside them.
write_package() {
  local to=$1/package title now picture_id sound_id='' cpl_id pkl_id map_id cpl pkl issued
  title=$(xml_text "$2")
  now=$(date -u +%Y-%m-%dT%H:%M:%S+00:00)
  issued="<IssueDate>$now</IssueDate>"
  mkdir -p "$to"
  mv "$1/picture.mxf" "$to/"
  [[ -z $sound ]] || mv "$1/sound.mxf" "$to/"
  picture_id=$(track_uuid "$to/picture.mxf")
  [[ -z $sound ]] || sound_id=$(track_uuid "$to/sound.mxf")
  cpl_id=$(new_uuid) pkl_id=$(new_uuid) map_id=$(new_uuid)
  cpl=$to/CPL_$cpl_id.xml pkl=$to/PKL_$pkl_id.xml

  {
    printf '<?xml version="1.0" encoding="UTF-8"?>\n<CompositionPlaylist xmlns="http://www.smpte-ra.org/schemas/429-7/2006/CPL">\n'
    printf '  <Id>urn:uuid:%s</Id>\n  <AnnotationText>%s</AnnotationText>\n  %s\n  <Issuer>libcj2k</Issuer>\n  <Creator>samples/dcp.sh</Creator>\n' \
      "$cpl_id" "$title" "$issued"
    printf '  <ContentTitleText>%s</ContentTitleText>\n  <ContentKind>feature</ContentKind>\n  <ContentVersion>\n    <Id>urn:uuid:%s</Id>\n    <LabelText>%s</LabelText>\n  </ContentVersion>\n' \
      "$title" "$(new_uuid)" "$title"
    printf '  <RatingList/>\n  <ReelList>\n    <Reel>\n      <Id>urn:uuid:%s</Id>\n      <AssetList>\n' "$(new_uuid)"
    reel_asset MainPicture "$picture_id" "$to/picture.mxf" "          <FrameRate>$rate 1</FrameRate>
          <ScreenAspectRatio>$width $height</ScreenAspectRatio>
"
    [[ -z $sound ]] || reel_asset MainSound "$sound_id" "$to/sound.mxf"
    printf '      </AssetList>\n    </Reel>\n  </ReelList>\n</CompositionPlaylist>\n'
  } >"$cpl"
  {
    printf '<?xml version="1.0" encoding="UTF-8"?>\n<PackingList xmlns="http://www.smpte-ra.org/schemas/429-8/2007/PKL">\n'
    printf '  <Id>urn:uuid:%s</Id>\n  <AnnotationText>%s</AnnotationText>\n  %s\n  <Issuer>libcj2k</Issuer>\n  <Creator>samples/dcp.sh</Creator>\n  <AssetList>\n' \
      "$pkl_id" "$title" "$issued"
    asset "$cpl_id" "$cpl" text/xml
    asset "$picture_id" "$to/picture.mxf" application/mxf
    [[ -z $sound ]] || asset "$sound_id" "$to/sound.mxf" application/mxf
    printf '  </AssetList>\n</PackingList>\n'
  } >"$pkl"
  {
    printf '<?xml version="1.0" encoding="UTF-8"?>\n<AssetMap xmlns="http://www.smpte-ra.org/schemas/429-9/2007/AM">\n'
    printf '  <Id>urn:uuid:%s</Id>\n  <Creator>samples/dcp.sh</Creator>\n  <VolumeCount>1</VolumeCount>\n  %s\n  <Issuer>libcj2k</Issuer>\n  <AssetList>\n' \
      "$map_id" "$issued"
    mapped "$pkl_id" "$pkl" '<PackingList>true</PackingList>'
    mapped "$cpl_id" "$cpl"
    mapped "$picture_id" "$to/picture.mxf"
    [[ -z $sound ]] || mapped "$sound_id" "$to/sound.mxf"
    printf '  </AssetList>\n</AssetMap>\n'
  } >"$to/ASSETMAP.xml"
  printf '<?xml version="1.0" encoding="UTF-8"?>\n<VolumeIndex xmlns="http://www.smpte-ra.org/schemas/429-9/2007/AM">\n  <Index>1</Index>\n</VolumeIndex>\n' \
    >"$to/VOLINDEX.xml"
}

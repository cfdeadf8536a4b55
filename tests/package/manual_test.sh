#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# manual_test.sh PARAMS_TABLE FFMPEG_PATCH_DIR: the manual of the FFmpeg encoder (a part of the patch) must have an item
# for each of its options and for each parameter that -cj2k-params can set, and none for what the frames or options of FFmpeg say.
set -euo pipefail
tool=$1 dir=$2

parameters=$("$tool" | sed -n 's/^| `\([a-z0-9_]*\)` .*/\1/p' | sort)
own=$(printf '%s\n' width height num_components depth is_signed source_depth dx dy colorspace primaries transfer alpha \
  target_bytes max_frame_bytes max_component_bytes quality frame_rate profile_strict | sort)
options=$(sed -nE 's/^    (\{ "|OPT\(|STR\()([a-z0-9_-]+).*/\2/p' "$dir/libcj2kenc.c" | sort)
items=$(sed -n 's/^+@item \([a-z0-9_-]*\).*/\1/p' "$dir/j2k_cuda.patch" | sort -u)
[ -n "$parameters" ] && [ -n "$options" ] && [ -n "$items" ] || { echo "no parameters, options or items found"; exit 1; }

failed=0
fail() { # MESSAGE NAMES
  [ -n "$2" ] || return 0
  printf '%s: %s\n' "$1" "${2//$'\n'/ }"
  failed=1
}
wanted=$(comm -23 <(echo "$parameters") <(echo "$own"))
fail "names here that are no parameters" "$(comm -13 <(echo "$parameters") <(echo "$own"))"
fail "parameters without an item in the manual" "$(comm -23 <(echo "$wanted") <(echo "$items"))"
fail "options without an item in the manual" "$(comm -23 <(echo "$options" | grep -vx b) <(echo "$items"))"
fail "items of the manual that are no options" "$(comm -12 <(echo "$own") <(echo "$items"))"
[ "$failed" = 0 ]
echo "$(echo "$options" | wc -l) options and $(echo "$wanted" | wc -l) parameters, each in the manual"

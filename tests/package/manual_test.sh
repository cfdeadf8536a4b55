#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# manual_test.sh FFMPEG_PATCH_DIR: the manual of the FFmpeg encoder (a part of the patch) must have an item for each of its options,
# and none for what neither it nor FFmpeg has. docs/options.md has the parameters that only -cj2k-params can set.
set -euo pipefail
dir=$1

ffmpegs=$(printf '%s\n' b maxrate bufsize minrate pass q global_quality level | sort)
options=$(sed -nE 's/^    (\{ "|OPT\(|STR\()([a-z0-9_-]+).*/\2/p' "$dir/libcj2kenc.c" | grep -vx b | sort)
items=$(sed -n '/^+++ b\/doc\/encoders.texi/,/^diff /s/^+@item \([a-z0-9_-]*\).*/\1/p' "$dir/j2k_cuda.patch" | grep . | sort -u)
[ -n "$options" ] && [ -n "$items" ] || { echo "no options or items found"; exit 1; }

failed=0
fail() { # MESSAGE NAMES
  [ -n "$2" ] || return 0
  printf '%s: %s\n' "$1" "${2//$'\n'/ }"
  failed=1
}
known=$(printf '%s\n' "$ffmpegs" "$options" | sort -u)
fail "options without an item in the manual" "$(comm -23 <(echo "$known") <(echo "$items"))"
fail "items of the manual that are no options" "$(comm -13 <(echo "$known") <(echo "$items"))"
[ "$failed" = 0 ]
echo "$(echo "$options" | wc -l) options, each in the manual"

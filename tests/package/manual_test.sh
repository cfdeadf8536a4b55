#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# manual_test.sh PARAMS_TABLE FFMPEG_PATCH_DIR: the manual of the FFmpeg encoder (a part of the patch) must have an item
# for each parameter that is an option, and no item for a parameter that libcj2kenc.c leaves to FFmpeg.
set -euo pipefail
tool=$1 dir=$2

parameters=$("$tool" | sed -n 's/^| `\([a-z0-9_]*\)` .*/\1/p' | sort)
own=$(sed -n 's/^#define OWN_\([a-z0-9_]*\) *OWN\b.*/\1/p' "$dir/libcj2kenc.c" | sort)
items=$(sed -n 's/^+@item \([a-z0-9_-]*\).*/\1/p' "$dir/j2k_cuda.patch" | sort -u)
[ -n "$parameters" ] && [ -n "$own" ] && [ -n "$items" ] || { echo "no parameters, OWN_ macros or items found"; exit 1; }

failed=0
fail() { # MESSAGE NAMES
  [ -n "$2" ] || return 0
  printf '%s: %s\n' "$1" "${2//$'\n'/ }"
  failed=1
}
options=$(comm -23 <(echo "$parameters") <(echo "$own"))
fail "OWN_ macros of libcj2kenc.c that are no parameters" "$(comm -13 <(echo "$parameters") <(echo "$own"))"
fail "parameters without an item in the manual" "$(comm -23 <(echo "$options") <(echo "$items"))"
fail "items of the manual that are no options" "$(comm -12 <(echo "$own" | grep -vxE 'threads|format|xyz') <(echo "$items"))"
[ "$failed" = 0 ]
echo "$(echo "$options" | wc -l) options, each in the manual"

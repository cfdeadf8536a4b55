#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# readme_test.sh PARAMS_TABLE PAGE: the parameter table in PAGE (docs/options.md) must equal the library's.
# With CJ2K_UPDATE_README=1 the script rewrites the table instead.
set -euo pipefail
tool=$1 page=$2
begin='<!-- params: begin, written by samples/params_table.c -->' end='<!-- params: end -->'
grep -qxF -- "$begin" "$page" && grep -qxF -- "$end" "$page" || { echo "$page lacks the params markers"; exit 1; }

table() { awk -v begin="$begin" -v end="$end" '$0 == end { inside = 0 } inside; $0 == begin { inside = 1 }' "$page"; }

if [ "${CJ2K_UPDATE_README:-0}" = 1 ]; then
  {
    awk -v begin="$begin" '{ print } $0 == begin { exit }' "$page"
    "$tool"
    awk -v end="$end" '$0 == end { inside = 1 } inside' "$page"
  } > "$page.new"
  mv "$page.new" "$page"
fi
diff <(table) <("$tool") || {
  echo "$page: the parameter table (<) differs from cj2k_params_describe (>); CJ2K_UPDATE_README=1 rewrites it"
  exit 1
}

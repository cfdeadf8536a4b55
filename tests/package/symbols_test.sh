#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# symbols_test.sh LIBRARY NM: the archive or shared library defines every function of the C API and no other global symbol.
set -euo pipefail
library=$1 nm=$2
headers=$(cd "$(dirname "$0")/../.." && pwd)/libcj2k/include

table=-g
case $library in *.so*) table=-D ;; esac
# In a shared library the names have a version (name@@LIBCJ2K_0). The version is itself an absolute symbol.
defined=$("$nm" "$table" --defined-only "$library" | awk 'NF == 3 && $2 != "A" {sub(/@.*/, "", $3); print $3}' | sort -u)
declared=$(sed -n 's/^CJ2K_API .*\b\(cj2k_[a-z0-9_]*\)(.*/\1/p' "$headers"/*.h | sort -u)
[ -n "$declared" ] || { echo "no CJ2K_API function found in $headers"; exit 1; }
if ! diff <(echo "$declared") <(echo "$defined"); then
  echo "global symbols of $library (>) differ from the functions of $headers (<)"
  exit 1
fi
echo "$(echo "$defined" | wc -l) global symbols, all declared in the headers"

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# man_test.sh MAKE_MAN PROGRAM PAGE: the man page of a program has no warnings of man and mandoc, and has every option.
set -euo pipefail
make_man=$1 program=$2 page=$3
for tool in man mandoc; do
  command -v $tool > /dev/null || { echo "SKIPPED: no $tool (Debian: scripts/install_deps.sh test)"; exit 77; }
done

# lint PAGE: what man and mandoc have to say; nothing for a good page.
lint() {
  mandoc -Tlint -W warning "$1" || true
  MANROFFSEQ='' MANWIDTH=200 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 > /dev/null
}
said=$(lint "$page")
[ -z "$said" ] || { echo "$said"; exit 1; }

# The checks see something: a page with an unknown macro and an open block has warnings.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
{ cat "$page"; printf '.XYZZY\n.RS\n'; } > "$scratch/bad.1"
[ -n "$(lint "$scratch/bad.1")" ] || { echo "a page with errors has no warnings"; exit 1; }

# The page is made of the help as it is now, and shows each option.
cmp <("$make_man" "$program" | tail -n +3) <(tail -n +3 "$page")
MANWIDTH=200 LC_ALL=C.UTF-8 man -l "$page" 2> /dev/null | col -b > "$scratch/text"
count=0
while read -r option; do
  grep -q -- "^ \{7\}.*$option\b" "$scratch/text" || { echo "$option is not in the page"; exit 1; }
  count=$((count + 1))
done < <("$program" --help | sed -n 's/^    \(-[a-zA-Z], \)\?\(--[a-z_0-9-]*\).*/\2/p')
[ $count -gt 5 ] || { echo "only $count options"; exit 1; }
echo "$count options"

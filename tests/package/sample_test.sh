#!/usr/bin/env bash
# SPDX-FileCopyrightText: The libcj2k authors
# SPDX-License-Identifier: BSD-2-Clause
#
# sample_test.sh ENCODE: samples/encode.c reads each of its formats, and its output decodes to the input.
set -euo pipefail
encode=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

if ! command -v opj_decompress > /dev/null; then
  [ "${CJ2K_ALLOW_MISSING_DECODERS:-0}" = 1 ] || { echo "opj_decompress is not installed"; exit 1; }
  echo "SKIPPED: opj_decompress is not installed"
  exit 77
fi

python3 - << 'PYTHON'
def write(name, header, width, height, components, maximum):
    with open(name, "wb") as f:
        f.write(header)
        for y in range(height):
            for x in range(width):
                for c in range(components):
                    v = (x * 7 + y * 13 + c * 29 + (x * y) % 17) * maximum // 1500 % (maximum + 1)
                    f.write(v.to_bytes(2 if maximum > 255 else 1, "big"))

write("a.pgm", b"P5\n# a comment\n61 43\n255\n", 61, 43, 1, 255)
write("b.ppm", b"P6 61 43 255\n", 61, 43, 3, 255)
write("c.pgm", b"P5\n61 43\n65535\n", 61, 43, 1, 65535)
write("d.ppm", b"P6\n61 43\n4095\n", 61, 43, 3, 4095)
write("e.pam", b"P7\nWIDTH 61\nHEIGHT 43\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n", 61, 43, 4, 255)
PYTHON

for input in a.pgm b.ppm c.pgm d.ppm e.pam; do
  for output in "$input.j2k" "$input.jp2"; do
    "$encode" "$input" "$output" lossless=1 cblk=32x32 > stats
    grep -q "^bytes $(stat -c %s "$output")," stats
    opj_decompress -i "$output" -o back.pgx > decode.log 2>&1 || { cat decode.log; exit 1; }
    python3 - "$input" << 'PYTHON'
import sys
name = sys.argv[1]
components, word = {"a": (1, 1), "b": (3, 1), "c": (1, 2), "d": (3, 2), "e": (4, 1)}[name[0]]
pixels = open(name, "rb").read()[-61 * 43 * components * word:]
step = components * word
for c in range(components):
    plane = open(f"back_{c}.pgx", "rb").read()[-61 * 43 * word:]  # big-endian, as PGM and PPM are
    if plane != b"".join(pixels[i + c * word:i + (c + 1) * word] for i in range(0, len(pixels), step)):
        sys.exit(f"{name}: samples of component {c} differ")
PYTHON
  done
done

"$encode" b.ppm capped.j2k target_bytes=2000 > stats
[ "$(stat -c %s capped.j2k)" -le 2000 ]

refused() { # WORD_OF_MESSAGE ARGUMENTS...
  local word=$1
  shift
  if "$encode" "$@" > /dev/null 2> error; then
    echo "not refused: $*"
    exit 1
  fi
  grep -q "$word" error || { echo "$* was refused without $word:"; cat error; exit 1; }
}
head -c 1000 b.ppm > short.ppm
refused cblk b.ppm x.j2k cblk=3x3
refused NAME=VALUE b.ppm x.j2k width
refused INPUT missing.ppm x.j2k
refused INPUT short.ppm x.j2k
echo "all formats came back"

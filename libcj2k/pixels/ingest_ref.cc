// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "core/sample.h"
#include "pixels/ingest.h"

namespace cj2k::ref {

void ingest_row(const SampleRow& row, int32_t* out, int32_t count) {
  const SampleDecode decode =
      make_sample_decode(row.word_bytes, row.shift, row.depth, row.is_signed);
  const uint8_t* word = row.data;
  for (int32_t x = 0; x < count; ++x, word += row.step_bytes) {
    out[x] = decode_sample(load_word(word, row.word_bytes), decode);
  }
  if (row.round_bits == 0) return;
  const SampleRound round = make_sample_round(row.depth, row.round_bits);
  for (int32_t x = 0; x < count; ++x) out[x] = round_sample(out[x], round);
}

}  // namespace cj2k::ref

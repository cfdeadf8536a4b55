// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include "roundtrip/graphics.h"
#include "roundtrip/roundtrip.h"
#include "support/graphics.h"

namespace cj2k::test {
namespace {

TEST_CASE("a 2K frame as cinema has it: grey, and a title card, at 250 Mbit/s") {
  if (!use_decoder(Decoder::kOpenJpeg)) return;
  cj2k_params p = make_params(2048, 1080, 1, 12);
  for (const char* stop : {"exact", "none", "psb", "bpi"}) {
    set(p, "stop", stop);
    for (int32_t value : {3525, 3542}) check_flat(p, {value}, 1302083);
  }
  set(p, "stop", "exact");
  for (int64_t cap : {400000, 1302083}) {
    const Picture card = title_card(p, {3525}, {0}, 12);
    const Picture decoded = check_capped(p, card, cap);
    CHECK(psnr(card, decoded) > 60);
  }
}

}  // namespace
}  // namespace cj2k::test

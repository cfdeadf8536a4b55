// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/codestream.h"

namespace cj2k::test {
namespace {

constexpr uint32_t kSop = 0xFF91, kEph = 0xFF92;

/// T.800 B.10.1, D.4.1, A.8: packets hold no code above 0xFF8F except SOP and EPH.
void check_marker_codes(Bytes in, const ParsedTilePart& part, bool sop, bool eph) {
  size_t wrong = 0;
  for (size_t i = part.data; i + 1 < part.end; ++i) {
    if (in[i] != 0xFF || in[i + 1] < 0x90) continue;
    const uint32_t code = 0xFF00u | in[i + 1];
    if (code == kSop && sop) {
      i += 5;  // Nsop may end in 0xFF
    } else {
      wrong += !(code == kEph && eph);
    }
  }
  CHECK(wrong == 0);
}

void check_packets(Bytes in, const ParsedTilePart& part, bool sop, uint32_t& next_sop) {
  size_t at = part.data;
  for (uint64_t length : part.plt) {
    if (sop) {
      REQUIRE(get_be(in, at, 2) == kSop);
      REQUIRE(get_be(in, at + 2, 2) == 4);
      REQUIRE(get_be(in, at + 4, 2) == (next_sop++ & 0xFFFF));
    }
    at += length;
  }
  CHECK(at == part.end);
}

}  // namespace

Bytes find_codestream(const std::vector<uint8_t>& bytes) {
  const Bytes in(bytes);
  if (get_be(in, 0, 2) == 0xFF4F) return in;
  for (size_t at = 0;;) {
    const uint32_t length = get_be(in, at, 4);
    if (get_be(in, at + 4, 4) == 0x6A703263) {
      CHECK((length == 0 || at + length == in.size()));
      return in.subspan(at + 8);
    }
    REQUIRE(length >= 8);
    at += length;
  }
}

ParsedCodestream check_codestream(const std::vector<uint8_t>& bytes) {
  const Bytes in = find_codestream(bytes);
  ParsedCodestream parsed = parse_codestream(in);
  CHECK(parsed.end == in.size());
  const bool sop = (parsed.cod[0] & 2) != 0, eph = (parsed.cod[0] & 4) != 0;
  std::map<uint32_t, uint32_t> next_part, next_sop;
  for (const ParsedTilePart& part : parsed.tile_parts) {
    CHECK(part.index == next_part[part.tile]++);
    if (!part.plt.empty()) check_packets(in, part, sop, next_sop[part.tile]);
    check_marker_codes(in, part, sop, eph);
  }
  for (const ParsedTilePart& part : parsed.tile_parts) {
    if (part.count != 0) CHECK(part.count == next_part[part.tile]);
  }
  if (!parsed.tlm.empty()) {
    REQUIRE(parsed.tlm.size() == parsed.tile_parts.size());
    for (size_t i = 0; i < parsed.tlm.size(); ++i) {
      CHECK(parsed.tlm[i].tile == parsed.tile_parts[i].tile);
      CHECK(parsed.tlm[i].bytes == parsed.tile_parts[i].psot);
    }
  }
  return parsed;
}

}  // namespace cj2k::test

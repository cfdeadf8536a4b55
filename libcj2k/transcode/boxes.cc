// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "transcode/boxes.h"

#include <algorithm>
#include <array>

#include "packets/bytes.h"

namespace cj2k::transcoding {
namespace {

constexpr std::array<uint8_t, 8> kSignature = {0, 0, 0, 12, 'j', 'P', ' ', ' '};
constexpr uint32_t kFtyp = 0x66747970, kJp2c = 0x6A703263;
constexpr uint32_t kJp2 = 0x6A703220, kJph = 0x6A706820;

}  // namespace

Boxes::Boxes(std::span<const uint8_t> file) : codestream_(file) {
  if (file.size() < kSignature.size() ||
      !std::equal(kSignature.begin(), kSignature.end(), file.begin()))
    return;
  Fields in(file);
  const uint8_t* after = nullptr;
  codestream_ = {};
  while (in.left() > 0) {
    const uint8_t* const begin = in.here();
    uint64_t length = in.number(4);
    const uint32_t name = in.number(4);
    uint64_t header = 8;
    if (length == 1) {
      length = uint64_t{in.number(4)} << 32;
      length |= in.number(4);
      header = 16;
    } else if (length == 0) {
      length = header + in.left();
    }
    if (length < header || length - header > in.left())
      throw Refused{Status::kInvalid, "the length of a box", begin};
    const std::span<const uint8_t> body = in.take(length - header);
    if (name == kFtyp && after == nullptr) {
      brands_ = static_cast<size_t>(body.data() - file.data());
      num_brands_ = body.size() / 4;
    }
    if (name != kJp2c) continue;
    if (after != nullptr) throw Refused{Status::kNotSupported, "more than one codestream", begin};
    before_ = file.first(static_cast<size_t>(begin - file.data()));
    codestream_ = body;
    after = in.here();
  }
  if (after == nullptr) throw Refused{Status::kInvalid, "no codestream in the boxes"};
  after_ = file.last(static_cast<size_t>(file.data() + file.size() - after));
}

std::vector<uint8_t> Boxes::around(std::vector<uint8_t> codestream, bool is_ht) const {
  if (before_.empty()) return codestream;
  std::vector<uint8_t> out(before_.begin(), before_.end());
  for (size_t i = 0; i < num_brands_; ++i) {
    uint8_t* const brand = out.data() + brands_ + 4 * i;
    const uint32_t is = Fields({brand, 4}).number(4);
    if (i != 1 && is == (is_ht ? kJp2 : kJph)) store_u32(brand, is_ht ? kJph : kJp2);
  }
  const uint64_t bytes = codestream.size() + 8;
  const bool is_long = bytes > UINT32_MAX;
  append_u32(out, is_long ? 1 : static_cast<uint32_t>(bytes));
  append_u32(out, kJp2c);
  if (is_long) {
    append_u32(out, static_cast<uint32_t>((bytes + 8) >> 32));
    append_u32(out, static_cast<uint32_t>(bytes + 8));
  }
  out.insert(out.end(), codestream.begin(), codestream.end());
  out.insert(out.end(), after_.begin(), after_.end());
  return out;
}

}  // namespace cj2k::transcoding

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "conformance/editor.h"

#include <doctest/doctest.h>

namespace cj2k::test {
namespace {

constexpr uint16_t kSot = 0xFF90, kSod = 0xFF93, kTlm = 0xFF55;

std::vector<uint8_t> make_segment(uint16_t code, const std::vector<uint8_t>& body) {
  const size_t length = body.size() + 2;
  std::vector<uint8_t> all;
  all.reserve(length + 2);
  for (const size_t byte : {size_t{code} >> 8, size_t{code}, length >> 8, length})
    all.push_back(static_cast<uint8_t>(byte));
  for (const uint8_t byte : body) all.push_back(byte);
  return all;
}

}  // namespace

uint32_t Editor::get(size_t at, int count) const {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes.at(at + static_cast<size_t>(i));
  return value;
}

void Editor::put(size_t at, int count, uint64_t value) {
  for (int i = count; i-- > 0; value >>= 8)
    bytes.at(at + static_cast<size_t>(i)) = static_cast<uint8_t>(value);
}

void Editor::insert(size_t at, const std::vector<uint8_t>& more) {
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), more.begin(), more.end());
}

void Editor::erase(size_t at, size_t count) {
  const auto first = bytes.begin() + static_cast<ptrdiff_t>(at);
  bytes.erase(first, first + static_cast<ptrdiff_t>(count));
}

size_t Editor::main_marker(uint16_t code) const {
  for (size_t at = 2; get(at, 2) != kSot; at += 2 + get(at + 2, 2)) {
    if (get(at, 2) == code) return at;
  }
  REQUIRE_MESSAGE(code == kSot, "no marker ", code, " in the main header");
  size_t at = 2;
  while (get(at, 2) != kSot) at += 2 + get(at + 2, 2);
  return at;
}

std::vector<uint8_t> Editor::segment(uint16_t code) const {
  const size_t at = main_marker(code);
  const auto first = bytes.begin() + static_cast<ptrdiff_t>(at);
  return {first, first + 2 + static_cast<ptrdiff_t>(get(at + 2, 2))};
}

void Editor::remove_segment(uint16_t code) { erase(main_marker(code), segment(code).size()); }

void Editor::add_segment(uint16_t code, const std::vector<uint8_t>& body, uint16_t after) {
  insert(main_marker(after) + segment(after).size(), make_segment(code, body));
}

void Editor::set_body(uint16_t code, const std::vector<uint8_t>& body) {
  const size_t at = main_marker(code);
  remove_segment(code);
  insert(at, make_segment(code, body));
}

size_t Editor::part(size_t index) const {
  size_t at = main_marker(kSot);
  for (; index > 0; --index) at += get(at + 6, 4);
  return at;
}

size_t Editor::part_data(size_t index) const {
  size_t at = part(index) + 12;
  while (get(at, 2) != kSod) at += 2 + get(at + 2, 2);
  return at + 2;
}

size_t Editor::part_end(size_t index) const { return part(index) + get(part(index) + 6, 4); }

size_t Editor::num_parts() const {
  size_t count = 0;
  for (size_t at = main_marker(kSot); get(at, 2) == kSot; at += get(at + 6, 4)) ++count;
  return count;
}

void Editor::grow_part(size_t index, int64_t bytes_more) {
  const size_t at = part(index);
  const auto length = static_cast<uint64_t>(get(at + 6, 4) + bytes_more);
  put(at + 6, 4, length);
  // TLM of this library: tile indices of one byte, lengths of four.
  for (size_t tlm = 2; get(tlm, 2) != kSot; tlm += 2 + get(tlm + 2, 2)) {
    if (get(tlm, 2) == kTlm) put(tlm + 6 + 5 * index + 1, 4, length);
  }
}

void Editor::insert_in_part(size_t index, size_t at, const std::vector<uint8_t>& more) {
  grow_part(index, static_cast<int64_t>(more.size()));
  insert(at, more);
}

void Editor::erase_in_part(size_t index, size_t at, size_t count) {
  grow_part(index, -static_cast<int64_t>(count));
  erase(at, count);
}

void Editor::add_segment_in_part(size_t index, uint16_t code, const std::vector<uint8_t>& body) {
  insert_in_part(index, part(index) + 12, make_segment(code, body));
}

std::string findings(const std::vector<uint8_t>& bytes, const cj2k_check::Options& options) {
  return cj2k_check::describe(cj2k_check::check_bytes(bytes, options), true);
}

cj2k_check::Options options_of(const std::string& profile, uint64_t fps) {
  cj2k_check::Options options;
  options.profile = profile;
  options.fps = cj2k_check::FrameRate{fps, 1};
  return options;
}

void check_plants(const std::vector<uint8_t>& clean, const cj2k_check::Options& options,
                  const std::vector<Plant>& plants) {
  const cj2k_check::FileResult before = cj2k_check::check_bytes(clean, options);
  REQUIRE_MESSAGE(before.report.errors() == 0, findings(clean, options));
  for (const Plant& plant : plants) {
    CAPTURE(std::string(plant.name));
    REQUIRE_MESSAGE(!before.report.has(plant.rule), findings(clean, options));
    Editor editor(clean);
    plant.change(editor);
    const cj2k_check::FileResult after = cj2k_check::check_bytes(editor.bytes, options);
    CHECK_MESSAGE(after.report.has(plant.rule), std::string(plant.rule), " is not among\n",
                  findings(editor.bytes, options));
  }
}

}  // namespace cj2k::test

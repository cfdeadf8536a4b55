// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Plants faults in codestreams, and checks that cj2k-check finds them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/check/check.h"

namespace cj2k::test {

/// Changes a codestream byte by byte. Positions are found anew by each call, from the markers.
class Editor {
 public:
  explicit Editor(std::vector<uint8_t> codestream) : bytes(std::move(codestream)) {}

  std::vector<uint8_t> bytes;

  uint32_t get(size_t at, int count) const;
  void put(size_t at, int count, uint64_t value);
  void insert(size_t at, const std::vector<uint8_t>& more);
  void erase(size_t at, size_t count);

  /// Offset of the marker in the main header; a marker that is not there fails the running test.
  size_t main_marker(uint16_t code) const;
  /// The whole marker segment: marker, length, body.
  std::vector<uint8_t> segment(uint16_t code) const;
  void remove_segment(uint16_t code);
  /// Inserts a marker segment behind the one of `after`, and makes its length.
  void add_segment(uint16_t code, const std::vector<uint8_t>& body, uint16_t after = 0xFF5C);
  /// Replaces the body of the marker segment.
  void set_body(uint16_t code, const std::vector<uint8_t>& body);

  /// Offset of SOT of the tile-part with that number in the codestream.
  size_t part(size_t index) const;
  /// Offset of the first byte behind its SOD.
  size_t part_data(size_t index) const;
  size_t part_end(size_t index) const;
  size_t num_parts() const;
  /// Inserts bytes into a tile-part, or erases some; corrects Psot and TLM.
  void insert_in_part(size_t index, size_t at, const std::vector<uint8_t>& more);
  void erase_in_part(size_t index, size_t at, size_t count);
  void add_segment_in_part(size_t index, uint16_t code, const std::vector<uint8_t>& body);

 private:
  void grow_part(size_t index, int64_t bytes_more);
};

struct Plant {
  const char* name;
  std::function<void(Editor&)> change;
  const char* rule;
};

/// For each row: the checker finds nothing in `clean` (warnings aside), and `rule` in the changed
/// codestream.
void check_plants(const std::vector<uint8_t>& clean, const cj2k_check::Options& options,
                  const std::vector<Plant>& plants);

/// The findings as text, for messages.
std::string findings(const std::vector<uint8_t>& bytes, const cj2k_check::Options& options = {});
cj2k_check::Options options_of(const std::string& profile, uint64_t fps = 24);

}  // namespace cj2k::test

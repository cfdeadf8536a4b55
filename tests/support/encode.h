// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The public API in few words, for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cj2k.h"
#include "support/picture.h"

namespace cj2k::test {

/// Default parameters with a size.
cj2k_params make_params(int32_t width, int32_t height, int32_t num_components = 3,
                        int32_t depth = 8);
/// The same from text: {{"width", "64"}, {"cblk", "32x32"}}. Fails the running test where a value
/// is refused.
cj2k_params params_from(std::initializer_list<std::pair<const char*, std::string>> settings);
void set(cj2k_params& params, const char* key, const std::string& value);
/// What differs from the defaults, as "name=value ..." for messages and golden files.
std::string describe(const cj2k_params& params);

/// Those of a packet that has been received.
cj2k_stats stats_of(const cj2k_packet& packet);

/// How samples lie in memory. Bits of a word outside the sample are noise, rows are apart by a gap
/// of noise.
struct FrameLayout {
  int32_t word_bytes = 0;  ///< 0: the smallest that holds depth + shift bits
  int32_t shift = 0;
  bool interleaved = false;  ///< only for components of one size and word
  bool bottom_up = false;
  int32_t gap_bytes = 0;
};

/// A cj2k_frame with its memory, in exact-size heap blocks so that a sanitizer sees a read too far.
class FrameMemory {
 public:
  explicit FrameMemory(const Picture& picture, const FrameLayout& layout = {});
  cj2k_frame frame;

 private:
  std::vector<std::unique_ptr<uint8_t[]>> blocks_;
};

/// Collects what an encoder says.
struct LogText {
  std::string text;  ///< lines, each with '\n'
  static void append(void* opaque, cj2k_log_level level, const char* message);
};

struct Encoded {
  cj2k_status status = CJ2K_INTERNAL;
  std::vector<uint8_t> bytes;
  cj2k_stats stats = {};
  std::string log;
};

/// Opens, encodes one picture, closes.
Encoded encode(cj2k_params params, const Picture& picture, const FrameLayout& layout = {});
/// One encoder, several frames; stops at the first error.
std::vector<Encoded> encode_sequence(cj2k_params params, const std::vector<Picture>& pictures,
                                     const FrameLayout& layout = {});

}  // namespace cj2k::test

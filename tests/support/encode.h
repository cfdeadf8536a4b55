// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Short forms of the public API, for tests.
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

/// Default parameters with this size.
cj2k_params make_params(int32_t width, int32_t height, int32_t num_components = 3,
                        int32_t depth = 8);
/// Parameters from text: {{"width", "64"}, {"cblk", "32x32"}}. A value that is refused fails the
/// running test.
cj2k_params params_from(std::initializer_list<std::pair<const char*, std::string>> settings);
void set(cj2k_params& params, const char* key, const std::string& value);
/// The parameters that differ from the defaults, "name=value ...", for messages and golden files.
std::string describe(const cj2k_params& params);

/// The statistics of a packet that has been received.
cj2k_stats stats_of(const cj2k_packet& packet);

/// How samples lie in memory. The bits of a word that are not part of the sample are noise, and so
/// are the gaps between rows.
struct FrameLayout {
  int32_t word_bytes = 0;  ///< 0: the smallest word that holds depth + shift bits
  int32_t shift = 0;
  bool interleaved = false;  ///< needs components of one size and one word size
  bool bottom_up = false;
  int32_t gap_bytes = 0;
};

/// A cj2k_frame with its memory. The heap blocks have exact sizes, so a sanitizer sees any read
/// beyond them.
class FrameMemory {
 public:
  explicit FrameMemory(const Picture& picture, const FrameLayout& layout = {});
  cj2k_frame frame;

 private:
  std::vector<std::unique_ptr<uint8_t[]>> blocks_;
};

/// Collects the log lines of an encoder.
struct LogText {
  std::string text;  ///< lines, each ending in '\n'
  static void append(void* opaque, cj2k_log_level level, const char* message);
};

struct Encoded {
  cj2k_status status = CJ2K_INTERNAL;
  std::vector<uint8_t> bytes;
  cj2k_stats stats = {};
  std::string log;
};

/// Opens an encoder, encodes one picture and closes it.
Encoded encode(cj2k_params params, const Picture& picture, const FrameLayout& layout = {});
/// Encodes several frames with one encoder. Stops at the first error.
std::vector<Encoded> encode_sequence(cj2k_params params, const std::vector<Picture>& pictures,
                                     const FrameLayout& layout = {});

}  // namespace cj2k::test

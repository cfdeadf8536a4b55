// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The boxes of a JP2 or JPH file (T.800 Annex I, T.814 Annex D) around its codestream. They stay as
// they are, but for the brand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transcode/codestream.h"

namespace cj2k::transcoding {

class Boxes {
 public:
  /// @param file  with boxes, or a codestream alone. Throws Refused
  explicit Boxes(std::span<const uint8_t> file);
  std::span<const uint8_t> codestream() const { return codestream_; }
  /// The same boxes around another codestream.
  std::vector<uint8_t> around(std::vector<uint8_t> codestream, bool is_ht) const;

 private:
  std::span<const uint8_t> before_, codestream_, after_;
  size_t brands_ = 0, num_brands_ = 0;  ///< BR, MinV and CL of ftyp, in before_
};

}  // namespace cj2k::transcoding

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The pictures of the scan: those that are made from a seed, and crops of photographs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/picture.h"

namespace cj2k::test {

/// A picture of the scan. It is made when it is asked for: a scan of one picture makes no other.
struct ScanPicture {
  std::string name;
  bool is_photograph;  ///< from the media folder, else made here
  bool is_grey;
  int32_t depth;
};

/// The pictures of each commit, the made ones first.
const std::vector<ScanPicture>& scan_pictures();
/// These and as many others: degenerate ones, more photographs, frames of films.
const std::vector<ScanPicture>& all_pictures();

/// Makes or loads `picture` with at most this size. Nothing, and the reason is printed, where a
/// photograph or the encoder of OpenJPEG is missing.
/// @param seed  of what is random in a made picture
std::optional<Picture> scan_picture(const ScanPicture& picture, int32_t width, int32_t height,
                                    uint64_t seed);

}  // namespace cj2k::test

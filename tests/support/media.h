// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Photographs for tests that want them: the folder in CJ2K_TEST_MEDIA, or shared/media beside the
// source tree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/picture.h"

namespace cj2k::test {

/// Reads `name` below the media folder (anything ffmpeg reads; first frame) as RGB or grey, with
/// `depth` bits: 8, or the high bits of 16. Where the folder or the file is missing nothing is
/// returned and the reason printed as SKIPPED.
std::optional<Picture> load_media(const std::string& name, int depth);
/// The first frames of a film, at most `most_frames`, cut to the middle `width` x `height` (0:
/// all). Empty where there is none, as load_media.
std::vector<Picture> load_media_clip(const std::string& name, int depth, int most_frames,
                                     int32_t width = 0, int32_t height = 0);

}  // namespace cj2k::test

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Photographs for tests, from the folder in CJ2K_TEST_MEDIA, or from shared/media beside the source
// tree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/picture.h"

namespace cj2k::test {

/// Reads `name` below the media folder (any format that ffmpeg reads; the first frame) as RGB or
/// grey. With `depth` above 8 the samples are the high `depth` bits of 16. If the folder or the
/// file is missing, returns nothing and prints the reason as SKIPPED.
std::optional<Picture> load_media(const std::string& name, int depth);
/// The first frames of a film, `most_frames` at most, cropped to the `width` x `height` in the
/// middle (0: not cropped). Empty if the film is missing, as load_media.
std::vector<Picture> load_media_clip(const std::string& name, int depth, int most_frames,
                                     int32_t width = 0, int32_t height = 0);

}  // namespace cj2k::test

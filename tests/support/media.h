// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Photographs for tests that want them: the folder in CJ2K_TEST_MEDIA, or shared/media beside the
// source tree.
#pragma once

#include <optional>
#include <string>

#include "support/picture.h"

namespace cj2k::test {

/// Reads `name` below the media folder (anything ffmpeg reads; first frame) as RGB or grey, with
/// `depth` bits: 8, or the high bits of 16. Where the folder or the file is missing nothing is
/// returned and the reason printed as SKIPPED.
std::optional<Picture> load_media(const std::string& name, int depth);

}  // namespace cj2k::test

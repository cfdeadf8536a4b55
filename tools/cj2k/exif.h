// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#ifndef CJ2K_TOOLS_EXIF_H_
#define CJ2K_TOOLS_EXIF_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cj2k_tool {

/// The orientation in Exif; 1 where it does not say.
int read_orientation(std::string_view exif);

/// Exif of a TIFF file as other files have it: a TIFF without samples, with the directories of Exif and
/// GPS and what describes the picture. "" where the file has neither directory. Damaged values are left
/// out. Of MakerNote, whose offsets nobody but its maker knows, the bytes are kept.
/// @param read  reads bytes of the file from an offset on; fewer where it ends
/// @param directory  offset of the picture's
std::string exif_of_tiff(const std::function<std::string(uint64_t at, size_t size)>& read,
                         uint64_t directory);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_EXIF_H_

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#ifndef CJ2K_TOOLS_EXIF_H_
#define CJ2K_TOOLS_EXIF_H_

#include <string_view>

namespace cj2k_tool {

/// The orientation in Exif; 1 where it does not say.
int read_orientation(std::string_view exif);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_EXIF_H_

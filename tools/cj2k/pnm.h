// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: binary PGM and PPM whose samples stay in the file until they are asked for.
#ifndef CJ2K_TOOLS_PNM_H_
#define CJ2K_TOOLS_PNM_H_

#include <memory>
#include <string>

#include "picture.h"

namespace cj2k_tool {

/// Throws Failure.
/// @param first  byte of the first sample
std::unique_ptr<SampleSource> open_pnm(const std::string& path, size_t first,
                                       const PictureFormat& format);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_PNM_H_

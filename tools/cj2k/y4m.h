// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: YUV4MPEG2, a film in one file. Its frames are pages.
#ifndef CJ2K_TOOLS_Y4M_H_
#define CJ2K_TOOLS_Y4M_H_

#include <memory>
#include <string>
#include <string_view>

#include "picture.h"

namespace cj2k_tool {

/// @param bytes  the first of a file
bool is_y4m(std::string_view bytes);

/// Throws Failure.
/// @param head  the first bytes of the file, 64 KiB or all
/// @param size  of the file
int count_y4m_frames(const std::string& path, std::string_view head, size_t size);

/// Throws Failure, std::bad_alloc.
/// @param page  from 1
std::unique_ptr<Picture> read_y4m(const std::string& path, std::string_view head, size_t size,
                                  int page);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_Y4M_H_

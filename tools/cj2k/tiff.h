// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: reads TIFF through libtiff: strips and tiles, planar and chunky, BigTIFF, every page.
#ifndef CJ2K_TOOLS_TIFF_H_
#define CJ2K_TOOLS_TIFF_H_

#include <memory>
#include <string>
#include <string_view>

#include "picture.h"

namespace cj2k_tool {

/// By the first four bytes of a file.
bool is_tiff(std::string_view bytes);

/// Directories that are pictures: neither reduced ones nor masks. Throws Failure.
int count_tiff_pages(const std::string& path);

/// Reads a page. Large ones only as far as their samples are asked for. Thread-safe. Throws Failure.
/// @param page  from 1; 0: the only one
/// @param file  not -1: it is open already, and `path` is for messages
std::unique_ptr<Picture> read_tiff(const std::string& path, int page, int file = -1);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_TIFF_H_

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: files of bare planes: YUV4MPEG2, a film in one file, and raw samples, whose layout -F tells. Their frames are pages.
#ifndef CJ2K_TOOLS_PLANAR_H_
#define CJ2K_TOOLS_PLANAR_H_

#include <memory>
#include <string>
#include <string_view>

#include "picture.h"

namespace cj2k_tool {

/// @param bytes  the first of a file
bool is_y4m(std::string_view bytes);

/// The layout of raw samples, as opj_compress has it: "WIDTH,HEIGHT,COMPONENTS,BITS,u|s[@1x1:2x2:2x2]".
/// Throws UsageError that begins with `flag`.
PictureFormat parse_raw(const std::string& flag, const std::string& layout);

/// Throws Failure.
/// @param raw   the layout of raw samples; "": the file is Y4M
/// @param head  of Y4M, the first bytes of the file: 64 KiB or all
/// @param size  of the file
int count_planar_frames(const std::string& path, const std::string& raw, std::string_view head,
                        size_t size);

/// Throws Failure, std::bad_alloc. Samples of more than 8 bits are big-endian in raw files, but not in those named .rawl.
/// @param frame  its page is from 1
std::unique_ptr<Picture> read_planar(const Frame& frame, std::string_view head, size_t size);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_PLANAR_H_

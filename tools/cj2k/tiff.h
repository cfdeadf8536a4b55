// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: what libavcodec leaves out of TIFF files, or decodes to something else than is in them.
#ifndef CJ2K_TOOLS_TIFF_H_
#define CJ2K_TOOLS_TIFF_H_

#include <string>
#include <string_view>

namespace cj2k_tool {

struct TiffTags {
  int grey_bits =
      0;  // bits of a sample where they are 2 or 4 of grey, which libavcodec takes for a palette
  int alpha = -1;       // as cj2k_params::alpha, by ExtraSamples; -1: the file does not say
  int orientation = 1;  // 1: the first row is the top, the first column the left
};

/// Reads the first directory. Throws Failure where libavcodec would make another picture of the samples than the file has. Of a
/// damaged directory it says nothing: libavcodec refuses that.
TiffTags read_tiff_tags(const std::string& path, std::string_view bytes);

/// The orientation in a directory of TIFF, which Exif is too; 1 where it does not say.
int read_orientation(std::string_view bytes);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_TIFF_H_

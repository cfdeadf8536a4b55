// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a picture says beside its samples and colours, for JP2 files.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cj2k_tool {

struct Metadata {
  double resolution_x = 0, resolution_y = 0;  // as cj2k_params has them
  std::vector<uint8_t> boxes;                 // as cj2k_params::jp2_boxes
  bool operator==(const Metadata&) const = default;
};

enum class MetadataKind { kXmp, kIptc, kExif };

/// Adds a uuid box. Bytes beyond what a box holds are left out.
void add_box(MetadataKind kind, std::string_view bytes, Metadata& metadata);

struct FileFacts {
  int orientation = 1;  // of Exif
  Metadata metadata;
};
FileFacts read_png_facts(std::string_view file);
FileFacts read_jpeg_facts(std::string_view file);

}  // namespace cj2k_tool

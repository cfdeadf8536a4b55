// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "metadata.h"

#include <cstddef>

#include "exif.h"

namespace cj2k_tool {
namespace {

using namespace std::string_view_literals;

constexpr size_t kIdBytes = 16;
/// The identifiers of uuid boxes that readers of JP2 files know, in the order of MetadataKind.
constexpr std::string_view kIds[] = {
    "\xBE\x7A\xCF\xCB\x97\xA9\x42\xE8\x9C\x71\x99\x94\x91\xE3\xAF\xAC"sv,
    "\x33\xC7\xA4\xD2\xB8\x1D\x47\x23\xA0\xBA\xF1\xA3\xE0\x97\xAD\x38"sv, "JpgTiffExif->JP2"sv};
static_assert(kIds[0].size() == kIdBytes && kIds[1].size() == kIdBytes &&
              kIds[2].size() == kIdBytes);

size_t number(std::string_view bytes, size_t at) {
  size_t value = 0;
  for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// The text of an iTXt chunk with XMP that is not compressed; else "".
std::string_view xmp_of(std::string_view chunk) {
  constexpr std::string_view kStart = "XML:com.adobe.xmp\0\0\0"sv;
  if (!chunk.starts_with(kStart)) return {};
  const size_t language = chunk.find('\0', kStart.size());
  const size_t keyword = language == chunk.npos ? chunk.npos : chunk.find('\0', language + 1);
  return keyword == chunk.npos ? std::string_view() : chunk.substr(keyword + 1);
}

}  // namespace

void add_box(MetadataKind kind, std::string_view bytes, Metadata& metadata) {
  constexpr size_t kHeadBytes = 8 + kIdBytes, kMostBytes = size_t{1} << 26;
  std::vector<uint8_t>& boxes = metadata.boxes;
  if (bytes.empty() || bytes.size() + kHeadBytes + boxes.size() > kMostBytes) return;
  const size_t size = bytes.size() + kHeadBytes;
  for (int shift = 24; shift >= 0; shift -= 8) boxes.push_back(static_cast<uint8_t>(size >> shift));
  for (const std::string_view part : {"uuid"sv, kIds[static_cast<size_t>(kind)], bytes})
    boxes.insert(boxes.end(), part.begin(), part.end());
}

FileFacts read_png_facts(std::string_view file) {
  FileFacts facts;
  for (size_t at = 8; at + 12 <= file.size();) {  // a chunk: size, name, bytes, checksum
    const size_t size = number(file, at);
    if (size > file.size() - at - 12) break;
    const std::string_view name = file.substr(at + 4, 4), chunk = file.substr(at + 8, size);
    if (name == "pHYs" && size == 9 && chunk[8] == 1) {  // per metre
      facts.metadata.resolution_x = static_cast<double>(number(chunk, 0));
      facts.metadata.resolution_y = static_cast<double>(number(chunk, 4));
    } else if (name == "iTXt") {
      add_box(MetadataKind::kXmp, xmp_of(chunk), facts.metadata);
    } else if (name == "eXIf") {
      facts.orientation = read_orientation(chunk);
      add_box(MetadataKind::kExif, chunk, facts.metadata);
    }
    at += size + 12;
  }
  return facts;
}

FileFacts read_jpeg_facts(std::string_view file) {
  constexpr std::string_view kExif = "Exif\0\0"sv, kXmp = "http://ns.adobe.com/xap/1.0/\0"sv;
  constexpr size_t kHead = 4;  // of a segment: 0xFF, marker, size with these two bytes
  FileFacts facts;
  for (size_t at = 2; at + kHead <= file.size() && file[at] == '\xff' && file[at + 1] != '\xda';) {
    const size_t size =
        static_cast<unsigned char>(file[at + 2]) << 8 | static_cast<unsigned char>(file[at + 3]);
    if (size < 2 || size > file.size() - at - 2) break;
    std::string_view segment = file.substr(at + kHead, size - 2);
    const bool is_app1 = file[at + 1] == '\xe1';
    if (is_app1 && segment.starts_with(kExif)) {
      segment.remove_prefix(kExif.size());
      facts.orientation = read_orientation(segment);
      add_box(MetadataKind::kExif, segment, facts.metadata);
    } else if (is_app1 && segment.starts_with(kXmp)) {
      add_box(MetadataKind::kXmp, segment.substr(kXmp.size()), facts.metadata);
    }
    at += size + 2;
  }
  return facts;
}

}  // namespace cj2k_tool

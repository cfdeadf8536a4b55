// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "tiff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "failure.h"

namespace cj2k_tool {
namespace {

// Tags and values of TIFF 6.0.
enum Tag : uint32_t {
  kBitsPerSample = 258,
  kCompression = 259,
  kPhotometric = 262,
  kOrientation = 274,
  kSamplesPerPixel = 277,
  kPredictor = 317,
  kTileWidth = 322,
  kTileOffsets = 324,
  kExtraSamples = 338,
  kSampleFormat = 339
};
enum Photometric : uint32_t {
  kWhiteIsZero = 0,
  kBlackIsZero = 1,
  kRgb = 2,
  kPalette = 3,
  kYcc = 6
};
constexpr uint32_t kUnsigned = 1, kUndefined = 4;  // SampleFormat
enum Compression : uint32_t { kUncompressed = 1, kPackBits = 32773 };

struct Directory {
  std::string_view bytes;
  bool is_big_endian;
  size_t first = 0, count = 0;  // entries of 12 bytes

  /// The first one of a file.
  explicit Directory(std::string_view file) : bytes(file), is_big_endian(file.substr(0, 1) == "M") {
    const size_t at = number(4, 4);
    count = number(at, 2);
    first = at + 2;
  }

  /// 0 where the file ends before it.
  uint32_t number(size_t at, size_t size) const {
    uint32_t value = 0;
    if (at > bytes.size() || size > bytes.size() - at) return 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t byte = is_big_endian ? at + i : at + size - 1 - i;
      value = value << 8 | static_cast<unsigned char>(bytes[byte]);
    }
    return value;
  }

  /// The values of a tag that are SHORT or LONG, at most as many as a pixel has samples; empty: there is no such tag.
  std::vector<uint32_t> values(Tag tag) const {
    constexpr size_t kMostValues = 8;
    for (size_t i = 0; i < count; ++i) {
      const size_t entry = first + 12 * i;
      if (number(entry, 2) != tag) continue;
      const size_t size = number(entry + 2, 2) == 3 ? 2 : 4;
      const size_t n = number(entry + 4, 4);
      const size_t at = n * size <= 4 ? entry + 8 : number(entry + 8, 4);
      std::vector<uint32_t> found;
      for (size_t k = 0; k < std::min(n, kMostValues); ++k)
        found.push_back(number(at + k * size, size));
      return found;
    }
    return {};
  }

  uint32_t value(Tag tag, uint32_t otherwise) const {
    const std::vector<uint32_t> all = values(tag);
    return all.empty() ? otherwise : all[0];
  }
};

std::string kind_of(uint32_t photometric) {
  if (photometric == 4) return "a mask";
  if (photometric == 5) return "CMYK";
  if (photometric == 8) return "CIE L*a*b*";
  return "PhotometricInterpretation " + std::to_string(photometric);
}

}  // namespace

TiffTags read_tiff_tags(const std::string& path, std::string_view bytes) {
  const Directory d(bytes);
  if (!d.values(kTileWidth).empty() || !d.values(kTileOffsets).empty())
    throw Failure(path + ": TIFF with tiles is not supported, only with strips");
  const uint32_t photometric = d.value(kPhotometric, kBlackIsZero);
  if (photometric > kPalette && photometric != kYcc)
    throw Failure(path + ": TIFF of " + kind_of(photometric) +
                  " is not supported, only of grey, RGB, a palette and YCbCr");
  for (const uint32_t format : d.values(kSampleFormat)) {
    if (format != kUnsigned && format != kUndefined)
      throw Failure(path + ": TIFF with SampleFormat " + std::to_string(format) +
                    " is not supported, only unsigned integers (1)");
  }
  const bool is_grey = photometric <= kBlackIsZero;
  const uint32_t samples = d.value(kSamplesPerPixel, 1), colours = is_grey ? 1 : 3;
  if (photometric != kPalette && samples > colours + 1)
    throw Failure(path + ": TIFF with " + std::to_string(samples - colours) +
                  " samples beside the colours is not supported, only with one");
  // The predictor is of LZW and deflate alone (TIFF 6.0, section 14). libavcodec undoes it always.
  const uint32_t compression = d.value(kCompression, kUncompressed);
  const bool is_plain = compression == kUncompressed || compression == kPackBits;
  if (d.value(kPredictor, 1) != 1 && is_plain)
    throw Failure(path +
                  ": TIFF with a predictor that its compression does not have is not supported");
  TiffTags tags;
  const uint32_t bits = d.value(kBitsPerSample, 1);
  if (photometric <= kBlackIsZero && (bits == 2 || bits == 4))
    tags.grey_bits = static_cast<int>(bits);
  if (const std::vector<uint32_t> extra = d.values(kExtraSamples); !extra.empty())
    tags.alpha = extra[0] == 1 ? 2 : extra[0] == 2 ? 1 : 0;
  tags.orientation = static_cast<int>(d.value(kOrientation, 1));
  return tags;
}

int read_orientation(std::string_view bytes) {
  return static_cast<int>(Directory(bytes).value(kOrientation, 1));
}

}  // namespace cj2k_tool

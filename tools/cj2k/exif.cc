// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "exif.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace cj2k_tool {
namespace {

enum : uint16_t { kLong = 4, kOrientation = 274, kExif = 34665, kGps = 34853, kInterop = 40965 };

/// ImageDescription, Make, Model, Orientation, Software, DateTime, Artist, Copyright.
constexpr uint16_t kDescribing[] = {270, 271, 272, kOrientation, 305, 306, 315, 33432};

/// A number of `size` bytes; 0 where the bytes end before it.
uint64_t number_at(std::string_view bytes, size_t at, size_t size, bool is_big_endian) {
  uint64_t value = 0;
  if (at > bytes.size() || size > bytes.size() - at) return value;
  for (size_t i = 0; i < size; ++i)
    value =
        value << 8 | static_cast<unsigned char>(bytes[is_big_endian ? at + i : at + size - 1 - i]);
  return value;
}

/// A field of a directory: a value, or a directory to which the field points.
struct Field {
  uint16_t tag, type;
  uint32_t count;
  std::string value;
  std::vector<Field> directory;
};
using Directory = std::vector<Field>;

/// Copies directories; offsets become those of the copy, which has the file's order of bytes.
class ExifCopier {
 public:
  explicit ExifCopier(const std::function<std::string(uint64_t, size_t)>& read)
      : read_(read), head_(read(0, 4)) {
    is_big_endian_ = head_.starts_with("MM");
    is_big_tiff_ = number(head_, 2, 2) == 43;
  }

  std::string copy(uint64_t at) {
    const Directory fields = read_directory(at, 0);
    const bool has_exif = std::any_of(fields.begin(), fields.end(),
                                      [](const Field& field) { return !field.directory.empty(); });
    constexpr uint32_t kHeadBytes = 8;
    return has_exif ? head_.substr(0, 2) + bytes(42, 2) + bytes(kHeadBytes, 4) +
                          write(fields, kHeadBytes)
                    : std::string();
  }

 private:
  static constexpr size_t kMostBytes = size_t{1} << 24;  ///< of all values

  uint64_t number(std::string_view from, size_t at, size_t size) const {
    return number_at(from, at, size, is_big_endian_);
  }
  std::string bytes(uint64_t value, int size) const {
    std::string text;
    for (int i = 0; i < size; ++i)
      text += static_cast<char>(value >> (8 * (is_big_endian_ ? size - 1 - i : i)));
    return text;
  }
  static bool points(uint16_t tag, uint16_t parent) {
    return parent == 0 ? tag == kExif || tag == kGps : parent == kExif && tag == kInterop;
  }

  /// @param parent  the tag that points to it; 0: the picture's own
  Directory read_directory(uint64_t at, uint16_t parent) {
    const size_t wide = is_big_tiff_ ? 8 : 4, count_bytes = is_big_tiff_ ? 8 : 2;
    const size_t entry_bytes = 4 + 2 * wide;
    const uint64_t count = number(read_(at, count_bytes), 0, count_bytes);
    Directory fields;
    if (count > UINT16_MAX) return fields;
    const std::string entries = read_(at + count_bytes, static_cast<size_t>(count) * entry_bytes);
    for (size_t e = 0; e + entry_bytes <= entries.size(); e += entry_bytes) {
      const auto tag = static_cast<uint16_t>(number(entries, e, 2));
      const bool is_pointer = points(tag, parent);
      const bool is_wanted =
          parent != 0 || std::count(std::begin(kDescribing), std::end(kDescribing), tag) > 0;
      if (is_pointer) {
        Field field{tag, kLong, 1, "", read_directory(number(entries, e + 4 + wide, wide), tag)};
        if (!field.directory.empty()) fields.push_back(std::move(field));
      } else if (is_wanted) {
        add_value(tag, std::string_view(entries).substr(e + 2, entry_bytes - 2), wide, fields);
      }
    }
    std::stable_sort(fields.begin(), fields.end(),
                     [](const Field& a, const Field& b) { return a.tag < b.tag; });
    return fields;
  }

  /// @param entry  type, count, value or offset
  void add_value(uint16_t tag, std::string_view entry, size_t wide, Directory& fields) {
    constexpr uint8_t kTypeBytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4};  // those of TIFF 6
    const uint64_t type = number(entry, 0, 2), count = number(entry, 2, wide);
    if (type >= std::size(kTypeBytes) || count > left_) return;
    const size_t size = static_cast<size_t>(count) * kTypeBytes[type];
    if (size == 0 || size > left_) return;
    std::string value(size <= wide ? entry.substr(2 + wide, size)
                                   : read_(number(entry, 2 + wide, wide), size));
    if (value.size() != size) return;
    left_ -= size;
    fields.push_back(
        {tag, static_cast<uint16_t>(type), static_cast<uint32_t>(count), std::move(value), {}});
  }

  /// @param offset  where the directory begins in the copy
  std::string write(const Directory& fields, size_t offset) const {
    std::string table = bytes(fields.size(), 2), values;
    const size_t begin = offset + 2 + 12 * fields.size() + 4;
    for (const Field& field : fields) {
      table += bytes(field.tag, 2) + bytes(field.type, 2) + bytes(field.count, 4);
      const size_t at = begin + values.size();
      if (!field.directory.empty()) {
        table += bytes(at, 4);
        values += write(field.directory, at);
      } else if (field.value.size() > 4) {
        table += bytes(at, 4);
        values += field.value;
      } else {
        table += field.value + std::string(4 - field.value.size(), '\0');
      }
      values.resize(values.size() + values.size() % 2);
    }
    return table + std::string(4, '\0') + values;
  }

  const std::function<std::string(uint64_t, size_t)>& read_;
  const std::string head_;
  bool is_big_endian_ = false, is_big_tiff_ = false;
  size_t left_ = kMostBytes;
};

}  // namespace

int read_orientation(std::string_view exif) {
  const bool is_big_endian = exif.starts_with("M");
  const auto number = [&](size_t at, size_t size) {
    return static_cast<size_t>(number_at(exif, at, size, is_big_endian));
  };
  const size_t directory = number(4, 4);
  for (size_t i = 0; i < number(directory, 2); ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (number(entry, 2) == kOrientation) return static_cast<int>(number(entry + 8, 2));
  }
  return 1;
}

std::string exif_of_tiff(const std::function<std::string(uint64_t at, size_t size)>& read,
                         uint64_t directory) {
  return ExifCopier(read).copy(directory);
}

}  // namespace cj2k_tool

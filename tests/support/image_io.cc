// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/image_io.h"

#include <bit>
#include <cctype>
#include <fstream>
#include <iterator>

namespace cj2k::test {
namespace {

/// Reads the text header of a PNM, PAM or PGX file.
class HeaderReader {
 public:
  explicit HeaderReader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  /// The next word. Also skips the single white-space character after it.
  std::string word() {
    while (at_ < bytes_.size() && (std::isspace(bytes_[at_]) || bytes_[at_] == '#')) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else {
        ++at_;
      }
    }
    std::string text;
    while (at_ < bytes_.size() && !std::isspace(bytes_[at_]))
      text += static_cast<char>(bytes_[at_++]);
    if (at_ < bytes_.size()) ++at_;
    return text;
  }
  int32_t number() { return std::atoi(word().c_str()); }
  size_t position() const { return at_; }

 private:
  const std::vector<uint8_t>& bytes_;
  size_t at_ = 0;
};

}  // namespace

std::optional<std::vector<uint8_t>> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(file), {});
}

bool write_file(const std::filesystem::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return file.good();
}

std::optional<ComponentPlane> read_pgx(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  if (!bytes) return std::nullopt;
  HeaderReader header(*bytes);
  if (header.word() != "PG") return std::nullopt;
  const bool big_endian = header.word() == "ML";
  std::string depth = header.word();  // "+8", "-8", "8", or the sign as a separate word
  ComponentPlane plane;
  plane.is_signed = depth[0] == '-';
  if (depth == "+" || depth == "-") depth += header.word();
  plane.depth = std::abs(std::atoi(depth.c_str()));
  plane.width = header.number();
  plane.height = header.number();
  const size_t word_bytes = plane.depth <= 8 ? 1 : plane.depth <= 16 ? 2 : 4;
  const size_t count = static_cast<size_t>(plane.width) * static_cast<size_t>(plane.height);
  if (bytes->size() < header.position() + count * word_bytes) return std::nullopt;
  const uint8_t* in = bytes->data() + header.position();
  for (size_t i = 0; i < count; ++i) {
    uint32_t value = 0;
    for (size_t b = 0; b < word_bytes; ++b) {
      value |= static_cast<uint32_t>(in[i * word_bytes + b])
               << (8 * (big_endian ? word_bytes - 1 - b : b));
    }
    const int unused = 32 - static_cast<int>(8 * word_bytes);
    plane.samples.push_back(plane.is_signed ? static_cast<int32_t>(value << unused) >> unused
                                            : static_cast<int32_t>(value));
  }
  return plane;
}

std::optional<Picture> read_pnm(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  if (!bytes) return std::nullopt;
  HeaderReader header(*bytes);
  const std::string magic = header.word();
  Picture picture;
  int32_t num_components = 0, max_value = 0;
  if (magic == "P5" || magic == "P6") {
    num_components = magic == "P5" ? 1 : 3;
    picture.width = header.number();
    picture.height = header.number();
    max_value = header.number();
  } else if (magic == "P7") {
    for (std::string key = header.word(); !key.empty() && key != "ENDHDR"; key = header.word()) {
      if (key == "WIDTH") picture.width = header.number();
      if (key == "HEIGHT") picture.height = header.number();
      if (key == "DEPTH") num_components = header.number();
      if (key == "MAXVAL") max_value = header.number();
      if (key == "TUPLTYPE") header.word();
    }
  }
  if (num_components < 1 || num_components > 4 || max_value < 1) return std::nullopt;
  const size_t count = static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height);
  const size_t word_bytes = max_value > 255 ? 2 : 1;
  const size_t n = static_cast<size_t>(num_components);
  if (bytes->size() < header.position() + count * n * word_bytes) return std::nullopt;
  const uint8_t* in = bytes->data() + header.position();
  for (size_t c = 0; c < n; ++c) {
    ComponentPlane plane;
    plane.width = picture.width;
    plane.height = picture.height;
    plane.depth = std::bit_width(static_cast<uint32_t>(max_value));
    plane.samples.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const uint8_t* p = in + (i * n + c) * word_bytes;
      plane.samples[i] = word_bytes == 2 ? p[0] << 8 | p[1] : p[0];
    }
    picture.components.push_back(std::move(plane));
  }
  return picture;
}

bool write_pnm(const std::filesystem::path& path, const Picture& picture) {
  const size_t n = picture.components.size();
  const int32_t max_value = picture.components[0].max_value();
  const std::string size = std::to_string(picture.width) + " " + std::to_string(picture.height);
  std::string header;
  if (n == 1 || n == 3) {
    header = (n == 1 ? "P5\n" : "P6\n") + size + "\n" + std::to_string(max_value) + "\n";
  } else {
    header = "P7\nWIDTH " + std::to_string(picture.width) + "\nHEIGHT " +
             std::to_string(picture.height) + "\nDEPTH " + std::to_string(n) + "\nMAXVAL " +
             std::to_string(max_value) + "\nTUPLTYPE " +
             (n == 2 ? "GRAYSCALE_ALPHA" : "RGB_ALPHA") + "\nENDHDR\n";
  }
  std::vector<uint8_t> bytes(header.begin(), header.end());
  for (size_t i = 0; i < picture.components[0].samples.size(); ++i) {
    for (const ComponentPlane& plane : picture.components) {
      if (max_value > 255) bytes.push_back(static_cast<uint8_t>(plane.samples[i] >> 8));
      bytes.push_back(static_cast<uint8_t>(plane.samples[i]));
    }
  }
  return write_file(path, bytes);
}

}  // namespace cj2k::test

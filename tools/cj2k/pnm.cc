// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "pnm.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "failure.h"
#include "system.h"

namespace cj2k_tool {
namespace {

class PnmFile final : public SampleSource {
 public:
  PnmFile(const std::string& path, size_t first, const PictureFormat& format)
      : path_(path),
        file_(std::fopen(path.c_str(), "rb"), std::fclose),
        first_(static_cast<int64_t>(first)),
        width_(format.width),
        components_(format.num_components),
        word_bytes_(format.depth > 8 ? 2 : 1) {
    if (file_ == nullptr) throw Failure(path + ": " + std::strerror(errno));
  }

  void read(const cj2k_read_part* parts) override {
    const cj2k_read_part& part = parts[0];  // all are the same rectangle
    const int64_t pixel_bytes = components_ * word_bytes_;
    row_.resize(static_cast<size_t>(part.width * pixel_bytes));
    for (int32_t y = 0; y < part.height; ++y) {
      read_bytes(first_ + ((int64_t{part.y} + y) * width_ + part.x) * pixel_bytes);
      for (int c = 0; c < components_; ++c) {
        auto* to = static_cast<uint8_t*>(parts[c].data) + y * parts[c].stride_bytes;
        const uint8_t* from = row_.data() + c * word_bytes_;
        for (int32_t x = 0; x < part.width; ++x, from += pixel_bytes) {
          if (word_bytes_ == 1) {
            to[x] = *from;
          } else {
            const auto word = static_cast<uint16_t>(from[0] << 8 | from[1]);
            std::memcpy(to + 2 * static_cast<ptrdiff_t>(x), &word, sizeof word);
          }
        }
      }
    }
  }

 private:
  void read_bytes(int64_t at) {
    for (size_t done = 0; done < row_.size();) {
      const int64_t got = read_at(file_.get(), row_.data() + done, row_.size() - done,
                                  at + static_cast<int64_t>(done));
      if (got < 0) throw Failure(path_ + ": " + std::strerror(errno));
      if (got == 0) throw Failure(path_ + ": damaged: the file ends before its last sample");
      done += static_cast<size_t>(got);
    }
  }

  const std::string path_;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  const int64_t first_;
  const int64_t width_;
  const int components_, word_bytes_;
  std::vector<uint8_t> row_;
};

}  // namespace

std::unique_ptr<SampleSource> open_pnm(const std::string& path, size_t first,
                                       const PictureFormat& format) {
  return std::make_unique<PnmFile>(path, first, format);
}

}  // namespace cj2k_tool

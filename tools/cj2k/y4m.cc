// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "y4m.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "failure.h"
#include "system.h"

namespace cj2k_tool {
namespace {

constexpr std::string_view kMagic = "YUV4MPEG2 ", kFrame = "FRAME\n";

struct Film {
  PictureFormat format;
  size_t first = 0;        ///< byte of the first frame
  size_t frame_bytes = 0;  ///< samples alone
  int frames = 0;
};

size_t plane_bytes(const PictureFormat& f, int c) {
  const auto width = static_cast<size_t>((f.width - 1) / f.dx[c] + 1);
  const auto height = static_cast<size_t>((f.height - 1) / f.dy[c] + 1);
  return width * height * (f.depth > 8 ? 2 : 1);
}

/// "420jpeg", "422p10", "444alpha", "mono12": components, subsampling, bits.
/// @return false: it is none of them
bool parse_chroma(std::string_view text, PictureFormat& f) {
  constexpr struct {
    std::string_view name;
    int components, dx, dy;
  } kKinds[] = {{"420", 3, 2, 2}, {"422", 3, 2, 1}, {"444alpha", 4, 1, 1},
                {"444", 3, 1, 1}, {"411", 3, 4, 1}, {"mono", 1, 1, 1}};
  for (const auto& kind : kKinds) {
    if (!text.starts_with(kind.name)) continue;
    text.remove_prefix(kind.name.size());
    f.num_components = kind.components;
    f.is_yuv = kind.components > 1;
    f.alpha = kind.components == 4 ? 1 : 0;
    for (int c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
      f.dx[c] = c == 1 || c == 2 ? kind.dx : 1;
      f.dy[c] = c == 1 || c == 2 ? kind.dy : 1;
    }
    f.depth = 8;
    if (text.empty() || text == "jpeg" || text == "mpeg2" || text == "paldv") return true;
    if (text[0] == 'p') text.remove_prefix(1);
    f.depth = std::atoi(std::string(text).c_str());
    return f.depth > 8 && f.depth <= 16 && text == std::to_string(f.depth);
  }
  return false;
}

Film read_film(const std::string& path, std::string_view head, size_t size) {
  Film film;
  PictureFormat& f = film.format;
  const std::string_view line = head.substr(0, head.find('\n'));
  std::string chroma = "420";
  for (size_t at = kMagic.size(); at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    const std::string word(line.substr(at, end - at));
    if (word.starts_with('W')) f.width = std::atoi(word.c_str() + 1);
    if (word.starts_with('H')) f.height = std::atoi(word.c_str() + 1);
    if (word.starts_with('C')) chroma = word.substr(1);
    at = end + 1;
  }
  if (line.size() == head.size() || f.width < 1 || f.height < 1)
    throw Failure(path + ": damaged: the header of Y4M does not end, or has no size");
  if (!parse_chroma(chroma, f))
    throw Failure(
        path + ": C" + chroma +
        " of Y4M is not supported; 420, 422, 444, 444alpha, 411 and mono are, of 8 to 16 bits");
  film.first = line.size() + 1;
  for (int c = 0; c < f.num_components; ++c) film.frame_bytes += plane_bytes(f, c);
  const size_t each = kFrame.size() + film.frame_bytes, all = size - film.first;
  if (all == 0 || all % each != 0 || all / each > std::numeric_limits<int>::max())
    throw Failure(path + ": the frames of Y4M have " + std::to_string(each) +
                  " bytes each, and the file has " + std::to_string(all) + " behind its header");
  film.frames = static_cast<int>(all / each);
  return film;
}

}  // namespace

bool is_y4m(std::string_view bytes) { return bytes.starts_with(kMagic); }

int count_y4m_frames(const std::string& path, std::string_view head, size_t size) {
  return read_film(path, head, size).frames;
}

std::unique_ptr<Picture> read_y4m(const std::string& path, std::string_view head, size_t size,
                                  int page) {
  const Film film = read_film(path, head, size);
  page = std::max(page, 1);
  if (page > film.frames)
    throw Failure(path + ": there is no page " + std::to_string(page) + " of " +
                  std::to_string(film.frames));
  auto picture = std::make_unique<Picture>();
  picture->format = film.format;
  picture->samples.resize(kFrame.size() + film.frame_bytes);
  std::vector<uint8_t>& samples = picture->samples;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) throw Failure(path + ": " + std::strerror(errno));
  const auto begin = static_cast<int64_t>(film.first + (page - 1) * samples.size());
  for (size_t done = 0; done < samples.size();) {
    const int64_t got = read_at(file.get(), samples.data() + done, samples.size() - done,
                                begin + static_cast<int64_t>(done));
    if (got < 0) throw Failure(path + ": " + std::strerror(errno));
    if (got == 0) throw Failure(path + ": damaged: the file ends before its last sample");
    done += static_cast<size_t>(got);
  }
  if (std::memcmp(samples.data(), kFrame.data(), kFrame.size()) != 0)
    throw Failure(path + ": frame " + std::to_string(page) +
                  " of Y4M is damaged, or has parameters of its own, which are not supported");
  const uint8_t* plane = samples.data() + kFrame.size();
  const int word_bytes = film.format.depth > 8 ? 2 : 1;
  for (int c = 0; c < film.format.num_components; ++c) {
    const int width = (film.format.width - 1) / film.format.dx[c] + 1;
    picture->views[c] = {plane, static_cast<ptrdiff_t>(width) * word_bytes, word_bytes, word_bytes,
                         0};
    plane += plane_bytes(film.format, c);
  }
  return picture;
}

}  // namespace cj2k_tool

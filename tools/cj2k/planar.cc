// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "planar.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "failure.h"
#include "options.h"
#include "system.h"

namespace cj2k_tool {
namespace {

constexpr std::string_view kMagic = "YUV4MPEG2 ", kFrame = "FRAME\n";

struct PlanarFile {
  PictureFormat format;
  size_t first = 0;        ///< byte of the first frame
  std::string_view magic;  ///< in front of each frame
  size_t frame_bytes = 0;  ///< with the magic
  bool is_big_endian = false;
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

PlanarFile read_y4m_header(const std::string& path, std::string_view head) {
  PlanarFile film;
  film.magic = kFrame;
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
  return film;
}

PlanarFile read_film(const std::string& path, const std::string& raw, std::string_view head,
                     size_t size) {
  PlanarFile film;
  if (raw.empty()) {
    film = read_y4m_header(path, head);
  } else {
    film.format = parse_raw("-F", raw);
    film.is_big_endian = extension_of(path) != "rawl";
  }
  film.frame_bytes = film.magic.size();
  // A plane larger than the file is one that does not fit, of whatever size: so the sum does not wrap.
  for (int c = 0; c < film.format.num_components; ++c)
    film.frame_bytes += std::min(plane_bytes(film.format, c), size + 1);
  const size_t all = size - film.first;
  if (all == 0 || all % film.frame_bytes != 0 ||
      all / film.frame_bytes > std::numeric_limits<int>::max())
    throw Failure(path + ": its frames have " +
                  (film.frame_bytes > size ? "more than " + std::to_string(size)
                                           : std::to_string(film.frame_bytes)) +
                  " bytes each, and the file has " + std::to_string(all) +
                  (raw.empty() ? " behind its header" : ""));
  film.frames = static_cast<int>(all / film.frame_bytes);
  return film;
}

}  // namespace

bool is_y4m(std::string_view bytes) { return bytes.starts_with(kMagic); }

PictureFormat parse_raw(const std::string& flag, const std::string& layout) {
  const std::vector<std::string> halves = split(layout, '@');
  const std::vector<std::string> parts = split(halves[0], ',');
  if (parts.size() != 5 || halves.size() > 2 || (parts[4] != "u" && parts[4] != "s"))
    throw UsageError(
        flag + " " + layout +
        " is not WIDTH,HEIGHT,COMPONENTS,BITS,u or ..,s, as 1920,1080,3,8,u@1x1:2x2:2x2");
  constexpr int kMostSide = std::numeric_limits<int>::max();
  PictureFormat f;
  f.width = static_cast<int>(parse_number(flag, parts[0], 1, kMostSide));
  f.height = static_cast<int>(parse_number(flag, parts[1], 1, kMostSide));
  f.num_components = static_cast<int>(parse_number(flag, parts[2], 1, CJ2K_MAX_COMPONENTS));
  f.depth = static_cast<int>(parse_number(flag, parts[3], 1, 16));
  f.is_signed = parts[4] == "s";
  for (int c = 0; c < CJ2K_MAX_COMPONENTS; ++c) f.dx[c] = f.dy[c] = 1;
  if (halves.size() == 1) return f;
  const std::vector<std::string> steps = split(halves[1], ':');
  for (int c = 0; c < f.num_components; ++c) {  // as opj_compress: the last one is that of the rest
    const std::vector<std::string> step =
        split(steps[std::min<size_t>(static_cast<size_t>(c), steps.size() - 1)], 'x');
    if (step.size() != 2 || steps.size() > static_cast<size_t>(f.num_components))
      throw UsageError(flag + " " + layout + ": " + halves[1] + " is not a list as 1x1:2x2:2x2");
    f.dx[c] = static_cast<int>(parse_number(flag, step[0], 1, 4));
    f.dy[c] = static_cast<int>(parse_number(flag, step[1], 1, 4));
    f.is_yuv = f.is_yuv || (f.num_components >= 3 && f.dx[c] * f.dy[c] > 1);
  }
  return f;
}

int count_planar_frames(const std::string& path, const std::string& raw, std::string_view head,
                        size_t size) {
  return read_film(path, raw, head, size).frames;
}

std::unique_ptr<Picture> read_planar(const Frame& frame, std::string_view head, size_t size) {
  const std::string& path = frame.input;
  const PlanarFile film = read_film(path, frame.raw, head, size);
  const PictureFormat& f = film.format;
  const int page = std::max(frame.page, 1);
  if (page > film.frames)
    throw Failure(path + ": there is no page " + std::to_string(page) + " of " +
                  std::to_string(film.frames));
  auto picture = std::make_unique<Picture>();
  picture->format = f;
  picture->samples.resize(film.frame_bytes);
  std::vector<uint8_t>& samples = picture->samples;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) throw Failure(path + ": " + std::strerror(errno));
  const auto begin =
      static_cast<int64_t>(film.first + static_cast<size_t>(page - 1) * samples.size());
  for (size_t done = 0; done < samples.size();) {
    const int64_t got = read_at(file.get(), samples.data() + done, samples.size() - done,
                                begin + static_cast<int64_t>(done));
    if (got < 0) throw Failure(path + ": " + std::strerror(errno));
    if (got == 0) throw Failure(path + ": damaged: the file ends before its last sample");
    done += static_cast<size_t>(got);
  }
  if (std::memcmp(samples.data(), film.magic.data(), film.magic.size()) != 0)
    throw Failure(path + ": frame " + std::to_string(page) +
                  " of Y4M is damaged, or has parameters of its own, which are not supported");
  const int word_bytes = f.depth > 8 ? 2 : 1;
  if (word_bytes == 2 && film.is_big_endian) swap_words(samples.data(), samples.size());
  const uint8_t* plane = samples.data() + film.magic.size();
  for (int c = 0; c < f.num_components; ++c) {
    const int width = (f.width - 1) / f.dx[c] + 1;
    picture->views[c] = {plane, static_cast<ptrdiff_t>(width) * word_bytes, word_bytes, word_bytes,
                         0};
    plane += plane_bytes(f, c);
  }
  return picture;
}

}  // namespace cj2k_tool

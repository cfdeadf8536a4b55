// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "tiff.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "exif.h"
#include "failure.h"

#ifdef CJ2K_HAVE_LIBTIFF
#include <tiffio.h>
#include <unistd.h>
#endif

namespace cj2k_tool {

bool is_tiff(std::string_view bytes) {
  using namespace std::string_view_literals;
  const std::string_view head = bytes.substr(0, 4);
  return head == "II*\0"sv || head == "MM\0*"sv || head == "II+\0"sv || head == "MM\0+"sv;
}

#ifndef CJ2K_HAVE_LIBTIFF

int count_tiff_pages(const std::string&) { return 1; }
std::unique_ptr<Picture> read_tiff(const std::string& path, int, int) {
  throw Failure(path + ": this cj2k was built without libtiff, and reads no TIFF");
}

#else

namespace {

constexpr int kMostBits = 16;

/// The first error of libtiff in this thread. An array, because a thread needs memory to begin to use a string.
constinit thread_local char t_error[512] = "";

void take_error(const char*, const char* format, va_list arguments) {
  if (t_error[0] == 0) std::vsnprintf(t_error, sizeof t_error, format, arguments);
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using TiffPtr = std::unique_ptr<TIFF, CloseTiff>;

[[noreturn]] void fail_damaged(const std::string& path) {
  throw Failure(path + ": damaged or not supported: " +
                (t_error[0] == 0 ? "libtiff does not say why" : t_error));
}

/// Clears the error of this thread.
TiffPtr open_tiff(const std::string& path, int file = -1) {
  static const bool is_set =
      (TIFFSetErrorHandler(take_error), TIFFSetWarningHandler(nullptr), true);
  static_cast<void>(is_set);
  t_error[0] = 0;
  // m: no memory map, because a file that is cut meanwhile would end the program.
  TiffPtr tiff(file < 0 ? TIFFOpen(path.c_str(), "rm") : TIFFFdOpen(dup(file), path.c_str(), "rm"));
  if (tiff == nullptr) fail_damaged(path);
  return tiff;
}

bool is_page(TIFF* tiff) {
  uint32_t kind = 0;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SUBFILETYPE, &kind);
  return (kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) == 0;
}

/// From the current directory on.
int count_pages(TIFF* tiff) {
  int pages = is_page(tiff) ? 1 : 0;
  while (TIFFLastDirectory(tiff) == 0 && TIFFReadDirectory(tiff) != 0) pages += is_page(tiff);
  return pages;
}

std::string kind_of(uint16_t photometric) {
  if (photometric == PHOTOMETRIC_MASK) return "a mask";
  if (photometric == PHOTOMETRIC_CIELAB || photometric == PHOTOMETRIC_ICCLAB ||
      photometric == PHOTOMETRIC_ITULAB)
    return "CIE L*a*b*";
  return "PhotometricInterpretation " + std::to_string(photometric);
}

/// A page, whose rows or tiles are decoded when they are asked for.
class TiffPage final : public SampleSource {
 public:
  /// Throws Failure.
  TiffPage(const std::string& path, int page, int file);

  PictureFormat format() const;
  int orientation() const { return orientation_; }
  int word_bytes() const { return depth() > 8 ? 2 : 1; }
  void read(const cj2k_read_part* parts) override;

 private:
  /// Decoded samples of the file: rows of packed bits, of one sample each where they are planar.
  struct Rows {
    const uint8_t* data;
    size_t row_bytes;
    int64_t x, y, width, height;
    int plane;
  };
  void set_page(int page);
  void set_samples();
  void set_colours();
  Metadata metadata() const;
  std::string bytes_at(uint64_t at, size_t size) const;
  void check(bool is_right) const {
    if (!is_right || t_error[0] != 0) fail_damaged(path_);
  }
  template <typename T>
  T value(uint32_t tag) const {
    T v = 0;
    TIFFGetFieldDefaulted(tiff_.get(), tag, &v);
    return v;
  }
  bool is_subsampled() const { return across_ * down_ > 1; }
  bool is_planar() const { return planar_ == PLANARCONFIG_SEPARATE && samples_ > 1; }
  bool is_palette() const { return photometric_ == PHOTOMETRIC_PALETTE; }
  int depth() const { return is_palette() ? 8 : bits_; }
  int num_components() const { return is_palette() ? 3 : samples_; }
  int num_planes() const { return is_planar() ? samples_ : 1; }

  void read_chunks(const cj2k_read_part* parts);
  void read_rows(const cj2k_read_part* parts);
  void read_row(int64_t y, int plane, uint8_t* to);
  void give(const Rows& rows, const cj2k_read_part* parts) const;
  void give_units(const Rows& rows, const cj2k_read_part* parts) const;
  template <typename Word>
  void unpack(const uint8_t* row, int64_t first, int step, int32_t count, int component,
              void* to) const;

  const std::string path_;
  const TiffPtr tiff_;
  uint32_t width_ = 0, height_ = 0;
  uint16_t bits_ = 0, samples_ = 0, photometric_ = 0, planar_ = 0, compression_ = 0;
  int orientation_ = 1, alpha_ = 0;
  bool is_signed_ = false;
  int across_ = 1, down_ = 1;     ///< samples of Y for one of Cb and Cr
  uint32_t inverted_ = 0;         ///< the bits of a sample, where 0 is white
  std::vector<uint8_t> palette_;  ///< [3][2^bits]
  std::vector<uint8_t> chunk_;    ///< a strip or tile, or the rows of a band
  int64_t band_begin_ = 0, band_end_ = 0;
  int64_t next_row_ = 0;  ///< that libtiff decodes without going back
  int next_plane_ = 0;
};

TiffPage::TiffPage(const std::string& path, int page, int file)
    : path_(path), tiff_(open_tiff(path, file)) {
  set_page(page);
  set_samples();
  set_colours();
  check(true);
}

void TiffPage::set_page(int page) {
  if (page == 0) {
    const int pages = TIFFLastDirectory(tiff_.get()) != 0 ? 1 : count_pages(tiff_.get());
    if (pages > 1)
      throw Failure(path_ + ": it has " + std::to_string(pages) + " pages; --page takes one");
    check(TIFFSetDirectory(tiff_.get(), 0) != 0);
    page = 1;
  }
  int seen = is_page(tiff_.get()) ? 1 : 0;
  while (seen < page) {
    if (TIFFLastDirectory(tiff_.get()) != 0)
      throw Failure(path_ + ": there is no page " + std::to_string(page) + " of " +
                    std::to_string(seen));
    check(TIFFReadDirectory(tiff_.get()) != 0);
    seen += is_page(tiff_.get());
  }
}

void TiffPage::set_samples() {
  check(TIFFGetField(tiff_.get(), TIFFTAG_IMAGEWIDTH, &width_) != 0 &&
        TIFFGetField(tiff_.get(), TIFFTAG_IMAGELENGTH, &height_) != 0 && width_ > 0 && height_ > 0);
  bits_ = value<uint16_t>(TIFFTAG_BITSPERSAMPLE);
  samples_ = value<uint16_t>(TIFFTAG_SAMPLESPERPIXEL);
  planar_ = value<uint16_t>(TIFFTAG_PLANARCONFIG);
  compression_ = value<uint16_t>(TIFFTAG_COMPRESSION);
  orientation_ = value<uint16_t>(TIFFTAG_ORIENTATION);
  const auto format = value<uint16_t>(TIFFTAG_SAMPLEFORMAT);
  if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_INT && format != SAMPLEFORMAT_VOID)
    throw Failure(path_ + ": TIFF with SampleFormat " + std::to_string(format) +
                  (format == SAMPLEFORMAT_IEEEFP ? " (float)" : "") +
                  " is not supported, only integers (1, 2)");
  if (bits_ < 1 || bits_ > kMostBits)
    throw Failure(path_ + ": TIFF with samples of " + std::to_string(bits_) +
                  " bits is not supported, only of 1 to 16");
  if (width_ > INT32_MAX || height_ > INT32_MAX)
    throw Failure(path_ + ": it is " + std::to_string(width_) + "x" + std::to_string(height_) +
                  " samples, and a side has at most 2147483647");
  is_signed_ = format == SAMPLEFORMAT_INT;
}

void TiffPage::set_colours() {
  if (TIFFGetField(tiff_.get(), TIFFTAG_PHOTOMETRIC, &photometric_) == 0)
    photometric_ = samples_ >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
  if (compression_ == COMPRESSION_JPEG && photometric_ == PHOTOMETRIC_YCBCR) {
    TIFFSetField(tiff_.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    photometric_ = PHOTOMETRIC_RGB;
  }
  int colours = 1;
  switch (photometric_) {
    case PHOTOMETRIC_MINISWHITE:
      inverted_ = (1u << bits_) - 1;
      break;
    case PHOTOMETRIC_MINISBLACK:
      break;
    case PHOTOMETRIC_PALETTE: {
      uint16_t* map[3];
      const size_t count = size_t{1} << bits_;
      check(bits_ <= 8 && samples_ == 1 &&
            TIFFGetField(tiff_.get(), TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]) != 0);
      // Old files have values of 8 bits.
      const bool is_wide = std::any_of(map, map + 3, [count](const uint16_t* values) {
        return std::any_of(values, values + count, [](uint16_t v) { return v > 255; });
      });
      for (const uint16_t* values : map)
        for (size_t i = 0; i < count; ++i)
          palette_.push_back(static_cast<uint8_t>(is_wide ? values[i] >> 8 : values[i]));
      break;
    }
    case PHOTOMETRIC_YCBCR: {
      uint16_t across = 2, down = 2;
      TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_YCBCRSUBSAMPLING, &across, &down);
      check(across > 0 && down > 0);
      across_ = across;
      down_ = down;
      colours = 3;
      if (is_subsampled() && (samples_ != 3 || bits_ != 8 || planar_ == PLANARCONFIG_SEPARATE))
        throw Failure(
            path_ +
            ": TIFF of YCbCr with subsampling is not supported, if it is planar, not of 8 "
            "bits or has opacity");
      break;
    }
    case PHOTOMETRIC_RGB:
      colours = 3;
      break;
    case PHOTOMETRIC_SEPARATED:
      if (value<uint16_t>(TIFFTAG_INKSET) != INKSET_CMYK)
        throw Failure(path_ + ": TIFF of other inks than CMYK is not supported");
      colours = 4;
      break;
    default:
      throw Failure(path_ + ": TIFF of " + kind_of(photometric_) +
                    " is not supported, only of grey, RGB, CMYK, a palette and YCbCr");
  }
  const int extra = samples_ - colours;
  if (extra < 0) throw Failure(path_ + ": damaged: it has fewer samples than colours");
  if (samples_ > CJ2K_MAX_COMPONENTS || extra > 1)
    throw Failure(path_ + ": TIFF with " + std::to_string(extra) +
                  " samples beside the colours is not supported, only with one beside grey or RGB");
  uint16_t count = 0;
  uint16_t* kinds = nullptr;
  if (extra == 1 && TIFFGetField(tiff_.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) != 0 &&
      count > 0)
    alpha_ = kinds[0] == EXTRASAMPLE_ASSOCALPHA ? 2 : kinds[0] == EXTRASAMPLE_UNASSALPHA ? 1 : 0;
}

Metadata TiffPage::metadata() const {
  Metadata m;
  float across = 0, down = 0;
  TIFFGetField(tiff_.get(), TIFFTAG_XRESOLUTION, &across);
  TIFFGetField(tiff_.get(), TIFFTAG_YRESOLUTION, &down);
  const auto unit = value<uint16_t>(TIFFTAG_RESOLUTIONUNIT);
  if (across > 0 && down > 0 && unit != RESUNIT_NONE) {
    const double metres = unit == RESUNIT_CENTIMETER ? 0.01 : 0.0254;
    m.resolution_x = across / metres;
    m.resolution_y = down / metres;
  }
  uint32_t count = 0;
  void* data = nullptr;
  if (TIFFGetField(tiff_.get(), TIFFTAG_XMLPACKET, &count, &data) != 0)
    add_box(MetadataKind::kXmp, {static_cast<const char*>(data), count}, m);
  if (TIFFGetField(tiff_.get(), TIFFTAG_RICHTIFFIPTC, &count, &data) != 0) {
    constexpr char kMarker = 0x1C;  // begins each dataset
    const bool has_words =
        TIFFFieldDataType(TIFFFieldWithTag(tiff_.get(), TIFFTAG_RICHTIFFIPTC)) == TIFF_LONG;
    std::string bytes(static_cast<const char*>(data), count * (has_words ? size_t{4} : 1));
    // Where a file has words, libtiff makes their order that of the machine.
    if (bytes.size() >= 4 && bytes[0] != kMarker && bytes[3] == kMarker)
      TIFFSwabArrayOfLong(reinterpret_cast<uint32_t*>(bytes.data()),
                          static_cast<tmsize_t>(bytes.size() / 4));
    add_box(MetadataKind::kIptc, bytes, m);
  }
  const auto read = [this](uint64_t at, size_t size) { return bytes_at(at, size); };
  add_box(MetadataKind::kExif, exif_of_tiff(read, TIFFCurrentDirOffset(tiff_.get())), m);
  return m;
}

/// Of the file; fewer where it ends. libtiff seeks before it reads, too.
std::string TiffPage::bytes_at(uint64_t at, size_t size) const {
  std::string bytes(size, '\0');
  const thandle_t file = TIFFClientdata(tiff_.get());
  if (TIFFGetSeekProc(tiff_.get())(file, at, SEEK_SET) != at) return {};
  const tmsize_t got =
      TIFFGetReadProc(tiff_.get())(file, bytes.data(), static_cast<tmsize_t>(size));
  bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return bytes;
}

PictureFormat TiffPage::format() const {
  PictureFormat f;
  f.width = static_cast<int>(width_);
  f.height = static_cast<int>(height_);
  f.num_components = num_components();
  f.depth = depth();
  f.alpha = alpha_;
  f.is_signed = is_signed_;
  f.is_cmyk = photometric_ == PHOTOMETRIC_SEPARATED;
  f.is_yuv = photometric_ == PHOTOMETRIC_YCBCR;
  for (int c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
    const bool is_chroma = f.is_yuv && (c == 1 || c == 2);
    f.dx[c] = is_chroma ? across_ : 1;
    f.dy[c] = is_chroma ? down_ : 1;
  }
  uint32_t bytes = 0;
  void* icc = nullptr;
  if (TIFFGetField(tiff_.get(), TIFFTAG_ICCPROFILE, &bytes, &icc) != 0)
    f.icc.assign(static_cast<uint8_t*>(icc), static_cast<uint8_t*>(icc) + bytes);
  f.metadata = metadata();
  return f;
}

void TiffPage::read(const cj2k_read_part* parts) {
  t_error[0] = 0;
  if (TIFFIsTiled(tiff_.get()) != 0 || is_subsampled()) {
    read_chunks(parts);
  } else {
    read_rows(parts);
  }
}

/// Strips or tiles that have samples of the part.
void TiffPage::read_chunks(const cj2k_read_part* parts) {
  const bool is_tiled = TIFFIsTiled(tiff_.get()) != 0;
  uint32_t wide = width_, high = 0;
  TIFFGetFieldDefaulted(tiff_.get(), is_tiled ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, &high);
  if (is_tiled) TIFFGetField(tiff_.get(), TIFFTAG_TILEWIDTH, &wide);
  high = is_tiled ? high : std::min(high, height_);
  check(wide > 0 && high > 0);
  const int64_t right = int64_t{parts[0].x} + parts[0].width;
  const int64_t bottom = int64_t{parts[0].y} + parts[0].height;
  const auto bytes = is_tiled ? TIFFTileSize(tiff_.get()) : TIFFStripSize(tiff_.get());
  check(bytes > 0);
  chunk_.resize(static_cast<size_t>(bytes));
  for (int64_t y = parts[0].y / high * int64_t{high}; y < bottom; y += high) {
    for (int64_t x = parts[0].x / wide * int64_t{wide}; x < right; x += wide) {
      for (int plane = 0; plane < num_planes(); ++plane) {
        const auto column = static_cast<uint32_t>(x), row = static_cast<uint32_t>(y);
        const auto sample = static_cast<uint16_t>(plane);
        const auto got =
            is_tiled ? TIFFReadEncodedTile(tiff_.get(),
                                           TIFFComputeTile(tiff_.get(), column, row, 0, sample),
                                           chunk_.data(), bytes)
                     : TIFFReadEncodedStrip(tiff_.get(), TIFFComputeStrip(tiff_.get(), row, sample),
                                            chunk_.data(), bytes);
        check(got >= 0);
        const auto row_bytes =
            is_tiled ? TIFFTileRowSize(tiff_.get()) : TIFFScanlineSize(tiff_.get());
        const Rows rows{chunk_.data(), static_cast<size_t>(row_bytes),       x,    y,
                        wide,          std::min<int64_t>(high, height_ - y), plane};
        if (is_subsampled()) {
          give_units(rows, parts);
        } else {
          give(rows, parts);
        }
      }
    }
  }
}

/// Whole rows, which stay for the parts beside this one.
void TiffPage::read_rows(const cj2k_read_part* parts) {
  const int64_t begin = parts[0].y, end = begin + parts[0].height;
  const auto bytes = TIFFScanlineSize(tiff_.get());
  check(bytes > 0);
  const auto row_bytes = static_cast<size_t>(bytes);
  const auto count = static_cast<size_t>(end - begin);
  if (begin != band_begin_ || end != band_end_) {
    band_begin_ = band_end_ = 0;
    chunk_.resize(row_bytes * count * static_cast<size_t>(num_planes()));
    uint8_t* to = chunk_.data();
    for (int plane = 0; plane < num_planes(); ++plane)
      for (int64_t y = begin; y < end; ++y, to += row_bytes) read_row(y, plane, to);
    band_begin_ = begin;
    band_end_ = end;
  }
  for (int plane = 0; plane < num_planes(); ++plane)
    give({chunk_.data() + row_bytes * count * static_cast<size_t>(plane), row_bytes, 0, begin,
          width_, end - begin, plane},
         parts);
}

/// Compressed strips are decoded from their first row on.
void TiffPage::read_row(int64_t y, int plane, uint8_t* to) {
  const auto sample = static_cast<uint16_t>(plane);
  if (compression_ != COMPRESSION_NONE && (y != next_row_ || plane != next_plane_)) {
    auto rows = static_cast<int64_t>(value<uint32_t>(TIFFTAG_ROWSPERSTRIP));
    rows = std::clamp<int64_t>(rows, 1, height_);
    for (int64_t before = y / rows * rows; before < y; ++before)
      check(TIFFReadScanline(tiff_.get(), to, static_cast<uint32_t>(before), sample) > 0);
  }
  next_row_ = -1;
  check(TIFFReadScanline(tiff_.get(), to, static_cast<uint32_t>(y), sample) > 0);
  next_row_ = y + 1;
  next_plane_ = plane;
}

/// Writes what the rows have of the part.
void TiffPage::give(const Rows& rows, const cj2k_read_part* parts) const {
  for (int c = 0; c < num_components(); ++c) {
    if (is_planar() && c != rows.plane) continue;
    const cj2k_read_part& part = parts[c];
    const int64_t left = std::max<int64_t>(part.x, rows.x);
    const int64_t right = std::min<int64_t>(int64_t{part.x} + part.width, rows.x + rows.width);
    const int64_t top = std::max<int64_t>(part.y, rows.y);
    const int64_t bottom = std::min<int64_t>(int64_t{part.y} + part.height, rows.y + rows.height);
    if (left >= right) continue;
    const int step = is_planar() ? 1 : samples_;
    const int64_t first = (left - rows.x) * step + (is_planar() || is_palette() ? 0 : c);
    const auto count = static_cast<int32_t>(right - left);
    for (int64_t y = top; y < bottom; ++y) {
      const uint8_t* row = rows.data + static_cast<size_t>(y - rows.y) * rows.row_bytes;
      auto* to = static_cast<uint8_t*>(part.data) + (y - part.y) * part.stride_bytes +
                 (left - part.x) * word_bytes();
      if (word_bytes() == 1) {
        unpack<uint8_t>(row, first, step, count, c, to);
      } else {
        unpack<uint16_t>(row, first, step, count, c, to);
      }
    }
  }
}

/// Samples of a row become words.
/// @param first, step  of the samples, counted from the begin of the row
template <typename Word>
void TiffPage::unpack(const uint8_t* row, int64_t first, int step, int32_t count, int component,
                      void* to) const {
  auto* const words = static_cast<uint8_t*>(to);
  const auto store = [words](int32_t i, uint32_t sample) {
    const auto word = static_cast<Word>(sample);
    std::memcpy(words + static_cast<size_t>(i) * sizeof word, &word, sizeof word);
  };
  if (bits_ == 8 * sizeof(Word)) {
    const uint8_t* from = row + first * static_cast<int64_t>(sizeof(Word));
    for (int32_t i = 0; i < count; ++i, from += step * static_cast<int>(sizeof(Word))) {
      Word word;
      std::memcpy(&word, from, sizeof word);
      store(i, is_palette() ? palette_[(static_cast<size_t>(component) << bits_) + word]
                            : word ^ inverted_);
    }
    return;
  }
  int64_t at = first * bits_;
  for (int32_t i = 0; i < count; ++i, at += step * bits_) {
    const uint8_t* from = row + at / 8;
    const int end = static_cast<int>(at % 8) + bits_;  // at most 7 + 15 bits: three bytes
    uint32_t window = uint32_t{from[0]} << 16;
    if (end > 8) window |= uint32_t{from[1]} << 8;
    if (end > 16) window |= from[2];
    const uint32_t sample = (window >> (24 - end)) & ((1u << bits_) - 1);
    store(i, is_palette() ? palette_[(static_cast<size_t>(component) << bits_) + sample]
                          : sample ^ inverted_);
  }
}

/// YCbCr with subsampling: a strip or tile has units of across x down samples of Y, then one of Cb and
/// of Cr.
void TiffPage::give_units(const Rows& rows, const cj2k_read_part* parts) const {
  const int64_t unit_bytes = across_ * down_ + 2;
  const int64_t units = (rows.width + across_ - 1) / across_;
  for (int c = 0; c < 3; ++c) {
    const cj2k_read_part& part = parts[c];
    const int dx = c == 0 ? 1 : across_, dy = c == 0 ? 1 : down_;
    for (int32_t j = 0; j < part.height; ++j) {
      const int64_t y = (int64_t{part.y} + j) * dy - rows.y;
      if (y < 0 || y >= rows.height) continue;
      auto* to = static_cast<uint8_t*>(part.data) + j * part.stride_bytes;
      for (int32_t i = 0; i < part.width; ++i) {
        const int64_t x = (int64_t{part.x} + i) * dx - rows.x;
        if (x < 0 || x >= rows.width) continue;
        const uint8_t* unit = rows.data + (y / down_ * units + x / across_) * unit_bytes;
        to[i] = c == 0 ? unit[y % down_ * across_ + x % across_] : unit[across_ * down_ + c - 1];
      }
    }
  }
}

}  // namespace

int count_tiff_pages(const std::string& path) { return count_pages(open_tiff(path).get()); }

std::unique_ptr<Picture> read_tiff(const std::string& path, int page, int file) {
  auto source = std::make_unique<TiffPage>(path, page, file);
  auto picture = std::make_unique<Picture>();
  picture->format = source->format();
  picture->note = note_of_orientation(source->orientation(), 1);
  take_source(std::move(source), *picture);
  return picture;
}

#endif

}  // namespace cj2k_tool

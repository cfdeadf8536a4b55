// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the stored words of a frame as samples. The level shift and the colour transform are done
// on the way from memory into registers. Two kernels use this: the first level of the wavelet
// transform (dwt_first_level.cuh), and the plain ingest of a plan without levels (ingest.cuh).
#pragma once

#include <cstring>
#include <type_traits>

#include "cj2k.h"
#include "kernels/pixels/core.h"
#include "kernels/pixels/pixels.h"

namespace cj2k::cuda {

enum class IngestMode { kInteger, kFloat, kRct, kIct };

/// How the words of a component are found and decoded. Four words of a row are kept in two
/// registers: 1-byte words all in the first register, 2-byte words two in each register. Of a
/// 4-byte word only the 16 bits that hold the sample are kept, as if it were a 2-byte word.
struct WordView {
  const uint8_t* data;
  int64_t stride_bytes;
  int32_t step_bytes;
  int32_t word_bytes;
  /// Address mask for reading four words by one access: 4 * word_bytes - 1; the access is possible
  /// where (address & aligned) == 0. The value 0 means that one access is never possible.
  uint32_t aligned;
  uint32_t load_shift;  ///< right shift of a 4-byte word when it is loaded, in bits; else 0
  uint32_t shift[2];    ///< right shift from a pair of words to its first and to its second sample
  uint32_t second;      ///< byte_permute selector that gives the pair of words 2 and 3
  uint32_t mask, flip;  ///< as in SampleDecode; for float samples flip includes kFloatCarrier
  uint32_t offset;      ///< SampleDecode::offset; for float samples the bits of 2^23 + offset
};

/// The bits of the float 2^23. The last bit of its mantissa has the value 1, so a sample of up to
/// 16 bits put into the low bits (WordView::flip does that) gives exactly 2^23 + sample.
/// Subtracting 2^23 + offset is exact, too, and gives the same float as converting the integer
/// sample - offset.
inline constexpr uint32_t kFloatCarrier = 0x4B000000u;

inline WordView make_word_view(const cj2k_component_view& view,
                               const PixelFormat::Component& component, bool is_float) {
  const int32_t word_bytes = view.word_bytes;
  const SampleDecode decode =
      make_sample_decode(word_bytes, view.shift, component.depth, component.is_signed);
  const bool is_wide = word_bytes == 4;
  WordView words{};
  words.data = static_cast<const uint8_t*>(view.data);
  words.stride_bytes = view.stride_bytes;
  words.step_bytes = view.step_bytes;
  words.word_bytes = word_bytes;
  if (view.step_bytes == word_bytes && view.stride_bytes % (4 * word_bytes) == 0) {
    words.aligned = static_cast<uint32_t>(4 * word_bytes - 1);
  }
  words.load_shift = is_wide ? static_cast<uint32_t>(decode.shift) : 0;
  words.shift[0] = is_wide ? 0 : static_cast<uint32_t>(decode.shift);
  words.shift[1] = words.shift[0] + (word_bytes == 1 ? 8 : 16);
  words.second = word_bytes == 1 ? 0x4432 : 0x7654;
  words.mask = decode.mask;
  words.flip = decode.flip;
  words.offset = static_cast<uint32_t>(decode.offset);
  if (is_float) {
    words.flip |= kFloatCarrier;
    const auto offset = static_cast<float>((1 << 23) + decode.offset);
    std::memcpy(&words.offset, &offset, sizeof offset);
  }
  return words;
}

/// The four columns of a row that one thread reads.
struct FourColumns {
  int32_t first;        ///< column 0
  uint32_t others;      ///< byte i: column i minus column 0, signed
  bool are_neighbours;  ///< each column is the one before plus 1
  bool is_inner;        ///< so are four more columns of the row on either side
  CJ2K_KERNEL_FN int32_t offset(int i) const { return static_cast<int8_t>(others >> (8 * i)); }
};

/// Loads one word at any address. A device load must be naturally aligned, so a word at an
/// unaligned address is put together from its bytes.
/// @tparam kNarrow  words have at most two bytes
template <bool kNarrow, typename T>
CJ2K_KERNEL_FN uint32_t load_any_word(T& t, const uint8_t* p, int32_t word_bytes) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (word_bytes == 1) return t.gload_ro(p);
  if (kNarrow || word_bytes == 2) {
    if ((address & 1) == 0) return t.gload_ro(reinterpret_cast<const uint16_t*>(p));
    return t.gload_ro(p) | uint32_t{t.gload_ro(p + 1)} << 8;
  }
  if ((address & 3) == 0) return t.gload_ro(reinterpret_cast<const uint32_t*>(p));
  return t.gload_ro(p) | uint32_t{t.gload_ro(p + 1)} << 8 | uint32_t{t.gload_ro(p + 2)} << 16 |
         uint32_t{t.gload_ro(p + 3)} << 24;
}

/// Loads the words of four columns into two registers, as WordView describes.
/// @param p              address of the word of the first column
/// @param is_one_access  the words are neighbours at a multiple of their total size: one access
///                       loads them. 1- and 2-byte words are not touched before they are needed.
/// @tparam kNarrow       words have at most two bytes
template <bool kNarrow, typename T>
CJ2K_KERNEL_FN simt::U32x2 load_words(T& t, const WordView& view, const uint8_t* p,
                                      const FourColumns& columns, bool is_one_access) {
  const int32_t word_bytes = view.word_bytes;
  uint32_t w[4];
  if (is_one_access) {
    if (word_bytes == 2) return t.gload_ro(reinterpret_cast<const simt::U32x2*>(p));
    if (word_bytes == 1) return {t.gload_ro(reinterpret_cast<const uint32_t*>(p)), 0};
    const simt::U32x4 v = t.gload_ro(reinterpret_cast<const simt::U32x4*>(p));
    w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
  } else {
    CJ2K_UNROLL
    for (int i = 0; i < 4; ++i) {
      w[i] =
          load_any_word<kNarrow>(t, p + int64_t{columns.offset(i)} * view.step_bytes, word_bytes);
    }
    if (word_bytes == 1) return {w[0] | w[1] << 8 | w[2] << 16 | w[3] << 24, 0};
  }
  CJ2K_UNROLL
  for (int i = 0; i < 4; ++i) w[i] >>= view.load_shift;
  return {(w[0] & 0xFFFF) | w[1] << 16, (w[2] & 0xFFFF) | w[3] << 16};
}

/// Loads `kWords` words at any address, as kWords + 1 aligned ones. So up to 3 bytes before and up
/// to 4 after them are read.
template <int kWords, typename T>
CJ2K_KERNEL_FN void load_shifted(T& t, const uint8_t* p, uint32_t* out) {
  const auto skew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p)) & 3;
  const auto* const from = reinterpret_cast<const uint32_t*>(p - skew);
  uint32_t w[kWords + 1];
  CJ2K_UNROLL
  for (int i = 0; i <= kWords; ++i) w[i] = t.gload_ro(from + i);
  CJ2K_UNROLL
  for (int i = 0; i < kWords; ++i) out[i] = t.funnel_right(w[i], w[i + 1], 8 * skew);
}

/// Where the words of the first three components are in packed pixels of 1- or 2-byte words, pixel
/// after pixel: three words (RGB, BGR) or four (RGBA, ARGB and so on).
struct PackedPixels {
  uint32_t words;        ///< of a pixel: 3 or 4; 0: the words are not in packed pixels
  uint32_t place[3];     ///< of a component's word in a pixel, in bytes
  uint32_t selector[3];  ///< of 4-word pixels, for byte_permute: the 1-byte words of a component in
                         ///< two pixels, or its 2-byte word in one
};

/// Finds out whether the words of the first three components are packed pixels. Four pixels of three
/// words are then read by three accesses of 4 or 8 bytes where the address of the first one is a
/// multiple of the access size. A pixel of four words is read by one access; it begins at a multiple
/// of its size.
inline PackedPixels packed_pixels(const FrameViews& frame) {
  const int32_t word_bytes = frame[0].word_bytes, step = frame[0].step_bytes;
  const auto address = [&frame](size_t c) { return reinterpret_cast<uintptr_t>(frame[c].data); };
  for (size_t c = 0; c < 3; ++c) {
    const cj2k_component_view& v = frame[c];
    if (v.word_bytes != word_bytes || v.step_bytes != step ||
        v.stride_bytes != frame[0].stride_bytes) {
      return {};
    }
  }
  if (word_bytes > 2 || frame[0].stride_bytes % (4 * word_bytes) != 0) return {};
  PackedPixels pixels{};
  uintptr_t first = 0;
  if (step == 3 * word_bytes) {
    const auto word = static_cast<uintptr_t>(word_bytes);
    const bool is_rgb = address(1) == address(0) + word && address(2) == address(1) + word;
    const bool is_bgr = address(1) == address(2) + word && address(0) == address(1) + word;
    if (!is_rgb && !is_bgr) return {};
    first = address(is_rgb ? 0 : 2);
  } else if (step == 4 * word_bytes) {
    first = address(0) & ~static_cast<uintptr_t>(step - 1);
  } else {
    return {};
  }
  for (size_t c = 0; c < 3; ++c) {
    const uintptr_t place = address(c) - first;
    if (place >= static_cast<uintptr_t>(step) || place % static_cast<uintptr_t>(word_bytes) != 0) {
      return {};
    }
    const auto p = static_cast<uint32_t>(place);
    pixels.place[c] = p;
    pixels.selector[c] = word_bytes == 1 ? p | (p + 4) << 4 : p | (p + 1) << 4;
  }
  pixels.words = static_cast<uint32_t>(step / word_bytes);
  return pixels;
}

/// Reads the rows of a rectangle of one component, four columns per thread. With a colour transform
/// it reads the words of all three components and computes the transformed component.
/// @tparam kPixels  the words are packed pixels (packed_pixels)
template <IngestMode kMode, bool kPixels = false>
class WordRows {
 public:
  static constexpr bool kIsColour = kMode == IngestMode::kRct || kMode == IngestMode::kIct;
  static constexpr bool kIsFloat = kMode == IngestMode::kFloat || kMode == IngestMode::kIct;
  static constexpr int kNumRead = kIsColour ? 3 : 1;
  static constexpr int kNumPieces = kPixels ? 1 : kNumRead;  ///< pieces of memory with rows
  using Sample = std::conditional_t<kIsFloat, float, int32_t>;

  struct Params {
    WordView views[CJ2K_MAX_COMPONENTS];
    PackedPixels packed;  ///< used with kPixels only
  };
  /// The words of a row between load() and samples().
  struct Raw {
    simt::U32x2 words[kNumRead];
  };

  /// @param x, y  position of the rectangle in the component
  CJ2K_KERNEL_FN WordRows(const Params& p, uint32_t component, int32_t x, int32_t y,
                          const FourColumns& columns)
      : component_(component), columns_(columns) {
    CJ2K_UNROLL
    for (int i = 0; i < kNumPieces; ++i) {
      const WordView& view = view_of(p, i);
      at_[i] = view.data + y * view.stride_bytes + (int64_t{x} + columns.first) * view.step_bytes;
      if constexpr (kPixels) at_[i] -= p.packed.place[0];
    }
    const bool is_inner = columns.are_neighbours && columns.is_inner;
    if constexpr (kPixels) {
      const uint32_t word_bytes = static_cast<uint32_t>(p.views[0].word_bytes);
      const auto address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at_[0]));
      const uint32_t usual = word_bytes == 2 ? kHalves : kBytes;
      if (p.packed.words == 4) {
        if (is_inner) one_access_ = usual << kWide;
      } else if (columns.are_neighbours && (address & (4 * word_bytes - 1)) == 0) {
        one_access_ = usual;
      } else if (is_inner) {
        one_access_ = usual << kShifted;
      }
    } else {
      uint32_t usual = kHalves | kBytes;
      bool are_adjacent = true;
      CJ2K_UNROLL
      for (int c = 0; c < kNumRead; ++c) {
        const WordView& view = view_of(p, c);
        const auto address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at_[c]));
        if (columns.are_neighbours && view.aligned != 0 && (address & view.aligned) == 0) {
          one_access_ |= 1u << c;
        }
        usual &= view.word_bytes == 2 ? kHalves : view.word_bytes == 1 ? kBytes : 0;
        are_adjacent = are_adjacent && view.step_bytes == view.word_bytes;
      }
      if (one_access_ == kAllOneAccess) {
        one_access_ |= usual;
      } else if (kIsColour && is_inner && are_adjacent) {
        one_access_ |= usual << kShifted;
      }
    }
    if constexpr (kMode == IngestMode::kIct) {
      weights_[0] = component == 0 ? kIctYr : component == 1 ? kIctCbR : kIctCrR;
      weights_[1] = component == 0 ? kIctYg : component == 1 ? kIctCbG : kIctCrG;
      weights_[2] = component == 0 ? kIctYb : component == 1 ? kIctCbB : kIctCrB;
    }
  }

  template <typename T>
  CJ2K_KERNEL_FN Raw load(T& t, const Params& p, int32_t y) const {
    Raw raw;
    // The usual layouts: all loads are issued one after the other, with no work between them.
    if ((one_access_ & kHalves) != 0) {
      CJ2K_UNROLL
      for (int i = 0; i < kNumRead; ++i) {
        const uint8_t* const words = kPixels ? row_of(p, 0, y) + 8 * i : row_of(p, i, y);
        raw.words[i] = t.gload_ro(reinterpret_cast<const simt::U32x2*>(words));
      }
      return raw;
    }
    if ((one_access_ & kBytes) != 0) {
      CJ2K_UNROLL
      for (int i = 0; i < kNumRead; ++i) {
        const uint8_t* const words = kPixels ? row_of(p, 0, y) + 4 * i : row_of(p, i, y);
        raw.words[i] = {t.gload_ro(reinterpret_cast<const uint32_t*>(words)), 0};
      }
      return raw;
    }
    if constexpr (kIsColour) {
      if ((one_access_ & kHalves << kShifted) != 0) {
        load_pieces<2>(t, p, y, &raw);
        return raw;
      }
      if ((one_access_ & kBytes << kShifted) != 0) {
        load_pieces<1>(t, p, y, &raw);
        return raw;
      }
    }
    if constexpr (kPixels) {
      if ((one_access_ & (kHalves | kBytes) << kWide) != 0) {
        load_wide(t, p, y, &raw);
        return raw;
      }
    }
    CJ2K_UNROLL
    for (int c = 0; c < kNumRead; ++c) {
      const WordView& view = view_of(p, c);
      raw.words[c] = load_words<kPixels>(t, view, words_at(p, c, y), columns_,
                                         !kPixels && (one_access_ >> c & 1) != 0);
    }
    return raw;
  }

  template <typename T>
  CJ2K_KERNEL_FN void samples(T& t, const Params& p, const Raw& raw, Sample* out) const {
    Raw planar = raw;
    if constexpr (kPixels) {
      constexpr uint32_t kPacked = (kHalves | kBytes) | (kHalves | kBytes) << kShifted;
      if ((one_access_ & kPacked) != 0) unpack(t, p.packed.place[0] == 0, raw, &planar);
    }
    Sample in[kNumRead][4];
    CJ2K_UNROLL
    for (int c = 0; c < kNumRead; ++c) {
      const WordView& view = view_of(p, c);
      const uint32_t first = planar.words[c].x;
      const uint32_t second = t.byte_permute(first, planar.words[c].y, view.second);
      CJ2K_UNROLL
      for (int i = 0; i < 4; ++i) {
        // The mask removes the bits of the next word above the sample.
        in[c][i] = decoded(((i < 2 ? first : second) >> view.shift[i & 1] & view.mask) ^ view.flip,
                           view.offset);
      }
    }
    if constexpr (kMode == IngestMode::kRct) {
      const bool is_blue = component_ == 1;
      if (component_ == 0) {
        CJ2K_UNROLL
        for (int i = 0; i < 4; ++i) out[i] = rct_luma(in[0][i], in[1][i], in[2][i]);
      } else {
        CJ2K_UNROLL
        for (int i = 0; i < 4; ++i) out[i] = (is_blue ? in[2][i] : in[0][i]) - in[1][i];
      }
    } else {
      CJ2K_UNROLL
      for (int i = 0; i < 4; ++i) {
        if constexpr (kMode == IngestMode::kIct) {
          out[i] = ict(in[0][i], in[1][i], in[2][i], weights_[0], weights_[1], weights_[2]);
        } else {
          out[i] = in[0][i];
        }
      }
    }
  }

 private:
  /// Loads words that are side by side, at any address: as the aligned loads would.
  /// @tparam kWords  registers for four words
  template <int kWords, typename T>
  CJ2K_KERNEL_FN void load_pieces(T& t, const Params& p, int32_t y, Raw* raw) const {
    constexpr int kAtOnce = kPixels ? kNumRead * kWords : kWords;
    uint32_t w[kNumRead * kWords];
    CJ2K_UNROLL
    for (int i = 0; i < kNumPieces; ++i) load_shifted<kAtOnce>(t, row_of(p, i, y), w + kAtOnce * i);
    CJ2K_UNROLL
    for (int i = 0; i < kNumRead; ++i) {
      raw->words[i] = {w[kWords * i], kWords == 2 ? w[kWords * i + 1] : 0};
    }
  }

  /// Loads four pixels of four words each.
  template <typename T>
  CJ2K_KERNEL_FN void load_wide(T& t, const Params& p, int32_t y, Raw* raw) const {
    const uint8_t* const first = row_of(p, 0, y);
    const auto* const fours = reinterpret_cast<const simt::U32x4*>(first);
    const bool is_aligned = (reinterpret_cast<uintptr_t>(first) & 15) == 0;
    if ((one_access_ & kBytes << kWide) != 0) {
      simt::U32x4 w;
      if (is_aligned) {
        w = t.gload_ro(fours);
      } else {
        const auto* const pixels = reinterpret_cast<const uint32_t*>(first);
        w = {t.gload_ro(pixels), t.gload_ro(pixels + 1), t.gload_ro(pixels + 2),
             t.gload_ro(pixels + 3)};
      }
      CJ2K_UNROLL
      for (int c = 0; c < kNumRead; ++c) {
        const uint32_t s = p.packed.selector[c];
        raw->words[c] = {
            t.byte_permute(t.byte_permute(w.x, w.y, s), t.byte_permute(w.z, w.w, s), 0x5410), 0};
      }
      return;
    }
    simt::U32x4 a, b;
    if (is_aligned) {
      a = t.gload_ro(fours);
      b = t.gload_ro(fours + 1);
    } else {
      const auto* const pixels = reinterpret_cast<const simt::U32x2*>(first);
      const simt::U32x2 p0 = t.gload_ro(pixels), p1 = t.gload_ro(pixels + 1);
      const simt::U32x2 p2 = t.gload_ro(pixels + 2), p3 = t.gload_ro(pixels + 3);
      a = {p0.x, p0.y, p1.x, p1.y};
      b = {p2.x, p2.y, p3.x, p3.y};
    }
    CJ2K_UNROLL
    for (int c = 0; c < kNumRead; ++c) {
      const uint32_t s = p.packed.selector[c];
      raw->words[c] = {
          t.byte_permute(t.byte_permute(a.x, a.y, s), t.byte_permute(a.z, a.w, s), 0x5410),
          t.byte_permute(t.byte_permute(b.x, b.y, s), t.byte_permute(b.z, b.w, s), 0x5410)};
    }
  }

  /// Turns four packed pixels of three words each into four words of each component.
  template <typename T>
  CJ2K_KERNEL_FN void unpack(T& t, bool is_rgb, const Raw& pixels, Raw* planar) const {
    const simt::U32x2 a = pixels.words[0], b = pixels.words[1], c = pixels.words[2];
    simt::U32x2 first, second, third;
    if ((one_access_ & (kHalves | kHalves << kShifted)) != 0) {
      first = {t.byte_permute(a.x, a.y, 0x7610), t.byte_permute(b.y, c.x, 0x7610)};
      second = {t.byte_permute(a.x, b.x, 0x5432), t.byte_permute(b.y, c.y, 0x5432)};
      third = {t.byte_permute(a.y, b.x, 0x7610), t.byte_permute(c.x, c.y, 0x7610)};
    } else {
      first = {t.byte_permute(t.byte_permute(a.x, b.x, 0x0630), c.x, 0x5210), 0};
      second = {t.byte_permute(t.byte_permute(a.x, b.x, 0x0741), c.x, 0x6210), 0};
      third = {t.byte_permute(t.byte_permute(a.x, b.x, 0x0052), c.x, 0x7410), 0};
    }
    planar->words[0] = {is_rgb ? first.x : third.x, is_rgb ? first.y : third.y};
    planar->words[1] = second;
    planar->words[2] = {is_rgb ? third.x : first.x, is_rgb ? third.y : first.y};
  }

  CJ2K_KERNEL_FN const uint8_t* row_of(const Params& p, int piece, int32_t y) const {
    return at_[piece] + y * view_of(p, piece).stride_bytes;
  }
  /// Address of a component's word in the first column.
  CJ2K_KERNEL_FN const uint8_t* words_at(const Params& p, int c, int32_t y) const {
    if constexpr (!kPixels) return row_of(p, c, y);
    return row_of(p, 0, y) + p.packed.place[c];
  }
  CJ2K_KERNEL_FN const WordView& view_of(const Params& p, int c) const {
    return p.views[kIsColour ? static_cast<uint32_t>(c) : component_];
  }
  CJ2K_KERNEL_FN static Sample decoded(uint32_t bits, uint32_t offset) {
    if constexpr (kIsFloat) {
      float value, less;
      __builtin_memcpy(&value, &bits, sizeof value);
      __builtin_memcpy(&less, &offset, sizeof less);
      return value - less;
    } else {
      return static_cast<int32_t>(bits) - static_cast<int32_t>(offset);
    }
  }

  const uint8_t* at_[kNumPieces];  ///< address of the first column in the rectangle's first row
  static constexpr uint32_t kAllOneAccess = (1u << kNumRead) - 1;
  /// Flags in one_access_: all components have one access, and all words have 2 bytes (kHalves) or
  /// 1 byte (kBytes). With kPixels: the packed pixels are aligned and have three such words.
  static constexpr uint32_t kHalves = 8, kBytes = 16;
  /// The same flags, shifted: words side by side (packed pixels of three words) at any address;
  /// packed pixels of four words. For lanes beside which there are more columns, since more is read
  /// than four.
  static constexpr int kShifted = 2, kWide = 4;
  /// Bit c: one access reads the words of four columns of component c, in every row.
  uint32_t one_access_ = 0;
  uint32_t component_;
  FourColumns columns_;
  float weights_[kMode == IngestMode::kIct ? 3 : 1];  ///< the component's row of the ICT matrix
};

template <typename Rows>
typename Rows::Params make_word_params(const PixelFormat& format, const FrameViews& frame) {
  typename Rows::Params params{};
  for (uint32_t c = 0; c < format.num_components; ++c) {
    params.views[c] = make_word_view(frame[c], format.components[c], Rows::kIsFloat);
  }
  params.packed = packed_pixels(frame);
  return params;
}

}  // namespace cj2k::cuda

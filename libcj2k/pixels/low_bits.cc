// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "pixels/low_bits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "core/sample.h"

namespace cj2k {
namespace {

constexpr size_t kRowGrain = 64;

LowBits low_bits_of(const Component& component) { return {component.depth, component.low_bits}; }

/// Components whose 2-byte words alternate in memory and have their low bits in the same place. The
/// units of 2 bytes from the first to the last word of a row are looked at together. Units between
/// them may be no samples: if the low bits of all units are 0, so are those of the samples.
struct Piece {
  const uint8_t* begin;
  ptrdiff_t stride_bytes;
  ptrdiff_t units;  ///< in a row; 0: the words are not read together
  int32_t rows;
  uint32_t mask;
  uint32_t components;  ///< bit c: component c
};

bool are_zero(const uint8_t* data, ptrdiff_t units, uint32_t mask) {
  uint16_t all = 0;
  for (ptrdiff_t i = 0; i < units; ++i) {
    uint16_t unit;
    std::memcpy(&unit, data + 2 * i, sizeof unit);
    all |= unit;
  }
  return (all & mask) == 0;
}

class Scan {
 public:
  Scan(const Plan& plan, const cj2k_frame& frame) : plan_(plan), frame_(frame) {
    for (uint32_t c = 0; c < plan.components.size(); ++c) {
      if (plan.components[c].low_bits > 0) add(c);
    }
  }

  bool run(LowBitsSample* found) {
    for (size_t p = 0; p < num_pieces_; ++p) {
      parallel_for(static_cast<size_t>(pieces_[p].rows), kRowGrain, [&](size_t begin, size_t end) {
        for (size_t y = begin; y < end; ++y) scan_row(pieces_[p], static_cast<int32_t>(y));
      });
    }
    if (first_.load() == kNone) return false;
    const auto y = static_cast<int32_t>(first_ / CJ2K_MAX_COMPONENTS);
    const auto c = static_cast<uint32_t>(first_ % CJ2K_MAX_COMPONENTS);
    const int32_t x = first_column(c, y);
    *found = {c, x, y, sample(c, x, y)};
    return true;
  }

 private:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  void add(uint32_t c) {
    const cj2k_component_view& v = frame_.components[c];
    const Component& component = plan_.components[c];
    const auto* begin = static_cast<const uint8_t*>(v.data);
    const uint32_t mask = low_bits_of(component).low_mask() << v.shift;
    const bool in_units = v.word_bytes == 2 && v.step_bytes % 2 == 0;
    const ptrdiff_t units =
        in_units ? ptrdiff_t{component.rect.width() - 1} * (v.step_bytes / 2) + 1 : 0;
    for (size_t p = 0; p < num_pieces_; ++p) {
      Piece& piece = pieces_[p];
      const ptrdiff_t off = begin - piece.begin;
      if (!in_units || piece.units == 0 || piece.stride_bytes != v.stride_bytes ||
          piece.rows != component.rect.height() || piece.mask != mask || off % 2 != 0 ||
          off >= v.step_bytes || off <= -v.step_bytes) {
        continue;
      }
      const uint8_t* end = std::max(piece.begin + 2 * piece.units, begin + 2 * units);
      piece.begin = std::min(piece.begin, begin);
      piece.units = (end - piece.begin) / 2;
      piece.components |= 1u << c;
      return;
    }
    pieces_[num_pieces_++] = {begin, v.stride_bytes, units, component.rect.height(), mask, 1u << c};
  }

  void scan_row(const Piece& piece, int32_t y) {
    if (piece.units > 0 && are_zero(piece.begin + y * piece.stride_bytes, piece.units, piece.mask))
      return;
    for (uint32_t c = 0; c < plan_.components.size(); ++c) {
      if ((piece.components >> c & 1) == 0) continue;
      const uint64_t place = uint64_t{CJ2K_MAX_COMPONENTS} * static_cast<uint32_t>(y) + c;
      uint64_t first = first_.load(std::memory_order_relaxed);
      if (place >= first || first_column(c, y) == plan_.components[c].rect.width()) continue;
      while (place < first && !first_.compare_exchange_weak(first, place)) {
      }
    }
  }

  uint32_t sample(uint32_t c, int32_t x, int32_t y) const {
    const cj2k_component_view& v = frame_.components[c];
    const auto* data =
        static_cast<const uint8_t*>(v.data) + y * v.stride_bytes + ptrdiff_t{x} * v.step_bytes;
    return stored(plan_.components[c], v, data);
  }

  static uint32_t stored(const Component& component, const cj2k_component_view& v,
                         const uint8_t* word) {
    return load_word(word, v.word_bytes) >> v.shift &
           ((1u << (component.depth + component.low_bits)) - 1);
  }

  /// @return the first column whose low bits add something; the width if there is none
  int32_t first_column(uint32_t c, int32_t y) const {
    const cj2k_component_view& v = frame_.components[c];
    const Component& component = plan_.components[c];
    const LowBits low_bits = low_bits_of(component);
    const auto* data = static_cast<const uint8_t*>(v.data) + y * v.stride_bytes;
    int32_t x = 0;
    for (; x < component.rect.width(); ++x, data += v.step_bytes) {
      if (low_bits.adds(stored(component, v, data))) break;
    }
    return x;
  }

  const Plan& plan_;
  const cj2k_frame& frame_;
  std::array<Piece, CJ2K_MAX_COMPONENTS> pieces_{};
  size_t num_pieces_ = 0;
  std::atomic<uint64_t> first_ = kNone;  ///< row and component
};

}  // namespace

bool refuses_low_bits(const Plan& plan) {
  if (plan.params.low_bits != CJ2K_LOW_BITS_REFUSE || plan.params.xyz != CJ2K_XYZ_OFF) return false;
  return std::any_of(plan.components.begin(), plan.components.end(),
                     [](const Component& c) { return c.low_bits > 0; });
}

bool find_low_bits(const Plan& plan, const cj2k_frame& frame, LowBitsSample* found) {
  return Scan(plan, frame).run(found);
}

}  // namespace cj2k

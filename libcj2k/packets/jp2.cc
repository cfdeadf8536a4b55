// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "packets/jp2.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "packets/bytes.h"
#include "params/icc_profile.h"

namespace cj2k {
namespace {

constexpr uint32_t kBoxHeaderBytes = 8;

constexpr uint32_t fourcc(const char (&name)[5]) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(name[i]);
  return value;
}

// A box is opened with length 0. close_box sets the length when the contents are complete.
size_t open_box(std::vector<uint8_t>& out, const char (&name)[5]) {
  const size_t begin = out.size();
  append_u32(out, 0);
  append_u32(out, fourcc(name));
  return begin;
}

void close_box(std::vector<uint8_t>& out, size_t begin) {
  store_u32(&out[begin], static_cast<uint32_t>(out.size() - begin));
}

uint32_t bits_per_component(const Component& c) {
  return static_cast<uint32_t>(c.depth - 1) | (c.is_signed ? 0x80u : 0u);
}

void append_image_header(std::vector<uint8_t>& out, const Plan& plan) {
  const auto& components = plan.components;
  const uint32_t first = bits_per_component(components[0]);
  const bool alike = std::all_of(components.begin(), components.end(), [first](const Component& c) {
    return bits_per_component(c) == first;
  });
  size_t box = open_box(out, "ihdr");
  append_u32(out, static_cast<uint32_t>(plan.image.height()));
  append_u32(out, static_cast<uint32_t>(plan.image.width()));
  append_u16(out, static_cast<uint32_t>(components.size()));
  append_u8(out, alike ? first : 255);
  append_u8(out, 7);  // C: 7, the only compression type
  append_u8(out, 0);  // UnkC: the colour space is known
  append_u8(out, 0);  // IPR: no intellectual property box
  close_box(out, box);
  if (alike) return;
  box = open_box(out, "bpcc");
  for (const Component& c : components) append_u8(out, bits_per_component(c));
  close_box(out, box);
}

void append_colour(std::vector<uint8_t>& out, const Plan& plan) {
  const auto num_components = static_cast<uint32_t>(plan.components.size());
  const cj2k_colorspace space = plan.params.colorspace;  // resolved: not AUTO
  const uint32_t enumerated = space == CJ2K_COLOR_GRAY ? 17 : space == CJ2K_COLOR_SYCC ? 18 : 16;
  const uint32_t num_colours = space == CJ2K_COLOR_GRAY ? 1 : 3;
  const std::vector<uint8_t> profile = !plan.icc_profile.empty() ? plan.icc_profile
                                       : needs_icc_profile(plan.params)
                                           ? make_icc_profile(plan.params)
                                           : std::vector<uint8_t>();
  size_t box = open_box(out, "colr");
  append_u8(out, profile.empty() ? 1 : 2);  // METH: enumerated, restricted ICC profile
  append_u8(out, 0);                        // PREC
  append_u8(out, 0);                        // APPROX
  if (profile.empty()) {
    append_u32(out, enumerated);
  } else {
    out.insert(out.end(), profile.begin(), profile.end());
  }
  close_box(out, box);

  // Without cdef, channel i is colour i (I.5.3.6), so a file with more channels than colours needs
  // cdef.
  if (!plan.params.alpha && num_components <= num_colours) return;
  box = open_box(out, "cdef");
  append_u16(out, num_components);
  for (uint32_t c = 0; c < num_components; ++c) {
    append_u16(out, c);
    if (plan.params.alpha && c + 1 == num_components) {
      append_u16(out, plan.params.alpha == 2 ? 2 : 1);  // Typ: 1 opacity, 2 premultiplied opacity
      append_u16(out, 0);                               // Asoc: the whole image
    } else if (c < num_colours) {
      append_u16(out, 0);
      append_u16(out, c + 1);
    } else {
      append_u16(out, 65535);  // Typ: unspecified; then Asoc: no colour
      append_u16(out, 65535);
    }
  }
  close_box(out, box);
}

/// A number as a resolution box has it: numerator / denominator * 10^exponent.
struct Ratio {
  uint32_t numerator, denominator;
  int exponent;
  double value() const { return std::pow(10, exponent) * numerator / denominator; }
};

/// The nearest fraction of 16-bit numbers, by continued fractions.
/// @param value  in [1, 10000)
Ratio nearest_fraction(double value) {
  constexpr double kMost = 65535;
  double before[] = {0, 1}, last[] = {1, 0};  // numerator and denominator
  for (double rest = value;; rest = 1 / (rest - std::floor(rest))) {
    const double whole = std::floor(rest);
    const double next[] = {whole * last[0] + before[0], whole * last[1] + before[1]};
    if (next[0] > kMost || next[1] > kMost) break;
    for (int i = 0; i < 2; ++i) {
      before[i] = last[i];
      last[i] = next[i];
    }
    if (rest == whole) break;
  }
  return {static_cast<uint32_t>(last[0]), static_cast<uint32_t>(last[1]), 0};
}

/// Common values are exact: 300 samples per inch are 15000 / 127 * 10^2.
Ratio nearest_ratio(double value) {
  const int digits = static_cast<int>(std::floor(std::log10(value)));
  Ratio best = {};
  for (int exponent = digits - 3; exponent <= digits; ++exponent) {
    Ratio ratio = nearest_fraction(value / std::pow(10, exponent));
    ratio.exponent = exponent;
    if (best.denominator == 0 || std::abs(ratio.value() - value) < std::abs(best.value() - value))
      best = ratio;
  }
  return best;
}

/// The capture resolution (I.5.3.7.1).
void append_resolution(std::vector<uint8_t>& out, const cj2k_params& p) {
  if (p.resolution_x == 0) return;
  const Ratio ratios[] = {nearest_ratio(p.resolution_y), nearest_ratio(p.resolution_x)};
  const size_t box = open_box(out, "res ");
  const size_t capture = open_box(out, "resc");
  for (const Ratio& ratio : ratios) {
    append_u16(out, ratio.numerator);
    append_u16(out, ratio.denominator);
  }
  for (const Ratio& ratio : ratios) append_u8(out, static_cast<uint8_t>(ratio.exponent));
  close_box(out, capture);
  close_box(out, box);
}

}  // namespace

std::vector<uint8_t> make_jp2_boxes(const Plan& plan) {
  std::vector<uint8_t> out;
  // A JPH file (T.814) has the same boxes and another brand.
  const uint32_t brand = fourcc(plan.params.coder == CJ2K_CODER_HT ? "jph " : "jp2 ");
  size_t box = open_box(out, "jP  ");
  append_u32(out, 0x0D0A870A);
  close_box(out, box);

  box = open_box(out, "ftyp");
  append_u32(out, brand);  // BR
  append_u32(out, 0);      // MinV
  append_u32(out, brand);  // CL
  close_box(out, box);

  box = open_box(out, "jp2h");
  append_image_header(out, plan);
  append_colour(out, plan);
  append_resolution(out, plan.params);
  close_box(out, box);
  out.insert(out.end(), plan.jp2_boxes.begin(), plan.jp2_boxes.end());

  open_box(out, "jp2c");
  return out;
}

void set_jp2c_bytes(uint8_t* boxes_end, uint64_t codestream_bytes) {
  const uint64_t box_bytes = codestream_bytes + kBoxHeaderBytes;
  const bool fits = box_bytes <= 0xFFFFFFFFu;
  store_u32(boxes_end - kBoxHeaderBytes, fits ? static_cast<uint32_t>(box_bytes) : 0);
}

}  // namespace cj2k

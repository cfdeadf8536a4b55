// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Pictures for tests, made from a seed, and their comparison sample by sample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cj2k.h"

namespace cj2k::test {

/// A small random generator with the same sequence on every platform (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// Uniform in [low, high].
  int32_t range(int32_t low, int32_t high);
  bool chance(int percent) { return range(0, 99) < percent; }
  template <typename T>
  const T& pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(range(0, static_cast<int32_t>(values.size()) - 1))];
  }

 private:
  uint64_t state_;
};

struct ComponentPlane {
  int32_t width = 0, height = 0;
  int32_t depth = 8;
  bool is_signed = false;
  std::vector<int32_t> samples;  ///< [height][width]

  int32_t min_value() const { return is_signed ? -(1 << (depth - 1)) : 0; }
  int32_t max_value() const { return is_signed ? (1 << (depth - 1)) - 1 : (1 << depth) - 1; }
};

struct Picture {
  int32_t width = 0, height = 0;  ///< on the reference grid
  std::vector<ComponentPlane> components;

  /// Bits of all samples.
  int64_t raw_bits() const;
};

enum class Content {
  kFlat,      ///< one value per component
  kGradient,  ///< smooth ramps
  kNoise,     ///< every sample uniform over the whole range
  kEdges,     ///< rectangles of the extreme values
  /// Waves, soft edges and a little grain, with similar components: the closest to a photograph.
  kTexture,
};
inline const std::vector<Content> kAllContents = {
    Content::kFlat, Content::kGradient, Content::kNoise, Content::kEdges, Content::kTexture};
const char* content_name(Content content);

/// A picture without content, with the components that `params` describes.
Picture picture_shape(const cj2k_params& params);
Picture make_picture(const cj2k_params& params, Content content, uint64_t seed);

/// The largest difference of any sample; -1 if the shapes differ.
int32_t max_difference(const Picture& a, const Picture& b);
/// The mean squared error of one component.
double mean_squared_error(const ComponentPlane& a, const ComponentPlane& b);
/// In dB, over all components: the mean of their squared errors relative to their peaks. 999 if the
/// pictures are equal.
double psnr(const Picture& a, const Picture& b);
/// The position of the first difference, for messages.
std::string first_difference(const Picture& a, const Picture& b);

/// FNV-1a, 64 bit.
uint64_t hash_bytes(const std::vector<uint8_t>& bytes);

}  // namespace cj2k::test

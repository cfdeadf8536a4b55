// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What the scan codes: the codings that are compared, the limits they get, and what each one gave.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/picture.h"

namespace cj2k::test {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// One way to code a picture. Those with `none` are what others are held against.
struct Coding {
  std::string name;
  Settings settings;
};
const std::vector<Coding>& scan_codings();
const Coding& scan_coding(std::string_view name);

enum class LimitKind {
  kTarget,     ///< target_bytes
  kComponent,  ///< target_bytes and max_component_bytes
  kQuality,    ///< quality and max_frame_bytes
};
inline const LimitKind kLimitKinds[] = {LimitKind::kTarget, LimitKind::kComponent,
                                        LimitKind::kQuality};
const char* limit_kind_name(LimitKind kind);

/// 0: not limited.
struct Limits {
  int64_t target_bytes = 0, max_frame_bytes = 0, max_component_bytes = 0;
  double quality = 0;
  /// Limits of one curve stand in the order in which the picture may only become better.
  int curve = 0;

  Settings settings() const;
  double place() const;  ///< on its curve: a logarithm that rises
};

/// What came of one coding.
struct Point {
  double squared_error = 0;  ///< measured, in LSB^2, summed over all components
  double samples = 0;        ///< of all components
  double psnr = 0;           ///< in dB, of squared_error; 999 without an error
  int64_t bytes = 0;
  int64_t most_component_bytes = 0;
  int64_t passes_coded = 0;
  double coding_ms = 0;  ///< block coding and rate control
  bool is_visual = false;
  std::string error;  ///< why there is no point
};

/// The picture, and what is the same for all its codings.
struct Subject {
  std::string name;
  const Picture* picture;
  std::string cblk, ht_cblk;
  Settings shared;  ///< of all codings
};

/// The parameters of `coding` under `limits`, as options of the tool cj2k.
std::string options(const Subject& subject, const Coding& coding, const Limits& limits);

/// Codes the picture with one thread and measures what a decoder shows.
/// @param codestream  if not null: the bytes
Point code(const Subject& subject, const Coding& coding, const Limits& limits,
           std::vector<uint8_t>* codestream = nullptr);

/// The PSNR of the same codestream as OpenJPEG decodes it; negative where it does not.
double decoded_psnr(const Subject& subject, const Coding& coding, const Limits& limits,
                    const std::vector<uint8_t>& codestream);

/// `count` limits of one kind, from tiny to nearly lossless, spaced in log(bytes) with some jitter.
/// The same seed gives the same limits.
std::vector<Limits> draw_limits(const Subject& subject, LimitKind kind, int count, uint64_t seed);

}  // namespace cj2k::test

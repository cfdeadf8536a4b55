// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The pixel stages on the GPU as the backend calls them. Everything is asynchronous on the stream,
// allocates nothing and gives the bytes of the CPU reference. Geometry goes up once, at open, as
// the flat arrays that the make_* functions build from the plan; a launch takes all frames of a
// GOP.
//
// Samples of all frames lie in one allocation, frame f at f * frame_samples. A component has two
// planes. Plane 1 is as large as the component, plane 0 as the low-pass part of level 1:
//
//   level 1   the frame's words -> plane 1   writes LL, HL, LH, HH of level 1 in Mallat order
//   level 2   1 -> 0   reads LL of level 1, writes LL, HL, LH, HH of level 2
//   level 3   0 -> 1   overwrites LL of level 1
//   level n   plane (n - 1) & 1 -> plane n & 1
//
// So the subband of decomposition level n lies in plane n & 1. Each tile-component has a corner of
// its own in either (tile_component_offset); from it on the plan's plane_x, plane_y count. Without
// levels there is plane 0 alone, as large as the component, and `ingest` writes it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "cj2k.h"
#include "plan.h"

namespace cj2k::simt {
class Stream;
}

namespace cj2k::cuda {

/// Offsets and strides in 32-bit samples, planes and rows aligned to 128 bytes.
struct FrameLayout {
  struct Component {
    uint64_t plane[2];
    uint32_t stride[2];
    int32_t width, height;
  };
  std::array<Component, CJ2K_MAX_COMPONENTS> components;
  uint64_t frame_samples;
};
FrameLayout make_frame_layout(const Plan& plan);
/// Where the top left sample of a tile-component, or of its low-pass part, lies in a frame.
uint64_t tile_component_offset(const Plan& plan, const FrameLayout& layout, const TileComponent& tc,
                               int plane);

/// The frames of a launch in device memory.
struct Samples {
  void* data;  ///< int32_t with 5/3, float with 9/7; 128-byte aligned
  uint64_t frame_samples;
  uint32_t num_frames;
};

// ---- Ingest, colour and wavelet transform ----

/// Where the samples of one frame lie, in device memory.
using FrameViews = std::array<cj2k_component_view, CJ2K_MAX_COMPONENTS>;

/// One level of one tile-component.
struct alignas(16) DwtJob {
  uint64_t source, target;  ///< offset of the rectangle's first sample in the frame; no source in
  uint32_t source_stride, target_stride;  ///< level 1
  int32_t width, height;                  ///< >= 1
  int32_t x, y;                           ///< of level 1's rectangle in the component
  uint8_t parity_x, parity_y;             ///< of the first sample's coordinates
  uint8_t segment_pairs;                  ///< pairs of rows that one warp makes
  uint8_t component;
  uint32_t unused = 0;
};
/// One warp's part of a job: a strip of columns, a segment of rows.
struct alignas(16) DwtPart {
  uint32_t job, strip, segment, unused = 0;
};
struct DwtLevel {
  std::vector<DwtJob> jobs;
  /// In level 1 those that a colour transform makes come first, the three components of one place
  /// side by side.
  std::vector<DwtPart> parts;
  uint32_t num_colour_parts = 0;
};
/// Level `level` (1 = the first) of all tile-components that have samples there.
DwtLevel make_dwt_level(const Plan& plan, const FrameLayout& layout, int level);
/// One in device memory.
struct DwtLists {
  const DwtJob* jobs;
  const DwtPart* parts;
  uint32_t num_parts, num_colour_parts;
};

/// Samples of any layout to coefficients of level 1: level shift (T.800 G.1), RCT, ICT or
/// int-to-float as the plan says, columns then rows (stages/dwt.h), of one frame. Reads nothing
/// outside the words of the samples, and those only until the launch has ended.
/// @param lists    level 1
/// @param frame    checked views
/// @param samples  of this frame
/// @return kOk | kDevice
Status dwt_words(simt::Stream& stream, const Plan& plan, const DwtLists& lists,
                 const FrameViews& frame, void* samples);

/// One level from the second on, of all frames.
Status dwt53(simt::Stream& stream, const DwtLists& lists, const Samples& samples);
Status dwt97(simt::Stream& stream, const DwtLists& lists, const Samples& samples);

/// For a plan without levels: what dwt_words does before it transforms, to plane 0.
Status ingest(simt::Stream& stream, const Plan& plan, const FrameLayout& layout,
              const FrameViews& frame, void* samples);

// ---- Quantisation and bit-planes ----

/// One code-block. Its bit-planes are 64-bit words in scan order: word = 16 columns of one stripe
/// of 4 rows, bit = 4 * column + row, index = stripe * words_wide + word, 0 outside the block. From
/// first_word on:
///
///   | sign | plane b - 1 | ... | plane 0 | not written ...      b = bit-planes of the block
///   0      plane_words   2 * plane_words            (max_bit_planes + 1) * plane_words
struct alignas(16) QuantizeJob {
  uint64_t source;      ///< offset of the first coefficient in the frame's samples
  uint64_t first_word;  ///< in the frame's words; even
  uint32_t stride;
  uint16_t width, height;
  float inverse_step;  ///< not looked at with 5/3
  uint8_t max_bit_planes;
  uint8_t words_wide;    ///< ceil(width / 16)
  uint16_t plane_words;  ///< words_wide * ceil(height / 4)
};
/// [plan.blocks] in their order. `*frame_words`: words of a frame's bit-planes.
std::vector<QuantizeJob> make_quantize_jobs(const Plan& plan, const FrameLayout& layout,
                                            uint64_t* frame_words);

struct BitPlanes {
  uint64_t* words;  ///< frame f at f * frame_words; 16-byte aligned
  uint64_t frame_words;
  uint32_t* magnitudes;  ///< [frame][num_jobs] bitwise OR of the block's magnitudes; its bit width
                         ///< is the number of bit-planes. A block with 0 has no words written.
};
/// Coefficients to sign and magnitude (stages/quantize.h) and these to bit-planes, of all frames.
/// @param jobs  [num_jobs] in device memory
Status quantize53(simt::Stream& stream, const QuantizeJob* jobs, uint32_t num_jobs,
                  const Samples& samples, const BitPlanes& planes);
Status quantize97(simt::Stream& stream, const QuantizeJob* jobs, uint32_t num_jobs,
                  const Samples& samples, const BitPlanes& planes);

}  // namespace cj2k::cuda

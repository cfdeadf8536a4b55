// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The pixel stages on the GPU as the backend calls them. Everything is asynchronous on the stream,
// allocates nothing and gives the bytes of the CPU reference. Geometry goes up once, at open, as
// flat arrays (libcj2k/cuda/pixel_jobs.h); a launch takes all frames of a GOP.
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

#include "base/status.h"
#include "cj2k.h"

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
/// The components of a plan as their samples lie in a frame.
struct PixelFormat {
  struct Component {
    int32_t depth;
    bool is_signed;
  };
  std::array<Component, CJ2K_MAX_COMPONENTS> components;
  uint32_t num_components;
  bool reversible, use_mct;
};

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
/// A level of all tile-components, in device memory.
struct DwtLists {
  const DwtJob* jobs;
  const DwtPart* parts;
  uint32_t num_parts, num_colour_parts;
};

/// Samples of any layout to coefficients of level 1: level shift (T.800 G.1), RCT, ICT or
/// int-to-float as the format says, columns then rows (stages/dwt.h), of one frame. Reads nothing
/// outside the words of the samples, and those only until the launch has ended.
/// @param lists    level 1
/// @param frame    checked views
/// @param samples  of this frame
/// @return kOk | kDevice
Status dwt_first_level(simt::Stream& stream, const PixelFormat& format, const DwtLists& lists,
                 const FrameViews& frame, void* samples);

/// One level from the second on, of all frames.
Status dwt53(simt::Stream& stream, const DwtLists& lists, const Samples& samples);
Status dwt97(simt::Stream& stream, const DwtLists& lists, const Samples& samples);

/// For a plan without levels: what dwt_first_level does before it transforms, to plane 0.
Status ingest(simt::Stream& stream, const PixelFormat& format, const FrameLayout& layout,
              const FrameViews& frame, void* samples);

}  // namespace cj2k::cuda

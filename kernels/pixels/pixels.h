// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The pixel stages on the GPU, as the backend calls them. All functions are asynchronous on the
// stream, allocate nothing and give the same bytes as the CPU reference. The geometry is uploaded
// once, at open, as flat arrays (libcj2k/cuda/pixel_jobs.h). The first level and `ingest` take one
// frame per launch; the other levels and the quantisation take all frames of a GOP.
//
// The samples of all frames lie in one allocation, frame f at f * frame_samples. A component has
// two planes: plane 1 is as large as the component, plane 0 as the low-pass part of level 1.
//
//   level 1   words of the frame -> plane 1    writes LL, HL, LH, HH of level 1 in Mallat order
//   level 2   plane 1 -> plane 0               reads LL of level 1, writes the subbands of level 2
//   level 3   plane 0 -> plane 1               reads LL of level 2, overwrites LL of level 1
//   level n   plane (n - 1) & 1 -> plane n & 1
//
// So the subbands of decomposition level n lie in plane n & 1. Each tile-component has its own
// corner in each plane (tile_component_offset); the plan's plane_x and plane_y count from that
// corner. Without levels there is only plane 0, as large as the component, and `ingest` writes it.
#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"
#include "cj2k.h"

namespace cj2k::simt {
class Stream;
}

namespace cj2k::cuda {

/// Where the planes of a frame lie. Offsets and strides are in 32-bit samples; planes and rows are
/// aligned to 128 bytes.
struct FrameLayout {
  struct Component {
    uint64_t plane[2];
    uint32_t stride[2];
    int32_t width, height;
  };
  std::array<Component, CJ2K_MAX_COMPONENTS> components;
  uint64_t frame_samples;
};

/// Depth and signedness of a plan's components, and the transforms that the plan uses.
struct PixelFormat {
  struct Component {
    int32_t depth;
    bool is_signed;
  };
  std::array<Component, CJ2K_MAX_COMPONENTS> components;
  uint32_t num_components;
  bool reversible, use_mct;
};

/// The samples of the frames of a launch, in device memory.
struct Samples {
  void* data;  ///< int32_t with 5/3, float with 9/7; 128-byte aligned
  uint64_t frame_samples;
  uint32_t num_frames;
};

// ---- Ingest, colour and wavelet transform ----

/// Where the stored words of one frame lie, in device memory.
using FrameViews = std::array<cj2k_component_view, CJ2K_MAX_COMPONENTS>;

/// One level of one tile-component.
struct alignas(16) DwtJob {
  /// Offsets of the rectangle's first sample in the frame, in samples. Level 1 uses no source.
  uint64_t source, target;
  uint32_t source_stride, target_stride;  ///< in samples; level 1 uses no source_stride
  int32_t width, height;                  ///< of the rectangle, >= 1
  int32_t x, y;                ///< level 1 only: position of the rectangle in the component
  uint8_t parity_x, parity_y;  ///< lowest bit of the coordinates of the first sample
  uint8_t segment_pairs;       ///< pairs of rows in a segment (dwt_segment_pairs)
  uint8_t component;
  uint32_t unused = 0;
};
/// The part of a job that one warp makes: a segment of rows in a strip of columns.
struct alignas(16) DwtPart {
  uint32_t job, strip, segment, unused = 0;
};
/// The jobs and parts of one level, for all tile-components, in device memory. The parts of
/// components with a colour transform come first.
struct DwtLists {
  const DwtJob* jobs;
  const DwtPart* parts;
  uint32_t num_parts, num_colour_parts;
};

/// Level 1 of one frame, from stored words of any layout: level shift (T.800 G.1), RCT, ICT or
/// int-to-float as the format says, then the transform of columns and of rows (pixels/dwt.h). Reads
/// only the words of the samples, and has read them when the launch has ended.
/// @param lists    level 1
/// @param frame    checked views
/// @param samples  samples of this frame: written
/// @return kOk | kDevice
Status dwt_first_level(simt::Stream& stream, const PixelFormat& format, const DwtLists& lists,
                       const FrameViews& frame, void* samples);

/// Planes of 16-bit words for the samples of one frame that are not coded as they are stored. Rows
/// are 16-byte aligned.
struct CodedWords {
  struct Component {
    uint64_t offset;  ///< in bytes
    uint32_t row_bytes;
    int32_t width, height;
  };
  std::array<Component, CJ2K_MAX_COMPONENTS> components;
  uint64_t bytes;  ///< 0: all samples are coded as they are stored
};

/// Rounds the samples of a frame to the depth of `coded` (round_sample of core/sample.h).
/// @param stored  the depths of the samples in the frame
/// @param words   [layout.bytes], 16-byte aligned: written, also up to 6 bytes behind a row's last
Status round_words(simt::Stream& stream, const PixelFormat& stored, const PixelFormat& coded,
                   const CodedWords& layout, const FrameViews& frame, uint8_t* words);

/// The tables of X'Y'Z' (core/xyz.h) in device memory, and the matrix.
struct DeviceXyz {
  const float* linear;
  const uint32_t* codes;
  const float* matrix;  ///< [9], in host memory
};

/// R'G'B' of a frame become X'Y'Z'.
/// @param stored  the depth of the samples in the frame
/// @param words   as for round_words
Status xyz_words(simt::Stream& stream, const PixelFormat& stored, const DeviceXyz& xyz,
                 const CodedWords& layout, const FrameViews& frame, uint8_t* words);

/// One level after the first, for all frames of the GOP.
Status dwt53(simt::Stream& stream, const DwtLists& lists, const Samples& samples);
Status dwt97(simt::Stream& stream, const DwtLists& lists, const Samples& samples);

/// For a plan without levels: does the level shift and colour transform of dwt_first_level and
/// writes the samples to plane 0.
Status ingest(simt::Stream& stream, const PixelFormat& format, const FrameLayout& layout,
              const FrameViews& frame, void* samples);

}  // namespace cj2k::cuda

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The layout of device memory: the tables of a plan, which all frames share, and the arrays of a
// GOP in flight. All sizes follow from the plan, so they are known before a device is opened.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cuda/carver.h"
#include "cuda/ebcot_memory.h"
#include "cuda/ht_layout.h"
#include "cuda/pixel_jobs.h"
#include "cuda/rate_tables.h"
#include "cuda/tier1_coder.h"
#include "kernels/ebcot/colour.h"
#include "kernels/pixels/pixels.h"
#include "pixels/xyz.h"
#include "plan/plan.h"

namespace cj2k::cuda {

/// Memory for the words of a frame during the upload. The rows are copied as the application has
/// them if they fit into `bytes`, else packed, with one word of 1 or 2 bytes per sample.
struct InputLayout {
  explicit InputLayout(const Plan& plan);
  /// Layout of a packed component, in bytes. Rows are 16-byte aligned.
  struct Component {
    uint64_t offset;
    uint32_t row_bytes;
    uint32_t word_bytes;
  };
  std::vector<Component> components;
  /// Bytes for a frame: a third more than all components packed, so that rows with four words per
  /// pixel fit, of which three are used.
  uint64_t bytes;
};

/// The tables of a plan, and where they lie in device memory.
struct PlanTables {
  /// Throws std::bad_alloc.
  explicit PlanTables(const Plan& plan);

  const Tier1Form form;
  InputLayout input;
  PixelFormat stored;  ///< of the samples in a frame
  PixelFormat format;  ///< of the coded samples
  CodedWords coded_words;
  std::optional<XyzTables> xyz;
  FrameLayout frame;
  std::vector<DwtLevel> levels;  ///< [level - 1]
  std::vector<QuantizeJob> quantize;
  std::vector<ColourJob> colour;   ///< [step set][plan.blocks] empty unless RDOQ couples colours
  uint64_t shifted_samples = 0;    ///< RdoqParams, where it does
  std::vector<Overlaps> overlaps;  ///< [plan.blocks] empty without RDOQ
  uint64_t frame_words = 0;        ///< 64-bit words of a frame's bit-planes
  uint32_t most_pieces = 1;        ///< most pieces of a block's bytes (BlockPiece)
  Tier1Layout tier1;               ///< empty with coder = ht
  HtLayout ht;                     ///< empty with coder = ebcot
  std::optional<RateTables> rate;  ///< where rate control runs on the device

  /// The same in device memory.
  struct OnDevice {
    struct Level {
      Span<DwtJob> jobs;
      Span<DwtPart> parts;
    };
    std::vector<Level> levels;
    Span<QuantizeJob> quantize;
    Span<ColourJob> colour;
    Span<Overlaps> overlaps;
    Span<Tier1Job> tier1;
    Span<uint16_t> ht_words;
    Span<HtPlanBlock> ht_blocks;
    Span<HtBand> ht_bands;
    Span<HtSlot> ht_slots;
    Span<uint8_t> rate;              ///< RateTables::store
    Span<uint32_t> ht_first_points;  ///< HtLayout::first_points, where `rate` is
    Span<float> xyz_linear;
    Span<uint32_t> xyz_codes;
  } on_device;
  uint64_t bytes = 0;  ///< of device memory
};

/// The device memory of one GOP. Frames from host memory lie where all but the first two arrays will
/// be: those are written when the last frame has been read.
///
///     | coded_words | samples |                   input                    |
///     | coded_words | samples | coded | gather | arrays of the block coder | rate |
///
/// After block coding the samples are not needed any more, unless errors are measured. Then the bytes of
/// blocks are packed or gathered, or tile-parts written, in their place.
struct GopMemory {
  GopMemory(const Plan& plan, const PlanTables& tables);

  Span<uint8_t> coded_words;  ///< of one frame: the frames of a GOP are read one after the other
  Span<int32_t> samples;      ///< coefficients; the room may be larger, for the bytes of one block
  Span<uint8_t> input;
  Span<uint8_t> coded;  ///< the bytes of blocks (BlockPiece)
  Span<GatherJob> gather;
  EbcotMemory ebcot;  ///< empty with coder = ht
  HtMemory ht;        ///< empty with coder = ebcot
  RateMemory rate;    ///< empty where rate control does not run on the device
  uint64_t bytes;     ///< size of the device memory
};

}  // namespace cj2k::cuda

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// How the samples of a frame get into the device memory of a GOP: staged in page-locked memory and
// uploaded, or read where they are, and made to coefficients of the first level of the transform
// (to samples where there is no level).
//
// Frames of a GOP are read as they come, one after the other on the GOP's stream, from two threads
// perhaps: `stage` needs no lock, `enqueue` and `wait` need one for each GOP, and the context.
#pragma once

#include <cstdint>
#include <vector>

#include "cj2k.h"
#include "cuda/gop_memory.h"
#include "kernels/pixels/pixels.h"
#include "kernels/simt/device.h"
#include "plan.h"

namespace cj2k::cuda {

/// Events of a GOP's frames being read.
struct FrameEvents {
  /// kOk | kDevice, kNoMemory. Throws std::bad_alloc.
  Status create(simt::Context& context, int num_frames);

  simt::Event ready, read;  ///< of frames in device memory: from their producer, for their owner
  struct Span {
    simt::Event begin, end;
  };
  std::vector<Span> reading;  ///< [frame] around upload and first level
};

/// Where frame `number` of a GOP goes.
struct FramePlace {
  uint32_t number;
  uint8_t* pinned;  ///< [tables.input.bytes]
  uint8_t* device;  ///< the same on the device
  int32_t* samples;
};

struct StagedFrame {
  FrameViews views;  ///< in device memory, once `bytes` of the place have been uploaded
  uint64_t bytes;
};

class FrameReader {
 public:
  /// Both must outlive it.
  FrameReader(const Plan& plan, const PlanTables& tables) : plan_(plan), tables_(tables) {}

  /// Copies samples in host memory to the place's page-locked memory; those in device memory stay
  /// where they are. Runs a loop over the arena's threads: not to be called with a lock held that
  /// one of them could want.
  StagedFrame stage(const cj2k_frame& frame, const FramePlace& to) const;
  /// Upload and first level. A frame in device memory is read when its producer's stream (its own
  /// ready_stream, or the parameters') has come to this point.
  /// @param lists  level 1, where there is one
  /// @return kOk | kDevice
  Status enqueue(const cj2k_frame& frame, const StagedFrame& staged, const FramePlace& to,
                 const DwtLists& lists, simt::Stream& stream, FrameEvents& events) const;
  /// Until a frame in device memory has been read: its owner may change it then.
  Status wait(const cj2k_frame& frame, simt::Stream& stream, FrameEvents& events) const;

 private:
  bool stage_rows(const cj2k_frame& frame, const FramePlace& to, StagedFrame* staged) const;
  void stage_packed(const cj2k_frame& frame, const FramePlace& to, StagedFrame* staged) const;

  const Plan& plan_;
  const PlanTables& tables_;
};

}  // namespace cj2k::cuda

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads a frame into the device memory of a GOP. A frame in host memory is staged in page-locked
// memory and uploaded, or uploaded from where it is, if that is page-locked and the frame has a
// `release`; a frame in device memory is read where it is. The first level of the
// transform turns its words into coefficients (without levels: `ingest` turns them into samples).
//
// The frames of a GOP are read as they arrive, one after the other on the GOP's stream, possibly
// from two threads. `stage` needs no lock. `enqueue` needs a lock per GOP, and the current context.
#pragma once

#include <cstdint>
#include <vector>

#include "cj2k.h"
#include "cuda/gop_memory.h"
#include "kernels/pixels/pixels.h"
#include "kernels/simt/device.h"
#include "plan/plan.h"

namespace cj2k::cuda {

/// Events for reading the frames of a GOP.
struct FrameEvents {
  /// kOk | kDevice, kNoMemory. Throws std::bad_alloc.
  Status create(simt::Context& context, int num_frames);

  /// ready: the producer has written a frame in device memory. read: the frame, which was not staged,
  /// and those before it have been read, and their owner may change them.
  simt::Event ready, read;
  struct Span {
    simt::Event begin, end;
  };
  std::vector<Span> reading;  ///< [frame] begin and end of upload and first level
};

/// The memory for frame `number` of a GOP.
struct FramePlace {
  uint32_t number;
  uint8_t* pinned;       ///< [tables.input.bytes]; unused unless the frame is staged
  uint8_t* device;       ///< [tables.input.bytes] on the device
  uint8_t* coded_words;  ///< [tables.coded_words.bytes] on the device
  int32_t* samples;      ///< samples of the frame on the device
  DeviceXyz xyz;         ///< with xyz only
};

struct StagedFrame {
  FrameViews views;  ///< in device memory; valid when the rows are uploaded
  simt::RowsUpload rows[CJ2K_MAX_COMPONENTS];
  uint32_t num_rows;  ///< entries of `rows`; 0 for a frame in device memory
};

/// Makes a stream wait until the work is done that a frame's producer has enqueued at this moment. That
/// is in frame.ready_stream or, if null, in the stream of the parameters.
Status wait_for_producer(const Plan& plan, const cj2k_frame& frame, simt::Stream& stream,
                         simt::Event& ready);

class FrameReader {
 public:
  /// The plan and the tables must outlive the reader.
  FrameReader(const Plan& plan, const PlanTables& tables) : plan_(plan), tables_(tables) {}

  /// Whether the frame is read where it is, after `stage` and `enqueue` have returned.
  bool is_read_in_place(const cj2k_frame& frame, simt::Context& context) const;
  /// Copies a frame to the page-locked memory of `to`, unless it is read in place. Runs parallel_for,
  /// so the caller must not hold a lock that a part of another loop could want.
  StagedFrame stage(const cj2k_frame& frame, bool in_place, const FramePlace& to) const;
  /// Enqueues the upload and the first level, and records events.read. A frame in device memory is
  /// read after wait_for_producer.
  /// @param lists  level 1; unused without levels
  /// @return kOk | kDevice
  Status enqueue(const cj2k_frame& frame, const StagedFrame& staged, const FramePlace& to,
                 const DwtLists& lists, simt::Stream& stream, FrameEvents& events) const;

 private:
  /// Components whose samples are interleaved are one piece. Rows are whole and apart.
  struct Piece {
    const uint8_t* begin;
    const uint8_t* end;  ///< of the first row
    ptrdiff_t stride;
    int32_t rows;
    uint64_t offset, row_bytes;  ///< in tables.input
  };
  struct Pieces {
    Piece of[CJ2K_MAX_COMPONENTS];
    size_t of_component[CJ2K_MAX_COMPONENTS];
    size_t count;
    uint64_t bytes;
  };
  Pieces pieces_of(const cj2k_frame& frame) const;
  void stage_rows(const cj2k_frame& frame, const Pieces& pieces, bool in_place,
                  const FramePlace& to, StagedFrame* staged) const;
  void stage_packed(const cj2k_frame& frame, const FramePlace& to, StagedFrame* staged) const;
  void skip_low_bits(StagedFrame* staged) const;
  FrameViews coded_views(const FramePlace& to) const;

  const Plan& plan_;
  const PlanTables& tables_;
};

}  // namespace cj2k::cuda

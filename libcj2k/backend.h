// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a backend must give: from the samples of a GOP's frames to coded blocks. Rate and packets
// follow on the host for all of them.
//
// A GOP is a number of frames that go through each stage together; each frame's result depends on
// that frame alone. Frames of a GOP are numbered from 0. Calls for one GopWork come one after the
// other, those for different ones may come at the same time; all inside the encoder's arena.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"
#include "core/slope_search.h"
#include "device_choice.h"
#include "plan.h"
#include "stages/coded_block.h"
#include "stages/coefficients.h"

namespace cj2k {

/// 16-bit log-slope per component at which coding of a block may stop.
using SlopeThresholds = std::array<uint16_t, CJ2K_MAX_COMPONENTS>;

/// Memory and results of one GOP in flight.
class GopWork {
 public:
  virtual ~GopWork() = default;
  /// [plan.blocks] of one frame, valid until the next GOP with the same GopWork. `data` is there
  /// after Backend::fetch.
  virtual const CodedBlock* blocks(uint32_t frame) const = 0;
};

/// Blocks of one frame to code.
struct BlockRequest {
  uint32_t frame;
  std::span<const uint32_t> blocks;
  SlopeThresholds thresholds;
};

/// Of every frame: blocks to code to the end, which predict where the others may stop
/// (stages/early_stop.h: exact).
struct SampledRequest {
  std::span<const uint32_t> sample;
  std::span<const uint32_t> weights;  ///< [sample] blocks that each stands for
  std::span<const uint32_t> rest;     ///< all others
  ByteTargets targets;                ///< RateControl::prediction_targets
};

/// What of a frame goes into its codestream.
struct FetchRequest {
  uint32_t frame;
  const uint8_t* points;  ///< [plan.blocks] hull points of each block, from the first on
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  /// kOk | kNoMemory, kDevice. Throws std::bad_alloc.
  virtual Status make_gop_work(std::unique_ptr<GopWork>* work) = 0;
  /// Planned host bytes of one GopWork.
  virtual int64_t gop_work_bytes() const = 0;
  /// Where errors go from now on; at first to the log that it was made with.
  virtual void set_log(const Log&) {}
  /// Adds what is known of the device to `info`.
  virtual void describe(cj2k_info*) const {}
  /// Whether frames may lie in the device's memory.
  virtual bool takes_device_frames() const { return false; }

  /// Reads the samples of a checked frame: ingest, colour, and the first level of the wavelet
  /// transform. The frame may be released afterwards.
  virtual Status ingest(const cj2k_frame& frame, GopWork& work, uint32_t number,
                        cj2k_stats& stats) = 0;
  /// The other levels. Forgets the coded blocks of the GOP before.
  /// @param frames  those that have been ingested, rising
  /// @param stats   [gop], times are added
  virtual Status transform(GopWork& work, std::span<const uint32_t> frames, cj2k_stats* stats) = 0;
  /// Quantisation and tier-1 of some blocks, by index. Each is coded until core/stop.h lets it
  /// pause below the threshold of its component (0: to the last plane), and not below the magnitude
  /// bit-plane `last_plane`; one that an earlier call left in the middle goes on where it stopped,
  /// by a plane at least. One of which no plane can reach the threshold is not begun.
  /// @param requests  of different frames
  virtual Status code_blocks(GopWork& work, std::span<const BlockRequest> requests,
                             uint32_t last_plane, cj2k_stats* stats) = 0;
  /// Whether the backend takes the decisions of the next two calls where it codes, with the results
  /// that stages/early_stop.h comes to on the host. Without, they are not called.
  virtual bool decides() const { return false; }
  /// Codes the sample to the end, the rest until below the thresholds of RateControl::predict.
  /// @param thresholds  [gop] of the frames, as predicted
  virtual Status code_sampled(GopWork&, std::span<const uint32_t> /*frames*/, const SampledRequest&,
                              SlopeThresholds* /*thresholds*/, cj2k_stats*) {
    return Status::kNotSupported;
  }
  /// Codes blocks plane by plane, until they stop by params.stop: psb or bpi.
  /// @param requests  as code_blocks', the thresholds aside
  /// @param targets   RateControl::caps
  virtual Status code_planes(GopWork&, std::span<const BlockRequest> /*requests*/,
                             const ByteTargets& /*targets*/, cj2k_stats*) {
    return Status::kNotSupported;
  }
  /// The coefficients of a frame, for params.measure_mse: valid until the next call for the same
  /// GopWork. To be called before `fetch`.
  virtual Status coefficients(GopWork& work, uint32_t frame, CoefficientPlanes* planes) = 0;
  /// Brings the bytes of the chosen points to the host.
  virtual Status fetch(GopWork& work, std::span<const FetchRequest> requests,
                       cj2k_stats* stats) = 0;
};

/// Throws std::bad_alloc. `plan` must outlive the backend. Call inside the arena that will run it.
std::unique_ptr<Backend> make_cpu_backend(const Plan& plan);

/// Planned host bytes of one GopWork of it.
int64_t cpu_gop_bytes(const Plan& plan);

/// Whether the library was built with the CUDA backend.
bool has_cuda_backend();
/// A backend for each device of the list (none named: device 0). Chooses gop and async_depth of the
/// plan's parameters where they are 0, by the number of code-blocks and the devices' free memory.
/// Throws std::bad_alloc. `plan` must outlive the backends.
/// @return kOk | kDevice: no driver, no device | kInvalid: not this one | kNotSupported: too old,
/// too many blocks, or built without CUDA | kNoMemory: what it takes and what there is
Status make_cuda_backends(Plan* plan, const DeviceList& devices, const Log& log,
                          std::vector<std::unique_ptr<Backend>>* backends);
/// The figures of cj2k_params_info; `plan` has gop and async_depth chosen.
void describe_cuda_backend(const Plan& plan, int num_devices, cj2k_info* info);

}  // namespace cj2k

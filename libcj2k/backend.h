// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// What a backend must give: from the samples of a GOP's frames to coded blocks. Rate and packets
// follow on the host for all of them.
//
// A GOP is a number of frames that go through each stage together; each frame's result depends on
// that frame alone. Frames of a GOP are numbered from 0. Calls for different GopWorks may come at
// the same time. Calls for one come one after the other, with one exception: `ingest` of different
// frames may come from two threads, the caller's and the GOP's. All come from inside the encoder's
// arena.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"
#include "device_choice.h"
#include "plan.h"
#include "stages/coded_block.h"
#include "stages/coefficients.h"
#include "stages/stop_rule.h"

namespace cj2k {

/// Memory and results of one GOP in flight.
class GopWork {
 public:
  virtual ~GopWork() = default;
  /// [plan.blocks] of one frame, valid until the next GOP with the same GopWork. `data` is there
  /// after Backend::fetch.
  virtual const CodedBlock* blocks(uint32_t frame) const = 0;
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
  /// Quantisation and block coding under a stop rule.
  /// @param requests  of different frames, all with the same rule
  /// @param sample    of the plan's blocks, for StopRule::kPredicted
  virtual Status code_blocks(GopWork& work, std::span<BlockRequest> requests,
                             const BlockSample& sample, cj2k_stats* stats) = 0;
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
/// A device, usable or not, for cj2k_device_describe.
/// @return kOk | kEof: behind the last, or no driver or no CUDA backend
Status describe_cuda_device(int index, cj2k_device_info* info);
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

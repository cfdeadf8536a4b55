// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The interface of a backend: the samples of a GOP's frames become coded blocks. Packets are made on
// the host for every backend; a backend may run rate control itself.
//
// A GOP is a number of frames that pass through each stage together. The result of a frame depends
// on that frame alone. The frames of a GOP are numbered from 0. Calls for different GopWorks may
// come at the same time. Calls for one GopWork come one after the other, with one exception:
// `ingest` of different frames may come from two threads, the caller's and the GOP's. All calls
// come from inside Threads::run.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"
#include "cj2k_film.h"
#include "coders/coded_block.h"
#include "depth/stop_rule.h"
#include "params/device_choice.h"
#include "pixels/coefficients.h"
#include "pixels/low_bits.h"
#include "plan/plan.h"

namespace cj2k {

/// The memory and the results of one GOP in flight.
class GopWork {
 public:
  virtual ~GopWork() = default;
  /// @return [plan.blocks] the blocks of one frame, valid until the next GOP with the same GopWork.
  ///         CodedBlock::data is set after Backend::fetch.
  virtual const CodedBlock* blocks(uint32_t frame) const = 0;
};

/// The part of a frame that goes into its codestream.
struct FetchRequest {
  uint32_t frame;
  const uint8_t* points;  ///< [plan.blocks] number of hull points, from the first on
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  /// kOk | kNoMemory, kDevice. Throws std::bad_alloc.
  virtual Status make_gop_work(std::unique_ptr<GopWork>* work) = 0;
  /// @return planned host bytes of one GopWork
  virtual int64_t gop_work_bytes() const = 0;
  /// Sets the log for errors from now on. Before, it is the log that the backend was made with.
  virtual void set_log(const Log&) {}
  /// Fills in the members of `info` that describe the device.
  virtual void describe(cj2k_info*) const {}
  /// Whether frames may lie in the device's memory.
  virtual bool takes_device_frames() const { return false; }
  /// Looks at a checked frame in the device's memory for low bits (pixels/low_bits.h), and waits. For plans
  /// that refuse them. Call it from one thread at a time.
  virtual Status find_low_bits(const cj2k_frame&, LowBitsSample*, bool*) {
    return Status::kNotSupported;
  }

  /// Reads the samples of a checked frame: ingest, colour transform, and the first level of the
  /// wavelet transform. After the call the frame may be released, unless reads_later says no.
  virtual Status ingest(const cj2k_frame& frame, GopWork& work, uint32_t number,
                        cj2k_stats& stats) = 0;
  /// Whether this frame may still be in use after `ingest`, until frames_read.
  virtual bool reads_later(const cj2k_frame&) const { return false; }
  /// Whether frames that are read later are in use until their blocks are coded. Then frames_read
  /// does not wait for that.
  virtual bool reads_until_coded() const { return false; }
  /// Waits until all frames that were ingested have been read. It may come from outside
  /// of Threads::run, and at the same time as `ingest`.
  virtual Status frames_read(GopWork&) { return Status::kOk; }
  /// The other wavelet levels. Drops the coded blocks of the GOP before.
  /// @param frames  numbers of the ingested frames, rising
  /// @param stats   [gop]; times are added
  virtual Status transform(GopWork& work, std::span<const uint32_t> frames, cj2k_stats* stats) = 0;
  /// Quantisation and block coding under a stop rule. A backend may also run rate control, and code
  /// the blocks that resume, of any frames whose request has limits. It then sets BlockOutcome::result
  /// instead of GopWork::blocks, and `fetch` is not called for them. If blocks would go on after
  /// that, it leaves the frame to the host: with the blocks as they are coded, and the thresholds
  /// that they were last coded to.
  /// @param requests  one per frame at most, all with the same rule
  /// @param sample    the sample of the plan's blocks, for StopRule::kPredicted
  virtual Status code_blocks(GopWork& work, std::span<BlockRequest> requests,
                             const BlockSample& sample, cj2k_stats* stats) = 0;
  /// Makes the curve of a transformed frame, for curves = only (film/analysis.h). It takes the place
  /// of code_blocks. Never called on a device.
  virtual Status analyse(GopWork&, uint32_t, const RateLimits&, cj2k_curve*) {
    return Status::kNotSupported;
  }
  /// Gives the coefficients of a frame, if keeps_coefficients. They are valid until the next call
  /// for the same GopWork. Call it before `fetch`.
  virtual Status coefficients(GopWork& work, uint32_t frame, CoefficientPlanes* planes) = 0;
  /// Makes the bytes of the chosen hull points available on the host, in CodedBlock::data.
  virtual Status fetch(GopWork& work, std::span<const FetchRequest> requests,
                       cj2k_stats* stats) = 0;
};

/// Throws std::bad_alloc. `plan` must outlive the backend. Call inside Threads::run.
std::unique_ptr<Backend> make_cpu_backend(const Plan& plan);

/// @return planned host bytes of one GopWork of the CPU backend
int64_t cpu_gop_bytes(const Plan& plan, size_t workers);

/// Whether the library was built with the CUDA backend.
bool has_cuda_backend();
/// Describes a device, usable or not, for cj2k_device_describe.
/// @return kOk | kEof: `index` is beyond the last device, or there is no driver or no CUDA backend
Status describe_cuda_device(int index, cj2k_device_info* info);
/// Makes a backend for each device of the list; for device 0 if the list names none. If gop or
/// async_depth of the plan's parameters is 0, chooses it by the number of code-blocks and the free
/// memory of the devices. Throws std::bad_alloc. `plan` must outlive the backends.
/// @return kOk
///         kDevice: there is no driver or no device
///         kInvalid: a device of the list does not exist
///         kNotSupported: the device is too old, too many blocks, or no CUDA in this build
///         kNoMemory: the device's memory is too small; the log has what is needed and what is free
Status make_cuda_backends(Plan* plan, const DeviceList& devices, const Log& log,
                          std::vector<std::unique_ptr<Backend>>* backends);
/// Fills in the figures of cj2k_params_info. In `plan`, gop and async_depth must be chosen.
void describe_cuda_backend(const Plan& plan, int num_devices, cj2k_info* info);

}  // namespace cj2k

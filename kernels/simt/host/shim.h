// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The shim as a test sees it: a GPU that is not there. Kernels run on the host as fibers, device
// memory is host memory behind checked accesses, the driver's functions (kernels/simt/driver.h) have
// stand-ins. What a seed decides: the order of lanes, warps and blocks, how far streams run ahead
// of each other, when work that was only enqueued is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/simt/types.h"

namespace cj2k::simt::shim {

struct Options {
  uint64_t seed = 1;
  /// Watch every gload, gstore, sload, sstore and atomic for races; without it a kernel that loads
  /// much is some times faster. Bounds are always checked.
  bool check_races = true;

  bool has_driver = true;
  int num_devices = 1;
  int compute_major = 9, compute_minor = 0;
  size_t device_bytes = size_t{4} << 30;
  int num_multiprocessors = 4;  ///< how far the fused form of tier-1 spreads its work
};

/// A new machine: default state, no faults, calls counted from 0. Nothing of the old one may be in
/// use; memory that was not freed is reported (Bug::kLeak).
void reset(const Options& options = {});

// What a kernel or a caller did wrong.
enum class Bug {
  kOutOfBounds,        ///< access, copy or fill outside of any buffer of the device; use after free
  kMisaligned,         ///< address not a multiple of the access's size
  kReadOnlyWritten,    ///< gload_ro of what was written in the same launch, or the other way round
  kGlobalRace,         ///< two blocks, one writes, not both atomic
  kSharedRace,         ///< two threads of a block, one writes, no barrier between, not both atomic
  kBarrierDivergence,  ///< threads of a block at different barriers, or one has ended
  kWarpDivergence,     ///< lanes of the mask at different collectives, or one has ended
  kDeadlock,           ///< every thread waits, or spins for ever
  kCanary,             ///< bytes behind a buffer or behind the shared memory were changed
  kApiMisuse,          ///< a call that the driver would refuse or could not survive
  kLeak,
};
const char* bug_name(Bug bug);

struct Violation {
  Bug bug;
  std::string text;  ///< one line: bug, kernel, block, thread, file:line, values
};

/// Gets every violation, in the thread that runs the work. The default prints it and ends the
/// process: no bug passes unseen. Out of bounds, divergence and deadlock end the launch and poison
/// the context, the others let it go on (reported once per launch).
using ViolationHandler = std::function<void(const Violation&)>;
void set_violation_handler(ViolationHandler handler);

/// Collects violations while it lives: for tests that plant bugs.
class Recorder {
 public:
  Recorder();
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  const std::vector<Violation>& all() const { return violations_; }
  bool caught(Bug bug) const;
  std::string text() const;

 private:
  std::vector<Violation> violations_;
  ViolationHandler outer_;
};

/// The canaries of all buffers, now; every free checks its own.
void check_canaries();

// Faults. Every call of the driver's interface is counted, whichever it is, at one place.
enum class Fault {
  kNone,
  kOutOfMemory,   ///< the call answers "out of memory" and does nothing
  kRefused,       ///< the call answers an error that is not sticky ("launch out of resources")
  kLaunchFailed,  ///< "launch failed", sticky: so does every later call
  kDeviceLost,    ///< "unknown error", sticky
  kAsyncFailure,  ///< the call succeeds; the next one that waits or asks answers "launch failed",
                  ///< sticky
};
/// The `nth` call from now on (1 = the next) fails.
void inject(Fault fault, uint64_t nth);
/// Whether the fault has been met.
bool fault_hit();
/// Calls since reset.
uint64_t num_calls();
/// Of them, those that make something: memory of the device or page-locked, streams, events,
/// modules.
uint64_t num_allocations();
/// Primary contexts that were made: retained while nobody held them. Of all machines, not since
/// reset.
uint64_t num_primary_contexts_made();
/// Kernels launched on one device, and page-locked bytes allocated now.
uint64_t num_launches(int device);
size_t pinned_bytes_in_use();
/// Whether the calling thread is inside such a call: what it allocates then is the shim's own.
bool in_driver();
/// The name of the call that met the fault, e.g. "cuMemAlloc_v2".
std::string faulty_call();

/// A CUcontext that an application has made on a device; there until reset.
void* application_context(int device = 0);

// Figures of the engine.
struct Stats {
  uint64_t launches = 0, blocks = 0, threads = 0;
  uint64_t switches = 0;  ///< from one thread to another that was suspended or not started
};
Stats stats();
/// Bytes of device memory allocated now, all devices.
size_t device_bytes_in_use();

}  // namespace cj2k::simt::shim

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The test interface of the shim, which simulates a GPU on the host. Kernels run as fibers, device
// memory is host memory behind checked accesses, and the functions of the driver
// (kernels/simt/driver.h) have stand-ins. A seed decides the order of lanes, warps and blocks, how
// far streams run ahead of each other, and when enqueued work runs.
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
  /// Checks every gload, gstore, sload, sstore and atomic for races. Without it kernels with many
  /// loads run several times faster. Bounds are always checked.
  bool check_races = true;

  bool has_driver = true;
  int num_devices = 1;
  int compute_major = 9, compute_minor = 0;
  size_t device_bytes = size_t{4} << 30;
  int num_multiprocessors = 4;  ///< the fused form of tier-1 spreads its work over these
};

/// Starts a new machine: default state, no faults, call counters at 0. Nothing of the old machine
/// may be in use; memory that was not freed is reported (Bug::kLeak).
void reset(const Options& options = {});

/// What a kernel or a caller did wrong.
enum class Bug {
  kOutOfBounds,        ///< access, copy or fill outside of any buffer of the device; use after free
  kMisaligned,         ///< address not a multiple of the access's size
  kReadOnlyWritten,    ///< gload_ro and a write of the same memory in one launch
  kGlobalRace,         ///< two blocks access a word, at least one writes, not both atomic
  kSharedRace,         ///< the same for two threads of a block with no barrier between
  kBarrierDivergence,  ///< threads of a block at different barriers, or one has ended
  kWarpDivergence,     ///< lanes of the mask at different collectives, or one has ended
  kDeadlock,           ///< every thread waits, or spins forever
  kCanary,             ///< bytes after a buffer or after the shared memory were changed
  kApiMisuse,          ///< a call that the driver would refuse, or that would crash it
  kLeak,               ///< a resource was not released
};
const char* bug_name(Bug bug);

struct Violation {
  Bug bug;
  std::string text;  ///< one line: bug, kernel, block, thread, file:line, values
};

/// Called with every violation, in the thread that runs the work. The default prints it and ends
/// the process, so that no bug goes unnoticed. Out of bounds, misaligned accesses, divergence and
/// deadlock end the launch and poison the context. After the others, which are reported once per
/// launch, it goes on.
using ViolationHandler = std::function<void(const Violation&)>;
void set_violation_handler(ViolationHandler handler);

/// Collects the violations during its lifetime: for tests that provoke them.
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

/// Checks the canaries of all buffers now. Freeing a buffer checks its own.
void check_canaries();

// Faults. Every call of a driver function is counted, all in one counter.
enum class Fault {
  kNone,
  kOutOfMemory,   ///< the call returns "out of memory" and does nothing
  kRefused,       ///< the call returns an error that is not sticky ("launch out of resources")
  kLaunchFailed,  ///< the call and every later one return "launch failed" (sticky)
  kDeviceLost,    ///< the call returns "unknown error", sticky in all contexts
  kAsyncFailure,  ///< the call succeeds; the next that waits or queries fails as kLaunchFailed
  kHang,          ///< the next launch succeeds, and its kernel never ends
};
/// Makes the `nth` call from now on (1 = the next) fail.
void inject(Fault fault, uint64_t nth);
/// Whether the injected fault has occurred.
bool fault_hit();
/// Number of calls since reset.
uint64_t num_calls();
/// Number of those calls that create something: device or page-locked memory, streams, events,
/// modules.
uint64_t num_allocations();
/// Number of primary contexts that were created, which means: retained while no caller held them.
/// Counts over all machines; reset does not clear it.
uint64_t num_primary_contexts_made();
/// Number of kernels launched on a device since reset.
uint64_t num_launches(int device);
/// What the host has asked of the driver since reset, on all devices.
struct HostCalls {
  /// Calls that return only when earlier work is done: release of memory, copies from or to host
  /// memory that is not page-locked; and first queries of what an event or a stream was last given.
  uint64_t waits = 0;
  uint64_t launches = 0;
  uint64_t fills = 0;
  uint64_t uploads = 0, upload_bytes = 0;
  uint64_t downloads = 0, download_bytes = 0;
};
HostCalls host_calls();
/// Page-locked bytes that are allocated now.
size_t pinned_bytes_in_use();
/// Whether the calling thread is inside a driver call: its allocations then belong to the shim.
bool in_driver();
/// The name of the call in which the fault occurred, e.g. "cuMemAlloc_v2".
std::string faulty_call();

/// Creates a CUcontext as an application would, on a device. It lives until reset.
void* application_context(int device = 0);

/// Counters of the engine.
struct Stats {
  uint64_t launches = 0, blocks = 0, threads = 0;
  uint64_t switches = 0;  ///< switches of the fiber, to a thread that was suspended or not started
};
Stats stats();
/// Bytes of device memory that are allocated now, on all devices.
size_t device_bytes_in_use();

}  // namespace cj2k::simt::shim

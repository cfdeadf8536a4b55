// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The simulated machine: contexts, streams with their queued work, events, faults. Queued work runs
// when a call waits for it, and a little of it at random times. The seed chooses among the streams
// whose first entry can run. One lock lets one thread in at a time.
#pragma once

#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "kernels/simt/driver.h"
#include "kernels/simt/host/internal.h"
#include "kernels/simt/host/memory.h"
#include "kernels/simt/host/thread.h"

namespace cj2k::simt::shim {

using SteadyClock = std::chrono::steady_clock;

struct FakeContext;

struct FakeEvent {
  FakeContext* context = nullptr;
  bool timing = false;
  uint64_t recorded = 0;  ///< number of records that were enqueued
  /// Those that have not run. Records in different streams run in any order.
  std::set<uint64_t> pending;
  bool passed(uint64_t record) const { return !pending.contains(record); }
  uint64_t asked = 0;  ///< the last record that a caller waited for
  SteadyClock::time_point when;
};

struct Entry {
  std::function<int()> work;         ///< null: the entry waits for an event
  std::shared_ptr<FakeEvent> event;  ///< the event that it waits for
  uint64_t record = 0;               ///< number of the event's record that it waits for
};

struct FakeStream {
  FakeContext* context = nullptr;
  std::deque<Entry> entries;
  bool destroyed = false;
  bool asked = false;  ///< a caller has waited since the last entry
};

struct FakeFunction {
  const HostKernel* kernel = nullptr;
  int max_dynamic_smem = 0;
  int carveout = -1;  ///< -1: not set
};

struct FakeContext {
  int device = 0;
  int retained = 0;  ///< how often it is retained; always 0 for an application's context
  bool alive = true;
  int error = cu::kSuccess;          ///< sticky error
  int pending_error = cu::kSuccess;  ///< becomes sticky at the next call that waits or queries
  bool hangs = false;                ///< a kernel does not end (Fault::kHang)
  FakeStream default_stream;
  std::vector<std::unique_ptr<FakeStream>> streams;
  std::map<void*, std::shared_ptr<FakeEvent>> events;
  std::set<void*> modules;
  std::map<const void*, std::unique_ptr<FakeFunction>> functions;
};

struct HostAllocation {
  size_t bytes;
  FakeContext* context;
};
inline constexpr size_t kHostCanaryBytes = 64;
inline constexpr uint8_t kHostCanary = 0xE9, kHostPoison = 0xC5;

struct State {
  Options options;
  Random random;
  uint64_t calls = 0;
  uint64_t allocations = 0;
  uint64_t primary_contexts_made = 0;  ///< reset() does not clear it
  std::map<int, uint64_t> launches;    ///< number of launches by device
  HostCalls host_calls;
  Fault fault = Fault::kNone;
  uint64_t fault_call = 0;
  bool fault_hit = false;
  bool hangs_next = false;  ///< the next launch does not end
  std::string faulty_call;
  std::vector<std::unique_ptr<FakeContext>> contexts;  ///< first the primary one of each device
  std::map<void*, HostAllocation> host;
};

extern std::recursive_mutex g_mutex;
State& state();
/// Holds the lock during a driver call.
class InDriver {
 public:
  InDriver();
  ~InDriver();
  InDriver(const InDriver&) = delete;
  InDriver& operator=(const InDriver&) = delete;
};
/// The contexts that the calling thread has pushed.
extern thread_local std::vector<FakeContext*> t_current;
inline FakeContext* current() { return t_current.empty() ? nullptr : t_current.back(); }

void ensure_devices();
/// What a call needs: nothing; a current context; a current context, where the call also reports
/// errors of earlier work.
enum Needs { kNothing, kContext, kWaits };
/// Every call begins here: counts the call, injects the fault, returns the error of a broken
/// context.
int enter(const char* call, Needs needs);

#define CJ2K_ENTER(call, needs) \
  const InDriver in;            \
  if (const int error = enter(call, needs); error != cu::kSuccess) return error

/// Runs the first entry of a random stream.
/// @return false: no entry can run
bool run_one(FakeContext& context);
bool idle(const FakeContext& context);
/// Runs some entries, as long as done() is false, so that a loop of queries ends.
void run_some(FakeContext& context, const std::function<bool()>& done);
/// Runs entries until done() is true.
/// @return the error of the context
int run_until(FakeContext& context, const std::function<bool()>& done);

// The object of a handle; null, and a report, if there is none.
FakeStream* find_stream(const char* call, void* handle);
std::shared_ptr<FakeEvent> find_event(const char* call, void* handle);

int enqueue(const char* call, void* handle, std::function<int()> work);
/// The host address of the range [address, address + bytes) of a device; null, and a report, if the
/// range is not inside one buffer.
uint8_t* bytes_at(const char* what, CuDeviceAddress address, size_t bytes, int owner);
/// Whether the range lies in page-locked memory.
bool is_page_locked(const void* p, size_t bytes);
void check_host_canary(const void* p, size_t bytes);

}  // namespace cj2k::simt::shim

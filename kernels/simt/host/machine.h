// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The machine that is not there: contexts, streams with the work queued in them, events, faults.
// Work is done when somebody waits, or a little of it at random: among the streams whose first
// entry may run, the seed chooses. One lock, one thread at a time.
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
  uint64_t recorded = 0, passed = 0;  ///< numbers of records: enqueued, and run
  SteadyClock::time_point when;
};

struct Entry {
  std::function<int()> work;         ///< null: a wait
  std::shared_ptr<FakeEvent> event;  ///< waited for
  uint64_t record = 0;
};

struct FakeStream {
  FakeContext* context = nullptr;
  std::deque<Entry> entries;
  bool destroyed = false;
};

struct FakeFunction {
  const HostKernel* kernel = nullptr;
  int max_dynamic_smem = 0;
};

struct FakeContext {
  int device = 0;
  int retained = 0;  ///< 0: an application's
  bool alive = true;
  int error = cu::kSuccess;          ///< sticky
  int pending_error = cu::kSuccess;  ///< becomes sticky at the next call that waits or asks
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
  uint64_t primary_contexts_made = 0;  ///< not reset
  std::map<int, uint64_t> launches;    ///< by device
  Fault fault = Fault::kNone;
  uint64_t fault_call = 0;
  bool fault_hit = false;
  std::string faulty_call;
  std::vector<std::unique_ptr<FakeContext>> contexts;  ///< the primary ones first, one per device
  std::map<void*, HostAllocation> host;
};

extern std::recursive_mutex g_mutex;
State& state();
/// The lock, while a call of the driver runs.
class InDriver {
 public:
  InDriver();
  ~InDriver();
  InDriver(const InDriver&) = delete;
  InDriver& operator=(const InDriver&) = delete;
};
/// Contexts that the calling thread has pushed.
extern thread_local std::vector<FakeContext*> t_current;
inline FakeContext* current() { return t_current.empty() ? nullptr : t_current.back(); }

void ensure_devices();
/// Of a call: a current context; one that answers for work done before.
enum Needs { kNothing, kContext, kWaits };
/// The one place that every call passes: counts, injects, refuses what a broken context refuses.
int enter(const char* call, Needs needs);

#define CJ2K_ENTER(call, needs) \
  const InDriver in;            \
  if (const int error = enter(call, needs); error != cu::kSuccess) return error

/// Runs one entry of a random stream; false: none can run.
bool run_one(FakeContext& context);
bool idle(const FakeContext& context);
/// Runs until done(); the context's error.
int run_until(FakeContext& context, const std::function<bool()>& done);

// By handle, or null after reporting the misuse.
FakeStream* find_stream(const char* call, void* handle);
std::shared_ptr<FakeEvent> find_event(const char* call, void* handle);

int enqueue(const char* call, void* handle, std::function<int()> work);
/// The bytes of [address, address + bytes) on a device, or null after reporting the violation.
uint8_t* bytes_at(const char* what, CuDeviceAddress address, size_t bytes, int owner);
void check_host_canary(const void* p, size_t bytes);

}  // namespace cj2k::simt::shim

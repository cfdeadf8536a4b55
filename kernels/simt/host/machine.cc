// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/simt/host/machine.h"

#include <algorithm>
#include <cstdlib>

namespace cj2k::simt::shim {
namespace {

thread_local int t_calls_deep = 0;
/// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD: here both mean the same as the null handle.
constexpr uintptr_t kStreamLegacy = 1, kStreamPerThread = 2;

bool runnable(const FakeStream& stream) {
  if (stream.entries.empty()) return false;
  const Entry& first = stream.entries.front();
  return first.work != nullptr || first.event->passed(first.record);
}

}  // namespace

std::recursive_mutex g_mutex;
thread_local std::vector<FakeContext*> t_current;

InDriver::InDriver() {
  g_mutex.lock();
  ++t_calls_deep;
}
InDriver::~InDriver() {
  --t_calls_deep;
  g_mutex.unlock();
}

State& state() {
  static State* s = new State;
  return *s;
}

void ensure_devices() {
  State& s = state();
  while (s.contexts.size() < static_cast<size_t>(s.options.num_devices)) {
    s.contexts.push_back(std::make_unique<FakeContext>());
    s.contexts.back()->device = static_cast<int>(s.contexts.size()) - 1;
  }
}

int enter(const char* call, Needs needs) {
  State& s = state();
  ++s.calls;
  FakeContext* context = current();
  if (s.fault != Fault::kNone && s.calls == s.fault_call) {
    const Fault fault = std::exchange(s.fault, Fault::kNone);
    s.fault_hit = true;
    s.faulty_call = call;
    switch (fault) {
      case Fault::kOutOfMemory:
        return cu::kErrorOutOfMemory;
      case Fault::kRefused:
        return cu::kErrorLaunchOutOfResources;
      case Fault::kLaunchFailed:
        if (context != nullptr) context->error = cu::kErrorLaunchFailed;
        return cu::kErrorLaunchFailed;
      case Fault::kDeviceLost:
        for (const auto& c : s.contexts) c->error = cu::kErrorUnknown;
        return cu::kErrorUnknown;
      case Fault::kAsyncFailure:
        if (context != nullptr) context->pending_error = cu::kErrorLaunchFailed;
        break;
      case Fault::kHang:
        s.hangs_next = true;
        break;
      case Fault::kNone:
        break;
    }
  }
  if (needs == kNothing) return cu::kSuccess;
  if (context == nullptr) {
    report(Bug::kApiMisuse, "%s without a current context", call);
    return cu::kErrorInvalidContext;
  }
  if (needs == kWaits && context->pending_error != cu::kSuccess) {
    context->error = std::exchange(context->pending_error, cu::kSuccess);
  }
  return context->error;
}

bool run_one(FakeContext& context) {
  std::vector<FakeStream*> candidates;
  if (runnable(context.default_stream)) candidates.push_back(&context.default_stream);
  for (const auto& stream : context.streams) {
    if (runnable(*stream)) candidates.push_back(stream.get());
  }
  if (candidates.empty()) return false;
  FakeStream& stream = *candidates[state().random.below(static_cast<uint32_t>(candidates.size()))];
  const Entry entry = std::move(stream.entries.front());
  stream.entries.pop_front();
  if (entry.work != nullptr && context.error == cu::kSuccess) {
    if (const int error = entry.work(); error != cu::kSuccess) context.error = error;
  }
  if (stream.destroyed && stream.entries.empty()) {
    std::erase_if(context.streams, [&](const auto& s) { return s.get() == &stream; });
  }
  return true;
}

bool idle(const FakeContext& context) {
  return context.default_stream.entries.empty() &&
         std::all_of(context.streams.begin(), context.streams.end(),
                     [](const auto& s) { return s->entries.empty(); });
}

FakeStream* find_stream(const char* call, void* handle) {
  FakeContext& context = *current();
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number == 0 || number == kStreamLegacy || number == kStreamPerThread)
    return &context.default_stream;
  for (const auto& stream : context.streams) {
    if (stream.get() == handle && !stream->destroyed) return stream.get();
  }
  report(Bug::kApiMisuse, "%s: the handle is not a stream of the current context", call);
  return nullptr;
}

std::shared_ptr<FakeEvent> find_event(const char* call, void* handle) {
  for (const auto& context : state().contexts) {
    const auto found = context->events.find(handle);
    if (found != context->events.end()) return found->second;
  }
  report(Bug::kApiMisuse, "%s: the handle is not an event", call);
  return nullptr;
}

int enqueue(const char* call, void* handle, std::function<int()> work) {
  FakeStream* stream = find_stream(call, handle);
  if (stream == nullptr) return cu::kErrorInvalidHandle;
  if (state().hangs_next && std::strcmp(call, "cuLaunchKernel") == 0) {
    // The stream waits for an event that is never recorded.
    state().hangs_next = false;
    current()->hangs = true;
    auto never = std::make_shared<FakeEvent>();
    never->pending = {1};
    stream->entries.push_back({nullptr, never, 1});
  }
  stream->asked = false;
  stream->entries.push_back({std::move(work), nullptr, 0});
  // A device starts work before anybody waits for it.
  FakeContext& context = *current();
  Random& random = state().random;
  if (random.below(4) == 0) {
    for (uint32_t n = 1 + random.below(3); n > 0 && run_one(context);) --n;
  }
  return cu::kSuccess;
}

uint8_t* bytes_at(const char* what, CuDeviceAddress address, size_t bytes, int owner) {
  uint8_t* p = DeviceMemory::instance().access(address, bytes, owner);
  if (p == nullptr) {
    report(Bug::kOutOfBounds, "%s of %zu bytes at 0x%llx: %s", what, bytes, address,
           DeviceMemory::instance().describe(address));
  }
  return p;
}

/// Runs an entry of the context, or of another device's, for whose event it may wait.
/// @return false, and the context has an error: there is none, and there never will be
bool run_any(FakeContext& context) {
  bool ran = run_one(context);
  for (const auto& other : state().contexts) ran = ran || run_one(*other);
  if (ran) return true;
  if (context.hangs) return false;
  report(Bug::kApiMisuse, "waiting for work that can never run: streams wait for each other");
  context.error = cu::kErrorLaunchFailed;
  return false;
}

void run_some(FakeContext& context, const std::function<bool()>& done) {
  constexpr int kEntries = 16;
  for (int i = 0; i < kEntries && !done() && run_any(context);) ++i;
}

int run_until(FakeContext& context, const std::function<bool()>& done) {
  while (!done()) {
    if (run_any(context)) continue;
    if (context.hangs) report(Bug::kApiMisuse, "a call that never returns: a kernel does not end");
    return context.error = cu::kErrorLaunchFailed;
  }
  return context.error;
}

bool is_page_locked(const void* p, size_t bytes) {
  const auto& host = state().host;
  const auto* address = static_cast<const uint8_t*>(p);
  auto found = host.upper_bound(const_cast<void*>(p));
  if (found == host.begin()) return false;
  --found;
  const auto* end = static_cast<const uint8_t*>(found->first) + found->second.bytes;
  return address + bytes <= end;
}

void check_host_canary(const void* p, size_t bytes) {
  const uint8_t* canary = static_cast<const uint8_t*>(p) + bytes;
  if (std::all_of(canary, canary + kHostCanaryBytes, [](uint8_t b) { return b == kHostCanary; }))
    return;
  report(Bug::kCanary, "bytes after a pinned buffer of %zu bytes were changed", bytes);
}

// The functions of shim.h.

void reset(const Options& options) {
  const std::lock_guard lock(g_mutex);
  State& s = state();
  DeviceMemory& memory = DeviceMemory::instance();
  size_t device_buffers = 0;
  for (const auto& context : s.contexts) {
    if (context->hangs) {
      (void)memory.free_all(context->device);
      continue;  // nothing of it can be released
    }
    if (context->retained != 0) report(Bug::kLeak, "a context is still retained");
    const auto streams = std::count_if(context->streams.begin(), context->streams.end(),
                                       [](const auto& stream) { return !stream->destroyed; });
    if (streams != 0) report(Bug::kLeak, "%td streams were not destroyed", streams);
    if (!context->events.empty())
      report(Bug::kLeak, "%zu events were not destroyed", context->events.size());
    if (!context->modules.empty())
      report(Bug::kLeak, "%zu modules were not unloaded", context->modules.size());
    if (context->error != cu::kSuccess) {
      (void)memory.free_all(context->device);  // a broken context takes its buffers with it
    } else {
      device_buffers += memory.free_all(context->device);
    }
  }
  if (device_buffers != 0) report(Bug::kLeak, "%zu device buffers were not freed", device_buffers);
  const auto pinned = std::count_if(s.host.begin(), s.host.end(),
                                    [](const auto& host) { return !host.second.context->hangs; });
  if (pinned != 0) report(Bug::kLeak, "%td pinned buffers were not freed", pinned);
  for (const auto& [p, allocation] : s.host) std::free(p);
  s.host.clear();
  s.contexts.clear();
  t_current.clear();
  s.options = options;
  s.random.seed(options.seed);
  s.calls = s.allocations = 0;
  s.launches.clear();
  s.host_calls = {};
  s.fault = Fault::kNone;
  s.fault_hit = s.hangs_next = false;
  s.faulty_call.clear();
  engine_stats() = {};
}

void inject(Fault fault, uint64_t nth) {
  const std::lock_guard lock(g_mutex);
  State& s = state();
  s.fault = fault;
  s.fault_call = s.calls + nth;
  s.fault_hit = false;
  s.faulty_call.clear();
}

bool fault_hit() {
  const std::lock_guard lock(g_mutex);
  return state().fault_hit;
}

uint64_t num_calls() {
  const std::lock_guard lock(g_mutex);
  return state().calls;
}

uint64_t num_allocations() {
  const std::lock_guard lock(g_mutex);
  return state().allocations;
}

HostCalls host_calls() {
  const std::lock_guard lock(g_mutex);
  return state().host_calls;
}

uint64_t num_primary_contexts_made() {
  const std::lock_guard lock(g_mutex);
  return state().primary_contexts_made;
}

uint64_t num_launches(int device) {
  const std::lock_guard lock(g_mutex);
  const auto found = state().launches.find(device);
  return found != state().launches.end() ? found->second : 0;
}

size_t pinned_bytes_in_use() {
  const std::lock_guard lock(g_mutex);
  size_t bytes = 0;
  for (const auto& [p, allocation] : state().host) bytes += allocation.bytes;
  return bytes;
}

bool in_driver() { return t_calls_deep > 0; }

void* application_context(int device) {
  const std::lock_guard lock(g_mutex);
  ensure_devices();
  state().contexts.push_back(std::make_unique<FakeContext>());
  FakeContext* context = state().contexts.back().get();
  context->device = device;
  return context;
}

std::string faulty_call() {
  const std::lock_guard lock(g_mutex);
  return state().faulty_call;
}

Stats stats() {
  const std::lock_guard lock(g_mutex);
  return engine_stats();
}

size_t device_bytes_in_use() {
  const std::lock_guard lock(g_mutex);
  return DeviceMemory::instance().bytes_in_use();
}

void check_canaries() {
  const std::lock_guard lock(g_mutex);
  DeviceMemory::instance().check_canaries();
  for (const auto& [p, allocation] : state().host) check_host_canary(p, allocation.bytes);
}

}  // namespace cj2k::simt::shim

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Stand-ins for the functions of the driver (kernels/simt/driver.h), built on machine.h.
#include "kernels/simt/driver.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/simt/host/machine.h"

namespace cj2k::simt::shim {
namespace {

int init(unsigned) {
  CJ2K_ENTER("cuInit", kNothing);
  return state().options.num_devices > 0 ? cu::kSuccess : cu::kErrorNoDevice;
}
int driver_version(int* version) {
  CJ2K_ENTER("cuDriverGetVersion", kNothing);
  *version = 13000;
  return cu::kSuccess;
}
const char* error_text(int error) {
  switch (error) {
    case cu::kSuccess:
      return "no error";
    case cu::kErrorInvalidValue:
      return "invalid argument";
    case cu::kErrorOutOfMemory:
      return "out of memory";
    case cu::kErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cu::kErrorInvalidContext:
      return "invalid device context";
    case cu::kErrorInvalidHandle:
      return "invalid resource handle";
    case cu::kErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cu::kErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    case cu::kErrorLaunchFailed:
      return "unspecified launch failure";
    case cu::kErrorUnknown:
      return "unknown error";
    default:
      return nullptr;
  }
}
int error_name(int error, const char** text) {
  *text = error_text(error) != nullptr ? "CUDA_ERROR" : nullptr;
  return *text != nullptr ? cu::kSuccess : cu::kErrorInvalidValue;
}
int error_string(int error, const char** text) {
  *text = error_text(error);
  return *text != nullptr ? cu::kSuccess : cu::kErrorInvalidValue;
}

int device_count(int* count) {
  CJ2K_ENTER("cuDeviceGetCount", kNothing);
  *count = state().options.num_devices;
  return cu::kSuccess;
}
int device_get(int* device, int ordinal) {
  CJ2K_ENTER("cuDeviceGet", kNothing);
  *device = ordinal;
  return ordinal >= 0 && ordinal < state().options.num_devices ? cu::kSuccess : 101;
}
int device_name(char* name, int size, int device) {
  CJ2K_ENTER("cuDeviceGetName", kNothing);
  std::snprintf(name, static_cast<size_t>(size), "shim %d", device);
  return cu::kSuccess;
}
int device_uuid(CuUuid* uuid, int device) {
  CJ2K_ENTER("cuDeviceGetUuid_v2", kNothing);
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(0xA0 + i + 16 * device);
  return cu::kSuccess;
}
int device_attribute(int* value, int attribute, int) {
  CJ2K_ENTER("cuDeviceGetAttribute", kNothing);
  switch (attribute) {
    case cu::kAttributeMultiprocessors:
      *value = state().options.num_multiprocessors;
      return cu::kSuccess;
    case cu::kAttributeMajor:
      *value = state().options.compute_major;
      return cu::kSuccess;
    case cu::kAttributeMinor:
      *value = state().options.compute_minor;
      return cu::kSuccess;
    case cu::kAttributeMaxSmem:
      *value = 227 * 1024;
      return cu::kSuccess;
    default:
      return cu::kErrorInvalidValue;
  }
}
int device_total_bytes(size_t* bytes, int) {
  CJ2K_ENTER("cuDeviceTotalMem_v2", kNothing);
  *bytes = state().options.device_bytes;
  return cu::kSuccess;
}

int primary_context_retain(void** context, int device) {
  CJ2K_ENTER("cuDevicePrimaryCtxRetain", kNothing);
  ensure_devices();
  FakeContext* c = state().contexts[static_cast<size_t>(device)].get();
  if (c->error != cu::kSuccess) return c->error;
  if (c->retained++ == 0) ++state().primary_contexts_made;
  *context = c;
  return cu::kSuccess;
}
int primary_context_release(int device) {
  // This function, and every other one that begins like it, releases its resource even if it
  // returns an error.
  const InDriver in;
  const int error = enter("cuDevicePrimaryCtxRelease_v2", kNothing);
  FakeContext* c = state().contexts[static_cast<size_t>(device)].get();
  if (c->retained == 0) {
    report(Bug::kApiMisuse, "primary context released more often than retained");
    return cu::kErrorInvalidContext;
  }
  --c->retained;
  return error;
}
int context_push(void* context) {
  CJ2K_ENTER("cuCtxPushCurrent_v2", kNothing);
  for (const auto& c : state().contexts) {
    if (c.get() != context) continue;
    t_current.push_back(c.get());
    return cu::kSuccess;
  }
  return cu::kErrorInvalidContext;
}
int context_pop(void** context) {
  const InDriver in;
  (void)enter("cuCtxPopCurrent_v2", kNothing);  // pops even if it reports an earlier failure
  if (t_current.empty()) {
    report(Bug::kApiMisuse, "cuCtxPopCurrent without a current context");
    return cu::kErrorInvalidContext;
  }
  *context = t_current.back();
  t_current.pop_back();
  return cu::kSuccess;
}
int context_device(int* device) {
  CJ2K_ENTER("cuCtxGetDevice", kContext);
  *device = current()->device;
  return cu::kSuccess;
}

int memory_info(size_t* free_bytes, size_t* total_bytes) {
  CJ2K_ENTER("cuMemGetInfo_v2", kContext);
  *total_bytes = state().options.device_bytes;
  *free_bytes = *total_bytes - DeviceMemory::instance().bytes_in_use(current()->device);
  return cu::kSuccess;
}
int memory_allocate(CuDeviceAddress* address, size_t bytes) {
  CJ2K_ENTER("cuMemAlloc_v2", kContext);
  ++state().allocations;
  DeviceMemory& memory = DeviceMemory::instance();
  const int owner = current()->device;
  if (bytes == 0) return cu::kErrorInvalidValue;
  if (bytes > state().options.device_bytes - memory.bytes_in_use(owner))
    return cu::kErrorOutOfMemory;
  *address = memory.allocate(bytes, owner);
  return *address != 0 ? cu::kSuccess : cu::kErrorOutOfMemory;
}
int memory_free(CuDeviceAddress address) {
  const InDriver in;
  const int error = enter("cuMemFree_v2", kWaits);
  ++state().host_calls.waits;
  if (current() == nullptr) return error;
  FakeContext& context = *current();
  if (context.error == cu::kSuccess) run_until(context, [&] { return idle(context); });
  if (!DeviceMemory::instance().free(address)) {
    report(Bug::kApiMisuse, "cuMemFree of 0x%llx, which is not the address of a buffer", address);
    return cu::kErrorInvalidValue;
  }
  return error != cu::kSuccess ? error : context.error;
}
int host_allocate(void** data, size_t bytes, unsigned) {
  CJ2K_ENTER("cuMemHostAlloc", kContext);
  ++state().allocations;
  if (bytes == 0) return cu::kErrorInvalidValue;
  auto* p = static_cast<uint8_t*>(
      std::aligned_alloc(4096, (bytes + kHostCanaryBytes + 4095) / 4096 * 4096));
  if (p == nullptr) return cu::kErrorOutOfMemory;
  std::memset(p, kHostPoison, bytes);
  std::memset(p + bytes, kHostCanary, kHostCanaryBytes);
  state().host[p] = {bytes, current()};
  *data = p;
  return cu::kSuccess;
}
int host_free(void* data) {
  const InDriver in;
  const int error = enter("cuMemFreeHost", kWaits);
  ++state().host_calls.waits;
  const auto found = state().host.find(data);
  if (found == state().host.end()) {
    report(Bug::kApiMisuse, "cuMemFreeHost of an address that is not a buffer");
    return cu::kErrorInvalidValue;
  }
  FakeContext& context = *found->second.context;
  if (context.error == cu::kSuccess) run_until(context, [&] { return idle(context); });
  check_host_canary(data, found->second.bytes);
  state().host.erase(found);
  std::free(data);
  return error;
}

int pointer_attribute(void* value, int attribute, CuDeviceAddress address) {
  CJ2K_ENTER("cuPointerGetAttribute", kContext);
  if (attribute != cu::kPointerMemoryType) return cu::kErrorInvalidValue;
  if (!is_page_locked(reinterpret_cast<const void*>(address), 1)) return cu::kErrorInvalidValue;
  *static_cast<unsigned*>(value) = cu::kMemoryHost;
  return cu::kSuccess;
}

/// Counts a copy, and the wait for it if the host memory is not page-locked.
void count_copy(bool is_upload, const void* host, size_t bytes) {
  HostCalls& calls = state().host_calls;
  ++(is_upload ? calls.uploads : calls.downloads);
  (is_upload ? calls.upload_bytes : calls.download_bytes) += bytes;
  if (!is_page_locked(host, bytes)) ++calls.waits;
}
int copy_upload(CuDeviceAddress to, const void* from, size_t bytes, void* stream) {
  CJ2K_ENTER("cuMemcpyHtoDAsync_v2", kContext);
  count_copy(true, from, bytes);
  const int owner = current()->device;
  return enqueue("cuMemcpyHtoDAsync_v2", stream, [=] {
    uint8_t* p = bytes_at("upload", to, bytes, owner);
    if (p == nullptr) return cu::kErrorInvalidValue;
    std::memcpy(p, from, bytes);
    return cu::kSuccess;
  });
}
int copy_download(void* to, CuDeviceAddress from, size_t bytes, void* stream) {
  CJ2K_ENTER("cuMemcpyDtoHAsync_v2", kContext);
  count_copy(false, to, bytes);
  const int owner = current()->device;
  return enqueue("cuMemcpyDtoHAsync_v2", stream, [=] {
    const uint8_t* p = bytes_at("download", from, bytes, owner);
    if (p == nullptr) return cu::kErrorInvalidValue;
    std::memcpy(to, p, bytes);
    return cu::kSuccess;
  });
}
int copy_device(CuDeviceAddress to, CuDeviceAddress from, size_t bytes, void* stream) {
  CJ2K_ENTER("cuMemcpyDtoDAsync_v2", kContext);
  const int owner = current()->device;
  return enqueue("cuMemcpyDtoDAsync_v2", stream, [=] {
    uint8_t* p = bytes_at("copy to device memory", to, bytes, owner);
    const uint8_t* q = bytes_at("copy from device memory", from, bytes, owner);
    if (p == nullptr || q == nullptr) return cu::kErrorInvalidValue;
    if (p < q + bytes && q < p + bytes)
      report(Bug::kApiMisuse, "copy of %zu bytes between overlapping ranges", bytes);
    std::memmove(p, q, bytes);
    return cu::kSuccess;
  });
}
int copy_2d(const CuCopy2D* copy, void* stream) {
  CJ2K_ENTER("cuMemcpy2DAsync_v2", kContext);
  if (copy->src_pitch < copy->width_bytes || copy->dst_pitch < copy->width_bytes) {
    report(Bug::kApiMisuse, "copy of rows of %zu bytes: pitch %zu to %zu", copy->width_bytes,
           copy->src_pitch, copy->dst_pitch);
    return cu::kErrorInvalidValue;
  }
  if (copy->src_memory_type == cu::kMemoryHost)
    count_copy(true, copy->src_host, copy->src_pitch * (copy->height - 1) + copy->width_bytes);
  if (copy->dst_memory_type == cu::kMemoryHost)
    count_copy(false, copy->dst_host, copy->dst_pitch * (copy->height - 1) + copy->width_bytes);
  const int owner = current()->device;
  return enqueue("cuMemcpy2DAsync_v2", stream, [c = *copy, owner] {
    for (size_t row = 0; row < c.height; ++row) {
      const uint8_t* from = c.src_memory_type == cu::kMemoryHost
                                ? static_cast<const uint8_t*>(c.src_host) + row * c.src_pitch
                                : bytes_at("copy of a row from device memory",
                                           c.src_device + row * c.src_pitch, c.width_bytes, owner);
      uint8_t* to = c.dst_memory_type == cu::kMemoryHost
                        ? static_cast<uint8_t*>(c.dst_host) + row * c.dst_pitch
                        : bytes_at("copy of a row to device memory",
                                   c.dst_device + row * c.dst_pitch, c.width_bytes, owner);
      if (from == nullptr || to == nullptr) return cu::kErrorInvalidValue;
      std::memcpy(to, from, c.width_bytes);
    }
    return cu::kSuccess;
  });
}
int fill_u8(CuDeviceAddress to, unsigned char value, size_t count, void* stream) {
  CJ2K_ENTER("cuMemsetD8Async", kContext);
  ++state().host_calls.fills;
  const int owner = current()->device;
  return enqueue("cuMemsetD8Async", stream, [=] {
    uint8_t* p = bytes_at("fill", to, count, owner);
    if (p == nullptr) return cu::kErrorInvalidValue;
    std::memset(p, value, count);
    return cu::kSuccess;
  });
}
int fill_u32(CuDeviceAddress to, unsigned value, size_t count, void* stream) {
  CJ2K_ENTER("cuMemsetD32Async", kContext);
  ++state().host_calls.fills;
  if (to % 4 != 0) report(Bug::kMisaligned, "fill of words at 0x%llx", to);
  const int owner = current()->device;
  return enqueue("cuMemsetD32Async", stream, [=] {
    uint8_t* p = bytes_at("fill", to, count * 4, owner);
    if (p == nullptr) return cu::kErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) std::memcpy(p + 4 * i, &value, 4);
    return cu::kSuccess;
  });
}

int stream_create(void** stream, unsigned, int) {
  CJ2K_ENTER("cuStreamCreateWithPriority", kContext);
  ++state().allocations;
  FakeContext& context = *current();
  context.streams.push_back(std::make_unique<FakeStream>());
  context.streams.back()->context = &context;
  *stream = context.streams.back().get();
  return cu::kSuccess;
}
int stream_destroy(void* handle) {
  const InDriver in;
  const int error = enter("cuStreamDestroy_v2", kContext);
  if (current() == nullptr) return error;
  FakeStream* stream = find_stream("cuStreamDestroy_v2", handle);
  if (stream == nullptr) return cu::kErrorInvalidHandle;
  stream->destroyed = true;
  if (stream->entries.empty() || current()->error != cu::kSuccess) {
    std::erase_if(current()->streams, [&](const auto& s) { return s.get() == stream; });
  }
  return error;
}
int stream_query(void* handle) {
  CJ2K_ENTER("cuStreamQuery", kWaits);
  FakeStream* stream = find_stream("cuStreamQuery", handle);
  if (stream == nullptr) return cu::kErrorInvalidHandle;
  FakeContext& context = *current();
  state().host_calls.waits += std::exchange(stream->asked, true) ? 0 : 1;
  run_some(context, [&] { return stream->entries.empty(); });
  if (context.error != cu::kSuccess) return context.error;
  return stream->entries.empty() ? cu::kSuccess : cu::kErrorNotReady;
}
int stream_wait(void* handle, void* event_handle, unsigned) {
  CJ2K_ENTER("cuStreamWaitEvent", kContext);
  FakeStream* stream = find_stream("cuStreamWaitEvent", handle);
  const std::shared_ptr<FakeEvent> event = find_event("cuStreamWaitEvent", event_handle);
  if (stream == nullptr || event == nullptr) return cu::kErrorInvalidHandle;
  stream->entries.push_back({nullptr, event, event->recorded});
  return cu::kSuccess;
}

int event_create(void** handle, unsigned flags) {
  CJ2K_ENTER("cuEventCreate", kContext);
  ++state().allocations;
  auto event = std::make_shared<FakeEvent>();
  event->context = current();
  event->timing = (flags & cu::kEventDisableTiming) == 0;
  *handle = event.get();
  current()->events[event.get()] = event;
  return cu::kSuccess;
}
int event_destroy(void* handle) {
  const InDriver in;
  const int error = enter("cuEventDestroy_v2", kContext);
  const std::shared_ptr<FakeEvent> event = find_event("cuEventDestroy_v2", handle);
  if (event == nullptr) return cu::kErrorInvalidHandle;
  event->context->events.erase(handle);
  return error;
}
int event_record(void* handle, void* stream) {
  CJ2K_ENTER("cuEventRecord", kContext);
  const std::shared_ptr<FakeEvent> event = find_event("cuEventRecord", handle);
  if (event == nullptr) return cu::kErrorInvalidHandle;
  const uint64_t record = ++event->recorded;
  event->pending.insert(record);
  return enqueue("cuEventRecord", stream, [event, record] {
    event->pending.erase(record);
    event->when = SteadyClock::now();
    return cu::kSuccess;
  });
}
int event_query(void* handle) {
  CJ2K_ENTER("cuEventQuery", kWaits);
  const std::shared_ptr<FakeEvent> event = find_event("cuEventQuery", handle);
  if (event == nullptr) return cu::kErrorInvalidHandle;
  FakeContext& context = *event->context;
  state().host_calls.waits +=
      std::exchange(event->asked, event->recorded) < event->recorded ? 1 : 0;
  run_some(context, [&] { return event->passed(event->recorded); });
  if (context.error != cu::kSuccess) return context.error;
  return event->passed(event->recorded) ? cu::kSuccess : cu::kErrorNotReady;
}
int event_elapsed_ms(float* milliseconds, void* start_handle, void* end_handle) {
  CJ2K_ENTER("cuEventElapsedTime", kWaits);
  const std::shared_ptr<FakeEvent> start = find_event("cuEventElapsedTime", start_handle);
  const std::shared_ptr<FakeEvent> end = find_event("cuEventElapsedTime", end_handle);
  if (start == nullptr || end == nullptr || !start->timing || !end->timing ||
      start->recorded == 0 || end->recorded == 0) {
    return cu::kErrorInvalidHandle;
  }
  if (!start->passed(start->recorded) || !end->passed(end->recorded)) return cu::kErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(end->when - start->when).count();
  return cu::kSuccess;
}

int module_load(void** module, const void* image) {
  CJ2K_ENTER("cuModuleLoadData", kContext);
  ++state().allocations;
  if (static_cast<const HostKernel*>(image)->magic != HostKernel::kMagic)
    return cu::kErrorNoBinaryForGpu;
  *module = const_cast<void*>(image);
  current()->modules.insert(*module);
  return cu::kSuccess;
}
int module_unload(void* module) {
  const InDriver in;
  const int error = enter("cuModuleUnload", kContext);
  if (current() != nullptr) {
    current()->modules.erase(module);
    current()->functions.erase(module);
  }
  return error;
}
int module_function(void** function, void* module, const char* name) {
  CJ2K_ENTER("cuModuleGetFunction", kContext);
  const auto* kernel = static_cast<const HostKernel*>(module);
  if (std::strcmp(kernel->name, name) != 0) return cu::kErrorNotFound;
  std::unique_ptr<FakeFunction>& found = current()->functions[module];
  if (found == nullptr) found = std::make_unique<FakeFunction>(FakeFunction{kernel, 0});
  *function = found.get();
  return cu::kSuccess;
}
int function_set_attribute(void* function, int attribute, int value) {
  CJ2K_ENTER("cuFuncSetAttribute", kContext);
  auto* f = static_cast<FakeFunction*>(function);
  if (attribute == cu::kFunctionMaxDynamicSmem && value <= 227 * 1024) {
    f->max_dynamic_smem = value;
    return cu::kSuccess;
  }
  if (attribute != cu::kFunctionSmemCarveout || value < 0 || value > cu::kMostSmem)
    return cu::kErrorInvalidValue;
  f->carveout = value;
  return cu::kSuccess;
}
int launch(void* handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
           unsigned block_y, unsigned block_z, unsigned smem_bytes, void* stream, void** params,
           void**) {
  CJ2K_ENTER("cuLaunchKernel", kContext);
  const auto* function = static_cast<const FakeFunction*>(handle);
  const HostKernel& kernel = *function->kernel;
  if (grid_x == 0 || grid_x > 0x7FFFFFFF || grid_y == 0 || grid_y > 65535 || grid_z == 0 ||
      grid_z > 65535 || block_x != kernel.sizes.threads || block_y != 1 || block_z != 1 ||
      smem_bytes > static_cast<unsigned>(function->max_dynamic_smem) ||
      (kernel.sizes.smem_bytes > kStaticSmemBytes && smem_bytes != kernel.sizes.smem_bytes)) {
    report(Bug::kApiMisuse, "%s: grid %u x %u x %u, block %u x %u x %u, %u bytes of shared memory",
           kernel.name, grid_x, grid_y, grid_z, block_x, block_y, block_z, smem_bytes);
    return cu::kErrorInvalidValue;
  }
  if (function->carveout < 0)
    report(Bug::kApiMisuse, "%s: launched without a carve-out of shared memory", kernel.name);
  // The copy is aligned for any type of parameter.
  auto copy = std::make_shared<std::vector<std::max_align_t>>(
      kernel.sizes.param_bytes / sizeof(std::max_align_t) + 1);
  std::memcpy(copy->data(), params[0], kernel.sizes.param_bytes);
  const int owner = current()->device;
  ++state().launches[owner];
  ++state().host_calls.launches;
  return enqueue(
      "cuLaunchKernel", stream, [&kernel, grid = Dim3{grid_x, grid_y, grid_z}, copy, owner] {
        State& s = state();
        const bool ok =
            run_launch(kernel, grid, copy->data(), owner, s.options.check_races, s.random);
        return ok ? cu::kSuccess : cu::kErrorIllegalAddress;
      });
}

const Driver kDriver = [] {
  Driver d;
#define CJ2K_SHIM_FUNCTION(name, symbol, params) d.name = &name;
  CJ2K_DRIVER_FUNCTIONS(CJ2K_SHIM_FUNCTION)
#undef CJ2K_SHIM_FUNCTION
  return d;
}();

}  // namespace
}  // namespace cj2k::simt::shim

namespace cj2k::simt {

Status load_driver(const Log& log, const Driver** driver) {
  *driver = nullptr;
  bool has_driver = false;
  {
    const std::lock_guard lock(shim::g_mutex);
    has_driver = shim::state().options.has_driver;
  }
  if (!has_driver)
    return log.fail(Status::kDevice,
                    "no CUDA driver: libcuda.so.1: cannot open shared object file");
  if (const int error = shim::kDriver.init(0); error != cu::kSuccess) {
    const char* text = nullptr;
    if (shim::kDriver.error_string(error, &text) != cu::kSuccess) text = "unknown error";
    return log.fail(Status::kDevice, "the CUDA driver failed to initialise: %s (%d)", text, error);
  }
  *driver = &shim::kDriver;
  return Status::kOk;
}

}  // namespace cj2k::simt

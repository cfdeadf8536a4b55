// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Stands for libcuda.so.1: the functions that libcj2k uses (kernels/simt/driver.h). Device memory is
// memory of the host, and each call is done when it returns.
#include "kernels/simt/driver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <vector>

#include "block.h"
#include "fatbin.h"
#include "program.h"
#include "settings.h"

#define CJ2K_DRIVER extern "C" __attribute__((visibility("default"))) int

namespace cj2k::ptx {
namespace {

using simt::CuCopy2D;
using simt::CuDeviceAddress;
using simt::CuUuid;
namespace cu = simt::cu;

constexpr size_t kTotalBytes = size_t{8} << 30;
constexpr int kErrorInvalidPtx = 218;

/// One lock around everything that changes, launches included.
std::recursive_mutex g_mutex;
using Lock = std::lock_guard<std::recursive_mutex>;
int g_context;  // its address is the primary context
thread_local std::vector<void*> t_contexts;
std::map<CuDeviceAddress, size_t> g_allocations;
size_t g_used_bytes = 0;
bool g_failed = false;  // sticky, as an error of a kernel is on a GPU

int state() { return g_failed ? cu::kErrorLaunchFailed : cu::kSuccess; }

int report(const Failure& f, int error) {
  std::fprintf(stderr, "ptx: %s\n", f.text.c_str());
  return error;
}

template <typename T>
T* pointer(CuDeviceAddress address) {
  return reinterpret_cast<T*>(address);
}

int allocate(CuDeviceAddress* address, size_t bytes) {
  constexpr size_t kAlign = 256;
  constexpr int kGarbage = 0xCD;
  const Lock lock(g_mutex);
  if (bytes == 0) return cu::kErrorInvalidValue;
  if (bytes > kTotalBytes - g_used_bytes) return cu::kErrorOutOfMemory;
  void* const p = std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  if (p == nullptr) return cu::kErrorOutOfMemory;
  std::memset(p, kGarbage, bytes);
  *address = reinterpret_cast<CuDeviceAddress>(p);
  g_allocations[*address] = bytes;
  g_used_bytes += bytes;
  add_memory(*address, bytes);
  return cu::kSuccess;
}

int release(CuDeviceAddress address) {
  const Lock lock(g_mutex);
  const auto found = g_allocations.find(address);
  if (found == g_allocations.end()) return cu::kErrorInvalidValue;
  g_used_bytes -= found->second;
  g_allocations.erase(found);
  remove_memory(address);
  std::free(pointer<void>(address));
  return cu::kSuccess;
}

/// Whether a device address and the bytes after it are in one allocation.
bool is_device(CuDeviceAddress address, size_t bytes) {
  return bytes == 0 || find_memory(address).has(address, bytes);
}

int copy(void* to, const void* from, size_t bytes) {
  std::memmove(to, from, bytes);
  return state();
}

/// Kernels of CJ2K_PTX_DIR take the place of those with the same name.
void replace_kernels(Module& module) {
  if (settings().ptx_dir == nullptr) return;
  for (const auto& file : std::filesystem::directory_iterator(settings().ptx_dir)) {
    if (file.path().extension() != ".ptx") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const auto other = parse_module(text.str());
    for (auto& [name, function] : other->functions) {
      const auto known = module.functions.find(name);
      if (known == module.functions.end()) continue;
      std::fprintf(stderr, "ptx: %s from %s\n", name.c_str(), file.path().c_str());
      known->second = std::move(function);
    }
  }
}

struct Event {
  std::chrono::steady_clock::time_point at;
};

// Whether CUDA_DEVICE_MAX_CONNECTIONS was set when the driver read it.
bool has_queues = false;

}  // namespace
}  // namespace cj2k::ptx

using namespace cj2k::ptx;

CJ2K_DRIVER cuInit(unsigned) {
  has_queues = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS") != nullptr;
  return cu::kSuccess;
}
CJ2K_DRIVER cuDriverGetVersion(int* version) {
  *version = 13000;
  return cu::kSuccess;
}
CJ2K_DRIVER cuGetErrorName(int error, const char** text) {
  *text = error == cu::kErrorLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR";
  return cu::kSuccess;
}
CJ2K_DRIVER cuGetErrorString(int, const char** text) {
  *text = "an error of the PTX interpreter";
  return cu::kSuccess;
}

// Devices and contexts.
CJ2K_DRIVER cuDeviceGetCount(int* count) {
  *count = 1;
  return cu::kSuccess;
}
CJ2K_DRIVER cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? cu::kSuccess : cu::kErrorInvalidValue;
}
CJ2K_DRIVER cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<size_t>(size), "PTX interpreter, compute_%u",
                settings().architecture);
  return cu::kSuccess;
}
CJ2K_DRIVER cuDeviceGetUuid_v2(CuUuid* uuid, int) {
  std::memset(uuid->bytes, 0x42, sizeof uuid->bytes);
  return cu::kSuccess;
}
CJ2K_DRIVER cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kMaxSmem = 227 * 1024;
  const int architecture = static_cast<int>(settings().architecture);
  switch (attribute) {
    case cu::kAttributeMultiprocessors:
      *value = settings().multiprocessors;
      break;
    case cu::kAttributeMajor:
      *value = architecture / 10;
      break;
    case cu::kAttributeMinor:
      *value = architecture % 10;
      break;
    case cu::kAttributeMaxSmem:
      *value = kMaxSmem;
      break;
    default:
      return cu::kErrorInvalidValue;
  }
  return cu::kSuccess;
}
CJ2K_DRIVER cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = kTotalBytes;
  return cu::kSuccess;
}
CJ2K_DRIVER cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &g_context;
  return cu::kSuccess;
}
CJ2K_DRIVER cuDevicePrimaryCtxRelease_v2(int) { return cu::kSuccess; }
CJ2K_DRIVER cuCtxCreate_v2(void** context, unsigned, int) {
  *context = new int;
  t_contexts.push_back(*context);
  return cu::kSuccess;
}
CJ2K_DRIVER cuCtxDestroy_v2(void* context) {
  delete static_cast<int*>(context);
  return cu::kSuccess;
}
CJ2K_DRIVER cuCtxPushCurrent_v2(void* context) {
  t_contexts.push_back(context);
  return cu::kSuccess;
}
CJ2K_DRIVER cuCtxPopCurrent_v2(void** context) {
  if (t_contexts.empty()) return cu::kErrorInvalidContext;
  *context = t_contexts.back();
  t_contexts.pop_back();
  return cu::kSuccess;
}
CJ2K_DRIVER cuCtxGetDevice(int* device) {
  *device = 0;
  return t_contexts.empty() ? cu::kErrorInvalidContext : cu::kSuccess;
}

// Memory.
CJ2K_DRIVER cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  const Lock lock(g_mutex);
  *free_bytes = kTotalBytes - g_used_bytes;
  *total_bytes = kTotalBytes;
  return cu::kSuccess;
}
CJ2K_DRIVER cuMemAlloc_v2(CuDeviceAddress* address, size_t bytes) {
  return allocate(address, bytes);
}
CJ2K_DRIVER cuMemFree_v2(CuDeviceAddress address) { return release(address); }
CJ2K_DRIVER cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  return allocate(reinterpret_cast<CuDeviceAddress*>(data), bytes);
}
CJ2K_DRIVER cuMemFreeHost(void* data) { return release(reinterpret_cast<CuDeviceAddress>(data)); }
CJ2K_DRIVER cuMemcpyHtoDAsync_v2(CuDeviceAddress to, const void* from, size_t bytes, void*) {
  const Lock lock(g_mutex);
  return is_device(to, bytes) ? copy(pointer<void>(to), from, bytes) : cu::kErrorInvalidValue;
}
CJ2K_DRIVER cuMemcpyDtoHAsync_v2(void* to, CuDeviceAddress from, size_t bytes, void*) {
  const Lock lock(g_mutex);
  return is_device(from, bytes) ? copy(to, pointer<void>(from), bytes) : cu::kErrorInvalidValue;
}
CJ2K_DRIVER cuMemcpyDtoDAsync_v2(CuDeviceAddress to, CuDeviceAddress from, size_t bytes, void*) {
  const Lock lock(g_mutex);
  if (!is_device(to, bytes) || !is_device(from, bytes)) return cu::kErrorInvalidValue;
  return copy(pointer<void>(to), pointer<void>(from), bytes);
}
CJ2K_DRIVER cuMemcpy2DAsync_v2(const CuCopy2D* c, void*) {
  const Lock lock(g_mutex);
  for (size_t y = 0; y < c->height; ++y) {
    const size_t from_at = (c->src_y + y) * c->src_pitch + c->src_x_bytes;
    const size_t to_at = (c->dst_y + y) * c->dst_pitch + c->dst_x_bytes;
    const bool from_host = c->src_memory_type == cu::kMemoryHost;
    const bool to_host = c->dst_memory_type == cu::kMemoryHost;
    if ((!from_host && !is_device(c->src_device + from_at, c->width_bytes)) ||
        (!to_host && !is_device(c->dst_device + to_at, c->width_bytes))) {
      return cu::kErrorInvalidValue;
    }
    const char* from =
        from_host ? static_cast<const char*>(c->src_host) : pointer<const char>(c->src_device);
    char* to = to_host ? static_cast<char*>(c->dst_host) : pointer<char>(c->dst_device);
    std::memmove(to + to_at, from + from_at, c->width_bytes);
  }
  return state();
}
CJ2K_DRIVER cuMemsetD8Async(CuDeviceAddress to, unsigned char value, size_t count, void*) {
  const Lock lock(g_mutex);
  if (!is_device(to, count)) return cu::kErrorInvalidValue;
  std::memset(pointer<void>(to), value, count);
  return state();
}
CJ2K_DRIVER cuMemsetD32Async(CuDeviceAddress to, unsigned value, size_t count, void*) {
  const Lock lock(g_mutex);
  if (to % 4 != 0 || !is_device(to, count * 4)) return cu::kErrorInvalidValue;
  std::fill_n(pointer<unsigned>(to), count, value);
  return state();
}

// No host memory is page-locked.
CJ2K_DRIVER cuPointerGetAttribute(void*, int, CuDeviceAddress) { return cu::kErrorInvalidValue; }

// Streams and events: nothing is ever under way.
CJ2K_DRIVER cuStreamCreateWithPriority(void** stream, unsigned, int) {
  // The library sets it before cuInit. Other programs that make no streams, as gpu_probe, need not.
  if (!has_queues) return cu::kErrorUnknown;
  *stream = new int;
  return cu::kSuccess;
}
CJ2K_DRIVER cuStreamDestroy_v2(void* stream) {
  delete static_cast<int*>(stream);
  return cu::kSuccess;
}
CJ2K_DRIVER cuStreamQuery(void*) { return state(); }
CJ2K_DRIVER cuStreamWaitEvent(void*, void*, unsigned) { return cu::kSuccess; }
CJ2K_DRIVER cuEventCreate(void** event, unsigned) {
  *event = new Event;
  return cu::kSuccess;
}
CJ2K_DRIVER cuEventDestroy_v2(void* event) {
  delete static_cast<Event*>(event);
  return cu::kSuccess;
}
CJ2K_DRIVER cuEventRecord(void* event, void*) {
  static_cast<Event*>(event)->at = std::chrono::steady_clock::now();
  return cu::kSuccess;
}
CJ2K_DRIVER cuEventQuery(void*) { return cu::kSuccess; }
CJ2K_DRIVER cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  const auto time = static_cast<Event*>(end)->at - static_cast<Event*>(start)->at;
  *milliseconds = std::chrono::duration<float, std::milli>(time).count();
  return cu::kSuccess;
}

// Modules and launches.
CJ2K_DRIVER cuModuleLoadData(void** module, const void* image) {
  const Lock lock(g_mutex);
  try {
    const std::string text = find_ptx(image, settings().architecture);
    if (text.empty()) return cu::kErrorNoBinaryForGpu;
    auto parsed = parse_module(text);
    replace_kernels(*parsed);
    *module = parsed.release();
    return cu::kSuccess;
  } catch (const Failure& f) {
    return report(f, kErrorInvalidPtx);
  }
}
CJ2K_DRIVER cuModuleUnload(void* module) {
  const Lock lock(g_mutex);
  const std::unique_ptr<Module> owner(static_cast<Module*>(module));
  for (const auto& [name, function] : owner->functions) count_function(*function);
  return cu::kSuccess;
}
CJ2K_DRIVER cuModuleGetFunction(void** function, void* module, const char* name) {
  auto& functions = static_cast<Module*>(module)->functions;
  const auto found = functions.find(name);
  if (found == functions.end()) return cu::kErrorNotFound;
  *function = found->second.get();
  return cu::kSuccess;
}
CJ2K_DRIVER cuFuncSetAttribute(void*, int, int) { return cu::kSuccess; }
CJ2K_DRIVER cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned smem_bytes, void*, void** params, void**) {
  const Lock lock(g_mutex);
  if (g_failed) return state();
  try {
    launch(*static_cast<Function*>(function),
           {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, smem_bytes}, params);
    return cu::kSuccess;
  } catch (const Failure& f) {
    g_failed = true;
    return report(f, cu::kErrorLaunchFailed);
  }
}

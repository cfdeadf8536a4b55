// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of NVIDIA's driver API that the library uses, as a table. It needs no CUDA header
// and links nothing, so the library starts on machines without a driver, and the shim can put its
// own functions into the table. cuda/driver_check.cc compares it with <cuda.h>.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/log.h"
#include "base/status.h"

namespace cj2k::simt {

using CuDeviceAddress = unsigned long long;

struct CuUuid {
  char bytes[16];
};

/// The layout of CUDA_MEMCPY2D.
struct CuCopy2D {
  size_t src_x_bytes, src_y;
  unsigned src_memory_type;
  const void* src_host;
  CuDeviceAddress src_device;
  void* src_array;
  size_t src_pitch;
  size_t dst_x_bytes, dst_y;
  unsigned dst_memory_type;
  void* dst_host;
  CuDeviceAddress dst_device;
  void* dst_array;
  size_t dst_pitch;
  size_t width_bytes, height;
};

namespace cu {
inline constexpr int kSuccess = 0, kErrorInvalidValue = 1, kErrorOutOfMemory = 2,
                     kErrorNotInitialized = 3, kErrorNoDevice = 100, kErrorInvalidContext = 201,
                     kErrorNoBinaryForGpu = 209, kErrorEccUncorrectable = 214,
                     kErrorInvalidHandle = 400, kErrorNotFound = 500, kErrorNotReady = 600,
                     kErrorIllegalAddress = 700, kErrorLaunchOutOfResources = 701,
                     kErrorLaunchFailed = 719, kErrorUnknown = 999;
inline constexpr int kPointerMemoryType = 2;
inline constexpr unsigned kMemoryHost = 1, kMemoryDevice = 2;
inline constexpr unsigned kStreamNonBlocking = 1, kEventDisableTiming = 2;
inline constexpr int kAttributeMultiprocessors = 16, kAttributeMajor = 75, kAttributeMinor = 76,
                     kAttributeMaxSmem = 97;
inline constexpr int kFunctionMaxDynamicSmem = 8, kFunctionSmemCarveout = 9;
inline constexpr int kMostSmem = 100;  ///< carve-out: as much shared memory as there is
}  // namespace cu

// F(name of the member, name in libcuda, parameters)
#define CJ2K_DRIVER_FUNCTIONS(F)                                                                \
  F(init, "cuInit", (unsigned flags))                                                           \
  F(driver_version, "cuDriverGetVersion", (int* version))                                       \
  F(error_name, "cuGetErrorName", (int error, const char** text))                               \
  F(error_string, "cuGetErrorString", (int error, const char** text))                           \
  F(device_count, "cuDeviceGetCount", (int* count))                                             \
  F(device_get, "cuDeviceGet", (int* device, int ordinal))                                      \
  F(device_name, "cuDeviceGetName", (char* name, int size, int device))                         \
  F(device_uuid, "cuDeviceGetUuid_v2", (CuUuid * uuid, int device))                             \
  F(device_attribute, "cuDeviceGetAttribute", (int* value, int attribute, int device))          \
  F(device_total_bytes, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                    \
  F(primary_context_retain, "cuDevicePrimaryCtxRetain", (void** context, int device))           \
  F(primary_context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                      \
  F(context_push, "cuCtxPushCurrent_v2", (void* context))                                       \
  F(context_pop, "cuCtxPopCurrent_v2", (void** context))                                        \
  F(context_device, "cuCtxGetDevice", (int* device))                                            \
  F(memory_info, "cuMemGetInfo_v2", (size_t * free_bytes, size_t * total_bytes))                \
  F(memory_allocate, "cuMemAlloc_v2", (CuDeviceAddress * address, size_t bytes))                \
  F(memory_free, "cuMemFree_v2", (CuDeviceAddress address))                                     \
  F(host_allocate, "cuMemHostAlloc", (void** data, size_t bytes, unsigned flags))               \
  F(host_free, "cuMemFreeHost", (void* data))                                                   \
  F(pointer_attribute, "cuPointerGetAttribute",                                                 \
    (void* value, int attribute, CuDeviceAddress address))                                      \
  F(copy_upload, "cuMemcpyHtoDAsync_v2",                                                        \
    (CuDeviceAddress to, const void* from, size_t bytes, void* stream))                         \
  F(copy_download, "cuMemcpyDtoHAsync_v2",                                                      \
    (void* to, CuDeviceAddress from, size_t bytes, void* stream))                               \
  F(copy_device, "cuMemcpyDtoDAsync_v2",                                                        \
    (CuDeviceAddress to, CuDeviceAddress from, size_t bytes, void* stream))                     \
  F(copy_2d, "cuMemcpy2DAsync_v2", (const CuCopy2D* copy, void* stream))                        \
  F(fill_u8, "cuMemsetD8Async",                                                                 \
    (CuDeviceAddress to, unsigned char value, size_t count, void* stream))                      \
  F(fill_u32, "cuMemsetD32Async",                                                               \
    (CuDeviceAddress to, unsigned value, size_t count, void* stream))                           \
  F(stream_create, "cuStreamCreateWithPriority", (void** stream, unsigned flags, int priority)) \
  F(stream_destroy, "cuStreamDestroy_v2", (void* stream))                                       \
  F(stream_query, "cuStreamQuery", (void* stream))                                              \
  F(stream_wait, "cuStreamWaitEvent", (void* stream, void* event, unsigned flags))              \
  F(event_create, "cuEventCreate", (void** event, unsigned flags))                              \
  F(event_destroy, "cuEventDestroy_v2", (void* event))                                          \
  F(event_record, "cuEventRecord", (void* event, void* stream))                                 \
  F(event_query, "cuEventQuery", (void* event))                                                 \
  F(event_elapsed_ms, "cuEventElapsedTime", (float* milliseconds, void* start, void* end))      \
  F(module_load, "cuModuleLoadData", (void** module, const void* image))                        \
  F(module_unload, "cuModuleUnload", (void* module))                                            \
  F(module_function, "cuModuleGetFunction", (void** function, void* module, const char* name))  \
  F(function_set_attribute, "cuFuncSetAttribute", (void* function, int attribute, int value))   \
  F(launch, "cuLaunchKernel",                                                                   \
    (void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,       \
     unsigned block_y, unsigned block_z, unsigned smem_bytes, void* stream, void** params,      \
     void** extra))

struct Driver {
#define CJ2K_DRIVER_MEMBER(name, symbol, params) int(*name) params = nullptr;
  CJ2K_DRIVER_FUNCTIONS(CJ2K_DRIVER_MEMBER)
#undef CJ2K_DRIVER_MEMBER
};

/// Sets *driver to the initialised driver, which all callers share. Returns kDevice and logs a line
/// if there is no driver or it does not work. Defined in cuda/driver_dlopen.cc and in
/// host/driver.cc: the one that a program links decides where its kernels run.
Status load_driver(const Log& log, const Driver** driver);

}  // namespace cj2k::simt

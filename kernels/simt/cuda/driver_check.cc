// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Compares driver.h with NVIDIA's own header. Compiled only where there is a CUDA toolkit.
#include <cuda.h>

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "kernels/simt/driver.h"

namespace cj2k::simt {
namespace {

static_assert(sizeof(CuDeviceAddress) == sizeof(CUdeviceptr) && sizeof(CuUuid) == sizeof(CUuuid));
static_assert(sizeof(CUdevice) == sizeof(int) && sizeof(CUresult) == sizeof(int));

#define CJ2K_SAME(ours, theirs) \
  static_assert(offsetof(CuCopy2D, ours) == offsetof(CUDA_MEMCPY2D, theirs))
static_assert(sizeof(CuCopy2D) == sizeof(CUDA_MEMCPY2D));
CJ2K_SAME(src_x_bytes, srcXInBytes);
CJ2K_SAME(src_y, srcY);
CJ2K_SAME(src_memory_type, srcMemoryType);
CJ2K_SAME(src_host, srcHost);
CJ2K_SAME(src_device, srcDevice);
CJ2K_SAME(src_array, srcArray);
CJ2K_SAME(src_pitch, srcPitch);
CJ2K_SAME(dst_x_bytes, dstXInBytes);
CJ2K_SAME(dst_y, dstY);
CJ2K_SAME(dst_memory_type, dstMemoryType);
CJ2K_SAME(dst_host, dstHost);
CJ2K_SAME(dst_device, dstDevice);
CJ2K_SAME(dst_array, dstArray);
CJ2K_SAME(dst_pitch, dstPitch);
CJ2K_SAME(width_bytes, WidthInBytes);
CJ2K_SAME(height, Height);

static_assert(cu::kErrorInvalidValue == CUDA_ERROR_INVALID_VALUE &&
              cu::kErrorOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(cu::kErrorNotInitialized == CUDA_ERROR_NOT_INITIALIZED &&
              cu::kErrorNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(cu::kErrorInvalidContext == CUDA_ERROR_INVALID_CONTEXT);
static_assert(cu::kErrorNoBinaryForGpu == CUDA_ERROR_NO_BINARY_FOR_GPU);
static_assert(cu::kErrorEccUncorrectable == CUDA_ERROR_ECC_UNCORRECTABLE);
static_assert(cu::kErrorInvalidHandle == CUDA_ERROR_INVALID_HANDLE &&
              cu::kErrorNotFound == CUDA_ERROR_NOT_FOUND);
static_assert(cu::kErrorNotReady == CUDA_ERROR_NOT_READY &&
              cu::kErrorIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(cu::kErrorLaunchOutOfResources == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
static_assert(cu::kErrorLaunchFailed == CUDA_ERROR_LAUNCH_FAILED &&
              cu::kErrorUnknown == CUDA_ERROR_UNKNOWN);
static_assert(cu::kPointerMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(cu::kMemoryHost == CU_MEMORYTYPE_HOST && cu::kMemoryDevice == CU_MEMORYTYPE_DEVICE);
static_assert(cu::kStreamNonBlocking == CU_STREAM_NON_BLOCKING &&
              cu::kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(cu::kAttributeMultiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(cu::kAttributeMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(cu::kAttributeMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(cu::kAttributeMaxSmem == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(cu::kFunctionMaxDynamicSmem == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
              cu::kFunctionSmemCarveout == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT &&
              cu::kMostSmem == CU_SHAREDMEM_CARVEOUT_MAX_SHARED);

/// Whether both types are passed the same way: both pointers, both integers of one size, or the
/// same float type.
template <typename Ours, typename Theirs>
constexpr bool kSameParameter =
    (std::is_pointer_v<Ours> ==
     std::is_pointer_v<Theirs>)&&(std::is_floating_point_v<Ours> ==
                                  std::is_floating_point_v<Theirs>)&&sizeof(Ours) == sizeof(Theirs);
template <typename Ours, typename Theirs>
struct SameFunction : std::false_type {};
template <typename... Ours, typename Result, typename... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) struct SameFunction<int (*)(Ours...), Result (*)(Theirs...)>
    : std::bool_constant<(kSameParameter<Ours, Theirs> && ...)> {
};

// <cuda.h> maps each plain name to the versioned name that it declares.
#define CJ2K_STRING_(x) #x
#define CJ2K_STRING(x) CJ2K_STRING_(x)
#define CJ2K_CHECK(member, function) \
  static_assert(SameFunction<decltype(Driver::member), decltype(&function)>::value)
CJ2K_CHECK(init, cuInit);
CJ2K_CHECK(driver_version, cuDriverGetVersion);
CJ2K_CHECK(error_name, cuGetErrorName);
CJ2K_CHECK(error_string, cuGetErrorString);
CJ2K_CHECK(device_count, cuDeviceGetCount);
CJ2K_CHECK(device_get, cuDeviceGet);
CJ2K_CHECK(device_name, cuDeviceGetName);
CJ2K_CHECK(device_uuid, cuDeviceGetUuid_v2);
CJ2K_CHECK(device_attribute, cuDeviceGetAttribute);
CJ2K_CHECK(device_total_bytes, cuDeviceTotalMem_v2);
CJ2K_CHECK(primary_context_retain, cuDevicePrimaryCtxRetain);
CJ2K_CHECK(primary_context_release, cuDevicePrimaryCtxRelease_v2);
CJ2K_CHECK(context_push, cuCtxPushCurrent_v2);
CJ2K_CHECK(context_pop, cuCtxPopCurrent_v2);
CJ2K_CHECK(memory_info, cuMemGetInfo_v2);
CJ2K_CHECK(memory_allocate, cuMemAlloc_v2);
CJ2K_CHECK(memory_free, cuMemFree_v2);
CJ2K_CHECK(host_allocate, cuMemHostAlloc);
CJ2K_CHECK(host_free, cuMemFreeHost);
CJ2K_CHECK(pointer_attribute, cuPointerGetAttribute);
CJ2K_CHECK(copy_upload, cuMemcpyHtoDAsync_v2);
CJ2K_CHECK(copy_download, cuMemcpyDtoHAsync_v2);
CJ2K_CHECK(copy_device, cuMemcpyDtoDAsync_v2);
CJ2K_CHECK(copy_2d, cuMemcpy2DAsync_v2);
CJ2K_CHECK(fill_u8, cuMemsetD8Async);
CJ2K_CHECK(fill_u32, cuMemsetD32Async);
CJ2K_CHECK(stream_create, cuStreamCreateWithPriority);
CJ2K_CHECK(stream_destroy, cuStreamDestroy_v2);
CJ2K_CHECK(stream_query, cuStreamQuery);
CJ2K_CHECK(stream_wait, cuStreamWaitEvent);
CJ2K_CHECK(event_create, cuEventCreate);
CJ2K_CHECK(event_destroy, cuEventDestroy_v2);
CJ2K_CHECK(event_record, cuEventRecord);
CJ2K_CHECK(event_query, cuEventQuery);
CJ2K_CHECK(module_load, cuModuleLoadData);
CJ2K_CHECK(module_unload, cuModuleUnload);
CJ2K_CHECK(module_function, cuModuleGetFunction);
CJ2K_CHECK(function_set_attribute, cuFuncSetAttribute);
CJ2K_CHECK(launch, cuLaunchKernel);
// A newer <cuda.h> may map a plain name to a newer version. These two names must still map to the
// versions that driver.h names.
static_assert(std::string_view(CJ2K_STRING(cuMemAlloc)) == "cuMemAlloc_v2");
static_assert(std::string_view(CJ2K_STRING(cuMemcpy2DAsync)) == "cuMemcpy2DAsync_v2");

}  // namespace
}  // namespace cj2k::simt

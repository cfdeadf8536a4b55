// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// simt/primitives.h by CUB. The one file that needs the CUDA runtime (linked statically; it takes
// the driver's current context and stream, and finds the driver at run time as well).
#include <cuda_runtime_api.h>
#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "simt/primitives.h"

namespace cj2k::simt {
namespace {

cudaStream_t native(const Stream& stream) { return static_cast<cudaStream_t>(stream.cu_stream()); }

/// CUB's two phases: `call(data, bytes)` is one of its functions. Errors of the runtime have the
/// driver's numbers.
template <typename Call>
Status run(Stream& stream, Temp& temp, const char* name, const Call& call) {
  Context& context = stream.context();
  const Context::Scope scope(context);
  CJ2K_TRY(scope.status());
  if (temp.data == nullptr) {
    temp.bytes = 0;
    CJ2K_TRY(context.check(static_cast<int>(call(nullptr, temp.bytes)), name));
    temp.bytes = temp.bytes == 0 ? 1 : temp.bytes;
    return Status::kOk;
  }
  size_t bytes = temp.bytes;
  return context.check(static_cast<int>(call(temp.data, bytes)), name);
}

}  // namespace

Status compact_indices(Stream& stream, Temp& temp, const uint8_t* flags, uint32_t count,
                       uint32_t* indices, uint32_t* num_indices) {
  return run(stream, temp, "compact_indices", [&](void* data, size_t& bytes) {
    return cub::DeviceSelect::Flagged(data, bytes, thrust::counting_iterator<uint32_t>(0), flags,
                                      indices, num_indices, static_cast<int64_t>(count),
                                      native(stream));
  });
}

Status compact(Stream& stream, Temp& temp, const uint32_t* values, const uint8_t* flags,
               uint32_t count, uint32_t* out, uint32_t* num_out) {
  return run(stream, temp, "compact", [&](void* data, size_t& bytes) {
    return cub::DeviceSelect::Flagged(data, bytes, values, flags, out, num_out,
                                      static_cast<int64_t>(count), native(stream));
  });
}

Status exclusive_scan(Stream& stream, Temp& temp, const uint32_t* in, uint32_t* out,
                      uint32_t count) {
  return run(stream, temp, "exclusive_scan", [&](void* data, size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(data, bytes, in, out, count, native(stream));
  });
}
Status exclusive_scan(Stream& stream, Temp& temp, const uint32_t* in, uint64_t* out,
                      uint32_t count) {
  return run(stream, temp, "exclusive_scan", [&](void* data, size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(data, bytes, in, out, cuda::std::plus<uint64_t>{},
                                          uint64_t{0}, count, native(stream));
  });
}
Status exclusive_scan(Stream& stream, Temp& temp, const uint64_t* in, uint64_t* out,
                      uint32_t count) {
  return run(stream, temp, "exclusive_scan", [&](void* data, size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(data, bytes, in, out, count, native(stream));
  });
}

Status reduce_add(Stream& stream, Temp& temp, const uint32_t* in, uint64_t* out, uint32_t count) {
  return run(stream, temp, "reduce_add", [&](void* data, size_t& bytes) {
    return cub::DeviceReduce::Reduce(data, bytes, in, out, count, cuda::std::plus<uint64_t>{},
                                     uint64_t{0}, native(stream));
  });
}
Status reduce_add(Stream& stream, Temp& temp, const uint64_t* in, uint64_t* out, uint32_t count) {
  return run(stream, temp, "reduce_add", [&](void* data, size_t& bytes) {
    return cub::DeviceReduce::Reduce(data, bytes, in, out, count, cuda::std::plus<uint64_t>{},
                                     uint64_t{0}, native(stream));
  });
}
Status reduce_max(Stream& stream, Temp& temp, const uint32_t* in, uint32_t* out, uint32_t count) {
  return run(stream, temp, "reduce_max", [&](void* data, size_t& bytes) {
    return cub::DeviceReduce::Reduce(data, bytes, in, out, count, cuda::maximum<uint32_t>{},
                                     uint32_t{0}, native(stream));
  });
}

Status sort_pairs(Stream& stream, Temp& temp, const uint32_t* keys_in, uint32_t* keys_out,
                  const uint32_t* values_in, uint32_t* values_out, uint32_t count, int key_bits) {
  return run(stream, temp, "sort_pairs", [&](void* data, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(data, bytes, keys_in, keys_out, values_in, values_out,
                                           count, 0, key_bits, native(stream));
  });
}
Status sort_pairs_descending(Stream& stream, Temp& temp, const uint32_t* keys_in,
                             uint32_t* keys_out, const uint32_t* values_in, uint32_t* values_out,
                             uint32_t count, int key_bits) {
  return run(stream, temp, "sort_pairs_descending", [&](void* data, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairsDescending(
        data, bytes, keys_in, keys_out, values_in, values_out, count, 0, key_bits, native(stream));
  });
}

}  // namespace cj2k::simt

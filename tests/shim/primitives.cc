// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// simt/primitives.h on the host: Thrust's sequential system where a CUDA toolkit's headers are
// (CJ2K_SHIM_THRUST), the C++ library where not.
#include "simt/primitives.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "shim/internal.h"
#include "simt/driver.h"

#if CJ2K_SHIM_THRUST
#include <thrust/copy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/system/cpp/execution_policy.h>
#endif

namespace cj2k::simt {
namespace {

using shim::Bug;

/// Not zero even for nothing, as CUB's.
size_t temp_bytes(uint32_t count) { return 256 + size_t{count} * 4; }

/// The frame of all of them: sizes first, then checked memory and the work in stream order.
template <typename Work>
Status run(Stream& stream, Temp& temp, uint32_t count, const char* name, Work work) {
  if (temp.data == nullptr) {
    temp.bytes = temp_bytes(count);
    return Status::kOk;
  }
  if (temp.bytes < temp_bytes(count) || reinterpret_cast<uintptr_t>(temp.data) % 256 != 0) {
    shim::report(Bug::kApiMisuse,
                 "%s: %zu bytes of temporary memory at %p, %zu needed, aligned to 256", name,
                 temp.bytes, temp.data, temp_bytes(count));
    return Status::kInternal;
  }
  Context& context = stream.context();
  const Context::Scope scope(context);
  CJ2K_TRY(scope.status());
  return context.check(shim::enqueue_work(name, stream.cu_stream(),
                                          [=, data = temp.data] {
                                            // Whatever it held is gone.
                                            void* bytes =
                                                shim::device_bytes(name, data, temp_bytes(count));
                                            if (bytes == nullptr) return cu::kErrorIllegalAddress;
                                            std::fill_n(static_cast<uint8_t*>(bytes),
                                                        temp_bytes(count), uint8_t{0xD3});
                                            return work() ? cu::kSuccess : cu::kErrorIllegalAddress;
                                          }),
                       name);
}

template <typename V>
V* at(const char* name, V* p, size_t count) {
  static V empty[1];
  if (count == 0) return empty;
  return static_cast<V*>(shim::device_bytes(name, p, count * sizeof(V)));
}
template <typename V>
const V* at(const char* name, const V* p, size_t count) {
  return at(name, const_cast<V*>(p), count);
}

template <typename In, typename Out>
Status scan(Stream& stream, Temp& temp, const In* in, Out* out, uint32_t count) {
  return run(stream, temp, count, "exclusive_scan", [=] {
    const In* from = at("exclusive_scan: in", in, count);
    Out* to = at("exclusive_scan: out", out, count);
    if (from == nullptr || to == nullptr) return false;
#if CJ2K_SHIM_THRUST
    thrust::exclusive_scan(thrust::cpp::par, from, from + count, to, Out{0});
#else
    std::exclusive_scan(from, from + count, to, Out{0});
#endif
    return true;
  });
}

template <typename In, typename Out, typename Op>
Status reduce(Stream& stream, Temp& temp, const In* in, Out* out, uint32_t count, Op op) {
  return run(stream, temp, count, "reduce", [=] {
    const In* from = at("reduce: in", in, count);
    Out* to = at("reduce: out", out, 1);
    if (from == nullptr || to == nullptr) return false;
#if CJ2K_SHIM_THRUST
    *to = thrust::reduce(thrust::cpp::par, from, from + count, Out{0}, op);
#else
    *to = std::accumulate(from, from + count, Out{0}, op);
#endif
    return true;
  });
}

template <typename Before>
Status sort(Stream& stream, Temp& temp, const uint32_t* keys_in, uint32_t* keys_out,
            const uint32_t* values_in, uint32_t* values_out, uint32_t count, Before before) {
  return run(stream, temp, count, "sort_pairs", [=] {
    const uint32_t* keys = at("sort_pairs: keys_in", keys_in, count);
    const uint32_t* values = at("sort_pairs: values_in", values_in, count);
    uint32_t* sorted_keys = at("sort_pairs: keys_out", keys_out, count);
    uint32_t* sorted_values = at("sort_pairs: values_out", values_out, count);
    if (keys == nullptr || values == nullptr || sorted_keys == nullptr || sorted_values == nullptr)
      return false;
#if CJ2K_SHIM_THRUST
    std::copy_n(keys, count, sorted_keys);
    std::copy_n(values, count, sorted_values);
    thrust::stable_sort_by_key(thrust::cpp::par, sorted_keys, sorted_keys + count, sorted_values,
                               before);
#else
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return before(keys[a], keys[b]); });
    for (uint32_t i = 0; i < count; ++i) {
      sorted_keys[i] = keys[order[i]];
      sorted_values[i] = values[order[i]];
    }
#endif
    return true;
  });
}

uint32_t key_mask(int key_bits) { return key_bits >= 32 ? 0xFFFFFFFFu : (1u << key_bits) - 1; }

template <typename V>
struct Sum {
  V operator()(V a, V b) const { return a + b; }
};
struct Larger {
  uint32_t operator()(uint32_t a, uint32_t b) const { return a > b ? a : b; }
};
struct IsSet {
  bool operator()(uint8_t flag) const { return flag != 0; }
};

}  // namespace

Status compact_indices(Stream& stream, Temp& temp, const uint8_t* flags, uint32_t count,
                       uint32_t* indices, uint32_t* num_indices) {
  return run(stream, temp, count, "compact_indices", [=] {
    const uint8_t* set = at("compact_indices: flags", flags, count);
    uint32_t* num = at("compact_indices: num_indices", num_indices, 1);
    if (set == nullptr || num == nullptr) return false;
    *num = static_cast<uint32_t>(count -
                                 static_cast<uint32_t>(std::count(set, set + count, uint8_t{0})));
    uint32_t* out = at("compact_indices: indices", indices, *num);
    if (out == nullptr) return false;
#if CJ2K_SHIM_THRUST
    const thrust::counting_iterator<uint32_t> first(0);
    thrust::copy_if(thrust::cpp::par, first, first + count, set, out, IsSet{});
#else
    for (uint32_t i = 0; i < count; ++i) {
      if (IsSet{}(set[i])) *out++ = i;
    }
#endif
    return true;
  });
}

Status compact(Stream& stream, Temp& temp, const uint32_t* values, const uint8_t* flags,
               uint32_t count, uint32_t* out, uint32_t* num_out) {
  return run(stream, temp, count, "compact", [=] {
    const uint32_t* from = at("compact: values", values, count);
    const uint8_t* set = at("compact: flags", flags, count);
    uint32_t* num = at("compact: num_out", num_out, 1);
    if (from == nullptr || set == nullptr || num == nullptr) return false;
    *num = static_cast<uint32_t>(count -
                                 static_cast<uint32_t>(std::count(set, set + count, uint8_t{0})));
    uint32_t* to = at("compact: out", out, *num);
    if (to == nullptr) return false;
#if CJ2K_SHIM_THRUST
    thrust::copy_if(thrust::cpp::par, from, from + count, set, to, IsSet{});
#else
    for (uint32_t i = 0; i < count; ++i) {
      if (IsSet{}(set[i])) *to++ = from[i];
    }
#endif
    return true;
  });
}

Status exclusive_scan(Stream& stream, Temp& temp, const uint32_t* in, uint32_t* out,
                      uint32_t count) {
  return scan(stream, temp, in, out, count);
}
Status exclusive_scan(Stream& stream, Temp& temp, const uint32_t* in, uint64_t* out,
                      uint32_t count) {
  return scan(stream, temp, in, out, count);
}
Status exclusive_scan(Stream& stream, Temp& temp, const uint64_t* in, uint64_t* out,
                      uint32_t count) {
  return scan(stream, temp, in, out, count);
}

Status reduce_add(Stream& stream, Temp& temp, const uint32_t* in, uint64_t* out, uint32_t count) {
  return reduce(stream, temp, in, out, count, Sum<uint64_t>{});
}
Status reduce_add(Stream& stream, Temp& temp, const uint64_t* in, uint64_t* out, uint32_t count) {
  return reduce(stream, temp, in, out, count, Sum<uint64_t>{});
}
Status reduce_max(Stream& stream, Temp& temp, const uint32_t* in, uint32_t* out, uint32_t count) {
  return reduce(stream, temp, in, out, count, Larger{});
}

Status sort_pairs(Stream& stream, Temp& temp, const uint32_t* keys_in, uint32_t* keys_out,
                  const uint32_t* values_in, uint32_t* values_out, uint32_t count, int key_bits) {
  return sort(
      stream, temp, keys_in, keys_out, values_in, values_out, count,
      [mask = key_mask(key_bits)](uint32_t a, uint32_t b) { return (a & mask) < (b & mask); });
}
Status sort_pairs_descending(Stream& stream, Temp& temp, const uint32_t* keys_in,
                             uint32_t* keys_out, const uint32_t* values_in, uint32_t* values_out,
                             uint32_t count, int key_bits) {
  return sort(
      stream, temp, keys_in, keys_out, values_in, values_out, count,
      [mask = key_mask(key_bits)](uint32_t a, uint32_t b) { return (a & mask) > (b & mask); });
}

}  // namespace cj2k::simt

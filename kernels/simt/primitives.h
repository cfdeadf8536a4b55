// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Device-wide primitives: CUB on CUDA, Thrust's host system (or the C++ library) in the shim.
// Asynchronous on the stream, all arrays in device memory, no allocation. Results do not depend on
// the device: sums are of integers, the sort is stable.
//
// Two calls: with `temp.data` null each sets `temp.bytes` to what it needs for `count` elements
// (enough for fewer, too) and does nothing else; then the same call with that memory, 256-byte
// aligned, does the work. In place is allowed where it is said.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "simt/device.h"

namespace cj2k::simt {

struct Temp {
  void* data = nullptr;
  size_t bytes = 0;
};

/// The indices i in [0, count) with flags[i] != 0, ascending, to `indices`; how many to
/// `*num_indices`.
Status compact_indices(Stream& stream, Temp& temp, const uint8_t* flags, uint32_t count,
                       uint32_t* indices, uint32_t* num_indices);
/// The values[i] with flags[i] != 0 in their order. Not in place.
Status compact(Stream& stream, Temp& temp, const uint32_t* values, const uint8_t* flags,
               uint32_t count, uint32_t* out, uint32_t* num_out);

/// out[i] = in[0] + ... + in[i - 1], modulo the width of `out`. In place for equal types.
Status exclusive_scan(Stream& stream, Temp& temp, const uint32_t* in, uint32_t* out,
                      uint32_t count);
Status exclusive_scan(Stream& stream, Temp& temp, const uint32_t* in, uint64_t* out,
                      uint32_t count);
Status exclusive_scan(Stream& stream, Temp& temp, const uint64_t* in, uint64_t* out,
                      uint32_t count);

/// Of no elements: 0.
Status reduce_add(Stream& stream, Temp& temp, const uint32_t* in, uint64_t* out, uint32_t count);
Status reduce_add(Stream& stream, Temp& temp, const uint64_t* in, uint64_t* out, uint32_t count);
Status reduce_max(Stream& stream, Temp& temp, const uint32_t* in, uint32_t* out, uint32_t count);

/// Stable sort by bits [0, key_bits) of the keys, ascending. Not in place.
Status sort_pairs(Stream& stream, Temp& temp, const uint32_t* keys_in, uint32_t* keys_out,
                  const uint32_t* values_in, uint32_t* values_out, uint32_t count,
                  int key_bits = 32);
/// The same, descending (equal keys keep their order).
Status sort_pairs_descending(Stream& stream, Temp& temp, const uint32_t* keys_in,
                             uint32_t* keys_out, const uint32_t* values_in, uint32_t* values_out,
                             uint32_t count, int key_bits = 32);

}  // namespace cj2k::simt

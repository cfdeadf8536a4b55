// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Structs of programs that were compiled with an older or a newer cj2k.h. An older header's struct
// is a prefix of ours, a newer one's begins with ours; `struct_size`, the first field, says how
// long it is.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/log.h"
#include "base/status.h"

namespace cj2k {

/// The end of a field of a struct: the smallest struct_size that holds it.
#define CJ2K_END_OF(Struct, field) (offsetof(Struct, field) + sizeof(Struct::field))

/// More than any header's structs will have. A size above it is no size.
inline constexpr size_t kMaxStructBytes = 65536;

/// @param least  bytes that every caller's struct has
/// @return kOk | kInvalid, with a line that begins with `name`
Status check_struct_size(const char* name, size_t bytes, size_t least, const Log& log);

/// Whether what lies behind the `known` bytes is zero.
/// @return kOk | kInvalid, with a line that begins with `name`
Status check_unknown_tail(const char* name, const void* data, size_t bytes, size_t known,
                          const Log& log);

/// Copies what the caller's struct has over *ours, which holds the values of what it lacks.
/// @return kOk | kInvalid: struct_size is wrong, or bytes that we do not know are not zero
template <typename Struct>
Status read_struct(const char* name, const Struct& caller, size_t least, const Log& log,
                   Struct* ours) {
  const size_t bytes = caller.struct_size;
  CJ2K_TRY(check_struct_size(name, bytes, least, log));
  CJ2K_TRY(check_unknown_tail(name, &caller, bytes, sizeof(Struct), log));
  std::memcpy(static_cast<void*>(ours), &caller, bytes < sizeof(Struct) ? bytes : sizeof(Struct));
  ours->struct_size = sizeof(Struct);
  return Status::kOk;
}

/// Fills as much of a caller's struct as its header has, and what we do not know with zeros.
/// @return kOk | kInvalid: struct_size is wrong, nothing is written
template <typename Struct>
Status write_struct(const char* name, Struct ours, size_t least, const Log& log, Struct* caller) {
  const size_t bytes = caller->struct_size;
  CJ2K_TRY(check_struct_size(name, bytes, least, log));
  ours.struct_size = bytes;
  std::memcpy(static_cast<void*>(caller), &ours, bytes < sizeof(Struct) ? bytes : sizeof(Struct));
  if (bytes > sizeof(Struct)) {
    std::memset(reinterpret_cast<char*>(caller) + sizeof(Struct), 0, bytes - sizeof(Struct));
  }
  return Status::kOk;
}

}  // namespace cj2k

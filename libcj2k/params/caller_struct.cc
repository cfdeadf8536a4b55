// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/caller_struct.h"

namespace cj2k {

Status check_struct_size(const char* name, size_t bytes, size_t least, size_t alignment,
                         std::span<const ArrayField> arrays, const Log& log) {
  if (bytes < least || bytes > kMaxStructBytes)
    return log.fail(Status::kInvalid, "%s: struct_size %zu not in [%zu, %zu]", name, bytes, least,
                    kMaxStructBytes);
  if (bytes % alignment != 0)
    return log.fail(Status::kInvalid, "%s: struct_size %zu is not a multiple of %zu", name, bytes,
                    alignment);
  for (const ArrayField& array : arrays) {
    if (bytes > array.begin && bytes < array.end)
      return log.fail(Status::kInvalid, "%s: struct_size %zu ends inside %s, bytes %zu to %zu",
                      name, bytes, array.name, array.begin, array.end - 1);
  }
  return Status::kOk;
}

Status check_unknown_tail(const char* name, const void* data, size_t bytes, size_t known,
                          const Log& log) {
  for (size_t i = known; i < bytes; ++i) {
    if (static_cast<const unsigned char*>(data)[i] == 0) continue;
    return log.fail(Status::kInvalid,
                    "%s: struct_size %zu, byte %zu is not 0: a field of a newer cj2k.h, which "
                    "libcj2k %s with its %zu bytes does not have",
                    name, bytes, i, CJ2K_VERSION_STRING, known);
  }
  return Status::kOk;
}

}  // namespace cj2k

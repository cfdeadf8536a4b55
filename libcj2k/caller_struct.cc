// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "caller_struct.h"

#include "cj2k.h"

namespace cj2k {

Status check_struct_size(const char* name, size_t bytes, size_t least, const Log& log) {
  if (bytes >= least && bytes <= kMaxStructBytes) return Status::kOk;
  return log.fail(Status::kInvalid, "%s: struct_size %zu not in [%zu, %zu]", name, bytes, least,
                  kMaxStructBytes);
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

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cj2k.h"

namespace cj2k {

/// The values are those of cj2k_status, so that api.cc only casts.
enum class [[nodiscard]] Status : int{
    kOk = CJ2K_OK,           kAgain = CJ2K_AGAIN,        kEof = CJ2K_EOF,
    kInvalid = CJ2K_INVALID, kNoMemory = CJ2K_NO_MEMORY, kNotSupported = CJ2K_NOT_SUPPORTED,
    kDevice = CJ2K_DEVICE,   kInternal = CJ2K_INTERNAL,  kRead = CJ2K_READ,
};

}  // namespace cj2k

/// Returns from the calling function unless `expr` is kOk.
#define CJ2K_TRY(expr)                                                                             \
  do {                                                                                             \
    if (const ::cj2k::Status cj2k_try_status_ = (expr); cj2k_try_status_ != ::cj2k::Status::kOk) { \
      return cj2k_try_status_;                                                                     \
    }                                                                                              \
  } while (false)

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Structs of programs that were compiled with an older or a newer cj2k.h. The struct of an older
// header is a prefix of ours, and the struct of a newer header begins with ours. Its first field,
// `struct_size`, is its size in bytes. A size that no header can have is refused: it would cut a
// field in two.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/log.h"
#include "base/status.h"
#include "cj2k.h"

namespace cj2k {

/// The byte after a field of a struct: the smallest struct_size that contains the field.
#define CJ2K_END_OF(Struct, field) (offsetof(Struct, field) + sizeof(Struct::field))

/// No struct of any header will be larger. A larger struct_size is refused.
inline constexpr size_t kMaxStructBytes = 65536;

/// An array in a struct. Every other field has at most the size of the struct's alignment, of which
/// sizes of structs are multiples.
struct ArrayField {
  const char* name;
  size_t begin, end;
};
#define CJ2K_ARRAY(Struct, field) \
  ArrayField { #field, offsetof(Struct, field), CJ2K_END_OF(Struct, field) }

/// The arrays behind the fields of the oldest header.
template <typename Struct>
inline constexpr std::array<ArrayField, 0> kArrays{};
template <>
inline constexpr std::array kArrays<cj2k_params>{CJ2K_ARRAY(cj2k_params, roi),
                                                 CJ2K_ARRAY(cj2k_params, precinct_width),
                                                 CJ2K_ARRAY(cj2k_params, precinct_height),
                                                 CJ2K_ARRAY(cj2k_params, layer_rates),
                                                 CJ2K_ARRAY(cj2k_params, layer_psnr),
                                                 CJ2K_ARRAY(cj2k_params, poc),
                                                 CJ2K_ARRAY(cj2k_params, comment),
                                                 CJ2K_ARRAY(cj2k_params, device)};
template <>
inline constexpr std::array kArrays<cj2k_stats>{
    CJ2K_ARRAY(cj2k_stats, component_bytes), CJ2K_ARRAY(cj2k_stats, mse),
    CJ2K_ARRAY(cj2k_stats, stage_ms), CJ2K_ARRAY(cj2k_stats, component_psnr)};
template <>
inline constexpr std::array kArrays<cj2k_device_info>{CJ2K_ARRAY(cj2k_device_info, reason)};

/// Checks that struct_size is in [least, kMaxStructBytes], a multiple of `alignment`, and not
/// inside an array.
/// @param least  bytes of the struct in the oldest header
/// @return kOk | kInvalid, with a line that begins with `name`
Status check_struct_size(const char* name, size_t bytes, size_t least, size_t alignment,
                         std::span<const ArrayField> arrays, const Log& log);
template <typename Struct>
Status check_struct_size(const char* name, size_t bytes, size_t least, const Log& log) {
  return check_struct_size(name, bytes, least, alignof(Struct), kArrays<Struct>, log);
}

/// Checks that all bytes from `known` on are 0.
/// @return kOk | kInvalid, with a line that begins with `name`
Status check_unknown_tail(const char* name, const void* data, size_t bytes, size_t known,
                          const Log& log);

/// Copies the fields of the caller's struct to *ours. Fields that the caller's struct does not have
/// keep their values in *ours.
/// @return kOk | kInvalid: struct_size is out of range, or a byte after the fields we know is not 0
template <typename Struct>
Status read_struct(const char* name, const Struct& caller, size_t least, const Log& log,
                   Struct* ours) {
  const size_t bytes = caller.struct_size;
  CJ2K_TRY(check_struct_size<Struct>(name, bytes, least, log));
  CJ2K_TRY(check_unknown_tail(name, &caller, bytes, sizeof(Struct), log));
  std::memcpy(static_cast<void*>(ours), &caller, bytes < sizeof(Struct) ? bytes : sizeof(Struct));
  ours->struct_size = sizeof(Struct);
  return Status::kOk;
}

/// Fills the fields that the caller's struct has, and sets bytes after the fields we know to 0.
/// @return kOk | kInvalid: struct_size is out of range; nothing is written then
template <typename Struct>
Status write_struct(const char* name, Struct ours, size_t least, const Log& log, Struct* caller) {
  const size_t bytes = caller->struct_size;
  CJ2K_TRY(check_struct_size<Struct>(name, bytes, least, log));
  ours.struct_size = bytes;
  std::memcpy(static_cast<void*>(caller), &ours, bytes < sizeof(Struct) ? bytes : sizeof(Struct));
  if (bytes > sizeof(Struct)) {
    std::memset(reinterpret_cast<char*>(caller) + sizeof(Struct), 0, bytes - sizeof(Struct));
  }
  return Status::kOk;
}

}  // namespace cj2k

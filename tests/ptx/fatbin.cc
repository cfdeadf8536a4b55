// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The PTX inside of what nvcc makes. The layout is that which cuobjdump shows: a header, then entries
// with a header each, whose payload is packed with LZ4 or zstd.
#include "fatbin.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "program.h"

namespace cj2k::ptx {
namespace {

constexpr uint32_t kMagic = 0xBA55ED50;
constexpr uint16_t kPtx = 1;
constexpr uint64_t kZstd = 0x8000, kLz4 = 0x2000;

template <typename T>
T field(const unsigned char* p, size_t offset) {
  T v;
  std::memcpy(&v, p + offset, sizeof v);
  return v;
}

/// A function of a library that is installed on any Debian, but perhaps without its headers.
template <typename F>
F* function_of(const char* library, const char* name) {
  void* const handle = dlopen(library, RTLD_NOW);
  void* const found = handle != nullptr ? dlsym(handle, name) : nullptr;
  if (found == nullptr) throw Failure{std::string("no ") + library + " to unpack PTX with"};
  return reinterpret_cast<F*>(found);
}

std::string unpack(const unsigned char* from, size_t bytes, uint64_t flags, size_t size) {
  std::string text(size, '\0');
  bool done = false;
  if ((flags & kZstd) != 0) {
    using Unpack = size_t(void*, size_t, const void*, size_t);
    static auto* const f = function_of<Unpack>("libzstd.so.1", "ZSTD_decompress");
    done = f(text.data(), size, from, bytes) == size;
  } else if ((flags & kLz4) != 0) {
    using Unpack = int(const char*, char*, int, int);
    static auto* const f = function_of<Unpack>("liblz4.so.1", "LZ4_decompress_safe");
    done = f(reinterpret_cast<const char*>(from), text.data(), static_cast<int>(bytes),
             static_cast<int>(size)) == static_cast<int>(size);
  } else {
    text.assign(reinterpret_cast<const char*>(from), bytes);
    done = true;
  }
  if (!done) throw Failure{"PTX that cannot be unpacked"};
  return text;
}

}  // namespace

std::string find_ptx(const void* image, unsigned architecture) {
  const auto* p = static_cast<const unsigned char*>(image);
  if (field<uint32_t>(p, 0) != kMagic) return static_cast<const char*>(image);
  const unsigned char* const end = p + field<uint16_t>(p, 6) + field<uint64_t>(p, 8);
  p += field<uint16_t>(p, 6);
  const unsigned char* best = nullptr;
  uint32_t best_architecture = 0;
  while (p < end) {
    const auto arch = field<uint32_t>(p, 28);
    if (field<uint16_t>(p, 0) == kPtx && arch <= architecture && arch > best_architecture) {
      best = p;
      best_architecture = arch;
    }
    p += field<uint32_t>(p, 4) + field<uint64_t>(p, 8);
  }
  if (best == nullptr) return {};
  const auto packed = field<uint32_t>(best, 16);
  const auto bytes = packed != 0 ? packed : field<uint64_t>(best, 8);
  return unpack(best + field<uint32_t>(best, 4), bytes, field<uint64_t>(best, 40),
                field<uint64_t>(best, 56));
}

}  // namespace cj2k::ptx

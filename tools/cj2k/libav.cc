// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "libav.h"

#ifndef CJ2K_LIBAV_LINKED
#include <dlfcn.h>
#endif

#include <string>

#include "failure.h"

namespace cj2k_tool {
namespace {

#ifdef CJ2K_LIBAV_LINKED
Libav load() {
#define CJ2K_LIBAV_ADDRESS(name) &::name,
  return {CJ2K_LIBAV_FUNCTIONS(CJ2K_LIBAV_ADDRESS)};
}
#else
/// The libraries stay loaded until the program ends.
Libav load() {
  constexpr const char* kName = "libavcodec.so." AV_STRINGIFY(LIBAVCODEC_VERSION_MAJOR);
  const auto check = [](void* found) {
    if (found == nullptr)
      throw Failure(std::string("pictures other than binary PGM and PPM, TIFF, Y4M and raw samples "
                                "need libavcodec: ") +
                    dlerror());
    return found;
  };
  void* const codec = check(dlopen(kName, RTLD_NOW));  // finds functions of libavutil, too
#define CJ2K_LIBAV_ADDRESS(name) reinterpret_cast<decltype(&::name)>(check(dlsym(codec, #name))),
  return {CJ2K_LIBAV_FUNCTIONS(CJ2K_LIBAV_ADDRESS)};
}
#endif

}  // namespace

const Libav& libav() {
  static const Libav functions = load();
  return functions;
}

}  // namespace cj2k_tool

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Finds and loads NVIDIA's driver at run time.
#include <dlfcn.h>

#include <cstdlib>

#include "kernels/simt/driver.h"

namespace cj2k::simt {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

struct Loaded {
  Driver driver;
  void* library = nullptr;
  const char* missing = nullptr;  ///< first function that the library does not have, or null
  int init_error = cu::kSuccess;
  char error_text[256] = "";
};

const Loaded& load_once() {
  static const Loaded loaded = [] {
    Loaded l;
    l.library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (l.library == nullptr) {
      const char* text = dlerror();
      for (size_t i = 0; text != nullptr && text[i] != '\0' && i + 1 < sizeof l.error_text; ++i) {
        l.error_text[i] = text[i];
      }
      return l;
    }
#define CJ2K_DRIVER_LOAD(name, symbol, params)                                         \
  l.driver.name = reinterpret_cast<decltype(l.driver.name)>(dlsym(l.library, symbol)); \
  if (l.driver.name == nullptr && l.missing == nullptr) l.missing = symbol;
    CJ2K_DRIVER_FUNCTIONS(CJ2K_DRIVER_LOAD)
#undef CJ2K_DRIVER_LOAD
    // A GOP in flight has up to three streams; with the default of 8 hardware queues, streams of eight
    // GOPs and of the application would wait for each other. An application that has called cuInit
    // before, or sets the variable itself, keeps its own.
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    if (l.missing == nullptr) l.init_error = l.driver.init(0);
    return l;
  }();
  return loaded;
}

}  // namespace

Status load_driver(const Log& log, const Driver** driver) {
  *driver = nullptr;
  const Loaded& l = load_once();
  if (l.library == nullptr) return log.fail(Status::kDevice, "no CUDA driver: %s", l.error_text);
  if (l.missing != nullptr) {
    return log.fail(Status::kDevice, "the CUDA driver is too old: %s has no %s", kLibrary,
                    l.missing);
  }
  if (l.init_error != cu::kSuccess) {
    const char* text = nullptr;
    if (l.driver.error_string(l.init_error, &text) != cu::kSuccess || text == nullptr)
      text = "unknown error";
    return log.fail(Status::kDevice, "the CUDA driver failed to initialise: %s (%d)", text,
                    l.init_error);
  }
  *driver = &l.driver;
  return Status::kOk;
}

}  // namespace cj2k::simt

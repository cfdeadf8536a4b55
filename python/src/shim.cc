// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Only in the module for tests: memory on the host implementation of the device, as an application
// with CUDA would have it.
#include "common.h"
#include "kernels/simt/device.h"

namespace cj2k_python {

namespace {

namespace simt = cj2k::simt;

/// Words in device memory.
class DeviceWords {
 public:
  explicit DeviceWords(const std::string& words) {
    const cj2k::Log quiet;
    simt::Stream stream;
    if (simt::Context::open({}, quiet, &context_) != cj2k::Status::kOk ||
        buffer_.allocate(*context_, words.size()) != cj2k::Status::kOk ||
        stream.create(*context_) != cj2k::Status::kOk ||
        stream.upload(buffer_.as<char>(), words.data(), words.size()) != cj2k::Status::kOk ||
        stream.synchronize() != cj2k::Status::kOk) {
      throw std::runtime_error("the device on the host failed");
    }
  }
  uintptr_t address() { return reinterpret_cast<uintptr_t>(buffer_.as<char>()); }

 private:
  std::unique_ptr<simt::Context> context_;
  simt::DeviceBuffer buffer_;
};

}  // namespace

void bind_shim(py::module_& module) {
  py::class_<DeviceWords>(module, "DeviceWords")
      .def(py::init(
          [](const py::bytes& words) { return std::make_unique<DeviceWords>(std::string(words)); }))
      .def_property_readonly("address", &DeviceWords::address);
}

}  // namespace cj2k_python

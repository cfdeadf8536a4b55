// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Replaces backend_cuda.cc in a build without a CUDA compiler.
#include "backend.h"

namespace cj2k {

bool has_cuda_backend() { return false; }

Status describe_cuda_device(int, cj2k_device_info*) { return Status::kEof; }

Status make_cuda_backends(Plan* plan, const DeviceList&, const Log& log,
                          std::vector<std::unique_ptr<Backend>>*) {
  return log.fail(Status::kNotSupported,
                  "device %s: this libcj2k was built without CUDA; use cpu or auto",
                  plan->params.device);
}

void describe_cuda_backend(const Plan&, int, cj2k_info* info) { info->backend = "cuda"; }

}  // namespace cj2k

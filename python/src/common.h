// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The extension module cj2k._cj2k: what needs the C API or raw memory. The Python files around it
// decide what an array means; here are addresses, threads and errors.
#pragma once

#include <cj2k.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

namespace cj2k_python {

namespace py = pybind11;

/// The last failed call for `encoder`, or of this thread without one.
cj2k_error last_error(const cj2k_encoder* encoder);
cj2k_error make_error(cj2k_status status, const char* text);

/// Raises cj2k.Error with a short name of the status, and the pts of the frame that failed.
[[noreturn]] void raise(const cj2k_error& error, py::object pts = py::none());

void bind_memory(py::module_& module);
void bind_params(py::module_& module);
void bind_encoder(py::module_& module);
void bind_film(py::module_& module);
#if defined(CJ2K_SIMT_SHIM)
void bind_shim(py::module_& module);
#endif

}  // namespace cj2k_python

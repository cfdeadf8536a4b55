// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>

#include "common.h"

namespace cj2k_python {

namespace {

py::handle error_type;

const char* status_name(cj2k_status status) {
  switch (status) {
    case CJ2K_INVALID:
      return "invalid";
    case CJ2K_NO_MEMORY:
      return "no_memory";
    case CJ2K_NOT_SUPPORTED:
      return "not_supported";
    case CJ2K_DEVICE:
      return "device";
    case CJ2K_INTERNAL:
      return "internal";
    default:
      return cj2k_status_string(status);
  }
}

py::list devices() {
  py::list all;
  cj2k_device_info info;
  info.struct_size = sizeof info;
  for (int i = 0;; ++i) {
    cj2k_status status;
    {
      py::gil_scoped_release no_gil;  // loads the driver
      status = cj2k_device_describe(i, &info);
    }
    if (status == CJ2K_EOF) return all;
    if (status != CJ2K_OK) raise(last_error(nullptr));
    all.append(py::make_tuple(info.index, info.usable != 0, info.name, info.uuid, info.memory_bytes,
                              py::make_tuple(info.compute_major, info.compute_minor), info.reason));
  }
}

}  // namespace

cj2k_error last_error(const cj2k_encoder* encoder) {
  cj2k_error error{};
  error.struct_size = sizeof error;
  cj2k_last_error(encoder, &error);
  return error;
}

cj2k_error make_error(cj2k_status status, const char* text) {
  cj2k_error error{sizeof error, status, "", 0, 0, -1, ""};
  std::snprintf(error.message, sizeof error.message, "%s", text);
  return error;
}

void raise(const cj2k_error& from, py::object pts) {
  const std::string said = from.message[0] == '\0' ? cj2k_status_string(from.status) : from.message;
  // It may be cut within a character.
  PyObject* decoded = PyUnicode_DecodeUTF8(said.data(), std::ssize(said), "backslashreplace");
  if (decoded == nullptr) throw py::error_already_set();
  py::object error = error_type(py::reinterpret_steal<py::object>(decoded));
  error.attr("status") = status_name(from.status);
  error.attr("param") = from.param[0] == '\0' ? py::object(py::none()) : py::str(from.param);
  error.attr("value") = from.value;
  error.attr("range") =
      from.min > from.max ? py::object(py::none()) : py::make_tuple(from.min, from.max);
  error.attr("pts") = pts;
  PyErr_SetObject(error_type.ptr(), error.ptr());
  throw py::error_already_set();
}

PYBIND11_MODULE(_cj2k, module) {
  module.doc() = "The parts of cj2k that need the C API.";
  error_type = PyErr_NewExceptionWithDoc(
      "cj2k.Error",
      "What libcj2k says about a call that failed.\n\n"
      "status: 'invalid', 'no_memory', 'not_supported', 'device' or 'internal'\n"
      "pts: that of the frame which failed, or None\n"
      "param: the parameter that must be changed, or None\n"
      "value: its value; 0 where that is no single number\n"
      "range: the (least, most) that the value may be beside the other parameters, or None",
      nullptr, nullptr);
  if (!error_type) throw py::error_already_set();
  module.attr("Error") = error_type;
  module.def("version", &cj2k_version);
  module.def("devices", &devices);
  bind_memory(module);
  bind_params(module);
  bind_encoder(module);
  bind_film(module);
#if defined(CJ2K_SIMT_SHIM)
  bind_shim(module);
#endif
}

}  // namespace cj2k_python

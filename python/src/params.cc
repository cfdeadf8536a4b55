// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params.h"

namespace cj2k_python {

namespace {

const char* type_name(cj2k_param_type type) {
  switch (type) {
    case CJ2K_PARAM_INT:
      return "int";
    case CJ2K_PARAM_BOOL:
      return "bool";
    case CJ2K_PARAM_DOUBLE:
      return "float";
    case CJ2K_PARAM_ENUM:
      return "enum";
    case CJ2K_PARAM_FLAGS:
      return "flags";
    case CJ2K_PARAM_SIZE:
      return "size";
    case CJ2K_PARAM_LIST:
      return "list";
    case CJ2K_PARAM_TEXT:
      return "text";
    case CJ2K_PARAM_RECORDS:
      return "records";
    case CJ2K_PARAM_RATIO:
      return "ratio";
  }
  return "unknown";
}

py::list describe() {
  py::list rows;
  cj2k_param_info info;
  info.struct_size = sizeof info;
  for (int i = 0; cj2k_params_describe(i, &info) == CJ2K_OK; ++i) {
    rows.append(py::make_tuple(info.name, type_name(info.type), info.min, info.max,
                               info.default_value, info.values, info.unit, info.clause, info.help));
  }
  return rows;
}

}  // namespace

Params::Params() { cj2k_params_init(&raw, sizeof raw); }

void Params::set(const std::string& key, const std::string& value) {
  const cj2k_status status = cj2k_params_set(&raw, key.c_str(), value.c_str());
  if (status != CJ2K_OK) raise(last_error(nullptr));
}

std::string Params::get(const std::string& key) const {
  char text[CJ2K_MAX_PARAM_TEXT];
  const cj2k_status status = cj2k_params_get(&raw, key.c_str(), text, sizeof text);
  if (status != CJ2K_OK) raise(last_error(nullptr));
  return text;
}

void Params::set_icc_profile(const std::string& bytes) { icc_profile_ = bytes; }
void Params::set_jp2_boxes(const std::string& bytes) { jp2_boxes_ = bytes; }

void Params::set_cuda(uintptr_t context, uintptr_t stream) {
  raw.cuda_context = reinterpret_cast<void*>(context);
  raw.cuda_stream = reinterpret_cast<void*>(stream);
}

cj2k_params Params::with_bytes() const {
  cj2k_params p = raw;
  if (!icc_profile_.empty()) {
    p.icc_profile = icc_profile_.data();
    p.icc_profile_bytes = icc_profile_.size();
  }
  if (!jp2_boxes_.empty()) {
    p.jp2_boxes = jp2_boxes_.data();
    p.jp2_boxes_bytes = jp2_boxes_.size();
  }
  return p;
}

void bind_params(py::module_& module) {
  module.def("describe", &describe);
  py::class_<Params>(module, "Params")
      .def(py::init<>())
      .def("set", &Params::set)
      .def("get", &Params::get)
      .def("set_icc_profile",
           [](Params& self, const py::bytes& bytes) { self.set_icc_profile(bytes); })
      .def("set_jp2_boxes",
           [](Params& self, const py::bytes& bytes) { self.set_jp2_boxes(bytes); })
      .def("set_curves",
           [](Params& self, bool only) {
             self.raw.curves = only ? CJ2K_CURVES_ONLY : CJ2K_CURVES_OFF;
           })
      .def("set_cuda", &Params::set_cuda);
}

}  // namespace cj2k_python

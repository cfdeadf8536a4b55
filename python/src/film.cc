// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Films: curves are bytes, sizeof(cj2k_curve) each.
#include <cj2k_film.h>

#include <algorithm>
#include <cstring>

#include "encoder.h"

namespace cj2k_python {

namespace {

std::vector<cj2k_curve> curves_of(const std::string& bytes) {
  std::vector<cj2k_curve> curves(bytes.size() / sizeof(cj2k_curve));
  std::memcpy(curves.data(), bytes.data(), curves.size() * sizeof(cj2k_curve));
  return curves;
}

void check(cj2k_status status) {
  if (status != CJ2K_OK) raise(last_error(nullptr));
}

std::vector<int64_t> allocate(const py::bytes& curve_bytes, int64_t total, int64_t cap,
                              int64_t floor, double power, const std::vector<int64_t>& caps,
                              const std::vector<int64_t>& floors) {
  const std::vector<cj2k_curve> curves = curves_of(curve_bytes);
  for (const std::vector<int64_t>* each : {&caps, &floors}) {
    if (!each->empty() && each->size() != curves.size())
      throw py::value_error("caps and floors have one value for each of " +
                            std::to_string(curves.size()) + " frames, not " +
                            std::to_string(each->size()));
  }
  cj2k_film film{sizeof film, total, cap, floor, power};
  std::vector<int64_t> targets(curves.size());
  check(cj2k_film_allocate(&film, curves.data(), curves.size(),
                           caps.empty() ? nullptr : caps.data(),
                           floors.empty() ? nullptr : floors.data(), targets.data()));
  return targets;
}

py::bytes write_log(const Params& params, const py::bytes& curve_bytes) {
  const std::vector<cj2k_curve> curves = curves_of(curve_bytes);
  const cj2k_params p = params.with_bytes();
  std::string log(cj2k_film_log_size(curves.size()), '\0');
  check(cj2k_film_log_write(&p, curves.data(), curves.size(), log.data()));
  return log;
}

py::bytes read_log(const Params& params, const py::bytes& bytes) {
  const std::string log = bytes;
  const cj2k_params p = params.with_bytes();
  size_t frames = 0;
  check(cj2k_film_log_read(&p, log.data(), log.size(), nullptr, &frames));
  std::vector<cj2k_curve> curves(frames);
  check(cj2k_film_log_read(&p, log.data(), log.size(), curves.data(), &frames));
  return {reinterpret_cast<const char*>(curves.data()), frames * sizeof(cj2k_curve)};
}

}  // namespace

py::object curve_of(const Packet& packet) {
  cj2k_curve curve;
  if (cj2k_packet_curve(&packet.raw, &curve) != CJ2K_OK) return py::none();
  return py::bytes(reinterpret_cast<const char*>(&curve), sizeof curve);
}

void bind_film(py::module_& module) {
  module.attr("_CURVE_POINTS") = CJ2K_CURVE_POINTS;
  module.def("film_allocate", &allocate);
  module.def("film_write_log", &write_log);
  module.def("film_read_log", &read_log);
}

}  // namespace cj2k_python

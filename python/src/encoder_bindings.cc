// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "encoder.h"

namespace cj2k_python {

namespace {

/// The first values of an array, one for each component.
template <typename Value>
py::tuple per_component(const Packet& packet, const Value* values) {
  py::tuple all(packet.num_components);
  for (int c = 0; c < packet.num_components; ++c) all[c] = values[c];
  return all;
}

/// PSNR of each component in dB; None where the errors are estimates.
py::object psnr(const Packet& packet) {
  if (!packet.measured) return py::none();
  return per_component(packet, packet.stats.component_psnr);
}

py::dict stage_ms(const Packet& packet) {
  const double* ms = packet.stats.stage_ms;
  py::dict all;
  all["ingest"] = ms[CJ2K_STAGE_INGEST];
  all["transform"] = ms[CJ2K_STAGE_TRANSFORM];
  all["blocks"] = ms[CJ2K_STAGE_BLOCKS];
  all["rate"] = ms[CJ2K_STAGE_RATE];
  all["packets"] = ms[CJ2K_STAGE_PACKETS];
  return all;
}

py::buffer_info buffer(Packet& packet) {
  const auto size = static_cast<py::ssize_t>(packet.raw.size);
  return {packet.raw.data, 1, "B", 1, {size}, {1}, true};
}

py::bytes to_bytes(const Packet& packet) {
  return {reinterpret_cast<const char*>(packet.raw.data), packet.raw.size};
}

std::string represent(const Packet& packet) {
  return "<cj2k.Packet: " + std::to_string(packet.raw.size) + " bytes, pts " +
         std::to_string(packet.raw.pts) + ">";
}

void bind_packet(py::module_& module) {
#define CJ2K_STAT(name) def_property_readonly(#name, [](const Packet& p) { return p.stats.name; })
  py::class_<Packet>(module, "Packet", py::buffer_protocol(),
                     "The codestream of one frame: a read-only buffer of bytes, which files, "
                     "sockets and memoryview take as it is.\n\n"
                     "The other attributes are what the encoder knows about the frame.")
      .def_buffer(&buffer)
      .def("__len__", [](const Packet& p) { return p.raw.size; })
      .def("__bytes__", &to_bytes)
      .def("__repr__", &represent)
      .def_property_readonly("size", [](const Packet& p) { return p.raw.size; })
      .def_property_readonly("pts", [](const Packet& p) { return p.raw.pts; })
      .def_property_readonly("duration", [](const Packet& p) { return p.raw.duration; })
      .def_property_readonly("curve", &curve_of)
      .def_property_readonly("psnr", &psnr)
      .def_property_readonly("stage_ms", &stage_ms)
      .def_property_readonly("mse", [](const Packet& p) { return per_component(p, p.stats.mse); })
      .def_property_readonly(
          "component_bytes",
          [](const Packet& p) { return per_component(p, p.stats.component_bytes); })
      .CJ2K_STAT(header_bytes)
      .CJ2K_STAT(blocks)
      .CJ2K_STAT(passes_coded)
      .CJ2K_STAT(passes_included)
      .CJ2K_STAT(passes_resumed)
      .CJ2K_STAT(passes_left)
      .CJ2K_STAT(bytes_coded)
      .CJ2K_STAT(saved_ms)
      .CJ2K_STAT(rounds)
      .CJ2K_STAT(slope_threshold)
      .CJ2K_STAT(frame_in_gop)
      .CJ2K_STAT(verified);
#undef CJ2K_STAT
}

/// (answer, packet): a packet, "again" or "end".
py::tuple received(std::pair<Encoder::Answer, std::unique_ptr<Packet>> result) {
  switch (result.first) {
    case Encoder::Answer::kAgain:
      return py::make_tuple("again", py::none());
    case Encoder::Answer::kEnd:
      return py::make_tuple("end", py::none());
    default:
      return py::make_tuple("packet", std::move(result.second));
  }
}

/// @param views  tuples (memory, offset, stride_bytes, step_bytes, columns, rows, bits)
std::string send(Encoder& encoder, const py::list& views, int64_t pts, int64_t duration, bool hold,
                 double seconds, uintptr_t ready_stream, int64_t target_bytes,
                 int64_t max_frame_bytes, int64_t max_component_bytes, double quality) {
  std::vector<View> all;
  for (const py::handle& item : views) {
    const auto t = py::reinterpret_borrow<py::tuple>(item);
    all.push_back({t[0].cast<std::shared_ptr<Memory>>(), t[1].cast<int64_t>(), t[2].cast<int64_t>(),
                   t[3].cast<int32_t>(), t[4].cast<int32_t>(), t[5].cast<int32_t>(),
                   t[6].cast<int32_t>()});
  }
  const FrameValues values{pts,     duration,    target_bytes, max_frame_bytes, max_component_bytes,
                           quality, ready_stream};
  switch (encoder.send(std::move(all), values, hold, seconds)) {
    case Encoder::Answer::kAgain:
      return "again";
    case Encoder::Answer::kEnd:
      return "end";
    default:
      return "sent";
  }
}

}  // namespace

void bind_encoder(py::module_& module) {
  bind_packet(module);
  py::class_<Encoder>(module, "Encoder")
      .def(py::init<const Params&>())
      .def("send", &send)
      .def("drain", &Encoder::drain)
      .def("receive", [](Encoder& self) { return received(self.receive()); })
      .def("receive_ready",
           [](Encoder& self, double seconds) { return received(self.receive_ready(seconds)); })
      .def("flush", &Encoder::flush)
      .def("close", &Encoder::close)
      .def("info", &Encoder::info)
      .def("param", &Encoder::param)
      .def_property_readonly("is_closed", &Encoder::is_closed);
}

}  // namespace cj2k_python

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/encode.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace cj2k::test {
namespace {

void append_number(std::string& text, const char* name, double value) {
  char number[64];
  std::snprintf(number, sizeof number, "%.10g", value);
  text += std::string(text.empty() ? "" : " ") + name + "=" + number;
}

void append_list(std::string& text, const char* name, const int32_t* values, int32_t count) {
  text += std::string(text.empty() ? "" : " ") + name + "=";
  for (int32_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    text += std::to_string(values[i]);
  }
}

void append_records(std::string& text, const cj2k_params& p) {
  for (int i = 0; i < p.num_poc; ++i) {
    const cj2k_progression_change& e = p.poc[i];
    const int32_t fields[] = {e.resolution_begin, e.component_begin, e.layer_end,
                              e.resolution_end,   e.component_end,   e.progression};
    append_list(text, "poc", fields, 6);
  }
  for (int i = 0; i < p.num_roi; ++i) {
    const cj2k_region& r = p.roi[i];
    const int32_t fields[] = {r.x, r.y, r.width, r.height, r.shift};
    append_list(text, "roi", fields, 5);
  }
}

}  // namespace

cj2k_params make_params(int32_t width, int32_t height, int32_t num_components, int32_t depth) {
  cj2k_params p;
  REQUIRE(cj2k_params_init(&p, sizeof p) == CJ2K_OK);
  p.width = width;
  p.height = height;
  p.num_components = num_components;
  for (int c = 0; c < CJ2K_MAX_COMPONENTS; ++c) p.depth[c] = depth;
  return p;
}

void set(cj2k_params& params, const char* key, const std::string& value) {
  LogText log;
  params.log = LogText::append;
  params.log_opaque = &log;
  const cj2k_status status = cj2k_params_set(&params, key, value.c_str());
  params.log = nullptr;
  params.log_opaque = nullptr;
  CAPTURE(key);
  CAPTURE(value);
  CAPTURE(log.text);
  REQUIRE(status == CJ2K_OK);
}

cj2k_params params_from(std::initializer_list<std::pair<const char*, std::string>> settings) {
  cj2k_params p;
  REQUIRE(cj2k_params_init(&p, sizeof p) == CJ2K_OK);
  for (const auto& [key, value] : settings) set(p, key, value);
  return p;
}

std::string describe(const cj2k_params& p) {
  cj2k_params d;
  std::memset(&d, 0, sizeof d);
  if (cj2k_params_init(&d, sizeof d) != CJ2K_OK) return "?";
  std::string text;
#define CJ2K_FIELD(name) \
  if (p.name != d.name) append_number(text, #name, static_cast<double>(p.name))
#define CJ2K_ARRAY(name, count) \
  if (std::memcmp(p.name, d.name, sizeof p.name) != 0) append_list(text, #name, p.name, count)
  CJ2K_FIELD(width);
  CJ2K_FIELD(height);
  CJ2K_FIELD(image_offset_x);
  CJ2K_FIELD(image_offset_y);
  CJ2K_FIELD(tile_width);
  CJ2K_FIELD(tile_height);
  CJ2K_FIELD(tile_offset_x);
  CJ2K_FIELD(tile_offset_y);
  CJ2K_FIELD(num_components);
  CJ2K_ARRAY(depth, p.num_components);
  CJ2K_ARRAY(is_signed, p.num_components);
  CJ2K_ARRAY(dx, p.num_components);
  CJ2K_ARRAY(dy, p.num_components);
  CJ2K_FIELD(colorspace);
  CJ2K_FIELD(alpha);
  CJ2K_FIELD(lossless);
  CJ2K_FIELD(wavelet);
  CJ2K_FIELD(mct);
  CJ2K_FIELD(levels);
  CJ2K_FIELD(guard_bits);
  CJ2K_FIELD(quant_step);
  CJ2K_FIELD(cblk_width);
  CJ2K_FIELD(cblk_height);
  CJ2K_FIELD(cblk_style);
  CJ2K_ARRAY(precinct_width, p.num_precincts);
  CJ2K_ARRAY(precinct_height, p.num_precincts);
  CJ2K_FIELD(progression);
  CJ2K_FIELD(layers);
  for (int i = 0; i < p.num_layer_rates; ++i) append_number(text, "rate", p.layer_rates[i]);
  for (int i = 0; i < p.num_layer_psnr; ++i) append_number(text, "psnr", p.layer_psnr[i]);
  append_records(text, p);
  CJ2K_FIELD(tile_parts);
  CJ2K_FIELD(sop);
  CJ2K_FIELD(eph);
  CJ2K_FIELD(tlm);
  CJ2K_FIELD(plt);
  if (std::strcmp(p.comment, d.comment) != 0) text += std::string(" comment='") + p.comment + "'";
  CJ2K_FIELD(format);
  CJ2K_FIELD(primaries);
  CJ2K_FIELD(transfer);
  CJ2K_FIELD(profile);
  CJ2K_FIELD(main_level);
  CJ2K_FIELD(sub_level);
  CJ2K_FIELD(frame_rate_num);
  CJ2K_FIELD(frame_rate_den);
  CJ2K_FIELD(cinema_rate);
  CJ2K_FIELD(profile_strict);
  CJ2K_FIELD(target_bytes);
  CJ2K_FIELD(max_frame_bytes);
  CJ2K_FIELD(max_component_bytes);
  CJ2K_FIELD(min_frame_bytes);
  CJ2K_FIELD(quality);
  CJ2K_FIELD(threads);
  CJ2K_FIELD(gop);
  CJ2K_FIELD(async_depth);
#undef CJ2K_FIELD
#undef CJ2K_ARRAY
  return text;
}

cj2k_stats stats_of(const cj2k_packet& packet) {
  cj2k_stats stats = {};
  stats.struct_size = sizeof stats;
  REQUIRE(cj2k_packet_stats(&packet, &stats) == CJ2K_OK);
  return stats;
}

FrameMemory::FrameMemory(const Picture& picture, const FrameLayout& layout) : frame{} {
  frame.struct_size = sizeof frame;
  frame.memory = CJ2K_MEMORY_HOST;
  frame.width = picture.width;
  frame.height = picture.height;
  const ptrdiff_t n = static_cast<ptrdiff_t>(picture.components.size());
  Random noise(0xFEED);
  uint8_t* shared_base = nullptr;
  for (ptrdiff_t c = 0; c < n; ++c) {
    const ComponentPlane& plane = picture.components[static_cast<size_t>(c)];
    const int32_t bits = plane.depth + layout.shift;
    const int32_t word = layout.word_bytes != 0 ? layout.word_bytes
                         : bits <= 8            ? 1
                         : bits <= 16           ? 2
                                                : 4;
    const ptrdiff_t step = layout.interleaved ? n * word : word;
    const ptrdiff_t stride = plane.width * step + layout.gap_bytes;
    // The last row ends with its last word, so the heap block is exactly what may be read.
    uint8_t* base = shared_base;
    if (!layout.interleaved || c == 0) {
      const size_t size = static_cast<size_t>(stride * (plane.height - 1) + plane.width * step);
      blocks_.push_back(std::make_unique<uint8_t[]>(size));
      base = blocks_.back().get();
      for (size_t i = 0; i < size; ++i) base[i] = static_cast<uint8_t>(noise.next());
      if (layout.interleaved) shared_base = base;
    }
    base += layout.interleaved ? c * word : 0;
    const uint32_t mask = ((1u << plane.depth) - 1) << layout.shift;
    for (int32_t y = 0; y < plane.height; ++y) {
      uint8_t* row = base + stride * (layout.bottom_up ? plane.height - 1 - y : y);
      for (int32_t x = 0; x < plane.width; ++x) {
        const size_t index =
            static_cast<size_t>(y) * static_cast<size_t>(plane.width) + static_cast<size_t>(x);
        uint32_t value = (static_cast<uint32_t>(plane.samples[index]) << layout.shift) & mask;
        value |= static_cast<uint32_t>(noise.next()) & ~mask;
        const uint16_t half = static_cast<uint16_t>(value);
        const uint8_t byte = static_cast<uint8_t>(value);
        const void* source = word == 1   ? static_cast<const void*>(&byte)
                             : word == 2 ? &half
                                         : static_cast<void*>(&value);
        std::memcpy(row + x * step, source, static_cast<size_t>(word));
      }
    }
    cj2k_component_view& view = frame.components[c];
    view.data = layout.bottom_up ? base + stride * (plane.height - 1) : base;
    view.stride_bytes = layout.bottom_up ? -stride : stride;
    view.step_bytes = static_cast<int32_t>(step);
    view.word_bytes = word;
    view.shift = layout.shift;
  }
}

void LogText::append(void* opaque, cj2k_log_level, const char* message) {
  static_cast<LogText*>(opaque)->text += std::string(message) + "\n";
}

std::vector<Encoded> encode_sequence(cj2k_params params, const std::vector<Picture>& pictures,
                                     const FrameLayout& layout) {
  std::vector<Encoded> results;
  LogText log;
  params.log = LogText::append;
  params.log_opaque = &log;
  const auto failed = [&](cj2k_status status) {
    results.push_back({status, {}, {}, log.text});
    return results;
  };
  cj2k_encoder* raw = nullptr;
  const cj2k_status opened = cj2k_encoder_open(&params, &raw);
  if (opened != CJ2K_OK) return failed(opened);
  const std::unique_ptr<cj2k_encoder, void (*)(cj2k_encoder*)> encoder(raw, cj2k_encoder_close);

  // `release` is null, so the encoder has read the frame when send returns. Until then FrameMemory
  // must live.
  for (size_t sent = 0; sent <= pictures.size();) {
    cj2k_status status;
    if (sent < pictures.size()) {
      const FrameMemory memory(pictures[sent], layout);
      status = cj2k_encoder_send_frame(raw, &memory.frame);
    } else {
      status = cj2k_encoder_send_frame(raw, nullptr);
    }
    if (status == CJ2K_OK) ++sent;
    if (status < 0) return failed(status);
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    cj2k_status received;
    while ((received = cj2k_encoder_receive_packet(raw, &packet)) == CJ2K_OK) {
      results.push_back(
          {CJ2K_OK, {packet.data, packet.data + packet.size}, stats_of(packet), log.text});
      cj2k_packet_release(&packet);
    }
    if (received < 0) return failed(received);
  }
  return results;
}

Encoded encode(cj2k_params params, const Picture& picture, const FrameLayout& layout) {
  LogText log;
  params.log = LogText::append;
  params.log_opaque = &log;
  Encoded result;
  cj2k_encoder* encoder = nullptr;
  result.status = cj2k_encoder_open(&params, &encoder);
  if (result.status == CJ2K_OK) {
    const FrameMemory memory(picture, layout);
    result.status = cj2k_encoder_send_frame(encoder, &memory.frame);
    if (result.status == CJ2K_OK) result.status = cj2k_encoder_send_frame(encoder, nullptr);
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    if (result.status == CJ2K_OK) result.status = cj2k_encoder_receive_packet(encoder, &packet);
    if (result.status == CJ2K_OK) {
      result.bytes.assign(packet.data, packet.data + packet.size);
      result.stats = stats_of(packet);
      cj2k_packet_release(&packet);
    }
    cj2k_encoder_close(encoder);
  }
  result.log = log.text;
  return result;
}

}  // namespace cj2k::test

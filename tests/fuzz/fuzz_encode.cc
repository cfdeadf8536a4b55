// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Bytes -> parameters and frames -> encode. Every result is right except a crash, a hang, a read
// outside the frame, a codestream above its cap, or an error without a message.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cj2k.h"

namespace {

constexpr int64_t kMostSamples = 1 << 16;

/// Takes values from the front of the input. After its end they are zeros.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  int32_t word() {
    return static_cast<int32_t>(byte() | byte() << 8 | byte() << 16 |
                                static_cast<uint32_t>(byte()) << 24);
  }
  /// Mostly in [low, high], sometimes any value.
  int32_t number(int32_t low, int32_t high) {
    const uint8_t kind = byte();
    if (kind == 255) return word();
    const int32_t span = high - low + 1;
    return low + (span <= 256 ? kind % span : (kind << 8 | byte()) % span);
  }
  int32_t power_of_two(int32_t low_log2, int32_t high_log2) {
    const int32_t exponent = number(low_log2, high_log2);
    return exponent >= 0 && exponent < 31 ? 1 << exponent : exponent;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

void must(bool condition) {
  if (!condition) std::abort();
}

void count_errors(void* opaque, cj2k_log_level level, const char* message) {
  must(std::strchr(message, '\n') == nullptr);
  if (level == CJ2K_LOG_ERROR) ++*static_cast<int*>(opaque);
}

/// Entries that are mostly in range; the last one mostly has every packet that is left.
void choose_poc(cj2k_params& p, Input& in) {
  p.num_poc = in.number(0, 4);
  for (int i = 0; i < std::clamp(p.num_poc, 0, CJ2K_MAX_PROGRESSIONS); ++i) {
    const bool last = i + 1 == p.num_poc;
    cj2k_progression_change& entry = p.poc[i];
    entry.resolution_begin = last ? 0 : in.number(0, 3);
    entry.component_begin = last ? 0 : in.number(0, 1);
    entry.layer_end = last ? p.layers : in.number(1, 3);
    entry.resolution_end = last ? p.levels + 1 : in.number(1, 6);
    entry.component_end = last ? p.num_components : in.number(1, 3);
    entry.progression = static_cast<cj2k_progression>(in.number(0, 4));
  }
}

/// Rate-distortion optimised quantisation, mostly with what it needs.
void choose_effort(cj2k_params& p, Input& in) {
  const uint8_t kind = in.byte();
  p.effort = kind & 3;
  p.frame_steps = kind >> 2 & 1;
  if (kind & 0x80) return;
  p.stop = kind & 8 ? CJ2K_STOP_NONE : CJ2K_STOP_EXACT;
  p.lossless = 0;
}

/// The HT block coder, mostly without what it excludes.
void choose_ht(cj2k_params& p, Input& in) {
  p.coder = CJ2K_CODER_HT;
  const uint8_t kind = in.byte();
  p.frame_steps = kind & 1;
  if (kind == 255) return;
  p.num_roi = 0;
  p.cblk_style = kind & 2 ? CJ2K_STYLE_VSC : 0;
}

void choose_coder(cj2k_params& p, Input& in, uint8_t kind) {
  if (kind & 4) choose_ht(p, in);
  if (kind & 16) choose_effort(p, in);
}

void choose(cj2k_params& p, Input& in) {
  p.width = in.number(1, 70);
  p.height = in.number(1, 70);
  p.num_components = in.number(1, 4);
  const uint8_t shape = in.byte();
  for (int c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
    p.depth[c] = shape & 1 ? in.number(1, 16) : 8;
    p.is_signed[c] = shape & 2 ? in.number(0, 1) : 0;
    p.dx[c] = shape & 4 ? in.power_of_two(0, 2) : 1;
    p.dy[c] = shape & 4 ? in.power_of_two(0, 2) : 1;
  }
  if (shape & 8) {
    p.image_offset_x = in.number(0, 200);
    p.image_offset_y = in.number(0, 200);
  }
  if (shape & 16) {
    p.tile_width = in.number(5, 300);
    p.tile_height = in.number(5, 300);
    p.tile_offset_x = in.number(0, 200);
    p.tile_offset_y = in.number(0, 200);
  }
  const uint8_t coding = in.byte();
  if (coding & 1) p.wavelet = static_cast<cj2k_wavelet>(in.number(0, 1));
  if (coding & 2) p.mct = static_cast<cj2k_mct>(in.number(0, 2));
  if (coding & 4) p.levels = in.number(0, 32);
  if (coding & 8) p.guard_bits = in.number(1, 7);
  if (coding & 16) p.quant_step = in.number(0, 1000) / 100.0;
  if (coding & 32) {
    p.cblk_width = in.power_of_two(2, 10);
    p.cblk_height = in.power_of_two(2, 10);
  }
  if (coding & 64) p.cblk_style = in.number(0, 63);
  if (coding & 128) p.progression = static_cast<cj2k_progression>(in.number(0, 4));
  const uint8_t packets = in.byte();
  if (packets & 1) {
    p.num_precincts = in.number(0, 4);
    for (int i = 0; i < std::clamp(p.num_precincts, 0, CJ2K_MAX_RESOLUTIONS); ++i) {
      p.precinct_width[i] = in.power_of_two(0, 15);
      p.precinct_height[i] = in.power_of_two(0, 15);
    }
  }
  if (packets & 2) p.layers = in.number(1, 300);
  if (packets & 4) {
    p.num_layer_rates = p.layers = in.number(1, 5);
    for (int i = 0; i < std::clamp(p.num_layer_rates, 0, CJ2K_MAX_LAYER_RATES); ++i)
      p.layer_rates[i] = in.number(1, 200);
  }
  if (packets & 8) p.tile_parts = static_cast<cj2k_tile_parts>(in.number(0, 2));
  p.sop = packets >> 4 & 1;
  p.eph = packets >> 5 & 1;
  p.plt = packets >> 6 & 1;
  p.format = static_cast<cj2k_format>(packets >> 7 & 1);
  const uint8_t rate = in.byte();
  p.lossless = rate & 1;
  if (rate & 2) p.target_bytes = in.number(0, 20000);
  if (rate & 4) p.max_frame_bytes = in.number(0, 20000);
  if (rate & 8) p.max_component_bytes = in.number(0, 20000);
  if (rate & 16) p.min_frame_bytes = in.number(0, 70000);
  if (rate & 32) p.quality = in.number(0, 2000) / 50.0;
  if (rate & 64) p.alpha = in.number(0, 1);
  p.tlm = rate >> 7;
  const uint8_t records = in.byte();
  if (records & 1) choose_poc(p, in);
  if (records & 2) {
    p.num_roi = in.number(0, 3);
    for (int i = 0; i < std::clamp(p.num_roi, 0, CJ2K_MAX_REGIONS); ++i)
      p.roi[i] = {in.number(0, 100), in.number(0, 100), in.number(1, 50), in.number(1, 50),
                  in.byte() & 1 ? in.number(0, 30) : 0};
  }
  choose_coder(p, in, records);
  if (records & 8) p.qfactor = in.number(-1, 101);
  p.threads = in.number(1, 3);
  p.gop = in.number(0, 3);
  p.async_depth = in.number(0, 3);
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The samples lie in heap blocks of exactly the size that may be read.
bool make_frame(const cj2k_params& p, Input& in, cj2k_frame& frame,
                std::unique_ptr<uint8_t[]>* blocks) {
  frame.struct_size = sizeof frame;
  frame.width = p.width;
  frame.height = p.height;
  const uint8_t layout = in.byte();
  uint32_t state = static_cast<uint32_t>(in.word());
  const uint8_t content = in.byte();
  for (int c = 0; c < p.num_components; ++c) {
    const int64_t width = ceil_div(int64_t{p.image_offset_x} + p.width, p.dx[c]) -
                          ceil_div(p.image_offset_x, p.dx[c]);
    const int64_t height = ceil_div(int64_t{p.image_offset_y} + p.height, p.dy[c]) -
                           ceil_div(p.image_offset_y, p.dy[c]);
    if (width * height > kMostSamples) return false;
    cj2k_component_view& view = frame.components[c];
    view.word_bytes = p.depth[c] <= 8 && !(layout & 1) ? 1 : layout & 2 ? 4 : 2;
    view.shift = layout & 4 ? 8 * view.word_bytes - p.depth[c] : 0;
    view.step_bytes = view.word_bytes + (layout & 8 ? 1 : 0);
    const int64_t row = (width - 1) * view.step_bytes + view.word_bytes;
    const int64_t stride = width * view.step_bytes + (layout & 16 ? 3 : 0);
    const int64_t size = stride * (height - 1) + row;
    blocks[c] = std::make_unique<uint8_t[]>(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) {
      state = state * 1664525 + 1013904223;
      blocks[c][i] = content < 64    ? content
                     : content < 128 ? static_cast<uint8_t>(i * content)
                                     : static_cast<uint8_t>(state >> 24);
    }
    view.data = layout & 32 ? blocks[c].get() + stride * (height - 1) : blocks[c].get();
    view.stride_bytes = static_cast<ptrdiff_t>(layout & 32 ? -stride : stride);
  }
  return true;
}

void check_packet(const cj2k_params& p, const cj2k_packet& packet) {
  const int64_t size = static_cast<int64_t>(packet.size);
  cj2k_stats stats = {};
  stats.struct_size = sizeof stats;
  must(cj2k_packet_stats(&packet, &stats) == CJ2K_OK);
  must(size == stats.bytes && size > 0);
  must(p.target_bytes == 0 || size <= p.target_bytes);
  must(p.max_frame_bytes == 0 || size <= p.max_frame_bytes);
  must(size >= p.min_frame_bytes);
  for (int c = 0; c < p.num_components; ++c) {
    must(p.max_component_bytes == 0 || stats.component_bytes[c] <= p.max_component_bytes);
  }
  must(packet.data[size - 2] == 0xFF &&
       packet.data[size - 1] == 0xD9);  // also reads up to the promised end
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  int errors = 0;
  cj2k_params p;
  must(cj2k_params_init(&p, sizeof p) == CJ2K_OK);
  choose(p, in);
  p.log = count_errors;
  p.log_opaque = &errors;
  // Legal but too large to encode. Only the result of open matters here, and only if it is quick.
  if (p.width > 4096 || p.height > 4096 || p.threads > 8 || p.gop > 8 || p.async_depth > 8) {
    p.width = std::min(p.width, 64);
    p.height = std::min(p.height, 64);
    p.threads = std::min(p.threads, 4);
    p.gop = std::min(p.gop, 4);
    p.async_depth = std::min(p.async_depth, 4);
  }
  cj2k_encoder* encoder = nullptr;
  const cj2k_status opened = cj2k_encoder_open(&p, &encoder);
  must((opened == CJ2K_OK) == (encoder != nullptr));
  must(opened == CJ2K_OK || errors == 1);
  must(opened != CJ2K_INTERNAL);
  if (opened != CJ2K_OK) return 0;
  cj2k_frame frame = {};
  std::unique_ptr<uint8_t[]> blocks[CJ2K_MAX_COMPONENTS];
  if (make_frame(p, in, frame, blocks)) {
    cj2k_packet packet = {};
    packet.struct_size = sizeof packet;
    const int frames = 1 + in.byte() % 3;
    for (int sent = 0; sent <= frames;) {
      const cj2k_status status = cj2k_encoder_send_frame(encoder, sent < frames ? &frame : nullptr);
      must(status == CJ2K_OK || status == CJ2K_AGAIN);
      sent += status == CJ2K_OK;
      while (cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_OK) {
        check_packet(p, packet);
        cj2k_packet_release(&packet);
      }
    }
    must(errors == 0);
  }
  cj2k_encoder_close(encoder);
  return 0;
}

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Codestreams that the fuzzers of readers start from.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cj2k.h"

namespace cj2k_fuzz {

using Settings = std::vector<std::pair<const char*, const char*>>;

/// Small, so that a fuzzer runs whole codestreams, at a few hundred bytes each, thousands of times a second.
inline constexpr int kWidth = 36, kHeight = 28;

/// Ends the program where the condition does not hold, and says in which line.
inline void must(bool condition, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (condition) return;
  std::fprintf(stderr, "%s:%d: does not hold\n", file, line);
  std::abort();
}

/// Encodes a frame of specks, kWidth x kHeight, three components of 8 bits.
inline std::vector<uint8_t> encode_specks(const Settings& settings) {
  cj2k_params p;
  must(cj2k_params_init(&p, sizeof p) == CJ2K_OK);
  p.width = kWidth;
  p.height = kHeight;
  p.threads = 1;
  for (const auto& [key, value] : settings) must(cj2k_params_set(&p, key, value) == CJ2K_OK);
  std::vector<uint8_t> samples(3 * kWidth * kHeight);
  uint32_t state = 1;
  for (uint8_t& sample : samples) {
    state = state * 69069 + 1;
    sample = state >> 24 == 0 ? state >> 16 & 255 : 100;
  }
  cj2k_frame frame = {};
  frame.struct_size = sizeof frame;
  frame.width = kWidth;
  frame.height = kHeight;
  for (int c = 0; c < 3; ++c)
    frame.components[c] = {&samples[static_cast<size_t>(c)], 3 * kWidth, 3, 1, 0};
  cj2k_encoder* encoder = nullptr;
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  must(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  must(cj2k_encoder_send_frame(encoder, &frame) == CJ2K_OK);
  must(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
  must(cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_OK);
  std::vector<uint8_t> bytes(packet.data, packet.data + packet.size);
  cj2k_packet_release(&packet);
  cj2k_encoder_close(encoder);
  return bytes;
}

/// Gives an empty corpus folder, the first argument of the program that is no option, a seed for each of the settings: what
/// `change(i, frame)` makes of the encoded frame.
template <typename Change>
void write_seeds(int argc, char** argv, const std::vector<Settings>& settings,
                 const Change& change) {
  int first = 1;
  while (first < argc && argv[first][0] == '-') ++first;
  if (first >= argc || !std::filesystem::is_directory(argv[first])) return;
  const std::filesystem::path folder = argv[first];
  if (!std::filesystem::is_empty(folder)) return;
  for (size_t i = 0; i < settings.size(); ++i) {
    const std::vector<uint8_t> bytes = change(i, encode_specks(settings[i]));
    std::FILE* out = std::fopen((folder / ("seed" + std::to_string(i))).c_str(), "wb");
    must(out != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size());
    std::fclose(out);
  }
}

inline void write_seeds(int argc, char** argv, const std::vector<Settings>& settings) {
  write_seeds(argc, argv, settings,
              [](size_t, const std::vector<uint8_t>& frame) { return frame; });
}

}  // namespace cj2k_fuzz

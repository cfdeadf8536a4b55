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

inline constexpr int kWidth = 50, kHeight = 40;

inline void must(bool condition) {
  if (!condition) std::abort();
}

/// Encodes a frame of noise, kWidth x kHeight, three components of 8 bits.
inline std::vector<uint8_t> encode_noise(const Settings& settings) {
  cj2k_params p;
  must(cj2k_params_init(&p, sizeof p) == CJ2K_OK);
  p.width = kWidth;
  p.height = kHeight;
  p.threads = 1;
  for (const auto& [key, value] : settings) must(cj2k_params_set(&p, key, value) == CJ2K_OK);
  std::vector<uint8_t> samples(3 * kWidth * kHeight);
  uint32_t state = 1;
  for (uint8_t& sample : samples) sample = static_cast<uint8_t>((state = state * 69069 + 1) >> 26);
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

/// Gives an empty corpus folder, the first argument of the program, a seed for each of the settings: the
/// encoded frame, after `head(i)`.
template <typename Head>
void write_seeds(int argc, char** argv, const std::vector<Settings>& settings, const Head& head) {
  if (argc < 2 || !std::filesystem::is_directory(argv[1])) return;
  const std::filesystem::path folder = argv[1];
  if (!std::filesystem::is_empty(folder)) return;
  for (size_t i = 0; i < settings.size(); ++i) {
    std::vector<uint8_t> bytes = head(i);
    const std::vector<uint8_t> frame = encode_noise(settings[i]);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    std::FILE* out = std::fopen((folder / ("seed" + std::to_string(i))).c_str(), "wb");
    must(out != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size());
    std::fclose(out);
  }
}

inline void write_seeds(int argc, char** argv, const std::vector<Settings>& settings) {
  write_seeds(argc, argv, settings, [](size_t) { return std::vector<uint8_t>(); });
}

}  // namespace cj2k_fuzz

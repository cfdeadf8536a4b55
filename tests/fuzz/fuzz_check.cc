// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Bytes -> the conformance checker, as a file of any kind. Every result is right except a crash, a
// hang, or findings without text. An empty corpus folder gets codestreams to start from.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cj2k.h"
#include "tools/check/check.h"

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

using Settings = std::vector<std::pair<const char*, const char*>>;

void write_seed(const std::filesystem::path& file, const Settings& settings) {
  constexpr int kWidth = 50, kHeight = 40;
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
    frame.components[c] = {&samples[static_cast<size_t>(c)], 150, 3, 1, 0};
  cj2k_encoder* encoder = nullptr;
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  must(cj2k_encoder_open(&p, &encoder) == CJ2K_OK);
  must(cj2k_encoder_send_frame(encoder, &frame) == CJ2K_OK);
  must(cj2k_encoder_send_frame(encoder, nullptr) == CJ2K_OK);
  must(cj2k_encoder_receive_packet(encoder, &packet) == CJ2K_OK);
  std::FILE* out = std::fopen(file.c_str(), "wb");
  must(out != nullptr && std::fwrite(packet.data, 1, packet.size, out) == packet.size);
  std::fclose(out);
  cj2k_packet_release(&packet);
  cj2k_encoder_close(encoder);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::vector<Settings> seeds = {
      {{"lossless", "1"}, {"plt", "1"}},
      {{"target_bytes", "9000"}, {"layers", "3"}, {"tile", "20x30"}, {"sop", "1"}, {"eph", "1"}},
      {{"cblk", "8x8"}, {"precincts", "16x16"}, {"progression", "rpcl"}, {"levels", "2"}},
      {{"progression", "cprl"}, {"tile_parts", "component"}, {"cblk_style", "bypass+termall"}},
      {{"progression", "pcrl"}, {"precincts", "16x16"}, {"format", "jp2"}}};
  if (*argc < 2 || !std::filesystem::is_directory((*argv)[1])) return 0;
  const std::filesystem::path folder = (*argv)[1];
  if (!std::filesystem::is_empty(folder)) return 0;
  for (size_t i = 0; i < seeds.size(); ++i)
    write_seed(folder / ("seed" + std::to_string(i)), seeds[i]);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cj2k_check;
  if (size == 0) return 0;
  static const char* const profiles[] = {"auto",     "none",     "profile0",       "profile1",
                                         "cinema4k", "imf_4k_r", "broadcast_multi"};
  Options options;
  options.profile = profiles[data[size - 1] % 7];
  options.limits.most_blocks = 1 << 18;
  options.limits.most_steps = 1 << 22;
  const FileResult result = check_bytes({data, size}, options);
  for (const Finding& finding : result.report.findings()) {
    must(!finding.rule.empty() && !finding.clause.empty() && !finding.found.empty());
  }
  must(!describe(result, false).empty());
  return 0;
}

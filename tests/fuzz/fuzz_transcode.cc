// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Bytes -> cj2k_transcode's code, with fewer code-blocks allowed. What it takes must come back: with either
// coder, the way through the other one ends in the same bytes when its layers are all one. Under a cap of half its bytes it has no
// more, and can be read. An empty corpus folder gets codestreams to start from.
#include <vector>

#include "seeds.h"
#include "transcode/transcode.h"

namespace {

using namespace cj2k;
using cj2k_fuzz::must;

const std::vector<cj2k_fuzz::Settings> kSettings = {
    {{"lossless", "1"}, {"plt", "1"}},
    {{"layers", "3"}, {"tile", "20x30"}, {"sop", "1"}, {"eph", "1"}, {"cblk_style", "vsc"}},
    {{"cblk", "8x8"}, {"precincts", "16x16"}, {"progression", "rpcl"}, {"levels", "2"}},
    {{"tile_parts", "component"}, {"progression", "cprl"}, {"cblk_style", "bypass+termall"}},
    {{"coder", "ht"}, {"target_bytes", "3000"}, {"format", "jp2"}},
    {{"layers", "2"}, {"poc", "0,0,1,3,2,cprl/0,0,2,6,3,pcrl"}, {"dx", "1,2,2"}, {"tlm", "1"}},
    {{"target_bytes", "2000"}, {"roi", "5,5,20,20"}, {"cblk_style", "segsym+reset"}},
};

bool transcode_to(cj2k_coder coder, std::span<const uint8_t> in, std::vector<uint8_t>* out,
                  bool keeps_layers = true) {
  const TranscodeOptions options{
      .coder = coder, .keeps_layers = keeps_layers, .most_blocks = 1 << 12};
  return transcode(in, options, Log(), out) == Status::kOk;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  cj2k_fuzz::write_seeds(*argc, *argv, kSettings);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> in(data, size);
  std::vector<uint8_t> ebcot, ht, back, one, again;
  const bool has_ebcot = transcode_to(CJ2K_CODER_EBCOT, in, &ebcot);
  if (has_ebcot) {
    must(transcode_to(CJ2K_CODER_EBCOT, in, &one, false));
    must(transcode_to(CJ2K_CODER_EBCOT, ebcot, &again, false) && again == one);
  }
  if (transcode_to(CJ2K_CODER_HT, in, &ht)) {
    must(has_ebcot);
    must(transcode_to(CJ2K_CODER_HT, ebcot, &again) && again == ht);
    must(transcode_to(CJ2K_CODER_EBCOT, ht, &back));
    must(transcode_to(CJ2K_CODER_HT, back, &again) && again == ht);
    must(transcode_to(CJ2K_CODER_EBCOT, back, &again, false) && again == one);
  }
  if (has_ebcot && ebcot.size() > 2) {
    const TranscodeOptions half{
        .coder = CJ2K_CODER_AUTO, .max_bytes = ebcot.size() / 2, .most_blocks = 1 << 12};
    std::vector<uint8_t> cut;
    if (transcode(in, half, Log(), &cut) == Status::kOk) {
      must(cut.size() <= half.max_bytes);
      must(transcode_to(CJ2K_CODER_EBCOT, cut, &again));
    }
  }
  return 0;
}

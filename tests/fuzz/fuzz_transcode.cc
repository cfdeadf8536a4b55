// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Bytes -> cj2k_transcode's code, with fewer code-blocks allowed. What it takes must come back: with either
// coder, the way through the other one ends in the same bytes when its layers are all one. Under a cap of half its bytes it has no
// more, and can be read. An empty corpus folder gets codestreams to start from.
#include <algorithm>
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
    {{"coder", "ht"}, {"target_bytes", "600"}, {"format", "jp2"}},
    {{"layers", "2"}, {"poc", "0,0,1,3,2,cprl/0,0,2,6,3,pcrl"}, {"dx", "1,2,2"}, {"tlm", "1"}},
    {{"target_bytes", "500"}, {"roi", "5,5,20,20"}, {"cblk_style", "segsym+reset"}},
    {{"sop", "1"}, {"eph", "1"}, {"tlm", "0"}, {"tile_parts", "resolution"}},
    {{"sop", "1"}, {"eph", "1"}, {"tlm", "0"}, {"tile", "20x30"}, {"layers", "2"}},
};
constexpr size_t kFirstPacked = 7;

using Bytes = std::vector<uint8_t>;

/// Where the marker is, at `from` or later; or the end.
size_t find_marker(const Bytes& bytes, size_t from, uint8_t marker) {
  while (from + 1 < bytes.size() && (bytes[from] != 0xFF || bytes[from + 1] != marker)) ++from;
  return from + 1 < bytes.size() ? from : bytes.size();
}
void append(Bytes& to, const Bytes& from, size_t begin, size_t end) {
  to.insert(to.end(), from.begin() + static_cast<ptrdiff_t>(begin),
            from.begin() + static_cast<ptrdiff_t>(end));
}
void append_u32(Bytes& to, size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<uint8_t>(value >> shift));
}
/// A PPM or PPT segment, number 0. Packet headers have fewer than 65,000 bytes here.
void append_packed(Bytes& to, uint8_t marker, const Bytes& headers) {
  const size_t size = headers.size() + 3;
  for (const size_t byte : {size_t{0xFF}, size_t{marker}, size >> 8, size & 0xFF, size_t{0}})
    to.push_back(static_cast<uint8_t>(byte));
  append(to, headers, 0, headers.size());
}

/// Moves the packet headers of a codestream with SOP and EPH into a PPM segment of the main header, or a PPT
/// segment of each tile-part (T.800 A.7.4, A.7.5).
Bytes pack_headers(const Bytes& in, bool into_main_header) {
  constexpr uint8_t kSot = 0x90, kSop = 0x91, kEph = 0x92, kSod = 0x93, kPpm = 0x60, kPpt = 0x61;
  size_t at = find_marker(in, 0, kSot);
  Bytes out(in.begin(), in.begin() + static_cast<ptrdiff_t>(at)), parts, all_headers;
  while (at + 12 < in.size() && in[at + 1] == kSot) {
    const size_t end =
        at + (size_t{in[at + 6]} << 24 | in[at + 7] << 16 | in[at + 8] << 8 | in[at + 9]);
    const size_t sod = find_marker(in, at, kSod);
    Bytes headers, body = {0xFF, kSod};
    for (size_t packet = sod + 2; packet < end;) {
      const size_t header = packet + 6;  // after SOP
      const size_t data = find_marker(in, header, kEph) + 2;
      const size_t next = std::min(find_marker(in, data, kSop), end);
      append(headers, in, header, data);
      append(body, in, packet, header);
      append(body, in, data, next);
      packet = next;
    }
    Bytes part;
    append(part, in, at, sod);
    if (into_main_header) {
      append_u32(all_headers, headers.size());
      append(all_headers, headers, 0, headers.size());
    } else {
      append_packed(part, kPpt, headers);
    }
    append(part, body, 0, body.size());
    Bytes psot;
    append_u32(psot, part.size());
    std::copy(psot.begin(), psot.end(), part.begin() + 6);
    append(parts, part, 0, part.size());
    at = end;
  }
  if (into_main_header) append_packed(out, kPpm, all_headers);
  append(out, parts, 0, parts.size());
  append(out, in, at, in.size());
  return out;
}

bool transcode_to(cj2k_coder coder, std::span<const uint8_t> in, std::vector<uint8_t>* out,
                  bool keeps_layers = true) {
  const TranscodeOptions options{
      .coder = coder, .keeps_layers = keeps_layers, .most_blocks = 1 << 12};
  return transcode(in, options, Log(), out) == Status::kOk;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  cj2k_fuzz::write_seeds(*argc, *argv, kSettings, [](size_t i, const Bytes& frame) {
    if (i < kFirstPacked) return frame;
    const Bytes packed = pack_headers(frame, i == kFirstPacked);
    Bytes out, want;  // the seed is of no use where it cannot be read
    must(transcode_to(CJ2K_CODER_EBCOT, packed, &out) &&
         transcode_to(CJ2K_CODER_EBCOT, frame, &want));
    must(out == want);
    return packed;
  });
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

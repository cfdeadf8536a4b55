// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Marker segments of T.800 Annex A. Everything that depends only on the plan is built once, as
// bytes.
//
// Two optional pointer marker segments have limits that a legal plan can exceed. Such a plan has a
// codestream without them:
//   TLM  at most 256 segments (Ztlm) of kMaxTlmEntries tile-parts each: 65280 tile-parts
//   PLT  at most 256 segments (Zplt) in each tile-part: 3.35 million entries of 5 bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace cj2k {

inline constexpr uint16_t kMarkerSoc = 0xFF4F, kMarkerCap = 0xFF50, kMarkerSiz = 0xFF51,
                          kMarkerCod = 0xFF52, kMarkerTlm = 0xFF55, kMarkerPlt = 0xFF58,
                          kMarkerQcd = 0xFF5C, kMarkerQcc = 0xFF5D, kMarkerRgn = 0xFF5E,
                          kMarkerPoc = 0xFF5F, kMarkerCom = 0xFF64, kMarkerSot = 0xFF90,
                          kMarkerSop = 0xFF91, kMarkerEph = 0xFF92, kMarkerSod = 0xFF93,
                          kMarkerEoc = 0xFFD9;

inline constexpr uint32_t kSopBytes = 6, kEphBytes = 2, kSotBytes = 12, kSodBytes = 2,
                          kEocBytes = 2;
/// Entries of one TLM marker segment. There is room for 10921 entries of 6 bytes, but FFmpeg's
/// decoder counts them in 8 bits.
inline constexpr uint32_t kMaxTlmEntries = 255;
/// Psot is a 32-bit number (A.4.2).
inline constexpr uint64_t kMaxTilePartBytes = 0xFFFFFFFFu;

/// SOC, SIZ, CAP with coder = ht, COD, QCD, QCC for components whose quantisation differs from that
/// of component 0, RGN for each component where there is a region of interest, POC where there are
/// progression order changes, TLM (with lengths 0), COM. There is no COC, because the parameters
/// have no coding style per component.
struct MainHeader {
  std::vector<uint8_t> bytes;
  size_t comment_offset = 0;  ///< of the COM marker, the last segment; 0: no comment
  size_t tlm_offset = 0;      ///< of the first TLM marker in `bytes`; 0: no TLM
  uint32_t tlm_entry_bytes = 0;

  /// Fills in the length of a tile-part in `header`, a copy of `bytes`.
  void set_tile_part_bytes(uint8_t* header, size_t tile_part, uint32_t tile_part_bytes) const;
};
/// @param step_set  of the frame (Plan::finer_subbands); the length does not depend on it
MainHeader make_main_header(const Plan& plan, uint32_t step_set = 0);

/// @param tile_part_bytes  Psot: from the SOT marker to the end of the tile-part
uint8_t* store_sot(uint8_t* out, const TilePart& tile_part, uint32_t tile_part_bytes);
/// @param number  index of the packet in its tile; Nsop is this modulo 65536
uint8_t* store_sop(uint8_t* out, uint32_t number);

/// Stores COM segments (Rcom 0, zeros) of `bytes` bytes in total: 0, or at least kMinPaddingBytes.
inline constexpr uint32_t kMinPaddingBytes = 7;
uint8_t* store_padding(uint8_t* out, uint64_t bytes);
/// Pads by fewer bytes: adds `bytes` spaces at the end of the comment. There must be a comment.
/// @param header  a copy of `layout.bytes`
/// @return the new end of the header
uint8_t* lengthen_comment(const MainHeader& layout, uint8_t* header, uint32_t bytes);

/// Whether tile-part headers have PLT: it is asked for, and within its limits.
bool has_plt(const Plan& plan);
/// Bytes of the PLT entry of one packet: the packet's length in groups of 7 bits (A.7.3).
inline uint32_t plt_entry_bytes(uint64_t packet_bytes) {
  uint32_t groups = 1;
  while (packet_bytes >>= 7) ++groups;
  return groups;
}
/// Upper bound on the bytes that PLT adds to a tile-part in addition to the entries: marker, Lplt
/// and Zplt of each segment.
uint64_t max_plt_overhead_bytes(uint64_t num_packets);

/// Makes the PLT marker segments of one tile-part. It fills a segment until an entry does not fit.
class PltWriter {
 public:
  /// @param out  nullptr: count bytes only
  explicit PltWriter(uint8_t* out) : out_(out) {}
  void add(uint64_t packet_bytes);
  /// @return bytes of all segments
  uint64_t finish();

 private:
  void close_segment();

  uint8_t* out_;
  uint64_t bytes_ = 0;          // of the closed segments
  uint32_t segment_bytes_ = 0;  // of the open segment with its marker; 0: none is open
  uint32_t num_segments_ = 0;
};

}  // namespace cj2k

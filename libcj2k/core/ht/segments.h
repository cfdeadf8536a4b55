// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The codeword segments of an HT code-block (T.814). The cleanup segment is
//
//   MagSgn ->   MEL ->   <- VLC   length word
//
// where the length word (12 bits: the last byte, and the low half of the one before) counts the
// bytes from MEL on. The refinement segment is SigProp ->, or SigProp -> <- MagRef. Parts that meet
// share a byte where their bits allow it.
#pragma once

#include <cstdint>

#include "core/hd.h"
#include "core/ht/bit_streams.h"
#include "core/ht/cxt_vlc.h"

namespace cj2k {

/// Most bytes of the parts of a cleanup segment of 1024 quads: 33 bits for each sample with one
/// stuffed bit in 15; 7 + 3 + 5 + 4 bits for each quad with one in 7; and, for MEL, one event for
/// each quad and one for each pair of the first row, of 6 bits.
inline constexpr uint32_t kMaxMagSgnBytes = 19456, kMaxVlcBytes = 3072, kMaxMelBytes = 1536;

struct HtCleanupMemory {
  uint8_t mag_sgn[kMaxMagSgnBytes];
  uint8_t vlc[kMaxVlcBytes];
  uint8_t mel[kMaxMelBytes];
};

/// Whether two last bytes can be one. @param mask_a, mask_b  the bits that matter to each
CJ2K_HD constexpr bool may_share(uint32_t a, uint32_t mask_a, uint32_t b, uint32_t mask_b) {
  const uint32_t both = a | b;
  return ((both ^ a) & mask_a) == 0 && ((both ^ b) & mask_b) == 0;
}

/// The three streams of a cleanup pass. The quads of a pair come one after the other, then
/// put_u_pair; the values of a quad come after it, in the order of its samples.
class HtCleanupStreams {
 public:
  /// `memory` must outlive it.
  CJ2K_HD constexpr explicit HtCleanupStreams(HtCleanupMemory& memory)
      : memory_(memory), mag_sgn_(memory.mag_sgn), vlc_(memory.vlc, true), mel_(memory.mel) {}

  /// @param first  the quad is in the first row of quads
  /// @return e_k: samples of which the codeword says whether their exponent is U
  CJ2K_HD constexpr uint32_t put_quad(uint32_t c_q, uint32_t rho, uint32_t eps, bool first) {
    if (c_q == 0) mel_.put_event(rho != 0);
    if (c_q == 0 && rho == 0) return 0;
    const CxtVlcWord word = (first ? kCxtVlcFirst : kCxtVlcOther)[cxt_vlc_index(c_q, rho, eps)];
    vlc_.put(word.codeword, word.length);
    return word.known;
  }
  /// @param value  its low `bits` bits are coded
  CJ2K_HD constexpr void put_value(uint32_t value, uint32_t bits) {
    mag_sgn_.put(static_cast<uint32_t>(value & ((uint64_t{1} << bits) - 1)), bits);
  }
  /// For coders that have looked up the codewords themselves.
  CJ2K_HD constexpr void put_event(bool event) { mel_.put_event(event); }
  CJ2K_HD constexpr void put_zero_events(uint32_t count) { mel_.put_zeros(count); }
  CJ2K_HD constexpr void put_vlc(uint32_t bits, uint32_t count) { vlc_.put(bits, count); }

  /// Codes u of both quads; 0 for a quad that is missing.
  CJ2K_HD constexpr void put_u_pair(uint32_t u0, uint32_t u1, bool first) {
    if (!first || u0 == 0 || u1 == 0) {
      put_u_words(uvlc_word(u0), uvlc_word(u1));
      return;
    }
    const bool both_above_2 = u0 > 2 && u1 > 2;
    mel_.put_event(both_above_2);
    if (both_above_2) {
      put_u_words(uvlc_word(u0 - 2), uvlc_word(u1 - 2));
    } else if (u0 > 2) {
      // The decoder knows that u1 is 1 or 2: one bit.
      put_u_words(uvlc_word(u0), {static_cast<uint8_t>(u1 - 1), 1, 0, 0, 0, 0});
    } else {
      put_u_words(uvlc_word(u0), uvlc_word(u1));
    }
  }
  /// Ends the streams. @return bytes of the segment
  CJ2K_HD_INLINE constexpr uint32_t finish(uint8_t* out) {
    mag_sgn_.drain();
    const uint32_t mag_sgn_bytes = end_mag_sgn();
    for (uint32_t i = 0; i < mag_sgn_bytes; ++i) out[i] = memory_.mag_sgn[i];
    return mag_sgn_bytes + end_mel_and_vlc(out + mag_sgn_bytes);
  }
  /// Ends the streams but for MagSgn. @return bytes of what follows MagSgn
  CJ2K_HD constexpr uint32_t end_mel_and_vlc(uint8_t* out) {
    vlc_.drain();
    mel_.finish();
    uint32_t mel_bytes = mel_.num_bytes(), vlc_bytes = vlc_.num_bytes();
    const uint32_t mel = mel_.last_byte(), mel_mask = 0xFFu << mel_.free_bits() & 0xFF;
    const uint32_t vlc = vlc_.last_byte(), vlc_mask = (1u << vlc_.last_bits()) - 1;
    if ((mel_mask | vlc_mask) != 0) {
      memory_.mel[mel_bytes++] = static_cast<uint8_t>(mel | vlc);
      // The first byte of VLC has half of the length word, so it is not shared.
      if (vlc_bytes == 0 || (mel | vlc) == 0xFF || !may_share(mel, mel_mask, vlc, vlc_mask)) {
        memory_.mel[mel_bytes - 1] = static_cast<uint8_t>(mel);
        memory_.vlc[vlc_bytes++] = static_cast<uint8_t>(vlc);
      }
    }
    for (uint32_t i = 0; i < mel_bytes; ++i) out[i] = memory_.mel[i];
    for (uint32_t i = 0; i < vlc_bytes; ++i) out[mel_bytes + i] = memory_.vlc[vlc_bytes - 1 - i];
    const uint32_t total = mel_bytes + vlc_bytes + 1;
    out[total - 1] = static_cast<uint8_t>(total >> 4);
    out[total - 2] = static_cast<uint8_t>((out[total - 2] & 0xF0) | (total & 0xF));
    return total;
  }

 private:
  CJ2K_HD constexpr void put_u_words(const UVlcWord& a, const UVlcWord& b) {
    vlc_.put(a.prefix, a.prefix_bits);
    vlc_.put(b.prefix, b.prefix_bits);
    vlc_.put(a.suffix, a.suffix_bits);
    vlc_.put(b.suffix, b.suffix_bits);
    vlc_.put(a.extension, a.extension_bits);
    vlc_.put(b.extension, b.extension_bits);
  }

  /// Pads with ones, which a decoder also reads after the end; so a final 0xFF is not stored.
  CJ2K_HD constexpr uint32_t end_mag_sgn() {
    uint32_t bytes = mag_sgn_.num_bytes();
    const uint32_t capacity = mag_sgn_.after_ff() ? 7 : 8;
    if (mag_sgn_.last_bits() > 0) {
      const uint32_t ones = (1u << capacity) - (1u << mag_sgn_.last_bits());
      const uint32_t last = mag_sgn_.last_byte() | ones;
      if (last != 0xFF) memory_.mag_sgn[bytes++] = static_cast<uint8_t>(last);
    } else if (mag_sgn_.after_ff()) {
      --bytes;
    }
    return bytes;
  }

  HtCleanupMemory& memory_;
  ForwardBits mag_sgn_;
  BackwardBits vlc_;
  MelBits mel_;
};

/// Ends a segment of SigProp alone, in place. Decoders read zeros after the end, so zero bytes there
/// are not stored; but one byte is.
/// @param stream  drained
/// @param bytes   the whole bytes of `stream`, with room for one more
/// @return bytes of the segment; 0: the stream has no bits
CJ2K_HD constexpr uint32_t end_sig_prop(const ForwardBits& stream, uint8_t* bytes) {
  uint32_t count = stream.num_bytes();
  if (stream.last_bits() > 0 || stream.after_ff())
    bytes[count++] = static_cast<uint8_t>(stream.last_byte());
  while (count > 1 && bytes[count - 1] == 0 && bytes[count - 2] != 0xFF) --count;
  return count;
}

/// Makes the segment of SigProp and MagRef from the whole bytes of both streams, which are drained.
/// @return its bytes
CJ2K_HD constexpr uint32_t join_refinement(const ForwardBits& forward, const uint8_t* sig_prop,
                                           const BackwardBits& backward, const uint8_t* mag_ref,
                                           uint8_t* out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < forward.num_bytes(); ++i) out[count++] = sig_prop[i];
  const uint32_t first = forward.last_byte(), last = backward.last_byte();
  // The stuffed bit after 0xFF counts: it must stay 0.
  const uint32_t first_mask = ((1u << forward.last_bits()) - 1) | (forward.after_ff() ? 0x80u : 0u);
  const uint32_t last_mask = (1u << backward.last_bits()) - 1;
  if ((first_mask | last_mask) != 0) {
    if (may_share(first, first_mask, last, last_mask)) {
      out[count++] = static_cast<uint8_t>(first | last);
    } else {
      out[count++] = static_cast<uint8_t>(first);
      out[count++] = static_cast<uint8_t>(last);
    }
  }
  for (uint32_t i = backward.num_bytes(); i-- > 0;) out[count++] = mag_ref[i];
  return count;
}

}  // namespace cj2k

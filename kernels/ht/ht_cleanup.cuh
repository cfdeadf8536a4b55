// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The HT cleanup pass by a warp. Each lane makes the symbols of a pair of quads; 32 pairs at a time.
// One prefix sum gives the places of their bits in the three streams. MagSgn bytes are stored as
// they come. VLC bits and MEL events are kept to the end, because their bytes follow.
#pragma once

#include "core/ht/cxt_vlc.h"
#include "core/ht/segments.h"
#include "kernels/ht/ht_samples.cuh"

namespace cj2k::cuda::ht {

/// What a lane knows of the pairs around its own: exponents of the lowest row above, one byte each.
struct Above {
  uint32_t left, own, right;
  CJ2K_KERNEL_FN uint32_t exponent(uint32_t column) const { return own >> 8 * column & 0xFF; }
};
struct Quad {
  uint32_t rho = 0, u = 0, bound = 0, known = 0;
  uint32_t vlc = 0, vlc_bits = 0;
  bool has_event = false;
};
/// Bits of several codewords, first bit lowest.
struct Bits {
  uint32_t bits = 0, count = 0;
  CJ2K_KERNEL_FN void add(uint32_t more, uint32_t more_count) {
    bits |= more << count;
    count += more_count;
  }
};

/// Exponents 0 0 0 1 1 1 2 2 2 3 3 4 5 of kMelExponents, four bits each.
CJ2K_KERNEL_FN uint32_t mel_exponent(uint32_t state) {
  return static_cast<uint32_t>(0x5433222111000u >> 4 * state) & 0xF;
}

template <typename T, bool kReversible, bool kRefine>
class Cleanup {
 public:
  CJ2K_KERNEL_FN Cleanup(T& t, WarpMemory<kRefine>& memory, const BlockReader<kReversible>& block,
                         const HtTask& task, const uint16_t* table, uint8_t* out)
      : t_(t),
        memory_(memory),
        block_(block),
        task_(task),
        table_(table),
        out_(out),
        pairs_wide_((block.width + 3) / 4),
        quads_wide_((block.width + 1) / 2),
        left_planes_(task.plane, kReversible),
        total_planes_(task.bit_planes, kReversible) {}

  /// @return bytes of the segment
  CJ2K_KERNEL_FN uint32_t run() {
    const RawBits ring{memory_.words + kMostPairs, kMostPairs - 1};
    const RawBits vlc{memory_.vlc, ~0u}, events{memory_.events, ~0u};
    ForwardStuffing<true> mag_sgn{{reinterpret_cast<uint32_t*>(out_)}};
    vlc.clear(t_, 0, kVlcWords);
    events.clear(t_, 0, kEventWords);
    ring.clear(t_, 0, 1);
    t_.sync_warp();
    if (t_.lane() == 0) vlc.put(t_, 0, 0xF);  // the half of the length word
    const uint32_t num_pairs = pairs_wide_ * ((block_.height + 1) / 2);
    PairPlace place(t_.lane(), pairs_wide_);
    uint32_t mag_end = 0, vlc_end = 4, event_end = 0;
    for (uint32_t first = 0; first < num_pairs; first += 32, place.step()) {
      make_symbols(place, place.index < num_pairs);
      // At most 7936, 960 and 96 bits in all lanes.
      const uint32_t counts = mag_bits_ | vlc_.count << 13 | events_.count << 23;
      const uint32_t up_to = t_.warp_inclusive_add(counts), all = t_.shuffle(up_to, 31);
      const uint32_t before = up_to - counts;
      const uint32_t mag_all = all & 0x1FFF;
      ring.clear(t_, (mag_end >> 5) + 1, ((mag_end + mag_all) >> 5) + 1);
      t_.sync_warp();
      vlc.put(t_, vlc_end + (before >> 13 & 0x3FF), vlc_.bits);
      events.put(t_, event_end + (before >> 23), events_.bits);
      put_values(ring, mag_end + (before & 0x1FFF));
      mag_end += mag_all;
      vlc_end += all >> 13 & 0x3FF;
      event_end += all >> 23;
      t_.sync_warp();
      mag_sgn.run(t_, ring, mag_end, 128);
    }
    mag_sgn.run(t_, ring, mag_end, 1);
    const uint32_t mag_bytes = end_mag_sgn(mag_sgn, ring, mag_end);
    t_.sync_warp();
    return mag_bytes + end_mel_and_vlc(vlc, vlc_end, event_end, out_ + mag_bytes);
  }
  /// Of this lane.
  CJ2K_KERNEL_FN uint32_t left() const { return left_; }
  CJ2K_KERNEL_FN uint32_t total_left() const { return total_left_; }
  CJ2K_KERNEL_FN uint32_t significant() const { return significant_; }

 private:
  CJ2K_KERNEL_FN void make_symbols(const PairPlace& place, bool is_valid) {
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 8; ++i) value_[i] = 0;
    if (is_valid) {
      block_.read(t_, place.x, place.y, value_);
      add_left_errors(place);
    }
    uint32_t rho = 0, below = 0, signs = 0;
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t sign = value_[i] >> 31, magnitude = value_[i] & 0x7FFFFFFFu;
      const uint32_t mu = magnitude >> task_.plane;
      if constexpr (kRefine) {
        if (task_.plane > 0) below |= (magnitude >> (task_.plane - 1) & 1) << i;
        signs |= sign << i;
      }
      exponent_[i] = mu > 0 ? 32 - t_.clz(2 * mu - 1) : 0;
      value_[i] = 2 * (mu - 1) + sign;
      if (mu > 0) rho |= 1u << i;
    }
    significant_ += t_.popcount(rho);
    if (is_valid) {
      if constexpr (kRefine) t_.sstore(memory_.pairs[place.index], rho | below << 8 | signs << 16);
      t_.sstore(memory_.words[place.index],
                exponent_[1] | exponent_[3] << 8 | exponent_[5] << 16 | exponent_[7] << 24);
    }
    uint32_t left = t_.shuffle_up(rho, 1) >> 4;
    if (t_.lane() == 0) left = left_rho_;
    left_rho_ = t_.shuffle(rho, 31) >> 4;
    if (place.x == 0) left = 0;
    t_.sync_warp();
    vlc_ = {};
    events_ = {};
    mag_bits_ = 0;
    if (is_valid) code_pair(place, rho, left);
  }

  CJ2K_KERNEL_FN void add_left_errors(const PairPlace& place) {
    if (kRefine && task_.is_counted) return;
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 8; ++i) {
      if (!block_.has(place, i)) continue;
      if (task_.plane > 0) {
        left_ += left_planes_.term(value_[i]);
      } else {
        left_ += value_[i] == 0 ? 1 : 0;
      }
      if (task_.bit_planes > 0) total_left_ += total_planes_.term(value_[i]);
    }
  }

  CJ2K_KERNEL_FN void code_pair(const PairPlace& place, uint32_t rho, uint32_t left) {
    Above above{0, 0, 0};
    const bool is_first = place.y == 0;
    if (!is_first) {
      const uint32_t i = place.index - pairs_wide_;
      above.own = t_.sload(memory_.words[i]);
      if (place.x > 0) above.left = t_.sload(memory_.words[i - 1]) >> 24;
      if (place.x + 1 < pairs_wide_) above.right = t_.sload(memory_.words[i + 1]) & 0xFF;
    }
    const uint32_t nearest[6] = {above.left,        above.exponent(0), above.exponent(1),
                                 above.exponent(2), above.exponent(3), above.right};
    Quad first = code_quad<0>(nearest, rho & 0xF, left, is_first);
    Quad second{};
    if (2 * place.x + 1 < quads_wide_)
      second = code_quad<4>(nearest + 2, rho >> 4, rho & 0xF, is_first);
    vlc_.add(first.vlc, first.vlc_bits);
    vlc_.add(second.vlc, second.vlc_bits);
    if (first.has_event) events_.add(first.rho != 0 ? 1 : 0, 1);
    if (second.has_event) events_.add(second.rho != 0 ? 1 : 0, 1);
    add_u(first.u, second.u, is_first);
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 8; ++i) {
      const Quad& quad = i < 4 ? first : second;
      length_[i] = (rho >> i & 1) != 0 ? quad.bound - (quad.known >> (i & 3) & 1) : 0;
      mag_bits_ += length_[i];
    }
  }

  /// @param above  exponents above: left of the quad, its columns, right of it
  template <uint32_t kFirst>
  CJ2K_KERNEL_FN Quad code_quad(const uint32_t* above, uint32_t rho, uint32_t left,
                                bool is_first) const {
    Quad quad;
    quad.rho = rho;
    uint32_t context, kappa = 1;
    if (is_first) {
      context = (left & 1) | (left >> 1 & 1) | (left >> 1 & 2) | (left >> 1 & 4);
    } else {
      context = ((above[0] | above[1]) != 0 ? 1u : 0u) | ((left & 0xC) != 0 ? 2u : 0u) |
                ((above[2] | above[3]) != 0 ? 4u : 0u);
      if ((rho & (rho - 1)) != 0) {
        const uint32_t largest = max(max(above[0], above[1]), max(above[2], above[3]));
        kappa = max(largest, 2) - 1;
      }
    }
    const uint32_t* e = exponent_ + kFirst;
    const uint32_t largest = max(max(e[0], e[1]), max(e[2], e[3]));
    quad.bound = max(largest, kappa);
    quad.u = quad.bound - kappa;
    quad.has_event = context == 0;
    if (context == 0 && rho == 0) return quad;
    uint32_t eps = 0;
    if (quad.u > 0) {
      CJ2K_UNROLL
      for (uint32_t n = 0; n < 4; ++n) eps |= (e[n] == largest ? 1u : 0u) << n;
    }
    const uint32_t index = cxt_vlc_index(context, rho, eps);
    const uint32_t word = t_.gload_ro(table_ + (is_first ? 0 : 2048) + index);
    quad.vlc = word & 0x7F;
    quad.vlc_bits = word >> 7 & 7;
    quad.known = word >> 10;
    return quad;
  }
  CJ2K_KERNEL_FN static uint32_t max(uint32_t a, uint32_t b) { return a > b ? a : b; }

  CJ2K_KERNEL_FN void add_u(uint32_t u0, uint32_t u1, bool is_first) {
    if (is_first && u0 > 0 && u1 > 0) {
      const bool both_above_2 = u0 > 2 && u1 > 2;
      events_.add(both_above_2 ? 1 : 0, 1);
      if (both_above_2) {
        add_u_words(uvlc_word(u0 - 2), uvlc_word(u1 - 2));
      } else if (u0 > 2) {
        add_u_words(uvlc_word(u0), {static_cast<uint8_t>(u1 - 1), 1, 0, 0, 0, 0});
      } else {
        add_u_words(uvlc_word(u0), uvlc_word(u1));
      }
    } else {
      add_u_words(uvlc_word(u0), uvlc_word(u1));
    }
  }
  /// There are no extensions, because magnitudes have at most 30 bits.
  CJ2K_KERNEL_FN void add_u_words(const UVlcWord& a, const UVlcWord& b) {
    vlc_.add(a.prefix, a.prefix_bits);
    vlc_.add(b.prefix, b.prefix_bits);
    vlc_.add(a.suffix, a.suffix_bits);
    vlc_.add(b.suffix, b.suffix_bits);
  }

  CJ2K_KERNEL_FN void put_values(const RawBits& ring, uint32_t position) {
    if (mag_bits_ == 0) return;
    uint32_t at = position >> 5, count = position & 31;
    uint64_t pending = 0;
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 8; ++i) {
      pending |= uint64_t{value_[i] & ((1u << length_[i]) - 1)} << count;
      count += length_[i];
      if (count < 32) continue;
      t_.atomic_or(&ring.words[at++ & ring.mask], static_cast<uint32_t>(pending));
      pending >>= 32;
      count -= 32;
    }
    if (count > 0) t_.atomic_or(&ring.words[at & ring.mask], static_cast<uint32_t>(pending));
  }

  /// Pads with ones; a final 0xFF is not stored. @return bytes of MagSgn
  CJ2K_KERNEL_FN uint32_t end_mag_sgn(ForwardStuffing<true>& stream, const RawBits& raw,
                                      uint32_t end) {
    const uint32_t last_bits = end - stream.position;
    uint32_t bytes = stream.out.bytes;
    if (last_bits > 0) {
      const uint32_t ones = (stream.after_ff != 0 ? 0x80u : 0x100u) - (1u << last_bits);
      const uint32_t last = stream.last_byte(t_, raw, end) | ones;
      if (last != 0xFF) {
        stream.out.put(t_, last, 1);
        ++bytes;
      }
    } else if (stream.after_ff != 0) {
      --bytes;
    }
    stream.out.flush(t_);
    return bytes;
  }

  /// The last byte of MEL, of which the highest bits are used.
  struct MelEnd {
    uint32_t bytes, last, free;
  };
  /// Codes the events, in one lane: a step codes a run of up to 32.
  CJ2K_KERNEL_FN MelEnd code_mel(uint32_t num_events) {
    const RawBits events{memory_.events, ~0u};
    uint32_t bytes = 0, word = 0, pending = 0, count = 0, capacity = 8, state = 0;
    for (uint32_t i = 0; i < num_events;) {
      const uint32_t exponent = mel_exponent(state), longest = 1u << exponent;
      const uint32_t left = num_events - i;
      const uint32_t zeros = t_.ctz(events.get(t_, i, num_events));
      if (zeros >= longest && left >= longest) {
        pending = pending << 1 | 1;
        ++count;
        i += longest;
        if (state + 1 < kMelStates) ++state;
      } else if (zeros < left) {
        pending = pending << (exponent + 1) | zeros;
        count += exponent + 1;
        i += zeros + 1;
        if (state > 0) --state;
      } else {
        // The last run is not over: the decoder may see more zeros than there are.
        pending = pending << 1 | 1;
        ++count;
        i = num_events;
      }
      while (count >= capacity) {
        count -= capacity;
        const uint32_t byte = pending >> count & ((1u << capacity) - 1);
        word |= byte << 8 * (bytes & 3);
        if ((++bytes & 3) == 0) {
          t_.sstore(memory_.mel[bytes / 4 - 1], word);
          word = 0;
        }
        capacity = byte == 0xFF ? 7 : 8;
      }
    }
    if ((bytes & 3) != 0) t_.sstore(memory_.mel[bytes / 4], word);
    return {bytes, (pending & ((1u << count) - 1)) << (capacity - count), capacity - count};
  }

  CJ2K_KERNEL_FN uint32_t end_mel_and_vlc(const RawBits& raw_vlc, uint32_t vlc_end,
                                          uint32_t num_events, uint8_t* out) {
    BackwardStuffing vlc{{memory_.words}};
    vlc.run(t_, raw_vlc, vlc_end);
    vlc.out.flush(t_);
    const uint32_t vlc_last = vlc.last_byte(t_, raw_vlc, vlc_end);
    MelEnd mel{0, 0, 0};
    if (t_.lane() == 0) mel = code_mel(num_events);
    const uint32_t packed = t_.shuffle(mel.bytes | mel.last << 16 | mel.free << 24, 0);
    const uint32_t mel_bytes = packed & 0xFFFF, mel_last = packed >> 16 & 0xFF;
    const uint32_t mel_mask = 0xFFu << (packed >> 24) & 0xFF;
    const uint32_t vlc_mask = (1u << (vlc_end - vlc.position)) - 1;
    const uint32_t vlc_bytes = vlc.out.bytes;
    uint32_t mel_all = mel_bytes, vlc_all = vlc_bytes, mel_end = mel_last | vlc_last;
    if ((mel_mask | vlc_mask) != 0) {
      ++mel_all;
      // The first byte of VLC has half of the length word, so it is not shared.
      if (vlc_bytes == 0 || mel_end == 0xFF || !may_share(mel_last, mel_mask, vlc_last, vlc_mask)) {
        mel_end = mel_last;
        ++vlc_all;
      }
    }
    const uint32_t total = mel_all + vlc_all + 1;
    t_.sync_warp();
    for (uint32_t i = t_.lane(); i < total; i += 32) {
      uint32_t byte = total >> 4;
      if (i < mel_all) {
        byte = i < mel_bytes ? shared_byte(t_, memory_.mel, i) : mel_end;
      } else if (i + 1 < total) {
        const uint32_t made = total - 2 - i;  // VLC stands in reverse
        byte = made < vlc_bytes ? shared_byte(t_, memory_.words, made) : vlc_last;
        if (made == 0) byte = (byte & 0xF0) | (total & 0xF);
      }
      t_.gstore(out + i, static_cast<uint8_t>(byte));
    }
    return total;
  }

  T& t_;
  WarpMemory<kRefine>& memory_;
  const BlockReader<kReversible>& block_;
  const HtTask& task_;
  const uint16_t* const table_;
  uint8_t* const out_;
  const uint32_t pairs_wide_, quads_wide_;
  const LeftPlanes left_planes_, total_planes_;
  uint32_t left_ = 0, total_left_ = 0, significant_ = 0;
  uint32_t left_rho_ = 0;  ///< of the last quad of the chunk before

  // The symbols of a pair.
  uint32_t value_[8], exponent_[8], length_[8];
  uint32_t mag_bits_ = 0;
  Bits vlc_{}, events_{};
};

}  // namespace cj2k::cuda::ht

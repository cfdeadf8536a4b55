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

/// Bits of several codewords, first bit lowest.
struct Bits {
  uint32_t bits = 0, count = 0;
  CJ2K_KERNEL_FN void add(uint32_t more, uint32_t more_count) {
    bits |= more << count;
    count += more_count;
  }
};

/// @tparam Block  BlockReader
template <typename T, typename Block, bool kRefine>
class Cleanup {
  static constexpr bool kReversible = Block::kReversible;

 public:
  CJ2K_KERNEL_FN Cleanup(T& t, WarpMemory<kRefine>& memory, const Block& block, const HtTask& task,
                         const uint16_t* table, uint8_t* out)
      : t_(t),
        memory_(memory),
        block_(block),
        task_(task),
        table_(table),
        out_(out),
        pairs_wide_(block.pairs_wide()),
        quads_wide_((block.width + 1) / 2),
        plane_(kRefine ? task.plane : 0),
        left_planes_(plane_, kReversible),
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
    const uint32_t num_pairs = block_.num_pairs();
    PairPlace place(t_.lane(), pairs_wide_);
    uint32_t mag_end = 0, vlc_end = 4, event_end = 0;
    for (uint32_t first = 0; first < num_pairs; first += 32, place.step()) {
      make_symbols(place, place.index < num_pairs);
      // At most 7936, 960 and 96 bits in all lanes.
      const uint32_t mag_bits = sum_of_bytes(lengths_[0]) + sum_of_bytes(lengths_[1]);
      const uint32_t counts = mag_bits | vlc_.count << 13 | events_.count << 23;
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
    significant_ = t_.warp_reduce_add(significant_);
    mag_sgn.run(t_, ring, mag_end, 1);
    const uint32_t mag_bytes = end_mag_sgn(mag_sgn, ring, mag_end);
    t_.sync_warp();
    return mag_bytes + end_mel_and_vlc(vlc, vlc_end, event_end, out_ + mag_bytes);
  }
  /// Samples in the pass.
  CJ2K_KERNEL_FN uint32_t significant() const { return significant_; }
  /// HtResult, of tasks that are not counted.
  CJ2K_KERNEL_FN uint64_t left() const {
    if (plane_ == 0) return block_.width * block_.height - significant_;
    return t_.warp_reduce_add(uint64_t{left_}) - block_.outside() * left_planes_.bias;
  }
  CJ2K_KERNEL_FN uint64_t total_left() const {
    if (task_.bit_planes == 0) return 0;
    return t_.warp_reduce_add(uint64_t{total_left_}) - block_.outside() * total_planes_.bias;
  }

 private:
  // Of each pair, for the pairs below: the bit lengths of 2 * magnitude - 1 in its lower row, of column
  // 0, of columns 0 to 2, 1 to 3, and 3, five bits each, and which of the four are significant.
  static constexpr uint32_t kSignificant = 25;
  // Parts of WarpMemory::words when the MagSgn bytes are made: states of MEL, and its bits.
  static constexpr uint32_t kMelStateWords = 0, kMelBitWords = kMostEvents / 32 + 1;
  static constexpr uint32_t kMelWords = kMostEvents * 3 / 2 / 32 + 3;
  static_assert(kMelBitWords + kMelWords <= 2 * kMostPairs);

  CJ2K_KERNEL_FN void make_symbols(const PairPlace& place, bool is_valid) {
    uint32_t samples[8] = {};
    if (is_valid) {
      block_.read(t_, place.x, place.y, samples);
      if (!kRefine || !task_.is_counted) add_left_errors(samples);
    }
    // 2 * magnitude - 1 of the samples that are significant, else 0.
    uint32_t odd[8], rho = 0, below = 0, signs = 0;
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t shifted = 2 * samples[i] >> plane_;
      const uint32_t less = 1 - shifted;  // negative where significant
      const uint32_t mask = static_cast<uint32_t>(static_cast<int32_t>(less) >> 31);
      odd[i] = (~less | 1) & mask;
      value_[i] = odd[i] & (static_cast<uint32_t>(static_cast<int32_t>(samples[i]) >> 31) | ~1u);
      // Each enters at the top.
      rho = t_.funnel_right(rho, mask, 1);
      if constexpr (kRefine) {
        below = t_.funnel_right(below, shifted, 1);
        signs = t_.funnel_right(signs, samples[i] >> 31, 1);
      }
    }
    rho >>= 24;
    significant_ += t_.popcount(rho);
    if (is_valid) {
      if constexpr (kRefine)
        t_.sstore(memory_.pairs[place.index], rho | below >> 24 << 8 | signs >> 24 << 16);
      const uint32_t inner = odd[3] | odd[5];
      t_.sstore(memory_.words[place.index], bit_length(odd[1]) | bit_length(odd[1] | inner) << 5 |
                                                bit_length(inner | odd[7]) << 10 |
                                                bit_length(odd[7]) << 15 |
                                                lower_row(rho) << kSignificant);
    }
    uint32_t left = t_.shuffle_up(rho, 1) >> 4;
    if (t_.lane() == 0) left = left_rho_;
    left_rho_ = t_.shuffle(rho, 31) >> 4;
    if (place.x == 0) left = 0;
    t_.sync_warp();
    vlc_ = {};
    events_ = {};
    lengths_[0] = lengths_[1] = 0;
    if (is_valid) code_pair(place, odd, rho, left);
  }
  CJ2K_KERNEL_FN uint32_t bit_length(uint32_t x) const { return 32 - t_.clz(x); }
  /// Bits 1, 3, 5, 7.
  CJ2K_KERNEL_FN static uint32_t lower_row(uint32_t rho) {
    const uint32_t x = rho >> 1 & 0x55;
    const uint32_t y = (x | x >> 1) & 0x33;
    return (y | y >> 2) & 0xF;
  }

  CJ2K_KERNEL_FN void add_left_errors(const uint32_t* samples) {
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t magnitude = samples[i] & 0x7FFFFFFF;
      if (plane_ > 0) left_ += left_planes_.term(magnitude);
      if (task_.bit_planes > 0) total_left_ += total_planes_.term_of_all(magnitude);
    }
  }

  CJ2K_KERNEL_FN void code_pair(const PairPlace& place, const uint32_t* odd, uint32_t rho,
                                uint32_t left) {
    uint32_t above = 0, above_left = 0, above_right = 0;
    const bool is_first = place.y == 0;
    if (!is_first) {
      const uint32_t* const own = memory_.words + (place.index - pairs_wide_);
      above = t_.sload(own[0]);
      if (place.x > 0) above_left = t_.sload(own[-1]);
      if (place.x + 1 < pairs_wide_) above_right = t_.sload(own[1]);
    }
    // Quads: of the pair to the left, first, second.
    const uint32_t quads = rho << 4 | left, beside = quads | quads >> 1;
    uint32_t context0 = (beside & 1) | (quads >> 1 & 6);
    uint32_t context1 = (beside >> 4 & 1) | (quads >> 5 & 6);
    if (!is_first) {
      // Six columns above from kSignificant - 1 on, then two at a time.
      const uint32_t columns = (above & 0xFu << kSignificant) |
                               (above_left >> 4 & 1u << (kSignificant - 1)) |
                               (above_right << 4 & 1u << (kSignificant + 4));
      const uint32_t two = (columns | columns >> 1) >> (kSignificant - 1);
      context0 = (two & 5) | (beside >> 1 & 2);
      context1 = (two >> 2 & 5) | (beside >> 5 & 2);
    }
    const uint32_t table = is_first ? 0 : 2048;
    const Quad first =
        code_quad(table, context0, odd, rho & 0xF, max(above >> 5 & 31, above_left >> 15 & 31));
    Quad second =
        code_quad(table, context1, odd + 4, rho >> 4, max(above >> 10 & 31, above_right & 31));
    bool has_event = context1 == 0;
    if (2 * place.x + 1 >= quads_wide_) {
      second.word = 0;
      has_event = false;
    }
    lengths_[0] = first.lengths;
    lengths_[1] = second.lengths;
    vlc_.add(first.word & 0x7F, first.word >> 7 & 7);
    vlc_.add(second.word & 0x7F, second.word >> 7 & 7);
    if (context0 == 0) events_.add((rho & 0xF) != 0 ? 1 : 0, 1);
    if (has_event) events_.add(rho >> 4 != 0 ? 1 : 0, 1);
    uint32_t u = first.u | second.u << 5;
    if (is_first) {
      if (first.u > 0 && second.u > 0) events_.add(first.u > 2 && second.u > 2 ? 1 : 0, 1);
      u |= 1024;
    }
    const uint32_t u_word =
        t_.gload_ro(reinterpret_cast<const uint32_t*>(table_ + kHtUvlcPairs) + u);
    vlc_.add(u_word & 0xFFFF, u_word >> 16);
  }

  struct Quad {
    uint32_t u;
    uint32_t word;     ///< ht_vlc_words
    uint32_t lengths;  ///< of the samples in MagSgn, a byte each
  };
  /// @param odd    2 * magnitude - 1 of its samples
  /// @param above  bit length of the largest one above: left of the quad, its columns, right of it
  CJ2K_KERNEL_FN Quad code_quad(uint32_t table, uint32_t context, const uint32_t* odd, uint32_t rho,
                                uint32_t above) const {
    const uint32_t kappa = (rho & (rho - 1)) != 0 ? max(above, 2) - 1 : 1;
    const uint32_t largest = bit_length(odd[0] | odd[1] | odd[2] | odd[3]);
    const uint32_t bound = max(largest, kappa);
    // The highest bit of the largest ones.
    uint32_t eps = 0;
    CJ2K_UNROLL
    for (uint32_t n = 4; n-- > 0;)
      eps = t_.funnel_left(t_.funnel_left(0, odd[n], 0 - largest), eps, 1);
    if (largest <= kappa) eps = 0;
    const uint32_t word = t_.gload_ro(table_ + (table + cxt_vlc_index(context, rho, eps)));
    return {bound - kappa, word, bound * bytes_of(rho) - bytes_of(word >> 10)};
  }
  CJ2K_KERNEL_FN static uint32_t max(uint32_t a, uint32_t b) { return a > b ? a : b; }
  /// A byte for each of four bits.
  CJ2K_KERNEL_FN static uint32_t bytes_of(uint32_t bits) {
    return bits * 0x00204081u & 0x01010101u;
  }
  /// The sum of four bytes, which is below 256.
  CJ2K_KERNEL_FN static uint32_t sum_of_bytes(uint32_t bytes) { return bytes * 0x01010101u >> 24; }

  CJ2K_KERNEL_FN void put_values(const RawBits& ring, uint32_t position) {
    // Lengths up to 7: a quad in a word.
    if (t_.any(((lengths_[0] | lengths_[1]) & 0xF8F8F8F8u) != 0)) {
      put_long_values(ring, position);
      return;
    }
    uint32_t quad[2] = {}, total[2];
    CJ2K_UNROLL
    for (uint32_t q = 0; q < 2; ++q) {
      const uint32_t lengths = lengths_[q], before = lengths * 0x01010100u;
      CJ2K_UNROLL
      for (uint32_t n = 0; n < 4; ++n) {
        const uint32_t bits = value_[4 * q + n] & ~t_.funnel_left(0, ~0u, lengths >> 8 * n);
        quad[q] |= t_.funnel_left(0, bits, before >> 8 * n);
      }
      total[q] = (before + lengths) >> 24;
    }
    ring.put_long(t_, position, quad[0] | uint64_t{quad[1]} << total[0]);
  }
  CJ2K_KERNEL_FN void put_long_values(const RawBits& ring, uint32_t position) {
    uint32_t at = position >> 5, count = position & 31;
    uint64_t pending = 0;
    CJ2K_UNROLL
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t length = lengths_[i / 4] >> 8 * (i & 3) & 0xFF;
      pending |= uint64_t{value_[i] & ((1u << length) - 1)} << count;
      count += length;
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

  /// The bytes of MEL before the last one, and that one, of which the highest bits are used.
  struct MelEnd {
    uint32_t bytes, last, free;
  };
  /// Codes the events by tables of all states of the coder. What a byte of events needs of those before
  /// is the state; so that is looked up in turn, and each lane makes the bits of a byte.
  CJ2K_KERNEL_FN MelEnd code_mel(uint32_t num_events) {
    uint32_t* const states = memory_.words + kMelStateWords;
    const uint32_t num_words = num_events / 32 + 1;
    uint32_t state = 0;
    for (uint32_t i = 0; i < num_words; ++i) {
      const uint32_t events = t_.sload(memory_.events[i]);
      uint32_t begins = 0;
      CJ2K_UNROLL
      for (uint32_t k = 0; k < 32; k += 8) {
        begins |= state << k;
        state = t_.gload_ro(reinterpret_cast<const uint8_t*>(table_ + kHtMelStates) +
                            (state << 8 | (events >> k & 0xFF)));
      }
      if (t_.lane() == 0) t_.sstore(states[i], begins);
    }
    const RawBits raw{memory_.words + kMelBitWords, ~0u};
    raw.clear(t_, 0, kMelWords);
    t_.sync_warp();
    uint32_t end = 0;
    for (uint32_t first = 0; first <= num_events; first += 256) {
      const uint32_t at = first + 8 * t_.lane();
      Bits bits;
      if (at <= num_events) {
        const uint32_t left = num_events - at < 8 ? num_events - at : 8;
        // The bit above the events says how many they are.
        const uint32_t events = shared_byte(t_, memory_.events, at >> 3) | 1u << left;
        const auto* const steps = reinterpret_cast<const uint32_t*>(table_ + kHtMelSteps);
        const uint32_t first_step = t_.gload_ro(steps + (shared_byte(t_, states, at >> 3) << 5 |
                                                         (left < 4 ? events : 16 | (events & 15))));
        const uint32_t second_step =
            t_.gload_ro(steps + (first_step >> kHtMelState << 5 | (left < 4 ? 0 : events >> 4)));
        constexpr uint32_t kBits = (1u << kHtMelCount) - 1;
        bits.add(first_step & kBits, first_step >> kHtMelCount & 31);
        bits.add(second_step & kBits, second_step >> kHtMelCount & 31);
      }
      const uint32_t up_to = t_.warp_inclusive_add(bits.count);
      raw.put(t_, end + up_to - bits.count, bits.bits);
      end += t_.shuffle(up_to, 31);
    }
    t_.sync_warp();
    ForwardStuffing<false, true> mel{{memory_.mel}};
    mel.run(t_, raw, end, 1);
    mel.out.flush(t_);
    const uint32_t last = t_.reverse_bits(mel.last_byte(t_, raw, end) << mel.after_ff) >> 24;
    return {mel.out.bytes, last, 8 - mel.after_ff - (end - mel.position)};
  }

  CJ2K_KERNEL_FN uint32_t end_mel_and_vlc(const RawBits& raw_vlc, uint32_t vlc_end,
                                          uint32_t num_events, uint8_t* out) {
    const MelEnd mel = code_mel(num_events);
    t_.sync_warp();
    BackwardStuffing vlc{{memory_.words}};
    vlc.run(t_, raw_vlc, vlc_end);
    vlc.out.flush(t_);
    const uint32_t vlc_last = vlc.last_byte(t_, raw_vlc, vlc_end);
    const uint32_t mel_bytes = mel.bytes, mel_last = mel.last;
    const uint32_t mel_mask = 0xFFu << mel.free & 0xFF;
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
  const Block& block_;
  const HtTask& task_;
  const uint16_t* const table_;
  uint8_t* const out_;
  const uint32_t pairs_wide_, quads_wide_;
  const int plane_;  ///< 0 without refinement
  const LeftPlanes left_planes_, total_planes_;
  uint32_t left_ = 0, total_left_ = 0, significant_ = 0;
  uint32_t left_rho_ = 0;  ///< of the last quad of the chunk before

  // The symbols of a pair.
  uint32_t value_[8];    ///< 2 * (magnitude - 1) + sign, where significant
  uint32_t lengths_[2];  ///< of their bits, a byte each
  Bits vlc_{}, events_{};
};

}  // namespace cj2k::cuda::ht

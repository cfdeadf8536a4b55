// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// SigProp and MagRef by a warp. The unit is a group of 4 columns by 4 rows of a stripe: its masks
// have 16 bits in scan order, bit 4 * column + row. Groups are numbered in scan order, and a lane has
// every 32nd.
//
// SigProp adds samples that may make later neighbours members. 32 groups are looked at again until none
// changes, which takes one round more than their longest chain; then the next 32 are. Each sample
// depends on earlier ones alone, so this ends, and with the samples that the scan finds.
#pragma once

#include "core/ht/segments.h"
#include "kernels/ht/ht_samples.cuh"

namespace cj2k::cuda::ht {

/// What the refinement of a block leaves. Distortions: core/distortion.h. Without MagRef the numbers of
/// both passes are 0.
struct Refinement {
  uint32_t sig_prop_bytes, both_bytes, sig_prop_last;
  int64_t sig_prop_distortion, mag_ref_distortion;
};

/// @tparam Block  BlockReader
template <typename T, typename Block>
class Refiner {
  static constexpr bool kReversible = Block::kReversible;

 public:
  CJ2K_KERNEL_FN Refiner(T& t, WarpMemory<true>& memory, const Block& block, const HtTask& task,
                         bool causal)
      : t_(t),
        memory_(memory),
        block_(block),
        plane_(task.plane - 1u),
        causal_(causal),
        has_mag_ref_(task.passes > 2),
        pairs_wide_(block.pairs_wide()),
        pairs_high_((block.height + 1) / 2),
        groups_(pairs_wide_ * ((block.height + 3) / 4)) {}

  CJ2K_KERNEL_FN Refinement run(uint8_t* sig_prop, uint8_t* both) {
    begin_states();
    PairPlace place(t_.lane(), pairs_wide_);
    for (uint32_t first = 0; first < groups_; first += 32, place.step()) code_groups(place);
    Refinement result{};
    add_distortions(result);
    t_.sync_warp();
    store_segments(sig_prop, both, result);
    return result;
  }

 private:
  // Parts of WarpMemory::words: the state of each group, significant before | found << 16; when these are
  // not needed any more, bytes. Parts of WarpMemory::vlc: bits, of SigProp two for each sample.
  static constexpr uint32_t kSigPropBytes = 0, kMagRefBytes = kSigPropBytes + 8192 / 28 + 2;
  static constexpr uint32_t kSigPropBits = 0, kMagRefBits = kSigPropBits + 256 + 2;
  static constexpr uint32_t kBitWords = kMagRefBits + 128 + 2;
  static constexpr uint32_t kMostGroups = kMostPairs / 2;
  static_assert(kMostGroups + 2 * (kMostGroups + 1) + 2 <= 2 * kMostPairs);
  static_assert(kMagRefBytes + 4096 / 28 + 2 <= 2 * kMostPairs && kBitWords <= kVlcWords);

  static constexpr uint32_t kRow0 = 0x1111;
  /// Rows one further down, and one further up.
  CJ2K_KERNEL_FN static uint32_t down(uint32_t mask) { return mask << 1 & 0xEEEE; }
  CJ2K_KERNEL_FN static uint32_t up(uint32_t mask) { return mask >> 1 & 0x7777; }
  CJ2K_KERNEL_FN static uint32_t and_beside(uint32_t mask) {
    return (mask | mask << 4 | mask >> 4) & 0xFFFF;
  }
  CJ2K_KERNEL_FN static uint32_t and_above_below(uint32_t mask) {
    return mask | down(mask) | up(mask);
  }
  /// From 2-bit columns of a pair to 4-bit columns of a group, of two fields at once: bits 0 .. 7 go to
  /// the low half, bits 8 .. 15 to the high half.
  CJ2K_KERNEL_FN static uint32_t spread(uint32_t x) {
    x = (x | x << 8) & 0x00FF00FF;
    x = (x | x << 4) & 0x0F0F0F0F;
    return (x | x << 2) & 0x33333333;
  }
  /// Back, of the low half.
  CJ2K_KERNEL_FN static uint32_t gather(uint32_t x) {
    x &= 0x3333;
    x = (x | x >> 2) & 0x0F0F;
    return (x | x >> 4) & 0xFF;
  }

  /// The state of a group. Around the groups, and between the last of a row and the first of the next,
  /// are states that are 0.
  CJ2K_KERNEL_FN uint32_t* state_of(uint32_t index, uint32_t y) const {
    return memory_.words + (index + y + pairs_wide_ + 2);
  }
  /// Two fields of a group from `shift` on in the words of its pairs.
  CJ2K_KERNEL_FN uint32_t masks_of(const PairPlace& group, uint32_t shift) const {
    const uint32_t* const pair = memory_.pairs + (2 * group.y * pairs_wide_ + group.x);
    uint32_t masks = spread(t_.sload(pair[0]) >> shift & 0xFFFF);
    if (2 * group.y + 1 < pairs_high_)
      masks |= spread(t_.sload(pair[pairs_wide_]) >> shift & 0xFFFF) << 2;
    return masks;
  }
  /// Samples next to significant ones of earlier groups: of the group before and of the stripe above.
  CJ2K_KERNEL_FN static uint32_t beside_earlier(uint32_t left, uint32_t above_left, uint32_t above,
                                                uint32_t above_right) {
    return and_above_below(left >> 12 & 0xF) | and_beside(above >> 3 & kRow0) |
           (above_left >> 15 & 1) | (above_right & 8) << 9;
  }
  /// Samples next to significant ones of the stripe below.
  CJ2K_KERNEL_FN static uint32_t beside_below(uint32_t left, uint32_t own, uint32_t right) {
    return and_beside((own & kRow0) << 3) | (left >> 12 & 1) << 3 | (right & 1) << 15;
  }

  CJ2K_KERNEL_FN void begin_states() {
    const uint32_t num_states = (pairs_wide_ + 1) * ((block_.height + 3) / 4 + 2) + 1;
    RawBits{memory_.words, ~0u}.clear(t_, 0, num_states);
    RawBits{memory_.vlc, ~0u}.clear(t_, 0, kBitWords);
    t_.sync_warp();
    PairPlace place(t_.lane(), pairs_wide_);
    for (uint32_t first = 0; first < groups_; first += 32, place.step()) {
      if (place.index < groups_)
        t_.sstore(*state_of(place.index, place.y), masks_of(place, 0) & 0xFFFF);
    }
    t_.sync_warp();
  }
  /// Finds the members of 32 groups, and puts the bits of both passes side by side.
  CJ2K_KERNEL_FN void code_groups(const PairPlace& place) {
    const bool is_valid = place.index < groups_;
    uint32_t* const own = state_of(is_valid ? place.index : 0, is_valid ? place.y : 0);
    uint32_t here = 0, ones = 0, signs = 0, insignificant = 0, near = 0;
    if (is_valid) {
      here = t_.sload(*own);
      near = near_significant(own, here);
      const uint32_t masks = masks_of(place, 8);
      ones = masks & 0xFFFF;
      signs = masks >> 16;
      const uint32_t columns = block_.columns(place.x);
      const uint32_t rows = block_.height - 4 * place.y < 4 ? block_.height - 4 * place.y : 4;
      insignificant = ((1u << 4 * columns) - 1) & ((1u << rows) - 1) * kRow0 & ~here;
    }
    const uint32_t members = find_members(own, here, ones, insignificant, near);
    put_bits(here, members, ones, signs);
  }
  /// The samples of a group next to one that is significant before.
  CJ2K_KERNEL_FN uint32_t near_significant(const uint32_t* own, uint32_t here) const {
    const uint32_t* const above = own - (pairs_wide_ + 1);
    const uint32_t* const below = own + (pairs_wide_ + 1);
    uint32_t near = and_beside(and_above_below(here)) |
                    beside_earlier(t_.sload(own[-1]), t_.sload(above[-1]), t_.sload(above[0]),
                                   t_.sload(above[1])) |
                    (and_above_below(t_.sload(own[1]) & 0xF) & 0xF) << 12;
    if (!causal_) near |= beside_below(t_.sload(below[-1]), t_.sload(below[0]), t_.sload(below[1]));
    return near;
  }
  /// @return the members; those that are found stand in the states
  CJ2K_KERNEL_FN uint32_t find_members(uint32_t* own, uint32_t here, uint32_t ones,
                                       uint32_t insignificant, uint32_t near) {
    const uint32_t* const above = own - (pairs_wide_ + 1);
    uint32_t members = 0, found = 0;
    bool changes = true;
    while (changes) {
      // Samples found in earlier groups.
      const uint32_t all_near =
          near | beside_earlier(t_.sload(own[-1]) >> 16, t_.sload(above[-1]) >> 16,
                                t_.sload(above[0]) >> 16, t_.sload(above[1]) >> 16);
      const uint32_t last = found;
      uint32_t before = 0;
      do {
        before = found;
        members = insignificant & (all_near | down(found) | and_above_below(found << 4 & 0xFFFF));
        found = members & ones;
      } while (found != before);
      changes = t_.any(found != last);
      t_.sync_warp();
      if (found != last) t_.sstore(*own, here | found << 16);
      t_.sync_warp();
    }
    return members;
  }
  /// The bits of `from` at the places of `mask`.
  CJ2K_KERNEL_FN uint32_t extract(uint32_t from, uint32_t mask) const {
    uint32_t bits = 0, count = 0;
    for (; mask != 0; mask &= mask - 1) bits |= (from >> t_.ctz(mask) & 1) << count++;
    return bits;
  }
  CJ2K_KERNEL_FN void put_bits(uint32_t here, uint32_t members, uint32_t ones, uint32_t signs) {
    const uint32_t found = members & ones, refined = has_mag_ref_ ? here : 0;
    const uint32_t num_members = t_.popcount(members), num_found = t_.popcount(found);
    num_found_ += num_found;
    const uint32_t counts = (num_members + num_found) | t_.popcount(refined) << 16;
    const uint32_t up_to = t_.warp_inclusive_add(counts), all = t_.shuffle(up_to, 31);
    const uint32_t at = up_to - counts;
    // The signs come after the members of the group.
    const RawBits sig_prop{memory_.vlc + kSigPropBits, ~0u};
    sig_prop.put(t_, sig_prop_end_ + (at & 0xFFFF),
                 extract(ones, members) | extract(signs, found) << num_members);
    sig_prop_end_ += all & 0xFFFF;
    if (!has_mag_ref_) return;
    const uint32_t refined_ones = extract(ones, refined);
    num_ones_ += t_.popcount(refined_ones);
    const RawBits mag_ref{memory_.vlc + kMagRefBits, ~0u};
    mag_ref.put(t_, mag_ref_end_ + (at >> 16), refined_ones);
    mag_ref_end_ += all >> 16;
  }

  CJ2K_KERNEL_FN void add_distortions(Refinement& result) {
    const uint32_t counts = t_.warp_reduce_add(num_found_ | num_ones_ << 16);
    const auto num_found = static_cast<int32_t>(counts & 0xFFFF);
    uint64_t found_sum = 0, distances = 0;
    if (plane_ > 0) add_low_bits(found_sum, distances);
    // The bit of the plane itself is 1 where a sample was found.
    const auto plane = static_cast<int>(plane_);
    const int64_t half = int64_t{plane > 0} << plane;
    const auto new_low = static_cast<int64_t>(t_.warp_reduce_add(found_sum)) - num_found * half;
    result.sig_prop_distortion = significance_distortion(plane, kReversible, num_found, new_low);
    if (!has_mag_ref_) return;
    const auto ones = static_cast<int32_t>(counts >> 16);
    const int32_t zeros = static_cast<int32_t>(mag_ref_end_) - ones;
    const auto low_difference = static_cast<int64_t>(t_.warp_reduce_add(distances)) - zeros * half;
    result.mag_ref_distortion =
        refinement_distortion(plane, kReversible, ones, zeros, low_difference);
  }
  /// Reads the samples again. The bits below the plane are `low`, and those from the plane on `half`.
  /// @param found_sum  of the magnitudes that are found
  /// @param distances  from the middle: low where the bit of a refined sample is 1, else half - low
  CJ2K_KERNEL_FN void add_low_bits(uint64_t& found_sum, uint64_t& distances) {
    const int32_t half = 1 << plane_;
    PairPlace place(t_.lane(), pairs_wide_);
    for (uint32_t first = 0; first < pairs_wide_ * pairs_high_; first += 32, place.step()) {
      if (place.index >= pairs_wide_ * pairs_high_) continue;
      const uint32_t group_y = place.y >> 1;
      const uint32_t group = t_.sload(*state_of(group_y * pairs_wide_ + place.x, group_y));
      const uint32_t found = gather(group >> 16 >> 2 * (place.y & 1));
      const uint32_t refined = has_mag_ref_ ? t_.sload(memory_.pairs[place.index]) & 0xFF : 0;
      if ((refined | found) == 0) continue;
      uint32_t magnitude[8], sum = 0;
      block_.read(t_, place.x, place.y, magnitude);
      CJ2K_UNROLL
      for (uint32_t i = 0; i < 8; ++i) {
        magnitude[i] &= 0x7FFFFFFF;
        if ((found >> i & 1) != 0) sum += magnitude[i];
      }
      found_sum += sum;
      if (!has_mag_ref_) continue;
      sum = 0;
      CJ2K_UNROLL
      for (uint32_t i = 0; i < 8; ++i) {
        const int32_t distance = static_cast<int32_t>(magnitude[i] & ((2u << plane_) - 1)) - half;
        if ((refined >> i & 1) != 0)
          sum += static_cast<uint32_t>(distance < 0 ? -distance : distance);
      }
      distances += sum;
    }
  }

  CJ2K_KERNEL_FN void store_segments(uint8_t* to_sig_prop, uint8_t* to_both, Refinement& result) {
    const RawBits bits{memory_.vlc + kSigPropBits, ~0u};
    ForwardStuffing<false> forward{{memory_.words + kSigPropBytes}};
    forward.run(t_, bits, sig_prop_end_, 1);
    const uint32_t last = forward.last_byte(t_, bits, sig_prop_end_);
    const uint32_t last_bits = sig_prop_end_ - forward.position;
    const uint32_t whole = forward.out.bytes;
    if (last_bits > 0 || forward.after_ff != 0) forward.out.put(t_, last, 1);
    forward.out.flush(t_);
    t_.sync_warp();
    result.sig_prop_bytes = store_sig_prop(forward.out.bytes, to_sig_prop);
    // The stuffed bit after 0xFF counts: it must stay 0.
    const uint32_t mask = ((1u << last_bits) - 1) | (forward.after_ff != 0 ? 0x80u : 0u);
    if (has_mag_ref_) store_both(to_both, whole, last, mask, result);
  }
  /// Stores the segment of SigProp and MagRef.
  /// @param whole       complete bytes of SigProp
  /// @param first       its next byte
  /// @param first_mask  bits of that byte that are used
  CJ2K_KERNEL_FN void store_both(uint8_t* to, uint32_t whole, uint32_t first, uint32_t first_mask,
                                 Refinement& result) {
    const RawBits bits{memory_.vlc + kMagRefBits, ~0u};
    BackwardStuffing backward{{memory_.words + kMagRefBytes}};
    backward.run(t_, bits, mag_ref_end_);
    const uint32_t last = backward.last_byte(t_, bits, mag_ref_end_);
    const uint32_t last_bits = mag_ref_end_ - backward.position;
    backward.out.flush(t_);
    t_.sync_warp();
    const uint32_t last_mask = (1u << last_bits) - 1;
    uint32_t joint = 0, joint_bytes = 0;
    if ((first_mask | last_mask) != 0) {
      const bool shares = may_share(first, first_mask, last, last_mask);
      joint = shares ? first | last : first | last << 8;
      joint_bytes = shares ? 1 : 2;
    }
    const uint32_t begin = whole + joint_bytes, total = begin + backward.out.bytes;
    for (uint32_t i = t_.lane(); i < total; i += 32) {
      uint32_t byte = 0;
      if (i < whole) {
        byte = shared_byte(t_, memory_.words + kSigPropBytes, i);
      } else if (i < begin) {
        byte = joint >> 8 * (i - whole) & 0xFF;
      } else {
        byte = shared_byte(t_, memory_.words + kMagRefBytes, total - 1 - i);
      }
      t_.gstore(to + i, static_cast<uint8_t>(byte));
    }
    result.both_bytes = total;
    if (result.sig_prop_bytes == 0) return;
    const uint32_t end = result.sig_prop_bytes - 1;
    result.sig_prop_last =
        end < whole ? shared_byte(t_, memory_.words + kSigPropBytes, end) : joint & 0xFF;
  }
  /// Stores the segment of SigProp alone, without zero bytes at its end. @return its bytes
  CJ2K_KERNEL_FN uint32_t store_sig_prop(uint32_t count, uint8_t* to) {
    const uint32_t* const bytes = memory_.words + kSigPropBytes;
    while (count > 1) {
      const uint32_t i = count - 1 - t_.lane();
      const bool is_spare = t_.lane() < count - 1 && shared_byte(t_, bytes, i) == 0 &&
                            shared_byte(t_, bytes, i - 1) != 0xFF;
      const uint32_t needed = ~t_.ballot(is_spare);
      count -= needed != 0 ? t_.ctz(needed) : 32;
      if (needed != 0) break;
    }
    for (uint32_t i = t_.lane(); i < (count + 3) / 4; i += 32)
      t_.gstore(reinterpret_cast<uint32_t*>(to) + i, t_.sload(bytes[i]));
    return count;
  }

  T& t_;
  WarpMemory<true>& memory_;
  const Block& block_;
  const uint32_t plane_;  ///< that is coded
  const bool causal_, has_mag_ref_;
  const uint32_t pairs_wide_, pairs_high_, groups_;

  uint32_t num_found_ = 0, num_ones_ = 0;        ///< samples of this lane
  uint32_t sig_prop_end_ = 0, mag_ref_end_ = 0;  ///< bits
};

}  // namespace cj2k::cuda::ht

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// SigProp and MagRef by a warp. The unit is a group of 4 columns by 4 rows of a stripe: its masks
// have 16 bits in scan order, bit 4 * column + row. Groups are numbered in scan order, and a lane has
// every 32nd.
//
// SigProp adds samples that may make later neighbours members. All groups are looked at again until
// none changes, which takes one round more than the longest chain of groups. Each sample depends on
// earlier ones alone, so this ends, and with the samples that the scan finds.
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

template <typename T, bool kReversible>
class Refiner {
 public:
  CJ2K_KERNEL_FN Refiner(T& t, WarpMemory<true>& memory, const BlockReader<kReversible>& block,
                         const HtTask& task, bool causal)
      : t_(t),
        memory_(memory),
        block_(block),
        plane_(task.plane - 1u),
        causal_(causal),
        has_mag_ref_(task.passes > 2),
        pairs_wide_((block.width + 3) / 4),
        pairs_high_((block.height + 1) / 2),
        groups_(pairs_wide_ * ((block.height + 3) / 4)) {}

  CJ2K_KERNEL_FN Refinement run(uint8_t* sig_prop, uint8_t* both) {
    find_members();
    Refinement result{};
    add_distortions(result);
    put_bits();
    t_.sync_warp();
    store_segments(sig_prop, both, result);
    return result;
  }

 private:
  // Parts of WarpMemory::words, in words. The states of the groups are not needed when MagRef's
  // bytes are made.
  static constexpr uint32_t kStates = 0;  ///< of each group: significant before | found << 16
  static constexpr uint32_t kMagRefBytes = 0;
  static constexpr uint32_t kSigPropBits = 256;  ///< two for each sample
  static constexpr uint32_t kMagRefBits = kSigPropBits + 256 + 2;
  static constexpr uint32_t kSigPropBytes = kMagRefBits + 128 + 2;
  static_assert(kSigPropBytes + 8192 / 28 + 2 <= 2 * kMostPairs && 4096 / 28 + 2 <= kSigPropBits);
  static constexpr uint32_t kLaneGroups = 8;

  static constexpr uint32_t kRow0 = 0x1111, kRow3 = 0x8888;
  /// Rows one further down, and one further up.
  CJ2K_KERNEL_FN static uint32_t down(uint32_t mask) { return mask << 1 & 0xEEEE; }
  CJ2K_KERNEL_FN static uint32_t up(uint32_t mask) { return mask >> 1 & 0x7777; }
  CJ2K_KERNEL_FN static uint32_t and_beside(uint32_t mask) {
    return (mask | mask << 4 | mask >> 4) & 0xFFFF;
  }
  CJ2K_KERNEL_FN static uint32_t and_above_below(uint32_t mask) {
    return mask | down(mask) | up(mask);
  }
  /// From 2-bit columns of a pair to 4-bit columns of a group, and back.
  CJ2K_KERNEL_FN static uint32_t spread(uint32_t x) {
    x = (x | x << 4) & 0x0F0F;
    return (x | x << 2) & 0x3333;
  }
  CJ2K_KERNEL_FN static uint32_t gather(uint32_t x) {
    x &= 0x3333;
    x = (x | x >> 2) & 0x0F0F;
    return (x | x >> 4) & 0xFF;
  }

  /// State of the group at (x, y), or 0.
  CJ2K_KERNEL_FN uint32_t state(int32_t x, int32_t y) const {
    const bool is_inside = x >= 0 && y >= 0 && static_cast<uint32_t>(x) < pairs_wide_;
    const uint32_t i = static_cast<uint32_t>(y) * pairs_wide_ + static_cast<uint32_t>(x);
    return is_inside && i < groups_ ? t_.sload(memory_.words[kStates + i]) : 0;
  }
  /// The field of a group that `shift` selects from the words of its pairs.
  CJ2K_KERNEL_FN uint32_t mask_of(uint32_t x, uint32_t y, uint32_t shift) const {
    const uint32_t i = 2 * y * pairs_wide_ + x;
    uint32_t mask = spread(t_.sload(memory_.pairs[i]) >> shift & 0xFF);
    if (2 * y + 1 < pairs_high_)
      mask |= spread(t_.sload(memory_.pairs[i + pairs_wide_]) >> shift & 0xFF) << 2;
    return mask;
  }
  /// Samples next to significant ones of earlier groups: of the group before and of the stripe above.
  CJ2K_KERNEL_FN static uint32_t beside_earlier(uint32_t left, uint32_t above_left, uint32_t above,
                                                uint32_t above_right) {
    return and_above_below(left >> 12 & 0xF) | and_beside(above >> 3 & kRow0) |
           (above_left >> 15 & 1) | (above_right & 8) << 9;
  }
  CJ2K_KERNEL_FN static uint32_t beside_later(uint32_t right, uint32_t below_left, uint32_t below,
                                              uint32_t below_right) {
    return (and_above_below(right & 0xF) & 0xF) << 12 | and_beside((below & kRow0) << 3) |
           (below_left >> 12 & 1) << 3 | (below_right & 1) << 15;
  }

  CJ2K_KERNEL_FN void find_members() {
    PairPlace place(t_.lane(), pairs_wide_);
    CJ2K_UNROLL
    for (uint32_t k = 0; k < kLaneGroups; ++k, place.step()) {
      if (place.index >= groups_) continue;
      t_.sstore(memory_.words[kStates + place.index], mask_of(place.x, place.y, 0));
    }
    t_.sync_warp();
    place = PairPlace(t_.lane(), pairs_wide_);
    CJ2K_UNROLL
    for (uint32_t k = 0; k < kLaneGroups; ++k, place.step()) {
      members_[k] = insignificant_[k] = found_[k] = 0;
      if (place.index < groups_) begin_group(place, k);
    }
    bool changes = true;
    while (changes) {
      bool changed = false;
      place = PairPlace(t_.lane(), pairs_wide_);
      CJ2K_UNROLL
      for (uint32_t k = 0; k < kLaneGroups; ++k, place.step()) {
        if (place.index < groups_) changed |= look_again(place, k);
      }
      t_.sync_warp();
      CJ2K_UNROLL
      for (uint32_t k = 0; k < kLaneGroups; ++k) {
        const uint32_t i = t_.lane() + 32 * k;
        if (i < groups_ && changed)
          t_.sstore(memory_.words[kStates + i], states_[k] | found_[k] << 16);
      }
      changes = t_.any(changed);
      t_.sync_warp();
    }
  }
  CJ2K_KERNEL_FN void begin_group(const PairPlace& place, uint32_t k) {
    const auto x = static_cast<int32_t>(place.x), y = static_cast<int32_t>(place.y);
    const uint32_t here = state(x, y);
    uint32_t near =
        and_beside(and_above_below(here)) |
        beside_earlier(state(x - 1, y), state(x - 1, y - 1), state(x, y - 1), state(x + 1, y - 1));
    const uint32_t right = state(x + 1, y);
    near |= causal_
                ? beside_later(right, 0, 0, 0)
                : beside_later(right, state(x - 1, y + 1), state(x, y + 1), state(x + 1, y + 1));
    const uint32_t columns = block_.columns(place.x);
    const uint32_t rows = block_.height - 4 * place.y < 4 ? block_.height - 4 * place.y : 4;
    const uint32_t inside = ((1u << 4 * columns) - 1) & ((1u << rows) - 1) * kRow0;
    states_[k] = here;
    insignificant_[k] = inside & ~here;
    near_[k] = near & 0xFFFF;
    ones_[k] = mask_of(place.x, place.y, 8);
  }
  /// @return whether more samples are found
  CJ2K_KERNEL_FN bool look_again(const PairPlace& place, uint32_t k) {
    const auto x = static_cast<int32_t>(place.x), y = static_cast<int32_t>(place.y);
    const uint32_t near =
        near_[k] | beside_earlier(state(x - 1, y) >> 16, state(x - 1, y - 1) >> 16,
                                  state(x, y - 1) >> 16, state(x + 1, y - 1) >> 16);
    uint32_t found = found_[k], before = 0;
    do {
      before = found;
      const uint32_t beside = found << 4 & 0xFFFF;
      members_[k] = insignificant_[k] & (near | down(found) | and_above_below(beside));
      found = members_[k] & ones_[k];
    } while (found != before);
    const bool changed = found != found_[k];
    found_[k] = found;
    return changed;
  }

  CJ2K_KERNEL_FN void add_distortions(Refinement& result) {
    uint32_t counts = 0, num_ones = 0;
    CJ2K_UNROLL
    for (uint32_t k = 0; k < kLaneGroups; ++k) {
      if (t_.lane() + 32 * k >= groups_) continue;
      counts += t_.popcount(found_[k]) | t_.popcount(states_[k]) << 16;
      num_ones += t_.popcount(states_[k] & ones_[k]);
    }
    counts = t_.warp_reduce_add(counts);
    int64_t new_low = 0, low_difference = 0;
    if (plane_ > 0) add_low_bits(new_low, low_difference);
    new_low = t_.warp_reduce_add(new_low);
    const auto plane = static_cast<int>(plane_);
    result.sig_prop_distortion =
        significance_distortion(plane, kReversible, static_cast<int32_t>(counts & 0xFFFF), new_low);
    if (!has_mag_ref_) return;
    const auto ones = static_cast<int32_t>(t_.warp_reduce_add(num_ones));
    low_difference = t_.warp_reduce_add(low_difference);
    result.mag_ref_distortion = refinement_distortion(
        plane, kReversible, ones, static_cast<int32_t>(counts >> 16) - ones, low_difference);
  }
  /// Reads the samples again.
  CJ2K_KERNEL_FN void add_low_bits(int64_t& new_low, int64_t& low_difference) {
    PairPlace place(t_.lane(), pairs_wide_);
    for (uint32_t first = 0; first < pairs_wide_ * pairs_high_; first += 32, place.step()) {
      if (place.index >= pairs_wide_ * pairs_high_) continue;
      const uint32_t group = t_.sload(memory_.words[(place.y >> 1) * pairs_wide_ + place.x]);
      const uint32_t found = gather(group >> 16 >> 2 * (place.y & 1));
      const uint32_t pair = t_.sload(memory_.pairs[place.index]);
      const uint32_t refined = has_mag_ref_ ? pair & 0xFF : 0;
      if ((refined | found) == 0) continue;
      uint32_t value[8];
      block_.read(t_, place.x, place.y, value);
      CJ2K_UNROLL
      for (uint32_t i = 0; i < 8; ++i) {
        const auto low = static_cast<int64_t>(value[i] & ((1u << plane_) - 1));
        if ((found >> i & 1) != 0) new_low += low;
        if ((refined >> i & 1) != 0) low_difference += (pair >> (8 + i) & 1) != 0 ? low : -low;
      }
    }
  }

  /// The bits of `from` at the places of `mask`.
  CJ2K_KERNEL_FN uint32_t extract(uint32_t from, uint32_t mask) const {
    uint32_t bits = 0, count = 0;
    for (; mask != 0; mask &= mask - 1) bits |= (from >> t_.ctz(mask) & 1) << count++;
    return bits;
  }
  /// Puts the bits of all groups side by side.
  CJ2K_KERNEL_FN void put_bits() {
    const RawBits sig_prop{memory_.words + kSigPropBits, ~0u};
    const RawBits mag_ref{memory_.words + kMagRefBits, ~0u};
    sig_prop.clear(t_, 0, kSigPropBytes - kSigPropBits);
    t_.sync_warp();
    PairPlace place(t_.lane(), pairs_wide_);
    CJ2K_UNROLL
    for (uint32_t k = 0; k < kLaneGroups; ++k, place.step()) {
      if (32 * k >= groups_) continue;
      const bool is_valid = place.index < groups_;
      const uint32_t members = is_valid ? members_[k] : 0, found = is_valid ? found_[k] : 0;
      const uint32_t before = is_valid && has_mag_ref_ ? states_[k] : 0;
      const uint32_t num_members = t_.popcount(members);
      const uint32_t counts = (num_members + t_.popcount(found)) | t_.popcount(before) << 16;
      const uint32_t up_to = t_.warp_inclusive_add(counts), all = t_.shuffle(up_to, 31);
      const uint32_t at = up_to - counts;
      uint32_t bits = is_valid ? extract(ones_[k], members) : 0;
      // The signs come after the members of the group.
      if (found != 0) bits |= extract(mask_of(place.x, place.y, 16), found) << num_members;
      sig_prop.put(t_, sig_prop_end_ + (at & 0xFFFF), bits);
      if (before != 0) mag_ref.put(t_, mag_ref_end_ + (at >> 16), extract(ones_[k], before));
      sig_prop_end_ += all & 0xFFFF;
      mag_ref_end_ += all >> 16;
    }
  }

  CJ2K_KERNEL_FN void store_segments(uint8_t* to_sig_prop, uint8_t* to_both, Refinement& result) {
    const RawBits bits{memory_.words + kSigPropBits, ~0u};
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
    const RawBits bits{memory_.words + kMagRefBits, ~0u};
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
  const BlockReader<kReversible>& block_;
  const uint32_t plane_;  ///< that is coded
  const bool causal_, has_mag_ref_;
  const uint32_t pairs_wide_, pairs_high_, groups_;

  // The groups of this lane.
  uint32_t states_[kLaneGroups];         ///< significant before
  uint32_t insignificant_[kLaneGroups];  ///< samples of the block that are not
  uint32_t near_[kLaneGroups];           ///< samples with a neighbour that is significant before
  uint32_t ones_[kLaneGroups];           ///< samples whose bit is 1
  uint32_t members_[kLaneGroups], found_[kLaneGroups];
  uint32_t sig_prop_end_ = 0, mag_ref_end_ = 0;  ///< bits
};

}  // namespace cj2k::cuda::ht

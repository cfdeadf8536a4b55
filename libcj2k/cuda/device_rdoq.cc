// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/device_rdoq.h"

#include <algorithm>
#include <bit>

#include "base/parallel.h"
#include "coders/ebcot/rdoq.h"
#include "cuda/block_lists.h"
#include "kernels/ebcot/colour.h"
#include "kernels/ebcot/votes.h"

namespace cj2k::cuda {
namespace {

/// Samples of a frame's blocks.
size_t block_samples(const Plan& plan) {
  size_t samples = 0;
  for (const CodeBlock& block : plan.blocks) samples += size_t{block.width} * block.height;
  return samples;
}

/// Turns the bit-planes of a block (QuantizeJob) into samples. @param words  of the frame
void samples_of_planes(const QuantizeJob& job, const uint64_t* words, int bit_planes,
                       uint32_t* samples) {
  words += job.first_word;
  for (uint32_t y = 0; y < job.height; ++y) {
    for (uint32_t x = 0; x < job.width; ++x) {
      const uint64_t* const word = words + y / 4 * job.words_wide + x / 16;
      const uint32_t bit = 4 * (x % 16) + y % 4;
      uint32_t magnitude = 0;
      for (int plane = 1; plane <= bit_planes; ++plane)
        magnitude = magnitude << 1 | (word[plane * job.plane_words] >> bit & 1);
      const bool negative = magnitude != 0 && (*word >> bit & 1) != 0;
      *samples++ = magnitude | (negative ? 0x80000000u : 0u);
    }
  }
}

}  // namespace

DeviceRdoq::DeviceRdoq(const DeviceCoderSetup& setup)
    : s_(setup),
      colours_(colour_order(setup.plan)),
      step_sets_(static_cast<size_t>(setup.plan.params.gop), UINT32_MAX),
      first_(step_sets_.size()),
      luma_(step_sets_.size()) {
  if (!keeps_coefficients(s_.plan)) return;
  words_ = HostBuffer(s_.tables.frame_words * sizeof(uint64_t));
  magnitudes_ = HostBuffer(s_.plan.blocks.size() * sizeof(uint32_t));
  changed_samples_ = HostBuffer(step_sets_.size() * block_samples(s_.plan) * sizeof(uint32_t));
}

Status DeviceRdoq::begin(CudaGopWork& work, const Samples& samples) {
  samples_ = samples;
  for (uint32_t frame = 0; frame < samples.num_frames; ++frame) CJ2K_TRY(set_steps(work, frame, 0));
  return Status::kOk;
}

Status DeviceRdoq::set_steps(CudaGopWork& work, uint32_t frame, uint32_t step_set) {
  if (step_sets_[frame] == step_set) return Status::kOk;
  const size_t num_blocks = s_.plan.blocks.size();
  CJ2K_TRY(work.stream.copy(m_.jobs.in(work.device) + frame * num_blocks,
                            s_.tables.on_device.tier1.in(s_.table_memory) + step_set * num_blocks,
                            num_blocks * sizeof(Tier1Job)));
  step_sets_[frame] = step_set;
  return Status::kOk;
}

/// Quantises a frame with its step set. All of its blocks begin again.
Status DeviceRdoq::quantise_frame(CudaGopWork& work, uint32_t frame, const Tier1Buffers& buffers) {
  const size_t num_blocks = s_.plan.blocks.size();
  const auto* jobs =
      s_.tables.on_device.quantize.in(s_.table_memory) + step_sets_[frame] * num_blocks;
  const Samples samples{static_cast<uint32_t*>(samples_.data) + frame * samples_.frame_samples,
                        samples_.frame_samples, 1};
  const BitPlanes planes{buffers.planes.words + frame * buffers.planes.frame_words,
                         buffers.planes.frame_words,
                         buffers.planes.magnitudes + frame * num_blocks};
  CJ2K_TRY((s_.plan.reversible ? quantize53 : quantize97)(
      work.stream, jobs, static_cast<uint32_t>(num_blocks), samples, planes));
  return work.stream.fill(buffers.states + frame * num_blocks, 0, num_blocks * sizeof(Tier1State));
}

/// Parts the blocks of an order into those that are coded first, and Y that waits for Cb and Cr.
void DeviceRdoq::divide(const BlockRequest& order) {
  std::vector<uint32_t>&first = first_[order.frame], &luma = luma_[order.frame];
  luma.clear();
  first.assign(order.blocks.begin(), order.blocks.end());
  if (order.rdoq[0] == 0 || colours_.triples.empty()) return;
  ColourOrder some;
  const bool are_all = order.blocks.size() == s_.plan.blocks.size();
  if (!are_all) some = colours_.some(order.blocks);
  const ColourOrder& colours = are_all ? colours_ : some;
  first = colours.rest;
  for (size_t i = 0; i < colours.triples.size(); i += 3) {
    first.insert(first.end(), {colours.triples[i], colours.triples[i + 1]});
    luma.push_back(colours.triples[i + 2]);
  }
  // In the order of the plan neighbours take about the same work.
  std::sort(first.begin(), first.end());
}

RdoqFrame DeviceRdoq::rdoq_frame(const BlockRequest& order) const {
  const bool may_pause = (s_.plan.params.cblk_style & CJ2K_STYLE_PTERM) == 0;
  RdoqFrame frame{};
  frame.step_set = order.step_set;
  for (size_t c = 0; c < s_.plan.components.size(); ++c) {
    const uint16_t slope = order.rdoq[c];
    frame.slope[c] = slope;
    frame.pauses[c] = may_pause && order.thresholds[c] != 0;
    frame.error[c] = rdoq_error(slope);
    frame.lower_error[c] = rdoq_error(static_cast<uint16_t>(std::max(slope - kRdoqDepth, 0)));
  }
  return frame;
}

Status DeviceRdoq::prepare(CudaGopWork& work, std::span<const BlockRequest> orders,
                           const Tier1Buffers& buffers, Lists* lists) {
  simt::Stream& stream = work.stream;
  auto* const frames = p_.rdoq_frames.in(work.pinned);
  std::fill_n(frames, p_.rdoq_frames.count, RdoqFrame{});
  *lists = {};
  std::vector<BlockRequest> first(orders.begin(), orders.end()), luma = first;
  for (size_t i = 0; i < orders.size(); ++i) {
    const BlockRequest& order = orders[i];
    const bool has_rdoq = order.rdoq[0] != 0;
    lists->has_rdoq |= has_rdoq;
    lists->has_votes |= order.votes;
    const bool has_other_steps = order.step_set != step_sets_[order.frame];
    CJ2K_TRY(set_steps(work, order.frame, order.step_set));
    if (!has_rdoq && (order.anew || has_other_steps))
      CJ2K_TRY(quantise_frame(work, order.frame, buffers));
    frames[order.frame] = rdoq_frame(order);
    divide(order);
    first[i].blocks = first_[order.frame];
    luma[i].blocks = luma_[order.frame];
  }
  auto* const numbers = p_.list.in(work.pinned);
  auto* const on_device = m_.list.in(work.device);
  lists->numbers = numbers;
  lists->first = list_blocks(s_.tables.tier1, first, on_device, numbers);
  const uint32_t behind = lists->first.count();
  lists->luma = list_blocks(s_.tables.tier1, luma, on_device + behind, numbers + behind);
  CJ2K_TRY(stream.upload(on_device, numbers, (behind + lists->luma.count()) * sizeof(uint32_t)));
  if (!lists->has_rdoq) return Status::kOk;
  // Blocks of frames without RDOQ are in the lists, too.
  CJ2K_TRY(stream.fill(m_.removed.in(work.device), 0, m_.removed.bytes()));
  CJ2K_TRY(stream.fill(m_.total_removed.in(work.device), 0, m_.total_removed.bytes()));
  CJ2K_TRY(stream.fill(m_.last_planes.in(work.device), 0, m_.last_planes.bytes()));
  return stream.upload(m_.rdoq_frames.in(work.device), frames, m_.rdoq_frames.bytes());
}

RdoqParams DeviceRdoq::params(const CudaGopWork& work, bool is_shifted) const {
  return {s_.tables.on_device.quantize.in(s_.table_memory),
          samples_,
          is_shifted ? m_.shifted.in(work.device) : nullptr,
          s_.tables.shifted_samples,
          m_.rdoq_frames.in(work.device),
          s_.tables.on_device.overlaps.in(s_.table_memory),
          static_cast<uint32_t>(s_.plan.params.cblk_style),
          s_.plan.reversible,
          s_.plan.params.effort == 3 ? 2 : 1};
}

Status DeviceRdoq::quantise(CudaGopWork& work, const Tier1Buffers& buffers, const Tier1List& list,
                            bool is_shifted) {
  const simt::DeviceBuffer& d = work.device;
  return rdoq_quantize(work.stream, buffers, list, params(work, is_shifted),
                       {m_.removed.in(d), m_.total_removed.in(d), m_.last_planes.in(d)});
}

Status DeviceRdoq::shift_luma(CudaGopWork& work, const Tier1Buffers& buffers, const Tier1List& list,
                              const Tier1Output& output) {
  const auto* jobs = s_.tables.on_device.colour.in(s_.table_memory);
  for (const uint32_t component : {1u, 2u}) {
    CJ2K_TRY(colour_errors(work.stream, buffers, list, output, jobs, component, params(work, false),
                           m_.shifted.in(work.device)));
  }
  return Status::kOk;
}

Status DeviceRdoq::bring_votes(CudaGopWork& work, const Tier1Buffers& buffers, const Lists& lists) {
  auto* const votes = m_.votes.in(work.device);
  CJ2K_TRY(tier1_votes(work.stream, buffers, lists.first, votes));
  return work.stream.download(p_.votes.in(work.pinned), votes, lists.first.count());
}

void DeviceRdoq::take_votes(CudaGopWork& work, std::span<const BlockRequest> orders,
                            const Lists& lists) {
  const auto num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
  const uint8_t* const votes = p_.votes.in(work.pinned);
  for (const BlockRequest& order : orders) {
    for (uint32_t i = 0; order.votes && i < lists.first.count(); ++i) {
      const uint32_t number = lists.numbers[i];
      if (number / num_blocks == order.frame)
        work.block(number).step_vote = static_cast<StepVote>(votes[i]);
    }
  }
}

Status DeviceRdoq::bring_samples(CudaGopWork& work, std::span<const BlockRequest> orders) {
  if (!keeps_coefficients(s_.plan)) return Status::kOk;
  const size_t num_blocks = s_.plan.blocks.size();
  for (const BlockRequest& order : orders) {
    if (order.rdoq[0] == 0) continue;
    const uint64_t f = order.frame;
    CJ2K_TRY(work.stream.download(words_.as<uint64_t>(),
                                  m_.words.in(work.device) + f * s_.tables.frame_words,
                                  s_.tables.frame_words * sizeof(uint64_t)));
    CJ2K_TRY(work.stream.download(magnitudes_.as<uint32_t>(),
                                  m_.magnitudes.in(work.device) + f * num_blocks,
                                  num_blocks * sizeof(uint32_t)));
    CJ2K_TRY(work.stream.synchronize());
    make_samples(work, order);
  }
  return Status::kOk;
}

/// From the bit-planes of a frame on the host.
void DeviceRdoq::make_samples(CudaGopWork& work, const BlockRequest& order) {
  const auto num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
  uint32_t* samples = changed_samples_.as<uint32_t>() + order.frame * block_samples(s_.plan);
  for (uint32_t b = 0; b < num_blocks; ++b) {
    const CodeBlock& block = s_.plan.blocks[b];
    samples_of_planes(s_.tables.quantize[order.step_set * num_blocks + b], words_.as<uint64_t>(),
                      static_cast<int>(std::bit_width(magnitudes_.as<uint32_t>()[b])), samples);
    work.block(order.frame * num_blocks + b).samples = samples;
    samples += size_t{block.width} * block.height;
  }
}

}  // namespace cj2k::cuda

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/ebcot_results.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "base/parallel.h"

namespace cj2k::cuda {
namespace {

/// Blocks per task when results are read.
constexpr size_t kResultGrain = 512;

}  // namespace

EbcotResults::EbcotResults(const DeviceCoderSetup& setup, const DeviceRdoq* rdoq)
    : s_(setup),
      rdoq_(rdoq),
      begins_(static_cast<size_t>(setup.plan.params.gop)),
      here_bytes_(begins_.size() * setup.plan.blocks.size()) {}

void EbcotResults::begin() { std::fill(begins_.begin(), begins_.end(), uint8_t{1}); }

void EbcotResults::begin_call(CudaGopWork& work, std::span<const BlockRequest> requests) {
  resumes_ = false;
  for (const BlockRequest& request : requests) {
    if (begins_[request.frame] == 0) resumes_ = true;
    if (request.blocks.size() != s_.plan.blocks.size()) forget(work, request.frame);
  }
}

void EbcotResults::forget(CudaGopWork& work, uint32_t frame) {
  if (begins_[frame] == 0) return;
  const auto num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
  std::fill_n(&work.block(frame * num_blocks), num_blocks, CodedBlock{});
  begins_[frame] = 0;
}

Status EbcotResults::bring(CudaGopWork& work, const Tier1Buffers& buffers, const Tier1Output& from,
                           const ListedBlocks& listed, const BytesWanted& wanted) {
  const uint32_t count = listed.list.count();
  CJ2K_TRY(
      work.stream.download(p_.results.in(work.pinned), from.results, count * sizeof(Tier1Result)));
  Packed packed{};
  CJ2K_TRY(pack(work, buffers, from, listed.list, wanted, &packed));
  ListOutput output;
  CJ2K_TRY(bring_hulls(work, from, count, &output));
  if (packed.blocks != nullptr)
    guesses_[resumes_ ? 1 : 0].bytes.learn(count, p_.totals.in(work.pinned)[2]);
  return fill(work, listed, output, packed);
}

/// Fills the CodedBlocks, when everything is here.
Status EbcotResults::fill(CudaGopWork& work, const ListedBlocks& listed, const ListOutput& output,
                          const Packed& packed) {
  const auto num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
  const auto* const results = p_.results.in(work.pinned);
  std::atomic<uint32_t> too_long = UINT32_MAX;  // entry of a block that needs more room
  parallel_for(listed.list.count(), kResultGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const uint32_t number = listed.numbers[i];
      const Tier1Job& job = job_of(number);
      if (results[i].num_bytes > job.bytes_capacity) too_long = static_cast<uint32_t>(i);
      CodedBlock& coded = work.block(number);
      const bool begins = begins_[number / num_blocks] != 0;
      coded = coded_block(job, style(), results[i], output, begins ? CodedBlock{} : coded);
      coded.zero_bit_planes += s_.plan.blocks[number % num_blocks].planes_above;
      here_bytes_[number] = packed.blocks != nullptr ? packed.blocks[i].length_bytes : 0;
      if (here_bytes_[number] > 0)
        coded.data = packed.bytes + 16 * uint64_t{packed.blocks[i].first};
    }
  });
  if (too_long == UINT32_MAX) return Status::kOk;
  const uint32_t number = listed.numbers[too_long];
  return s_.context.log().fail(
      Status::kInternal, "code-block %u takes %u bytes, but only %u are reserved; use device=cpu",
      number % num_blocks, results[too_long].num_bytes, job_of(number).bytes_capacity);
}

const Tier1Job& EbcotResults::job_of(uint32_t number) const {
  const auto num_blocks = static_cast<uint32_t>(s_.plan.blocks.size());
  const uint32_t set = rdoq_ != nullptr ? rdoq_->step_set(number / num_blocks) : 0;
  return s_.tables.tier1.jobs[set * num_blocks + number % num_blocks];
}

/// Packs the bytes in the memory of the samples, which are not needed any more, and enqueues their
/// download.
Status EbcotResults::pack(CudaGopWork& work, const Tier1Buffers& buffers, const Tier1Output& from,
                          const Tier1List& list, const BytesWanted& wanted, Packed* packed) {
  // The samples may be asked for later.
  if (!wanted.any || list.count() == 0 || keeps_coefficients(s_.plan)) return Status::kOk;
  constexpr uint64_t kUnit = 16;
  const uint64_t most =
      std::min(s_.pinned.most_ahead(work.bytes), s_.memory.samples.bytes()) / kUnit;
  const uint32_t room = guesses_[resumes_ ? 1 : 0].bytes.of(
      list.count(), static_cast<uint32_t>(std::min<uint64_t>(most, UINT32_MAX)));
  if (room == 0) return Status::kOk;
  const simt::DeviceBuffer& d = work.device;
  const PackedOutput to{m_.packed.in(d), reinterpret_cast<uint8_t*>(s_.memory.samples.in(d)), room,
                        from.totals + 2};
  CJ2K_TRY(tier1_pack(work.stream, buffers, list, {wanted.thresholds}, from, to));
  CJ2K_TRY(work.bytes.take(room * kUnit, &packed->bytes));
  packed->blocks = p_.packed.in(work.pinned);
  CJ2K_TRY(work.stream.download(p_.packed.in(work.pinned), to.blocks,
                                list.count() * sizeof(PackedBytes)));
  return work.stream.download(packed->bytes, to.bytes, room * kUnit);
}

/// Downloads the hull points, tails and segments, as many as there probably are, and waits. Only if
/// there are more, it downloads them again and waits once more.
Status EbcotResults::bring_hulls(CudaGopWork& work, const Tier1Output& from, uint32_t num_blocks,
                                 ListOutput* result) {
  auto* totals = p_.totals.in(work.pinned);
  CJ2K_TRY(work.stream.download(totals, from.totals, kTotals * sizeof(uint32_t)));
  Guesses& guesses = guesses_[resumes_ ? 1 : 0];
  const uint32_t most = static_cast<uint32_t>(m_.hull.count);
  uint32_t guess[2] = {guesses.points.of(num_blocks, most), guesses.segments.of(num_blocks, most)};
  // The guess alone is no reason for more memory.
  constexpr uint64_t kRounding = 64;
  const uint64_t bytes = hull_bytes(guess[0], guess[1]) + 2 * kRounding, room = work.hulls.most();
  if (bytes > room) {
    for (uint32_t& entries : guess)
      entries = static_cast<uint32_t>((room > 2 * kRounding ? room - 2 * kRounding : 0) * entries /
                                      bytes);
  }
  const PinnedPool::Place place = work.hulls.place();
  CJ2K_TRY(download_hulls(work, from, guess, result));
  guesses.points.learn(num_blocks, totals[0]);
  guesses.segments.learn(num_blocks, totals[1]);
  if (totals[0] <= guess[0] && totals[1] <= guess[1]) return Status::kOk;
  work.hulls.return_to(place);
  return download_hulls(work, from, totals, result);
}

/// @param counts  number of hull points, and of segments
Status EbcotResults::download_hulls(CudaGopWork& work, const Tier1Output& from,
                                    const uint32_t* counts, ListOutput* result) const {
  *result = {};
  const auto bring = [&](const auto* entries, uint32_t count, const auto** to) {
    if (entries == nullptr || count == 0) return Status::kOk;
    uint8_t* memory = nullptr;
    CJ2K_TRY(work.hulls.take(count * sizeof *entries, &memory));
    *to = reinterpret_cast<std::remove_reference_t<decltype(*to)>>(memory);
    return work.stream.download(memory, entries, count * sizeof *entries);
  };
  CJ2K_TRY(bring(from.hull, counts[0], &result->hulls));
  CJ2K_TRY(bring(from.tails, counts[0], &result->tails));
  CJ2K_TRY(bring(from.segments, counts[1], &result->segments));
  CJ2K_TRY(work.stream.record(work.end));
  return work.end.synchronize();
}

/// Bytes of hull points with their tails, and of segments.
uint64_t EbcotResults::hull_bytes(uint64_t points, uint64_t segments) const {
  const uint64_t tail_bytes = (style() & CJ2K_STYLE_PTERM) != 0 ? sizeof(PassTail) : 0;
  return points * (sizeof(HullPoint) + tail_bytes) +
         (has_segments(style()) ? segments * sizeof(SegmentEnd) : 0);
}

}  // namespace cj2k::cuda

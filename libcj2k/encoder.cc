// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "encoder.h"

#include <hwy/highway.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <thread>

#include "base/parallel.h"
#include "params.h"
#include "stages/early_stop.h"
#include "stages/packets.h"
#include "stages/rate.h"
#include "stages/target.h"

namespace cj2k {
namespace {

using Clock = std::chrono::steady_clock;

/// Precincts per task when packet headers are written.
constexpr size_t kPrecinctGrain = 8;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

/// The arena and, where more threads are asked for than the machine has cores, leave to start them.
struct Encoder::Threads {
  explicit Threads(int count) : arena(count) {
    if (static_cast<unsigned>(count) > std::thread::hardware_concurrency()) {
      more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(count));
    }
    arena.initialize();
  }
  std::optional<tbb::global_control> more;
  tbb::task_arena arena;
};

/// One frame in flight.
struct Encoder::Slot {
  Slot(const Plan& plan, Backend& backend, std::vector<PacketScratch>& scratch)
      : work(backend.make_frame_work()), rate(plan, scratch), early_stop(plan), writer(plan) {}

  std::unique_ptr<FrameWork> work;
  RateControl rate;
  EarlyStop early_stop;
  PacketWriter writer;
  tbb::task_group task;

  cj2k_frame frame{};
  bool ingested = false;
  Status status = Status::kOk;
  Output* output = nullptr;  ///< of a frame that is done
  size_t bytes = 0;
  cj2k_stats stats{};
};

Encoder::Encoder(const Log& log) : log_(log) {}

Status Encoder::open(const cj2k_params& params, const Log& log, std::unique_ptr<Encoder>* encoder) {
  cj2k_params resolved;
  CJ2K_TRY(resolve_params(params, log, &resolved));
  std::unique_ptr<Encoder> e(new Encoder(log));
  CJ2K_TRY(make_plan(resolved, log, &e->plan_));
  CJ2K_TRY(e->check_limits());
  e->threads_ = std::make_unique<Threads>(resolved.threads);
  e->threads_->arena.execute([&] {
    e->backend_ = make_cpu_backend(e->plan_);
    e->packet_scratch_.reserve(num_workers());
    for (size_t i = 0; i < num_workers(); ++i) e->packet_scratch_.emplace_back(e->plan_);
    for (int i = 0; i < resolved.async_depth; ++i) {
      e->slots_.push_back(std::make_unique<Slot>(e->plan_, *e->backend_, e->packet_scratch_));
    }
  });
  e->header_bytes_ = fixed_bytes(e->plan_);
  cj2k_info info;
  e->info(&info);
  log.print(CJ2K_LOG_INFO,
            "%s backend (%s), %d thread%s, %d frame%s in flight, %" PRId64
            " code-blocks, %.0f MB planned",
            info.backend, info.simd, info.threads, info.threads == 1 ? "" : "s", info.async_depth,
            info.async_depth == 1 ? "" : "s", info.num_blocks,
            static_cast<double>(info.host_bytes) / 1e6);
  *encoder = std::move(e);
  return Status::kOk;
}

Encoder::~Encoder() {
  if (threads_ != nullptr) (void)flush();
}

/// Caps that no frame can meet are refused before the first one comes.
Status Encoder::check_limits() const {
  const cj2k_params& p = plan_.params;
  const auto smallest = static_cast<int64_t>(smallest_frame_bytes(plan_));
  const auto check = [&](const char* name, int64_t cap, int64_t least, const char* what) {
    if (cap == 0 || cap >= least) return Status::kOk;
    return log_.fail(Status::kInvalid,
                     "%s %" PRId64 " not in [%" PRId64 ", %" PRId64
                     "]: the headers of %s alone take %" PRId64 " bytes",
                     name, cap, least, INT64_MAX, what, least);
  };
  CJ2K_TRY(check("target_bytes", p.target_bytes, smallest, "a frame"));
  CJ2K_TRY(check("max_frame_bytes", p.max_frame_bytes, smallest, "a frame"));
  if (p.max_component_bytes > 0) {
    for (uint32_t c = 0; c < plan_.components.size(); ++c) {
      CJ2K_TRY(check("max_component_bytes", p.max_component_bytes,
                     static_cast<int64_t>(smallest_component_bytes(plan_, c)), "a component"));
    }
  }
  if (p.num_layer_rates > 0 && !p.lossless) {
    const double ratio = p.layer_rates[p.num_layer_rates - 1];
    const double bytes = static_cast<double>(raw_frame_bytes(plan_)) / ratio;
    if (ratio > 1 && bytes < static_cast<double>(smallest)) {
      return log_.fail(Status::kInvalid,
                       "layer_rates: ratio %g leaves %.0f bytes, not in [%" PRId64 ", %" PRId64
                       "]: the headers of a frame alone take %" PRId64 " bytes",
                       ratio, bytes, smallest, INT64_MAX, smallest);
    }
  }
  return Status::kOk;
}

Status Encoder::check_frame(const cj2k_frame& frame) const {
  const cj2k_params& p = plan_.params;
  if (frame.struct_size != sizeof(cj2k_frame)) {
    return log_.fail(Status::kInvalid, "frame: struct_size %zu is not %zu", frame.struct_size,
                     sizeof(cj2k_frame));
  }
  int memory;  // any number may stand there; only an int may hold it
  static_assert(sizeof memory == sizeof frame.memory);
  std::memcpy(&memory, &frame.memory, sizeof memory);
  if (memory != CJ2K_MEMORY_HOST) {
    return log_.fail(Status::kNotSupported, "frame: memory %d is not host memory (%d)", memory,
                     static_cast<int>(CJ2K_MEMORY_HOST));
  }
  if (frame.width != p.width || frame.height != p.height) {
    return log_.fail(Status::kInvalid, "frame: size %dx%d is not the encoder's %dx%d", frame.width,
                     frame.height, p.width, p.height);
  }
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    const cj2k_component_view& v = frame.components[c];
    const Component& component = plan_.components[c];
    if (v.data == nullptr)
      return log_.fail(Status::kInvalid, "frame: component %u has no data (NULL)", c);
    if (v.word_bytes != 1 && v.word_bytes != 2 && v.word_bytes != 4) {
      return log_.fail(Status::kInvalid, "frame: component %u: word_bytes %d not in {1, 2, 4}", c,
                       v.word_bytes);
    }
    if (v.step_bytes < v.word_bytes || v.step_bytes > 64) {
      return log_.fail(Status::kInvalid, "frame: component %u: step_bytes %d not in [%d, 64]", c,
                       v.step_bytes, v.word_bytes);
    }
    const int bits = 8 * v.word_bytes;
    if (bits < component.depth) {
      return log_.fail(Status::kInvalid,
                       "frame: component %u: word_bytes %d hold %d bits, depth is %d", c,
                       v.word_bytes, bits, component.depth);
    }
    if (v.shift < 0 || v.shift > bits - component.depth) {
      return log_.fail(Status::kInvalid, "frame: component %u: shift %d not in [0, %d]", c, v.shift,
                       bits - component.depth);
    }
    const int64_t row =
        static_cast<int64_t>(component.rect.width() - 1) * v.step_bytes + v.word_bytes;
    if (component.rect.height() > 1 && std::abs(static_cast<int64_t>(v.stride_bytes)) < row) {
      return log_.fail(Status::kInvalid,
                       "frame: component %u: stride_bytes %td, a row takes %" PRId64, c,
                       v.stride_bytes, row);
    }
  }
  return Status::kOk;
}

void Encoder::info(cj2k_info* info) const {
  const cj2k_params& p = plan_.params;
  *info = {};
  info->struct_size = sizeof(cj2k_info);
  info->backend = backend_->name();
  info->simd = hwy::TargetName(simd::tier1_target());
  info->threads = p.threads;
  info->gop = p.gop;
  info->async_depth = p.async_depth;
  info->num_tiles = static_cast<int64_t>(plan_.tiles.size());
  info->num_blocks = static_cast<int64_t>(plan_.blocks.size());
  info->num_packets = static_cast<int64_t>(plan_.packets.size());
  info->host_bytes = backend_->frame_work_bytes() * p.async_depth;
  info->header_bytes = static_cast<int64_t>(header_bytes_);
}

Status Encoder::send(const cj2k_frame* frame) {
  if (draining_) return Status::kEof;
  if (frame == nullptr) {
    draining_ = true;
    return Status::kOk;
  }
  CJ2K_TRY(check_frame(*frame));
  if (num_in_flight_ == slots_.size()) return Status::kAgain;
  Slot& slot = *slots_[(first_slot_ + num_in_flight_) % slots_.size()];
  slot.frame = *frame;
  slot.ingested = false;
  slot.status = Status::kOk;
  slot.stats = {};
  if (frame->release == nullptr) {
    // The samples are the caller's again when this returns.
    Status status = Status::kOk;
    threads_->arena.execute([&] { status = backend_->ingest(*frame, *slot.work, slot.stats); });
    CJ2K_TRY(status);
    slot.ingested = true;
  }
  if (plan_.params.threads == 1) {
    threads_->arena.execute([&] { encode(slot); });
  } else {
    CJ2K_TSAN_RELEASE(&slot);
    threads_->arena.execute([&] {
      slot.task.run([this, &slot] {
        CJ2K_TSAN_ACQUIRE(&slot);
        encode(slot);
        CJ2K_TSAN_RELEASE(&slot);
      });
    });
  }
  ++num_in_flight_;
  return Status::kOk;
}

/// The whole way of one frame. Runs as a task: what goes wrong is kept for receive.
void Encoder::encode(Slot& slot) {
  try {
    if (!slot.ingested) {
      slot.status = backend_->ingest(slot.frame, *slot.work, slot.stats);
      slot.frame.release(slot.frame.release_opaque);
      slot.ingested = true;
    }
    if (slot.status == Status::kOk) slot.status = backend_->transform(*slot.work, slot.stats);
    if (slot.status == Status::kOk)
      slot.status = slot.early_stop.run(*backend_, *slot.work, slot.rate, slot.stats);
    if (slot.status == Status::kOk) finish(slot);
  } catch (const std::bad_alloc&) {
    slot.status = log_.fail(Status::kNoMemory, "frame %" PRId64 ": out of memory", slot.frame.pts);
  }
  if (!slot.ingested) {
    slot.frame.release(slot.frame.release_opaque);
    slot.ingested = true;
  }
}

void Encoder::finish(Slot& slot) {
  const auto start = Clock::now();
  const Selection& selection = slot.rate.selection();
  parallel_for(plan_.precincts.size(), kPrecinctGrain, [&](size_t begin, size_t end) {
    for (size_t p = begin; p < end; ++p) {
      slot.writer.encode_headers(selection, static_cast<uint32_t>(p),
                                 packet_scratch_[worker_index()]);
    }
  });
  if (!slot.writer.fits()) {
    slot.status = log_.fail(Status::kNotSupported,
                            "frame %" PRId64 ": a tile-part of %" PRIu64
                            " bytes or less does not fit "
                            "Psot (4294967295 bytes); use tiles, tile_parts or a cap",
                            slot.frame.pts, slot.writer.frame_bytes());
    return;
  }
  const auto min_bytes = static_cast<uint64_t>(plan_.params.min_frame_bytes);
  slot.bytes = slot.writer.padded_bytes(min_bytes);
  slot.output = take_output(slot.bytes);
  const uint64_t written = slot.writer.write(
      selection, {slot.output->bytes.as<uint8_t>(), slot.output->bytes.bytes()}, min_bytes);
  slot.stats.stage_ms[4] = ms_since(start);
  if (written != slot.bytes) {
    slot.status =
        log_.fail(Status::kInternal, "frame %" PRId64 ": %" PRIu64 " bytes written, %zu announced",
                  slot.frame.pts, written, slot.bytes);
    return;
  }
  collect_stats(slot);
}

void Encoder::collect_stats(Slot& slot) const {
  const CodedBlock* blocks = slot.work->blocks();
  const Selection& selection = slot.rate.selection();
  cj2k_stats& stats = slot.stats;
  stats.bytes = static_cast<int64_t>(slot.bytes);
  stats.header_bytes = static_cast<int64_t>(slot.bytes - slot.rate.body_bytes());
  stats.blocks = static_cast<int64_t>(plan_.blocks.size());
  stats.slope_threshold = slot.rate.threshold();
  for (size_t b = 0; b < plan_.blocks.size(); ++b) {
    const uint8_t points = selection.final_points[b];
    stats.passes_coded += blocks[b].num_passes;
    double left = blocks[b].total_distortion;
    if (points > 0) {
      stats.passes_included += blocks[b].hull[points - 1].passes;
      left -= blocks[b].hull[points - 1].distortion;
    }
    // What quantisation itself lost: a uniform error over the step, in units of the squared step.
    if (!plan_.reversible) {
      constexpr double kUniformError = 1.0 / 12;
      const CodeBlock& block = plan_.blocks[b];
      left += kUniformError * block.width * block.height *
              plan_.subbands[block.subband].distortion_weight;
    }
    stats.mse[plan_.blocks[b].component] += left;
  }
  for (uint32_t c = 0; c < plan_.components.size(); ++c) {
    stats.component_bytes[c] = static_cast<int64_t>(slot.rate.component_bytes(c));
    const Rect& rect = plan_.components[c].rect;
    stats.mse[c] /= static_cast<double>(rect.width()) * rect.height();
  }
}

Encoder::Output* Encoder::take_output(size_t bytes) {
  const std::lock_guard lock(outputs_mutex_);
  Output* output = nullptr;
  for (const std::unique_ptr<Output>& candidate : outputs_) {
    if (candidate->in_use) continue;
    if (output == nullptr || candidate->bytes.bytes() > output->bytes.bytes())
      output = candidate.get();
  }
  if (output == nullptr) {
    outputs_.push_back(std::make_unique<Output>());
    output = outputs_.back().get();
  }
  // Half as much again, so that a sequence stops growing its buffers after a few frames.
  if (output->bytes.bytes() < bytes) output->bytes = HostBuffer(bytes + bytes / 2);
  output->in_use = true;
  return output;
}

void Encoder::give_output(Output* output) {
  if (output == nullptr) return;
  const std::lock_guard lock(outputs_mutex_);
  output->in_use = false;
}

void Encoder::wait(Slot& slot) {
  threads_->arena.execute([&] { slot.task.wait(); });
  CJ2K_TSAN_ACQUIRE(&slot);
}

void Encoder::free_oldest() {
  oldest().output = nullptr;
  first_slot_ = (first_slot_ + 1) % slots_.size();
  --num_in_flight_;
}

Status Encoder::receive(cj2k_packet* packet) {
  if (num_in_flight_ == 0) return draining_ ? Status::kEof : Status::kAgain;
  if (num_in_flight_ < slots_.size() && !draining_) return Status::kAgain;
  Slot& slot = oldest();
  wait(slot);
  if (slot.status != Status::kOk) {
    give_output(slot.output);
    free_oldest();
    return slot.status;
  }
  *packet = {};
  packet->struct_size = sizeof(cj2k_packet);
  packet->data = slot.output->bytes.as<uint8_t>();
  packet->size = slot.bytes;
  packet->pts = slot.frame.pts;
  packet->duration = slot.frame.duration;
  packet->opaque = slot.frame.opaque;
  packet->stats = slot.stats;
  packet->slot = slot.output;
  free_oldest();
  return Status::kOk;
}

void Encoder::release(cj2k_packet* packet) {
  give_output(static_cast<Output*>(packet->slot));
  packet->data = nullptr;
  packet->size = 0;
  packet->slot = nullptr;
}

Status Encoder::flush() {
  while (num_in_flight_ > 0) {
    wait(oldest());
    give_output(oldest().output);
    free_oldest();
  }
  draining_ = false;
  return Status::kOk;
}

}  // namespace cj2k

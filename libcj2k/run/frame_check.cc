// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "run/frame_check.h"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <cstring>

#include "params/params.h"
#include "params/profiles.h"
#include "pixels/low_bits.h"

namespace cj2k {

FrameCheck::FrameCheck(const Plan& plan, bool asked_quality)
    : plan_(plan),
      asked_quality_(asked_quality),
      refuses_low_bits_(refuses_low_bits(plan)),
      smallest_(smallest_bytes(plan)),
      plan_limits_(rate_limits(plan, plan.params)) {}

Status FrameCheck::check_cap(const char* name, int64_t cap, uint64_t least_bytes, const char* what,
                             const Log& log) const {
  const auto least = static_cast<int64_t>(least_bytes);
  if (cap == 0 || (cap >= least && cap <= kMaxBytes)) return Status::kOk;
  return log
      .about(name, static_cast<double>(cap), static_cast<double>(least),
             static_cast<double>(kMaxBytes))
      .fail(Status::kInvalid,
            "%s %" PRId64 " not in [%" PRId64 ", %" PRId64
            "]: the headers of %s alone take %" PRId64 " bytes",
            name, cap, least, kMaxBytes, what, least);
}

Status FrameCheck::check_profile_cap(const char* name, int64_t cap, int64_t most,
                                     const Log& log) const {
  if (most == 0 || cap <= most) return Status::kOk;
  return log.about(name, static_cast<double>(cap), 0, static_cast<double>(most))
      .fail(Status::kInvalid, "frame: %s %" PRId64 ": profile %s has at most %" PRId64, name, cap,
            value_name("profile", plan_.params.profile), most);
}

Status FrameCheck::check_plan(const Log& log) const {
  const cj2k_params& p = plan_.params;
  CJ2K_TRY(check_cap("target_bytes", p.target_bytes, smallest_.frame, "a frame", log));
  CJ2K_TRY(check_cap("max_frame_bytes", p.max_frame_bytes, smallest_.frame, "a frame", log));
  CJ2K_TRY(check_cap("max_component_bytes", p.max_component_bytes, smallest_.component,
                     "a component", log));
  if (p.num_layer_rates > 0 && !p.lossless) {
    const double ratio = p.layer_rates[p.num_layer_rates - 1];
    const double bytes = static_cast<double>(raw_frame_bytes(plan_)) / ratio;
    if (ratio > 1 && bytes < static_cast<double>(smallest_.frame)) {
      return log.about("layer_rates")
          .fail(Status::kInvalid,
                "layer_rates: ratio %g leaves %.0f bytes, not in [%" PRIu64 ", %" PRId64
                "]: the headers of a frame alone take %" PRIu64 " bytes",
                ratio, bytes, smallest_.frame, kMaxBytes, smallest_.frame);
    }
  }
  return Status::kOk;
}

Status FrameCheck::check_samples(const cj2k_frame& frame, const Log& log) const {
  const cj2k_params& p = plan_.params;
  int memory;  // an int holds every number that the caller may have stored, the enum does not
  static_assert(sizeof memory == sizeof frame.memory);
  std::memcpy(&memory, &frame.memory, sizeof memory);
  if (memory != CJ2K_MEMORY_HOST && memory != CJ2K_MEMORY_CUDA) {
    return log.fail(Status::kInvalid, "frame: memory %d not in {%d (host), %d (CUDA)}", memory,
                    static_cast<int>(CJ2K_MEMORY_HOST), static_cast<int>(CJ2K_MEMORY_CUDA));
  }
  if (frame.read != nullptr && memory != CJ2K_MEMORY_HOST)
    return log.fail(Status::kInvalid,
                    "frame: in CUDA memory, but it has `read`, which writes to host memory");
  if (frame.width != p.width || frame.height != p.height) {
    return log.fail(Status::kInvalid, "frame: size %dx%d is not the encoder's %dx%d", frame.width,
                    frame.height, p.width, p.height);
  }
  for (uint32_t c = 0; c < plan_.components.size(); ++c) CJ2K_TRY(check_component(frame, c, log));
  return Status::kOk;
}

Status FrameCheck::check_component(const cj2k_frame& frame, uint32_t c, const Log& log) const {
  const cj2k_component_view& v = frame.components[c];
  const Component& component = plan_.components[c];
  const bool is_read = frame.read != nullptr;
  if (v.data == nullptr && !is_read)
    return log.fail(Status::kInvalid, "frame: component %u has no data (NULL)", c);
  if (v.data != nullptr && is_read)
    return log.fail(Status::kInvalid, "frame: component %u has data, but the frame has `read`", c);
  if (v.word_bytes != 1 && v.word_bytes != 2 && v.word_bytes != 4) {
    return log.fail(Status::kInvalid, "frame: component %u: word_bytes %d not in {1, 2, 4}", c,
                    v.word_bytes);
  }
  if (!is_read && (v.step_bytes < v.word_bytes || v.step_bytes > 64)) {
    return log.fail(Status::kInvalid, "frame: component %u: step_bytes %d not in [%d, 64]", c,
                    v.step_bytes, v.word_bytes);
  }
  const int bits = 8 * v.word_bytes;
  const int depth = component.depth + component.low_bits;
  if (bits < depth) {
    return log.fail(Status::kInvalid, "frame: component %u: word_bytes %d hold %d bits, %s is %d",
                    c, v.word_bytes, bits, component.low_bits == 0 ? "depth" : "source_depth",
                    depth);
  }
  if (v.shift < 0 || v.shift > bits - depth) {
    return log.fail(Status::kInvalid, "frame: component %u: shift %d not in [0, %d]", c, v.shift,
                    bits - depth);
  }
  const int64_t row =
      static_cast<int64_t>(component.rect.width() - 1) * v.step_bytes + v.word_bytes;
  if (!is_read && component.rect.height() > 1 && v.stride_bytes < row && v.stride_bytes > -row) {
    return log.fail(Status::kInvalid, "frame: component %u: stride_bytes %td, a row takes %" PRId64,
                    c, v.stride_bytes, row);
  }
  return Status::kOk;
}

Status FrameCheck::check_low_bits(const cj2k_frame& frame, Threads& threads, Backend& backend,
                                  const Log& log) const {
  if (!refuses_low_bits_) return Status::kOk;
  if (frame.read != nullptr) {
    return log.fail(Status::kNotSupported,
                    "frame: it has `read`, where low_bits refuse cannot look; use round or cut");
  }
  LowBitsSample s{};
  bool is_found = false;
  Status status = Status::kOk;
  threads.run([&] {
    if (frame.memory == CJ2K_MEMORY_CUDA) {
      status = backend.find_low_bits(frame, &s, &is_found);
    } else {
      is_found = find_low_bits(plan_, frame, &s);
    }
  });
  if (status != Status::kOk || !is_found) return status;
  const Component& component = plan_.components[s.component];
  const int32_t bits = component.depth + component.low_bits;
  return log.fail(
      Status::kInvalid,
      "frame %" PRId64
      ": component %u is %u at (%d, %d), and depth %d would lose the lowest %d of its %d "
      "bits; low_bits round rounds, depth %d keeps them",
      frame.pts, s.component, s.value, s.x, s.y, component.depth, component.low_bits, bits, bits);
}

Status FrameCheck::limits(const cj2k_frame& frame, const Log& log, RateLimits* limits) const {
  const cj2k_params& p = plan_.params;
  *limits = plan_limits_;
  const char* own = frame.target_bytes != 0          ? "target_bytes"
                    : frame.max_frame_bytes != 0     ? "max_frame_bytes"
                    : frame.max_component_bytes != 0 ? "max_component_bytes"
                    : frame.quality != 0             ? "quality"
                                                     : nullptr;
  if (own == nullptr) return Status::kOk;
  if (p.lossless)
    return log.about("lossless", 1)
        .fail(Status::kInvalid, "frame: lossless 1 excludes %s (which must be 0)", own);
  if (p.target_psnr != 0 && frame.quality != 0)
    return log.about("quality").fail(Status::kInvalid, "frame: target_psnr %g excludes quality",
                                     p.target_psnr);
  CJ2K_TRY(check_cap("frame: target_bytes", frame.target_bytes, smallest_.frame, "a frame", log));
  CJ2K_TRY(
      check_cap("frame: max_frame_bytes", frame.max_frame_bytes, smallest_.frame, "a frame", log));
  CJ2K_TRY(check_cap("frame: max_component_bytes", frame.max_component_bytes, smallest_.component,
                     "a component", log));
  if (frame.quality != 0 && !(frame.quality >= kMinQuality && frame.quality <= kMaxQuality)) {
    return log.about("quality").fail(Status::kInvalid, "frame: quality %.15g not in [%.15g, %.15g]",
                                     frame.quality, kMinQuality, kMaxQuality);
  }
  const ProfileCaps profile = profile_caps(p);
  CJ2K_TRY(check_profile_cap("target_bytes", frame.target_bytes, profile.frame, log));
  CJ2K_TRY(check_profile_cap("max_frame_bytes", frame.max_frame_bytes, profile.frame, log));
  CJ2K_TRY(
      check_profile_cap("max_component_bytes", frame.max_component_bytes, profile.component, log));
  cj2k_params merged = p;
  if (frame.target_bytes != 0) {
    merged.target_bytes = frame.target_bytes;
    if (!asked_quality_) merged.quality = 0;
  }
  if (frame.max_frame_bytes != 0) merged.max_frame_bytes = frame.max_frame_bytes;
  if (frame.max_component_bytes != 0) merged.max_component_bytes = frame.max_component_bytes;
  if (frame.quality != 0) merged.quality = frame.quality;
  CJ2K_TRY(check_min_frame_bytes("frame: ", merged, log));
  *limits = rate_limits(plan_, merged);
  return Status::kOk;
}

}  // namespace cj2k

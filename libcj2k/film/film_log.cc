// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "film/film_log.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstring>
#include <string_view>

#include "film/allocate.h"
#include "params/params.h"

namespace cj2k {
namespace {

constexpr char kMagic[] = "CJ2KFILM";
constexpr uint32_t kVersion = 1;
constexpr size_t kHashAt = 48;

/// Parameters that do not change curves, or change them little.
constexpr std::string_view kMayDiffer[] = {
    "target_bytes", "max_frame_bytes", "min_frame_bytes", "quality",     "stop",
    "stop_margin",  "effort",          "threads",         "gop",         "async_depth",
    "tier1",        "measure_mse",     "verify",          "device",      "comment",
    "main_level",   "sub_level",       "frame_rate",      "cinema_rate", "profile_strict",
    "resolution_x", "resolution_y",    "target_psnr"};

/// FNV-1a.
class Hash {
 public:
  void add(const void* data, size_t bytes) {
    const auto* at = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < bytes; ++i) value_ = (value_ ^ at[i]) * 0x100000001B3u;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF29CE484222325u;
};

template <typename T>
void put(T value, uint8_t*& out) {
  for (size_t i = 0; i < sizeof value; ++i) *out++ = static_cast<uint8_t>(value >> (8 * i));
}
template <typename T>
T get(const uint8_t*& in) {
  T value = 0;
  for (size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<T>(static_cast<T>(*in++) << (8 * i));
  return value;
}

Status hash_params(const cj2k_params& resolved, const Log& log, uint64_t* value) {
  Hash hash;
  cj2k_param_info info;
  char text[CJ2K_MAX_PARAM_TEXT];
  for (int i = 0; describe_param(i, log, &info) == Status::kOk; ++i) {
    if (std::find(std::begin(kMayDiffer), std::end(kMayDiffer), info.name) != std::end(kMayDiffer))
      continue;
    CJ2K_TRY(get_param(resolved, info.name, text, sizeof text, log));
    hash.add(info.name, std::strlen(info.name) + 1);
    hash.add(text, std::strlen(text) + 1);
  }
  *value = hash.value();
  return Status::kOk;
}

/// The hash of a log, but for the hash itself.
uint64_t hash_log(const uint8_t* log, size_t frames) {
  Hash hash;
  hash.add(log, kHashAt);
  hash.add(log + kFilmHeadBytes, frames * kFilmFrameBytes);
  return hash.value();
}

/// What the head of a log says.
struct Head {
  uint64_t params;
  uint32_t width, height;
  uint64_t frames, cap, hash;
};

Status read_head(std::span<const uint8_t> in, const Log& log, Head* head) {
  const size_t magic = std::min(in.size(), sizeof kMagic - 1);
  if (magic == 0 || std::memcmp(in.data(), kMagic, magic) != 0)
    return log.fail(Status::kInvalid, "film log: it does not begin with %s", kMagic);
  if (in.size() < kFilmHeadBytes) {
    return log.fail(Status::kInvalid, "film log: %zu bytes, too short for its head of %zu",
                    in.size(), kFilmHeadBytes);
  }
  const uint8_t* at = in.data() + magic;
  const auto version = get<uint32_t>(at);
  const auto points = get<uint32_t>(at);
  if (version != kVersion || points != CJ2K_CURVE_POINTS) {
    return log.fail(Status::kInvalid,
                    "film log: version %" PRIu32 " with curves of %" PRIu32
                    " points; this library reads version %" PRIu32 " with %d",
                    version, points, kVersion, CJ2K_CURVE_POINTS);
  }
  head->params = get<uint64_t>(at);
  head->width = get<uint32_t>(at);
  head->height = get<uint32_t>(at);
  head->frames = get<uint64_t>(at);
  head->cap = get<uint64_t>(at);
  head->hash = get<uint64_t>(at);
  const size_t curves = in.size() - kFilmHeadBytes;
  if (curves % kFilmFrameBytes != 0 || curves / kFilmFrameBytes != head->frames) {
    return log.fail(Status::kInvalid,
                    "film log: %zu bytes of curves, but its %" PRIu64 " frames have %zu each",
                    curves, head->frames, kFilmFrameBytes);
  }
  if (hash_log(in.data(), curves / kFilmFrameBytes) != head->hash)
    return log.fail(Status::kInvalid, "film log: damaged, its hash does not match");
  return Status::kOk;
}

Status check_head(const Head& head, const cj2k_params& p, const Log& log) {
  if (head.width != static_cast<uint32_t>(p.width) ||
      head.height != static_cast<uint32_t>(p.height)) {
    return log.fail(Status::kInvalid,
                    "film log: of pictures of %" PRIu32 "x%" PRIu32 ", not of %dx%d", head.width,
                    head.height, p.width, p.height);
  }
  uint64_t hash = 0;
  CJ2K_TRY(hash_params(p, log, &hash));
  if (hash != head.params)
    return log.fail(
        Status::kInvalid,
        "film log: made with other parameters of the picture, the coder or the codestream");
  const auto cap = static_cast<uint64_t>(byte_cap(p));
  if (head.cap != 0 && (cap == 0 || cap > head.cap)) {
    return log.fail(Status::kInvalid,
                    "film log: made for frames of at most %" PRIu64
                    " bytes, and the cap is %s%" PRIu64,
                    head.cap, cap == 0 ? "none: " : "", cap);
  }
  return Status::kOk;
}

}  // namespace

Status write_film_log(const cj2k_params& p, std::span<const cj2k_curve> curves, const Log& log,
                      uint8_t* out) {
  cj2k_params resolved;
  CJ2K_TRY(resolve_params(p, log, &resolved));
  uint64_t hash = 0;
  CJ2K_TRY(hash_params(resolved, log, &hash));
  uint8_t* at = out;
  std::memcpy(at, kMagic, sizeof kMagic - 1);
  at += sizeof kMagic - 1;
  put(kVersion, at);
  put(uint32_t{CJ2K_CURVE_POINTS}, at);
  put(hash, at);
  put(static_cast<uint32_t>(resolved.width), at);
  put(static_cast<uint32_t>(resolved.height), at);
  put(uint64_t{curves.size()}, at);
  put(static_cast<uint64_t>(byte_cap(resolved)), at);
  uint8_t* const hash_at = at;
  at += sizeof(uint64_t);
  for (const cj2k_curve& curve : curves) {
    for (const uint32_t bytes : curve.bytes) put(bytes, at);
    for (const float error : curve.error) put(std::bit_cast<uint32_t>(error), at);
  }
  at = hash_at;
  put(hash_log(out, curves.size()), at);
  return Status::kOk;
}

Status read_film_log(const cj2k_params& p, std::span<const uint8_t> in, const Log& log,
                     cj2k_curve* curves, size_t* frames) {
  cj2k_params resolved;
  CJ2K_TRY(resolve_params(p, log, &resolved));
  Head head{};
  CJ2K_TRY(read_head(in, log, &head));
  CJ2K_TRY(check_head(head, resolved, log));
  if (curves != nullptr && *frames < head.frames) {
    return log.fail(Status::kInvalid,
                    "film log: it has %" PRIu64 " frames, and there is room for %zu", head.frames,
                    *frames);
  }
  *frames = static_cast<size_t>(head.frames);
  const uint8_t* at = in.data() + kFilmHeadBytes;
  for (size_t f = 0; curves != nullptr && f < head.frames; ++f) {
    for (uint32_t& bytes : curves[f].bytes) bytes = get<uint32_t>(at);
    for (float& error : curves[f].error) error = std::bit_cast<float>(get<uint32_t>(at));
  }
  return Status::kOk;
}

}  // namespace cj2k

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The C boundary: null checks, status translation, and the one place where exceptions end.
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "backend.h"
#include "base/log.h"
#include "cj2k.h"
#include "cj2k_transcode.h"
#include "cj2k_film.h"
#include "film/allocate.h"
#include "film/film_log.h"
#include "params/caller_struct.h"
#include "params/colours.h"
#include "params/params.h"
#include "params/profiles.h"
#include "run/encoder.h"
#include "run/film_pass.h"
#include "run/packet_memory.h"
#include "run/report.h"
#include "transcode/transcode.h"

struct cj2k_encoder {
  std::unique_ptr<cj2k::Encoder> encoder;
  std::unique_ptr<cj2k::FilmPass> film;  ///< null: each frame for itself
  cj2k_params asked = {};                ///< what `encoder` was opened with, but icc_profile
  std::vector<uint8_t> jp2_boxes;        ///< those of `asked`
  std::atomic<bool> is_used = false;     ///< a frame, or the end of them, has been taken
  std::unique_ptr<cj2k::Report> report;
  cj2k::Log log;
  mutable std::mutex mutex;  ///< guards last_error
  mutable cj2k_error last_error = {};
};

namespace {

using cj2k::Log;
using cj2k::Status;

// The smallest struct_size of each struct: in the oldest header it ended with this field.
constexpr size_t kMinInfoBytes = CJ2K_END_OF(cj2k_info, simd);
constexpr size_t kMinStatsBytes = CJ2K_END_OF(cj2k_stats, bytes);
constexpr size_t kMinPacketBytes = CJ2K_END_OF(cj2k_packet, slot);
constexpr size_t kMinFilmBytes = CJ2K_END_OF(cj2k_film, power);
constexpr size_t kMinFilmPassBytes = CJ2K_END_OF(cj2k_film_pass, log_bytes);
constexpr size_t kMinErrorBytes = CJ2K_END_OF(cj2k_error, message);
constexpr size_t kMinDeviceBytes = CJ2K_END_OF(cj2k_device_info, uuid);

// A struct that the caller fills has no padding after its last field. A field added later could lie
// in the padding, which an older caller counts in struct_size but does not set.
static_assert(CJ2K_END_OF(cj2k_params, layer_psnr) == sizeof(cj2k_params));
static_assert(CJ2K_END_OF(cj2k_film, power) == sizeof(cj2k_film));
static_assert(CJ2K_END_OF(cj2k_film_pass, log_bytes) == sizeof(cj2k_film_pass));
static_assert(CJ2K_END_OF(cj2k_frame, read_opaque) == sizeof(cj2k_frame));

static_assert(sizeof cj2k_error::message == cj2k::kMaxMessageBytes);

/// Per thread: the last failed call without an encoder, and the text that cj2k_encoder_last_error
/// has returned.
constinit thread_local cj2k_error t_last_error = {};
constinit thread_local char t_returned[cj2k::kMaxMessageBytes] = "";

/// The caller's log function. It is silent if an older caller's struct ends before the function.
Log log_of(const cj2k_params* p) {
  if (p == nullptr || p->struct_size < CJ2K_END_OF(cj2k_params, log_opaque) ||
      p->struct_size > cj2k::kMaxStructBytes) {
    return {};
  }
  return {p->log, p->log_opaque};
}

Log log_of(const cj2k_encoder* encoder) { return encoder == nullptr ? Log() : encoder->log; }

Status null_argument(const Log& log, const char* where, const char* what) {
  return log.fail(Status::kInvalid, "%s: %s is NULL", where, what);
}

/// Keeps an error for cj2k_last_error.
void keep_error(const cj2k_encoder* encoder, const char* where, Status status) {
  const cj2k::ErrorSubject& subject = cj2k::error_subject();
  cj2k_error error = {};
  error.struct_size = sizeof error;
  error.status = static_cast<cj2k_status>(status);
  static_assert(sizeof error.param == sizeof subject.param);
  std::memcpy(error.param, subject.param, sizeof error.param);
  error.value = subject.value;
  error.min = subject.min;
  error.max = subject.max;
  if (cj2k::error_text()[0] != '\0') {
    std::snprintf(error.message, sizeof error.message, "%s", cj2k::error_text());
  } else {
    std::snprintf(error.message, sizeof error.message, "%s: %s", where,
                  cj2k_status_string(error.status));
  }
  if (encoder == nullptr) {
    t_last_error = error;
    return;
  }
  const std::lock_guard lock(encoder->mutex);
  encoder->last_error = error;
}

cj2k_error last_error(const cj2k_encoder* encoder) {
  if (encoder == nullptr) return t_last_error;
  const std::lock_guard lock(encoder->mutex);
  return encoder->last_error;
}

/// Copies a text to the caller's buffer.
Status give_text(const std::string& text, const char* where, char* buffer, size_t size,
                 const Log& log) {
  if (buffer == nullptr) return null_argument(log, where, "text");
  if (text.size() >= size) {
    return log.fail(Status::kInvalid, "%s: a buffer of %zu bytes, but the text takes %zu", where,
                    size, text.size() + 1);
  }
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return Status::kOk;
}

/// Gives bytes that cj2k_free frees.
Status give_bytes(const std::vector<uint8_t>& bytes, void** out, size_t* out_bytes) {
  *out = std::malloc(bytes.size());
  if (*out == nullptr) throw std::bad_alloc();
  std::memcpy(*out, bytes.data(), bytes.size());
  *out_bytes = bytes.size();
  return Status::kOk;
}

Status check_fields(int fields, const char* where, const Log& log) {
  if (fields == 1 || fields == 2) return Status::kOk;
  return log.fail(Status::kInvalid, "%s: fields %d not in [1, 2]", where, fields);
}

/// Runs a function of the API and keeps the text of its error. std::bad_alloc
/// becomes NO_MEMORY, any other exception INTERNAL.
template <typename Call>
cj2k_status run(const cj2k_encoder* encoder, const Log& log, const char* where, const Call& call) {
  cj2k::clear_error_text();
  Status status;
  try {
    status = call();
  } catch (const std::bad_alloc&) {
    status = log.fail(Status::kNoMemory, "%s: out of memory", where);
  } catch (const std::exception& e) {
    status = log.fail(Status::kInternal, "%s: %s", where, e.what());
  } catch (...) {
    status = log.fail(Status::kInternal, "%s: exception of an unknown type", where);
  }
  if (static_cast<int>(status) < 0) keep_error(encoder, where, status);
  return static_cast<cj2k_status>(status);
}

/// Runs a function that takes an encoder. Null is refused.
template <typename Call>
cj2k_status run(const cj2k_encoder* encoder, const char* where, const Call& call) {
  const Log log = log_of(encoder);
  return run(encoder, log, where, [&] {
    if (encoder == nullptr) return null_argument(log, where, "encoder");
    if (!encoder->encoder)
      return log.fail(Status::kInternal, "%s: the encoder has not survived an error", where);
    return call(log);
  });
}

/// Runs a function that takes parameters. Null is refused.
template <typename Call>
cj2k_status run(const cj2k_params* p, const char* where, const Call& call) {
  const Log log = log_of(p);
  return run(nullptr, log, where,
             [&] { return p == nullptr ? null_argument(log, where, "p") : call(log); });
}

/// Calls `change` with all fields of the caller's parameters, and writes them back.
template <typename Change>
cj2k_status change_params(cj2k_params* p, const char* where, const Change& change) {
  return run(p, where, [&](const Log& log) {
    cj2k_params all;
    cj2k::set_default_params(&all);
    CJ2K_TRY(cj2k::read_struct("params", *p, cj2k::kMinParamsBytes, log, &all));
    CJ2K_TRY(change(&all, log));
    return cj2k::write_struct("params", all, cj2k::kMinParamsBytes, log, p);
  });
}

/// @param film  null: each frame for itself
cj2k_status open_encoder(const cj2k_params* p, const char* where, const cj2k_film_pass* film,
                         cj2k_encoder** encoder) {
  if (encoder != nullptr) *encoder = nullptr;
  return run(p, where, [&](const Log& log) {
    if (encoder == nullptr) return null_argument(log, where, "encoder");
    auto handle = std::make_unique<cj2k_encoder>();
    cj2k_params& asked = handle->asked;
    handle->log = log;
    cj2k::set_default_params(&asked);
    CJ2K_TRY(cj2k::read_struct("params", *p, cj2k::kMinParamsBytes, log, &asked));
    if (film == nullptr) {
      CJ2K_TRY(cj2k::Encoder::open(asked, handle->log, &handle->encoder));
    } else {
      cj2k_film_pass all{};
      CJ2K_TRY(cj2k::read_struct("film_pass", *film, kMinFilmPassBytes, log, &all));
      CJ2K_TRY(cj2k::FilmPass::open(all, handle->log, &asked, &handle->film, &handle->encoder));
    }
    asked.icc_profile = nullptr;
    asked.icc_profile_bytes = 0;
    if (asked.jp2_boxes != nullptr) {
      const auto* const boxes = static_cast<const uint8_t*>(asked.jp2_boxes);
      handle->jp2_boxes.assign(boxes, boxes + asked.jp2_boxes_bytes);
      asked.jp2_boxes = handle->jp2_boxes.data();
    }
    cj2k_params used;
    handle->encoder->params(&used);
    handle->report = std::make_unique<cj2k::Report>(used);
    cj2k::warn_of_stop(used, log);
    *encoder = handle.release();
    return Status::kOk;
  });
}

/// Calls `receive` and copies its result to the caller's `packet`: the packet of a frame, or the
/// pts, duration and opaque of a frame that failed.
template <typename Receive>
cj2k_status receive_packet(cj2k_encoder* encoder, cj2k_packet* packet, const char* where,
                           const Receive& receive) {
  return run(encoder, where, [&](const Log& log) {
    if (packet == nullptr) return null_argument(log, where, "packet");
    CJ2K_TRY(
        cj2k::check_struct_size<cj2k_packet>("packet", packet->struct_size, kMinPacketBytes, log));
    if (encoder->film) CJ2K_TRY(encoder->film->advance(*encoder->encoder));
    cj2k_packet all{};
    const Status status = receive(*encoder->encoder, &all);
    if (status == Status::kAgain || status == Status::kEof) return status;
    auto* const slot = static_cast<cj2k::PacketMemory::Packet*>(all.slot);
    if (status == Status::kOk) {
      encoder->report->add(&slot->stats);
    } else {
      encoder->report->add_failed();
    }
    if (encoder->film) encoder->film->keep(status == Status::kOk ? &slot->curve : nullptr);
    CJ2K_TRY(cj2k::write_struct("packet", all, kMinPacketBytes, log, packet));
    return status;
  });
}

}  // namespace

const char* cj2k_version(void) { return CJ2K_VERSION_STRING; }

int cj2k_version_number(void) { return CJ2K_VERSION; }

const char* cj2k_status_string(cj2k_status status) {
  switch (status) {
    case CJ2K_OK:
      return "ok";
    case CJ2K_AGAIN:
      return "try again later";
    case CJ2K_EOF:
      return "end of stream";
    case CJ2K_INVALID:
      return "invalid parameter or frame";
    case CJ2K_NO_MEMORY:
      return "out of memory";
    case CJ2K_NOT_SUPPORTED:
      return "not supported";
    case CJ2K_DEVICE:
      return "device error";
    case CJ2K_INTERNAL:
      return "internal error";
    case CJ2K_READ:
      return "samples could not be read";
  }
  return "unknown status";
}

void cj2k_log_stderr(void*, cj2k_log_level level, const char* message) {
  static const char* const kNames[] = {"error", "warning", "info", "debug"};
  std::fprintf(stderr, "cj2k %s: %s\n",
               level >= 0 && level <= CJ2K_LOG_DEBUG ? kNames[level] : "log", message);
}

cj2k_status cj2k_params_init(cj2k_params* p, size_t struct_size) {
  constexpr const char* kName = "cj2k_params_init";
  const Log silent;  // the fields of `p` are not set yet
  return run(nullptr, silent, kName, [&] {
    if (p == nullptr) return null_argument(silent, kName, "p");
    cj2k_params defaults;
    cj2k::set_default_params(&defaults);
    CJ2K_TRY(
        cj2k::check_struct_size<cj2k_params>("params", struct_size, cj2k::kMinParamsBytes, silent));
    p->struct_size = struct_size;
    return cj2k::write_struct("params", defaults, cj2k::kMinParamsBytes, silent, p);
  });
}

cj2k_status cj2k_params_set(cj2k_params* p, const char* key, const char* value) {
  return run(p, "cj2k_params_set", [&](const Log& log) {
    if (key == nullptr || value == nullptr)
      return log.fail(Status::kInvalid, "parameter without key or value (NULL)");
    return cj2k::set_param(p, key, value, log);
  });
}

cj2k_status cj2k_params_set_rsiz(cj2k_params* p, int rsiz) {
  return change_params(p, "cj2k_params_set_rsiz", [=](cj2k_params* all, const Log& log) {
    return cj2k::set_rsiz(all, rsiz, log);
  });
}

cj2k_status cj2k_params_set_colours(cj2k_params* p, int primaries, int transfer, int matrix,
                                    int full_range) {
  return change_params(p, "cj2k_params_set_colours", [=](cj2k_params* all, const Log& log) {
    return cj2k::set_colours(all, {primaries, transfer, matrix, full_range != 0}, log);
  });
}

cj2k_status cj2k_params_get(const cj2k_params* p, const char* key, char* buffer, size_t size) {
  constexpr const char* kName = "cj2k_params_get";
  return run(p, kName, [&](const Log& log) {
    if (key == nullptr) return null_argument(log, kName, "key");
    if (buffer == nullptr) return null_argument(log, kName, "buffer");
    return cj2k::get_param(*p, key, buffer, size, log);
  });
}

cj2k_status cj2k_params_describe(int index, cj2k_param_info* info) {
  constexpr const char* kName = "cj2k_params_describe";
  const Log silent;
  return run(nullptr, silent, kName, [&] {
    if (info == nullptr) return null_argument(silent, kName, "info");
    cj2k_param_info all;
    CJ2K_TRY(cj2k::describe_param(index, silent, &all));
    return cj2k::write_struct("param_info", all, cj2k::kMinParamInfoBytes, silent, info);
  });
}

cj2k_status cj2k_params_info(const cj2k_params* p, cj2k_info* info) {
  constexpr const char* kName = "cj2k_params_info";
  return run(p, kName, [&](const Log& log) {
    if (info == nullptr) return null_argument(log, kName, "info");
    cj2k_info all;
    CJ2K_TRY(cj2k::Encoder::describe(*p, log, &all));
    return cj2k::write_struct("info", all, kMinInfoBytes, log, info);
  });
}

cj2k_status cj2k_device_describe(int index, cj2k_device_info* info) {
  constexpr const char* kName = "cj2k_device_describe";
  const Log silent;
  return run(nullptr, silent, kName, [&] {
    if (info == nullptr) return null_argument(silent, kName, "info");
    if (index < 0) return silent.fail(Status::kInvalid, "device %d is negative", index);
    cj2k_device_info all{};
    CJ2K_TRY(cj2k::describe_cuda_device(index, &all));
    return cj2k::write_struct("device_info", all, kMinDeviceBytes, silent, info);
  });
}

cj2k_status cj2k_encoder_open(const cj2k_params* p, cj2k_encoder** encoder) {
  return open_encoder(p, "cj2k_encoder_open", nullptr, encoder);
}

cj2k_status cj2k_encoder_open_film(const cj2k_params* p, const cj2k_film_pass* film,
                                   cj2k_encoder** encoder) {
  return open_encoder(p, "cj2k_encoder_open_film", film, encoder);
}

cj2k_status cj2k_encoder_set_icc(cj2k_encoder* encoder, const void* profile, size_t bytes) {
  return run(encoder, "cj2k_encoder_set_icc", [&](const Log& log) {
    if (encoder->is_used) {
      return log.fail(Status::kInvalid, "an ICC profile is set before the first frame is sent");
    }
    cj2k_params p = encoder->asked;
    p.icc_profile = profile;
    p.icc_profile_bytes = bytes;
    cj2k_info info;
    CJ2K_TRY(cj2k::Encoder::describe(p, log.errors_only(), &info));
    encoder->encoder.reset();  // the new one has its memory
    return cj2k::Encoder::open(p, log, &encoder->encoder);
  });
}

cj2k_status cj2k_encoder_film_log(const cj2k_encoder* encoder, void** log, size_t* bytes) {
  constexpr const char* kName = "cj2k_encoder_film_log";
  return run(encoder, kName, [&](const Log& to) {
    if (log == nullptr) return null_argument(to, kName, "log");
    if (bytes == nullptr) return null_argument(to, kName, "bytes");
    *log = nullptr;
    *bytes = 0;
    if (!encoder->film) return to.fail(Status::kInvalid, "%s: the encoder runs no pass", kName);
    std::vector<uint8_t> all;
    CJ2K_TRY(encoder->film->write_log(to, &all));
    return give_bytes(all, log, bytes);
  });
}
cj2k_status cj2k_encoder_info(const cj2k_encoder* encoder, cj2k_info* info) {
  constexpr const char* kName = "cj2k_encoder_info";
  return run(encoder, kName, [&](const Log& log) {
    if (info == nullptr) return null_argument(log, kName, "info");
    cj2k_info all;
    encoder->encoder->info(&all);
    return cj2k::write_struct("info", all, kMinInfoBytes, log, info);
  });
}

cj2k_status cj2k_encoder_params(const cj2k_encoder* encoder, cj2k_params* p) {
  constexpr const char* kName = "cj2k_encoder_params";
  return run(encoder, kName, [&](const Log& log) {
    if (p == nullptr) return null_argument(log, kName, "p");
    cj2k_params all;
    encoder->encoder->params(&all);
    return cj2k::write_struct("params", all, cj2k::kMinParamsBytes, log, p);
  });
}

const char* cj2k_encoder_last_error(const cj2k_encoder* encoder) {
  std::memcpy(t_returned, last_error(encoder).message, sizeof t_returned);
  return t_returned;
}

cj2k_status cj2k_last_error(const cj2k_encoder* encoder, cj2k_error* error) {
  const Log silent;
  if (error == nullptr) return CJ2K_INVALID;  // and the last error stays what it is
  return static_cast<cj2k_status>(
      cj2k::write_struct("error", last_error(encoder), kMinErrorBytes, silent, error));
}

cj2k_status cj2k_encoder_headline(const cj2k_encoder* encoder, int fields, char* text,
                                  size_t size) {
  constexpr const char* kName = "cj2k_encoder_headline";
  return run(encoder, kName, [&](const Log& log) {
    CJ2K_TRY(check_fields(fields, kName, log));
    cj2k_info info;
    encoder->encoder->info(&info);
    return give_text(
        encoder->film ? encoder->film->headline(info) : encoder->report->headline(info, fields),
        kName, text, size, log);
  });
}

cj2k_status cj2k_encoder_summary(const cj2k_encoder* encoder, int fields, char* text, size_t size) {
  constexpr const char* kName = "cj2k_encoder_summary";
  return run(encoder, kName, [&](const Log& log) {
    CJ2K_TRY(check_fields(fields, kName, log));
    return give_text(encoder->report->summary(fields), kName, text, size, log);
  });
}

cj2k_status cj2k_packet_json(const cj2k_encoder* encoder, const cj2k_packet* packet, char* text,
                             size_t size) {
  constexpr const char* kName = "cj2k_packet_json";
  return run(encoder, kName, [&](const Log& log) {
    if (packet == nullptr) return null_argument(log, kName, "packet");
    CJ2K_TRY(
        cj2k::check_struct_size<cj2k_packet>("packet", packet->struct_size, kMinPacketBytes, log));
    const auto* slot = static_cast<const cj2k::PacketMemory::Packet*>(packet->slot);
    const std::string json = slot == nullptr ? cj2k::json_error(last_error(encoder).message)
                                             : encoder->report->json(slot->stats);
    return give_text(json, kName, text, size, log);
  });
}

cj2k_status cj2k_encoder_send_frame(cj2k_encoder* encoder, const cj2k_frame* frame) {
  return run(encoder, "cj2k_encoder_send_frame", [&](const Log&) {
    const Status status = encoder->film ? encoder->film->send(*encoder->encoder, frame)
                                        : encoder->encoder->send(frame);
    if (status == Status::kOk) encoder->is_used = true;
    return status;
  });
}

cj2k_status cj2k_encoder_receive_packet(cj2k_encoder* encoder, cj2k_packet* packet) {
  return receive_packet(encoder, packet, "cj2k_encoder_receive_packet",
                        [](cj2k::Encoder& e, cj2k_packet* all) { return e.receive(all); });
}

cj2k_status cj2k_encoder_receive_packet_timed(cj2k_encoder* encoder, cj2k_packet* packet,
                                              int timeout_ms) {
  return receive_packet(
      encoder, packet, "cj2k_encoder_receive_packet_timed",
      [=](cj2k::Encoder& e, cj2k_packet* all) { return e.receive_timed(all, timeout_ms); });
}

cj2k_status cj2k_packet_stats(const cj2k_packet* packet, cj2k_stats* stats) {
  constexpr const char* kName = "cj2k_packet_stats";
  const Log silent;
  return run(nullptr, silent, kName, [&] {
    if (packet == nullptr) return null_argument(silent, kName, "packet");
    if (stats == nullptr) return null_argument(silent, kName, "stats");
    CJ2K_TRY(cj2k::check_struct_size<cj2k_packet>("packet", packet->struct_size, kMinPacketBytes,
                                                  silent));
    if (packet->slot == nullptr) {
      return silent.fail(Status::kInvalid,
                         "%s: the packet has no bytes: its frame failed, or it has been released",
                         kName);
    }
    const auto* slot = static_cast<const cj2k::PacketMemory::Packet*>(packet->slot);
    return cj2k::write_struct("stats", slot->stats, kMinStatsBytes, silent, stats);
  });
}

cj2k_status cj2k_packet_curve(const cj2k_packet* packet, cj2k_curve* curve) {
  constexpr const char* kName = "cj2k_packet_curve";
  const Log silent;
  return run(nullptr, silent, kName, [&] {
    if (packet == nullptr) return null_argument(silent, kName, "packet");
    if (curve == nullptr) return null_argument(silent, kName, "curve");
    CJ2K_TRY(cj2k::check_struct_size<cj2k_packet>("packet", packet->struct_size, kMinPacketBytes,
                                                  silent));
    const auto* slot = static_cast<const cj2k::PacketMemory::Packet*>(packet->slot);
    if (slot == nullptr || !slot->has_curve) {
      return silent.fail(Status::kInvalid, "%s: the packet has no curve: %s", kName,
                         slot == nullptr ? "its frame failed, or it has been released"
                                         : "the parameter curves is off");
    }
    *curve = slot->curve;
    return Status::kOk;
  });
}

cj2k_status cj2k_film_allocate(const cj2k_film* film, const cj2k_curve* curves, size_t num_frames,
                               const int64_t* caps, const int64_t* floors, int64_t* targets) {
  constexpr const char* kName = "cj2k_film_allocate";
  const Log silent;
  return run(nullptr, silent, kName, [&] {
    if (film == nullptr) return null_argument(silent, kName, "film");
    if (curves == nullptr && num_frames > 0) return null_argument(silent, kName, "curves");
    if (targets == nullptr) return null_argument(silent, kName, "targets");
    cj2k_film all{};
    CJ2K_TRY(cj2k::read_struct("film", *film, kMinFilmBytes, silent, &all));
    const size_t num_caps = caps == nullptr ? 0 : num_frames;
    const size_t num_floors = floors == nullptr ? 0 : num_frames;
    return cj2k::allocate_film(all, {curves, num_frames}, {caps, num_caps}, {floors, num_floors},
                               silent, {targets, num_frames});
  });
}

size_t cj2k_film_log_size(size_t num_frames) {
  return cj2k::kFilmHeadBytes + num_frames * cj2k::kFilmFrameBytes;
}

cj2k_status cj2k_film_log_write(const cj2k_params* p, const cj2k_curve* curves, size_t num_frames,
                                void* log) {
  constexpr const char* kName = "cj2k_film_log_write";
  return run(p, kName, [&](const Log& to) {
    if (curves == nullptr) return null_argument(to, kName, "curves");
    if (log == nullptr) return null_argument(to, kName, "log");
    return cj2k::write_film_log(*p, {curves, num_frames}, to, static_cast<uint8_t*>(log));
  });
}

cj2k_status cj2k_film_log_read(const cj2k_params* p, const void* log, size_t bytes,
                               cj2k_curve* curves, size_t* num_frames) {
  constexpr const char* kName = "cj2k_film_log_read";
  return run(p, kName, [&](const Log& to) {
    if (log == nullptr) return null_argument(to, kName, "log");
    if (num_frames == nullptr) return null_argument(to, kName, "num_frames");
    return cj2k::read_film_log(*p, {static_cast<const uint8_t*>(log), bytes}, to, curves,
                               num_frames);
  });
}

void cj2k_packet_release(cj2k_packet* packet) {
  if (packet == nullptr || packet->slot == nullptr) return;
  cj2k::PacketMemory::release(static_cast<cj2k::PacketMemory::Packet*>(packet->slot));
  packet->data = nullptr;
  packet->size = 0;
  packet->slot = nullptr;
}

cj2k_status cj2k_encoder_flush(cj2k_encoder* encoder) {
  return run(encoder, "cj2k_encoder_flush", [&](const Log&) {
    if (encoder->film) encoder->film->flush();
    return encoder->encoder->flush();
  });
}

void cj2k_encoder_close(cj2k_encoder* encoder) { delete encoder; }

cj2k_status cj2k_transcode(int coder, int layers, int64_t max_bytes, int threads, const void* in,
                           size_t in_bytes, void** out, size_t* out_bytes) {
  constexpr const char* kName = "cj2k_transcode";
  const Log silent;
  return run(nullptr, silent, kName, [&] {
    if (in == nullptr) return null_argument(silent, kName, "in");
    if (out == nullptr) return null_argument(silent, kName, "out");
    if (out_bytes == nullptr) return null_argument(silent, kName, "out_bytes");
    *out = nullptr;
    *out_bytes = 0;
    if (coder < CJ2K_CODER_AUTO || coder > CJ2K_CODER_HT)
      return silent.about("coder", coder, CJ2K_CODER_AUTO, CJ2K_CODER_HT)
          .fail(Status::kInvalid, "coder %d not in [%d, %d]", coder, CJ2K_CODER_AUTO,
                CJ2K_CODER_HT);
    if (layers < 0 || layers > 1)
      return silent.about("layers", layers, 0, 1)
          .fail(Status::kInvalid, "layers %d not in [0, 1]", layers);
    if (max_bytes < 0)
      return silent.fail(Status::kInvalid, "max_bytes %" PRId64 " is negative", max_bytes);
    if (max_bytes > 0 && coder == CJ2K_CODER_HT)
      return silent.fail(Status::kNotSupported, "max_bytes with coder ht");
    if (threads < 0 || threads > 1024)
      return silent.about("threads", threads, 0, 1024)
          .fail(Status::kInvalid, "threads %d not in [0, 1024]", threads);
    std::vector<uint8_t> bytes;
    CJ2K_TRY(cj2k::transcode(
        {static_cast<const uint8_t*>(in), in_bytes},
        {static_cast<cj2k_coder>(coder), layers == 0, threads > 0 ? threads : cj2k::usable_cores(),
         static_cast<uint64_t>(max_bytes)},
        silent, &bytes));
    return give_bytes(bytes, out, out_bytes);
  });
}

void cj2k_free(void* out) { std::free(out); }

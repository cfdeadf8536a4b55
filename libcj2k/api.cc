// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The C boundary: null checks, status translation, and the one place where exceptions end.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "base/log.h"
#include "cj2k.h"
#include "encoder.h"
#include "params.h"

struct cj2k_encoder {
  std::unique_ptr<cj2k::Encoder> encoder;
  cj2k::Log log;
};

namespace {

cj2k_status code(cj2k::Status status) { return static_cast<cj2k_status>(status); }

/// The caller's log function; an older caller's struct may end before it.
cj2k::Log log_of(const cj2k_params& p) {
  if (p.struct_size < sizeof(cj2k_params)) return {};
  return {p.log, p.log_opaque};
}

/// Copies as much of a filled struct as the caller's header knows.
template <typename Struct>
cj2k_status hand_over(const cj2k::Log& log, const char* name, Struct& all, Struct* caller,
                      size_t least) {
  const size_t bytes = caller->struct_size;
  if (bytes < least || bytes > sizeof(Struct)) {
    return code(log.fail(cj2k::Status::kInvalid, "%s: struct_size %zu not in [%zu, %zu]", name,
                         bytes, least, sizeof(Struct)));
  }
  all.struct_size = bytes;
  std::memcpy(static_cast<void*>(caller), &all, bytes);
  return CJ2K_OK;
}

cj2k_status null_argument(const cj2k::Log& log, const char* where, const char* what) {
  return code(log.fail(cj2k::Status::kInvalid, "%s: %s is NULL", where, what));
}

/// Runs `call`; bad_alloc (ours, or oneTBB's) becomes NO_MEMORY, anything else INTERNAL.
template <typename Call>
cj2k_status guarded(const cj2k::Log& log, const char* where, Call call) {
  try {
    return code(call());
  } catch (const std::bad_alloc&) {
    return code(log.fail(cj2k::Status::kNoMemory, "%s: out of memory", where));
  } catch (const std::exception& e) {
    return code(log.fail(cj2k::Status::kInternal, "%s: %s", where, e.what()));
  } catch (...) {
    return code(log.fail(cj2k::Status::kInternal, "%s: exception of an unknown type", where));
  }
}

}  // namespace

const char* cj2k_version(void) { return CJ2K_VERSION_STRING; }

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
  }
  return "unknown status";
}

void cj2k_log_stderr(void*, cj2k_log_level level, const char* message) {
  static const char* const kNames[] = {"error", "warning", "info", "debug"};
  std::fprintf(stderr, "cj2k %s: %s\n",
               level >= 0 && level <= CJ2K_LOG_DEBUG ? kNames[level] : "log", message);
}

cj2k_status cj2k_params_init(cj2k_params* p, size_t struct_size) {
  if (p == nullptr || struct_size < cj2k::kMinParamsBytes || struct_size > sizeof(cj2k_params))
    return CJ2K_INVALID;
  cj2k_params defaults;
  cj2k::set_default_params(&defaults);
  defaults.struct_size = struct_size;
  std::memcpy(p, &defaults, struct_size);
  return CJ2K_OK;
}

cj2k_status cj2k_params_set(cj2k_params* p, const char* key, const char* value) {
  if (p == nullptr) return CJ2K_INVALID;
  const cj2k::Log log = log_of(*p);
  if (key == nullptr || value == nullptr)
    return code(log.fail(cj2k::Status::kInvalid, "parameter without key or value (NULL)"));
  return guarded(log, "cj2k_params_set", [&] { return cj2k::set_param(p, key, value, log); });
}

cj2k_status cj2k_params_describe(int index, cj2k_param_info* info) {
  if (info == nullptr) return CJ2K_INVALID;
  return code(cj2k::describe_param(index, info));
}

cj2k_status cj2k_params_info(const cj2k_params* p, cj2k_info* info) {
  if (p == nullptr) return CJ2K_INVALID;
  const cj2k::Log log = log_of(*p);
  if (info == nullptr) return null_argument(log, "cj2k_params_info", "info");
  cj2k_info all;
  const cj2k_status status =
      guarded(log, "cj2k_params_info", [&] { return cj2k::Encoder::describe(*p, log, &all); });
  return status == CJ2K_OK ? hand_over(log, "info", all, info, sizeof(size_t)) : status;
}

cj2k_status cj2k_encoder_open(const cj2k_params* p, cj2k_encoder** encoder) {
  if (encoder != nullptr) *encoder = nullptr;
  if (p == nullptr) return CJ2K_INVALID;
  const cj2k::Log log = log_of(*p);
  if (encoder == nullptr) return null_argument(log, "cj2k_encoder_open", "encoder");
  return guarded(log, "cj2k_encoder_open", [&] {
    auto handle = std::make_unique<cj2k_encoder>();
    handle->log = log;
    CJ2K_TRY(cj2k::Encoder::open(*p, log, &handle->encoder));
    *encoder = handle.release();
    return cj2k::Status::kOk;
  });
}

cj2k_status cj2k_encoder_info(const cj2k_encoder* encoder, cj2k_info* info) {
  if (encoder == nullptr) return CJ2K_INVALID;
  if (info == nullptr) return null_argument(encoder->log, "cj2k_encoder_info", "info");
  cj2k_info all;
  encoder->encoder->info(&all);
  return hand_over(encoder->log, "info", all, info, sizeof(size_t));
}

cj2k_status cj2k_encoder_send_frame(cj2k_encoder* encoder, const cj2k_frame* frame) {
  if (encoder == nullptr) return CJ2K_INVALID;
  return guarded(encoder->log, "cj2k_encoder_send_frame",
                 [&] { return encoder->encoder->send(frame); });
}

cj2k_status cj2k_encoder_receive_packet(cj2k_encoder* encoder, cj2k_packet* packet) {
  if (encoder == nullptr) return CJ2K_INVALID;
  if (packet == nullptr)
    return null_argument(encoder->log, "cj2k_encoder_receive_packet", "packet");
  cj2k_packet all{};
  // An older caller's packet may end in the statistics; without `slot` it could not be released.
  constexpr size_t kLeast = offsetof(cj2k_packet, stats);
  if (packet->struct_size < kLeast || packet->struct_size > sizeof all)
    return hand_over(encoder->log, "packet", all, packet, kLeast);
  const cj2k_status status = guarded(encoder->log, "cj2k_encoder_receive_packet",
                                     [&] { return encoder->encoder->receive(&all); });
  return status == CJ2K_OK ? hand_over(encoder->log, "packet", all, packet, kLeast) : status;
}

void cj2k_packet_release(cj2k_encoder* encoder, cj2k_packet* packet) {
  if (encoder != nullptr && packet != nullptr && packet->slot != nullptr)
    encoder->encoder->release(packet);
}

cj2k_status cj2k_encoder_flush(cj2k_encoder* encoder) {
  if (encoder == nullptr) return CJ2K_INVALID;
  return guarded(encoder->log, "cj2k_encoder_flush", [&] { return encoder->encoder->flush(); });
}

void cj2k_encoder_close(cj2k_encoder* encoder) { delete encoder; }

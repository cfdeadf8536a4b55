// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "session.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "failure.h"
#include "system.h"

namespace cj2k_tool {
namespace {

/// The log of an encoder.
void log_line(void* opaque, cj2k_log_level level, const char* message) {
  if (level != CJ2K_LOG_ERROR)  // errors are told by cj2k_encoder_last_error
    static_cast<Report*>(opaque)->message(message);
}
void log_warning(void* opaque, cj2k_log_level level, const char* message) {
  if (level == CJ2K_LOG_WARNING) log_line(opaque, level, message);
}

bool has_value(const Options& options, const char* name, const char* other) {
  const std::string* value = options.param(name);
  return value != nullptr && *value != other;
}

/// The container and the coder that the extension of the output asks for.
void set_container(const Options& options, const Frame& frame, cj2k_params& p) {
  const std::string& asked = options.frames.extension;
  const std::string extension = frame.output != "-" ? extension_of(frame.output)
                                : asked.empty()     ? "j2k"
                                                    : asked;
  const std::string* coder = options.param("coder");
  const bool is_ht_name = extension == "jph" || extension == "jhc";
  if (extension == "jp2" || extension == "jph") {
    p.format = CJ2K_FORMAT_JP2;
  } else if (extension != "j2k" && extension != "j2c" && extension != "jpc" && extension != "jhc") {
    throw UsageError(frame.output + ": the extension is not .j2k, .j2c, .jpc, .jhc, .jp2 or .jph");
  }
  if (is_ht_name && coder == nullptr) p.coder = CJ2K_CODER_HT;
  if (is_ht_name && coder != nullptr && *coder == "ebcot")
    throw UsageError(frame.output + ": ." + extension + " is for HTJ2K, and --coder is ebcot");
}

/// Bits of the codestream, and of the frames where they have more.
void set_depth(const Options& options, const Frame& frame, const PictureFormat& f, cj2k_params& p) {
  const bool is_cinema = p.profile == CJ2K_PROFILE_CINEMA_2K || p.profile == CJ2K_PROFILE_CINEMA_4K;
  const bool is_xyz = p.xyz != CJ2K_XYZ_OFF;
  for (int c = 0; c < f.num_components; ++c) {
    if (options.param("depth") == nullptr)
      p.depth[c] = is_xyz || (is_cinema && f.depth > 12) ? 12 : f.depth;
    if (p.depth[c] > f.depth && !is_xyz)
      throw UsageError(frame.input + ": --depth " + std::to_string(p.depth[c]) + " is above its " +
                       std::to_string(f.depth) + " bits");
    if (is_xyz || p.depth[c] < f.depth) p.source_depth[c] = f.depth;
  }
}

/// Takes the profile of the picture into a JP2 file where the library can, and says so where it cannot.
void set_icc(const Options& options, const Frame& frame, const PictureFormat& f, cj2k_params& p,
             Report& report) {
  if (p.format != CJ2K_FORMAT_JP2 || f.icc.empty() || has_value(options, "colorspace", "auto") ||
      options.param("primaries") || options.param("transfer") || p.xyz != CJ2K_XYZ_OFF)
    return;
  cj2k_info info = {};
  info.struct_size = sizeof info;
  const cj2k_log_fn log = p.log;
  p.log = nullptr;
  const cj2k_status without = cj2k_params_info(&p, &info);
  p.icc_profile = f.icc.data();
  p.icc_profile_bytes = f.icc.size();
  if (without == CJ2K_OK && cj2k_params_info(&p, &info) != CJ2K_OK) {
    p.icc_profile = nullptr;
    p.icc_profile_bytes = 0;
    if (!options.quiet)
      report.message(frame.input +
                     ": its ICC profile is not written: " + cj2k_encoder_last_error(nullptr));
  }
  p.log = log;
}

/// The same for its resolution and metadata.
void set_metadata(const Options& options, const Metadata& metadata, cj2k_params& p) {
  if (p.format != CJ2K_FORMAT_JP2) return;
  const auto is_sound = [](double resolution) { return resolution >= 0.001 && resolution <= 1e9; };
  if (options.param("resolution_x") == nullptr && options.param("resolution_y") == nullptr &&
      is_sound(metadata.resolution_x) && is_sound(metadata.resolution_y)) {
    p.resolution_x = metadata.resolution_x;
    p.resolution_y = metadata.resolution_y;
  }
  if (metadata.boxes.empty()) return;
  p.jp2_boxes = metadata.boxes.data();
  p.jp2_boxes_bytes = metadata.boxes.size();
}

}  // namespace

cj2k_params make_params(const Options& options, const Frame& frame, const PictureFormat& f,
                        Report& report) {
  cj2k_params p;
  cj2k_params_init(&p, sizeof p);
  p.log = options.verbose ? log_line : options.quiet ? nullptr : log_warning;
  p.log_opaque = &report;
  p.width = f.width;
  p.height = f.height;
  p.num_components = f.num_components;
  p.alpha = f.alpha;
  for (int c = 0; c < CJ2K_MAX_COMPONENTS; ++c) {
    p.dx[c] = f.dx[c];
    p.dy[c] = f.dy[c];
    p.is_signed[c] = f.is_signed;
  }
  if (f.is_yuv) p.colorspace = CJ2K_COLOR_SYCC;
  if (f.is_linear) p.transfer = CJ2K_TRANSFER_LINEAR;
  for (const auto& [name, value] : options.params)
    if (cj2k_params_set(&p, name.c_str(), value.c_str()) != CJ2K_OK)
      throw UsageError("--" + name + ": " + cj2k_encoder_last_error(nullptr));
  set_container(options, frame, p);
  if (f.is_cmyk && p.format == CJ2K_FORMAT_JP2)
    throw UsageError(
        frame.input +
        ": it is CMYK, which JP2 files have no colour space for; .j2k is a codestream alone");
  set_depth(options, frame, f, p);
  return p;
}

void write_file(const std::string& name, const void* data, size_t size) {
  if (name == "-") {
    if (std::fwrite(data, 1, size, stdout) != size || std::fflush(stdout) != 0)
      throw Failure(std::string("the standard output: ") + std::strerror(errno));
    return;
  }
  const std::string part = name + ".part";
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) throw Failure(part + ": " + std::strerror(errno));
  bool written = std::fwrite(data, 1, size, file) == size;
  int error = errno;
  if (std::fclose(file) != 0 && written) {
    written = false;
    error = errno;
  }
  if (written && rename_file(part, name)) return;
  if (written) error = errno;
  std::remove(part.c_str());
  throw Failure(name + ": " + std::strerror(error));
}

/// A frame that the encoder has.
struct Session::InFlight {
  const Frame* frame;
  size_t index;  ///< in the session
  Clock::time_point sent;
  SampleSource* source = nullptr;  ///< until the frame is released
  std::exception_ptr error;        ///< of the source

  /// cj2k_read_fn
  static int read(void* opaque, const cj2k_read_part* parts) {
    auto& self = *static_cast<InFlight*>(opaque);
    try {
      self.source->read(parts);
      return 0;
    } catch (...) {
      self.error = std::current_exception();
      return 1;
    }
  }
};

Session::Session(const Options& options, const Frame& frame, const Picture& like, Report& report,
                 Film* film)
    : options_(options), report_(report), format_(like.format), film_(film) {
  cj2k_params p = make_params(options, frame, format_, report);
  if (film_ != nullptr && film_->targets.empty()) {
    p.curves = CJ2K_CURVES_ONLY;
    std::strcpy(p.device, "cpu");  // whichever encodes: the curves are the same
  }
  set_icc(options, frame, format_, p, report);
  set_metadata(options, format_.metadata, p);
  // What is invalid are options that contradict each other or the picture.
  if (const cj2k_status status = cj2k_encoder_open(&p, &encoder_); status != CJ2K_OK)
    throw Failure(frame.input + ": " + cj2k_encoder_last_error(nullptr),
                  status == CJ2K_INVALID ? kUsage : kFailed);
  used_.struct_size = sizeof used_;
  if (cj2k_encoder_params(encoder_, &used_) != CJ2K_OK)
    throw Failure(cj2k_encoder_last_error(encoder_));
  try {
    receiver_ = std::thread([this] { receive_all(); });
  } catch (const std::exception& error) {
    cj2k_encoder_close(encoder_);
    throw Failure(std::string("no thread that writes can be started: ") + reason_of(error));
  }
}

Session::~Session() {
  if (receiver_.joinable()) {
    if (cj2k_encoder_send_frame(encoder_, nullptr) < 0) std::terminate();  // NULL is always taken
    receiver_.join();
  }
  cj2k_encoder_close(encoder_);
}

void Session::rethrow_error() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

void Session::send(const Frame& frame, std::unique_ptr<Picture> picture) {
  cj2k_frame in = {};
  in.struct_size = sizeof in;
  in.width = format_.width;
  in.height = format_.height;
  for (int c = 0; c < format_.num_components; ++c) in.components[c] = picture->views[c];
  auto in_flight =
      std::make_unique<InFlight>(InFlight{&frame, sent_, Clock::now(), picture->source.get(), {}});
  in.opaque = in_flight.get();
  if (film_ != nullptr && !film_->targets.empty()) in.target_bytes = film_->targets.at(sent_);
  in.release = [](void* owned) { delete static_cast<Picture*>(owned); };
  in.release_opaque = picture.get();
  if (picture->source != nullptr) {
    in.read = InFlight::read;
    in.read_opaque = in_flight.get();
  }
  for (;;) {
    int64_t received;
    {
      const std::lock_guard lock(mutex_);
      if (error_) std::rethrow_exception(error_);
      received = received_;
    }
    const cj2k_status status = cj2k_encoder_send_frame(encoder_, &in);
    if (status == CJ2K_OK) break;
    if (status != CJ2K_AGAIN) throw Failure(frame.input + ": " + cj2k_encoder_last_error(encoder_));
    std::unique_lock lock(mutex_);
    received_one_.wait(lock, [this, received] { return received_ != received || error_; });
  }
  ++sent_;
  static_cast<void>(picture.release());    // now the encoder's, which calls in.release
  static_cast<void>(in_flight.release());  // comes back with the packet
}

void Session::finish() {
  if (cj2k_encoder_send_frame(encoder_, nullptr) != CJ2K_OK)
    throw Failure(cj2k_encoder_last_error(encoder_));
  receiver_.join();
  rethrow_error();
}

/// The thread that receives, until the encoder is drained.
void Session::receive_all() {
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  for (;;) {
    packet.opaque = nullptr;
    const cj2k_status status = cj2k_encoder_receive_packet_timed(encoder_, &packet, -1);
    if (status == CJ2K_EOF) return;
    if (status == CJ2K_AGAIN) continue;
    try {
      receive(packet, status);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    if (status == CJ2K_INVALID) return;  // no frame's error
    cj2k_packet_release(&packet);
    {
      const std::lock_guard lock(mutex_);
      ++received_;
    }
    received_one_.notify_all();
  }
}

void Session::receive(const cj2k_packet& packet, cj2k_status status) {
  const std::unique_ptr<InFlight> of(static_cast<InFlight*>(packet.opaque));
  if (of && of->error) std::rethrow_exception(of->error);
  if (status != CJ2K_OK)
    throw Failure((of ? of->frame->input + ": " : "") + cj2k_encoder_last_error(encoder_));
  {
    const std::lock_guard lock(mutex_);
    if (error_) return;  // the run has ended with a frame before
  }
  const std::chrono::duration<double, std::milli> time = Clock::now() - of->sent;
  Written w = {of->frame, static_cast<int64_t>(packet.size), time.count()};
  if (film_ != nullptr && film_->targets.empty()) {
    if (cj2k_packet_curve(&packet, &film_->curves.at(of->index)) != CJ2K_OK)
      throw Failure(cj2k_encoder_last_error(nullptr));
    report_.add(w);
    return;
  }
  if (options_.psnr) {
    cj2k_stats stats = {};
    stats.struct_size = sizeof stats;
    if (cj2k_packet_stats(&packet, &stats) != CJ2K_OK)
      throw Failure(cj2k_encoder_last_error(nullptr));
    w.num_components = format_.num_components;
    std::copy_n(stats.component_psnr, format_.num_components, w.component_psnr);
    w.psnr = stats.psnr;
  }
  write_file(of->frame->output, packet.data, packet.size);
  report_.add(w);
}

}  // namespace cj2k_tool

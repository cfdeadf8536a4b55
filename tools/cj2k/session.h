// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: one encoder, for frames of one format. The caller sends, a thread receives and writes.
#ifndef CJ2K_TOOLS_SESSION_H_
#define CJ2K_TOOLS_SESSION_H_

#include <cj2k.h>

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "film.h"
#include "frames.h"
#include "options.h"
#include "picture.h"
#include "report.h"

namespace cj2k_tool {

class Session {
 public:
  /// Opens an encoder for pictures like this one. Throws Failure.
  /// @param options, report, film  must outlive this
  /// @param film  not null: with its targets; without, the frames' curves go there, and no file is written
  Session(const Options& options, const Frame& frame, const Picture& like, Report& report,
          Film* film);
  ~Session();  // drops what has not been written
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const PictureFormat& format() const { return format_; }
  const cj2k_params& used() const { return used_; }

  /// Throws Failure, also that of a frame before.
  void send(const Frame& frame, std::unique_ptr<Picture> picture);
  /// Writes all frames that have been sent. Throws Failure.
  void finish();

 private:
  struct InFlight;
  void receive_all();
  void receive(const cj2k_packet& packet, cj2k_status status);
  void rethrow_error();

  const Options& options_;
  Report& report_;
  const PictureFormat format_;
  Film* const film_;
  size_t sent_ = 0;
  cj2k_params used_ = {};
  cj2k_encoder* encoder_ = nullptr;
  std::thread receiver_;
  std::mutex mutex_;
  std::condition_variable received_one_;
  int64_t received_ = 0;
  std::exception_ptr error_;
};

/// The parameters of an encoder for pictures like this one. Throws UsageError.
cj2k_params make_params(const Options& options, const Frame& frame, const PictureFormat& f,
                        Report& report);

/// Writes a file as NAME.part and renames it, so that NAME is whole if it is there. Throws Failure.
void write_file(const std::string& name, const void* data, size_t size);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_SESSION_H_

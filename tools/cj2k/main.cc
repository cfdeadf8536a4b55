// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: encodes pictures and image sequences. `cj2k --help` says how.
#include <cj2k.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "failure.h"
#include "film.h"
#include "frames.h"
#include "help.h"
#include "info.h"
#include "options.h"
#include "reader.h"
#include "report.h"
#include "session.h"
#include "system.h"
#include "transcode.h"
#include "verify.h"

namespace cj2k_tool {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t stop_signal = 0;

std::string format_text(const PictureFormat& f) {
  return std::to_string(f.width) + "x" + std::to_string(f.height) + ", " +
         std::to_string(f.num_components) + (f.num_components == 1 ? " component" : " components") +
         " of " + std::to_string(f.depth) + " bits";
}

/// Frames as the encoder wants them: one session after the other, where formats change.
class Run {
 public:
  /// @param film  null: each frame by the options; else as Session has it
  Run(const Options& options, const std::vector<Frame>& frames, Film* film)
      : options_(options),
        frames_(frames),
        film_(film),
        report_(options, frames_.size(),
                film != nullptr && film->targets.empty() ? "analysis: " : "") {}

  void run() {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    const int readers = options_.readers != 0 ? options_.readers : std::clamp(cores, 1, 16);
    ReadAhead input(frames_, options_.trc, readers);
    for (const Frame& frame : frames_) {
      if (stop_signal != 0) break;
      std::unique_ptr<Picture> picture = input.next();
      note_clipped(frame, *picture);
      note_left(frame, *picture);
      if (session_ != nullptr && session_->format() != picture->format) change(frame, *picture);
      if (session_ == nullptr)
        session_ = std::make_unique<Session>(options_, frame, *picture, report_, film_);
      session_->send(frame, std::move(picture));
    }
    if (session_ == nullptr) return;
    session_->finish();
    report_.finish(session_->used().frame_rate_num, session_->used().frame_rate_den);
  }

  size_t size() const { return frames_.size(); }
  Report& report() { return report_; }

 private:
  void note_clipped(const Frame& frame, const Picture& picture) {
    if (picture.clipped == 0 || options_.quiet || clip_told_) return;
    clip_told_ = true;
    report_.message(frame.input + ": " + std::to_string(picture.clipped) +
                    " samples outside 0 to 1 are clipped; later frames are not told");
  }

  void note_left(const Frame& frame, const Picture& picture) {
    if (picture.note.empty() || options_.quiet || note_told_) return;
    note_told_ = true;
    report_.message(frame.input + ": " + picture.note + "; later frames are not told");
  }

  void change(const Frame& frame, const Picture& picture) {
    if (is_sequence(options_.frames) || film_ != nullptr)
      throw Failure(frame.input + ": " + format_text(picture.format) + ", and the frames before " +
                    format_text(session_->format()) +
                    (format_text(picture.format) == format_text(session_->format())
                         ? ", with another colour space or profile"
                         : ""));
    session_->finish();
    session_.reset();
  }

  const Options& options_;
  const std::vector<Frame>& frames_;
  Film* const film_;
  Report report_;
  std::unique_ptr<Session> session_;
  bool clip_told_ = false, note_told_ = false;
};

/// Takes away frames whose output is there.
void skip_existing(std::vector<Frame>& frames, bool quiet) {
  const size_t all = frames.size();
  std::erase_if(frames, [](const Frame& frame) { return fs::exists(to_path(frame.output)); });
  if (frames.size() < all && !quiet)
    std::fprintf(stderr, "cj2k: %zu of %zu frames are there already\n", all - frames.size(), all);
}

/// Makes the targets of a film: from its log, or from a first pass. A signal leaves them empty.
/// @param options  result: those of both passes
Film make_film(Options& options, const std::vector<Frame>& frames) {
  Film film;
  const std::unique_ptr<Picture> first = read_picture(frames.front(), options.trc);
  Report quiet(options, frames.size(), "film: ");
  options = film_options(options, frames.size(),
                         make_params(options, frames.front(), first->format, quiet));
  const cj2k_params p = make_params(options, frames.front(), first->format, quiet);
  const std::string& log = options.film_log;
  if (log.empty() || !read_log(log, p, frames.size(), film)) {
    film.curves.resize(frames.size());
    Run(options, frames, &film).run();
    if (stop_signal != 0) return film;
    if (!log.empty()) write_log(log, p, film);
  }
  const int64_t sum = allocate(options, p, film);
  const int64_t asked = film_bytes(options, frames.size());
  if (sum < asked && !options.quiet)
    quiet.message("the film gets " + std::to_string(sum) + " of " + std::to_string(asked) +
                  " bytes: the caps of its frames allow no more");
  return film;
}

int run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "info") return run_info(argc - 2, argv + 2);
  if (command == "transcode") return run_transcode(argc - 2, argv + 2);
  if (command == "verify") return run_verify(argc - 2, argv + 2);
  Options options = parse_options(argc, argv);
  if (options.help) {
    std::fputs(help_text().c_str(), stdout);
    return kDone;
  }
  if (options.version) {
    std::printf("cj2k %s\n", cj2k_version());
    return kDone;
  }
  std::vector<Frame> frames = list_frames(options.frames);
  make_folder(options.frames.output);
  if (options.skip_existing) skip_existing(frames, options.quiet);
  if (frames.empty()) return kDone;
  if (frames.size() == 1 && options.param("async_depth") == nullptr)
    options.params.emplace_back("async_depth", "1");  // no memory for a frame that does not come
  if (frames.size() > 1) keep_freed_memory();
  // The first signal ends the run after the frames in flight, the second one at once.
  catch_signals([](int signal) { stop_signal = signal; });
  std::optional<Film> film;
  if (is_film(options)) film = make_film(options, frames);
  Run job(options, frames, film ? &*film : nullptr);
  if (stop_signal == 0) job.run();
  if (stop_signal == 0) return kDone;
  job.report().message("stopped by signal " + std::to_string(stop_signal));
  return 128 + stop_signal;
}

}  // namespace
}  // namespace cj2k_tool

int main(int argc, char** argv) {
  cj2k_tool::set_up_streams();
  try {
    return cj2k_tool::run(argc, argv);
  } catch (const cj2k_tool::Failure& failure) {
    std::fprintf(stderr, "cj2k: %s\n", failure.what());
    return failure.status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cj2k: %s\n", cj2k_tool::reason_of(error));
    return cj2k_tool::kFailed;
  }
}

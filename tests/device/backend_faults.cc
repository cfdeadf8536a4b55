// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Every call of the driver fails once, in every way that the shim offers. The error must say what
// failed and where. Nothing may hang or leak, and every packet must equal the CPU's.
#include <cstdlib>

#include "backend_check.h"
#include "kernels/simt/device.h"

namespace cj2k::simt::test {
namespace {

using shim::Fault;

constexpr Fault kFaults[] = {Fault::kOutOfMemory, Fault::kRefused, Fault::kLaunchFailed,
                             Fault::kDeviceLost, Fault::kAsyncFailure};
constexpr size_t kMostErrorLines = 4;
/// The number of frames at the end of a job that are sent after the fault has been met.
constexpr size_t kFramesAfter = 1;

bool is_sticky(Fault fault) { return fault != Fault::kOutOfMemory && fault != Fault::kRefused; }

/// A sequence and the CPU's packets for it.
struct Job {
  cj2k_params params;
  std::vector<Picture> pictures;
  std::vector<Encoded> expected;
  shim::Options options;
  bool on_device = false;  ///< frames are in device memory
  bool with_release = true;
  /// false: the bytes depend on the GOP before, which may have failed (stop pst)
  bool compares = true;

  Job(cj2k_params p, std::initializer_list<Content> contents) : params(p) {
    for (const Content content : contents)
      pictures.push_back(cj2k::test::make_picture(p, content, 40 + pictures.size()));
    cj2k::test::set(params, "device", "cuda:0");
    expected = on_cpu(params, pictures);
  }
};

/// Planar frames in the device memory of an application that shares the primary context.
class DeviceFrames {
 public:
  explicit DeviceFrames(const std::vector<Picture>& pictures) {
    const Log quiet;
    REQUIRE(Context::open({}, quiet, &context_) == Status::kOk);
    REQUIRE(stream_.create(*context_) == Status::kOk);
    for (const Picture& picture : pictures) {
      const FrameMemory host(picture);
      frames_.push_back(host.frame);
      cj2k_frame& frame = frames_.back();
      frame.memory = CJ2K_MEMORY_CUDA;
      frame.pts = static_cast<int64_t>(frames_.size()) - 1;
      frame.ready_stream = stream_.cu_stream();
      for (size_t c = 0; c < picture.components.size(); ++c) {
        const auto bytes = static_cast<size_t>(frame.components[c].stride_bytes) *
                           static_cast<size_t>(picture.components[c].height);
        buffers_.emplace_back();
        REQUIRE(buffers_.back().allocate(*context_, bytes) == Status::kOk);
        REQUIRE(stream_.upload(buffers_.back().as<uint8_t>(), frame.components[c].data, bytes) ==
                Status::kOk);
        frame.components[c].data = buffers_.back().as<uint8_t>();
      }
      REQUIRE(stream_.synchronize() == Status::kOk);
    }
  }
  const cj2k_frame& operator[](size_t i) const { return frames_[i]; }

 private:
  std::unique_ptr<Context> context_;
  Stream stream_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<cj2k_frame> frames_;
};

/// Counts of all runs of a job.
struct Tally {
  uint64_t runs = 0, met = 0;
  uint64_t refused_opens = 0, failed_frames = 0, good_frames = 0;
};

/// Each frame has its packet, or a device or memory error with a text.
/// @return the number of frames that failed
size_t check_results(const Job& job, const Session& session, Tally* tally) {
  size_t failed = 0;
  for (size_t i = 0; i < session.results.size(); ++i) {
    const Result& result = session.results[i];
    CHECK(result.pts == session.accepted[i]);  // also for a frame that failed
    if (result.status == CJ2K_OK) {
      ++tally->good_frames;
      if (job.compares) CHECK(result.bytes == job.expected[static_cast<size_t>(result.pts)].bytes);
    } else {
      ++failed;
      CHECK((result.status == CJ2K_DEVICE || result.status == CJ2K_NO_MEMORY));
      const bool explained =
          result.error.find("CUDA device") != std::string::npos ||
          result.error == "frame " + std::to_string(result.pts) + " is lost: the device failed";
      CHECK_MESSAGE(explained, result.error);
    }
  }
  return failed;
}

/// Whether all results from `first` on have this status.
bool all_are(const Session& session, size_t first, cj2k_status status) {
  for (size_t i = first; i < session.results.size(); ++i) {
    if (session.results[i].status != status) return false;
  }
  return true;
}

/// If frames failed there are error lines, few of them, each with the name of the device.
void check_error_lines(const Session& session, bool has_failed) {
  const std::vector<std::string> errors = session.log.of(CJ2K_LOG_ERROR);
  CHECK(errors.size() <= kMostErrorLines);
  CHECK(errors.empty() == !has_failed);
  for (const std::string& line : errors) {
    const bool names_device = line.find("CUDA device") != std::string::npos ||
                              line.find("CUDA driver") != std::string::npos;
    CHECK_MESSAGE(names_device, line);
  }
}

/// The n-th call fails (0: none). @return the number of calls
uint64_t run(const Job& job, Fault fault, uint64_t nth, Tally* tally) {
  CAPTURE(static_cast<int>(fault));
  CAPTURE(nth);
  shim::Options options = job.options;
  options.seed = nth + 1;
  start_machine(options);
  std::unique_ptr<DeviceFrames> on_device;
  if (job.on_device) on_device = std::make_unique<DeviceFrames>(job.pictures);
  const HostFrames on_host(job.pictures, job.with_release);
  std::vector<int> accepted(job.pictures.size());
  const uint64_t calls_before = shim::num_calls();
  if (nth > 0) shim::inject(fault, nth);
  ++tally->runs;
  const shim::Recorder recorder;
  uint64_t num_calls = 0;
  {
    Session session(job.params);
    size_t failed = session.opened == CJ2K_OK ? 0 : 1;
    CAPTURE(session.log.text());
    CAPTURE(shim::faulty_call());
    if (session.opened == CJ2K_OK) {
      const auto send = [&](size_t i) {
        const cj2k_status status = session.send(job.on_device ? (*on_device)[i] : on_host[i]);
        if (status == CJ2K_OK) {
          accepted[i] = 1;
        } else {
          ++failed;
          CHECK((status == CJ2K_DEVICE || status == CJ2K_NO_MEMORY));
        }
        return status;
      };
      const size_t num_first = job.pictures.size() - kFramesAfter;
      for (size_t i = 0; i < num_first; ++i) (void)send(i);
      session.drain();
      REQUIRE(cj2k_encoder_flush(session.encoder) == CJ2K_OK);
      // The fault was met and is past: either all works again, or the device is lost for good.
      const bool met = shim::fault_hit();
      const bool was_lost =
          job.options.num_devices == 1 && met && session.log.count(CJ2K_LOG_ERROR, "any more") > 0;
      const uint64_t calls = shim::num_calls();
      const size_t first_after = session.results.size();
      for (size_t i = num_first; i < job.pictures.size(); ++i) {
        const cj2k_status status = send(i);
        if (met && !is_sticky(fault)) CHECK(status == CJ2K_OK);
        if (was_lost && status != CJ2K_OK) CHECK(status == CJ2K_DEVICE);
      }
      session.drain();
      if (was_lost) CHECK(shim::num_calls() - calls < 40 * kFramesAfter);
      failed += check_results(job, session, tally);
      if (met && !is_sticky(fault)) CHECK(all_are(session, first_after, CJ2K_OK));
      if (was_lost) CHECK(all_are(session, first_after, CJ2K_DEVICE));
      tally->failed_frames += failed;
      session.close();
    } else {
      ++tally->refused_opens;
      CHECK((session.opened == CJ2K_DEVICE || session.opened == CJ2K_NO_MEMORY));
    }
    num_calls = shim::num_calls() - calls_before;
    tally->met += shim::fault_hit();
    if (nth == 0) CHECK(failed == 0);
    check_error_lines(session, failed > 0);
    for (size_t i = 0; i < job.pictures.size(); ++i) {
      if (!job.on_device && job.with_release) CHECK(on_host.released(i) == accepted[i]);
    }
  }
  CHECK(recorder.text() == "");
  on_device.reset();
  // What a kernel that never ends may use stays.
  if (fault == Fault::kHang) {
    start_machine();
  } else {
    CHECK(left_behind() == "");
  }
  return num_calls;
}

/// Runs the job with every fault, at every `stride`-th call.
void run_all(const char* what, const Job& job, uint64_t stride) {
  INFO(std::string(what));
  Tally tally;
  const uint64_t num_calls = run(job, Fault::kNone, 0, &tally);
  REQUIRE(tally.good_frames == job.pictures.size());
  for (size_t f = 0; f < std::size(kFaults); ++f) {
    for (uint64_t nth = 1 + f % stride; nth <= num_calls; nth += stride)
      run(job, kFaults[f], nth, &tally);
  }
  CHECK(tally.met > tally.runs / 2);
  CHECK(tally.failed_frames > 0);
  MESSAGE(std::string(what), ": ", num_calls, " calls, ", tally.runs, " runs, ", tally.met,
          " faults met, ", tally.refused_opens, " opens refused, ", tally.failed_frames,
          " frames failed, ", tally.good_frames, " packets");
}

cj2k_params tiny(Settings settings) {
  cj2k_params p = backend_params(13, 9, 1, {{"levels", "1"}, {"cblk", "8x8"}, {"threads", "2"}});
  for (const auto& [key, value] : settings) cj2k::test::set(p, key, value);
  return p;
}

constexpr std::initializer_list<Content> kTwo = {Content::kNoise, Content::kTexture};
/// A full GOP of two frames, a GOP that is not full, and the last frame.
constexpr std::initializer_list<Content> kFour = {Content::kNoise, Content::kTexture,
                                                  Content::kEdges, Content::kNoise};

}  // namespace

TEST_CASE("backend: every call fails once, from open to close") {
  run_all("lossless",
          Job(tiny({{"lossless", "1"}, {"gop", "1"}, {"async_depth", "1"}, {"tier1", "classic"}}),
              kTwo),
          1);
}

TEST_CASE("backend: calls fail with two GOPs of 2 in flight, every form of tier-1") {
  for (const char* tier1 : {"classic", "cibo", "fused"}) {
    run_all(
        tier1,
        Job(tiny({{"gop", "2"}, {"async_depth", "4"}, {"target_bytes", "200"}, {"tier1", tier1}}),
            kFour),
        47);
  }
}

TEST_CASE("backend: calls fail while blocks stop and go on") {
  // Enough blocks for a sample (depth/early_stop.cc).
  const Job job(backend_params(92, 92, 1,
                               {{"levels", "1"},
                                {"cblk", "4x4"},
                                {"threads", "2"},
                                {"gop", "2"},
                                {"async_depth", "4"},
                                {"target_bytes", "700"},
                                {"tier1", "cibo"}}),
                {Content::kTexture, Content::kTexture, Content::kTexture});
  CHECK(job.expected[0].stats.passes_resumed > 0);
  run_all("resumed", job, 197);
}

TEST_CASE("backend: calls fail while the frames of a GOP are predicted together, HT") {
  run_all("HT",
          Job(tiny({{"coder", "ht"}, {"gop", "2"}, {"async_depth", "4"}, {"target_bytes", "200"}}),
              kFour),
          7);
}

TEST_CASE("backend: calls fail while frames are coded again with RDOQ, HT") {
  run_all("HT with RDOQ",
          Job(tiny({{"coder", "ht"},
                    {"effort", "2"},
                    {"gop", "2"},
                    {"target_bytes", "400"},
                    {"measure_mse", "1"}}),
              kFour),
          29);
}

TEST_CASE("backend: calls fail while frames are coded again with RDOQ, EBCOT") {
  run_all("RDOQ",
          Job(tiny({{"effort", "3"}, {"gop", "2"}, {"target_bytes", "400"}, {"measure_mse", "1"}}),
              kFour),
          23);
}

TEST_CASE("backend: calls fail while a GOP waits for the one before") {
  Job job(tiny({{"gop", "1"},
                {"async_depth", "2"},
                {"target_bytes", "200"},
                {"tier1", "fused"},
                {"stop", "pst"}}),
          kFour);
  job.compares = false;
  run_all("pst", job, 29);
}

TEST_CASE("backend: calls fail while frames are read where they are in device memory") {
  Job job(tiny({{"gop", "2"}, {"async_depth", "4"}, {"tier1", "fused"}}), kFour);
  job.on_device = true;
  run_all("device frames", job, 17);
}

TEST_CASE("backend: calls fail while frames are read before send returns") {
  Job job(tiny({{"gop", "2"}, {"async_depth", "4"}, {"tier1", "fused"}}), kFour);
  job.with_release = false;
  run_all("no release", job, 23);
}

TEST_CASE("backend: a kernel that never ends gives an error, and nothing waits for it again") {
  setenv("CJ2K_DEVICE_TIMEOUT", "2", 1);
  const Job jobs[] = {
      Job(tiny({{"gop", "2"}, {"async_depth", "4"}, {"target_bytes", "200"}}), kFour),
      Job(tiny({{"coder", "ht"}, {"gop", "2"}, {"async_depth", "4"}, {"target_bytes", "200"}}),
          kFour)};
  for (const Job& job : jobs) {
    Tally tally;
    const uint64_t num_calls = run(job, Fault::kNone, 0, &tally);
    for (const uint64_t nth : {uint64_t{1}, num_calls / 3, num_calls / 2}) {
      const uint64_t failed = tally.failed_frames;
      run(job, Fault::kHang, nth, &tally);
      CHECK(tally.failed_frames > failed);
    }
  }
  unsetenv("CJ2K_DEVICE_TIMEOUT");
}

TEST_CASE("backend: one of two devices fails") {
  Job job(tiny({{"gop", "1"}, {"tier1", "fused"}}), kFour);
  cj2k::test::set(job.params, "device", "cuda:0,1");
  job.options.num_devices = 2;
  run_all("two devices", job, 61);
}

}  // namespace cj2k::simt::test

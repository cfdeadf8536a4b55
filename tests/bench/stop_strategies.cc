// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Measures what each stop strategy (cj2k_params::stop) costs and gains against `none`. Repeats
// Table 1 and Figures 7 and 8 of Martinez-del-Amor, Bruns and Sparenberg, "Parallel efficient rate
// control methods for JPEG 2000" (2017) with any clip. OpenJPEG decodes the codestreams for the
// quality. Rounds are interleaved. Each starts a new encoder, which codes the first frame before
// the clock starts.
#define DOCTEST_CONFIG_IMPLEMENT  // for the test support library, which reports through doctest
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/clip.h"
#include "cj2k.h"
#include "support/decoders.h"
#include "support/encode.h"
#include "support/image_io.h"
#include "support/media.h"
#include "support/picture.h"
#include "support/process.h"

namespace cj2k::bench {
namespace {

using test::Picture;

constexpr const char* kUsage = R"(stop_strategies --clip CLIP [OPTION]...
  --clip scene:WxH:DEPTH           a generated scene under a moving camera
         cut:WxH:DEPTH             generated: black, noise, black, each for 5 frames
         raw:FILE:WxH:DEPTH        planar, 3 components, 16-bit little endian above 8 bits
         pnm:FILE,FILE,...         PNM of three components
         media:NAME[:DEPTH]        of the test media (tests/support/media.h)
                                   may be repeated
  --frames N          of a clip at most; default 8
  --crop WxH          the middle of raw, pnm and media clips
  --rates A,B,...     Mbit/s; default 25,50,80,100,150,200,250
  --fps N             default 24
  --reference WxH     the rates are those of a picture of this size, and scaled by area; default: as given
  --stop A,B,...      default none,exact,pst,psb,bpi; none is the reference and always measured
  --gop N,N,...       default 1
  --device NAME       default cpu
  --threads N         default 1
  --rounds N          default 3; medians
  --clock wall|cpu    cpu: CPU time of the process, for a CPU that is shared; default wall
  --set KEY=VALUE     any parameter of the encoder, may be repeated; cblk=32x32 is set
  --no-psnr           speed and passes only
  --tsv FILE          one line per frame
)";

struct Options {
  std::vector<std::string> clips, stops = {"none", "exact", "pst", "psb", "bpi"}, settings;
  std::vector<double> rates = {25, 50, 80, 100, 150, 200, 250};
  std::vector<int> gops = {1};
  int frames = 8, threads = 1, rounds = 3;
  int32_t crop_width = 0, crop_height = 0, reference_width = 0, reference_height = 0;
  double fps = 24;
  bool cpu_clock = false, psnr = true;
  std::string device = "cpu", tsv;
};

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "stop_strategies: %s\n", message.c_str());
  std::exit(1);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void parse_size(const std::string& text, int32_t& width, int32_t& height) {
  int end = 0;
  if (std::sscanf(text.c_str(), "%dx%d%n", &width, &height, &end) != 2 ||
      static_cast<size_t>(end) != text.size() || width < 1 || height < 1)
    fail("not a size: " + text);
}

int parse_depth(const std::string& text) {
  const int depth = std::atoi(text.c_str());
  if (depth < 1 || depth > 16) fail("depth " + text + " not in [1, 16]");
  return depth;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--no-psnr") {
      o.psnr = false;
      continue;
    }
    if (option == "--help" || i + 1 == argc) {
      std::fputs(kUsage, option == "--help" ? stdout : stderr);
      std::exit(option == "--help" ? 0 : 1);
    }
    const std::string value = argv[++i];
    if (option == "--clip") {
      o.clips.push_back(value);
    } else if (option == "--frames") {
      o.frames = std::max(1, std::atoi(value.c_str()));
    } else if (option == "--crop") {
      parse_size(value, o.crop_width, o.crop_height);
    } else if (option == "--rates") {
      o.rates.clear();
      for (const std::string& rate : split(value, ',')) o.rates.push_back(std::atof(rate.c_str()));
    } else if (option == "--fps") {
      o.fps = std::atof(value.c_str());
    } else if (option == "--reference") {
      parse_size(value, o.reference_width, o.reference_height);
    } else if (option == "--stop") {
      o.stops = split(value, ',');
    } else if (option == "--gop") {
      o.gops.clear();
      for (const std::string& gop : split(value, ',')) o.gops.push_back(std::atoi(gop.c_str()));
    } else if (option == "--device") {
      o.device = value;
    } else if (option == "--threads") {
      o.threads = std::atoi(value.c_str());
    } else if (option == "--rounds") {
      o.rounds = std::max(1, std::atoi(value.c_str()));
    } else if (option == "--clock") {
      if (value != "wall" && value != "cpu") fail("no clock: " + value);
      o.cpu_clock = value == "cpu";
    } else if (option == "--set") {
      o.settings.push_back(value);
    } else if (option == "--tsv") {
      o.tsv = value;
    } else {
      fail("no option: " + option);
    }
  }
  if (o.clips.empty()) fail("no --clip; --help lists the options");
  // Differences and speed-ups are relative to `none`.
  o.stops.erase(std::remove(o.stops.begin(), o.stops.end(), "none"), o.stops.end());
  o.stops.insert(o.stops.begin(), "none");
  return o;
}

Picture crop(const Picture& picture, int32_t width, int32_t height) {
  if (width <= 0 || (width >= picture.width && height >= picture.height)) return picture;
  Picture result;
  result.width = std::min(width, picture.width);
  result.height = std::min(height, picture.height);
  const int32_t left = (picture.width - result.width) / 2;
  const int32_t top = (picture.height - result.height) / 2;
  for (const test::ComponentPlane& from : picture.components) {
    test::ComponentPlane plane{result.width, result.height, from.depth, from.is_signed, {}};
    for (int32_t y = 0; y < result.height; ++y) {
      const auto row = from.samples.begin() + static_cast<ptrdiff_t>(top + y) * from.width + left;
      plane.samples.insert(plane.samples.end(), row, row + result.width);
    }
    result.components.push_back(std::move(plane));
  }
  return result;
}

std::vector<Picture> read_raw(const std::string& path, int32_t width, int32_t height, int depth,
                              const Options& o) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) fail("cannot read " + path);
  Clip clip{path, width, height, depth, {std::vector<uint8_t>()}};
  clip.frames[0].resize(clip.frame_bytes());
  std::vector<Picture> frames;
  while (static_cast<int>(frames.size()) < o.frames &&
         std::fread(clip.frames[0].data(), clip.frame_bytes(), 1, file.get()) == 1)
    frames.push_back(crop(clip.picture(0), o.crop_width, o.crop_height));
  return frames;
}

/// Black, noise over the whole range, black. No strategy can predict the next frame from the one
/// before.
std::vector<Picture> make_cut(int32_t width, int32_t height, int depth, int frames) {
  constexpr int kShot = 5;
  cj2k_params shape;
  if (cj2k_params_init(&shape, sizeof shape) != CJ2K_OK) fail("cj2k_params_init");
  shape.width = width;
  shape.height = height;
  for (int32_t& d : shape.depth) d = depth;
  std::vector<Picture> clip;
  for (int f = 0; f < frames; ++f) {
    const bool noise = f / kShot % 2 == 1;
    clip.push_back(noise ? test::make_picture(shape, test::Content::kNoise, 7u + f)
                         : test::picture_shape(shape));
    for (test::ComponentPlane& plane : clip.back().components)
      plane.samples.resize(static_cast<size_t>(width) * height);
  }
  return clip;
}

std::vector<Picture> load_clip(const std::string& spec, const Options& o) {
  const std::vector<std::string> parts = split(spec, ':');
  const std::string& kind = parts[0];
  int32_t width = 0, height = 0;
  std::vector<Picture> frames;
  if ((kind == "scene" || kind == "cut") && parts.size() == 3) {
    parse_size(parts[1], width, height);
    const int depth = parse_depth(parts[2]);
    if (kind == "cut") return make_cut(width, height, depth, o.frames);
    const Clip clip = make_scene(width, height, depth, o.frames);
    for (int f = 0; f < o.frames; ++f) frames.push_back(clip.picture(f));
  } else if (kind == "raw" && parts.size() == 4) {
    parse_size(parts[2], width, height);
    frames = read_raw(parts[1], width, height, parse_depth(parts[3]), o);
  } else if (kind == "pnm" && parts.size() == 2) {
    for (const std::string& path : split(parts[1], ',')) {
      const std::optional<Picture> picture = test::read_pnm(path);
      if (!picture) fail("cannot read " + path);
      if (static_cast<int>(frames.size()) < o.frames)
        frames.push_back(crop(*picture, o.crop_width, o.crop_height));
    }
  } else if (kind == "media" && (parts.size() == 2 || parts.size() == 3)) {
    const int depth = parts.size() == 3 ? parse_depth(parts[2]) : 8;
    frames = test::load_media_clip(parts[1], depth, o.frames, o.crop_width, o.crop_height);
  } else {
    fail("not a clip: " + spec);
  }
  if (frames.empty()) fail("no frame in " + spec);
  return frames;
}

struct CodedFrame {
  std::vector<uint8_t> bytes;
  cj2k_stats stats;
};

double seconds_now(bool cpu_clock) {
  timespec now;
  clock_gettime(cpu_clock ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Sends all frames, drains the encoder and receives the packets.
void encode(cj2k_encoder* encoder, const std::vector<std::unique_ptr<test::FrameMemory>>& memory,
            size_t count, bool keep_bytes, std::vector<CodedFrame>* coded) {
  cj2k_packet packet = {};
  packet.struct_size = sizeof packet;
  for (size_t sent = 0; sent <= count;) {
    const cj2k_status status =
        cj2k_encoder_send_frame(encoder, sent < count ? &memory[sent]->frame : nullptr);
    if (status < 0) fail("send: " + std::string(cj2k_status_string(status)));
    if (status == CJ2K_OK) ++sent;
    cj2k_status received;
    while ((received = cj2k_encoder_receive_packet(encoder, &packet)) == CJ2K_OK) {
      CodedFrame frame{{}, test::stats_of(packet)};
      if (keep_bytes) frame.bytes.assign(packet.data, packet.data + packet.size);
      coded->push_back(std::move(frame));
      cj2k_packet_release(&packet);
    }
    if (received < 0) fail("receive: " + std::string(cj2k_status_string(received)));
  }
}

/// One strategy at one rate and GOP.
struct Case {
  cj2k_params params;
  std::string stop;
  double rate;
  int gop;
  std::vector<double> ms;  ///< per frame, for each round
  std::vector<CodedFrame> frames;
  std::vector<double> psnr;
  double median_ms() const {
    std::vector<double> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

void run(Case& c, const std::vector<std::unique_ptr<test::FrameMemory>>& memory, const Options& o) {
  cj2k_encoder* raw = nullptr;
  if (cj2k_encoder_open(&c.params, &raw) != CJ2K_OK) std::exit(1);  // the log has given the reason
  const std::unique_ptr<cj2k_encoder, void (*)(cj2k_encoder*)> encoder(raw, cj2k_encoder_close);
  std::vector<CodedFrame> warm_up, coded;
  encode(raw, memory, 1, false, &warm_up);
  cj2k_encoder_flush(raw);
  const bool first = c.frames.empty();
  const double begin = seconds_now(o.cpu_clock);
  encode(raw, memory, memory.size(), first, &coded);
  c.ms.push_back(1000 * (seconds_now(o.cpu_clock) - begin) / static_cast<double>(memory.size()));
  if (first) c.frames = std::move(coded);
}

/// Decodes equal codestreams only once.
void measure_quality(std::vector<Case>& cases, const std::vector<Picture>& frames) {
  for (size_t f = 0; f < frames.size(); ++f) {
    for (Case& c : cases) {
      const std::vector<uint8_t>& bytes = c.frames[f].bytes;
      const auto same = std::find_if(cases.begin(), cases.end(), [&](const Case& other) {
        return other.psnr.size() > f && other.frames[f].bytes == bytes;
      });
      if (same != cases.end()) {
        c.psnr.push_back(same->psnr[f]);
        continue;
      }
      const test::Decoded decoded = test::decode(test::Decoder::kOpenJpeg, bytes, c.params);
      if (!decoded.picture) fail(c.stop + ", frame " + std::to_string(f) + ": " + decoded.error);
      c.psnr.push_back(test::psnr(frames[f], *decoded.picture));
    }
  }
}

Case make_case(const Picture& shape, const std::string& stop, double rate, int gop,
               const Options& o) {
  Case c{};
  cj2k_params& p = c.params;
  if (cj2k_params_init(&p, sizeof p) != CJ2K_OK) fail("cj2k_params_init");
  p.log = cj2k_log_stderr;
  p.width = shape.width;
  p.height = shape.height;
  p.num_components = static_cast<int32_t>(shape.components.size());
  for (int32_t& depth : p.depth) depth = shape.components[0].depth;
  double bytes = rate * 1e6 / 8 / o.fps;
  if (o.reference_width > 0)
    bytes *= static_cast<double>(shape.width) * shape.height /
             (static_cast<double>(o.reference_width) * o.reference_height);
  p.target_bytes = static_cast<int64_t>(bytes);
  p.gop = gop;
  p.threads = o.threads;
  const auto set = [&](const std::string& key, const std::string& value) {
    if (cj2k_params_set(&p, key.c_str(), value.c_str()) != CJ2K_OK) std::exit(1);
  };
  set("cblk", "32x32");
  set("device", o.device);
  set("stop", stop);
  for (const std::string& setting : o.settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) fail("not KEY=VALUE: " + setting);
    set(setting.substr(0, equals), setting.substr(equals + 1));
  }
  c.stop = stop;
  c.rate = rate;
  c.gop = gop;
  return c;
}

/// @return 1 if a frame exceeds its cap
int report(const std::string& clip, const std::vector<Case>& cases, const Options& o,
           std::FILE* tsv) {
  int status = 0;
  const Case& none = cases[0];
  for (const Case& c : cases) {
    const size_t n = c.frames.size();
    double sum_drop = 0, max_drop = -1e9, used = 0, coded = 0, included = 0, resumed = 0;
    for (size_t f = 0; f < n; ++f) {
      const cj2k_stats& s = c.frames[f].stats;
      const double drop = o.psnr ? none.psnr[f] - c.psnr[f] : 0;
      sum_drop += drop;
      max_drop = std::max(max_drop, drop);
      coded += static_cast<double>(s.passes_coded);
      included += static_cast<double>(s.passes_included);
      resumed += static_cast<double>(s.passes_resumed);
      used += static_cast<double>(s.bytes) / static_cast<double>(c.params.target_bytes);
      if (s.bytes > c.params.target_bytes) {
        std::printf("OVER THE CAP: %s %s frame %zu: %lld bytes of %lld\n", clip.c_str(),
                    c.stop.c_str(), f, static_cast<long long>(s.bytes),
                    static_cast<long long>(c.params.target_bytes));
        status = 1;
      }
      if (tsv == nullptr) continue;
      std::fprintf(tsv, "%s\t%d\t%d\t%d\t%s\t%d\t%d\t%g\t%s\t%zu\t%lld\t%lld\t", clip.c_str(),
                   c.params.width, c.params.height, c.params.depth[0], o.device.c_str(), o.threads,
                   c.gop, c.rate, c.stop.c_str(), f, static_cast<long long>(c.params.target_bytes),
                   static_cast<long long>(s.bytes));
      if (o.psnr) std::fprintf(tsv, "%.4f\t%.4f", c.psnr[f], drop);
      if (!o.psnr) std::fputs("\t", tsv);
      std::fprintf(tsv, "\t%lld\t%lld\t%lld\t%lld\t%d", static_cast<long long>(s.passes_coded),
                   static_cast<long long>(s.passes_included),
                   static_cast<long long>(s.passes_resumed), static_cast<long long>(s.bytes_coded),
                   s.slope_threshold);
      for (int i = 0; i < CJ2K_NUM_STAGES; ++i) std::fprintf(tsv, "\t%.2f", s.stage_ms[i]);
      std::fprintf(tsv, "\t%.2f\t%.4f\n", c.median_ms(), none.median_ms() / c.median_ms());
    }
    const double per_frame = 1.0 / static_cast<double>(n);
    std::printf("| %g | %d | %s | %.1f | %.2f |", c.rate, c.gop, c.stop.c_str(), c.median_ms(),
                none.median_ms() / c.median_ms());
    if (o.psnr) {
      std::printf(" %.3f | %.3f | %.3f |", c.psnr[0], sum_drop * per_frame, max_drop);
    } else {
      std::printf(" | | |");
    }
    std::printf(" %.0f | %.0f | %.0f | %.2f %% |\n", coded * per_frame, included * per_frame,
                resumed * per_frame, 100 * used * per_frame);
  }
  std::fflush(stdout);
  if (tsv != nullptr) std::fflush(tsv);
  return status;
}

int run_all(const Options& o) {
  if (o.psnr && !test::have_program("opj_decompress")) fail("no opj_decompress, and no --no-psnr");
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> tsv(nullptr, std::fclose);
  if (!o.tsv.empty()) {
    tsv.reset(std::fopen(o.tsv.c_str(), "w"));
    if (!tsv) fail("cannot write " + o.tsv);
    std::fputs(
        "clip\twidth\theight\tdepth\tdevice\tthreads\tgop\tmbits\tstop\tframe\tcap\tbytes\t"
        "psnr\tdrop\tcoded\tincluded\tresumed\tbytes_coded\tthreshold\tms_ingest\tms_dwt\t"
        "ms_tier1\tms_rate\tms_packets\tms_frame\tspeedup\n",
        tsv.get());
  }
  int status = 0;
  for (const std::string& spec : o.clips) {
    const std::vector<Picture> frames = load_clip(spec, o);
    std::vector<std::unique_ptr<test::FrameMemory>> memory;
    for (const Picture& frame : frames)
      memory.push_back(std::make_unique<test::FrameMemory>(frame));
    std::printf(
        "\n%s: %zu frames of %dx%d, %d bit, device %s, %d thread(s), %d round(s), %s time\n\n",
        spec.c_str(), frames.size(), frames[0].width, frames[0].height,
        frames[0].components[0].depth, o.device.c_str(), o.threads, o.rounds,
        o.cpu_clock ? "CPU" : "wall");
    std::printf(
        "| Mbit/s | gop | stop | ms/frame | speed-up | PSNR of frame 0 | mean drop, dB | "
        "max drop, dB | passes coded | included | resumed | of the cap |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const double rate : o.rates) {
      for (const int gop : o.gops) {
        std::vector<Case> cases;
        for (const std::string& stop : o.stops)
          cases.push_back(make_case(frames[0], stop, rate, gop, o));
        for (int round = 0; round < o.rounds; ++round) {
          for (Case& c : cases) run(c, memory, o);
        }
        if (o.psnr) measure_quality(cases, frames);
        status |= report(spec, cases, o, tsv.get());
      }
    }
  }
  return status;
}

}  // namespace
}  // namespace cj2k::bench

int main(int argc, char** argv) { return cj2k::bench::run_all(cj2k::bench::parse(argc, argv)); }

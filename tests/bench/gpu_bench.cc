// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// Measures the encoder on a GPU: the three forms of tier-1, GOPs of 1 to 16 frames, from device
// memory and from host memory, against the CPU backend and nvJPEG2000 in the same run. All rounds
// of a group are interleaved. The codestreams of a workload must have the same bytes in every form,
// GOP and backend, and must not exceed the cap. Otherwise the row says so and the exit status is 1.
// Exit status 77: there is no GPU.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "bench/energy.h"
#include "bench/report.h"
#include "cj2k.h"
#include "support/image_io.h"
#include "support/process.h"

namespace cj2k::bench {
namespace {

constexpr const char* kUsage = R"(gpu_bench [OPTION]...
  --list                 the workloads
  --workloads A,B,...    only these
  --stop A,B,...         the lossy ones with each of these (names get "-A")
  --tier1 A,B,...        default classic,cibo,fused
  --gop N,N,...          default 8,16,1,2
  --gops-in-flight N,... of the GPU encoder; 0, the default: what it chooses
  --boundary a,b         a: device to host; b: host to host; default: a, and b for the first GOP
  --full                 b for every GOP, too
  --no-cpu, --no-nvjpeg2k
  --nvjpeg2k-threads N,N default 1,8
  --rounds N             default 5
  --round-ms N           a round lasts about this long; default 300
  --distinct N           different frames of a clip; default 8
  --scale N              pictures N times smaller each way, caps N * N times; default 1
  --picture FILE.ppm     replaces the generated scene if large and deep enough; may be repeated
  --deadline SECONDS     begins no further group after this time; what is left out is listed
  --device NAME          default cuda:0
  --threads N            of the CPU backend; default all
  --out PREFIX           writes PREFIX.txt and PREFIX.tsv, too
  --write-clips DIR      writes the clips as raw planar video (gbrp, gbrp12le) and ends
  --smoke                tiny pictures and one round: whether it works, not how fast
)";

struct Options {
  std::vector<std::string> workloads, stops, tier1 = {"classic", "cibo", "fused"}, pictures;
  std::vector<int> gops = {8, 16, 1, 2}, in_flight = {0}, nv_threads = {1, 8};
  bool device_boundary = true, host_boundary = true, full = false, cpu = true, nvjpeg2k = true;
  bool smoke = false, list = false;
  int rounds = 5, distinct = 8, threads = 0, scale = 1;
  double round_ms = 300, deadline = 0;
  std::string device = "cuda:0", out, clips;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::vector<int> numbers(const std::string& text) {
  std::vector<int> values;
  for (const std::string& word : split(text))
    values.push_back(std::max(1, std::atoi(word.c_str())));
  return values;
}

bool parse(int argc, char** argv, Options* o) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (name == "--list") {
      o->list = true;
    } else if (name == "--workloads") {
      o->workloads = split(value());
    } else if (name == "--stop") {
      o->stops = split(value());
    } else if (name == "--tier1") {
      o->tier1 = split(value());
    } else if (name == "--gop") {
      o->gops = numbers(value());
    } else if (name == "--gops-in-flight") {
      o->in_flight.clear();
      for (const std::string& word : split(value()))
        o->in_flight.push_back(std::atoi(word.c_str()));
    } else if (name == "--boundary") {
      const std::string which = value();
      o->device_boundary = which.find('a') != std::string::npos;
      o->host_boundary = which.find('b') != std::string::npos;
    } else if (name == "--full") {
      o->full = true;
    } else if (name == "--no-cpu") {
      o->cpu = false;
    } else if (name == "--no-nvjpeg2k") {
      o->nvjpeg2k = false;
    } else if (name == "--nvjpeg2k-threads") {
      o->nv_threads = numbers(value());
    } else if (name == "--rounds") {
      o->rounds = std::max(1, std::atoi(value().c_str()));
    } else if (name == "--round-ms") {
      o->round_ms = std::atof(value().c_str());
    } else if (name == "--distinct") {
      o->distinct = std::max(1, std::atoi(value().c_str()));
    } else if (name == "--scale") {
      o->scale = std::max(1, std::atoi(value().c_str()));
    } else if (name == "--picture") {
      o->pictures.push_back(value());
      if (::access(o->pictures.back().c_str(), R_OK) != 0) {
        std::fprintf(stderr, "gpu_bench: %s: %s\n", o->pictures.back().c_str(),
                     std::strerror(errno));
        return false;
      }
    } else if (name == "--deadline") {
      o->deadline = std::atof(value().c_str());
    } else if (name == "--device") {
      o->device = value();
    } else if (name == "--threads") {
      o->threads = std::atoi(value().c_str());
    } else if (name == "--out") {
      o->out = value();
    } else if (name == "--write-clips") {
      o->clips = value();
    } else if (name == "--smoke") {
      o->smoke = true;
      o->scale = 40;
      o->rounds = 1;
      o->round_ms = 0;
      o->distinct = 3;
      o->gops = {2, 1};
      o->threads = 1;
      o->nvjpeg2k = false;
    } else {
      return false;
    }
  }
  return !o->gops.empty() && !o->in_flight.empty();
}

/// What is encoded. A clip is made when it is first asked for.
struct Workload {
  Task task;
  int32_t width, height, depth;
  bool peers;  ///< nvJPEG2000 runs in the same group
};

std::vector<Workload> workloads(int scale, bool smoke) {
  // DESIGN.md section 6: the paper's rates at 24 frames/s, and the pixels and ratio of the best
  // published figure (4K 4:4:4, 8 bit, 1.2 bit/pixel).
  const auto per_frame = [](int64_t mbits) { return mbits * 1000000 / 8 / 24; };
  const std::vector<std::pair<const char*, std::string>> cinema = {{"progression", "cprl"},
                                                                   {"tile_parts", "component"}};
  const int64_t bytes_1_2 = static_cast<int64_t>(3840) * 2160 * 12 / 10 / 8;
  std::vector<Workload> all;
  const auto add = [&all](const char* name, int32_t width, int32_t height, int32_t depth,
                          int64_t bytes, const char* stop, bool peers,
                          const std::vector<std::pair<const char*, std::string>>& settings) {
    all.push_back(
        {{name, nullptr, bytes == 0, bytes, 32, 5, stop, settings}, width, height, depth, peers});
  };
  add("4k8-1.2bpp", 3840, 2160, 8, bytes_1_2, "exact", true, {});
  add("4k12-250M", 3840, 2160, 12, per_frame(250), "exact", true, cinema);
  add("4k12-250M-none", 3840, 2160, 12, per_frame(250), "none", false, cinema);
  add("4k8-lossless", 3840, 2160, 8, 0, "none", true, {});
  add("4k12-25M", 3840, 2160, 12, per_frame(25), "exact", true, cinema);
  add("4k8-1.2bpp-none", 3840, 2160, 8, bytes_1_2, "none", false, {});
  add("4k12-25M-none", 3840, 2160, 12, per_frame(25), "none", false, cinema);
  add("2k12-250M", 2048, 1080, 12, per_frame(250), "exact", true, cinema);
  std::vector<std::pair<const char*, std::string>> effort2 = cinema;
  effort2.push_back({"effort", "2"});
  add("4k12-250M-effort2", 3840, 2160, 12, per_frame(250), "exact", false, effort2);
  const std::vector<std::pair<const char*, std::string>> ht = {{"coder", "ht"}};
  add("4k8-1.25bpp-ht", 3840, 2160, 8, int64_t{3840} * 2160 * 10 / 64, "exact", true, ht);
  add("4k8-1.25bpp-ht-effort2", 3840, 2160, 8, int64_t{3840} * 2160 * 10 / 64, "exact", false,
      {{"coder", "ht"}, {"effort", "2"}});
  add("4k8-lossless-ht", 3840, 2160, 8, 0, "none", true, ht);
  add("4k12-lossless-ht", 3840, 2160, 12, 0, "none", false, ht);
  for (Workload& w : all) {
    if (w.task.is_ht()) w.task.cblk = 64;
  }
  // What Fastvideo publishes figures for: 8 bit, blocks of 32x32, 6 levels, 1.23 bits per pixel.
  add("4k8-1.23bpp-6", 3840, 2160, 8, int64_t{3840} * 2160 * 123 / 800, "exact", true, {});
  all.back().task.levels = 6;
  for (Workload& w : all) {
    if (scale == 1) break;
    w.width = std::max(w.width / scale, 16);
    w.height = std::max(w.height / scale, 16);
    // Headers do not shrink with the picture.
    if (w.task.target_bytes > 0)
      w.task.target_bytes = std::max<int64_t>(w.task.target_bytes / scale / scale, 700);
  }
  for (Workload& w : all) {
    if (smoke) w.task.levels = 2;
  }
  return all;
}

/// The lossy workloads, each with every one of `stops`. Workloads that already test a stop are left
/// out.
std::vector<Workload> with_stops(const std::vector<Workload>& loads,
                                 const std::vector<std::string>& stops) {
  std::vector<Workload> all;
  for (const Workload& load : loads) {
    if (load.task.lossless || load.task.stop == "none") continue;
    for (const std::string& stop : stops) {
      Workload& variant = all.emplace_back(load);
      variant.task.name += "-" + stop;
      variant.task.stop = stop;
      variant.peers = load.peers && stop == stops.front();
    }
  }
  return all;
}

class Bench {
 public:
  Bench(const Options& options, std::vector<Workload> loads)
      : o_(options), loads_(std::move(loads)), start_(wall_seconds()) {}

  int run();

 private:
  struct Spec {
    Cj2kOptions cj2k;
    bool nvjpeg2k = false;
    NvQuality quality = NvQuality::kPsnr;
    int32_t threads = 1;
  };
  const Clip* clip_of(const Workload& load);
  int write_clips();
  bool out_of_time() const { return o_.deadline > 0 && wall_seconds() - start_ > o_.deadline; }
  void group(Workload& load, int gop, Boundary boundary, bool peers);
  void measure(Workload& load, const std::vector<Spec>& specs);
  std::unique_ptr<Contender> open(const Workload& load, const Spec& spec, std::string* error);
  void rate_quality();
  void compare();
  Facts facts();
  void write_files(bool finished);
  void report();

  const Options& o_;
  std::vector<Workload> loads_;
  double start_;
  Device device_;
  std::unique_ptr<EnergyMeter> meter_;
  std::map<std::string, Clip> clips_;
  std::map<const Clip*, DeviceClip> copies_;
  std::vector<Row> rows_;
  std::vector<std::string> left_out_;
  std::set<std::string> said_;  ///< reasons why nvJPEG2000 is missing, each printed once
};

const Clip* Bench::clip_of(const Workload& load) {
  const std::string key = std::to_string(load.width) + "x" + std::to_string(load.height) + "_" +
                          std::to_string(load.depth);
  auto found = clips_.find(key);
  if (found == clips_.end()) {
    std::optional<Clip> clip;
    for (const std::string& path : o_.pictures) {
      if (!clip) clip = make_clip_from(path, load.width, load.height, load.depth, o_.distinct);
    }
    if (!clip) clip = make_scene(load.width, load.height, load.depth, o_.distinct);
    found = clips_.emplace(key, std::move(*clip)).first;
  }
  return &found->second;
}

int Bench::write_clips() {
  std::set<const Clip*> done;
  for (const Workload& load : loads_) {
    const Clip& clip = *clip_of(load);
    if (!done.insert(&clip).second) continue;
    const std::string path = o_.clips + "/" + std::to_string(clip.width) + "x" +
                             std::to_string(clip.height) + "_" + std::to_string(clip.depth) +
                             ".gbrp";
    std::FILE* file = std::fopen(path.c_str(), "wb");
    bool good = file != nullptr;
    for (const std::vector<uint8_t>& frame : clip.frames) {
      for (const int32_t c : {1, 2, 0}) {  // FFmpeg's order of planes: green, blue, red
        good = good && std::fwrite(frame.data() + c * clip.plane_bytes(), 1, clip.plane_bytes(),
                                   file) == clip.plane_bytes();
      }
    }
    good = file != nullptr && std::fclose(file) == 0 && good;
    if (!good) {
      std::fprintf(stderr, "gpu_bench: cannot write %s\n", path.c_str());
      return 1;
    }
    std::printf("%s\t%s\t%d\t%zu\n", path.c_str(), clip.name.c_str(), clip.depth,
                clip.frames.size());
  }
  return 0;
}

std::unique_ptr<Contender> Bench::open(const Workload& load, const Spec& spec, std::string* error) {
  const DeviceClip* copy = &copies_[load.task.clip];
  if (spec.nvjpeg2k)
    return open_nvjpeg2k(load.task, spec.quality, spec.threads, &device_, copy, error);
  return open_cj2k(load.task, spec.cj2k, spec.cj2k.device == "cpu" ? nullptr : &device_, copy,
                   error);
}

void Bench::group(Workload& load, int gop, Boundary boundary, bool peers) {
  const std::string title =
      load.task.name + " gop " + std::to_string(gop) + " " + boundary_name(boundary);
  if (out_of_time()) {
    left_out_.push_back(title);
    return;
  }
  std::fprintf(stderr, "gpu_bench: %.0f s: %s\n", wall_seconds() - start_, title.c_str());
  load.task.clip = clip_of(load);
  DeviceClip& copy = copies_[load.task.clip];
  if (copy.frames.empty() && upload(device_, *load.task.clip, &copy) != Status::kOk) {
    left_out_.push_back(title + " (no device memory for the clip)");
    copy.frames.clear();
    return;
  }
  std::vector<Spec> specs;
  const std::vector<std::string> only_auto = {"auto"};
  for (const std::string& tier1 : load.task.is_ht() ? only_auto : o_.tier1) {
    for (const int gops : o_.in_flight)
      specs.push_back({{o_.device, tier1, gop, gops, o_.threads, boundary}});
  }
  if (peers && boundary == Boundary::kHostToHost && o_.cpu)
    specs.push_back({{"cpu", "auto", 0, 0, o_.threads, boundary}});
  if (peers && boundary == Boundary::kDeviceToHost && o_.nvjpeg2k && load.peers) {
    for (const int threads : o_.nv_threads) {
      // Its HT encoder takes no PSNR. Without loss the quality is not used.
      if (load.task.lossless || !load.task.is_ht())
        specs.push_back({{}, true, NvQuality::kPsnr, threads});
      if (!load.task.lossless) specs.push_back({{}, true, NvQuality::kStep, threads});
    }
  }
  // As many rows as fit the device run interleaved.
  for (size_t first = 0; first < specs.size();) {
    size_t free_bytes = 0, total_bytes = 0;
    if (device_.context->memory(&free_bytes, &total_bytes) != Status::kOk) return;
    double left = 0.9 * static_cast<double>(free_bytes);
    size_t last = first;
    for (; last < specs.size(); ++last) {
      // nvJPEG2000 does not report its memory, so its share is a guess from the samples.
      const double bytes =
          specs[last].nvjpeg2k
              ? 40.0 * static_cast<double>(load.task.clip->frame_bytes()) * specs[last].threads
              : static_cast<double>(cj2k_device_bytes(load.task, specs[last].cj2k).value_or(0));
      if (last > first && bytes > left) break;
      left -= bytes;
    }
    measure(load, {specs.begin() + first, specs.begin() + last});
    first = last;
  }
}

void Bench::measure(Workload& load, const std::vector<Spec>& specs) {
  struct Entry {
    std::unique_ptr<Contender> contender;
    Row row;
    int64_t frames = 0;
  };
  std::vector<Entry> entries;
  const int64_t hash_frames = o_.smoke ? 4 : 16;
  for (const Spec& spec : specs) {
    Entry entry;
    Row& row = entry.row;
    row.task = &load.task;
    row.encoder = spec.nvjpeg2k ? "nvJPEG2000" : "cj2k " + spec.cj2k.device;
    row.tier1 = spec.nvjpeg2k ? "-" : spec.cj2k.tier1;
    row.gop = spec.nvjpeg2k ? "-" : std::to_string(spec.cj2k.gop);
    row.boundary = spec.cj2k.boundary;
    if (spec.nvjpeg2k) row.boundary = Boundary::kDeviceToHost;
    entry.contender = open(load, spec, &row.error);
    if (spec.nvjpeg2k && entry.contender == nullptr && !said_.insert(row.error).second) continue;
    if (entry.contender != nullptr) {
      const Contender& c = *entry.contender;
      row.error.clear();
      row.encoder = c.encoder;
      row.tier1 = c.tier1;
      row.gop = c.gop;
      row.same_bytes = c.same_bytes && load.task.stop != "pst";
      row.capped = c.capped;
      row.device_bytes = c.device_bytes;
      row.pinned_bytes = c.pinned_bytes;
      row.host_bytes = c.host_bytes;
      row.frames_in_flight = c.frames_in_flight;
      // Warms up, returns the bytes to compare, and finds how many frames a round needs.
      Round round;
      entry.frames = o_.smoke ? hash_frames : std::max(hash_frames, c.min_frames());
      if (entry.contender->run(entry.frames, hash_frames, &round)) {
        row.hash = round.hash;
        row.first = std::move(round.first);
        std::copy(round.mse, round.mse + Clip::kComponents, row.mse);
        if (row.capped && round.largest_bytes > load.task.target_bytes) row.check = "OVER THE CAP";
        const double wanted = o_.round_ms / 1000 * round.steady_fps;
        entry.frames = std::clamp(static_cast<int64_t>(wanted), entry.frames, int64_t{4096});
      } else {
        row.error = c.error();
        entry.contender.reset();
      }
    }
    entries.push_back(std::move(entry));
  }
  for (int i = 0; i < o_.rounds && (i == 0 || !out_of_time()); ++i) {
    for (Entry& entry : entries) {
      if (entry.contender == nullptr) continue;
      Row& row = entry.row;
      const std::optional<double> before = meter_->joules();
      Round round;
      if (!entry.contender->run(entry.frames, 0, &round)) {
        row.error = entry.contender->error();
        entry.contender.reset();
        continue;
      }
      const std::optional<double> after = meter_->joules();
      if (before && after && row.device_bytes > 0)
        row.joules = row.joules.value_or(0) + *after - *before;
      if (row.capped && round.largest_bytes > load.task.target_bytes) row.check = "OVER THE CAP";
      row.rounds.push_back(std::move(round));
    }
  }
  for (Entry& entry : entries) rows_.push_back(std::move(entry.row));
  write_files(false);
}

/// dB over the three components, from the errors before the inverse colour transform. Assumes that
/// the errors are uncorrelated; T.800 G.3.2 (9/7) gives the weights.
double estimated_psnr(const Row& row) {
  const double peak = (1 << row.task->clip->depth) - 1;
  const double mse = row.mse[0] + (0.344136 * 0.344136 + 1.772 * 1.772) / 3 * row.mse[1] +
                     (1.402 * 1.402 + 0.714136 * 0.714136) / 3 * row.mse[2];
  return mse > 0 ? 10 * std::log10(peak * peak / mse) : 999;
}

std::optional<double> decoded_psnr(const Row& row, int number, const test::TempDir& dir) {
  const std::string stem = std::to_string(number);
  const std::string coded = (dir / (stem + ".j2k")).string();
  const std::string decoded = (dir / (stem + ".ppm")).string();
  if (!test::write_file(coded, row.first)) return std::nullopt;
  const test::ProcessResult done =
      test::run_process({"opj_decompress", "-i", coded, "-o", decoded});
  const std::optional<test::Picture> picture = test::read_pnm(decoded);
  std::remove(decoded.c_str());
  const test::Picture original = row.task->clip->picture(0);
  if (done.exit_code != 0 || !picture || test::max_difference(original, *picture) < 0)
    return std::nullopt;
  return test::psnr(original, *picture);
}

void Bench::rate_quality() {
  const bool decoder = test::have_program("opj_decompress");
  const test::TempDir dir;
  std::map<std::pair<const Task*, uint64_t>, std::vector<Row*>> alike;
  for (Row& row : rows_) {
    if (row.error.empty()) alike[{row.task, test::hash_bytes(row.first)}].push_back(&row);
  }
  std::vector<std::pair<std::vector<Row*>, std::future<std::optional<double>>>> waiting;
  const auto finish = [&waiting] {
    for (auto& [rows, result] : waiting) {
      const std::optional<double> psnr = result.get();
      for (Row* row : rows) {
        row->psnr = psnr;
        row->psnr_decoded = true;
        if (!psnr) row->check = "NOT DECODED by opj_decompress";
        if (psnr && row->task->lossless && *psnr < 999) row->check = "NOT LOSSLESS";
      }
    }
    waiting.clear();
  };
  int number = 0;
  for (auto& [key, rows] : alike) {
    if (decoder) {
      waiting.emplace_back(rows, std::async(std::launch::async, decoded_psnr, std::cref(*rows[0]),
                                            number++, std::cref(dir)));
      if (waiting.size() >= std::clamp(std::thread::hardware_concurrency() / 2, 1u, 8u)) finish();
    } else {
      for (Row* row : rows) {
        if (row->same_bytes && !row->task->lossless) row->psnr = estimated_psnr(*row);
      }
    }
  }
  finish();
}

void Bench::compare() {
  std::map<const Task*, uint64_t> expected;
  for (Row& row : rows_) {
    if (!row.error.empty() || !row.same_bytes) continue;
    const auto [found, is_new] = expected.emplace(row.task, row.hash);
    if (!is_new && found->second != row.hash) row.check = "BYTES DIFFER from the first row's";
  }
}

/// With --out: writes what has been measured so far, in case this program is ended.
void Bench::write_files(bool finished) {
  if (o_.out.empty()) return;
  Facts known = facts();
  if (!finished) known.emplace_back("unfinished", "no PSNR yet, and bytes are not compared yet");
  for (const bool table : {true, false}) {
    const std::string path = o_.out + (table ? ".txt" : ".tsv");
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) {
      std::fprintf(stderr, "gpu_bench: cannot write %s\n", path.c_str());
      continue;
    }
    (table ? print_table : print_tsv)(file, known, rows_);
    std::fclose(file);
  }
}

Facts Bench::facts() {
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  const simt::DeviceInfo& info = device_.context->info();
  const bool decoder = test::have_program("opj_decompress");
  Facts known = {
      {"date", date},
      {"gpu", info.name + ", compute capability " + std::to_string(info.compute_major) + "." +
                  std::to_string(info.compute_minor) + ", " +
                  std::to_string(info.num_multiprocessors) + " multiprocessors, " +
                  std::to_string(info.total_bytes >> 20) + " MiB"},
      {"driver", meter_->driver_version().empty() ? "?" : meter_->driver_version()},
      {"cpu", std::to_string(std::thread::hardware_concurrency()) + " hardware threads"},
      {"libcj2k", cj2k_version()},
      {"rounds", std::to_string(o_.rounds) + " of about " +
                     std::to_string(static_cast<int>(o_.round_ms)) + " ms, interleaved; " +
                     std::to_string(o_.distinct) + " different frames in a loop"},
      {"energy", meter_->missing().empty() ? "NVML's counter of the whole board, idle power in it"
                                           : meter_->missing()},
      {"psnr", decoder ? "frame 0, decoded by opj_decompress"
                       : "frame 0, the encoder's estimate (no opj_decompress here)"}};
  for (const std::string& title : left_out_) known.emplace_back("left out", title);
  if (o_.smoke) known.emplace_back("smoke", "tiny pictures: the figures mean nothing");
  if (o_.scale != 1 && !o_.smoke)
    known.emplace_back("scale", "pictures " + std::to_string(o_.scale) + " times smaller each way");
  return known;
}

void Bench::report() {
  std::stable_sort(rows_.begin(), rows_.end(), [this](const Row& a, const Row& b) {
    const auto place = [this](const Row& row) {
      return std::find_if(loads_.begin(), loads_.end(),
                          [&row](const Workload& w) { return &w.task == row.task; }) -
             loads_.begin();
    };
    return place(a) < place(b);
  });
  print_table(stdout, facts(), rows_);
  write_files(true);
}

int Bench::run() {
  if (!o_.clips.empty()) return write_clips();
  std::string why = "no line in the log";
  const Log log(
      [](void* text, cj2k_log_level, const char* line) { *static_cast<std::string*>(text) = line; },
      &why);
  if (simt::Context::open({}, log, &device_.context) != Status::kOk ||
      device_.stream.create(*device_.context) != Status::kOk) {
    std::printf("gpu_bench: no usable GPU: %s\n", why.c_str());
    return 77;
  }
  meter_ = std::make_unique<EnergyMeter>(device_.context->info().uuid);
  for (size_t i = 0; i < o_.gops.size(); ++i) {
    const int gop = o_.gops[i];
    for (const Boundary boundary : {Boundary::kDeviceToHost, Boundary::kHostToHost}) {
      const bool host = boundary == Boundary::kHostToHost;
      if (!(host ? o_.host_boundary : o_.device_boundary) || (host && i > 0 && !o_.full)) continue;
      for (Workload& load : loads_) group(load, gop, boundary, i == 0);
    }
  }
  compare();
  rate_quality();
  report();
  size_t bad = 0, good = 0;
  for (const Row& row : rows_) {
    // What a peer lacks or does wrong is not a failure of the encoder, nor is what the library does
    // not support.
    const bool left_out = row.encoder.starts_with("nvJPEG2000") ||
                          row.error.starts_with(cj2k_status_string(CJ2K_NOT_SUPPORTED));
    if ((!row.error.empty() || !row.check.empty()) && !left_out) ++bad;
    if (row.error.empty() && row.encoder.starts_with("cj2k cuda")) ++good;
  }
  std::printf("\n%zu rows, %zu of the GPU encoder, %zu wrong, %zu groups left out, %.0f s\n",
              rows_.size(), good, bad, left_out_.size(), wall_seconds() - start_);
  rows_.clear();
  copies_.clear();
  return bad == 0 && good > 0 ? 0 : 1;
}

}  // namespace
}  // namespace cj2k::bench

int main(int argc, char** argv) {
  using namespace cj2k::bench;
  Options options;
  if (!parse(argc, argv, &options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::vector<Workload> loads = workloads(options.scale, options.smoke);
  if (!options.stops.empty()) loads = with_stops(loads, options.stops);
  if (options.list) {
    for (const Workload& load : loads) std::printf("%s\n", load.task.name.c_str());
    return 0;
  }
  if (!options.workloads.empty()) {
    std::erase_if(loads, [&options](const Workload& load) {
      return std::find(options.workloads.begin(), options.workloads.end(), load.task.name) ==
             options.workloads.end();
    });
    if (loads.empty()) {
      std::fprintf(stderr, "gpu_bench: none of these workloads is known; --list shows them\n");
      return 2;
    }
  }
  return Bench(options, std::move(loads)).run();
}

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "flags.h"

#include <algorithm>
#include <cstring>

#include "failure.h"
#include "planar.h"

namespace cj2k_tool {
namespace {

using S = const std::string;

/// Until resolve_flags: the precincts of -c, as a parameter of this name.
constexpr const char* kHalvedPrecincts = "-c";

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}

/// "64,64" as "64x64".
std::string size_of(S& flag, S& value) {
  const std::vector<std::string> parts = split(value, ',');
  if (parts.size() != 2) throw UsageError(flag + " " + value + " is not two numbers, as 64,64");
  return parts[0] + "x" + parts[1];
}

void set_levels(Options& o, S& flag, S& value) {
  set_param(o, flag, "levels", std::to_string(parse_number(flag, value, 1, 33) - 1));
}

void set_precincts(Options& o, S& flag, S& value) {
  std::string sizes;  // "[256,256],[128,128]" or "256,256,128,128"
  int numbers = 0;
  for (const std::string& part : split(value, ',')) {
    std::string digits = part;
    std::erase_if(digits, [](char c) { return c == '[' || c == ']' || c == ' '; });
    sizes += (numbers == 0       ? ""
              : numbers % 2 == 1 ? "x"
                                 : ",") +
             std::to_string(parse_number(flag, digits, 1, 32768));
    ++numbers;
  }
  if (numbers % 2 != 0)
    throw UsageError(flag + " " + value + " is not a list of sizes, as [256,256],[128,128]");
  o.params.emplace_back(kHalvedPrecincts, sizes);
}

void set_mode(Options& o, S& flag, S& value) {
  const int64_t mode = parse_number(flag, value, 0, 127);
  if (mode & 64) set_param(o, flag, "coder", "ht");
  set_param(o, flag, "cblk_style", std::to_string(mode & 63));
}

void set_progression(Options& o, S& flag, S& value) {
  set_param(o, flag, "progression", lower(value));
}

void set_poc(Options& o, S& flag, S& value) {
  std::string all;
  for (const std::string& entry : split(value, '/')) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || entry.substr(0, equals) != "T1")
      throw UsageError(flag + " " + entry +
                       ": changes are those of tile T1, and hold for all tiles");
    if (!all.empty()) all += '/';
    all += lower(entry.substr(equals + 1));
  }
  set_param(o, flag, "poc", all);
}

void set_tile_parts(Options& o, S& flag, S& value) {
  if (value != "R" && value != "C")
    throw UsageError(flag + " " + value + ": tile-parts are by R (resolution) or C (component)");
  set_param(o, flag, "tile_parts", value == "R" ? "resolution" : "component");
}

void set_mct(Options& o, S& flag, S& value) {
  if (value != "0" && value != "1")
    throw UsageError(flag + " " + value + ": 0 or 1; transforms by a matrix are not in Part 1");
  set_param(o, flag, "mct", value == "0" ? "off" : "on");
}

void set_cinema(Options& o, S& flag, const char* profile, S& rate) {
  if (rate != "24" && rate != "48") throw UsageError(flag + " " + rate + " is not 24 or 48");
  set_param(o, flag, "profile", profile);
  set_param(o, flag, "frame_rate", rate);
  set_param(o, flag, "cinema_rate", "full");
}

/// "2K,mainlevel=4,sublevel=2,framerate=24" of -IMF, and "SINGLE,mainlevel=3" of -broadcast.
void set_profile(Options& o, S& flag, const char* family, S& value) {
  const std::vector<std::string> parts = split(value, ',');
  set_param(o, flag, "profile", family + lower(parts[0]));
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = std::min(parts[i].find('='), parts[i].size() - 1);
    const std::string key = lower(parts[i].substr(0, equals));
    const std::string number = parts[i].substr(equals + 1);
    if (key == "mainlevel")
      set_param(o, flag, "main_level", number);
    else if (key == "sublevel")
      set_param(o, flag, "sub_level", number);
    else if (key == "framerate")
      set_param(o, flag, "frame_rate", number);
    else
      throw UsageError(flag + ": " + parts[i] + " is not mainlevel=N, sublevel=N or framerate=N");
  }
}

void set_threads(Options& o, S& flag, S& value) {
  set_param(o, flag, "threads", value == "ALL_CPUS" ? "0" : value);
}

/// A last ratio of 1 is everything.
void set_ratios(Options& o, S& flag, S& value) {
  if (split(value, ',').back() == "1") set_param(o, flag, "lossless", "1");
  set_param(o, flag, "layer_rates", value);
}

/// Several PSNRs are of layers. A last one of 0 is everything.
void set_psnr(Options& o, S& flag, S& value) {
  const size_t comma = value.rfind(',');
  const std::string last = value.substr(comma == std::string::npos ? 0 : comma + 1);
  if (comma != std::string::npos) set_param(o, flag, "layer_psnr", value.substr(0, comma));
  if (last == "0")
    set_param(o, flag, "lossless", "1");
  else
    set_param(o, flag, "target_psnr", last);
}

/// -NAME without a value that sets a parameter to 1.
template <const char* const& param>
void set_on(Options& o, S& flag, S&) {
  set_param(o, flag, param, "1");
}

constexpr const char* kSop = "sop";
constexpr const char* kEph = "eph";
constexpr const char* kPlt = "plt";
constexpr const char* kTlm = "tlm";

/// Files, and what the codestream holds.
std::vector<Flag> coding_flags() {
  using O = Options;
  return {
      {{"in_file"}, "IN", "-i", [](O& o, S&, S& v) { o.frames.inputs.push_back(v); }},
      {{"out_file"}, "OUT", "-o", [](O& o, S& f, S& v) { set_name(o.frames.output, f, v); }},
      {{"ImgDir", "y", "in_dir"},
       "FOLDER",
       "-i",
       [](O& o, S&, S& v) { o.frames.inputs.push_back(v); }},
      {{"a", "out_dir"},
       "FOLDER",
       "-o FOLDER/",
       [](O& o, S& f, S& v) { set_name(o.frames.output, f, v + "/"); }},
      {{"OutFor", "out_fmt"},
       "EXT",
       "--ext",
       [](O& o, S&, S& v) { o.frames.extension = lower(v); }},
      {{"r", "compression_ratios"},
       "R,R,...",
       "--layer_rates, with --lossless if the last one is 1; else without -I add --wavelet 5/3, "
       "which "
       "is their default",
       set_ratios},
      {{"q", "quality"},
       "DB,DB,...",
       "--psnr of the last one, --layer_psnr of those before; --lossless if the last one is 0",
       set_psnr},
      {{"n", "num_resolutions"}, "N", "--levels N-1", set_levels},
      {{"b", "code_block_dims"},
       "W,H",
       "--cblk",
       [](O& o, S& f, S& v) { set_param(o, f, "cblk", size_of(f, v)); }},
      {{"c", "precinct_dims"},
       "[W,H],...",
       "--precincts, the last one halved for each resolution below",
       set_precincts},
      {{"t", "tile_dims"},
       "W,H",
       "--tile",
       [](O& o, S& f, S& v) { set_param(o, f, "tile", size_of(f, v)); }},
      {{"p", "progression_order"}, "ORDER", "--progression", set_progression},
      {{"POC", "P"}, "T1=...", "--poc, for all tiles", set_poc},
      {{"SOP", "S"}, "", "--sop", set_on<kSop>},
      {{"EPH", "E"}, "", "--eph", set_on<kEph>},
      {{"PLT", "L"}, "", "--plt", set_on<kPlt>},
      {{"TLM", "X"}, "", "--tlm, which is the default here", set_on<kTlm>},
      {{"M", "mode"}, "N", "--cblk_style; 64 is --coder ht", set_mode},
      {{"TP", "u", "tile_parts"}, "R|C", "--tile_parts", set_tile_parts},
      {{"d", "image_offset"},
       "X,Y",
       "--image_offset",
       [](O& o, S& f, S& v) { set_param(o, f, "image_offset", size_of(f, v)); }},
      {{"T", "tile_offset"},
       "X,Y",
       "--tile_offset",
       [](O& o, S& f, S& v) { set_param(o, f, "tile_offset", size_of(f, v)); }},
      {{"I", "irreversible"},
       "",
       "--wavelet 9/7, which is the default here",
       [](O& o, S& f, S&) { set_param(o, f, "wavelet", "9/7"); }},
  };
}

/// Colours, profiles, and how it runs.
std::vector<Flag> other_flags() {
  using O = Options;
  return {
      {{"mct", "Y", "MCT"}, "0|1", "--mct", set_mct},
      {{"GuardBits", "N", "guard_bits"},
       "N",
       "--guard_bits",
       [](O& o, S& f, S& v) { set_param(o, f, "guard_bits", v); }},
      {{"F", "raw"},
       "W,H,COMPONENTS,BITS,u|s[@DXxDY:...]",
       "the input is raw samples, a plane after the other; of more than 8 bits big-endian, or "
       "little-endian in files named .rawl",
       [](O& o, S& f, S& v) {
         parse_raw(f, v);
         o.frames.raw = v;
       }},
      {{"C", "comment"},
       "TEXT",
       "--comment",
       [](O& o, S& f, S& v) { set_param(o, f, "comment", v); }},
      {{"w", "cinema2K"},
       "24|48",
       "--profile cinema2k --frame_rate 24|48 --cinema_rate full",
       [](O& o, S& f, S& v) { set_cinema(o, f, "cinema2k", v); }},
      {{"x", "cinema4k"},
       "24|48",
       "--profile cinema4k --frame_rate 24|48 --cinema_rate full",
       [](O& o, S& f, S& v) { set_cinema(o, f, "cinema4k", v); }},
      {{"cinema4K"},
       "",
       "-cinema4k 24",
       [](O& o, S& f, S&) { set_cinema(o, f, "cinema4k", "24"); }},
      {{"IMF", "z"},
       "PROFILE,...",
       "--profile imf_... --main_level --sub_level --frame_rate",
       [](O& o, S& f, S& v) { set_profile(o, f, "imf_", v); }},
      {{"broadcast", "U"},
       "PROFILE,...",
       "--profile broadcast_... --main_level --frame_rate",
       [](O& o, S& f, S& v) { set_profile(o, f, "broadcast_", v); }},
      {{"threads", "H", "num_threads"}, "N", "--threads", set_threads},
      {{"help"}, "", "--help", [](O& o, S&, S&) { o.help = true; }},
      {{"version"}, "", "--version", [](O& o, S&, S&) { o.version = true; }},
      {{"verbose"}, "", "--verbose", [](O& o, S&, S&) { o.verbose = true; }},
  };
}

std::vector<Flag> refused_flags() {
  return {
      {{"A", "rate_control_algorithm"},
       "",
       "cj2k has one rate control, along the convex hull",
       nullptr},
      {{"s"}, "", "pictures are not subsampled here", nullptr},
      {{"K", "in_fmt"}, "", "the bytes of the file tell its format", nullptr},
      {{"ROI", "R"},
       "",
       "shifts a whole component; --roi x,y,w,h is a region of interest",
       nullptr},
      {{"m", "custom_mct"}, "", "transforms by a matrix are not in Part 1", nullptr},
      {{"Z", "rsiz"}, "", "--profile names it", nullptr},
      {{"TargetBitDepth"}, "", "--depth N, with --low_bits round or cut", nullptr},
      {{"jpip"}, "", "JPIP indexes are not written", nullptr},
      {{"Q", "capture_res", "D", "display_res"}, "", "resolutions are not written", nullptr},
      {{"f", "apply_icc", "V", "transfer_exif_tags"},
       "",
       "colours and metadata are not converted",
       nullptr},
      {{"e", "repetitions"}, "", "each picture is encoded once", nullptr},
      {{"G", "device_id"}, "", "--device cuda:N", nullptr},
      {{"g", "plugin_path"}, "", "there are no plugins", nullptr},
      {{"W", "logfile"},
       "",
       "messages go to the standard error; --stat has a line per frame",
       nullptr},
  };
}

}  // namespace

const std::vector<Flag>& all_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all = coding_flags();
    for (const auto& more : {other_flags(), refused_flags()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return flags;
}

const Flag* find_flag(const std::string& name) {
  for (const Flag& flag : all_flags())
    for (const char* other : flag.names)
      if (name == other) return &flag;
  return nullptr;
}

void resolve_flags(Options& options) {
  int resolutions = 6;
  if (const std::string* levels = options.param("levels"); levels && *levels != "auto")
    resolutions = std::max(1, std::atoi(levels->c_str()) + 1);
  for (auto& [name, value] : options.params) {
    if (name != kHalvedPrecincts) continue;
    name = "precincts";
    int count = static_cast<int>(std::count(value.begin(), value.end(), ',')) + 1;
    const std::string last = value.substr(value.rfind(',') + 1);
    int width = std::atoi(last.c_str()), height = std::atoi(last.c_str() + last.find('x') + 1);
    for (; count < resolutions; ++count) {
      width = std::max(width / 2, 1), height = std::max(height / 2, 1);
      value += "," + std::to_string(width) + "x" + std::to_string(height);
    }
  }
}

}  // namespace cj2k_tool

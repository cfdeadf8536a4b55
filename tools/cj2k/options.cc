// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "failure.h"
#include "film.h"
#include "flags.h"

namespace cj2k_tool {
namespace {

// What the picture, or the name of the output, decides.
constexpr struct {
  const char *name, *decided_by;
} kDecided[] = {
    {"width", "the picture"},
    {"height", "the picture"},
    {"num_components", "the picture"},
    {"is_signed", "the picture"},
    {"dx", "the picture"},
    {"dy", "the picture"},
    {"source_depth", "the picture"},
    {"format", "the extension of the output"},
};

constexpr const char* kFiles = "Files";
constexpr const char* kReports = "Rate and reports";

constexpr int64_t kMostFrames = 1000000000;

double parse_bitrate(const std::string& option, const std::string& value) {
  char* end = nullptr;
  double rate = std::strtod(value.c_str(), &end);
  if (*end == 'k')
    rate *= 1e3, ++end;
  else if (*end == 'M')
    rate *= 1e6, ++end;
  else if (*end == 'G')
    rate *= 1e9, ++end;
  if (end == value.c_str() || *end != '\0' || !(rate >= 1000 && rate <= 1e12))
    throw UsageError(option + " " + value + " must be 1k to 1000G, e.g. 250M");
  return rate;
}

void set_psnr(Options& options, const std::string& value) {
  options.psnr = true;
  if (!value.empty()) set_param(options, "--psnr", "target_psnr", value);
}

double parse_power(const std::string& value) {
  char* end = nullptr;
  const double power = std::strtod(value.c_str(), &end);
  if (end == value.c_str() || *end != '\0' || !(power >= 1 && power <= 8))
    throw UsageError("--film-power " + value + " must be 1 to 8");
  return power;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

int64_t parse_number(const std::string& name, const std::string& value, int64_t low, int64_t high) {
  int64_t number = 0;
  const auto [stop, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (status != std::errc() || stop != value.data() + value.size() || number < low || number > high)
    throw UsageError(name + " " + value + " is not a whole number from " + std::to_string(low) +
                     " to " + std::to_string(high));
  return number;
}

const std::vector<ToolOption>& tool_options() {
  using O = Options;
  using S = const std::string;
  static const std::vector<ToolOption> table = {
      {"input", "i", "IN", kFiles,
       "a picture, a pattern as frames_%06d.dpx, a folder, or a glob in quotes; - is the standard "
       "input; several: -i for each. DPX, TIFF, PNM (PBM, PGM, PPM, PAM), PNG, EXR, JPEG, BMP, Y4M",
       [](O& o, S& v) { o.frames.inputs.push_back(v); }},
      {"output", "o", "OUT", kFiles,
       "a file, a pattern as out_%06d.j2c, or a folder; .j2k, .j2c and .jpc are codestreams, .jhc "
       "one of HTJ2K, .jp2 a JP2 "
       "file, .jph a JPH file (HTJ2K); - is the standard output, of the kind of --ext",
       [](O& o, S& v) { set_name(o.frames.output, "-o", v); }},
      {"ext", "O", "EXT", kFiles, "extension of the files in an output folder [j2k]",
       [](O& o, S& v) { o.frames.extension = extension_of(v[0] == '.' ? "x" + v : "x." + v); }},
      {"first", "", "N", kFiles,
       "first frame: its number in the names, or its place from 0 in a folder or glob",
       [](O& o, S& v) { o.frames.first = parse_number("--first", v, 0, kMostFrames); }},
      {"last", "", "N", kFiles, "last frame",
       [](O& o, S& v) { o.frames.last = parse_number("--last", v, 0, kMostFrames); }},
      {"start", "", "N", kFiles, "number of the first output [that of the first frame]",
       [](O& o, S& v) { o.frames.start = parse_number("--start", v, 0, kMostFrames); }},
      {"page", "", "N", kFiles, "TIFF, Y4M: the page or frame, from 1 [all, each a frame]",
       [](O& o, S& v) { o.frames.page = parse_number("--page", v, 1, kMostFrames); }},
      {"skip-existing", "", "", kFiles,
       "leaves out frames whose output is there: goes on where a run has stopped",
       [](O& o, S&) { o.skip_existing = true; }},
      {"trc", "", "CURVE", kFiles,
       "EXR: transfer function from its linear light to the samples, by its name in FFmpeg, as "
       "bt709, iec61966_2_1 (sRGB), "
       "smpte2084 (PQ) [linear]. Samples are 16 bits; what is outside 0 to 1 is clipped, with a "
       "warning",
       [](O& o, S& v) { o.trc = v; }},
      {"readers", "", "N", kFiles,
       "pictures that are read at the same time [one per core, at most 16]",
       [](O& o, S& v) { o.readers = static_cast<int>(parse_number("--readers", v, 1, 256)); }},
      {"bitrate", "", "RATE", kReports,
       "bit/s, e.g. 250M, at --fps frames a second: sets target_bytes to RATE / 8 / fps",
       [](O& o, S& v) { o.bitrate = parse_bitrate("--bitrate", v); }},
      {"film-bytes", "", "BYTES", kReports,
       "bytes of all frames together, never exceeded: two passes give each frame its part, at one "
       "slope for all. "
       "--max_frame_bytes caps each frame [what the profile allows, else twice the mean]",
       [](O& o, S& v) { o.film_bytes = parse_number("--film-bytes", v, 1, int64_t{1} << 50); }},
      {"film-rate", "", "RATE", kReports,
       "the same as a mean rate in bit/s, at --fps frames a second",
       [](O& o, S& v) { o.film_rate = parse_bitrate("--film-rate", v); }},
      {"film-power", "", "POWER", kReports,
       "1 to 8: makes the sum of the frames' errors to this power small; hard frames get more [1]",
       [](O& o, S& v) { o.film_power = parse_power(v); }},
      {"film-log", "", "FILE", kReports,
       "keeps what the first pass finds; if FILE is there, it is read, and there is no first pass",
       [](O& o, S& v) { o.film_log = v; }},
      {"fps", "", "RATE", kReports, "the same as --frame_rate",
       [](O& o, S& v) { o.params.emplace_back("frame_rate", v); }},
      {"psnr", "", "[DB]", kReports,
       "smallest file of at least DB of PSNR (sets target_psnr); without DB: measures the PSNR",
       set_psnr},
      {"stat", "", "FILE", kReports,
       "a line for each frame, tab-separated with a heading: number, input, output, bytes, "
       "milliseconds from the encoder's "
       "input to its output, with --psnr the PSNR of the picture and of each component; - is the "
       "standard output",
       [](O& o, S& v) { o.stat = v; }},
      {"progress", "", "", kReports,
       "the progress line even if the standard error is not a terminal",
       [](O& o, S&) { o.progress = true; }},
      {"quiet", "", "", kReports, "errors alone", [](O& o, S&) { o.quiet = true; }},
      {"verbose", "v", "", kReports, "also what the library has to tell",
       [](O& o, S&) { o.verbose = true; }},
      {"help", "h", "", kReports, "this text", [](O& o, S&) { o.help = true; }},
      {"version", "", "", kReports, "the version", [](O& o, S&) { o.version = true; }},
  };
  return table;
}

std::vector<cj2k_param_info> param_options() {
  std::vector<cj2k_param_info> all;
  cj2k_param_info info = {};
  info.struct_size = sizeof info;
  for (int i = 0; cj2k_params_describe(i, &info) == CJ2K_OK; ++i)
    if (std::none_of(std::begin(kDecided), std::end(kDecided),
                     [&info](const auto& row) { return std::strcmp(row.name, info.name) == 0; }))
      all.push_back(info);
  return all;
}

const char* group_of(const std::string& param) {
  // The table of parameters has them in groups; here are the first ones that are options.
  constexpr struct {
    const char *first, *title;
  } kGroups[] = {{"image_offset", "Picture"}, {"lossless", "Transform and quantisation"},
                 {"coder", "Codestream"},     {"profile", "Profile"},
                 {"target_bytes", "Rate"},    {"threads", "How it runs"}};
  for (const auto& group : kGroups)
    if (param == group.first) return group.title;
  return "";
}

const std::string* Options::param(const std::string& name) const {
  const auto found = std::find_if(params.rbegin(), params.rend(),
                                  [&name](const auto& set) { return set.first == name; });
  return found == params.rend() ? nullptr : &found->second;
}

namespace {

/// The arguments as they come, with a place.
struct Arguments {
  int count;
  const char* const* values;
  int at = 1;

  std::string next(const std::string& option) {
    if (at == count) throw UsageError(option + " needs a value");
    return values[at++];
  }
  bool next_is_value() const { return at < count && values[at][0] != '-'; }
  bool next_is_bool() const {
    return at < count && (std::strcmp(values[at], "0") == 0 || std::strcmp(values[at], "1") == 0);
  }
};

void parse_param(const std::string& name, const std::string* attached, Arguments& rest,
                 Options& out) {
  std::string key = name;
  std::replace(key.begin(), key.end(), '-', '_');
  for (const auto& row : kDecided)
    if (key == row.name) throw UsageError("--" + name + ": " + row.decided_by + " decides that");
  const std::vector<cj2k_param_info> known = param_options();
  const auto info =
      std::find_if(known.begin(), known.end(), [&key](const auto& row) { return key == row.name; });
  std::string value;
  if (attached != nullptr) {
    value = *attached;
  } else if (info != known.end() && info->type == CJ2K_PARAM_BOOL && !rest.next_is_bool()) {
    value = "1";
  } else if (info != known.end()) {
    value = rest.next("--" + name);
  }
  set_param(out, "--" + name, key, value);
}

void parse_long(const std::string& text, Arguments& rest, Options& out) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string attached = equals == std::string::npos ? "" : text.substr(equals + 1);
  for (const ToolOption& option : tool_options()) {
    if (name != option.name) continue;
    const bool may_lack = option.argument[0] == '[' && equals == std::string::npos;
    const bool has_value = option.argument[0] != '\0' && !(may_lack && !rest.next_is_value());
    if (option.argument[0] == '\0' && equals != std::string::npos)
      throw UsageError("--" + name + " has no value");
    std::string value = attached;
    if (has_value && equals == std::string::npos) value = rest.next("--" + name);
    if (has_value && value.empty()) throw UsageError("--" + name + ": the value is empty");
    option.set(out, value);
    return;
  }
  parse_param(name, equals == std::string::npos ? nullptr : &attached, rest, out);
}

void parse_short(const std::string& text, Arguments& rest, Options& out) {
  for (const ToolOption& option : tool_options()) {
    if (option.letter[0] == '\0' || text != option.letter) continue;
    const std::string value = option.argument[0] == '\0' ? "" : rest.next("-" + text);
    if (option.argument[0] != '\0' && value.empty())
      throw UsageError("-" + text + ": the value is empty");
    option.set(out, value);
    return;
  }
  const Flag* flag = find_flag(text);
  if (flag == nullptr) throw UsageError("unknown option -" + text + " (options: cj2k --help)");
  if (flag->set == nullptr) throw UsageError("-" + text + ": " + flag->meaning);
  flag->set(out, "-" + text, flag->argument[0] == '\0' ? "" : rest.next("-" + text));
}

/// Options that need others are computed last.
void resolve(Options& out) {
  resolve_flags(out);
  if (out.param("target_psnr") != nullptr) out.psnr = true;
  if (out.psnr) out.params.emplace_back("measure_mse", "1");
  check_film_options(out);
  if (out.bitrate == 0) return;
  cj2k_params p;
  cj2k_params_init(&p, sizeof p);
  const std::string* rate = out.param("frame_rate");
  if (rate == nullptr || cj2k_params_set(&p, "frame_rate", rate->c_str()) != CJ2K_OK ||
      p.frame_rate_num == 0)
    throw UsageError("--bitrate needs --fps");
  const auto bytes = static_cast<int64_t>(
      std::floor(static_cast<long double>(out.bitrate) * p.frame_rate_den / 8 / p.frame_rate_num));
  out.params.emplace_back("target_bytes", std::to_string(bytes));
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options out;
  Arguments rest{argc, argv};
  while (rest.at < argc) {
    const std::string text = argv[rest.at++];
    if (text.size() > 2 && text.starts_with("--"))
      parse_long(text.substr(2), rest, out);
    else if (text.size() > 1 && text[0] == '-' && text != "--")
      parse_short(text.substr(1), rest, out);
    else
      throw UsageError(
          "'" + text +
          "' is no option: -i names each input (a glob in quotes is one), -o the output");
  }
  if (out.help || out.version) return out;
  if (out.frames.inputs.empty()) throw UsageError("no input: -i IN");
  if (out.frames.output.empty()) throw UsageError("no output: -o OUT");
  if (out.stat == "-" && out.frames.output == "-")
    throw UsageError("-o - and --stat - are both the standard output");
  if (out.frames.first && out.frames.last && *out.frames.first > *out.frames.last)
    throw UsageError("--first " + std::to_string(*out.frames.first) + " is above --last " +
                     std::to_string(*out.frames.last));
  resolve(out);
  return out;
}

void set_name(std::string& name, const std::string& option, const std::string& value) {
  if (!name.empty())
    throw UsageError(option + " " + value + ": " + option + " is " + name +
                     " already; several files are a pattern or a folder");
  name = value;
}

void set_param(Options& options, const std::string& option, const std::string& param,
               const std::string& value) {
  cj2k_params scratch;
  cj2k_params_init(&scratch, sizeof scratch);
  if (cj2k_params_set(&scratch, param.c_str(), value.c_str()) != CJ2K_OK)
    throw UsageError(option + ": " + cj2k_encoder_last_error(nullptr));
  options.params.emplace_back(param, value);
}

}  // namespace cj2k_tool

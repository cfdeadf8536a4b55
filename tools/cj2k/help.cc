// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "help.h"

#include <cj2k.h>

#include <cstdio>
#include <sstream>

#include "flags.h"
#include "options.h"

namespace cj2k_tool {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kTextColumn = 28;

constexpr const char* kHead = R"(NAME
    cj2k - encodes pictures and image sequences as JPEG 2000 or HTJ2K

SYNOPSIS
    cj2k -i IN -o OUT [OPTION]...
    cj2k info [--json] FILE...
    cj2k transcode [--coder ht|ebcot] IN OUT
    cj2k verify [--psnr DB] IN OUT

DESCRIPTION
    Encodes one picture, or the frames of a sequence, each to a file. Without options the result is
    visually lossless (--quality 2). A rate, as --target_bytes 1302083 or --bitrate 250M --fps 24, is
    a cap on every byte of each file, never exceeded, and used as far as the picture has the bits.

    Samples are taken as the file has them: 10 and 12 bits of DPX stay 10 and 12 bits, TIFF and PNG
    of 16 bits are 16 bits, PNM has the bits of its maxval (2^n - 1). EXR becomes 16 bits of linear
    light. Nothing else is scaled or converted, unless --xyz, --trc or --depth asks for it: Y4M and
    JPEG stay Y'CbCr, subsampled as they are.

    An output is written as OUT.part and renamed: whatever stops a run, each output that is there is
    whole. A sequence that a pattern names must have no gap and one format; the pictures of a folder
    or a glob may differ.

    cj2k info says what JPEG 2000 files are (cj2k info --help). cj2k transcode changes the block
    coder of a file, from Part 1 to HTJ2K or back, without a loss (cj2k transcode --help). cj2k
    verify decodes files and compares them with their source (cj2k verify --help).
)";

constexpr const char* kTail = R"(
EXIT STATUS
    0  all frames are written
    1  a picture cannot be read or encoded, or an output not written; frames before it are there
    2  wrong usage: an option that is none, or contradicts another one or the picture
    128 + N  signal N stopped the run (130 after Ctrl-C); frames before it are there

EXAMPLES
    cj2k -i scan.tif -o scan.jp2 --lossless
    cj2k -i frames_%06d.dpx -o out_%06d.j2c --bitrate 250M --fps 24
    cj2k -i dcdm/ -o j2c/ --profile cinema2k --fps 24 --stat frames.tsv
    cj2k -i 'stills/*.png' -o stills/ --ext jph --psnr 45
    cj2k -i in.ppm -o out.j2k -I -r 20 -n 6 -b 64,64 -p RPCL
    cj2k info scan.jp2
    cj2k verify scan.tif scan.jp2
)";

/// Appends `text` in lines of at most kWidth columns, from `column` on; the cursor is at `at`.
void wrap(const std::string& text, size_t column, size_t at, std::string& out) {
  std::istringstream words(text);
  std::string word;
  bool first = true;
  while (words >> word) {
    if (!first && at + 1 + word.size() > kWidth) {
      out += '\n' + std::string(column, ' ');
      at = column;
    } else if (!first) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
    first = false;
  }
  out += '\n';
}

/// "    --cblk WxH               text": an option and what it does.
void add_option(const std::string& option, const std::string& text, std::string& out) {
  std::string line = "    " + option;
  if (line.size() + 2 > kTextColumn)
    line += "\n" + std::string(kTextColumn, ' ');
  else
    line.resize(kTextColumn, ' ');
  out += line;
  wrap(text, kTextColumn, kTextColumn, out);
}

void add_tool_options(std::string& out) {
  std::string group;
  for (const ToolOption& option : tool_options()) {
    if (group != option.group) {
      group = option.group;
      out += "\n  " + group + ":\n";
    }
    std::string names = option.letter[0] != '\0' ? "-" + std::string(option.letter) + ", " : "";
    names += "--" + std::string(option.name);
    if (option.argument[0] != '\0') names += " " + std::string(option.argument);
    add_option(names, option.help, out);
  }
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

const char* argument_of(const cj2k_param_info& info) {
  switch (info.type) {
    case CJ2K_PARAM_BOOL:
      return "[0|1]";
    case CJ2K_PARAM_ENUM:
      return "NAME";
    case CJ2K_PARAM_FLAGS:
      return "NAME+NAME";
    case CJ2K_PARAM_SIZE:
      return "WxH";
    case CJ2K_PARAM_LIST:
      return "N,N,...";
    case CJ2K_PARAM_TEXT:
      return "TEXT";
    case CJ2K_PARAM_RECORDS:
      return "N,N,.../...";
    case CJ2K_PARAM_RATIO:
      return "N[/D]";
    default:
      return "N";
  }
}

/// The values of a parameter, its default and its unit, after its help.
std::string details_of(const cj2k_param_info& info) {
  std::string text = std::string(info.help) + ".";
  const bool has_numbers = info.type != CJ2K_PARAM_BOOL && info.type != CJ2K_PARAM_ENUM &&
                           info.type != CJ2K_PARAM_FLAGS && info.type != CJ2K_PARAM_TEXT;
  std::string values;
  for (const char* c = info.values; *c != '\0'; ++c) {
    if (*c == '|')
      values += ", ";
    else
      values += *c;
  }
  if (has_numbers && info.max > info.min) {
    values += (values.empty() ? "" : ", ") + number(info.min) + " to " + number(info.max);
    if (info.unit[0] != '\0') values += " " + std::string(info.unit);
  }
  if (!values.empty()) text += " Values: " + values + ".";
  const std::string name = info.name;
  if (name == "depth" || name == "alpha") return text + " Default: that of the picture.";
  if (info.default_value[0] != '\0') text += " Default: " + std::string(info.default_value) + ".";
  return text;
}

void add_params(std::string& out) {
  for (const cj2k_param_info& info : param_options()) {
    if (const std::string group = group_of(info.name); !group.empty())
      out += "\n  " + group + ":\n";
    add_option("--" + std::string(info.name) + " " + argument_of(info), details_of(info), out);
  }
}

void add_flags(bool refused, std::string& out) {
  for (const Flag& flag : all_flags()) {
    if ((flag.set == nullptr) != refused) continue;
    std::string names;
    for (const char* name : flag.names) names += (names.empty() ? "-" : ", -") + std::string(name);
    if (flag.argument[0] != '\0') names += " " + std::string(flag.argument);
    add_option(names, flag.meaning, out);
  }
}

}  // namespace

std::string help_text() {
  std::string out = kHead;
  out +=
      "\nOPTIONS\n    A - in a name may be written for a _, and --NAME=VALUE for --NAME VALUE.\n";
  add_tool_options(out);
  add_params(out);
  out +=
      "\nFLAGS OF OTHER ENCODERS\n"
      "    Flags of opj_compress and grk_compress that mean the same here, and what they stand "
      "for.\n"
      "    Without -r and -q those encoders are lossless: say --lossless.\n\n";
  add_flags(false, out);
  out += "\n    Refused:\n\n";
  add_flags(true, out);
  return out + kTail;
}

}  // namespace cj2k_tool

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "container.h"

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "reader.h"

namespace cj2k_check {
namespace {

constexpr size_t kChunk = 1 << 20;
constexpr uint8_t kJp2Signature[] = {0, 0, 0, 12, 'j', 'P', ' ', ' ', 0x0D, 0x0A, 0x87, 0x0A};
constexpr uint8_t kKlv[] = {0x06, 0x0E, 0x2B, 0x34};

bool begins_with(Bytes bytes, Bytes start) {
  return bytes.size() >= start.size() && std::memcmp(bytes.data(), start.data(), start.size()) == 0;
}

uint32_t box_type(const char* name) {
  uint32_t type = 0;
  for (int i = 0; i < 4; ++i) type = type << 8 | static_cast<uint8_t>(name[i]);
  return type;
}

class RawSource : public FrameSource {
 public:
  explicit RawSource(std::unique_ptr<Input> input) : input_(std::move(input)) {}
  const char* kind() const override { return "codestream"; }
  bool next(Frame& frame, Report&) override {
    frame.bytes.clear();
    frame.offset = input_->offset();
    if (input_->peek(1).empty()) {
      if (input_->failed()) error = "cannot be read";
      return false;
    }
    take_codestream(*input_, frame.bytes);
    // Bytes behind EOC that begin no codestream belong to this one.
    const Bytes more = input_->peek(3);
    constexpr uint8_t soc[] = {0xFF, 0x4F, 0xFF};
    if (!more.empty() && !begins_with(more, soc)) input_->take(kMostFrameBytes, frame.bytes);
    if (frame.bytes.size() < kMostFrameBytes) return true;
    error = "a frame of more than 1 GiB";
    return false;
  }

 private:
  std::unique_ptr<Input> input_;
};

/// T.800 Annex I: what stands before the codestream, and the codestream.
class Jp2Source : public FrameSource {
 public:
  explicit Jp2Source(std::unique_ptr<Input> input) : input_(std::move(input)) {}
  const char* kind() const override { return "JP2"; }
  bool next(Frame& frame, Report& report) override;

 private:
  void header_box(uint64_t offset, uint64_t bytes, Report& report);
  void resolution(Bytes box, uint64_t offset, Report& report);
  void name_metadata(uint64_t bytes, bool is_xml);
  void file_type(uint64_t offset, uint64_t bytes, Report& report);

  std::unique_ptr<Input> input_;
  bool has_type_ = false, has_header_ = false, done_ = false;
};

void Jp2Source::file_type(uint64_t offset, uint64_t bytes, Report& report) {
  std::vector<uint8_t> box;
  input_->take(std::min<uint64_t>(bytes, kChunk), box);
  has_type_ = true;
  Reader in(box, 8);
  bool compatible = false;
  // 'jph ' is the brand of files with codestreams of Part 15.
  while (in.left() >= 4) {
    const uint32_t brand = in.u32();
    compatible |= brand == box_type("jp2 ") || brand == box_type("jph ");
  }
  if (!compatible)
    report.error("jp2-ftyp", "T.800 I.5.2", offset,
                 "neither 'jp2 ' nor 'jph ' in the compatibility list", "one of them in it");
}

/// A superbox with a resc box, a resd box or both (I.5.3.7).
void Jp2Source::resolution(Bytes box, uint64_t offset, Report& report) {
  constexpr size_t kBytes = 18;  // of resc and resd
  size_t at = 8;
  for (; at + kBytes <= box.size(); at += kBytes) {
    Reader in(box, at);
    const uint32_t length = in.u32(), type = in.u32();
    if (length != kBytes || (type != box_type("resc") && type != box_type("resd"))) break;
    double values[2];
    for (double& value : values) {
      const uint32_t numerator = in.u16(), denominator = in.u16();
      if (numerator == 0 || denominator == 0)
        report.error("jp2-res", "T.800 I.5.3.7", offset + at,
                     std::to_string(numerator) + "/" + std::to_string(denominator),
                     "1 to 65535 in both");
      value = denominator == 0 ? 0 : static_cast<double>(numerator) / denominator;
    }
    for (double& value : values) value *= std::pow(10, static_cast<int8_t>(in.u8()));
    if (type == box_type("resc")) {
      down = values[0];
      across = values[1];
    }
  }
  if (at == 8 || at != box.size())
    report.error("jp2-res", "T.800 I.5.3.7", offset, std::to_string(box.size()) + " bytes",
                 "resc, resd or both, of 18 bytes each");
}

/// By the identifier of a uuid box, which comes next.
void Jp2Source::name_metadata(uint64_t bytes, bool is_xml) {
  const auto is = [id = input_->peek(16)](std::initializer_list<uint8_t> first) {
    return begins_with(id, Bytes(first.begin(), first.size()));
  };
  metadata.push_back((is_xml                         ? "XML"
                      : is({0xBE, 0x7A, 0xCF, 0xCB}) ? "XMP"
                      : is({0x33, 0xC7, 0xA4, 0xD2}) ? "IPTC"
                      : is({'J', 'p', 'g', 'T'})     ? "Exif"
                                                     : "UUID") +
                     (" of " + std::to_string(bytes) + " bytes"));
}

void Jp2Source::header_box(uint64_t offset, uint64_t bytes, Report& report) {
  std::vector<uint8_t> box;
  input_->take(std::min<uint64_t>(bytes, kChunk), box);
  has_header_ = true;
  bool colour = false;
  for (size_t at = 0; at + 8 <= box.size();) {
    Reader in(box, at);
    const uint64_t length = in.u32();
    const uint32_t type = in.u32();
    if (type == box_type("ihdr")) {
      ImageHeader h;
      h.height = in.u32();
      h.width = in.u32();
      h.components = in.u16();
      h.depth = in.u8();
      h.offset = offset + at;
      image_header = h;
      if (at != 0 || length != 22)
        report.error("jp2-ihdr", "T.800 I.5.3.1", h.offset, std::to_string(length) + " bytes",
                     "the first box of jp2h, 22 bytes");
    }
    colour |= type == box_type("colr");
    if (type == box_type("res ") && length <= box.size() - at)
      resolution(Bytes(box).subspan(at, length), offset + at, report);
    if (length < 8) break;
    at += length;
  }
  if (!image_header) report.error("jp2-ihdr", "T.800 I.5.3.1", offset, "no ihdr", "one in jp2h");
  if (!colour) report.error("jp2-colr", "T.800 I.5.3.3", offset, "no colr", "at least one in jp2h");
}

bool Jp2Source::next(Frame& frame, Report& report) {
  frame.bytes.clear();
  for (uint32_t index = 0; !done_; ++index) {
    const uint64_t offset = input_->offset();
    const Bytes head = input_->peek(16);
    Reader in(head);
    uint64_t length = in.u32(), header = 8;
    const uint32_t type = in.u32();
    if (length == 1) {
      length = in.number(8);
      header = 16;
    }
    if (head.size() < header) break;
    if (length == 0) length = UINT64_MAX;
    if (length < header) {
      report.error("jp2-box", "T.800 I.4", offset, std::to_string(length) + " bytes",
                   "at least its header");
      break;
    }
    input_->skip(header);
    if (index == 1 && type != box_type("ftyp"))
      report.error("jp2-ftyp", "T.800 I.5.2", offset, "another box", "ftyp behind the signature");
    const uint64_t bytes = length - header;
    if (type == box_type("ftyp")) {
      file_type(offset + header, bytes, report);
    } else if (type == box_type("jp2h")) {
      header_box(offset + header, bytes, report);
    } else if (type == box_type("jp2c")) {
      done_ = true;
      if (!has_header_)
        report.error("jp2-jp2h", "T.800 I.5.3", offset, "no jp2h", "one before jp2c");
      frame.offset = offset + header;
      const uint64_t taken = input_->take(std::min<uint64_t>(bytes, kMostFrameBytes), frame.bytes);
      if (length != UINT64_MAX && taken != bytes)
        report.error("jp2-box", "T.800 I.4", offset, std::to_string(bytes) + " bytes in jp2c",
                     std::to_string(taken) + ", to the end of the file");
      return true;
    } else {
      const bool is_xml = type == box_type("xml ");
      constexpr uint64_t kIdBytes = 16;
      if (is_xml || (type == box_type("uuid") && bytes >= kIdBytes))
        name_metadata(is_xml ? bytes : bytes - kIdBytes, is_xml);
      if (input_->skip(bytes) != bytes) break;
    }
  }
  if (!done_) error = "a JP2 file without a codestream";
  return false;
}

}  // namespace

std::unique_ptr<Input> Input::open(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
#if defined(_WIN32)
  if (file == stdin) _setmode(_fileno(stdin), _O_BINARY);
#endif
  if (file == nullptr) return nullptr;
  std::unique_ptr<Input> input(new Input);
  input->file_ = file;
  return input;
}

std::unique_ptr<Input> Input::over(Bytes bytes) {
  std::unique_ptr<Input> input(new Input);
  input->memory_ = bytes;
  return input;
}

Input::~Input() {
  if (file_ != nullptr && file_ != stdin) std::fclose(file_);
}

bool Input::fill(size_t count) {
  if (buffer_.size() - at_ >= count) return true;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(at_));
  at_ = 0;
  while (buffer_.size() < count) {
    const size_t have = buffer_.size(), want = std::max(count - have, size_t{1} << 16);
    size_t got = 0;
    buffer_.resize(have + want);
    if (file_ != nullptr) {
      got = std::fread(&buffer_[have], 1, want, file_);
      failed_ |= std::ferror(file_) != 0;
    } else {
      got = std::min(want, memory_.size());
      std::copy_n(memory_.begin(), got, buffer_.begin() + static_cast<ptrdiff_t>(have));
      memory_ = memory_.subspan(got);
    }
    buffer_.resize(have + got);
    if (got == 0) return false;
  }
  return true;
}

Bytes Input::peek(size_t count) {
  fill(count);
  return Bytes(buffer_).subspan(at_, std::min(count, buffer_.size() - at_));
}

uint64_t Input::take(uint64_t bytes, std::vector<uint8_t>& out) {
  uint64_t taken = 0;
  while (taken < bytes) {
    const Bytes next = peek(static_cast<size_t>(std::min<uint64_t>(bytes - taken, kChunk)));
    if (next.empty()) break;
    out.insert(out.end(), next.begin(), next.end());
    at_ += next.size();
    offset_ += next.size();
    taken += next.size();
  }
  return taken;
}

uint64_t Input::skip(uint64_t bytes) {
  uint64_t skipped = 0;
  while (skipped < bytes) {
    const size_t next =
        peek(static_cast<size_t>(std::min<uint64_t>(bytes - skipped, kChunk))).size();
    if (next == 0) break;
    at_ += next;
    offset_ += next;
    skipped += next;
  }
  return skipped;
}

void take_codestream(Input& input, std::vector<uint8_t>& out) {
  const auto rest = [&] {
    input.take(kMostFrameBytes - std::min<uint64_t>(kMostFrameBytes, out.size()), out);
  };
  Bytes head = input.peek(2);
  if (Reader(head).u16() != kSoc) return rest();
  input.take(2, out);
  for (;;) {
    if (out.size() >= kMostFrameBytes) return;
    head = input.peek(12);
    Reader in(head);
    const uint16_t code = in.u16();
    uint64_t bytes = 2;
    if (code == kSot) {
      in.u32();
      bytes = in.u32();  // Psot
      if (in.failed() || bytes < 12) return rest();
    } else if (code != kEoc) {
      bytes += in.u16();
      if (in.failed() || code < 0xFF00 || bytes < 4) return rest();
    }
    if (input.take(std::min(bytes, kMostFrameBytes), out) != bytes || code == kEoc) return;
  }
}

std::unique_ptr<FrameSource> make_source(std::unique_ptr<Input> input) {
  const Bytes head = input->peek(16);
  if (begins_with(head, kJp2Signature)) return std::make_unique<Jp2Source>(std::move(input));
  if (begins_with(head, kKlv)) return make_mxf_source(std::move(input));
  return std::make_unique<RawSource>(std::move(input));
}

}  // namespace cj2k_check

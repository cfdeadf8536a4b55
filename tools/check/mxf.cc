// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// MXF (SMPTE ST 377-1): the frames, or fields, of frame-wrapped JPEG 2000 essence (ST 422), the frame
// rate, and what is said of colour.
#include <algorithm>
#include <array>
#include <cstring>

#include "container.h"
#include "reader.h"

namespace cj2k_check {
namespace {

constexpr size_t kKeyBytes = 16;
constexpr uint64_t kMostSetBytes = 1 << 16;
// Tags of a file descriptor and of picture descriptors.
constexpr uint16_t kSampleRateTag = 0x3001;
constexpr uint16_t kTransferTag = 0x3210, kPrimariesTag = 0x3219, kMatrixTag = 0x321A;
constexpr uint16_t kPixelLayoutTag = 0x3401;
constexpr uint8_t kCdci = 0x28;
constexpr size_t kLabelBytes = 16;

/// Byte 7 is the version of the register and is not compared.
bool key_is(Bytes key, const std::array<uint8_t, 16>& pattern, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (i != 7 && key[i] != pattern[i]) return false;
  }
  return true;
}

// Generic container, picture item; then the number of elements, the kind, the number of this one.
constexpr std::array<uint8_t, 16> kPictureElement = {0x06, 0x0E, 0x2B, 0x34, 0x01, 0x02, 0x01, 0x01,
                                                     0x0D, 0x01, 0x03, 0x01, 0x15, 0,    0,    0};
constexpr uint8_t kFrameWrapped = 0x08, kClipWrapped = 0x09;
constexpr std::array<uint8_t, 16> kEncrypted = {0x06, 0x0E, 0x2B, 0x34, 0x02, 0x04, 0x01, 0x01,
                                                0x0D, 0x01, 0x03, 0x01, 0x02, 0x7E, 0x01, 0x00};
// Header metadata sets; byte 14: 0x27 .. 0x29 are generic, CDCI and RGBA picture descriptors.
constexpr std::array<uint8_t, 16> kMetadataSet = {0x06, 0x0E, 0x2B, 0x34, 0x02, 0x53, 0x01, 0x01,
                                                  0x0D, 0x01, 0x01, 0x01, 0x01, 0x01, 0,    0};

class MxfSource : public FrameSource {
 public:
  explicit MxfSource(std::unique_ptr<Input> input) : input_(std::move(input)) {}
  const char* kind() const override { return "MXF"; }
  bool next(Frame& frame, Report& report) override;

 private:
  bool begin(std::array<uint8_t, kKeyBytes>& key, uint64_t& length, Report& report);
  void picture_descriptor(uint8_t kind, uint64_t bytes);
  void split_fields(Frame& frame, Report& report);

  std::unique_ptr<Input> input_;
  bool found_ = false;
  Frame second_;  ///< the second field of the last frame; empty: none
};

bool MxfSource::begin(std::array<uint8_t, kKeyBytes>& key, uint64_t& length, Report& report) {
  const uint64_t offset = input_->offset();
  const Bytes head = input_->peek(kKeyBytes + 9);
  if (head.empty()) return false;
  if (head.size() <= kKeyBytes || std::memcmp(head.data(), "\x06\x0E\x2B\x34", 4) != 0) {
    report.error("mxf-klv", "SMPTE ST 336", offset, "no key", "06.0E.2B.34 where a KLV begins");
    return false;
  }
  std::copy_n(head.begin(), kKeyBytes, key.begin());
  Reader in(head, kKeyBytes);
  const uint32_t first = in.u8();
  length = first;
  if (first >= 0x80) {
    if (first == 0x80 || first > 0x88) {
      report.error("mxf-length", "SMPTE ST 336", offset + kKeyBytes, hex(first, 2),
                   "a BER length of at most 8 bytes");
      return false;
    }
    length = in.number(static_cast<int>(first & 0x7F));
  }
  input_->skip(in.at());
  return true;
}

/// The letters of a pixel layout: pairs of a kind and a depth, up to a kind of 0.
std::string components_of(Bytes layout) {
  std::string letters;
  for (size_t i = 0; i + 1 < layout.size() && layout[i] != 0; i += 2) {
    const uint8_t kind = layout[i];
    const bool xyz = kind >= 0xD8 && kind <= 0xDA;
    letters += xyz ? static_cast<char>('X' + kind - 0xD8) : static_cast<char>(kind & 0x7F);
  }
  return letters;
}

void MxfSource::picture_descriptor(uint8_t kind, uint64_t bytes) {
  PictureColour said;
  said.offset = input_->offset();
  said.ycbcr = kind == kCdci;
  std::vector<uint8_t> set;
  const uint64_t taken = input_->take(std::min(bytes, kMostSetBytes), set);
  input_->skip(bytes - taken);
  Reader in(set);
  while (in.left() >= 4) {
    const uint16_t tag = in.u16(), length = in.u16();
    Reader value(set, in.at());
    const FrameRate rate = {value.u32(), value.u32()};
    if (tag == kSampleRateTag && length == 8 && rate.numerator > 0 && rate.denominator > 0)
      fps = rate;
    const Bytes item = Bytes(set).subspan(in.at(), std::min<size_t>(length, in.left()));
    const uint8_t label = item.size() == kLabelBytes ? item[13] : uint8_t{0};
    if (tag == kTransferTag) said.transfer = label;
    if (tag == kPrimariesTag) said.primaries = label;
    if (tag == kMatrixTag) said.matrix = label;
    if (tag == kPixelLayoutTag) said.components = components_of(item);
    in = Reader(set, in.at() + item.size());
  }
  colour = said;
}

/// SMPTE ST 422, "I2": an element has the codestreams of both fields. All elements must be alike.
void MxfSource::split_fields(Frame& frame, Report& report) {
  constexpr std::array<uint8_t, 4> kSocSiz = {0xFF, 0x4F, 0xFF, 0x51};
  std::vector<uint8_t> first;
  take_codestream(*Input::over(frame.bytes), first);
  const auto rest = frame.bytes.begin() + static_cast<ptrdiff_t>(first.size());
  const bool two =
      frame.bytes.end() - rest >= 4 && std::equal(kSocSiz.begin(), kSocSiz.end(), rest);
  const uint32_t fields = two ? 2 : 1;
  if (found_ && fields != this->fields)
    report.error("mxf-fields", "SMPTE ST 422 5.5", frame.offset,
                 std::to_string(fields) + " codestreams in an element",
                 std::to_string(this->fields) + ", as in the first");
  if (!found_) this->fields = fields;
  if (!two) return;
  second_.bytes.assign(rest, frame.bytes.end());
  second_.offset = frame.offset + first.size();
  frame.bytes = std::move(first);
}

bool MxfSource::next(Frame& frame, Report& report) {
  frame.bytes.clear();
  if (!second_.bytes.empty()) {
    std::swap(frame, second_);
    return true;
  }
  std::array<uint8_t, kKeyBytes> key;
  uint64_t length = 0;
  while (begin(key, length, report)) {
    if (key_is(key, kEncrypted, 14)) {
      error = "the essence is encrypted";
      return false;
    }
    const bool picture = key_is(key, kPictureElement, 13);
    if (picture && key[14] == kFrameWrapped) {
      frame.offset = input_->offset();
      if (length >= kMostFrameBytes) {
        error = "a frame of more than 1 GiB";
        return false;
      }
      if (input_->take(length, frame.bytes) != length)
        report.error("mxf-truncated", "SMPTE ST 336", frame.offset,
                     std::to_string(frame.bytes.size()) + " bytes to the end of the file",
                     std::to_string(length));
      split_fields(frame, report);
      found_ = true;
      return true;
    }
    if (picture && key[14] == kClipWrapped) {
      error = "clip-wrapped essence; only frame-wrapped essence can be checked";
      return false;
    }
    if (key_is(key, kMetadataSet, 14) && key[14] >= 0x27 && key[14] <= 0x29) {
      picture_descriptor(key[14], length);
    } else {
      input_->skip(length);
    }
  }
  if (!found_) error = "an MXF file without frame-wrapped JPEG 2000 essence";
  return false;
}

}  // namespace

std::unique_ptr<FrameSource> make_mxf_source(std::unique_ptr<Input> input) {
  return std::make_unique<MxfSource>(std::move(input));
}

}  // namespace cj2k_check

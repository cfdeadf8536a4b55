// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/icc_profile.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

namespace cj2k {
namespace {

constexpr size_t kHeaderBytes = 128;
constexpr size_t kTagEntryBytes = 12;
// A profile has a dozen tags. This bound only keeps the table inside of kMaxIccBytes.
constexpr uint32_t kMaxTags = 1024;

constexpr uint32_t fourcc(const char (&name)[5]) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(name[i]);
  return value;
}

std::string name_of(uint32_t signature) {
  std::string name;
  for (int shift = 24; shift >= 0; shift -= 8) {
    const char c = static_cast<char>(signature >> shift);
    name += c >= 32 && c < 127 ? c : '?';
  }
  while (name.size() > 1 && name.back() == ' ') name.pop_back();  // "RGB " is RGB
  return name;
}

uint32_t load_u32(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}

// --- the arithmetic of colours ------------------------------------------------------------------

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;  // rows

struct Chromaticity {
  double x, y;
};

Vector xyz_of(const Chromaticity& c) { return {c.x / c.y, 1.0, (1.0 - c.x - c.y) / c.y}; }

Vector multiply(const Matrix& m, const Vector& v) {
  Vector out;
  for (size_t i = 0; i < 3; ++i) out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
  return out;
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix out{};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      for (size_t k = 0; k < 3; ++k) out[i][j] += a[i][k] * b[k][j];
    }
  }
  return out;
}

Matrix inverse(const Matrix& m) {
  const auto minor2 = [&m](size_t i, size_t j) {
    const size_t a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
    return m[a][c] * m[b][d] - m[a][d] * m[b][c];
  };
  const double det = m[0][0] * minor2(0, 0) + m[0][1] * minor2(0, 1) + m[0][2] * minor2(0, 2);
  Matrix out;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) out[j][i] = minor2(i, j) / det;
  }
  return out;
}

Matrix diagonal(const Vector& v) { return {{{v[0], 0, 0}, {0, v[1], 0}, {0, 0, v[2]}}}; }

// The white of the profile connection space, as the header of every profile has it.
constexpr Vector kD50 = {0.9642, 1.0, 0.8249};

/// The linear Bradford adaptation from `white` to D50, as in ICC.1 Annex E.
Matrix adaptation(const Vector& white) {
  constexpr Matrix kBradford = {
      {{0.8951, 0.2664, -0.1614}, {-0.7502, 1.7135, 0.0367}, {0.0389, -0.0685, 1.0296}}};
  const Vector from = multiply(kBradford, white), to = multiply(kBradford, kD50);
  const Matrix scale = diagonal({to[0] / from[0], to[1] / from[1], to[2] / from[2]});
  return multiply(inverse(kBradford), multiply(scale, kBradford));
}

// --- what is written ----------------------------------------------------------------------------

constexpr Chromaticity kD65 = {0.3127, 0.3290}, kDciWhite = {0.314, 0.351};

struct Primaries {
  const char* name;
  Chromaticity red, green, blue, white;
};

/// Rec. ITU-T H.273 Table 2; SMPTE RP 431-2 and EG 432-1 for P3. In the order of cj2k_primaries.
constexpr Primaries kPrimaries[] = {
    {"BT.709", {0.640, 0.330}, {0.300, 0.600}, {0.150, 0.060}, kD65},
    {"BT.2020", {0.708, 0.292}, {0.170, 0.797}, {0.131, 0.046}, kD65},
    {"P3 D65", {0.680, 0.320}, {0.265, 0.690}, {0.150, 0.060}, kD65},
    {"P3 DCI", {0.680, 0.320}, {0.265, 0.690}, {0.150, 0.060}, kDciWhite},
    {"BT.601 625 lines", {0.640, 0.330}, {0.290, 0.600}, {0.150, 0.060}, kD65},
    {"BT.601 525 lines", {0.630, 0.340}, {0.310, 0.595}, {0.155, 0.070}, kD65},
};

/// What a profile says: names, white, and the XYZ (under D50) of full red, green and blue.
struct Description {
  std::string text;
  Vector white;
  Matrix colorants;  // columns
};

Description describe(const cj2k_params& p) {
  if (p.colorspace == CJ2K_COLOR_XYZ) {
    // ST 428-1: code / 4095 = (L / 52.37)^(1 / 2.6), with L in cd/m2; white has Y = 48.
    const Vector white = xyz_of(kDciWhite);
    const double full = 52.37 / 48;
    return {"X'Y'Z'", white, multiply(adaptation(white), diagonal({full, full, full}))};
  }
  const Primaries& set = kPrimaries[p.primaries];
  const Vector white = xyz_of(set.white);
  const Vector r = xyz_of(set.red), g = xyz_of(set.green), b = xyz_of(set.blue);
  const Matrix unscaled = {{{r[0], g[0], b[0]}, {r[1], g[1], b[1]}, {r[2], g[2], b[2]}}};
  const Matrix rgb_to_xyz = multiply(unscaled, diagonal(multiply(inverse(unscaled), white)));
  return {p.colorspace == CJ2K_COLOR_GRAY ? "Grey" : set.name, white,
          multiply(adaptation(white), rgb_to_xyz)};
}

/// The exponent of a transfer function that is a power; 0 for the sRGB curve.
double gamma_of(const cj2k_params& p) {
  if (p.colorspace == CJ2K_COLOR_XYZ) return 2.6;
  switch (p.transfer) {
    case CJ2K_TRANSFER_LINEAR:
      return 1.0;
    case CJ2K_TRANSFER_GAMMA22:
      return 2.2;
    case CJ2K_TRANSFER_GAMMA24:
      return 2.4;
    case CJ2K_TRANSFER_GAMMA26:
      return 2.6;
    case CJ2K_TRANSFER_GAMMA28:
      return 2.8;
    default:
      return 0;
  }
}

class Bytes {
 public:
  void u8(uint32_t v) { data_.push_back(static_cast<uint8_t>(v)); }
  void u16(uint32_t v) {
    u8(v >> 8);
    u8(v & 255);
  }
  void u32(uint32_t v) {
    u16(v >> 16);
    u16(v & 65535);
  }
  void zeros(size_t n) { data_.insert(data_.end(), n, 0); }
  void text(const std::string& s) { data_.insert(data_.end(), s.begin(), s.end()); }
  void pad() { zeros((4 - data_.size() % 4) % 4); }
  void append(const Bytes& other) {
    data_.insert(data_.end(), other.data_.begin(), other.data_.end());
  }
  /// s15Fixed16
  void fixed(double v) { u32(static_cast<uint32_t>(std::lround(v * 65536))); }
  size_t size() const { return data_.size(); }
  std::vector<uint8_t> take() { return std::move(data_); }

 private:
  std::vector<uint8_t> data_;
};

Bytes tag_of_type(const char (&type)[5]) {
  Bytes tag;
  tag.u32(fourcc(type));
  tag.u32(0);
  return tag;
}

Bytes description_tag(const std::string& text) {
  Bytes tag = tag_of_type("desc");
  tag.u32(static_cast<uint32_t>(text.size() + 1));
  tag.text(text);
  tag.zeros(1 + 4 + 4 + 2 + 1 + 67);  // NUL; no Unicode; no ScriptCode, which has a fixed size
  return tag;
}

Bytes xyz_tag(const Vector& v) {
  Bytes tag = tag_of_type("XYZ ");
  for (const double value : v) tag.fixed(value);
  return tag;
}

Bytes curve_tag(double gamma) {
  Bytes tag = tag_of_type("curv");
  if (gamma == 1.0) {
    tag.u32(0);
  } else if (gamma != 0) {
    tag.u32(1);
    tag.u16(static_cast<uint32_t>(std::lround(gamma * 256)));  // u8Fixed8
  } else {
    // Between 256 points of sRGB, linear interpolation is exact to half a step of 16 bits.
    constexpr int kPoints = 256;
    tag.u32(kPoints);
    for (int i = 0; i < kPoints; ++i) {
      const double v = static_cast<double>(i) / (kPoints - 1);
      const double linear = v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
      tag.u16(static_cast<uint32_t>(std::lround(linear * 65535)));
    }
  }
  return tag;
}

struct Tag {
  uint32_t signature;
  size_t element;  // index of its data; tags may share them
};

void append_header(Bytes& out, size_t profile_bytes, bool grey) {
  out.u32(static_cast<uint32_t>(profile_bytes));
  out.u32(0);           // no preferred colour management module
  out.u32(0x02100000);  // version 2.1
  out.u32(fourcc("scnr"));
  out.u32(grey ? fourcc("GRAY") : fourcc("RGB "));
  out.u32(fourcc("XYZ "));
  for (const uint32_t field : {2000u, 1u, 1u, 0u, 0u, 0u}) out.u16(field);  // date: always the same
  out.u32(fourcc("acsp"));
  out.zeros(7 * 4);  // platform, flags, manufacturer, model, attributes (8 bytes), intent
  for (const double v : kD50) out.fixed(v);
  out.zeros(kHeaderBytes - out.size());
}

// --- what is read -------------------------------------------------------------------------------

constexpr uint32_t kColourTags[] = {fourcc("rXYZ"), fourcc("gXYZ"), fourcc("bXYZ"),
                                    fourcc("rTRC"), fourcc("gTRC"), fourcc("bTRC")};
constexpr uint32_t kGreyTags[] = {fourcc("kTRC")};

/// The entry of a tag; null if there is none.
const uint8_t* find_tag(const uint8_t* data, uint32_t signature) {
  const uint32_t count = load_u32(data + kHeaderBytes);
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t* const entry = data + kHeaderBytes + 4 + i * kTagEntryBytes;
    if (load_u32(entry) == signature) return entry;
  }
  return nullptr;
}

/// Checks a tag with the colour of a component or with its curve.
Status check_tag(const uint8_t* data, size_t bytes, uint32_t signature, const Log& log) {
  const uint8_t* const entry = find_tag(data, signature);
  const std::string name = name_of(signature);
  if (entry == nullptr) {
    return log.fail(Status::kInvalid, "icc_profile has no tag %s: JP2 takes a matrix and curves",
                    name.c_str());
  }
  const size_t offset = load_u32(entry + 4), size = load_u32(entry + 8);
  if (offset > bytes || size > bytes - offset || size < 12) {
    return log.fail(Status::kInvalid, "icc_profile: tag %s, %zu bytes at %zu, not in [132, %zu]",
                    name.c_str(), size, offset, bytes);
  }
  const uint32_t type = load_u32(data + offset);
  const bool curve = (signature & 0xFFFFFF) == (fourcc("rTRC") & 0xFFFFFF);
  if (curve ? type != fourcc("curv") && type != fourcc("para") : type != fourcc("XYZ ")) {
    return log.fail(Status::kInvalid, "icc_profile: tag %s has type %s, not %s", name.c_str(),
                    name_of(type).c_str(), curve ? "curv or para" : "XYZ");
  }
  if (!curve && size < 20) {
    return log.fail(Status::kInvalid, "icc_profile: tag %s has %zu bytes, not 20", name.c_str(),
                    size);
  }
  if (type == fourcc("curv") && (size - 12) / 2 < load_u32(data + offset + 8)) {
    return log.fail(Status::kInvalid, "icc_profile: tag %s has %zu bytes for a curve of %u points",
                    name.c_str(), size, load_u32(data + offset + 8));
  }
  return Status::kOk;
}

/// Checks the header. Its 4 bytes after it, the number of tags, must be there.
Status check_header(const uint8_t* data, size_t bytes, int colours, const Log& log) {
  if (load_u32(data) != bytes) {
    return log.fail(Status::kInvalid, "icc_profile says it has %u bytes, icc_profile_bytes is %zu",
                    load_u32(data), bytes);
  }
  if (load_u32(data + 36) != fourcc("acsp")) {
    return log.fail(Status::kInvalid, "icc_profile has signature %s, not acsp",
                    name_of(load_u32(data + 36)).c_str());
  }
  if (data[8] != 2 && data[8] != 4) {
    return log.fail(Status::kInvalid, "icc_profile has version %d, not 2 or 4", data[8]);
  }
  const uint32_t device_class = load_u32(data + 12);
  if (device_class != fourcc("scnr") && device_class != fourcc("mntr")) {
    return log.fail(Status::kInvalid,
                    "icc_profile has class %s, not scnr (input) or mntr (display)",
                    name_of(device_class).c_str());
  }
  const uint32_t wanted = colours == 1 ? fourcc("GRAY") : fourcc("RGB ");
  if (load_u32(data + 16) != wanted) {
    return log.fail(Status::kInvalid, "icc_profile is for %s, the picture is %s",
                    name_of(load_u32(data + 16)).c_str(), name_of(wanted).c_str());
  }
  if (load_u32(data + 20) != fourcc("XYZ ")) {
    return log.fail(Status::kInvalid,
                    "icc_profile connects to %s, not to XYZ: JP2 takes a matrix "
                    "and curves",
                    name_of(load_u32(data + 20)).c_str());
  }
  return Status::kOk;
}

}  // namespace

bool needs_icc_profile(const cj2k_params& p) {
  switch (p.colorspace) {
    case CJ2K_COLOR_XYZ:
      return true;
    case CJ2K_COLOR_SRGB:
      return p.primaries != CJ2K_PRIMARIES_REC709 || p.transfer != CJ2K_TRANSFER_SRGB;
    case CJ2K_COLOR_GRAY:
      return p.transfer != CJ2K_TRANSFER_SRGB;
    default:
      return false;
  }
}

std::vector<uint8_t> make_icc_profile(const cj2k_params& p) {
  const bool grey = p.colorspace == CJ2K_COLOR_GRAY;
  const Description d = describe(p);
  const double gamma = gamma_of(p);
  const std::string curve = gamma == 0 ? ", sRGB curve"
                            : gamma == 1
                                ? ", linear"
                                : ", gamma 2." + std::to_string(std::lround(gamma * 10) % 10);
  Bytes copyright = tag_of_type("text");
  copyright.text("CC0");
  copyright.zeros(1);
  std::vector<Bytes> elements = {description_tag(d.text + curve), copyright, xyz_tag(d.white),
                                 curve_tag(gamma)};
  std::vector<Tag> tags = {{fourcc("desc"), 0}, {fourcc("cprt"), 1}, {fourcc("wtpt"), 2}};
  if (grey) {
    tags.push_back({fourcc("kTRC"), 3});
  } else {
    for (size_t c = 0; c < 3; ++c) {
      tags.push_back({kColourTags[c], elements.size()});
      elements.push_back(xyz_tag({d.colorants[0][c], d.colorants[1][c], d.colorants[2][c]}));
    }
    for (size_t c = 3; c < 6; ++c) tags.push_back({kColourTags[c], 3});
  }

  std::vector<size_t> offsets;
  Bytes contents;
  const size_t begin = kHeaderBytes + 4 + kTagEntryBytes * tags.size();
  for (const Bytes& element : elements) {
    offsets.push_back(begin + contents.size());
    contents.append(element);
    contents.pad();
  }
  Bytes out;
  append_header(out, begin + contents.size(), grey);
  out.u32(static_cast<uint32_t>(tags.size()));
  for (const Tag& tag : tags) {
    out.u32(tag.signature);
    out.u32(static_cast<uint32_t>(offsets[tag.element]));
    out.u32(static_cast<uint32_t>(elements[tag.element].size()));
  }
  out.append(contents);
  return out.take();
}

Status check_icc_profile(const void* data, size_t bytes, int colours, const Log& log) {
  if (data == nullptr || bytes < kHeaderBytes + 4 || bytes > kMaxIccBytes) {
    return log.fail(Status::kInvalid, "icc_profile %s, icc_profile_bytes %zu not in [%zu, %zu]",
                    data == nullptr ? "NULL" : "given", bytes, kHeaderBytes + 4, kMaxIccBytes);
  }
  const auto* const profile = static_cast<const uint8_t*>(data);
  CJ2K_TRY(check_header(profile, bytes, colours, log));
  const uint32_t count = load_u32(profile + kHeaderBytes);
  const size_t room = (bytes - kHeaderBytes - 4) / kTagEntryBytes;
  if (count > kMaxTags || count > room) {
    return log.fail(Status::kInvalid, "icc_profile: %u tags, not in [1, %zu]", count,
                    room < kMaxTags ? room : size_t{kMaxTags});
  }
  for (const uint32_t table : {fourcc("A2B0"), fourcc("A2B1"), fourcc("A2B2")}) {
    if (find_tag(profile, table) == nullptr) continue;
    return log.fail(Status::kInvalid,
                    "icc_profile has tag %s, a lookup table: JP2 takes a matrix "
                    "and curves",
                    name_of(table).c_str());
  }
  if (colours == 1) {
    for (const uint32_t tag : kGreyTags) CJ2K_TRY(check_tag(profile, bytes, tag, log));
  } else {
    for (const uint32_t tag : kColourTags) CJ2K_TRY(check_tag(profile, bytes, tag, log));
  }
  return Status::kOk;
}

}  // namespace cj2k

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/params.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>

#include "params/caller_struct.h"
#include "params/device_choice.h"
#include "params/latin.h"
#include "params/nearest.h"
#include "params/params_records.h"
#include "params/params_rules.h"
#include "params/params_table.h"
#include "params/params_text.h"

namespace cj2k {
namespace {

using namespace param_table;
using namespace param_text;

static_assert(std::all_of(std::begin(kRows), std::end(kRows), [](const Row& row) {
  return std::string_view(row.name) != "quality" ||
         (row.min == kMinQuality && row.max == kMaxQuality);
}));

// check_struct_size knows every array that the oldest header lacks.
static_assert(std::all_of(std::begin(kRows), std::end(kRows), [](const Row& row) {
  const auto is_known = [](size_t offset) {
    return offset < kMinParamsBytes ||
           std::any_of(kArrays<cj2k_params>.begin(), kArrays<cj2k_params>.end(),
                       [offset](const ArrayField& array) { return array.begin == offset; });
  };
  switch (row.kind) {
    case Kind::kText:
    case Kind::kDevices:
    case Kind::kComponents:
    case Kind::kRates:
    case Kind::kProgressions:
    case Kind::kRegions:
      return is_known(row.offset);
    case Kind::kPrecincts:
      return is_known(row.offset) && is_known(row.second_offset);
    default:
      return true;
  }
}));

// get and put access enumerations as int32_t too, because a caller may have stored any number.
static_assert(sizeof(cj2k_wavelet) == sizeof(int32_t));

template <typename T>
T get(const cj2k_params& p, size_t offset, size_t index = 0) {
  T value;
  std::memcpy(&value, reinterpret_cast<const char*>(&p) + offset + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void put(cj2k_params* p, size_t offset, size_t index, T value) {
  std::memcpy(reinterpret_cast<char*>(p) + offset + index * sizeof(T), &value, sizeof(T));
}

// ---- Text to value ----

// The named value of a row (CJ2K_VALUE) whose name is `text`; nullptr: there is none.
const Value* value_named(const Row& row, std::string_view text) {
  const Value* found = std::find_if(std::begin(kValues), std::end(kValues), [&](const Value& v) {
    return std::string_view(v.param) == row.name && same_name(v.name, text);
  });
  return found == std::end(kValues) ? nullptr : found;
}

bool is_default(const Row& row, double value) {
  double number = 0;
  if (parse_number(row.default_value, &number)) return value == number;
  const Value* named = value_named(row, row.default_value);
  if (named != nullptr) return value == static_cast<double>(named->value);
  return std::string_view(row.default_value) == "auto" && value == 0;
}

bool in_range(const Row& row, double value) { return value >= row.min && value <= row.max; }

bool parse_pair(const Row& row, std::string_view text, int32_t* first, int32_t* second) {
  if (same_name("auto", text) && std::string_view(row.default_value) == "auto") {
    *first = *second = 0;
    return true;
  }
  const size_t x = text.find('x');
  if (!parse_number(text.substr(0, x), first)) return false;
  *second = *first;
  if (x != std::string_view::npos && !parse_number(text.substr(x + 1), second)) return false;
  return (in_range(row, *first) && in_range(row, *second)) ||
         (is_default(row, *first) && is_default(row, *second));
}

bool parse_ratio(const Row& row, std::string_view text, cj2k_params* p) {
  const size_t slash = text.find('/');
  int32_t num = 0, den = 1;
  if (!parse_number(text.substr(0, slash), &num)) return false;
  if (slash != std::string_view::npos && !parse_number(text.substr(slash + 1), &den)) return false;
  if (!(in_range(row, num) || is_default(row, num)) || !in_range(row, den)) return false;
  put(p, row.offset, 0, num);
  put(p, row.second_offset, 0, den);
  return true;
}

template <typename T>
bool parse_in_range(const Row& row, std::string_view text, T* value) {
  return parse_number(text, value) && (in_range(row, static_cast<double>(*value)) ||
                                       is_default(row, static_cast<double>(*value)));
}

template <typename T>
bool parse_field(const Row& row, std::string_view text, cj2k_params* p) {
  T value = 0;
  if (!parse_in_range(row, text, &value)) return false;
  put(p, row.offset, 0, value);
  return true;
}

bool parse_flags(const Row& row, std::string_view text, cj2k_params* p) {
  int32_t sum = 0;
  if (!parse_number(text, &sum)) {
    sum = 0;
    const bool ok = for_each_part(text, '+', [&](std::string_view part) {
      const Value* named = value_named(row, part);
      if (named != nullptr) sum |= static_cast<int32_t>(named->value);
      return named != nullptr;
    });
    if (!ok) return false;
  }
  if (!in_range(row, sum)) return false;
  put(p, row.offset, 0, sum);
  return true;
}

bool parse_components(const Row& row, std::string_view text, cj2k_params* p) {
  int count = 0;
  int32_t value = 0;
  const bool ok = for_each_part(text, ',', [&](std::string_view part) {
    if (count == CJ2K_MAX_COMPONENTS || !parse_in_range(row, part, &value)) return false;
    put(p, row.offset, count++, value);
    return true;
  });
  for (; ok && count < CJ2K_MAX_COMPONENTS; ++count) put(p, row.offset, count, value);
  return ok;
}

bool parse_precincts(const Row& row, std::string_view text, cj2k_params* p) {
  p->num_precincts = 0;
  if (text.empty() || text == "0") return true;
  return for_each_part(text, ',', [&](std::string_view part) {
    int32_t width = 0, height = 0;
    if (p->num_precincts == CJ2K_MAX_RESOLUTIONS || !parse_pair(row, part, &width, &height)) {
      return false;
    }
    p->precinct_width[p->num_precincts] = width;
    p->precinct_height[p->num_precincts++] = height;
    return true;
  });
}

/// layer_rates has an entry for each layer, layer_psnr none for the last one.
bool parse_rates(const Row& row, std::string_view text, cj2k_params* p) {
  put(p, row.second_offset, 0, 0);
  if (text.empty() || text == "0") return true;
  int32_t count = 0;
  const bool ok = for_each_part(text, ',', [&](std::string_view part) {
    double rate = 0;
    if (count == CJ2K_MAX_LAYER_RATES || !parse_in_range(row, part, &rate)) return false;
    put(p, row.offset, static_cast<size_t>(count++), rate);
    return true;
  });
  put(p, row.second_offset, 0, count);
  p->layers = count + (row.offset == offsetof(cj2k_params, layer_psnr) ? 1 : 0);
  return ok;
}

Status check_rates_count(const Row& row, const cj2k_params& p, const Log& log) {
  const std::string name = "num_" + std::string(row.name);
  return check_count(name.c_str(), get<int32_t>(p, row.second_offset), CJ2K_MAX_LAYER_RATES, log);
}

bool parse(const Row& row, std::string_view text, cj2k_params* p) {
  switch (row.kind) {
    case Kind::kInt:
      if (const Value* named = value_named(row, text)) {
        put(p, row.offset, 0, static_cast<int32_t>(named->value));
        return true;
      }
      return parse_field<int32_t>(row, text, p);
    case Kind::kBool:
      return parse_field<int32_t>(row, text, p);
    case Kind::kInt64:
      return parse_field<int64_t>(row, text, p);
    case Kind::kDouble:
      return parse_field<double>(row, text, p);
    case Kind::kEnum: {
      const Value* named = value_named(row, text);
      if (named == nullptr) return false;
      put(p, row.offset, 0, static_cast<int32_t>(named->value));
      return true;
    }
    case Kind::kFlags:
      return parse_flags(row, text, p);
    case Kind::kText:
    case Kind::kDevices: {
      char* field = reinterpret_cast<char*>(p) + row.offset;
      if (static_cast<double>(text.size()) > row.max) return false;
      std::fill_n(field, static_cast<size_t>(row.max) + 1, '\0');
      std::copy(text.begin(), text.end(), field);
      return true;
    }
    case Kind::kSize:
    case Kind::kPoint: {
      int32_t first = 0, second = 0;
      if (!parse_pair(row, text, &first, &second)) return false;
      put(p, row.offset, 0, first);
      put(p, row.second_offset, 0, second);
      return true;
    }
    case Kind::kRatio:
      return parse_ratio(row, text, p);
    case Kind::kComponents:
      return parse_components(row, text, p);
    case Kind::kPrecincts:
      return parse_precincts(row, text, p);
    case Kind::kRates:
      return parse_rates(row, text, p);
    case Kind::kProgressions:
      return parse_progressions(row, text, p);
    case Kind::kRegions:
      return parse_regions(row, text, p);
  }
  return false;
}

const char* syntax(Kind kind) {
  switch (kind) {
    case Kind::kInt:
    case Kind::kInt64:
      return "an integer";
    case Kind::kBool:
      return "0 or 1";
    case Kind::kDouble:
      return "a number";
    case Kind::kEnum:
      return "one of";
    case Kind::kFlags:
      return "a number or names joined by '+' of";
    case Kind::kText:
    case Kind::kDevices:
      return "text";
    case Kind::kSize:
      return "a size \"WxH\"";
    case Kind::kPoint:
      return "a point \"XxY\"";
    case Kind::kRatio:
      return "a number \"N\" or \"N/D\"";
    case Kind::kComponents:
      return "1 to 4 integers separated by ','";
    case Kind::kPrecincts:
      return "at most 33 sizes \"WxH\" separated by ','";
    case Kind::kRates:
      return "at most 64 numbers separated by ','";
    case Kind::kProgressions:
      return kProgressionsSyntax;
    case Kind::kRegions:
      return kRegionsSyntax;
  }
  return "";
}

cj2k_param_type public_type(Kind kind) {
  switch (kind) {
    case Kind::kInt:
    case Kind::kInt64:
      return CJ2K_PARAM_INT;
    case Kind::kBool:
      return CJ2K_PARAM_BOOL;
    case Kind::kDouble:
      return CJ2K_PARAM_DOUBLE;
    case Kind::kEnum:
      return CJ2K_PARAM_ENUM;
    case Kind::kFlags:
      return CJ2K_PARAM_FLAGS;
    case Kind::kSize:
    case Kind::kPoint:
      return CJ2K_PARAM_SIZE;
    case Kind::kComponents:
    case Kind::kPrecincts:
    case Kind::kRates:
      return CJ2K_PARAM_LIST;
    case Kind::kProgressions:
    case Kind::kRegions:
      return CJ2K_PARAM_RECORDS;
    case Kind::kRatio:
      return CJ2K_PARAM_RATIO;
    case Kind::kText:
    case Kind::kDevices:
      break;
  }
  return CJ2K_PARAM_TEXT;
}

// ---- Value to text ----

Status print_flags(const Row& row, int32_t sum, const Log& log, TextOut* out) {
  if (sum == 0) out->add("0");
  for (int32_t bit = 0, rest = sum; rest != 0;
       ++bit, rest = static_cast<int32_t>(uint32_t(rest) >> 1)) {
    if ((rest & 1) == 0) continue;
    const char* name = value_name(row.name, int64_t{1} << bit);
    if (name == nullptr)
      return log.fail(Status::kInvalid, "%s %d is not a sum of %s", row.name, sum, row.values);
    if (out->size() > 0) out->add("+");
    out->add(name);
  }
  return Status::kOk;
}

Status print_text(const Row& row, const cj2k_params& p, const Log& log, TextOut* out) {
  const char* field = reinterpret_cast<const char*>(&p) + row.offset;
  const size_t bytes = static_cast<size_t>(row.max) + 1;
  const void* end = std::memchr(field, 0, bytes);
  if (end == nullptr) {
    return log.fail(Status::kInvalid, "%s has no terminating zero in %zu bytes", row.name, bytes);
  }
  const std::string_view text(field, static_cast<const char*>(end));
  out->add(row.kind == Kind::kText ? std::string_view(from_latin(text)) : text);
  return Status::kOk;
}

Status print_lists(const Row& row, const cj2k_params& p, const Log& log, TextOut* out) {
  if (row.kind == Kind::kComponents) {
    int count = CJ2K_MAX_COMPONENTS;  // less the repeats of the last number
    const auto value = [&](int c) { return get<int32_t>(p, row.offset, static_cast<size_t>(c)); };
    while (count > 1 && value(count - 1) == value(count - 2)) --count;
    for (int c = 0; c < count; ++c) {
      out->add_comma();
      out->add_number(value(c));
    }
    return Status::kOk;
  }
  if (row.kind == Kind::kPrecincts) {
    CJ2K_TRY(check_count("num_precincts", p.num_precincts, CJ2K_MAX_RESOLUTIONS, log));
    for (int i = 0; i < p.num_precincts; ++i) {
      out->add_comma();
      out->add_pair(p.precinct_width[i], p.precinct_height[i]);
    }
    return Status::kOk;
  }
  CJ2K_TRY(check_rates_count(row, p, log));
  for (int i = 0; i < get<int32_t>(p, row.second_offset); ++i) {
    out->add_comma();
    out->add_number(get<double>(p, row.offset, static_cast<size_t>(i)));
  }
  return Status::kOk;
}

Status print(const Row& row, const cj2k_params& p, const Log& log, TextOut* out) {
  switch (row.kind) {
    case Kind::kInt:
    case Kind::kBool: {
      const auto value = get<int32_t>(p, row.offset);
      if (const char* name = value_name(row.name, value)) {
        out->add(name);
      } else {
        out->add_number(value);
      }
      return Status::kOk;
    }
    case Kind::kInt64:
      out->add_number(get<int64_t>(p, row.offset));
      return Status::kOk;
    case Kind::kDouble:
      out->add_number(get<double>(p, row.offset));
      return Status::kOk;
    case Kind::kEnum: {
      const auto value = get<int32_t>(p, row.offset);
      const char* name = value_name(row.name, value);
      if (name == nullptr)
        return log.fail(Status::kInvalid, "%s %d is not one of %s", row.name, value, row.values);
      out->add(name);
      return Status::kOk;
    }
    case Kind::kFlags:
      return print_flags(row, get<int32_t>(p, row.offset), log, out);
    case Kind::kText:
    case Kind::kDevices:
      return print_text(row, p, log, out);
    case Kind::kSize:
    case Kind::kPoint: {
      const auto first = get<int32_t>(p, row.offset), second = get<int32_t>(p, row.second_offset);
      if (first == 0 && second == 0 && std::string_view(row.default_value) == "auto") {
        out->add("auto");
      } else {
        out->add_pair(first, second);
      }
      return Status::kOk;
    }
    case Kind::kRatio:
      out->add_number(get<int32_t>(p, row.offset));
      if (const auto den = get<int32_t>(p, row.second_offset); den != 1) {
        out->add("/");
        out->add_number(den);
      }
      return Status::kOk;
    case Kind::kComponents:
    case Kind::kPrecincts:
    case Kind::kRates:
      return print_lists(row, p, log, out);
    case Kind::kProgressions:
      return print_progressions(p, log, out);
    case Kind::kRegions:
      return print_regions(p, log, out);
  }
  return Status::kInternal;
}

// ---- The caller's struct ----

// Fields that the struct of an older header does not have get the defaults.
Status copy_from_caller(const cj2k_params& p, const Log& log, cj2k_params* copy) {
  set_default_params(copy);
  return read_struct("params", p, kMinParamsBytes, log, copy);
}

const Row* find_row(const char* key) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [key](const Row& r) { return std::string_view(r.name) == key; });
  return row == std::end(kRows) ? nullptr : row;
}

// ---- Messages ----

Status unknown_parameter(const char* key, const Log& log) {
  NearestName nearest(key);
  for (const Row& row : kRows) nearest.offer(row.name);
  return log.fail(Status::kInvalid, "unknown parameter \"%.80s\"%s", key,
                  DidYouMean(nearest.name()).text);
}

// The text of an ENUM or of FLAGS has a name that is not known.
Status unknown_value(const Row& row, std::string_view text, const Log& log) {
  std::string_view unknown = text;
  const char separator = row.kind == Kind::kFlags ? '+' : '\0';
  for_each_part(text, separator, [&](std::string_view part) {
    const bool known = find_name(row.values, part) >= 0;
    if (!known) unknown = part;
    return known;
  });
  NearestName nearest(unknown);
  for_each_part(row.values, '|', [&](std::string_view name) {
    nearest.offer(name);
    return true;
  });
  return log.about(row.name).fail(Status::kInvalid, "%s \"%.80s\" is not %s %s%s", row.name,
                                  text.data(), syntax(row.kind), row.values,
                                  DidYouMean(nearest.name()).text);
}

// ---- Ranges ----

Status check_number(const Row& row, const char* field, double value, const Log& log) {
  if (in_range(row, value) || is_default(row, value)) return Status::kOk;
  return log.about(row.name, value, row.min, row.max)
      .fail(Status::kInvalid, "%s %.15g not in [%.15g, %.15g]%s", field, value, row.min, row.max,
            std::string_view(row.default_value) == "auto" ? " and not auto"
            : row.default_value[0] == '0' && row.min > 0 && row.kind != Kind::kComponents
                ? " and not 0 (chosen or none)"
                : "");
}

struct FieldName {
  char text[48];
  FieldName(const char* name, const char* suffix) {
    std::snprintf(text, sizeof text, "%s%s", name, suffix);
  }
  FieldName(const char* name, int index) {
    std::snprintf(text, sizeof text, "%s[%d]", name, index);
  }
};

Status check_row(const Row& row, const cj2k_params& p, const Log& log) {
  const char* suffix_x = row.kind == Kind::kPoint   ? "_x"
                         : row.kind == Kind::kRatio ? "_num"
                                                    : "_width";
  const char* suffix_y = row.kind == Kind::kPoint   ? "_y"
                         : row.kind == Kind::kRatio ? "_den"
                                                    : "_height";
  switch (row.kind) {
    case Kind::kInt:
    case Kind::kBool:
    case Kind::kEnum:
    case Kind::kFlags:
      return check_number(row, row.name, get<int32_t>(p, row.offset), log);
    case Kind::kInt64: {
      const auto value = get<int64_t>(p, row.offset);
      if (in_range(row, static_cast<double>(value))) return Status::kOk;
      // Printed as int64_t, because a double cannot hold all of its digits.
      return log.about(row.name, static_cast<double>(value), row.min, row.max)
          .fail(Status::kInvalid, "%s %" PRId64 " not in [%.15g, %.15g]", row.name, value, row.min,
                row.max);
    }
    case Kind::kDouble:
      return check_number(row, row.name, get<double>(p, row.offset), log);
    case Kind::kText:
    case Kind::kDevices: {
      const char* field = reinterpret_cast<const char*>(&p) + row.offset;
      const size_t bytes = static_cast<size_t>(row.max) + 1;
      if (std::memchr(field, 0, bytes) == nullptr) {
        return log.fail(Status::kInvalid, "%s has no terminating zero in %zu bytes", row.name,
                        bytes);
      }
      DeviceList devices;
      return row.kind == Kind::kText ? Status::kOk : parse_devices(field, log, &devices);
    }
    case Kind::kSize:
    case Kind::kPoint:
    case Kind::kRatio:
      CJ2K_TRY(
          check_number(row, FieldName(row.name, suffix_x).text, get<int32_t>(p, row.offset), log));
      return check_number(row, FieldName(row.name, suffix_y).text,
                          get<int32_t>(p, row.second_offset), log);
    case Kind::kComponents:
      for (int c = 0; c < p.num_components; ++c) {
        CJ2K_TRY(
            check_number(row, FieldName(row.name, c).text, get<int32_t>(p, row.offset, c), log));
      }
      return Status::kOk;
    case Kind::kPrecincts:
      CJ2K_TRY(check_count("num_precincts", p.num_precincts, CJ2K_MAX_RESOLUTIONS, log));
      for (int i = 0; i < p.num_precincts; ++i) {
        CJ2K_TRY(check_number(row, FieldName("precinct_width", i).text, p.precinct_width[i], log));
        CJ2K_TRY(
            check_number(row, FieldName("precinct_height", i).text, p.precinct_height[i], log));
      }
      return Status::kOk;
    case Kind::kRates:
      CJ2K_TRY(check_rates_count(row, p, log));
      for (int i = 0; i < get<int32_t>(p, row.second_offset); ++i) {
        CJ2K_TRY(check_number(row, FieldName(row.name, i).text,
                              get<double>(p, row.offset, static_cast<size_t>(i)), log));
      }
      return Status::kOk;
    case Kind::kProgressions:
      return check_count("num_poc", p.num_poc, CJ2K_MAX_PROGRESSIONS, log);
    case Kind::kRegions:
      return check_count("num_roi", p.num_roi, CJ2K_MAX_REGIONS, log);
  }
  return Status::kInternal;
}

}  // namespace

const char* value_name(std::string_view param, int64_t value) {
  const Value* found = std::find_if(std::begin(kValues), std::end(kValues), [&](const Value& v) {
    return v.param == param && v.value == value;
  });
  return found == std::end(kValues) ? nullptr : found->name;
}

void set_default_params(cj2k_params* p) {
  std::memset(static_cast<void*>(p), 0, sizeof *p);
  p->struct_size = sizeof *p;
  for (const Row& row : kRows) {
    if (row.default_value[0] != '\0') parse(row, row.default_value, p);
  }
}

Status set_param(cj2k_params* p, const char* key, const char* value, const Log& log) {
  if (p == nullptr || key == nullptr || value == nullptr) {
    return log.fail(Status::kInvalid, "cj2k_params_set: %s is NULL",
                    p == nullptr     ? "params"
                    : key == nullptr ? "key"
                                     : "value");
  }
  cj2k_params changed;
  CJ2K_TRY(copy_from_caller(*p, log, &changed));
  const Row* const found = find_row(key);
  if (found == nullptr) return unknown_parameter(key, log);
  const Row& row = *found;
  Latin latin;
  if (row.kind == Kind::kText) latin = to_latin(value);
  if (latin.missing != 0) {
    return log.about(key).fail(Status::kInvalid,
                               "%s \"%.80s\": U+%04" PRIX32 " is not in ISO 8859-15", key, value,
                               latin.missing);
  }
  if (!parse(row, row.kind == Kind::kText ? latin.text : std::string_view(value), &changed)) {
    if (row.values[0] != '\0' && row.kind != Kind::kInt) return unknown_value(row, value, log);
    double number = 0;
    parse_number(std::string_view(value), &number);
    return log.about(key, number, row.min, row.max)
        .fail(Status::kInvalid, "%s \"%.80s\" is not %s in [%.15g, %.15g]%s", key, value,
              syntax(row.kind), row.min, row.max,
              row.kind == Kind::kText                         ? " bytes"
              : std::string_view(row.default_value) == "auto" ? " or auto"
                                                              : "");
  }
  if (row.kind == Kind::kDevices) {
    DeviceList devices;
    CJ2K_TRY(parse_devices(value, log, &devices));
  }
  return write_struct("params", changed, kMinParamsBytes, log, p);
}

Status get_param(const cj2k_params& p, const char* key, char* text, size_t bytes, const Log& log) {
  cj2k_params copy;
  CJ2K_TRY(copy_from_caller(p, log, &copy));
  const Row* const row = find_row(key);
  if (row == nullptr) return unknown_parameter(key, log);
  TextOut out;
  CJ2K_TRY(print(*row, copy, log, &out));
  if (out.size() >= bytes) {
    return log.fail(Status::kInvalid, "%s: a buffer of %zu bytes, but the text takes %zu", key,
                    bytes, out.size() + 1);
  }
  std::memcpy(text, out.c_str(), out.size() + 1);
  return Status::kOk;
}

Status describe_param(int index, const Log& log, cj2k_param_info* info) {
  if (index < 0)
    return log.fail(Status::kInvalid, "parameter %d not in [0, %zu]", index, std::size(kRows) - 1);
  if (index >= static_cast<int>(std::size(kRows))) return Status::kEof;
  const Row& row = kRows[index];
  *info = {sizeof *info, row.name,   public_type(row.kind),
           row.min,      row.max,    row.default_value,
           row.unit,     row.values, row.clause,
           row.help};
  return Status::kOk;
}

Status resolve_params(const cj2k_params& p, const Log& log, cj2k_params* resolved) {
  cj2k_params r;
  CJ2K_TRY(copy_from_caller(p, log, &r));
  for (const Row& row : kRows) CJ2K_TRY(check_row(row, r, log));
  CJ2K_TRY(apply_param_rules(&r, log));
  *resolved = r;
  return Status::kOk;
}

}  // namespace cj2k

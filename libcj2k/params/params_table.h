// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of cj2k_params.def, each with the fields of cj2k_params that it stands for. For
// params.cc and params_records.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cj2k.h"
#include "params/params.h"
#include "params/params_rules.h"

namespace cj2k::param_table {

enum class Kind {
  kInt,
  kInt64,
  kBool,
  kDouble,
  kEnum,
  kFlags,
  kText,
  kDevices,
  kSize,
  kPoint,
  kRatio,
  kComponents,
  kPrecincts,
  kRates,
  kProgressions,
  kRegions
};

struct Row {
  const char* name;
  Kind kind;
  double min, max;
  const char* default_value;
  const char* unit;
  const char* values;
  const char* clause;
  const char* help;
  size_t offset;         // bytes to the field, to the first field of a pair, or to the array
  size_t second_offset;  // bytes to the second field of a pair, to the number of rates, else 0
};

// Kind and field offsets of a row, for each kind of cj2k_params.def.
#define CJ2K_FIELD(name) offsetof(cj2k_params, name)
#define CJ2K_FIELDS_INT(name) Kind::kInt, CJ2K_FIELD(name), 0
#define CJ2K_FIELDS_INT64(name) Kind::kInt64, CJ2K_FIELD(name), 0
#define CJ2K_FIELDS_BOOL(name) Kind::kBool, CJ2K_FIELD(name), 0
#define CJ2K_FIELDS_DOUBLE(name) Kind::kDouble, CJ2K_FIELD(name), 0
#define CJ2K_FIELDS_ENUM(name) Kind::kEnum, CJ2K_FIELD(name), 0
#define CJ2K_FIELDS_FLAGS(name) Kind::kFlags, CJ2K_FIELD(name), 0
#define CJ2K_FIELDS_TEXT(name) Kind::kText, CJ2K_FIELD(name), 0
#define CJ2K_FIELDS_DEVICES(name) Kind::kDevices, CJ2K_FIELD(name), 0
#define CJ2K_FIELDS_SIZE(name) Kind::kSize, CJ2K_FIELD(name##_width), CJ2K_FIELD(name##_height)
#define CJ2K_FIELDS_POINT(name) Kind::kPoint, CJ2K_FIELD(name##_x), CJ2K_FIELD(name##_y)
#define CJ2K_FIELDS_RATIO(name) Kind::kRatio, CJ2K_FIELD(name##_num), CJ2K_FIELD(name##_den)
#define CJ2K_FIELDS_COMPONENTS(name) Kind::kComponents, CJ2K_FIELD(name), 0
#define CJ2K_FIELDS_PRECINCTS(name) \
  Kind::kPrecincts, CJ2K_FIELD(precinct_width), CJ2K_FIELD(precinct_height)
#define CJ2K_FIELDS_RATES(name) Kind::kRates, CJ2K_FIELD(name), CJ2K_FIELD(num_##name)
#define CJ2K_FIELDS_PROGRESSIONS(name) Kind::kProgressions, CJ2K_FIELD(name), 0
#define CJ2K_FIELDS_REGIONS(name) Kind::kRegions, CJ2K_FIELD(name), 0

struct Value {
  const char* param;
  const char* name;
  const char* c_name;
  int64_t value;
};

inline constexpr Value kValues[] = {
#define CJ2K_NUMBER(name, kind, min, max, default_value, unit, clause, help)
#define CJ2K_TEXT(name, kind, min, max, default_value, unit, clause, help)
#define CJ2K_VALUE(name, value_name, value, value_help) {#name, value_name, #value, value},
#include "cj2k_params.def"
};

// Entry i + 1 has the names of the values of row i as "|name|name", or "" if it has none.
inline constexpr const char* kValueNames[] = {""
#define CJ2K_NUMBER(name, kind, min, max, default_value, unit, clause, help) , ""
#define CJ2K_TEXT(name, kind, min, max, default_value, unit, clause, help) , ""
#define CJ2K_VALUE(name, value_name, value, value_help) "|" value_name
#include "cj2k_params.def"
};

constexpr Row make_row(const char* name, Kind kind, size_t offset, size_t second_offset, double min,
                       double max, const char* default_value, const char* unit, const char* clause,
                       const char* help) {
  return {name, kind, min, max, default_value, unit, "", clause, help, offset, second_offset};
}

// The name of a default that is one of the named values; nullptr: it is none.
constexpr const char* default_name(const Row& row) {
  for (const Value& v : kValues) {
    if (std::string_view(v.param) == row.name && std::string_view(v.c_name) == row.default_value) {
      return v.name;
    }
  }
  return nullptr;
}

inline constexpr auto kRows = [] {
  std::array rows = {
#define CJ2K_NUMBER(name, kind, min, max, default_value, unit, clause, help) \
  make_row(#name, CJ2K_FIELDS_##kind(name), min, max, #default_value, unit, clause, help),
#define CJ2K_TEXT(name, kind, min, max, default_value, unit, clause, help) \
  make_row(#name, CJ2K_FIELDS_##kind(name), min, max, default_value, unit, clause, help),
#include "cj2k_params.def"
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const char* names = kValueNames[i + 1];
    rows[i].values = names[0] == '|' ? names + 1 : names;
    const char* named = default_name(rows[i]);
    if (named != nullptr || rows[i].kind == Kind::kEnum) rows[i].default_value = named;
  }
  return rows;
}();

// Whether the values are min .. max for an ENUM, and 1, 2, 4, .. for FLAGS, with min = 0 and the max
// that follows. An INT may name any values. Rows of other kinds have none.
constexpr bool has_good_values(const Row& row) {
  int64_t count = 0, sum = 0;
  for (const Value& v : kValues) {
    if (std::string_view(v.param) != row.name) continue;
    const int64_t expected =
        row.kind == Kind::kFlags ? int64_t{1} << count : static_cast<int64_t>(row.min) + count;
    if (v.value != expected && row.kind != Kind::kInt) return false;
    ++count;
    sum += v.value;
  }
  if (row.kind == Kind::kEnum) return row.max == row.min + static_cast<double>(count - 1);
  if (row.kind == Kind::kFlags) return row.min == 0 && row.max == static_cast<double>(sum);
  return count == 0 || row.kind == Kind::kInt;
}

static_assert(std::all_of(kRows.begin(), kRows.end(), has_good_values));
static_assert(std::all_of(kRows.begin(), kRows.end(),
                          [](const Row& row) { return row.default_value != nullptr; }));
static_assert(std::all_of(kRows.begin(), kRows.end(), [](const Row& row) {
  return row.kind != Kind::kInt64 || row.max == static_cast<double>(kMaxBytes);
}));
static_assert(std::any_of(kRows.begin(), kRows.end(), [](const Row& row) {
  return std::string_view(row.name) == "quant_step" && row.min == kMinQuantStep;
}));

#undef CJ2K_FIELD
#undef CJ2K_FIELDS_INT
#undef CJ2K_FIELDS_INT64
#undef CJ2K_FIELDS_BOOL
#undef CJ2K_FIELDS_DOUBLE
#undef CJ2K_FIELDS_ENUM
#undef CJ2K_FIELDS_FLAGS
#undef CJ2K_FIELDS_TEXT
#undef CJ2K_FIELDS_DEVICES
#undef CJ2K_FIELDS_SIZE
#undef CJ2K_FIELDS_POINT
#undef CJ2K_FIELDS_RATIO
#undef CJ2K_FIELDS_COMPONENTS
#undef CJ2K_FIELDS_PRECINCTS
#undef CJ2K_FIELDS_RATES
#undef CJ2K_FIELDS_PROGRESSIONS
#undef CJ2K_FIELDS_REGIONS

}  // namespace cj2k::param_table

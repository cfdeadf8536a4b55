// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "params/params_records.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace cj2k {
namespace {

using namespace param_text;
using param_table::Row;

/// The names of the orders, "lrcp|rlcp|..", without "auto".
std::string_view order_names() {
  for (const Row& row : param_table::kRows) {
    if (std::string_view(row.name) == "progression") return std::strchr(row.values, '|') + 1;
  }
  return {};
}

/// Reads "a,b,.." into `numbers`. @return the text after the last number and its comma; data() is
/// nullptr if the text does not begin with so many numbers in range
template <size_t N>
std::string_view parse_numbers(const Row& row, std::string_view text,
                               std::array<int32_t, N>* numbers) {
  for (int32_t& number : *numbers) {
    const size_t comma = text.find(',');
    if (comma == std::string_view::npos || !parse_number(text.substr(0, comma), &number) ||
        number < row.min || number > row.max) {
      return {};
    }
    text.remove_prefix(comma + 1);
  }
  return text;
}

Status check_progression(const cj2k_params& p, int index, const Log& log) {
  const cj2k_progression_change& entry = p.poc[index];
  const struct {
    const char* name;
    int32_t value, min, max;
    const char* range;
  } fields[] = {
      {"resolution_begin", entry.resolution_begin, 0, p.levels, "0, levels"},
      {"component_begin", entry.component_begin, 0, p.num_components - 1, "0, num_components - 1"},
      {"layer_end", entry.layer_end, 1, p.layers, "1, layers"},
      {"resolution_end", entry.resolution_end, entry.resolution_begin + 1, p.levels + 1,
       "resolution_begin + 1, levels + 1"},
      {"component_end", entry.component_end, entry.component_begin + 1, p.num_components,
       "component_begin + 1, num_components"},
      {"progression", static_cast<int32_t>(entry.progression), CJ2K_LRCP, CJ2K_CPRL, "lrcp, cprl"},
  };
  for (const auto& field : fields) {
    if (field.value >= field.min && field.value <= field.max) continue;
    return log.about("poc").fail(Status::kInvalid, "poc[%d].%s %d not in [%d, %d] (%s)", index,
                                 field.name, field.value, field.min, field.max, field.range);
  }
  return Status::kOk;
}

}  // namespace

bool parse_progressions(const Row& row, std::string_view text, cj2k_params* p) {
  p->num_poc = 0;
  if (text.empty()) return true;
  return for_each_part(text, '/', [&](std::string_view part) {
    std::array<int32_t, 5> n{};
    const std::string_view name = parse_numbers(row, part, &n);
    const int order = name.data() == nullptr ? -1 : find_name(order_names(), name);
    if (order < 0 || p->num_poc == CJ2K_MAX_PROGRESSIONS) return false;
    p->poc[p->num_poc++] = {n[0], n[1], n[2], n[3], n[4], static_cast<cj2k_progression>(order)};
    return true;
  });
}

Status print_progressions(const cj2k_params& p, const Log& log, TextOut* out) {
  CJ2K_TRY(check_count("num_poc", p.num_poc, CJ2K_MAX_PROGRESSIONS, log));
  for (int i = 0; i < p.num_poc; ++i) {
    const cj2k_progression_change& entry = p.poc[i];
    const auto order = static_cast<int32_t>(entry.progression);
    const std::string_view name = name_at(order_names(), order);
    if (name.empty()) {
      return log.about("poc", order)
          .fail(Status::kInvalid, "poc[%d].progression %d is not one of %s", i, order,
                order_names().data());
    }
    if (i > 0) out->add("/");
    out->add_numbers({entry.resolution_begin, entry.component_begin, entry.layer_end,
                      entry.resolution_end, entry.component_end});
    out->add(",");
    out->add(name);
  }
  return Status::kOk;
}

Status check_progressions(const cj2k_params& p, const Log& log) {
  CJ2K_TRY(check_count("num_poc", p.num_poc, CJ2K_MAX_PROGRESSIONS, log));
  if (p.num_poc == 0) return Status::kOk;
  // The layers of each resolution of each component that the entries hold, from layer 0 on.
  int32_t layers[CJ2K_MAX_COMPONENTS][CJ2K_MAX_RESOLUTIONS] = {};
  for (int i = 0; i < p.num_poc; ++i) {
    CJ2K_TRY(check_progression(p, i, log));
    const cj2k_progression_change& entry = p.poc[i];
    for (int32_t c = entry.component_begin; c < entry.component_end; ++c) {
      for (int32_t r = entry.resolution_begin; r < entry.resolution_end; ++r) {
        layers[c][r] = std::max(layers[c][r], entry.layer_end);
      }
    }
  }
  for (int32_t c = 0; c < p.num_components; ++c) {
    for (int32_t r = 0; r <= p.levels; ++r) {
      if (layers[c][r] == p.layers) continue;
      return log.about("poc").fail(
          Status::kInvalid,
          "poc leaves out component %d, resolution %d, layers [%d, %d): its entries "
          "must hold every packet",
          c, r, layers[c][r], p.layers);
    }
  }
  return Status::kOk;
}

bool parse_regions(const Row& row, std::string_view text, cj2k_params* p) {
  p->num_roi = 0;
  if (text.empty()) return true;
  return for_each_part(text, '/', [&](std::string_view part) {
    int32_t n[5] = {};
    int count = 0;
    const bool ok = for_each_part(part, ',', [&](std::string_view number) {
      if (count == 5 || !parse_number(number, &n[count])) return false;
      return n[count] >= row.min && n[count++] <= row.max;
    });
    if (!ok || count < 4 || p->num_roi == CJ2K_MAX_REGIONS) return false;
    p->roi[p->num_roi++] = {n[0], n[1], n[2], n[3], n[4]};
    return true;
  });
}

Status print_regions(const cj2k_params& p, const Log& log, TextOut* out) {
  CJ2K_TRY(check_count("num_roi", p.num_roi, CJ2K_MAX_REGIONS, log));
  for (int i = 0; i < p.num_roi; ++i) {
    const cj2k_region& region = p.roi[i];
    if (i > 0) out->add("/");
    out->add_numbers({region.x, region.y, region.width, region.height});
    if (region.shift == 0) continue;
    out->add(",");
    out->add_number(region.shift);
  }
  return Status::kOk;
}

Status check_regions(const cj2k_params& p, const Log& log) {
  CJ2K_TRY(check_count("num_roi", p.num_roi, CJ2K_MAX_REGIONS, log));
  for (int i = 0; i < p.num_roi; ++i) {
    const cj2k_region& region = p.roi[i];
    const struct {
      const char* name;
      int32_t value, min, max;
    } fields[] = {{"x", region.x, 0, INT32_MAX},
                  {"y", region.y, 0, INT32_MAX},
                  {"width", region.width, 1, INT32_MAX},
                  {"height", region.height, 1, INT32_MAX},
                  {"shift", region.shift, 0, 255}};
    for (const auto& field : fields) {
      if (field.value >= field.min && field.value <= field.max) continue;
      return log.about("roi").fail(Status::kInvalid, "roi[%d].%s %d not in [%d, %d]", i, field.name,
                                   field.value, field.min, field.max);
    }
    const int64_t right = int64_t{p.image_offset_x} + p.width;
    const int64_t bottom = int64_t{p.image_offset_y} + p.height;
    if (region.x < right && region.y < bottom &&
        int64_t{region.x} + region.width > p.image_offset_x &&
        int64_t{region.y} + region.height > p.image_offset_y) {
      continue;
    }
    return log.about("roi").fail(
        Status::kInvalid,
        "roi[%d] %dx%d at %d,%d lies outside of the picture, [%d, %lld) x [%d, %lld) on "
        "the reference grid",
        i, region.width, region.height, region.x, region.y, p.image_offset_x,
        static_cast<long long>(right), p.image_offset_y, static_cast<long long>(bottom));
  }
  return Status::kOk;
}

}  // namespace cj2k

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: one budget for all frames of a sequence (--film-bytes, --film-rate).
#ifndef CJ2K_TOOLS_FILM_H_
#define CJ2K_TOOLS_FILM_H_

#include <cj2k.h>
#include <cj2k_film.h>

#include <cstdint>
#include <string>
#include <vector>

#include "options.h"

namespace cj2k_tool {

/// The frames of a film, in their order.
struct Film {
  std::vector<cj2k_curve> curves;  ///< what the first pass finds
  std::vector<int64_t> targets;    ///< bytes of each frame; empty in the first pass
};

bool is_film(const Options& options);
/// Refuses options that contradict a film. Throws UsageError.
void check_film_options(const Options& options);
/// Bytes of the film. Throws UsageError.
int64_t film_bytes(const Options& options, size_t num_frames);
/// Options of both passes: those of the run, with a cap of each frame: that of the options, else twice the
/// mean, or what the profile allows if that is less.
/// @param like  parameters of an encoder without the cap
Options film_options(const Options& options, size_t num_frames, cj2k_params like);
/// Reads the log of a first pass. Throws Failure.
/// @return false: there is no such file
bool read_log(const std::string& name, const cj2k_params& p, size_t num_frames, Film& film);
/// Throws Failure.
void write_log(const std::string& name, const cj2k_params& p, const Film& film);
/// Gives each frame its bytes. Throws Failure.
/// @return what they sum up to
int64_t allocate(const Options& options, const cj2k_params& p, Film& film);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_FILM_H_

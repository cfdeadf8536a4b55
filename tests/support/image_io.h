// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The file formats that the decoders and encoders in the tests read and write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/picture.h"

namespace cj2k::test {

std::optional<std::vector<uint8_t>> read_file(const std::filesystem::path& path);
bool write_file(const std::filesystem::path& path, const std::vector<uint8_t>& bytes);

/// One component: "PG ML|LM [+-]depth width height", as OpenJPEG and Grok write it.
std::optional<ComponentPlane> read_pgx(const std::filesystem::path& path);

/// PGM, PPM (binary) and PAM. The depth follows from the maximum in the header.
std::optional<Picture> read_pnm(const std::filesystem::path& path);
/// PGM for 1 component, PPM for 3, PAM otherwise. All components must be unsigned and have one size
/// and one depth.
bool write_pnm(const std::filesystem::path& path, const Picture& picture);

}  // namespace cj2k::test

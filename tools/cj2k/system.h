// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: what each operating system does its own way. Names of files are UTF-8 on Windows too, because the program's manifest
// says so, and with slashes.
#ifndef CJ2K_TOOLS_SYSTEM_H_
#define CJ2K_TOOLS_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace cj2k_tool {

/// Sets the standard streams up: no translation of line ends, and a terminal that knows UTF-8.
void set_up_streams();

/// Calls `handler` at the first signal that asks for the end; the second one ends the program. Writes fail, instead of ending it.
void catch_signals(void (*handler)(int signal));

bool is_terminal(std::FILE* file);

/// Names as std::filesystem has them, and back.
std::filesystem::path to_path(const std::string& name);
std::string to_name(const std::filesystem::path& path);

/// A name as the user wrote it, with slashes.
std::string with_slashes(std::string name);

/// The files in a folder. Throws Failure.
std::vector<std::string> names_in(const std::string& folder);

/// The files and folders that a pattern with *, ? and [...] names.
std::vector<std::string> names_like(const std::string& pattern);

/// Reads from a place in a file; several threads may.
/// @return bytes; 0: the file ends there; less than 0: an error, in errno
int64_t read_at(std::FILE* file, void* to, size_t bytes, int64_t at);

/// Asks for large pages in the part of memory that is made of them; nobody has touched it yet. Only a hint.
void advise_large_pages(void* memory, size_t bytes);

/// Keeps the memory that is freed for the next pictures of a sequence: what the system gives anew it clears first, page by
/// page. Call it before threads start. Only a hint.
void keep_freed_memory();

/// Renames a file, over another one if there is one.
/// @return false: an error, in errno
bool rename_file(const std::string& from, const std::string& to);

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_SYSTEM_H_

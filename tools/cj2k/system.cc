// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "system.h"

#include <dirent.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "failure.h"

namespace cj2k_tool {

// char would be in the encoding of the locale, which on Windows is not UTF-8.
std::filesystem::path to_path(const std::string& name) {
  size_t size = name.size();
#if defined(_WIN32)  // which knows no folder by a name that ends in a slash, but roots such as C:/
  while (size > 1 && (name[size - 1] == '/' || name[size - 1] == '\\') && name[size - 2] != ':')
    --size;
#endif
  return std::u8string(name.begin(), name.begin() + static_cast<ptrdiff_t>(size));
}

std::string to_name(const std::filesystem::path& path) {
  const std::u8string name = path.generic_u8string();
  return {name.begin(), name.end()};
}

/// The iterator of libstdc++ for this ends the program where there is no memory.
std::vector<std::string> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), closedir);
  if (dir == nullptr) throw Failure(folder + ": " + std::strerror(errno));
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(dir.get());
    if (entry == nullptr && errno != 0) throw Failure(folder + ": " + std::strerror(errno));
    if (entry == nullptr) return names;
    names.emplace_back(entry->d_name);
  }
}

}  // namespace cj2k_tool

#if defined(_WIN32)

#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>
#include <csignal>

extern "C" {
int _dowildcard = 0;  // MinGW's startup reads it: patterns in arguments stay
}

namespace cj2k_tool {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// Whether [...] at `set` has the character. `set` moves to its last byte.
bool is_in_set(const char*& set, const char* end, char c) {
  const bool negated = set[1] == '!';
  bool found = false;
  const char* at = set + (negated ? 2 : 1);
  const char* const close = std::find(std::min(at + 1, end), end, ']');
  for (; at < close; ++at) {
    const bool is_range = close - at > 2 && at[1] == '-';
    found |= lower(at[0]) <= c && c <= lower(at[is_range ? 2 : 0]);
    if (is_range) at += 2;
  }
  set = close;
  return found != negated;
}

bool is_like(const char* pattern, const char* end, const char* name) {
  for (; pattern < end; ++pattern, ++name) {
    if (*pattern == '*') {
      do
        if (is_like(pattern + 1, end, name)) return true;
      while (*name++ != 0);
      return false;
    }
    if (*name == 0) return false;
    if (*pattern == '[' && std::find(pattern, end, ']') != end) {
      if (!is_in_set(pattern, end, lower(*name))) return false;
    } else if (*pattern != '?' && lower(*pattern) != lower(*name)) {
      return false;
    }
  }
  return *name == 0;
}

/// Adds the names that begin with `folder`, which ends in a slash or is empty.
void add_names_like(const std::string& folder, const std::string& pattern,
                    std::vector<std::string>& names) {
  const size_t end = std::min(pattern.find('/'), pattern.size());
  const std::string part = pattern.substr(0, end);
  const std::string rest = pattern.substr(std::min(end + 1, pattern.size()));
  std::error_code ignored;
  const auto add = [&](const std::string& name) {
    if (end == pattern.size())
      names.push_back(folder + name);
    else if (std::filesystem::is_directory(to_path(folder + name + "/"), ignored))
      add_names_like(folder + name + "/", rest, names);
  };
  if (part.find_first_of("*?[") == std::string::npos) {
    if (end < pattern.size() || std::filesystem::exists(to_path(folder + part), ignored)) add(part);
    return;
  }
  for (const std::string& name : names_in(folder.empty() ? "." : folder))
    if ((name[0] != '.' || part[0] == '.') && is_like(part.data(), part.data() + end, name.c_str()))
      add(name);
}

}  // namespace

void set_up_streams() {
  for (std::FILE* const file : {stdin, stdout, stderr}) _setmode(_fileno(file), _O_BINARY);
  SetConsoleOutputCP(CP_UTF8);
  HANDLE terminal = GetStdHandle(STD_ERROR_HANDLE);
  DWORD mode = 0;
  if (GetConsoleMode(terminal, &mode) != 0)
    SetConsoleMode(terminal, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

void catch_signals(void (*handler)(int)) {
  for (const int signal : {SIGINT, SIGTERM, SIGBREAK}) std::signal(signal, handler);
}

bool is_terminal(std::FILE* file) { return _isatty(_fileno(file)) != 0; }

std::string with_slashes(std::string name) {
  std::replace(name.begin(), name.end(), '\\', '/');
  return name;
}

std::vector<std::string> names_like(const std::string& pattern) {
  std::vector<std::string> names;
  add_names_like("", pattern, names);
  return names;
}

int64_t read_at(std::FILE* file, void* to, size_t bytes, int64_t at) {
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(at);
  place.OffsetHigh = static_cast<DWORD>(at >> 32);
  DWORD got = 0;
  const auto want = static_cast<DWORD>(std::min(bytes, size_t{1} << 30));
  if (ReadFile(reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(file))), to, want, &got, &place) ||
      GetLastError() == ERROR_HANDLE_EOF)
    return got;
  errno = EIO;
  return -1;
}

void advise_large_pages(void*, size_t) {}

void keep_freed_memory() {}

bool rename_file(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(to_path(from), to_path(to), error);
  errno = error.default_error_condition().value();
  return !error;
}

}  // namespace cj2k_tool

#else

#include <glob.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace cj2k_tool {

void set_up_streams() {}

void catch_signals(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  // Errors of the write, which then names the file and takes away what is unfinished.
  for (const int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_IGN);
}

bool is_terminal(std::FILE* file) { return isatty(fileno(file)) != 0; }

std::string with_slashes(std::string name) { return name; }

std::vector<std::string> names_like(const std::string& pattern) {
  glob_t found = {};
  const int status = glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> names(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (status == GLOB_NOSPACE) throw std::bad_alloc();
  return names;
}

int64_t read_at(std::FILE* file, void* to, size_t bytes, int64_t at) {
  ssize_t got;
  do got = pread(fileno(file), to, bytes, at);
  while (got < 0 && errno == EINTR);
  return got;
}

void advise_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr uintptr_t kLargePage = uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (begin + kLargePage - 1) / kLargePage * kLargePage;
  const uintptr_t end = (begin + bytes) / kLargePage * kLargePage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_MAX, 0);  // large blocks come from the heap
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_ARENA_MAX, 1);  // heaps of threads are too small for pictures
#endif
}

bool rename_file(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0;
}

}  // namespace cj2k_tool

#endif

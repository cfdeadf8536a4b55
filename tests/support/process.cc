// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "support/process.h"

#if defined(_WIN32)
#include <cstdio>
#else
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <cstdlib>
#include <random>

#if !defined(_WIN32)
extern char** environ;
#endif

namespace cj2k::test {

TempDir::TempDir() {
  std::random_device random;
  do {
    path_ = std::filesystem::temp_directory_path() / ("cj2k_test_" + std::to_string(random()));
  } while (!std::filesystem::create_directory(path_));
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

#if defined(_WIN32)

constexpr char kPathSeparator = ';';
constexpr const char* kProgramEnd = ".exe";

ProcessResult run_process(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += '"' + word + "\" ";
  ProcessResult result;
  // cmd removes the outer quotes.
  std::FILE* const pipe = _popen(('"' + line + "< nul 2>&1\"").c_str(), "rb");
  if (pipe == nullptr) return result;
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, pipe))
    result.output.append(buffer, n);
  result.exit_code = _pclose(pipe);
  return result;
}

#else

constexpr char kPathSeparator = ':';
constexpr const char* kProgramEnd = "";

ProcessResult run_process(const std::vector<std::string>& command) {
  ProcessResult result;
  int ends[2];
  if (pipe(ends) != 0) return result;  // macOS has no pipe2
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);

  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) {
    char buffer[4096];
    ssize_t n;
    while ((n = read(ends[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)) {
      if (n > 0) result.output.append(buffer, static_cast<size_t>(n));
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  } else {
    result.exit_code = 127;
  }
  close(ends[0]);
  return result;
}

#endif

bool have_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  const std::string folders = path != nullptr ? path : "";
  std::error_code ignored;
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(kPathSeparator, begin), folders.size());
    const std::string file = folders.substr(begin, end - begin) + "/" + name + kProgramEnd;
    if (std::filesystem::is_regular_file(file, ignored)) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace cj2k::test

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "reader.h"

#include <exception>
#include <string>
#include <utility>

#include "failure.h"

namespace cj2k_tool {

ReadAhead::ReadAhead(const std::vector<Frame>& frames, const std::string& trc, int readers)
    : frames_(frames), trc_(trc), reads_(static_cast<size_t>(readers) + 2) {
  threads_.reserve(static_cast<size_t>(readers));
  try {
    for (int i = 0; i < readers && static_cast<size_t>(i) < frames.size(); ++i)
      threads_.emplace_back([this] { run(); });
  } catch (const std::exception& error) {  // those that there are read all
    if (threads_.empty())
      throw Failure(std::string("no thread that reads can be started: ") + reason_of(error));
  }
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReadAhead::run() {
  for (;;) {
    size_t mine;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] {
        return stop_ || begun_ == frames_.size() || begun_ < taken_ + reads_.size();
      });
      if (stop_ || begun_ == frames_.size()) return;
      mine = begun_++;
    }
    Read read{true, nullptr, nullptr};
    try {
      read.picture = read_picture(frames_[mine], trc_);
    } catch (...) {
      read.error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      reads_[mine % reads_.size()] = std::move(read);
    }
    changed_.notify_all();
  }
}

std::unique_ptr<Picture> ReadAhead::next() {
  Read read;
  {
    std::unique_lock lock(mutex_);
    Read& first = reads_[taken_ % reads_.size()];
    changed_.wait(lock, [&first] { return first.is_done; });
    read = std::exchange(first, {});
    ++taken_;
  }
  changed_.notify_all();
  if (read.error) std::rethrow_exception(read.error);
  return std::move(read.picture);
}

}  // namespace cj2k_tool

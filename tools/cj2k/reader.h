// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// cj2k: pictures that are read ahead, several at a time.
#ifndef CJ2K_TOOLS_READER_H_
#define CJ2K_TOOLS_READER_H_

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "frames.h"
#include "picture.h"

namespace cj2k_tool {

class ReadAhead {
 public:
  /// @param frames  must outlive this
  /// @param readers  threads; as many pictures and two more are in memory at most
  ReadAhead(const std::vector<Frame>& frames, const std::string& trc, int readers);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The next picture, in the order of the frames. Throws what reading it threw.
  std::unique_ptr<Picture> next();

 private:
  struct Read {
    bool is_done = false;
    std::unique_ptr<Picture> picture;
    std::exception_ptr error;
  };
  void run();

  const std::vector<Frame>& frames_;
  const std::string trc_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t begun_ = 0, taken_ = 0;
  bool stop_ = false;
  std::vector<Read> reads_;  ///< of frame n at n modulo the size
  std::vector<std::thread> threads_;
};

}  // namespace cj2k_tool

#endif  // CJ2K_TOOLS_READER_H_

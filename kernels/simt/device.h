// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A GPU as the host sees it: devices, contexts, streams, events and memory, without a CUDA type.
// Over the driver's API (driver.h), which is libcuda.so.1 found at run time, or the shim's.
//
// Errors: a Status, and one line in the context's log where it happens. Out of memory is kNoMemory
// and leaves the context usable. An error that the driver calls sticky, or a lost device, poisons
// the context: every later call fails at once with kDevice, owners release without complaint.
//
// Device addresses are plain pointers that the host must not follow. Copies are asynchronous: host
// memory (PinnedBuffer, or the copy waits) stays untouched until the stream has passed them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "kernels/simt/types.h"

namespace cj2k::simt {

struct Driver;

struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  std::string uuid;  ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as nvidia-smi prints it
  int compute_major = 0, compute_minor = 0;
  int num_multiprocessors = 0;
  int max_smem_bytes = 0;  ///< per block, after opting in
  size_t total_bytes = 0;
};

/// How often this process has made a primary context: has asked for one that no Context held. For
/// tests: the driver takes a fraction of a second for each.
uint64_t num_primary_contexts_made();

/// The oldest compute capability that has kernels.
inline constexpr int kMinComputeMajor = 7, kMinComputeMinor = 5;

/// Devices, usable or not; 0 where there is no driver.
int num_devices();
/// One of them. kDevice and a line where the driver does not tell.
Status describe_device(int ordinal, const Log& log, DeviceInfo* info);
/// kOk | kNotSupported and a line: its compute capability has no kernels.
Status check_usable(const DeviceInfo& info, const Log& log);
/// All devices, usable or not. kDevice and a line where there is no driver or no device.
Status list_devices(const Log& log, std::vector<DeviceInfo>* devices);

/// Which device, and whose context.
struct DeviceChoice {
  int ordinal = 0;
  std::string uuid;            ///< if not empty, instead of the ordinal; with or without "GPU-"
  void* cu_context = nullptr;  ///< an application's CUcontext: used instead, never destroyed
};

/// A kernel as the launcher knows it; made by CJ2K_KERNEL (launch.h).
class KernelInfo {
 public:
  struct Sizes {
    uint32_t threads, smem_bytes, param_bytes;
  };
  KernelInfo(const char* name, const void* image, Sizes sizes);
  KernelInfo(const KernelInfo&) = delete;
  KernelInfo& operator=(const KernelInfo&) = delete;

  const char* const name;
  const void* const image;
  const Sizes sizes;
  const size_t index;            ///< 0 .. num_kernels() - 1
  const KernelInfo* const next;  ///< all kernels of the program
  static const KernelInfo* first();

  /// Launches that the driver has taken, of the whole process. For tests: which kernels ran.
  uint64_t num_launches() const { return num_launches_.load(std::memory_order_relaxed); }

 private:
  friend class Stream;
  mutable std::atomic<uint64_t> num_launches_ = 0;
};

/// One device's context. Must outlive what is made in it. Thread-safe.
class Context {
 public:
  static Status open(const DeviceChoice& choice, const Log& log, std::unique_ptr<Context>* context);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const DeviceInfo& info() const { return info_; }
  void* cu_context() const { return cu_context_; }
  const Log& log() const { return log_; }
  /// Not while others use the context.
  void set_log(const Log& log) { log_ = log; }
  Status memory(size_t* free_bytes, size_t* total_bytes);
  /// Loads all kernels of the program, so that no launch has to.
  Status load_kernels();
  /// Waits for all streams. Not for the frame loop.
  Status synchronize();
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }

  // For the owners below.
  const Driver& driver() const { return *driver_; }
  /// kOk, or the status of a driver's error code, logged once as "`what` failed: ...".
  Status check(int cu_result, const char* what);
  Status function(const KernelInfo& kernel, void** cu_function);

  /// Makes the context current for the calling thread while it lives; may nest. Every call here
  /// takes one itself; around a longer sequence it saves their cost.
  class Scope {
   public:
    /// @param quiet  an error is no line in the log: for who gives something back
    explicit Scope(Context& context, bool quiet = false);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    Status status() const { return status_; }
    /// Whether calls can be made at all, be it in a poisoned context.
    bool current() const { return context_ != nullptr; }

   private:
    Context* context_;
    Context* outer_;
    Status status_;
  };

 private:
  Context(const Driver* driver, const Log& log) : driver_(driver), log_(log) {}

  const Driver* driver_;
  Log log_;
  DeviceInfo info_;
  void* cu_context_ = nullptr;
  int cu_device_ = 0;
  bool primary_ = false;  ///< retained by us
  std::atomic<bool> poisoned_ = false;
  std::mutex functions_mutex_;
  std::vector<void*> functions_;                        ///< by KernelInfo::index
  std::vector<std::pair<const void*, void*>> modules_;  ///< image, CUmodule
};

/// Uninitialised device memory, aligned to 256 bytes.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() { reset(); }
  /// Replaces what was held. kNoMemory with the figures.
  Status allocate(Context& context, size_t bytes);
  /// Waits for the device where work is still in flight.
  void reset();

  size_t bytes() const { return bytes_; }
  template <typename V>
  V* as(size_t offset_bytes = 0) const {
    return reinterpret_cast<V*>(address_ + offset_bytes);
  }

 private:
  void swap(DeviceBuffer& other) {
    std::swap(context_, other.context_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  Context* context_ = nullptr;
  uintptr_t address_ = 0;
  size_t bytes_ = 0;
};

/// Uninitialised host memory that the device copies from and to directly.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(PinnedBuffer&& other) noexcept { swap(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~PinnedBuffer() { reset(); }
  Status allocate(Context& context, size_t bytes);
  void reset();

  size_t bytes() const { return bytes_; }
  template <typename V>
  V* as(size_t offset_bytes = 0) const {
    return reinterpret_cast<V*>(static_cast<uint8_t*>(data_) + offset_bytes);
  }

 private:
  void swap(PinnedBuffer& other) {
    std::swap(context_, other.context_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  Context* context_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// A place in a stream's order.
class Event {
 public:
  Event() = default;
  Event(Event&& other) noexcept { swap(other); }
  Event& operator=(Event&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Event() { reset(); }
  Status create(Context& context, bool timing = false);
  void reset();

  /// Sleeps until the last record has been passed.
  Status synchronize();
  Status query(bool* passed);
  /// Both with timing and passed.
  Status elapsed_ms(const Event& since, float* milliseconds);

 private:
  friend class Stream;
  void swap(Event& other) {
    std::swap(context_, other.context_);
    std::swap(cu_event_, other.cu_event_);
  }
  Context* context_ = nullptr;
  void* cu_event_ = nullptr;
};

enum class CopyKind { kUpload, kDownload, kDevice };

struct Copy2D {
  CopyKind kind;
  void* to;
  size_t to_pitch_bytes;
  const void* from;
  size_t from_pitch_bytes;
  size_t row_bytes;
  size_t num_rows;
};

/// Work in order. Between streams there is no order but by events.
class Stream {
 public:
  Stream() = default;
  Stream(Stream&& other) noexcept { swap(other); }
  Stream& operator=(Stream&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Stream() { reset(); }
  /// @param high_priority  before others where the device can choose
  Status create(Context& context, bool high_priority = false);
  /// An application's CUstream of the same context (null: its default stream); never destroyed.
  Status adopt(Context& context, void* cu_stream);
  /// Does not wait: what is in the stream still runs.
  void reset();

  Status upload(void* to_device, const void* from_host, size_t bytes);
  Status download(void* to_host, const void* from_device, size_t bytes);
  Status copy(void* to_device, const void* from_device, size_t bytes);
  Status copy_2d(const Copy2D& copy);
  Status fill(void* device, uint8_t value, size_t bytes);
  Status fill_u32(void* device, uint32_t value, size_t count);
  /// See simt::launch.
  Status launch(const KernelInfo& kernel, Dim3 grid, const void* params);

  Status record(Event& event);
  Status wait(const Event& event);
  Status synchronize();
  Status query(bool* done);

  Context& context() const { return *context_; }
  void* cu_stream() const { return cu_stream_; }

 private:
  void swap(Stream& other) {
    std::swap(context_, other.context_);
    std::swap(cu_stream_, other.cu_stream_);
    std::swap(owned_, other.owned_);
  }
  Context* context_ = nullptr;
  void* cu_stream_ = nullptr;
  bool owned_ = false;
};

}  // namespace cj2k::simt

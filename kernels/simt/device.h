// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
//
// A GPU as the host sees it: devices, contexts, streams, events and memory, without any CUDA type.
// The implementation calls the driver API (driver.h): libcuda.so.1, found at run time, or the shim.
//
// Errors: a function returns a Status and writes one line to the context's log where the error
// occurs. Out of memory is kNoMemory and leaves the context usable. A sticky error of the driver,
// or a lost device, poisons the context: every later call fails at once with kDevice, and owners
// release their resources without logging errors. Work that does not end within the watchdog's time
// (kWatchdogSeconds, or CJ2K_DEVICE_TIMEOUT in the environment) also poisons it; then nothing is
// released, because the driver would wait for that work.
//
// Device addresses are plain pointers that the host must not dereference. Copies are asynchronous:
// their host memory must stay unchanged until the stream has passed the copy. It should be a
// PinnedBuffer; with other memory the copy waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  int max_smem_bytes = 0;  ///< shared memory per block, in bytes, for kernels that ask for it
  size_t total_bytes = 0;
};

/// How many primary contexts this process has created, which means: retained one while no Context
/// held it. For tests, because the driver takes a fraction of a second to create one.
uint64_t num_primary_contexts_made();

/// The lowest compute capability that the kernels support.
inline constexpr int kMinComputeMajor = 7, kMinComputeMinor = 5;

/// Number of devices, usable or not; 0 if there is no driver.
int num_devices();
/// Describes one device. Returns kDevice and logs a line if the driver cannot describe it.
Status describe_device(int ordinal, const Log& log, DeviceInfo* info);
/// @return kOk | kNotSupported: the kernels do not support its compute capability; logs a line
Status check_usable(const DeviceInfo& info, const Log& log);
/// Lists all devices, usable or not. Returns kDevice and logs a line if there is no driver or no
/// device.
Status list_devices(const Log& log, std::vector<DeviceInfo>* devices);

/// How long a wait may take, in seconds. CJ2K_DEVICE_TIMEOUT replaces it, e.g. for debuggers; 0: for
/// ever.
inline constexpr double kWatchdogSeconds = 60;

/// Selects a device and a context on it.
struct DeviceChoice {
  int ordinal = 0;
  std::string uuid;            ///< if not empty: replaces the ordinal; with or without "GPU-"
  void* cu_context = nullptr;  ///< if not null: an application's CUcontext to use; never destroyed
};

/// What the host knows about a kernel. CJ2K_KERNEL (launch.h) defines it.
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
  const size_t index;            ///< 0 .. number of kernels - 1
  const KernelInfo* const next;  ///< the next in the list of all kernels of the program
  static const KernelInfo* first();

  /// Number of launches that the driver has accepted in this process. Tests use it to see which
  /// kernels ran.
  uint64_t num_launches() const { return num_launches_.load(std::memory_order_relaxed); }

 private:
  friend class Stream;
  mutable std::atomic<uint64_t> num_launches_ = 0;
};

/// A context on one device. It must outlive all objects that are created in it. Thread-safe.
class Context {
 public:
  static Status open(const DeviceChoice& choice, const Log& log, std::unique_ptr<Context>* context);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const DeviceInfo& info() const { return info_; }
  void* cu_context() const { return cu_context_; }
  const Log& log() const { return log_; }
  /// Must not be called while other threads use the context.
  void set_log(const Log& log) { log_ = log; }
  Status memory(size_t* free_bytes, size_t* total_bytes);
  /// Whether host memory is page-locked, at both ends.
  bool is_page_locked(const void* data, size_t bytes);
  /// Loads the kernels of the program that are needed, so that no launch has to load one. A driver may
  /// have to compile them, which takes seconds for all.
  Status load_kernels(const std::function<bool(const KernelInfo&)>& is_needed);
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  /// Poisoned because work did not end: no call of the driver is safe that may wait for it.
  bool hung() const { return hung_.load(std::memory_order_acquire); }

  // For the owner classes below.
  const Driver& driver() const { return *driver_; }
  /// Turns a result of the driver into a Status and logs an error once, as "`what` failed ...".
  Status check(int cu_result, const char* what);
  Status function(const KernelInfo& kernel, void** cu_function);
  /// Asks the driver again and again, and sleeps in between, until an event or a stream is done.
  Status wait(int (*query)(void*), void* handle, const char* what);

  /// Makes the context current for the calling thread during the Scope's lifetime; Scopes may nest.
  /// Every call of this header makes its own. A Scope around a longer sequence saves their cost.
  class Scope {
   public:
    /// @param quiet  errors are not logged: for callers that release a resource
    explicit Scope(Context& context, bool quiet = false);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    Status status() const { return status_; }
    /// Whether the driver can be called; also true in a poisoned context.
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
  bool primary_ = false;  ///< cu_context_ is a primary context that we retained
  std::atomic<bool> poisoned_ = false, hung_ = false;
  double watchdog_seconds_ = kWatchdogSeconds;
  std::mutex functions_mutex_;
  std::vector<void*> functions_;                        ///< CUfunction by KernelInfo::index
  std::vector<std::pair<const void*, void*>> modules_;  ///< image and its CUmodule
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
  /// Releases the old memory first. Out of memory: kNoMemory, and the log line has the figures.
  Status allocate(Context& context, size_t bytes);
  /// Frees the memory. Waits for the device if work is still in flight.
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

/// Uninitialised page-locked host memory, which the device copies from and to directly.
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

/// A marker in a stream: it is passed when all work before it is done.
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

  /// Sleeps until the stream has passed the last record of this event.
  Status synchronize();
  /// Time from `since` to this event. Both must have been created with timing, and passed.
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

/// Rows of host memory to upload.
struct RowsUpload {
  void* to;
  size_t to_pitch_bytes;
  const void* from;
  size_t from_pitch_bytes;
  size_t row_bytes;
  size_t num_rows;
};

/// Which stream's work the device prefers where it has a choice.
enum class Priority : uint8_t { kLow, kMiddle, kHigh };

/// A queue of work that runs in order. Only events order the work of different streams.
class Stream {
 public:
  Stream() = default;
  Stream(Stream&& other) noexcept { swap(other); }
  Stream& operator=(Stream&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Stream() { reset(); }
  Status create(Context& context, Priority priority = Priority::kLow);
  /// Uses an application's CUstream of the same context (null: its default stream). It is never
  /// destroyed.
  Status adopt(Context& context, void* cu_stream);
  /// Does not wait: work that is already in the stream still runs.
  void reset();

  Status upload(void* to_device, const void* from_host, size_t bytes);
  Status download(void* to_host, const void* from_device, size_t bytes);
  Status copy(void* to_device, const void* from_device, size_t bytes);
  Status upload_rows(const RowsUpload& rows);
  Status fill(void* device, uint8_t value, size_t bytes);
  Status fill_u32(void* device, uint32_t value, size_t count);
  /// Launches a kernel; call simt::launch (launch.h) instead.
  Status launch(const KernelInfo& kernel, Dim3 grid, const void* params);

  Status record(Event& event);
  Status wait(const Event& event);
  Status synchronize();

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

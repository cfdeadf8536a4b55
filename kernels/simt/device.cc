// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/simt/device.h"

#include <cassert>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "kernels/simt/driver.h"

namespace cj2k::simt {
namespace {

constinit const KernelInfo* g_kernels = nullptr;

/// The context that the innermost Scope of this thread made current.
thread_local Context* t_current = nullptr;

/// Counts the Contexts that hold the primary context of each device.
struct PrimaryContexts {
  std::mutex mutex;
  std::vector<int> holders;  ///< [device] number of Contexts
  uint64_t made = 0;
};
PrimaryContexts& primary_contexts() {
  static PrimaryContexts contexts;
  return contexts;
}

int retain_primary(const Driver& driver, int device, void** cu_context) {
  PrimaryContexts& all = primary_contexts();
  const std::lock_guard lock(all.mutex);
  const int error = driver.primary_context_retain(cu_context, device);
  if (error != cu::kSuccess) return error;
  const auto index = static_cast<size_t>(device);
  if (all.holders.size() <= index) all.holders.resize(index + 1);
  all.made += all.holders[index]++ == 0;
  return error;
}

void release_primary(const Driver& driver, int device) {
  PrimaryContexts& all = primary_contexts();
  const std::lock_guard lock(all.mutex);
  driver.primary_context_release(device);
  --all.holders[static_cast<size_t>(device)];
}

/// Whether an error is sticky (only the end of the process clears it), or comes from a lost device.
bool is_fatal(int error) {
  return (error >= cu::kErrorIllegalAddress && error <= cu::kErrorLaunchFailed &&
          error != cu::kErrorLaunchOutOfResources) ||
         error == cu::kErrorEccUncorrectable || error == cu::kErrorUnknown ||
         error == 4 /* deinitialized */ || error == 46 /* device unavailable */ ||
         error == 101 /* invalid device */ || error == 220 /* NVLink */;
}

std::string describe(const Driver& driver, int error) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.error_name(error, &name) != cu::kSuccess) name = nullptr;
  if (driver.error_string(error, &text) != cu::kSuccess) text = nullptr;
  char line[256];
  std::snprintf(line, sizeof line, "%s (%d): %s", name != nullptr ? name : "CUDA error", error,
                text != nullptr ? text : "unknown");
  return line;
}

Status fail(const Driver& driver, const Log& log, int error, const char* what) {
  return log.fail(Status::kDevice, "%s failed: %s", what, describe(driver, error).c_str());
}

Status fail(const Driver& driver, const Log& log, int error, const char* what, int ordinal) {
  return log.fail(Status::kDevice, "CUDA device %d: %s failed: %s", ordinal, what,
                  describe(driver, error).c_str());
}

std::string uuid_text(const CuUuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += hex;
  }
  return text;
}

/// The hex digits of a UUID in lower case, without prefix and hyphens.
std::string uuid_digits(const std::string& text) {
  std::string digits;
  const size_t begin = text.rfind("GPU-", 0) == 0 || text.rfind("gpu-", 0) == 0 ? 4 : 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] != '-')
      digits += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
  }
  return digits;
}

Status query_device(const Driver& driver, const Log& log, int ordinal, int device,
                    DeviceInfo* info) {
  char name[256] = "";
  CuUuid uuid = {};
  int error = driver.device_name(name, sizeof name, device);
  if (error == cu::kSuccess) error = driver.device_uuid(&uuid, device);
  if (error == cu::kSuccess) error = driver.device_total_bytes(&info->total_bytes, device);
  const struct {
    int attribute;
    int* value;
  } attributes[] = {
      {cu::kAttributeMajor, &info->compute_major},
      {cu::kAttributeMinor, &info->compute_minor},
      {cu::kAttributeMultiprocessors, &info->num_multiprocessors},
      {cu::kAttributeMaxSmem, &info->max_smem_bytes},
  };
  for (const auto& a : attributes) {
    if (error == cu::kSuccess) error = driver.device_attribute(a.value, a.attribute, device);
  }
  if (error != cu::kSuccess)
    return fail(driver, log, error, "reading the device properties", ordinal);
  info->name = name;
  info->uuid = uuid_text(uuid);
  return Status::kOk;
}

Status count_devices(const Driver& driver, const Log& log, int* count) {
  *count = 0;
  const int error = driver.device_count(count);
  if (error != cu::kSuccess && error != cu::kErrorNoDevice)
    return fail(driver, log, error, "counting CUDA devices");
  if (*count == 0) return log.fail(Status::kDevice, "no CUDA device: the CUDA driver finds none");
  return Status::kOk;
}

/// Releases a resource, also in a poisoned context. Failures are ignored, because no caller could
/// act on them.
template <typename Call>
void release(Context& context, const Call& call) {
  if (context.hung()) return;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Context::Scope scope(context, true);
    if (!scope.current()) continue;
    call(context.driver());
    return;
  }
}

double watchdog_seconds() {
  const char* text = std::getenv("CJ2K_DEVICE_TIMEOUT");
  if (text == nullptr) return kWatchdogSeconds;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  return end != text && seconds >= 0 ? seconds : kWatchdogSeconds;
}

CuDeviceAddress address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

}  // namespace

KernelInfo::KernelInfo(const char* name_in, const void* image_in, Sizes sizes_in)
    : name(name_in),
      image(image_in),
      sizes(sizes_in),
      index(g_kernels == nullptr ? 0 : g_kernels->index + 1),
      next(g_kernels) {
  g_kernels = this;
}

const KernelInfo* KernelInfo::first() { return g_kernels; }

uint64_t num_primary_contexts_made() {
  PrimaryContexts& all = primary_contexts();
  const std::lock_guard lock(all.mutex);
  return all.made;
}

int num_devices() {
  const Log silent;
  const Driver* driver = nullptr;
  int count = 0;
  if (load_driver(silent, &driver) != Status::kOk) return 0;
  return count_devices(*driver, silent, &count) == Status::kOk ? count : 0;
}

Status describe_device(int ordinal, const Log& log, DeviceInfo* info) {
  const Driver* driver = nullptr;
  CJ2K_TRY(load_driver(log, &driver));
  int device = 0;
  if (const int error = driver->device_get(&device, ordinal); error != cu::kSuccess) {
    return fail(*driver, log, error, "opening the device", ordinal);
  }
  info->ordinal = ordinal;
  return query_device(*driver, log, ordinal, device, info);
}

Status check_usable(const DeviceInfo& info, const Log& log) {
  if (info.compute_major > kMinComputeMajor ||
      (info.compute_major == kMinComputeMajor && info.compute_minor >= kMinComputeMinor)) {
    return Status::kOk;
  }
  return log.fail(Status::kNotSupported,
                  "CUDA device %d (%s) has compute capability %d.%d; %d.%d or later is needed",
                  info.ordinal, info.name.c_str(), info.compute_major, info.compute_minor,
                  kMinComputeMajor, kMinComputeMinor);
}

Status list_devices(const Log& log, std::vector<DeviceInfo>* devices) {
  devices->clear();
  const Driver* driver = nullptr;
  CJ2K_TRY(load_driver(log, &driver));
  int count = 0;
  CJ2K_TRY(count_devices(*driver, log, &count));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    devices->emplace_back();
    CJ2K_TRY(describe_device(ordinal, log, &devices->back()));
  }
  return Status::kOk;
}

Status Context::open(const DeviceChoice& choice, const Log& log, std::unique_ptr<Context>* result) {
  const Driver* driver = nullptr;
  CJ2K_TRY(load_driver(log, &driver));
  std::unique_ptr<Context> context(new Context(driver, log));
  context->watchdog_seconds_ = watchdog_seconds();
  int count = 0;
  CJ2K_TRY(count_devices(*driver, log, &count));

  int wanted = -1;
  if (choice.cu_context != nullptr) {
    int error = driver->context_push(choice.cu_context);
    if (error == cu::kSuccess) {
      error = driver->context_device(&wanted);
      void* popped = nullptr;
      const int pop_error = driver->context_pop(&popped);
      if (error == cu::kSuccess) error = pop_error;
    }
    if (error != cu::kSuccess) return fail(*driver, log, error, "using the given CUDA context");
  } else if (choice.uuid.empty() && (choice.ordinal < 0 || choice.ordinal >= count)) {
    return log.fail(Status::kInvalid, "CUDA device %d not in [0, %d]", choice.ordinal, count - 1);
  }
  int found = -1;
  for (int ordinal = 0; ordinal < count && found < 0; ++ordinal) {
    int device = 0;
    if (const int error = driver->device_get(&device, ordinal); error != cu::kSuccess) {
      return fail(*driver, log, error, "opening the device", ordinal);
    }
    if (choice.cu_context != nullptr ? device != wanted
                                     : choice.uuid.empty() && ordinal != choice.ordinal)
      continue;
    DeviceInfo info;
    CJ2K_TRY(query_device(*driver, log, ordinal, device, &info));
    if (choice.cu_context == nullptr && !choice.uuid.empty() &&
        uuid_digits(info.uuid) != uuid_digits(choice.uuid)) {
      continue;
    }
    found = ordinal;
    context->info_ = info;
    context->info_.ordinal = ordinal;
    context->cu_device_ = device;
  }
  if (found < 0) {
    return log.fail(Status::kInvalid, "no CUDA device %s among the %d present",
                    choice.uuid.empty() ? "of the given context" : choice.uuid.c_str(), count);
  }
  CJ2K_TRY(check_usable(context->info_, log));
  if (choice.cu_context != nullptr) {
    context->cu_context_ = choice.cu_context;
  } else {
    CJ2K_TRY(context->check(retain_primary(*driver, context->cu_device_, &context->cu_context_),
                            "creating a CUDA context"));
    context->primary_ = true;
  }
  *result = std::move(context);
  return Status::kOk;
}

Context::~Context() {
  if (cu_context_ == nullptr || hung()) return;
  release(*this, [this](const Driver& driver) {
    for (const auto& [image, module] : modules_) driver.module_unload(module);
  });
  if (primary_) release_primary(*driver_, cu_device_);
}

Status Context::check(int error, const char* what) {
  if (error == cu::kSuccess) return Status::kOk;
  if (poisoned()) return Status::kDevice;
  if (is_fatal(error)) {
    if (poisoned_.exchange(true, std::memory_order_acq_rel)) return Status::kDevice;
    return log_.fail(Status::kDevice,
                     "%s failed on CUDA device %d (%s), which cannot be used any more: %s", what,
                     info_.ordinal, info_.name.c_str(), describe(*driver_, error).c_str());
  }
  const Status status = error == cu::kErrorOutOfMemory ? Status::kNoMemory
                        : error == cu::kErrorInvalidValue || error == cu::kErrorInvalidHandle
                            ? Status::kInternal
                            : Status::kDevice;
  return log_.fail(status, "%s failed on CUDA device %d (%s): %s", what, info_.ordinal,
                   info_.name.c_str(), describe(*driver_, error).c_str());
}

Status Context::memory(size_t* free_bytes, size_t* total_bytes) {
  const Scope scope(*this);
  CJ2K_TRY(scope.status());
  return check(driver_->memory_info(free_bytes, total_bytes), "querying free device memory");
}

bool Context::is_page_locked(const void* data, size_t bytes) {
  const Scope scope(*this, true);
  if (scope.status() != Status::kOk) return false;
  for (const size_t at : {size_t{0}, bytes - 1}) {
    unsigned type = 0;
    const int error = driver_->pointer_attribute(&type, cu::kPointerMemoryType,
                                                 address(static_cast<const uint8_t*>(data) + at));
    if (error != cu::kSuccess || type != cu::kMemoryHost) return false;
  }
  return true;
}

Status Context::wait(int (*query)(void*), void* handle, const char* what) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::microseconds(50);
  const auto begin = Clock::now();
  for (;;) {
    const int error = query(handle);
    if (error != cu::kErrorNotReady) return check(error, what);
    if (hung()) return Status::kDevice;
    const std::chrono::duration<double> waited = Clock::now() - begin;
    if (watchdog_seconds_ > 0 && waited.count() > watchdog_seconds_) break;
    std::this_thread::sleep_for(kPause);
  }
  if (hung_.exchange(true, std::memory_order_acq_rel)) return Status::kDevice;
  poisoned_.store(true, std::memory_order_release);
  return log_.fail(
      Status::kDevice,
      "%s took more than %g s on CUDA device %d (%s), which cannot be used any more: its work does "
      "not end, or other programs keep it busy (CJ2K_DEVICE_TIMEOUT sets the seconds)",
      what, watchdog_seconds_, info_.ordinal, info_.name.c_str());
}

Status Context::function(const KernelInfo& kernel, void** cu_function) {
  const std::lock_guard lock(functions_mutex_);
  if (functions_.size() <= kernel.index) functions_.resize(KernelInfo::first()->index + 1);
  void*& function = functions_[kernel.index];
  if (function == nullptr) {
    void* module = nullptr;
    for (const auto& [image, loaded] : modules_) {
      if (image == kernel.image) module = loaded;
    }
    if (module == nullptr) {
      CJ2K_TRY(check(driver_->module_load(&module, kernel.image), "loading kernels"));
      modules_.emplace_back(kernel.image, module);
    }
    void* found = nullptr;
    CJ2K_TRY(check(driver_->module_function(&found, module, kernel.name), kernel.name));
    if (kernel.sizes.smem_bytes > kStaticSmemBytes) {
      CJ2K_TRY(check(driver_->function_set_attribute(found, cu::kFunctionMaxDynamicSmem,
                                                     static_cast<int>(kernel.sizes.smem_bytes)),
                     kernel.name));
    }
    // Kernels that divide the memory of a multiprocessor alike run on it at the same time.
    CJ2K_TRY(check(driver_->function_set_attribute(found, cu::kFunctionSmemCarveout, cu::kMostSmem),
                   kernel.name));
    function = found;
  }
  *cu_function = function;
  return Status::kOk;
}

Status Context::load_kernels(const std::function<bool(const KernelInfo&)>& is_needed) {
  const Scope scope(*this);
  CJ2K_TRY(scope.status());
  for (const KernelInfo* kernel = KernelInfo::first(); kernel != nullptr; kernel = kernel->next) {
    void* unused = nullptr;
    if (is_needed(*kernel)) CJ2K_TRY(function(*kernel, &unused));
  }
  return Status::kOk;
}

Context::Scope::Scope(Context& context, bool quiet)
    : context_(&context), outer_(t_current), status_(Status::kOk) {
  if (outer_ != context_) {
    const int error = context.driver_->context_push(context.cu_context_);
    if (error != cu::kSuccess) {
      context_ = nullptr;
      status_ = quiet ? Status::kDevice : context.check(error, "making the CUDA context current");
      return;
    }
    t_current = context_;
  }
  if (context.poisoned()) status_ = Status::kDevice;
}

Context::Scope::~Scope() {
  if (context_ == nullptr || outer_ == context_) return;
  void* popped = nullptr;
  context_->driver_->context_pop(&popped);
  t_current = outer_;
}

Status DeviceBuffer::allocate(Context& context, size_t bytes) {
  reset();
  if (bytes == 0) return Status::kOk;
  const Context::Scope scope(context);
  CJ2K_TRY(scope.status());
  CuDeviceAddress result = 0;
  const int error = context.driver().memory_allocate(&result, bytes);
  if (error == cu::kErrorOutOfMemory) {
    size_t free_bytes = 0, total_bytes = 0;
    if (context.driver().memory_info(&free_bytes, &total_bytes) != cu::kSuccess) free_bytes = 0;
    return context.log().fail(
        Status::kNoMemory, "cannot allocate %zu bytes on CUDA device %d (%s): %zu of %zu are free",
        bytes, context.info().ordinal, context.info().name.c_str(), free_bytes,
        context.info().total_bytes);
  }
  CJ2K_TRY(context.check(error, "allocating device memory"));
  context_ = &context;
  address_ = static_cast<uintptr_t>(result);
  bytes_ = bytes;
  return Status::kOk;
}

void DeviceBuffer::reset() {
  if (address_ != 0)
    release(*context_, [this](const Driver& driver) { driver.memory_free(address_); });
  context_ = nullptr;
  address_ = 0;
  bytes_ = 0;
}

Status PinnedBuffer::allocate(Context& context, size_t bytes) {
  reset();
  if (bytes == 0) return Status::kOk;
  const Context::Scope scope(context);
  CJ2K_TRY(scope.status());
  void* result = nullptr;
  const int error = context.driver().host_allocate(&result, bytes, 0);
  if (error == cu::kErrorOutOfMemory) {
    return context.log().fail(
        Status::kNoMemory,
        "cannot allocate %zu bytes of pinned host memory for CUDA device %d (%s)", bytes,
        context.info().ordinal, context.info().name.c_str());
  }
  CJ2K_TRY(context.check(error, "allocating pinned memory"));
  context_ = &context;
  data_ = result;
  bytes_ = bytes;
  return Status::kOk;
}

void PinnedBuffer::reset() {
  if (data_ != nullptr)
    release(*context_, [this](const Driver& driver) { driver.host_free(data_); });
  context_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

Status Event::create(Context& context, bool timing) {
  reset();
  const Context::Scope scope(context);
  CJ2K_TRY(scope.status());
  void* event = nullptr;
  const unsigned flags = timing ? 0 : cu::kEventDisableTiming;
  CJ2K_TRY(context.check(context.driver().event_create(&event, flags), "creating an event"));
  context_ = &context;
  cu_event_ = event;
  return Status::kOk;
}

void Event::reset() {
  if (cu_event_ != nullptr)
    release(*context_, [this](const Driver& driver) { driver.event_destroy(cu_event_); });
  context_ = nullptr;
  cu_event_ = nullptr;
}

Status Event::synchronize() {
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return context_->wait(context_->driver().event_query, cu_event_, "waiting for an event");
}

Status Event::elapsed_ms(const Event& since, float* milliseconds) {
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return context_->check(
      context_->driver().event_elapsed_ms(milliseconds, since.cu_event_, cu_event_),
      "reading the time between events");
}

Status Stream::create(Context& context, Priority priority) {
  reset();
  const Context::Scope scope(context);
  CJ2K_TRY(scope.status());
  void* stream = nullptr;
  // A lower number is a higher priority; the driver takes the nearest one that the device has.
  CJ2K_TRY(context.check(
      context.driver().stream_create(&stream, cu::kStreamNonBlocking, -static_cast<int>(priority)),
      "creating a stream"));
  context_ = &context;
  cu_stream_ = stream;
  owned_ = true;
  return Status::kOk;
}

Status Stream::adopt(Context& context, void* cu_stream) {
  reset();
  context_ = &context;
  cu_stream_ = cu_stream;
  return Status::kOk;
}

void Stream::reset() {
  if (owned_)
    release(*context_, [this](const Driver& driver) { driver.stream_destroy(cu_stream_); });
  context_ = nullptr;
  cu_stream_ = nullptr;
  owned_ = false;
}

Status Stream::upload(void* to_device, const void* from_host, size_t bytes) {
  if (bytes == 0) return Status::kOk;
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return context_->check(
      context_->driver().copy_upload(address(to_device), from_host, bytes, cu_stream_),
      "uploading");
}

Status Stream::download(void* to_host, const void* from_device, size_t bytes) {
  if (bytes == 0) return Status::kOk;
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return context_->check(
      context_->driver().copy_download(to_host, address(from_device), bytes, cu_stream_),
      "downloading");
}

Status Stream::copy(void* to_device, const void* from_device, size_t bytes) {
  if (bytes == 0) return Status::kOk;
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return context_->check(
      context_->driver().copy_device(address(to_device), address(from_device), bytes, cu_stream_),
      "copying");
}

Status Stream::upload_rows(const RowsUpload& rows) {
  if (rows.row_bytes == 0 || rows.num_rows == 0) return Status::kOk;
  // The driver limits the bytes of a row.
  if (rows.num_rows == 1) return upload(rows.to, rows.from, rows.row_bytes);
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  CuCopy2D c = {};
  c.src_memory_type = cu::kMemoryHost;
  c.src_host = rows.from;
  c.src_pitch = rows.from_pitch_bytes;
  c.dst_memory_type = cu::kMemoryDevice;
  c.dst_device = address(rows.to);
  c.dst_pitch = rows.to_pitch_bytes;
  c.width_bytes = rows.row_bytes;
  c.height = rows.num_rows;
  return context_->check(context_->driver().copy_2d(&c, cu_stream_), "uploading rows");
}

Status Stream::fill(void* device, uint8_t value, size_t bytes) {
  if (bytes == 0) return Status::kOk;
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return context_->check(context_->driver().fill_u8(address(device), value, bytes, cu_stream_),
                         "filling");
}

Status Stream::fill_u32(void* device, uint32_t value, size_t count) {
  if (count == 0) return Status::kOk;
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return context_->check(context_->driver().fill_u32(address(device), value, count, cu_stream_),
                         "filling");
}

Status Stream::launch(const KernelInfo& kernel, Dim3 grid, const void* params) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return Status::kOk;
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  void* function = nullptr;
  CJ2K_TRY(context_->function(kernel, &function));
  const uint32_t smem_bytes =
      kernel.sizes.smem_bytes > kStaticSmemBytes ? kernel.sizes.smem_bytes : 0;
  void* arguments[] = {const_cast<void*>(params)};
  CJ2K_TRY(context_->check(
      context_->driver().launch(function, grid.x, grid.y, grid.z, kernel.sizes.threads, 1, 1,
                                smem_bytes, cu_stream_, arguments, nullptr),
      kernel.name));
  kernel.num_launches_.fetch_add(1, std::memory_order_relaxed);
  return Status::kOk;
}

Status Stream::record(Event& event) {
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return context_->check(context_->driver().event_record(event.cu_event_, cu_stream_),
                         "recording an event");
}

Status Stream::wait(const Event& event) {
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return context_->check(context_->driver().stream_wait(cu_stream_, event.cu_event_, 0),
                         "making a stream wait for an event");
}

Status Stream::synchronize() {
  const Context::Scope scope(*context_);
  CJ2K_TRY(scope.status());
  return context_->wait(context_->driver().stream_query, cu_stream_, "waiting for a stream");
}

}  // namespace cj2k::simt

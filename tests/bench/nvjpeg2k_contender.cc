// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "bench/contender.h"

#ifdef CJ2K_HAVE_NVJPEG2K
#include <dlfcn.h>
#include <nvjpeg2k.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace cj2k::bench {
namespace {

// clang-format off
#define CJ2K_NV_FUNCTIONS(F) \
  F(EncoderCreateSimple) \
  F(EncoderDestroy) \
  F(EncodeStateCreate) \
  F(EncodeStateDestroy) \
  F(EncodeParamsCreate) \
  F(EncodeParamsDestroy) \
  F(EncodeParamsSetEncodeConfig) \
  F(EncodeParamsSpecifyQuality) \
  F(Encode) \
  F(EncodeRetrieveBitstream) \
  F(GetProperty)
// clang-format on

struct Library {
#define CJ2K_NV_MEMBER(name) decltype(&nvjpeg2k##name) name = nullptr;
  CJ2K_NV_FUNCTIONS(CJ2K_NV_MEMBER)
#undef CJ2K_NV_MEMBER
  std::string version;

  bool load(std::string* error) {
    const char* root = std::getenv("NVJPEG2K_ROOT");
    void* library = nullptr;
    for (const char* name : {"libnvjpeg2k.so.0", "libnvjpeg2k.so"}) {
      for (const char* folder : {"/lib/", "/lib64/"}) {
        if (library == nullptr && root != nullptr)
          library = dlopen((std::string(root) + folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      }
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) {
      const char* why = dlerror();
      *error = why != nullptr ? why : "libnvjpeg2k.so.0 not found";
      return false;
    }
#define CJ2K_NV_FIND(name)                                                   \
  name = reinterpret_cast<decltype(name)>(dlsym(library, "nvjpeg2k" #name)); \
  if (name == nullptr) {                                                     \
    *error = "libnvjpeg2k lacks nvjpeg2k" #name;                             \
    return false;                                                            \
  }
    CJ2K_NV_FUNCTIONS(CJ2K_NV_FIND)
#undef CJ2K_NV_FIND
    for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
      int number = 0;
      GetProperty(part, &number);
      version.append(version.empty() ? "" : ".").append(std::to_string(number));
    }
    return true;
  }
};

Library* library(std::string* error) {
  static Library loaded;
  static std::string why;
  static const bool good = loaded.load(&why);
  if (!good) *error = why;
  return good ? &loaded : nullptr;
}

class NvContender final : public Contender {
 public:
  ~NvContender() override {
    for (Lane& lane : lanes_) {
      if (lane.state != nullptr) nv_->EncodeStateDestroy(lane.state);
    }
    if (params_ != nullptr) nv_->EncodeParamsDestroy(params_);
    if (handle_ != nullptr) nv_->EncoderDestroy(handle_);
  }

  bool open(const Task& task, NvQuality quality, int32_t threads, Device* device,
            const DeviceClip* copy, std::string* error) {
    nv_ = library(error);
    if (nv_ == nullptr) return false;
    device_ = device;
    clip_ = task.clip;
    copy_ = copy;
    simt::Context::Scope scope(*device->context);
    size_t before = 0, after = 0, total = 0;
    if (device->context->memory(&before, &total) != Status::kOk) return false;
    lanes_.resize(static_cast<size_t>(threads));
    bool good = check(nv_->EncoderCreateSimple(&handle_), "nvjpeg2kEncoderCreateSimple") &&
                check(nv_->EncodeParamsCreate(&params_), "nvjpeg2kEncodeParamsCreate") &&
                configure(task);
    for (Lane& lane : lanes_) {
      good =
          good && check(nv_->EncodeStateCreate(handle_, &lane.state), "nvjpeg2kEncodeStateCreate");
      good = good && lane.stream.create(*device->context) == Status::kOk;
      good =
          good && lane.output.allocate(*device->context, clip_->frame_bytes() * 2) == Status::kOk;
    }
    if (good && !task.lossless) good = search(quality, task.target_bytes);
    size_t ignored = 0;
    for (Lane& lane : lanes_) good = good && encode(lane, 0, &ignored);
    if (!good) {
      *error = error_;
      return false;
    }
    if (device->context->memory(&after, &total) == Status::kOk && after < before)
      device_bytes = static_cast<int64_t>(before - after);
    encoder = "nvJPEG2000 " + nv_->version + (task.is_ht() ? " HT" : "") + " x" +
              std::to_string(threads) + setting_;
    tier1 = gop = std::string(1, '-');
    boundary = Boundary::kDeviceToHost;
    frames_in_flight = threads;
    return true;
  }

  int64_t min_frames() const override { return static_cast<int64_t>(lanes_.size()) * 4; }

  bool run(int64_t frames, int64_t hash_frames, Round* round) override {
    *round = {};
    round->frames = frames;
    std::atomic<int64_t> next = 0, bytes = 0, largest = 0;
    std::atomic<bool> good = true;
    const double cpu = process_cpu_seconds(), start = wall_seconds();
    std::vector<std::thread> threads;
    for (Lane& lane : lanes_) {
      threads.emplace_back([&] {
        simt::Context::Scope scope(*device_->context);
        for (int64_t f = next++; f < frames && good; f = next++) {
          size_t size = 0;
          if (!encode(lane, f, &size)) good = false;
          bytes += static_cast<int64_t>(size);
          for (int64_t seen = largest; static_cast<int64_t>(size) > seen;) {
            if (largest.compare_exchange_weak(seen, static_cast<int64_t>(size))) break;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    round->seconds = wall_seconds() - start;
    round->cpu_seconds = process_cpu_seconds() - cpu;
    round->steady_fps = static_cast<double>(frames) / round->seconds;
    round->bytes = bytes;
    round->largest_bytes = largest;
    if (good && hash_frames > 0) {
      simt::Context::Scope scope(*device_->context);
      size_t size = 0;
      good = encode(lanes_[0], 0, &size);
      const uint8_t* data = lanes_[0].output.as<uint8_t>();
      if (good) round->first.assign(data, data + size);
    }
    return good;
  }

 private:
  struct Lane {
    nvjpeg2kEncodeState_t state = nullptr;
    simt::Stream stream;
    simt::PinnedBuffer output;
  };

  bool check(nvjpeg2kStatus_t status, const char* what) {
    if (status == NVJPEG2K_STATUS_SUCCESS) return true;
    error_ = std::string(what) + " failed with " + std::to_string(status);
    return false;
  }

  bool configure(const Task& task) {
    for (nvjpeg2kImageComponentInfo_t& info : components_) {
      info = {static_cast<uint32_t>(clip_->width), static_cast<uint32_t>(clip_->height),
              static_cast<uint8_t>(clip_->depth), 0};
    }
    nvjpeg2kEncodeConfig_t config = {};
    config.stream_type = NVJPEG2K_STREAM_J2K;
    config.color_space = NVJPEG2K_COLORSPACE_SRGB;
    config.image_width = static_cast<uint32_t>(clip_->width);
    config.image_height = static_cast<uint32_t>(clip_->height);
    config.num_components = Clip::kComponents;
    config.image_comp_info = components_;
    config.prog_order = NVJPEG2K_LRCP;
    config.num_layers = 1;
    config.mct_mode = 1;
    config.num_resolutions = static_cast<uint32_t>(task.levels) + 1;
    config.code_block_w = config.code_block_h = static_cast<uint32_t>(task.cblk);
    config.irreversible = task.lossless ? 0 : 1;
    if (task.is_ht()) {
#ifdef NVJPEG2K_MODE_HT  // in 0.11
      config.rsiz = NVJPEG2K_RSIZ_HT;
      config.encode_modes = NVJPEG2K_MODE_HT;
#else
      error_ = "nvjpeg2k.h of this build has no HT";
      return false;
#endif
    }
    return check(nv_->EncodeParamsSetEncodeConfig(params_, &config),
                 "nvjpeg2kEncodeParamsSetEncodeConfig");
  }

  /// Encodes one frame. The codestream arrives in host memory.
  bool encode(Lane& lane, int64_t index, size_t* size) {
    void* planes[Clip::kComponents];
    size_t pitches[Clip::kComponents];
    for (int32_t c = 0; c < Clip::kComponents; ++c) {
      planes[c] = copy_->frames[static_cast<size_t>(index) % copy_->frames.size()].as<uint8_t>(
          c * clip_->plane_bytes());
      pitches[c] = clip_->row_bytes();
    }
    const nvjpeg2kImage_t image = {planes, pitches,
                                   clip_->word_bytes() == 2 ? NVJPEG2K_UINT16 : NVJPEG2K_UINT8,
                                   Clip::kComponents};
    const auto stream = static_cast<cudaStream_t>(lane.stream.cu_stream());
    *size = lane.output.bytes();
    return check(nv_->Encode(handle_, lane.state, params_, &image, stream), "nvjpeg2kEncode") &&
           check(nv_->EncodeRetrieveBitstream(handle_, lane.state, nullptr, size, stream),
                 "nvjpeg2kEncodeRetrieveBitstream") &&
           check(nv_->EncodeRetrieveBitstream(handle_, lane.state, lane.output.as<uint8_t>(), size,
                                              stream),
                 "nvjpeg2kEncodeRetrieveBitstream") &&
           lane.stream.synchronize() == Status::kOk;
  }

  bool measure(NvQuality quality, double value, int64_t* bytes) {
    const nvjpeg2kQualityType_t type = quality == NvQuality::kPsnr
                                           ? NVJPEG2K_QUALITY_TYPE_TARGET_PSNR
                                           : NVJPEG2K_QUALITY_TYPE_QUANTIZATION_STEP;
    size_t size = 0;
    if (!check(nv_->EncodeParamsSpecifyQuality(params_, type, value),
               "nvjpeg2kEncodeParamsSpecifyQuality") ||
        !encode(lanes_[0], 0, &size))
      return false;
    *bytes = static_cast<int64_t>(size);
    return true;
  }

  /// nvJPEG2000 has no byte cap. So this bisects the quality until frame 0 is as close as possible
  /// to the bytes asked for, and keeps the closest quality.
  bool search(NvQuality quality, int64_t target) {
    const bool psnr = quality == NvQuality::kPsnr;
    // dB, or log2 of the step. The bytes grow with the dB and fall with the step.
    double low = psnr ? 20 : -14, high = psnr ? 80 : 10, best = 0;
    int64_t best_distance = -1, bytes = 0;
    for (int i = 0; i < 16; ++i) {
      const double middle = (low + high) / 2;
      if (!measure(quality, psnr ? middle : std::exp2(middle), &bytes)) return false;
      const int64_t distance = std::abs(bytes - target);
      if (best_distance < 0 || distance < best_distance) {
        best_distance = distance;
        best = middle;
      }
      ((bytes < target) == psnr ? low : high) = middle;
    }
    char text[32];
    std::snprintf(text, sizeof text, psnr ? " psnr=%.2f" : " step=%.5g",
                  psnr ? best : std::exp2(best));
    setting_ = text;
    return measure(quality, psnr ? best : std::exp2(best), &bytes);
  }

  Library* nv_ = nullptr;
  Device* device_ = nullptr;
  const Clip* clip_ = nullptr;
  const DeviceClip* copy_ = nullptr;
  nvjpeg2kEncoder_t handle_ = nullptr;
  nvjpeg2kEncodeParams_t params_ = nullptr;
  nvjpeg2kImageComponentInfo_t components_[Clip::kComponents] = {};
  std::vector<Lane> lanes_;
  std::string setting_;
};

}  // namespace

std::unique_ptr<Contender> open_nvjpeg2k(const Task& task, NvQuality quality, int32_t threads,
                                         Device* device, const DeviceClip* copy,
                                         std::string* error) {
  auto contender = std::make_unique<NvContender>();
  if (!contender->open(task, quality, threads, device, copy, error)) return nullptr;
  return contender;
}

}  // namespace cj2k::bench

#else

namespace cj2k::bench {

std::unique_ptr<Contender> open_nvjpeg2k(const Task&, NvQuality, int32_t, Device*,
                                         const DeviceClip*, std::string* error) {
  *error = "built without nvjpeg2k.h (NVJPEG2K_ROOT)";
  return nullptr;
}

}  // namespace cj2k::bench

#endif

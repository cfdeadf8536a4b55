/* SPDX-FileCopyrightText: The libcj2k authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How the encoder j2k_cuda passes frames in CUDA memory to libcj2k, tested without a GPU. FFmpeg's
 * CUDA device uses a driver made of the functions below, whose memory is host memory. Wrapper
 * functions between the encoder and the library check the arguments, replace CUDA by the CPU in
 * them and call the library. So the bytes must equal those of the same frames in system memory.
 * ffmpeg-patch/build.sh builds it inside the FFmpeg tree, with the linker's --wrap for each __wrap_
 * function; test_cuda_frames.py runs it. Prints what failed.
 */
#include <cj2k.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavcodec/avcodec.h"
#include "libavutil/frame.h"
#include "libavutil/hwcontext.h"
#include "libavutil/hwcontext_cuda_internal.h"
#include "libavutil/imgutils.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

enum { kWidth = 150, kHeight = 88, kFrames = 5, kMaxBytes = 1 << 20 };

static int failures;

#define CHECK(condition)                             \
  do {                                               \
    if (!(condition)) {                              \
      printf("line %d: %s\n", __LINE__, #condition); \
      failures++;                                    \
    }                                                \
  } while (0)

/* ---- The driver. Its symbols are in the program itself. ---- */

#define DRIVER __attribute__((visibility("default")))

static int live_allocations, live_contexts;
static _Thread_local CUcontext current[8];
static _Thread_local int depth;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
  return __real_dlopen(name && !strncmp(name, "libcuda.so", 10) ? NULL : name, flags);
}

DRIVER tcuInit cuInit;
DRIVER tcuDeviceGet cuDeviceGet;
DRIVER tcuDeviceGetAttribute cuDeviceGetAttribute;
DRIVER tcuCtxCreate_v2 cuCtxCreate_v2;
DRIVER tcuCtxDestroy_v2 cuCtxDestroy_v2;
DRIVER tcuCtxPushCurrent_v2 cuCtxPushCurrent_v2;
DRIVER tcuCtxPopCurrent_v2 cuCtxPopCurrent_v2;
DRIVER tcuMemAlloc_v2 cuMemAlloc_v2;
DRIVER tcuMemFree_v2 cuMemFree_v2;
DRIVER tcuMemcpy2DAsync_v2 cuMemcpy2DAsync_v2;
DRIVER tcuStreamSynchronize cuStreamSynchronize;

CUresult cuInit(unsigned flags) {
  CHECK(flags == 0);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  CHECK(ordinal == 0);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  (void)attribute, (void)device;
  *value = 256; /* FFmpeg asks only for the alignment of textures */
  return CUDA_SUCCESS;
}
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
  (void)flags, (void)device;
  *context = malloc(1);
  live_contexts++;
  current[depth++] = *context;
  return CUDA_SUCCESS;
}
CUresult cuCtxDestroy_v2(CUcontext context) {
  free(context);
  live_contexts--;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  current[depth++] = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  *context = current[--depth];
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  CHECK(depth > 0);
  *address = (CUdeviceptr)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
  __atomic_add_fetch(&live_allocations, 1, __ATOMIC_RELAXED);
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  CHECK(depth > 0);
  free((void *)(uintptr_t)address);
  __atomic_sub_fetch(&live_allocations, 1, __ATOMIC_RELAXED);
  return CUDA_SUCCESS;
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
  (void)stream;
  CHECK(copy->dstMemoryType == CU_MEMORYTYPE_DEVICE);
  for (size_t y = 0; y < copy->Height; y++)
    memcpy((uint8_t *)(uintptr_t)copy->dstDevice + y * copy->dstPitch,
           (const uint8_t *)copy->srcHost + y * copy->srcPitch, copy->WidthInBytes);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  (void)stream;
  return CUDA_SUCCESS;
}

/* FFmpeg needs these to exist, but does not call them here. */
#define ABSENT(name)         \
  DRIVER int name(void);     \
  DRIVER int name(void) {    \
    CHECK(!#name " called"); \
    return 801;              \
  }
#define ABSENT4(a, b, c, d) ABSENT(a) ABSENT(b) ABSENT(c) ABSENT(d)
// clang-format off
ABSENT4(cuDriverGetVersion, cuDeviceGetCount, cuDeviceGetName, cuDeviceComputeCapability)
ABSENT4(cuCtxGetCurrent, cuCtxSetLimit, cuMemAllocPitch_v2, cuMemAllocManaged)
ABSENT4(cuMemsetD8Async, cuMemcpy, cuMemcpyAsync, cuMemcpy2D_v2)
ABSENT4(cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2)
ABSENT4(cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, cuGetErrorName, cuGetErrorString)
ABSENT4(cuCtxGetDevice, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxSetFlags)
ABSENT4(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxReset, cuStreamCreate, cuStreamQuery)
ABSENT4(cuStreamDestroy_v2, cuStreamAddCallback, cuStreamWaitEvent, cuEventCreate)
ABSENT4(cuEventDestroy_v2, cuEventSynchronize, cuEventQuery, cuEventRecord)
ABSENT4(cuLaunchKernel, cuLinkCreate, cuLinkAddData, cuLinkComplete)
ABSENT4(cuLinkDestroy, cuModuleLoadData, cuModuleUnload, cuModuleGetFunction)
ABSENT4(cuModuleGetGlobal, cuTexObjectCreate, cuTexObjectDestroy, cuGLGetDevices_v2)
ABSENT4(cuGraphicsGLRegisterImage, cuGraphicsUnregisterResource, cuGraphicsMapResources, cuGraphicsUnmapResources)
ABSENT4(cuGraphicsSubResourceGetMappedArray, cuGraphicsResourceGetMappedPointer_v2, cuArrayCreate_v2, cuArray3DCreate_v2)
ABSENT(cuArrayDestroy)
// clang-format on

/* ---- Between the encoder and the library. ---- */

/* What the encoder must pass to the library. */
static struct {
  enum cj2k_memory memory;
  void *context, *stream;
  const char *device;
} want;
static int opened, sent;
static int code_fields; /* whether each field gets a codestream */

cj2k_status __real_cj2k_encoder_open(const cj2k_params *p, cj2k_encoder **encoder);
cj2k_status __wrap_cj2k_encoder_open(const cj2k_params *p, cj2k_encoder **encoder);
cj2k_status __wrap_cj2k_encoder_open(const cj2k_params *p, cj2k_encoder **encoder) {
  cj2k_params cpu = *p;
  opened++;
  CHECK(p->cuda_context == want.context);
  CHECK(p->cuda_stream == want.stream);
  CHECK(!strcmp(p->device, want.device));
  strcpy(cpu.device, "cpu");
  return __real_cj2k_encoder_open(&cpu, encoder);
}

cj2k_status __real_cj2k_encoder_send_frame(cj2k_encoder *encoder, const cj2k_frame *frame);
cj2k_status __wrap_cj2k_encoder_send_frame(cj2k_encoder *encoder, const cj2k_frame *frame);
cj2k_status __wrap_cj2k_encoder_send_frame(cj2k_encoder *encoder, const cj2k_frame *frame) {
  cj2k_frame host;
  if (!frame) return __real_cj2k_encoder_send_frame(encoder, NULL);
  sent++;
  CHECK(frame->memory == want.memory);
  CHECK(frame->ready_stream == want.stream);
  CHECK(frame->release);
  host = *frame;
  host.memory = CJ2K_MEMORY_HOST;
  host.ready_stream = NULL;
  return __real_cj2k_encoder_send_frame(encoder, &host);
}

/* ---- The tests. ---- */

/* All packets of a sequence, one after another. */
typedef struct Stream {
  uint8_t bytes[kMaxBytes];
  size_t size;
  int packets;
} Stream;

static AVFrame *host_frame(enum AVPixelFormat format, int64_t pts) {
  AVFrame *frame = av_frame_alloc();
  uint32_t state = 12345 + (uint32_t)pts;
  frame->width = kWidth;
  frame->height = kHeight;
  frame->format = format;
  frame->pts = pts;
  if (av_frame_get_buffer(frame, 0) < 0) abort();
  for (int b = 0; b < AV_NUM_DATA_POINTERS && frame->buf[b]; b++)
    for (size_t i = 0; i < frame->buf[b]->size; i++)
      frame->buf[b]->data[i] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
  return frame;
}

static AVBufferRef *new_device(void *stream) {
  AVBufferRef *device = NULL;
  if (av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_CUDA, NULL, NULL, 0) < 0) {
    printf("no device over the test's driver\n");
    exit(1);
  }
  ((AVCUDADeviceContext *)((AVHWDeviceContext *)device->data)->hwctx)->stream = stream;
  return device;
}

static void *context_of(AVBufferRef *device) {
  return ((AVCUDADeviceContext *)((AVHWDeviceContext *)device->data)->hwctx)->cuda_ctx;
}

static AVBufferRef *new_pool(AVBufferRef *device, enum AVPixelFormat format) {
  AVBufferRef *pool = av_hwframe_ctx_alloc(device);
  AVHWFramesContext *frames = (AVHWFramesContext *)pool->data;
  frames->format = AV_PIX_FMT_CUDA;
  frames->sw_format = format;
  frames->width = kWidth;
  frames->height = kHeight;
  if (av_hwframe_ctx_init(pool) < 0) av_buffer_unref(&pool);
  return pool;
}

static AVFrame *upload(AVBufferRef *pool, AVFrame *host) {
  AVFrame *frame = av_frame_alloc();
  CHECK(av_hwframe_get_buffer(pool, frame, 0) >= 0);
  CHECK(av_hwframe_transfer_data(frame, host, 0) >= 0);
  frame->pts = host->pts;
  av_frame_free(&host);
  return frame;
}

/* @param pool  of CUDA frames, or NULL; @param device  for frames in system memory, or NULL */
static AVCodecContext *open_encoder(enum AVPixelFormat format, AVBufferRef *pool,
                                    AVBufferRef *device, const char *device_name) {
  AVCodecContext *encoder = avcodec_alloc_context3(avcodec_find_encoder_by_name("j2k_cuda"));
  encoder->width = kWidth;
  encoder->height = kHeight;
  encoder->pix_fmt = pool ? AV_PIX_FMT_CUDA : format;
  encoder->time_base = (AVRational){1, 25};
  encoder->bit_rate = 2000000;
  if (code_fields) encoder->flags |= AV_CODEC_FLAG_INTERLACED_DCT;
  if (pool) encoder->hw_frames_ctx = av_buffer_ref(pool);
  if (device) encoder->hw_device_ctx = av_buffer_ref(device);
  av_opt_set(encoder->priv_data, "device", device_name, 0);
  if (avcodec_open2(encoder, NULL, NULL) < 0) avcodec_free_context(&encoder);
  return encoder;
}

static void receive(AVCodecContext *encoder, Stream *to) {
  AVPacket *packet = av_packet_alloc();
  while (avcodec_receive_packet(encoder, packet) >= 0) {
    if (to->size + (size_t)packet->size > sizeof(to->bytes)) abort();
    memcpy(to->bytes + to->size, packet->data, (size_t)packet->size);
    to->size += (size_t)packet->size;
    to->packets++;
    av_packet_unref(packet);
  }
  av_packet_free(&packet);
}

static int send(AVCodecContext *encoder, AVFrame *frame, Stream *to) {
  const int ret = avcodec_send_frame(encoder, frame);
  av_frame_free(&frame);
  receive(encoder, to);
  return ret;
}

static void expect(enum cj2k_memory memory, void *context, void *stream, const char *device) {
  want.memory = memory;
  want.context = context;
  want.stream = stream;
  want.device = device;
}

static void encode(enum AVPixelFormat format, AVBufferRef *pool, AVBufferRef *device,
                   const char *device_name, Stream *to) {
  AVCodecContext *encoder = open_encoder(format, pool, device, device_name);
  to->size = 0;
  to->packets = 0;
  CHECK(encoder);
  if (!encoder) return;
  for (int i = 0; i < kFrames; i++) {
    AVFrame *frame = host_frame(format, i);
    CHECK(send(encoder, pool ? upload(pool, frame) : frame, to) >= 0);
  }
  CHECK(avcodec_send_frame(encoder, NULL) >= 0);
  receive(encoder, to);
  CHECK(to->packets == kFrames);
  avcodec_free_context(&encoder);
}

static Stream on_host, on_device;

/* The same samples give the same bytes, and the library gets the context and the stream. */
static void same_bytes(enum AVPixelFormat format, void *stream) {
  AVBufferRef *device = new_device(stream), *pool = new_pool(device, format);
  printf("%s%s\n", av_get_pix_fmt_name(format), pool ? "" : ": no CUDA frames of this format");
  for (code_fields = 0; pool && code_fields < 2; code_fields++) {
    const int sent_before = sent;
    expect(CJ2K_MEMORY_HOST, NULL, NULL, "auto");
    encode(format, NULL, NULL, "auto", &on_host);
    expect(CJ2K_MEMORY_CUDA, context_of(device), stream ? stream : (void *)1, "cuda");
    encode(format, pool, NULL, "auto", &on_device);
    CHECK(on_host.size == on_device.size && !memcmp(on_host.bytes, on_device.bytes, on_host.size));
    CHECK(sent == sent_before + 2 * kFrames * (1 + code_fields));
  }
  code_fields = 0;
  av_buffer_unref(&pool);
  av_buffer_unref(&device);
  CHECK(live_allocations == 0);
  CHECK(live_contexts == 0);
}

/* Frames in system memory. The encoder uses the device of -init_hw_device if `device` allows it. */
static void given_device(void) {
  AVBufferRef *device = new_device(NULL);
  expect(CJ2K_MEMORY_HOST, context_of(device), NULL, "auto");
  encode(AV_PIX_FMT_YUV420P, NULL, device, "auto", &on_host);
  expect(CJ2K_MEMORY_HOST, context_of(device), NULL, "cuda");
  encode(AV_PIX_FMT_YUV420P, NULL, device, "cuda", &on_host);
  expect(CJ2K_MEMORY_HOST, NULL, NULL, "cpu");
  encode(AV_PIX_FMT_YUV420P, NULL, device, "cpu", &on_host);
  expect(CJ2K_MEMORY_HOST, NULL, NULL, "cuda:1");
  encode(AV_PIX_FMT_YUV420P, NULL, device, "cuda:1", &on_host);
  av_buffer_unref(&device);
}

static void refused(void) {
  AVBufferRef *device = new_device(NULL), *pool = new_pool(device, AV_PIX_FMT_NV12);
  AVBufferRef *other_pool = new_pool(device, AV_PIX_FMT_YUV444P);
  AVBufferRef *other_device = new_device(NULL), *far_pool = new_pool(other_device, AV_PIX_FMT_NV12);
  const int opened_before = opened;
  AVCodecContext *encoder;
  int sent_before;
  CHECK(!open_encoder(AV_PIX_FMT_NV12, pool, NULL, "cpu"));
  CHECK(!open_encoder(AV_PIX_FMT_NV12, pool, NULL, "cuda:1"));
  CHECK(opened == opened_before);

  /* Good frames, and between them one of another format and one of another context. */
  expect(CJ2K_MEMORY_CUDA, context_of(device), (void *)1, "cuda");
  encoder = open_encoder(AV_PIX_FMT_NV12, pool, NULL, "cuda");
  on_device.packets = 0;
  on_device.size = 0;
  CHECK(encoder);
  if (encoder) {
    sent_before = sent;
    send(encoder, upload(pool, host_frame(AV_PIX_FMT_NV12, 0)), &on_device);
    CHECK(send(encoder, upload(other_pool, host_frame(AV_PIX_FMT_YUV444P, 1)), &on_device) ==
          AVERROR(EINVAL));
    CHECK(send(encoder, upload(far_pool, host_frame(AV_PIX_FMT_NV12, 2)), &on_device) ==
          AVERROR(EINVAL));
    CHECK(send(encoder, host_frame(AV_PIX_FMT_NV12, 3), &on_device) == AVERROR(EINVAL));
    send(encoder, upload(pool, host_frame(AV_PIX_FMT_NV12, 4)), &on_device);
    CHECK(sent == sent_before + 2);
    CHECK(avcodec_send_frame(encoder, NULL) >= 0);
    receive(encoder, &on_device);
    CHECK(on_device.packets == 2);
  }
  avcodec_free_context(&encoder);
  av_buffer_unref(&pool);
  av_buffer_unref(&other_pool);
  av_buffer_unref(&far_pool);
  av_buffer_unref(&device);
  av_buffer_unref(&other_device);
  CHECK(live_allocations == 0);
  CHECK(live_contexts == 0);
}

int main(void) {
  /* The formats that CUDA frames of any release can have. */
  static const enum AVPixelFormat formats[] = {
      AV_PIX_FMT_NV12,         AV_PIX_FMT_YUV420P,      AV_PIX_FMT_YUVA420P,  AV_PIX_FMT_YUV444P,
      AV_PIX_FMT_P010,         AV_PIX_FMT_P016,         AV_PIX_FMT_YUV444P16, AV_PIX_FMT_0RGB32,
      AV_PIX_FMT_0BGR32,       AV_PIX_FMT_RGB32,        AV_PIX_FMT_BGR32,     AV_PIX_FMT_NV16,
      AV_PIX_FMT_P210,         AV_PIX_FMT_P216,         AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV420P10,
      AV_PIX_FMT_YUV422P10,    AV_PIX_FMT_YUV444P10,
#ifdef AV_PIX_FMT_YUV444P10MSB
      AV_PIX_FMT_YUV444P10MSB, AV_PIX_FMT_YUV444P12MSB,
#endif
#ifdef AV_PIX_FMT_P212
      AV_PIX_FMT_P012,         AV_PIX_FMT_P212,
#endif
  };
  av_log_set_level(AV_LOG_ERROR);
  for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) same_bytes(formats[i], NULL);
  same_bytes(AV_PIX_FMT_NV12, (void *)(uintptr_t)0x1234);
  given_device();
  refused();
  printf("%d failures\n", failures);
  return failures != 0;
}

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "picture.h"

#include <cj2k_transcode.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "../check/check.h"
#include "av_samples.h"
#include "failure.h"
#include "frames.h"
#include "libav.h"
#include "planar.h"
#include "pnm.h"
#include "system.h"
#include "tiff.h"

namespace cj2k_tool {
namespace {

constexpr const char* kExtensions[] = {"dpx", "tif", "tiff", "pbm", "pgm",  "ppm", "pnm",
                                       "pam", "png", "exr",  "jpg", "jpeg", "bmp", "y4m"};

/// The first error that libavcodec logs while this thread decodes. An array, because a thread needs memory to begin
/// to use a string.
constinit thread_local char t_first_error[512] = "";

void take_log(void* context, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_ERROR || t_first_error[0] != 0) return;
  int print_prefix = 0;
  libav().av_log_format_line2(context, level, format, arguments, t_first_error,
                              sizeof t_first_error, &print_prefix);
  for (size_t end = std::strlen(t_first_error); end > 0 && t_first_error[end - 1] == '\n'; --end)
    t_first_error[end - 1] = 0;
}

/// With the padding behind it, the largest buffer that libavutil allocates.
constexpr size_t kMostFileBytes = INT32_MAX - 2 * AV_INPUT_BUFFER_PADDING_SIZE;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

struct Free {
  void operator()(uint8_t* memory) const { std::free(memory); }
};

/// The bytes of a file. Behind them in the buffer is the padding that libavcodec asks for.
struct FileBytes {
  std::unique_ptr<uint8_t, Free> data;
  size_t size = 0;

  std::string_view view() const { return {reinterpret_cast<const char*>(data.get()), size}; }

  /// Room for `bytes` in all. Throws std::bad_alloc.
  void resize(size_t bytes) {
    void* const moved = std::realloc(data.get(), bytes + AV_INPUT_BUFFER_PADDING_SIZE);
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(data.release());
    data.reset(static_cast<uint8_t*>(moved));
  }
};

/// In place of std::fclose: the standard input stays open.
int keep_open(std::FILE*) { return 0; }

/// @param path  "-" is the standard input
FileBytes read_file(const std::string& path) {
  const bool is_stdin = path == "-";
  const File file(is_stdin ? stdin : std::fopen(path.c_str(), "rb"),
                  is_stdin ? keep_open : std::fclose);
  if (file == nullptr) throw Failure(path + ": " + std::strerror(errno));
  const auto limit = [&path](uint64_t size) {
    if (size > kMostFileBytes) throw Failure(path + ": the file has more than 2 GiB");
  };
  FileBytes bytes;
  size_t room = 1 << 16;
  struct stat status;
  if (fstat(fileno(file.get()), &status) == 0 && S_ISREG(status.st_mode)) {  // else a pipe
    limit(static_cast<uint64_t>(status.st_size));
    room = std::max(room, static_cast<size_t>(status.st_size) + 1);
  }
  for (;;) {
    bytes.resize(room);
    advise_large_pages(bytes.data.get() + bytes.size, room - bytes.size);
    bytes.size += std::fread(bytes.data.get() + bytes.size, 1, room - bytes.size, file.get());
    limit(bytes.size);
    if (bytes.size < room) break;
    room = std::min(2 * room, kMostFileBytes + 1);
  }
  if (std::ferror(file.get())) throw Failure(path + ": " + std::strerror(errno));
  if (bytes.size == 0) throw Failure(path + ": the file is empty");
  std::memset(bytes.data.get() + bytes.size, 0, AV_INPUT_BUFFER_PADDING_SIZE);
  return bytes;
}

/// The decoder by the first bytes of the file, whatever its name says.
AVCodecID format_of(std::string_view b) {
  const auto begins = [b](std::string_view with) { return b.substr(0, with.size()) == with; };
  using namespace std::string_view_literals;
  if (begins("SDPX") || begins("XPDS")) return AV_CODEC_ID_DPX;
  if (begins("\x89PNG")) return AV_CODEC_ID_PNG;
  if (begins("\xff\xd8\xff")) return AV_CODEC_ID_MJPEG;
  if (begins("BM")) return AV_CODEC_ID_BMP;
  if (begins("\x76\x2f\x31\x01")) return AV_CODEC_ID_EXR;
  if (b.size() > 2 && b[0] == 'P' &&
      (std::isspace(static_cast<unsigned char>(b[2])) || b[2] == '#')) {
    if (b[1] == '1' || b[1] == '4') return AV_CODEC_ID_PBM;
    if (b[1] == '2' || b[1] == '5') return AV_CODEC_ID_PGM;
    if (b[1] == '3' || b[1] == '6') return AV_CODEC_ID_PPM;
    if (b[1] == '7') return AV_CODEC_ID_PAM;
  }
  return AV_CODEC_ID_NONE;
}

/// The next word of a PNM header; comments are left out.
std::string_view next_word(std::string_view& rest) {
  for (;;) {
    while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest[0])))
      rest.remove_prefix(1);
    if (rest.empty() || rest[0] != '#') break;
    rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
  }
  size_t end = 0;
  while (end < rest.size() && !std::isspace(static_cast<unsigned char>(rest[end]))) ++end;
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

/// The bits of a sample of PGM, PPM and PAM. libavcodec scales samples to 8 or 16 bits; where the largest value is
/// 2^n - 1, their upper n bits are those of the file.
int depth_of_pnm(const std::string& path, std::string_view bytes) {
  std::string_view rest = bytes;
  const bool is_pam = next_word(rest) == "P7";
  if (is_pam) {
    while (!rest.empty() && next_word(rest) != "MAXVAL") continue;
  } else {
    next_word(rest), next_word(rest);
  }
  const std::string word(next_word(rest));
  const int maxval = std::atoi(word.c_str());
  if (word.empty()) throw Failure(path + ": damaged: the file ends in its header");
  if (maxval < 1 || maxval > 65535 || (maxval & (maxval + 1)) != 0)
    throw Failure(path + ": maxval " + word + " is not 2^n - 1 with n from 1 to 16");
  int depth = 0;
  while (maxval >> depth) ++depth;
  return depth;
}

/// Samples of PAM, where libavcodec does not scale them to 8 bits: with opacity, below a maxval of 255.
/// @return whether they are such, and in `picture`
bool read_small_pam(const std::string& path, std::string_view bytes, int depth, Picture& picture) {
  PictureFormat& f = picture.format;
  std::string_view rest = bytes;
  for (std::string_view word = next_word(rest); !rest.empty() && word != "ENDHDR";
       word = next_word(rest)) {
    int* const value = word == "WIDTH"    ? &f.width
                       : word == "HEIGHT" ? &f.height
                       : word == "DEPTH"  ? &f.num_components
                                          : nullptr;
    if (value != nullptr) *value = std::atoi(std::string(next_word(rest)).c_str());
  }
  rest.remove_prefix(std::min<size_t>(rest.size(), 1));  // the line feed
  const size_t n = f.num_components == 2 || f.num_components == 4 ? f.num_components : 0;
  if (depth >= 8 || n == 0 || f.width < 1 || f.height < 1) return false;
  if (rest.size() / n / f.width < static_cast<size_t>(f.height))
    throw Failure(path + ": damaged: the file ends before its last sample");
  const size_t pixels = size_t{1} * f.width * f.height;
  f.depth = depth;
  f.alpha = 1;
  for (int c = 0; c < f.num_components; ++c) f.dx[c] = f.dy[c] = 1;
  picture.samples.resize(n * pixels);
  view_samples(picture, 1);
  uint8_t* out = picture.samples.data();
  for (size_t c = 0; c < n; ++c)
    for (size_t i = 0; i < pixels; ++i) *out++ = static_cast<uint8_t>(rest[i * n + c]);
  return true;
}

/// Reads the header of binary PGM and PPM, but not its maxval.
/// @param rest  the file; result: its samples
/// @param size  of the file
/// @return false: it is another kind
bool read_pnm_header(const std::string& path, std::string_view& rest, size_t size,
                     PictureFormat& f) {
  const size_t begin = rest.size();
  const std::string_view kind = next_word(rest);
  if (kind != "P5" && kind != "P6") return false;
  const auto number = [&rest] { return std::atoi(std::string(next_word(rest)).c_str()); };
  f.width = number();
  f.height = number();
  next_word(rest);                                       // maxval
  rest.remove_prefix(std::min<size_t>(rest.size(), 1));  // one blank
  f.num_components = kind == "P5" ? 1 : 3;
  for (int c = 0; c < CJ2K_MAX_COMPONENTS; ++c) f.dx[c] = f.dy[c] = 1;
  if (f.width < 1 || f.height < 1) throw Failure(path + ": damaged: a picture without samples");
  const size_t row_bytes = size_t{1} * f.width * f.num_components * (f.depth > 8 ? 2 : 1);
  if ((size - (begin - rest.size())) / row_bytes < static_cast<size_t>(f.height))
    throw Failure(path + ": damaged: the file ends before its last sample");
  return true;
}

/// Takes binary PGM and PPM as they are in the file, without a copy. Words of 16 bits become those of this machine.
/// @return whether the file is such, and in `picture`
bool view_pnm(const std::string& path, FileBytes& bytes, int depth, Picture& picture) {
  PictureFormat& f = picture.format;
  f.depth = depth;
  std::string_view rest = bytes.view();
  if (!read_pnm_header(path, rest, bytes.size, f)) return false;
  const int word_bytes = depth > 8 ? 2 : 1;
  const size_t row_bytes = size_t{1} * f.width * f.num_components * word_bytes;
  uint8_t* const samples = bytes.data.get() + (bytes.size - rest.size());
  if (word_bytes == 2) swap_words(samples, row_bytes * f.height);
  for (int c = 0; c < f.num_components; ++c)
    picture.views[c] = {samples + c * word_bytes, static_cast<ptrdiff_t>(row_bytes),
                        f.num_components * word_bytes, word_bytes, 0};
  picture.file.reset(bytes.data.release(), Free());
  return true;
}

/// The bits of grey PNG of 2 and 4 bits, which libavcodec scales to 8; else 0.
int depth_of_png(const std::string& path, std::string_view bytes) {
  constexpr size_t kDepth = 24, kColour = 25;  // of IHDR, which comes first
  if (bytes.size() <= kColour || bytes[kColour] != 0 || bytes[kDepth] > 4) return 0;
  if (bytes.substr(0, bytes.find("IDAT")).find("tRNS") != std::string_view::npos)
    throw Failure(path + ": grey of less than 8 bits with a transparent value is not supported");
  return bytes[kDepth];
}

int orientation_of_dpx(std::string_view b) {
  constexpr size_t kOrientation = 768;
  if (b.size() < kOrientation + 2) return 0;
  const bool big = b[0] == 'S';
  const int value = static_cast<unsigned char>(b[kOrientation + (big ? 0 : 1)]) << 8 |
                    static_cast<unsigned char>(b[kOrientation + (big ? 1 : 0)]);
  return value <= 7 ? value : 0;  // 0xFFFF: the file does not say
}

/// A little-endian number of EXR; 0 where the file ends before it.
uint64_t exr_number(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  if (at > bytes.size() || count > bytes.size() - at) return 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Holds all blocks of an EXR file to be inside it, because libavcodec leaves those that are not black, without a word.
/// After the header comes a table with the place of each block, and then the blocks.
void check_exr(const std::string& path, std::string_view bytes) {
  const uint64_t flags = exr_number(bytes, 4, 4);
  if (flags & 0x1800) throw Failure(path + ": EXR of several parts, or deep, is not supported");
  const size_t block_head =
      flags & 0x200 ? 20 : 8;  // tiles have four numbers more; the last one is the size
  const auto skip_text = [bytes](size_t at) {
    return bytes.find('\0', at) + 1;
  };  // 0: the file ends
  size_t at = 8;
  while (at < bytes.size() && bytes[at] != '\0') {
    at = skip_text(at);
    if (at != 0) at = skip_text(at);
    if (at == 0) break;
    at += 4 + exr_number(bytes, at, 4);
  }
  ++at;
  size_t first_block = bytes.size();
  bool complete = at > 8 && at + 8 <= bytes.size();
  for (; complete && at < first_block; at += 8) {
    const uint64_t block = exr_number(bytes, at, 8);
    complete = block >= at + 8 && block < bytes.size() && block_head < bytes.size() - block &&
               exr_number(bytes, block + block_head - 4, 4) <= bytes.size() - block - block_head;
    first_block = std::min<size_t>(first_block, block);
  }
  if (!complete) throw Failure(path + ": damaged: the EXR file ends before its last block");
}

std::string text_of(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = "";
  libav().av_strerror(error, text, sizeof text);
  return text;
}

struct FreeContext {
  void operator()(AVCodecContext* context) const { libav().avcodec_free_context(&context); }
};
struct FreePacket {
  void operator()(AVPacket* packet) const { libav().av_packet_free(&packet); }
};

void free_bytes(void*, uint8_t* bytes) { std::free(bytes); }

std::shared_ptr<AVFrame> decode(const std::string& path, AVCodecID id, FileBytes bytes,
                                const std::string& trc) {
  const AVCodec* codec = libav().avcodec_find_decoder(id);
  if (codec == nullptr)
    throw Failure(path + ": this libavcodec has no decoder for " + libav().avcodec_get_name(id));
  const std::unique_ptr<AVCodecContext, FreeContext> context(libav().avcodec_alloc_context3(codec));
  const std::unique_ptr<AVPacket, FreePacket> packet(libav().av_packet_alloc());
  std::shared_ptr<AVFrame> frame(libav().av_frame_alloc(),
                                 [](AVFrame* f) { libav().av_frame_free(&f); });
  if (!context || !packet || !frame) throw std::bad_alloc();
  context->thread_count = 1;  // files are decoded side by side
  context->err_recognition = AV_EF_CRCCHECK;
  if (id == AV_CODEC_ID_PNG || id == AV_CODEC_ID_MJPEG) context->err_recognition |= AV_EF_EXPLODE;
  AVDictionary* options = nullptr;
  if (id == AV_CODEC_ID_EXR && !trc.empty())
    libav().av_dict_set(&options, "apply_trc", trc.c_str(), 0);
  t_first_error[0] = 0;
  static const bool is_set = (libav().av_log_set_callback(take_log), true);
  static_cast<void>(is_set);
  int status = libav().avcodec_open2(context.get(), codec, &options);
  const bool lacks_trc = options != nullptr;
  libav().av_dict_free(&options);
  if (lacks_trc && status >= 0)
    throw UsageError(path + ": --trc needs FFmpeg 8.1 or older; ffmpeg -vf zscale=tin=linear:t=" +
                     trc + " applies a curve");
  if (status == AVERROR(EINVAL) && !trc.empty())
    throw UsageError(path + ": --trc " + trc +
                     " is not a transfer function of FFmpeg's EXR decoder");
  // libavcodec takes the buffer as it is; without one it would copy the bytes.
  packet->buf = libav().av_buffer_create(
      bytes.data.get(), bytes.size + AV_INPUT_BUFFER_PADDING_SIZE, free_bytes, nullptr, 0);
  if (packet->buf == nullptr) throw std::bad_alloc();
  packet->data = bytes.data.release();
  packet->size = static_cast<int>(bytes.size);
  if (status >= 0) status = libav().avcodec_send_packet(context.get(), packet.get());
  if (status >= 0) status = libav().avcodec_receive_frame(context.get(), frame.get());
  if (status == AVERROR(EAGAIN)) {
    status = libav().avcodec_send_packet(context.get(), nullptr);
    if (status >= 0) status = libav().avcodec_receive_frame(context.get(), frame.get());
  }
  if (status == AVERROR(ENOMEM)) throw std::bad_alloc();
  // A damaged file may give a picture with holes, and say so only in the log.
  const std::string first_error = t_first_error;
  if (first_error.find("Picture size") != std::string::npos)
    throw Failure(path + ": " + first_error +
                  " for libavcodec: (width + 128) x (height + 128) must be below 268435456");
  if (status < 0 || !first_error.empty() || frame->decode_error_flags != 0)
    throw Failure(path + ": damaged or not supported: " +
                  (first_error.empty() ? text_of(status) : first_error));
  return frame;
}

}  // namespace

std::string note_of_orientation(int orientation, int usual) {
  if (orientation == usual) return "";
  return "orientation " + std::to_string(orientation) +
         " is not applied: rows and columns stay as they are in the file";
}

void swap_words(uint8_t* samples, size_t bytes) {
  for (size_t i = 0; i + 1 < bytes; i += 2) {
    uint16_t word;
    std::memcpy(&word, samples + i, sizeof word);
    word = static_cast<uint16_t>(word << 8 | word >> 8);
    std::memcpy(samples + i, &word, sizeof word);
  }
}

void take_source(std::unique_ptr<SampleSource> source, Picture& picture) {
  constexpr int64_t kManySamples = int64_t{1} << 26;
  const PictureFormat& f = picture.format;
  const int word_bytes = f.depth > 8 ? 2 : 1;
  int64_t samples = 0;
  for (int c = 0; c < f.num_components; ++c) {
    const int64_t width = (f.width - 1) / f.dx[c] + 1, height = (f.height - 1) / f.dy[c] + 1;
    samples += width * height;
    picture.views[c] = {nullptr, static_cast<ptrdiff_t>(width) * word_bytes, word_bytes, word_bytes,
                        0};
  }
  picture.source = std::move(source);
  if (samples > kManySamples) return;
  read_samples(picture);
  picture.source.reset();
}

void read_samples(Picture& picture) {
  const PictureFormat& f = picture.format;
  cj2k_read_part parts[CJ2K_MAX_COMPONENTS] = {};
  size_t bytes = 0;
  for (int c = 0; c < f.num_components; ++c) {
    cj2k_read_part& part = parts[c];
    part.width = (f.width - 1) / f.dx[c] + 1;
    part.height = (f.height - 1) / f.dy[c] + 1;
    part.stride_bytes = static_cast<ptrdiff_t>(part.width) * picture.views[c].word_bytes;
    bytes += static_cast<size_t>(part.stride_bytes) * static_cast<size_t>(part.height);
  }
  picture.samples.resize(bytes);
  uint8_t* data = picture.samples.data();
  for (int c = 0; c < f.num_components; ++c) {
    cj2k_component_view& view = picture.views[c];
    view = {data, parts[c].stride_bytes, view.word_bytes, view.word_bytes, view.shift};
    parts[c].data = data;
    data += parts[c].stride_bytes * parts[c].height;
  }
  picture.source->read(parts);
}

namespace {

/// The first bytes of a regular file, and its size. Another kind, as a pipe, is not opened: it can be read once.
std::string read_head(const std::string& path, size_t* size) {
  struct stat status;
  *size = 0;
  if (path == "-" || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  const File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) throw Failure(path + ": " + std::strerror(errno));
  *size = static_cast<size_t>(status.st_size);
  std::string head(std::min(*size, size_t{1} << 16), '\0');
  head.resize(std::fread(head.data(), 1, head.size(), file.get()));
  return head;
}

/// Binary PGM and PPM of many bytes.
/// @return null: another file
std::unique_ptr<Picture> read_large_pnm(const std::string& path, std::string_view head,
                                        size_t size) {
  constexpr size_t kManyBytes = size_t{1} << 26;
  const AVCodecID id = format_of(head);
  if (size <= kManyBytes || (id != AV_CODEC_ID_PGM && id != AV_CODEC_ID_PPM)) return nullptr;
  auto picture = std::make_unique<Picture>();
  picture->format.depth = depth_of_pnm(path, head);
  std::string_view rest = head;
  if (!read_pnm_header(path, rest, size, picture->format)) return nullptr;
  take_source(open_pnm(path, head.size() - rest.size(), picture->format), *picture);
  return picture;
}

/// TIFF that came through a pipe becomes a file, because it is read to and fro.
std::unique_ptr<Picture> read_piped_tiff(const std::string& path, std::string_view bytes,
                                         int page) {
  const File file(std::tmpfile(), std::fclose);
  if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
      std::fseek(file.get(), 0, SEEK_SET) != 0)
    throw Failure(path + ": no temporary file for TIFF from a pipe: " + std::strerror(errno));
  return read_tiff(path, page, fileno(file.get()));
}

}  // namespace

int count_pages(const Frame& frame) {
  size_t size;
  const std::string head = read_head(frame.input, &size);
  if (size > 0 && (!frame.raw.empty() || is_y4m(head)))
    return count_planar_frames(frame.input, frame.raw, head, size);
  return is_tiff(head) ? count_tiff_pages(frame.input) : 1;
}

std::unique_ptr<Picture> read_picture(const Frame& from, const std::string& trc) try {
  const std::string& path = from.input;
  size_t size;
  const std::string head = read_head(path, &size);
  if (!from.raw.empty() && size == 0)
    throw Failure(path + ": raw samples must be in a file that is not empty, and no pipe");
  if (!from.raw.empty() || is_y4m(head)) return read_planar(from, head, size);
  if (is_tiff(head)) return read_tiff(path, from.page);
  if (from.page <= 1) {
    if (auto large = read_large_pnm(path, head, size)) return large;
  }
  FileBytes bytes = read_file(path);
  const std::string_view view = bytes.view();  // until decode()
  const AVCodecID id = format_of(view);
  if (is_tiff(view)) return read_piped_tiff(path, view, from.page);
  if (from.page > 1)
    throw Failure(path + ": there is no page " + std::to_string(from.page) + " of 1");
  if (is_y4m(view)) throw Failure(path + ": Y4M must be a file, not a pipe");
  if (id == AV_CODEC_ID_NONE)
    throw Failure(path + ": neither DPX, TIFF, PNM, PAM, PNG, EXR, JPEG, BMP nor Y4M");
  const bool has_maxval = id == AV_CODEC_ID_PGM || id == AV_CODEC_ID_PPM || id == AV_CODEC_ID_PAM;
  const int depth = has_maxval              ? depth_of_pnm(path, view)
                    : id == AV_CODEC_ID_PNG ? depth_of_png(path, view)
                                            : 0;
  if (id == AV_CODEC_ID_EXR) check_exr(path, view);
  auto picture = std::make_unique<Picture>();
  if (id == AV_CODEC_ID_PAM && read_small_pam(path, view, depth, *picture)) return picture;
  if (has_maxval && view_pnm(path, bytes, depth, *picture)) return picture;
  if (id == AV_CODEC_ID_DPX) picture->note = note_of_orientation(orientation_of_dpx(view), 0);
  if (id == AV_CODEC_ID_PNG || id == AV_CODEC_ID_MJPEG) {
    FileFacts facts = id == AV_CODEC_ID_PNG ? read_png_facts(view) : read_jpeg_facts(view);
    picture->note = note_of_orientation(facts.orientation, 1);
    picture->format.metadata = std::move(facts.metadata);
  }
  picture->frame = decode(path, id, std::move(bytes), trc);
  set_format(*picture->frame, id, trc, picture->format);
  if (id == AV_CODEC_ID_MJPEG && picture->format.alpha != 0)
    throw Failure(path + ": JPEG of four components, as CMYK, is not supported");
  take_samples(path, depth, *picture);
  return picture;
} catch (const std::bad_alloc&) {
  throw Failure(from.input + ": out of memory");
}

std::unique_ptr<Picture> read_coded(const std::string& path) try {
  constexpr uint32_t kPart15 = 1 << 17;  // of Pcap
  size_t size;
  const std::string head = read_head(path, &size);
  if (!head.starts_with("\xff\x4f\xff\x51") && head.find("jP  ") != 4) return nullptr;
  cj2k_check::SequenceState sequence;
  const cj2k_check::FileResult checked = cj2k_check::check_file(path, {}, sequence);
  const auto& components = checked.facts.siz.components;
  if (!checked.error.empty() || components.empty())
    throw Failure(path + ": " + (checked.error.empty() ? "has no codestream" : checked.error));
  for (const auto& component : components)
    if (component.depth() != components[0].depth() ||
        component.is_signed() != components[0].is_signed())
      throw Failure(path + ": components of different bits are not supported");
  FileBytes bytes = read_file(path);
  if ((checked.facts.pcap & kPart15) != 0) {
    void* out = nullptr;
    size_t out_bytes = 0;
    if (cj2k_transcode(CJ2K_CODER_EBCOT, 0, 0, 0, bytes.data.get(), bytes.size, &out, &out_bytes) !=
        CJ2K_OK)
      throw Failure(path + ": " + cj2k_encoder_last_error(nullptr));
    const std::unique_ptr<void, decltype(&cj2k_free)> owner(out, cj2k_free);
    bytes.resize(out_bytes);
    bytes.size = out_bytes;
    std::memcpy(bytes.data.get(), out, out_bytes);
    std::memset(bytes.data.get() + out_bytes, 0, AV_INPUT_BUFFER_PADDING_SIZE);
  }
  auto picture = std::make_unique<Picture>();
  picture->frame = decode(path, AV_CODEC_ID_JPEG2000, std::move(bytes), "");
  set_format(*picture->frame, AV_CODEC_ID_JPEG2000, "", picture->format);
  take_samples(path, static_cast<int>(components[0].depth()), *picture);
  picture->format.is_signed = components[0].is_signed();
  return picture;
} catch (const std::bad_alloc&) {
  throw Failure(path + ": out of memory");
}

bool is_picture_name(const std::string& path) {
  const std::string extension = extension_of(path);
  return std::any_of(std::begin(kExtensions), std::end(kExtensions),
                     [&extension](const char* known) { return extension == known; });
}

std::string picture_names() {
  std::string all;
  for (const char* extension : kExtensions)
    all += (all.empty() ? "." : ", .") + std::string(extension);
  return all;
}

}  // namespace cj2k_tool

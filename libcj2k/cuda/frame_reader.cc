// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/frame_reader.h"

#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "base/parallel.h"

namespace cj2k::cuda {
namespace {

constexpr size_t kRowGrain = 64;  ///< rows per task of parallel_for

}  // namespace

Status FrameEvents::create(simt::Context& context, int num_frames) {
  CJ2K_TRY(ready.create(context));
  CJ2K_TRY(read.create(context));
  reading.resize(static_cast<size_t>(num_frames));
  for (Span& span : reading) {
    CJ2K_TRY(span.begin.create(context, true));
    CJ2K_TRY(span.end.create(context, true));
  }
  return Status::kOk;
}

FrameReader::Pieces FrameReader::pieces_of(const cj2k_frame& frame) const {
  Pieces pieces{};
  for (size_t c = 0; c < plan_.components.size(); ++c) {
    const cj2k_component_view& v = frame.components[c];
    const Rect& rect = plan_.components[c].rect;
    const auto* begin = static_cast<const uint8_t*>(v.data);
    const auto* end =
        begin + static_cast<ptrdiff_t>(rect.width() - 1) * v.step_bytes + v.word_bytes;
    size_t p = 0;
    for (; p < pieces.count; ++p) {
      Piece& piece = pieces.of[p];
      if (piece.stride == v.stride_bytes && piece.rows == rect.height() && begin < piece.end &&
          piece.begin < end)
        break;
    }
    if (p == pieces.count) {
      pieces.of[pieces.count++] = {begin, end, v.stride_bytes, rect.height(), 0, 0};
    } else {
      pieces.of[p].begin = std::min(pieces.of[p].begin, begin);
      pieces.of[p].end = std::max(pieces.of[p].end, end);
    }
    pieces.of_component[c] = p;
  }
  for (size_t p = 0; p < pieces.count; ++p) {
    Piece& piece = pieces.of[p];
    piece.offset = pieces.bytes;
    piece.row_bytes = (static_cast<uint64_t>(piece.end - piece.begin) + 15) / 16 * 16;
    pieces.bytes += piece.row_bytes * static_cast<uint64_t>(piece.rows);
  }
  return pieces;
}

Status wait_for_producer(const Plan& plan, const cj2k_frame& frame, simt::Stream& stream,
                         simt::Event& ready) {
  void* const producer =
      frame.ready_stream != nullptr ? frame.ready_stream : plan.params.cuda_stream;
  if (producer == nullptr) return Status::kOk;
  simt::Stream theirs;
  CJ2K_TRY(theirs.adopt(stream.context(), producer));
  CJ2K_TRY(theirs.record(ready));
  return stream.wait(ready);
}

bool FrameReader::is_read_in_place(const cj2k_frame& frame, simt::Context& context) const {
  if (frame.memory == CJ2K_MEMORY_CUDA) return true;
  if (frame.release == nullptr) return false;
  const Pieces pieces = pieces_of(frame);
  if (pieces.bytes > tables_.input.bytes) return false;
  return std::all_of(pieces.of, pieces.of + pieces.count, [&](const Piece& piece) {
    const ptrdiff_t used = piece.end - piece.begin;
    return piece.stride >= used &&
           context.is_page_locked(piece.begin, static_cast<size_t>(piece.stride) *
                                                       static_cast<size_t>(piece.rows - 1) +
                                                   static_cast<size_t>(used));
  });
}

/// Takes the rows as they are.
void FrameReader::stage_rows(const cj2k_frame& frame, const Pieces& pieces, bool in_place,
                             const FramePlace& to, StagedFrame* staged) const {
  for (size_t p = 0; p < pieces.count; ++p) {
    const Piece& piece = pieces.of[p];
    const auto used = static_cast<size_t>(piece.end - piece.begin);
    if (in_place) {
      staged->rows[staged->num_rows++] = {to.device + piece.offset,
                                          piece.row_bytes,
                                          piece.begin,
                                          static_cast<size_t>(piece.stride),
                                          used,
                                          static_cast<size_t>(piece.rows)};
      continue;
    }
    parallel_for(static_cast<size_t>(piece.rows), kRowGrain, [&](size_t begin, size_t end) {
      for (size_t y = begin; y < end; ++y) {
        copy_past_caches(to.pinned + piece.offset + y * piece.row_bytes,
                         piece.begin + static_cast<ptrdiff_t>(y) * piece.stride, used);
      }
    });
  }
  if (!in_place) {
    staged->rows[staged->num_rows++] = {to.device,    pieces.bytes, to.pinned,
                                        pieces.bytes, pieces.bytes, 1};
  }
  for (size_t c = 0; c < plan_.components.size(); ++c) {
    const Piece& piece = pieces.of[pieces.of_component[c]];
    cj2k_component_view& v = staged->views[c];
    v = frame.components[c];
    v.data = to.device + piece.offset +
             (static_cast<const uint8_t*>(frame.components[c].data) - piece.begin);
    v.stride_bytes = static_cast<ptrdiff_t>(piece.row_bytes);
  }
}

/// Packs the samples. For samples that lie so far apart that copying the bytes between them would
/// cost more.
void FrameReader::stage_packed(const cj2k_frame& frame, const FramePlace& to,
                               StagedFrame* staged) const {
  uint64_t bytes = 0;
  for (size_t c = 0; c < plan_.components.size(); ++c) {
    const cj2k_component_view& v = frame.components[c];
    const Component& component = plan_.components[c];
    const InputLayout::Component& packed = tables_.input.components[c];
    const int32_t depth = read_depth(plan_, component);
    const uint32_t mask = (uint32_t{1} << depth) - 1;
    const int32_t shift = v.shift + component.depth + component.low_bits - depth;
    parallel_for(
        static_cast<size_t>(component.rect.height()), kRowGrain, [&](size_t begin, size_t end) {
          for (size_t y = begin; y < end; ++y) {
            const auto* from =
                static_cast<const uint8_t*>(v.data) + static_cast<ptrdiff_t>(y) * v.stride_bytes;
            uint8_t* out = to.pinned + packed.offset + y * packed.row_bytes;
            for (int32_t x = 0; x < component.rect.width(); ++x, from += v.step_bytes) {
              uint32_t word = 0;
              std::memcpy(&word, from, static_cast<size_t>(v.word_bytes));
              const auto sample = static_cast<uint16_t>(word >> shift & mask);
              std::memcpy(out, &sample, packed.word_bytes);
              out += packed.word_bytes;
            }
          }
        });
    staged->views[c] = {to.device + packed.offset, static_cast<ptrdiff_t>(packed.row_bytes),
                        static_cast<int32_t>(packed.word_bytes),
                        static_cast<int32_t>(packed.word_bytes), 0};
    bytes =
        packed.offset + uint64_t{packed.row_bytes} * static_cast<uint64_t>(component.rect.height());
  }
  staged->rows[staged->num_rows++] = {to.device, bytes, to.pinned, bytes, bytes, 1};
}

/// Moves the views of words as the application has them to the bits that are read.
void FrameReader::skip_low_bits(StagedFrame* staged) const {
  for (size_t c = 0; c < plan_.components.size(); ++c) {
    const Component& component = plan_.components[c];
    staged->views[c].shift += component.depth + component.low_bits - read_depth(plan_, component);
  }
}

StagedFrame FrameReader::stage(const cj2k_frame& frame, bool in_place, const FramePlace& to) const {
  StagedFrame staged{};
  if (frame.memory == CJ2K_MEMORY_CUDA) {
    for (size_t c = 0; c < plan_.components.size(); ++c) staged.views[c] = frame.components[c];
  } else {
    const Pieces pieces = pieces_of(frame);
    if (pieces.bytes > tables_.input.bytes) {
      stage_packed(frame, to, &staged);
      return staged;
    }
    stage_rows(frame, pieces, in_place, to, &staged);
  }
  skip_low_bits(&staged);
  return staged;
}

FrameViews FrameReader::coded_views(const FramePlace& to) const {
  FrameViews views{};
  for (size_t c = 0; c < plan_.components.size(); ++c) {
    const CodedWords::Component& words = tables_.coded_words.components[c];
    views[c] = {to.coded_words + words.offset, static_cast<ptrdiff_t>(words.row_bytes), 2, 2, 0};
  }
  return views;
}

Status FrameReader::enqueue(const cj2k_frame& frame, const StagedFrame& staged,
                            const FramePlace& to, const DwtLists& lists, simt::Stream& stream,
                            FrameEvents& events) const {
  if (frame.memory == CJ2K_MEMORY_CUDA)
    CJ2K_TRY(wait_for_producer(plan_, frame, stream, events.ready));
  FrameEvents::Span& span = events.reading[to.number];
  CJ2K_TRY(stream.record(span.begin));
  for (uint32_t i = 0; i < staged.num_rows; ++i) CJ2K_TRY(stream.upload_rows(staged.rows[i]));
  FrameViews views = staged.views;
  if (tables_.coded_words.bytes > 0) {
    CJ2K_TRY(tables_.xyz.has_value() ? xyz_words(stream, tables_.stored, to.xyz,
                                                 tables_.coded_words, views, to.coded_words)
                                     : round_words(stream, tables_.stored, tables_.format,
                                                   tables_.coded_words, views, to.coded_words));
    views = coded_views(to);
  }
  CJ2K_TRY(plan_.params.levels > 0
               ? dwt_first_level(stream, tables_.format, lists, views, to.samples)
               : cuda::ingest(stream, tables_.format, tables_.frame, views, to.samples));
  CJ2K_TRY(stream.record(span.end));
  return stream.record(events.read);
}

}  // namespace cj2k::cuda

// SPDX-FileCopyrightText: The libcj2k authors
// SPDX-License-Identifier: BSD-2-Clause
#include "memory.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace cj2k_python {

namespace {

// The structs of DLPack 0.x, whose layout every version up to 1.x keeps for capsules "dltensor".
struct DLTensor {
  void* data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: C order
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
constexpr uint8_t kDLBool = 6;
enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 };

std::string word_type(bool is_signed, int bits) {
  return (is_signed ? "int" : "uint") + std::to_string(bits);
}

/// The type of a format of the struct module.
std::string buffer_type(const char* format, Py_ssize_t item_bytes) {
  const std::string text = format == nullptr ? "B" : format;
  const bool has_order = !text.empty() && std::strchr("@=<>!", text[0]) != nullptr;
  const std::string code = text.substr(has_order ? 1 : 0);
  if (code.size() == 1 && std::strchr("BHILQN", code[0]) != nullptr)
    return word_type(false, 8 * static_cast<int>(item_bytes));
  if (code.size() == 1 && std::strchr("bhilqn", code[0]) != nullptr)
    return word_type(true, 8 * static_cast<int>(item_bytes));
  if (code == "?") return "bool";
  if (code == "e" || code == "f" || code == "d") return "float" + std::to_string(8 * item_bytes);
  return "format " + text;
}

bool is_big_endian(const char* format) {
  return format != nullptr && (format[0] == '>' || format[0] == '!');
}

std::shared_ptr<Memory> from_buffer(const py::object& object) {
  auto buffer = std::shared_ptr<Py_buffer>(new Py_buffer(), [](Py_buffer* b) {
    PyBuffer_Release(b);
    delete b;
  });
  if (PyObject_GetBuffer(object.ptr(), buffer.get(), PyBUF_RECORDS_RO) != 0)
    throw py::error_already_set();
  auto memory = std::make_shared<Memory>();
  memory->address = reinterpret_cast<uintptr_t>(buffer->buf);
  memory->shape.assign(buffer->shape, buffer->shape + buffer->ndim);
  memory->strides.assign(buffer->strides, buffer->strides + buffer->ndim);
  memory->item_bytes = static_cast<int>(buffer->itemsize);
  memory->type = buffer_type(buffer->format, buffer->itemsize);
  const bool is_swapped = buffer->itemsize > 1 && is_big_endian(buffer->format);
  memory->is_foreign = is_swapped || memory->type == "bool";
  memory->owner = buffer;
  return memory;
}

std::shared_ptr<Memory> from_dlpack(const py::capsule& capsule) {
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor"))
    throw py::value_error("a DLPack capsule must be named \"dltensor\", and is used once");
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  const DLTensor& t = managed->tensor;
  auto memory = std::make_shared<Memory>();
  const int type = t.device.type;
  if (type != kDLCPU && type != kDLCUDA && type != kDLCUDAHost && type != kDLCUDAManaged) {
    throw py::type_error("DLPack device type " + std::to_string(type) +
                         " not in {1 (CPU), 2 (CUDA), 3 (CUDA host), 13 (CUDA managed)}");
  }
  memory->is_cuda = type == kDLCUDA || type == kDLCUDAManaged;
  memory->device = memory->is_cuda ? t.device.id : 0;
  memory->address = reinterpret_cast<uintptr_t>(t.data) + t.byte_offset;
  memory->item_bytes = t.dtype.bits / 8;
  memory->shape.assign(t.shape, t.shape + t.ndim);
  memory->strides.resize(memory->shape.size());
  int64_t step = 1;
  for (size_t i = memory->shape.size(); i-- > 0; step *= memory->shape[i])
    memory->strides[i] = (t.strides == nullptr ? step : t.strides[i]) * memory->item_bytes;
  if (t.dtype.code <= 1 && t.dtype.lanes == 1) {
    memory->type = word_type(t.dtype.code == 0, t.dtype.bits);
  } else if (t.dtype.code == kDLBool && t.dtype.bits == 8 && t.dtype.lanes == 1) {
    memory->type = "bool";
    memory->is_foreign = true;
  } else {
    memory->type = "DLPack type " + std::to_string(t.dtype.code) + " of " +
                   std::to_string(t.dtype.bits) + " bits in " + std::to_string(t.dtype.lanes) +
                   " lanes";
  }
  // From here on the tensor is ours.
  if (PyCapsule_SetName(capsule.ptr(), "used_dltensor") != 0) throw py::error_already_set();
  memory->owner = std::shared_ptr<DLManagedTensor>(managed, [](DLManagedTensor* m) {
    if (m->deleter != nullptr) m->deleter(m);
  });
  return memory;
}

std::shared_ptr<Memory> from_cuda(uintptr_t address, std::vector<int64_t> shape,
                                  std::vector<int64_t> strides, int item_bytes, std::string type,
                                  const py::object& owner) {
  auto memory = std::make_shared<Memory>();
  memory->address = address;
  memory->shape = std::move(shape);
  memory->strides = std::move(strides);
  memory->item_bytes = item_bytes;
  memory->type = std::move(type);
  memory->is_cuda = true;
  memory->owner = std::make_shared<py::object>(owner);
  return memory;
}

/// Copies to C order.
/// @return the end of what was written
template <typename Word>
uint8_t* copy_words(uint8_t* to, const uint8_t* from, const Memory& m, size_t axis) {
  const int64_t count = m.shape[axis], stride = m.strides[axis];
  if (axis + 1 < m.shape.size()) {
    for (int64_t i = 0; i < count; ++i) to = copy_words<Word>(to, from + i * stride, m, axis + 1);
    return to;
  }
  for (int64_t i = 0; i < count; ++i, to += sizeof(Word))
    std::memcpy(to, from + i * stride, sizeof(Word));
  return to;
}

/// The same words in C order, the upper byte last, true as 1, in memory of their own.
std::shared_ptr<Memory> contiguous(const Memory& memory) {
  auto copy = std::make_shared<Memory>(memory);
  int64_t bytes = memory.item_bytes;
  for (size_t i = memory.shape.size(); i-- > 0; bytes *= memory.shape[i]) copy->strides[i] = bytes;
  std::shared_ptr<void> words(std::malloc(static_cast<size_t>(bytes)), std::free);
  if (words == nullptr) throw std::bad_alloc();
  {
    py::gil_scoped_release no_gil;
    auto* to = static_cast<uint8_t*>(words.get());
    const auto* from = reinterpret_cast<const uint8_t*>(memory.address);
    if (memory.item_bytes == 1) {
      copy_words<uint8_t>(to, from, memory, 0);
    } else {
      copy_words<uint16_t>(to, from, memory, 0);
    }
    if (memory.is_foreign && memory.item_bytes == 1) {
      for (int64_t i = 0; i < bytes; ++i) to[i] = to[i] != 0;
    } else if (memory.is_foreign) {
      for (int64_t i = 0; i < bytes; i += 2) std::swap(to[i], to[i + 1]);
    }
  }
  copy->is_foreign = false;
  copy->address = reinterpret_cast<uintptr_t>(words.get());
  copy->owner = words;
  return copy;
}

/// The bits of a row's samples above `bits`, or-ed together. 0: every sample fits.
template <typename Word>
uint32_t row_excess(const uint8_t* row, const View& view, uint32_t bias) {
  using Unsigned = std::make_unsigned_t<Word>;
  uint32_t all = 0;
  if (view.step_bytes == sizeof(Word)) {  // a loop that the compiler makes wide
    Unsigned narrow = 0;
    for (int32_t x = 0; x < view.columns; ++x) {
      Unsigned word;
      std::memcpy(&word, row + x * sizeof(Word), sizeof word);
      narrow |= static_cast<Unsigned>(word + bias);
    }
    all = narrow;
  } else {
    for (int32_t x = 0; x < view.columns; ++x) {
      Unsigned word;
      std::memcpy(&word, row + static_cast<int64_t>(x) * view.step_bytes, sizeof word);
      all |= static_cast<Unsigned>(word + bias);
    }
  }
  return all >> view.bits;
}

template <typename Word>
bool find_in(const View& view, int* value, int* x, int* y) {
  const uint32_t bias = std::is_signed_v<Word> ? 1u << (view.bits - 1) : 0;
  const auto* first = reinterpret_cast<const uint8_t*>(view.memory->address) + view.offset;
  for (int32_t row = 0; row < view.rows; ++row) {
    const uint8_t* words = first + row * view.stride_bytes;
    if (row_excess<Word>(words, view, bias) == 0) continue;
    for (int32_t column = 0; column < view.columns; ++column) {
      Word word;
      std::memcpy(&word, words + static_cast<int64_t>(column) * view.step_bytes, sizeof word);
      const auto biased = static_cast<std::make_unsigned_t<Word>>(word + bias);
      if (biased >> view.bits == 0) continue;
      *value = word;
      *x = column;
      *y = row;
      return true;
    }
  }
  return false;
}

}  // namespace

bool find_too_large(const View& view, int* value, int* x, int* y) {
  if (view.memory->is_cuda || view.bits >= 8 * view.memory->item_bytes) return false;
  const bool is_signed = view.memory->type[0] == 'i';
  if (view.memory->item_bytes == 1)
    return is_signed ? find_in<int8_t>(view, value, x, y) : find_in<uint8_t>(view, value, x, y);
  return is_signed ? find_in<int16_t>(view, value, x, y) : find_in<uint16_t>(view, value, x, y);
}

void bind_memory(py::module_& module) {
  py::class_<Memory, std::shared_ptr<Memory>>(module, "Memory")
      .def_static("from_buffer", &from_buffer)
      .def_static("from_dlpack", &from_dlpack)
      .def_static("from_cuda", &from_cuda)
      .def("contiguous", &contiguous)
      .def_readonly("address", &Memory::address)
      .def_readonly("shape", &Memory::shape)
      .def_readonly("strides", &Memory::strides)
      .def_readonly("item_bytes", &Memory::item_bytes)
      .def_readonly("type", &Memory::type)
      .def_readonly("is_foreign", &Memory::is_foreign)
      .def_readonly("is_cuda", &Memory::is_cuda)
      .def_readonly("device", &Memory::device);
}

}  // namespace cj2k_python

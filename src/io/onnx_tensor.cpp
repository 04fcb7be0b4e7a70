#include "sparsebit/io/onnx_tensor.h"

#include "io/byte_count.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/onnx_dtype.h"

#include <ATen/ATen.h>

#include <charconv>
#include <cstring>
#include <limits>

namespace sparsebit::io {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

// Element types of ONNX 1.16 that the packaged header does not name yet.
constexpr int kFloat8First = 17, kFloat8Last = 20, kUint4 = 21, kInt4 = 22;

std::string name_of(const TensorProto& proto) {
  return proto.name().empty() ? "an unnamed tensor" : "tensor '" + proto.name() + "'";
}

struct Layout {
  std::vector<int64_t> shape;
  int64_t count = 1;
  int64_t bytes = 0;
  at::ScalarType dtype;
};

/// Bits per element in a file; nullopt for types without a fixed size.
std::optional<int64_t> bits_of(int type) {
  if (is_four_bit(type)) return 4;
  if (type >= kFloat8First && type <= kFloat8Last) return 8;
  if (type == TensorProto::UINT16) return 16;
  if (type == TensorProto::UINT32) return 32;
  if (type == TensorProto::UINT64) return 64;
  const std::optional<at::ScalarType> dtype = scalar_type_of(type);
  return dtype ? std::optional(8 * static_cast<int64_t>(c10::elementSize(*dtype))) : std::nullopt;
}

/// Sets shape, count and bytes of a layout for elements of `bits` bits.
void measure(const TensorProto& proto, int64_t bits, Layout& layout) {
  layout.shape.assign(proto.dims().begin(), proto.dims().end());
  for (const int64_t dim : layout.shape)
    SPARSEBIT_CHECK(dim >= 0, InvalidModel, name_of(proto), ": negative dimension ", dim);
  const int64_t item = std::max<int64_t>(bits / 8, 1);
  const std::optional<int64_t> bytes = byte_count(layout.shape, item);
  SPARSEBIT_CHECK(bytes, InvalidModel, name_of(proto), ": its size overflows 64 bits");
  layout.bytes = *bytes;
  layout.count = *bytes / item;
  if (bits == 4) layout.bytes = layout.count / 2 + layout.count % 2;
}

Layout layout_of(const TensorProto& proto) {
  const std::optional<at::ScalarType> dtype = scalar_type_of(proto.data_type());
  SPARSEBIT_CHECK(dtype, Unsupported, name_of(proto), ": element type ",
                  onnx_type_name(proto.data_type()), " is not supported");
  Layout layout{.shape = {}, .dtype = *dtype};
  measure(proto, *bits_of(proto.data_type()), layout);
  return layout;
}

void check_size(const TensorProto& proto, const Layout& layout, size_t found) {
  SPARSEBIT_CHECK(static_cast<size_t>(layout.bytes) == found, InvalidModel, name_of(proto),
                  ": its shape [", c10::Join(", ", layout.shape), "] needs ", layout.bytes,
                  " bytes, but there are ", found);
}

/// Two values per byte, the first in the low bits.
at::Tensor unpack_four_bits(const uint8_t* packed, const Layout& layout) {
  at::Tensor result = at::empty(layout.shape, layout.dtype);
  auto* const out = static_cast<uint8_t*>(result.data_ptr());
  const bool is_signed = layout.dtype == at::kChar;
  for (int64_t i = 0; i < layout.count; ++i) {
    const uint8_t nibble = i % 2 == 0 ? packed[i / 2] & 0x0F : packed[i / 2] >> 4;
    out[i] = is_signed && nibble > 7 ? nibble | 0xF0 : nibble;
  }
  return result;
}

/// Whether a tensor can use the bytes in place.
bool fits_in_place(const TensorProto& proto, const Layout& layout, const char* data) {
  const bool aligned = reinterpret_cast<uintptr_t>(data) % c10::elementSize(layout.dtype) == 0;
  return aligned && layout.dtype != at::kBool && !is_four_bit(proto.data_type());
}

/// @param keep_alive  owns `data`; the tensor uses the bytes in place when they are aligned.
template <class Owner>
at::Tensor from_bytes(const TensorProto& proto, const Layout& layout, char* data,
                      std::shared_ptr<Owner> keep_alive) {
  if (layout.count == 0) return at::empty(layout.shape, layout.dtype);  // there may be no bytes
  if (is_four_bit(proto.data_type())) {
    return unpack_four_bits(reinterpret_cast<const uint8_t*>(data), layout);
  }
  if (layout.dtype == at::kBool) {  // a byte of 2 would be undefined behaviour
    return at::from_blob(data, layout.shape, at::kByte).ne(0);
  }
  if (!fits_in_place(proto, layout, data)) {
    at::Tensor copy = at::empty(layout.shape, layout.dtype);
    std::memcpy(copy.data_ptr(), data, static_cast<size_t>(layout.bytes));
    return copy;
  }
  return at::from_blob(
      data, layout.shape, [keep_alive](void*) {}, layout.dtype);
}

int64_t external_number(const TensorProto& proto, const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  SPARSEBIT_CHECK(error == std::errc() && end == text.data() + text.size() && number >= 0,
                  InvalidModel, name_of(proto), ": invalid offset or length '", text,
                  "' of external data");
  return number;
}

/// The bytes of a tensor in an external data file.
struct Part {
  std::shared_ptr<MappedFile> file;
  char* data;
  int64_t size;
};

/// @param needed  size of the tensor in bytes, used when external_data has no length.
Part find_external(const TensorProto& proto, const std::optional<int64_t>& needed,
                   ExternalData& external) {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = external_number(proto, entry.value());
    if (entry.key() == "length") length = external_number(proto, entry.value());
  }
  const std::shared_ptr<MappedFile> file = external.open(location);
  const auto size = static_cast<int64_t>(file->size());
  SPARSEBIT_CHECK(offset <= size && length.value_or(0) <= size - offset, InvalidModel,
                  name_of(proto), ": bytes ", offset, " to ", offset, " + ", length.value_or(0),
                  " are not in '", location, "', which has ", size, " bytes");
  // Without a length, the size of the tensor is used; the rest of the file belongs to others.
  const int64_t rest = size - offset;
  return {file, file->data() + offset, length.value_or(std::min(rest, needed.value_or(rest)))};
}

at::Tensor from_external(const TensorProto& proto, const Layout& layout, ExternalData& external) {
  const Part part = find_external(proto, layout.bytes, external);
  check_size(proto, layout, static_cast<size_t>(part.size));
  if (!fits_in_place(proto, layout, part.data)) {
    external.note_copy(layout.count * static_cast<int64_t>(c10::elementSize(layout.dtype)));
  }
  return from_bytes(proto, layout, part.data, part.file);
}

template <class Stored, class Element = Stored>
at::Tensor from_list(const TensorProto& proto, const Layout& layout,
                     const google::protobuf::RepeatedField<Stored>& values) {
  const int64_t per_element = at::isComplexType(layout.dtype) ? 2 : 1;
  SPARSEBIT_CHECK(values.size() == layout.count * per_element, InvalidModel, name_of(proto),
                  ": its shape [", c10::Join(", ", layout.shape), "] needs ", layout.count,
                  " values, but there are ", values.size());
  at::Tensor result = at::empty(layout.shape, layout.dtype);
  auto* const out = static_cast<Element*>(result.data_ptr());
  for (int i = 0; i < values.size(); ++i) out[i] = static_cast<Element>(values[i]);
  return result;
}

at::Tensor from_packed_list(const TensorProto& proto, const Layout& layout) {
  check_size(proto, layout, static_cast<size_t>(proto.int32_data_size()));
  std::vector<uint8_t> packed(proto.int32_data().begin(), proto.int32_data().end());
  return unpack_four_bits(packed.data(), layout);
}

at::Tensor from_typed_fields(const TensorProto& proto, const Layout& layout) {
  if (is_four_bit(proto.data_type())) return from_packed_list(proto, layout);
  switch (layout.dtype) {
    case at::kFloat:
    case at::kComplexFloat:
      return from_list(proto, layout, proto.float_data());
    case at::kDouble:
    case at::kComplexDouble:
      return from_list(proto, layout, proto.double_data());
    case at::kLong:
      return from_list(proto, layout, proto.int64_data());
    case at::kInt:
      return from_list(proto, layout, proto.int32_data());
    case at::kShort:
    case at::kHalf:  // 16-bit floats are stored as bit patterns
    case at::kBFloat16:
      return from_list<int32_t, int16_t>(proto, layout, proto.int32_data());
    case at::kBool:
      return from_list<int32_t, bool>(proto, layout, proto.int32_data());
    default:
      return from_list<int32_t, int8_t>(proto, layout, proto.int32_data());
  }
}

}  // namespace

bool is_four_bit(int onnx_type) { return onnx_type == kUint4 || onnx_type == kInt4; }

std::optional<at::ScalarType> scalar_type_of(int onnx_type) {
  if (onnx_type == kUint4) return at::kByte;
  if (onnx_type == kInt4) return at::kChar;
  return dtype_of_onnx(onnx_type);
}

int onnx_type_of(at::ScalarType dtype) {
  for (int type = TensorProto::FLOAT; type <= TensorProto::BFLOAT16; ++type) {
    if (scalar_type_of(type) == dtype) return type;
  }
  SPARSEBIT_CHECK(false, Unsupported, "ONNX has no element type for ", c10::toString(dtype));
}

std::string onnx_type_name(int onnx_type) {
  if (onnx_type >= kFloat8First && onnx_type <= kFloat8Last) return "float8";
  if (onnx_type == kUint4) return "uint4";
  if (onnx_type == kInt4) return "int4";
  std::string name = TensorProto::DataType_Name(static_cast<TensorProto::DataType>(onnx_type));
  if (name.empty()) return "number " + std::to_string(onnx_type);
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return name;
}

std::shared_ptr<MappedFile> ExternalData::open(const std::string& location) {
  const fs::path relative(location);
  bool inside = !location.empty() && relative.is_relative();
  for (const fs::path& part : relative) inside &= part != "..";
  SPARSEBIT_CHECK(inside, InvalidModel, "external data '", location,
                  "' is not a file in the model's own folder");
  SPARSEBIT_CHECK(!folder_.empty(), InvalidModel, "external data '", location,
                  "' cannot be read: the model's folder is unknown");
  std::shared_ptr<MappedFile>& file = files_[location];
  if (file) return file;

  std::error_code error;
  const fs::path root = fs::canonical(folder_, error);
  const fs::path target = fs::canonical(folder_ / relative, error);
  SPARSEBIT_CHECK(!error, Io, (folder_ / relative).string(),
                  ": cannot read external data: ", error.message());
  const fs::path from_root = target.lexically_relative(root);
  SPARSEBIT_CHECK(!from_root.empty() && *from_root.begin() != "..", InvalidModel, "external data '",
                  location, "' is a link that leaves the model's folder");
  SPARSEBIT_CHECK(fs::is_regular_file(target), InvalidModel, "external data '", location,
                  "' is not a regular file");
  file = std::make_shared<MappedFile>(target);
  return file;
}

void ExternalData::note_copy(int64_t bytes) {
  int64_t size = 0;
  for (const auto& [location, file] : files_) size += static_cast<int64_t>(file->size());
  copied_ += bytes;
  SPARSEBIT_CHECK(copied_ <= 2 * size, InvalidModel,
                  "the model's tensors reference more than twice the size of its external data");
}

at::Tensor take_tensor(TensorProto& proto, ExternalData& external) {
  const Layout layout = layout_of(proto);
  if (proto.data_location() == TensorProto::EXTERNAL) {
    return from_external(proto, layout, external);
  }
  if (!proto.has_raw_data()) return from_typed_fields(proto, layout);
  check_size(proto, layout, proto.raw_data().size());
  const std::shared_ptr<std::string> bytes(proto.release_raw_data());
  return from_bytes(proto, layout, bytes->data(), bytes);
}

void embed_external_data(TensorProto& proto, ExternalData& external) {
  if (proto.data_location() != TensorProto::EXTERNAL) return;
  const std::optional<int64_t> bits = bits_of(proto.data_type());
  Layout layout{.shape = {}, .dtype = at::ScalarType::Undefined};
  if (bits) measure(proto, *bits, layout);
  const Part part =
      find_external(proto, bits ? std::optional(layout.bytes) : std::nullopt, external);
  if (bits) check_size(proto, layout, static_cast<size_t>(part.size));
  external.note_copy(part.size);
  proto.set_raw_data(part.data, static_cast<size_t>(part.size));
  proto.clear_external_data();
  proto.clear_data_location();
}

TensorProto to_tensor_proto(const at::Tensor& tensor, const std::string& name) {
  TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx_type_of(tensor.scalar_type()));
  for (const int64_t dim : tensor.sizes()) proto.add_dims(dim);
  const at::Tensor plain = tensor.detach().to(at::kCPU).contiguous();
  proto.set_raw_data(plain.data_ptr(), plain.nbytes());
  return proto;
}

}  // namespace sparsebit::io

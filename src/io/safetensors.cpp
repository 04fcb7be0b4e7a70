#include "sparsebit/io/safetensors.h"

#include "io/safetensors_header.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace sparsebit::io {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little,
              "tensor data is written without byte swapping");

constexpr uint64_t kLengthBytes = 8;

Error io_error(const fs::path& path, const std::string& reason) {
  return {ErrorKind::Io, {.what = "cannot read: " + reason, .where = path.string()}};
}

TensorEntry describe(const std::string& name, const at::Tensor& tensor, uint64_t begin) {
  SPARSEBIT_CHECK(tensor.defined(), InvalidArgument, "safetensors: tensor '", name,
                  "' is undefined");
  SPARSEBIT_CHECK(tensor.layout() == at::kStrided, Unsupported, "safetensors: tensor '", name,
                  "' is not dense (layout ", tensor.layout(), ")");
  SPARSEBIT_CHECK(dtype_name(tensor.scalar_type()), Unsupported, "safetensors: tensor '", name,
                  "' has type ", tensor.scalar_type(), ", which the format does not have");
  const uint64_t bytes = static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
  return {name, tensor.scalar_type(), tensor.sizes().vec(), begin, begin + bytes};
}

void write_data(std::ostream& out, const at::Tensor& tensor) {
  const at::Tensor dense = tensor.detach().cpu().resolve_neg().contiguous();
  out.write(static_cast<const char*>(dense.data_ptr()),
            static_cast<std::streamsize>(dense.nbytes()));
}

// Opens a regular file and stores its size. Pipes and devices have no size to check lengths
// against.
std::ifstream open(const fs::path& path, uint64_t& size) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) throw io_error(path, "Is a directory");
  if (!fs::exists(status)) throw io_error(path, error.message());
  if (!fs::is_regular_file(status)) throw io_error(path, "not a regular file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw io_error(path, std::generic_category().message(errno));
  size = fs::file_size(path);
  return in;
}

void read_exactly(std::ifstream& in, const fs::path& path, void* to, uint64_t bytes) {
  in.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  if (!in) throw io_error(path, "unexpected end of file");
}

// Reads the header text. Afterwards `in` is at the start of the data.
std::string read_header_text(std::ifstream& in, uint64_t file_bytes, const fs::path& path) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::InvalidModel, {.what = what, .where = path.string()});
  };
  if (file_bytes < kLengthBytes) {
    fail(c10::str("not a safetensors file: ", file_bytes, " bytes, shorter than a header"));
  }
  uint64_t length = 0;
  read_exactly(in, path, &length, kLengthBytes);
  if (length > kMaxHeaderBytes) {
    fail(c10::str("not a safetensors file: a header of ", length, " bytes; at most ",
                  kMaxHeaderBytes, " are allowed"));
  }
  if (length > file_bytes - kLengthBytes) {
    fail(c10::str("the header has ", length, " bytes, but only ", file_bytes - kLengthBytes,
                  " follow; is the file complete?"));
  }
  std::string text(length, '\0');
  read_exactly(in, path, text.data(), length);
  return text;
}

at::Tensor read_tensor(std::ifstream& in, const TensorEntry& entry, const fs::path& path) {
  at::Tensor tensor = at::empty(entry.shape, at::TensorOptions(entry.dtype));
  read_exactly(in, path, tensor.data_ptr(), entry.end - entry.begin);
  if (entry.dtype == at::kBool) {
    // A bool with another value is undefined behaviour in C++.
    const auto* bytes = static_cast<const uint8_t*>(tensor.data_ptr());
    if (std::any_of(bytes, bytes + tensor.numel(), [](uint8_t byte) { return byte > 1; })) {
      throw Error(ErrorKind::InvalidModel,
                  {.what = "tensor '" + entry.name + "': BOOL data other than 0 and 1",
                   .where = path.string()});
    }
  }
  return tensor;
}

}  // namespace

void save_safetensors(const fs::path& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header{.metadata = metadata};
  uint64_t end = 0;
  for (const auto& item : tensors) {
    header.tensors.push_back(describe(item.key(), item.value(), end));
    end = header.tensors.back().end;
  }
  const std::string text = write_header(header);
  const auto length = std::bit_cast<std::array<char, kLengthBytes>>(uint64_t{text.size()});

  AtomicFile file(path);
  file.stream().write(length.data(), kLengthBytes) << text;
  for (const auto& item : tensors) write_data(file.stream(), item.value());
  file.commit();
}

SafetensorsFile load_safetensors(const fs::path& path) {
  uint64_t file_bytes = 0;
  std::ifstream in = open(path, file_bytes);
  const std::string text = read_header_text(in, file_bytes, path);
  const uint64_t data_start = kLengthBytes + text.size();
  SafetensorsHeader header = read_header(text, file_bytes - data_start, path);

  SafetensorsFile file;
  file.metadata = std::move(header.metadata);
  file.tensors.reserve(header.tensors.size());
  for (const TensorEntry& entry : header.tensors) {
    in.seekg(static_cast<std::streamoff>(data_start + entry.begin));
    file.tensors.insert(entry.name, read_tensor(in, entry, path));
  }
  return file;
}

}  // namespace sparsebit::io

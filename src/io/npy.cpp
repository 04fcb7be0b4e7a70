#include "sparsebit/io/npy.h"

#include "io/npy_header.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"
#include "sparsebit/io/zip_archive.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace sparsebit::io {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensor data is written without byte swapping");

void swap_bytes(at::Tensor& tensor) {
  const size_t parts = at::isComplexType(tensor.scalar_type()) ? 2 : 1;
  const size_t item = tensor.element_size() / parts;
  auto* const data = static_cast<char*>(tensor.data_ptr());
  for (size_t at = 0; at < tensor.nbytes(); at += item) {
    std::reverse(data + at, data + at + item);
  }
}

void check_bools(const char* data, size_t count, const std::string& where) {
  // A bool with another value is undefined behaviour in C++.
  if (std::any_of(data, data + count, [](char byte) { return byte != 0 && byte != 1; })) {
    throw Error(ErrorKind::InvalidModel, {.what = "bool data other than 0 and 1", .where = where});
  }
}

/// Fortran order is C order of the reversed shape.
at::Tensor reverse_dims(const at::Tensor& tensor) {
  std::vector<int64_t> order(static_cast<size_t>(tensor.dim()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = tensor.dim() - 1 - static_cast<int64_t>(i);
  return tensor.permute(order).contiguous();
}

}  // namespace

at::Tensor parse_npy(std::string_view bytes, const std::string& where) {
  NpyHeader header = read_npy_header(bytes, where);
  const std::string_view data = bytes.substr(header.data_begin);
  if (header.dtype == at::kBool) check_bools(data.data(), data.size(), where);
  if (header.fortran_order) std::reverse(header.shape.begin(), header.shape.end());
  at::Tensor tensor = at::empty(header.shape, at::TensorOptions(header.dtype));
  if (!data.empty()) std::memcpy(tensor.data_ptr(), data.data(), data.size());
  if (header.big_endian) swap_bytes(tensor);
  return header.fortran_order ? reverse_dims(tensor) : tensor;
}

at::Tensor load_npy(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_npy(file.bytes(), path.string());
}

NamedTensors load_npz(const std::filesystem::path& path) {
  NamedTensors arrays;
  const MappedFile file(path);
  const ZipArchive archive(file.bytes(), path.string());
  for (const ZipArchive::Record& record : archive.records()) {
    const std::string& name = record.name;
    const std::string array = name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
    SPARSEBIT_CHECK(!arrays.contains(array), InvalidArgument, path.string(), ": duplicate array '",
                    array, "'");
    arrays.insert(array, parse_npy(archive.read(record), path.string() + "/" + name));
  }
  return arrays;
}

void save_npy(const std::filesystem::path& path, const at::Tensor& tensor) {
  SPARSEBIT_CHECK(tensor.defined(), InvalidArgument, path.string(),
                  ": cannot save an undefined tensor");
  const std::optional<std::string> header =
      tensor.layout() == at::kStrided ? write_npy_header(tensor.scalar_type(), tensor.sizes())
                                      : std::nullopt;
  SPARSEBIT_CHECK(header, Unsupported, path.string(), ": the .npy format cannot hold a ",
                  tensor.layout() == at::kStrided ? "" : "sparse ", "tensor of type ",
                  tensor.scalar_type());
  const at::Tensor dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
  AtomicFile file(path);
  file.stream() << *header;
  file.stream().write(static_cast<const char*>(dense.data_ptr()),
                      static_cast<std::streamsize>(dense.nbytes()));
  file.commit();
}

}  // namespace sparsebit::io

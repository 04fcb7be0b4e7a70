#pragma once

#include "sparsebit/core/mapped_file.h"
#include "sparsebit/io/onnx_proto.h"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace sparsebit::io {

/// The libtorch type of an ONNX element type (onnx::TensorProto::FLOAT, ...); nullopt for strings
/// and unsigned types wider than a byte. 4-bit integers become bytes.
std::optional<at::ScalarType> scalar_type_of(int onnx_type);
/// Whether elements of this type are 4-bit integers, stored two per byte.
bool is_four_bit(int onnx_type);
/// The ONNX element type of a libtorch type. Throws Unsupported if ONNX has none.
int onnx_type_of(at::ScalarType dtype);
/// "float", "uint16", ... for messages.
std::string onnx_type_name(int onnx_type);

/// The external data files of a model. Each is mapped once and stays mapped as long as a tensor
/// uses it.
class ExternalData {
 public:
  /// Without a folder every reference to external data is an error.
  ExternalData() = default;
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The file at `location`, which must not leave the model's folder. Throws InvalidModel or Io.
  std::shared_ptr<MappedFile> open(const std::string& location);
  /// Counts bytes that a tensor had to copy instead of using in place. Throws InvalidModel when the
  /// copies exceed twice the size of the files, which limits memory for untrusted models.
  void note_copy(int64_t bytes);

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<MappedFile>> files_;
  int64_t copied_ = 0;
};

/// The tensor of a TensorProto. Takes over its bytes where possible: `proto` has no data
/// afterwards. Sizes are checked before memory is allocated. Throws InvalidModel, naming the
/// tensor, when the message is not well formed, and Unsupported for types libtorch does not have.
at::Tensor take_tensor(onnx::TensorProto& proto, ExternalData& external);

/// Replaces external data by raw data in the message, for tensors that are passed on unchanged.
/// Does nothing when `proto` has no external data. Throws as take_tensor() does.
void embed_external_data(onnx::TensorProto& proto, ExternalData& external);

/// A TensorProto with the tensor's values as raw data.
onnx::TensorProto to_tensor_proto(const at::Tensor& tensor, const std::string& name);

}  // namespace sparsebit::io

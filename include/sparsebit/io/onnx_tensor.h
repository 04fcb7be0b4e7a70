#pragma once

#include "sparsebit/core/mapped_file.h"

#include <ATen/core/Tensor.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace sparsebit::io {

/// The element type libtorch has for an ONNX one (onnx::TensorProto::FLOAT, ...); nothing for
/// strings and unsigned types wider than a byte. 4-bit integers become bytes.
std::optional<at::ScalarType> scalar_type_of(int onnx_type);
/// Whether elements of this type are 4-bit integers, two of which share a byte of a file.
bool is_four_bit(int onnx_type);
/// The ONNX element type of a tensor. Throws Unsupported where ONNX has none.
int onnx_type_of(at::ScalarType dtype);
/// "float", "uint16", ... for messages.
std::string onnx_type_name(int onnx_type);

/// Files beside a model that hold its large tensors. Each is mapped once and lives as long as a
/// tensor uses it.
class ExternalData {
 public:
  /// Without a folder every reference to external data is an error.
  ExternalData() = default;
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The file at `location`, which must not leave the model's folder. Throws InvalidModel or Io.
  std::shared_ptr<MappedFile> open(const std::string& location);
  /// Notes that a tensor could not use the file's bytes in place. Throws InvalidModel when many
  /// tensors copy the same bytes: memory must stay in proportion to the files.
  void note_copy(int64_t bytes);

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<MappedFile>> files_;
  int64_t copied_ = 0;
};

/// The tensor a message describes. Takes over the message's bytes where it can: `proto` has no data
/// afterwards. Sizes are checked before memory is taken. Throws InvalidModel, naming the tensor,
/// when the message is not well formed, and Unsupported for types libtorch does not have.
at::Tensor take_tensor(onnx::TensorProto& proto, ExternalData& external);

/// Takes external data into the message, for tensors that are passed on as they are. `proto` stays
/// as it is when it has none. Throws as take_tensor() does.
void embed_external_data(onnx::TensorProto& proto, ExternalData& external);

/// A message with the tensor's values as raw bytes.
onnx::TensorProto to_tensor_proto(const at::Tensor& tensor, const std::string& name);

}  // namespace sparsebit::io

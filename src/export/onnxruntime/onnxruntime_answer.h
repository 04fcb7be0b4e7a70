#pragma once

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::exports {

/// A tensor that follows an answer.
struct OrtTensor {
  std::string type;                     ///< as ONNX Runtime calls it
  std::optional<at::ScalarType> dtype;  ///< nothing when libtorch has no such type
  std::vector<int64_t> shape;
  int64_t bytes;
};

/// "float32"; nothing when ONNX Runtime has no such type.
std::optional<std::string> ort_type(at::ScalarType dtype);

/// An answer of ONNX Runtime's process: a JSON object. Everything in it is checked, since it comes
/// from another program; throws Io, "invalid reply from ONNX Runtime: ...", on anything unexpected.
class OrtAnswer {
 public:
  explicit OrtAnswer(const std::string& line);

  bool flag(const char* key) const;
  int number(const char* key) const;  ///< not negative
  std::string text(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  /// `rows` lists of `columns` numbers.
  std::vector<std::vector<double>> table(const char* key, size_t rows, size_t columns) const;
  /// Exactly `count` tensors whose sizes agree with their shapes.
  std::vector<OrtTensor> tensors(const char* key, size_t count) const;

 private:
  const nlohmann::json& at(const char* key) const;
  const nlohmann::json& list(const char* key, size_t size) const;

  nlohmann::json root_;
};

}  // namespace sparsebit::exports

#include "frontends/onnx/dtype_inference.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <cctype>

namespace sparsebit::frontends {
namespace {

using MaybeDtype = std::optional<at::ScalarType>;

const onnx::OpSchema* schema_of(const Conversion& c) {
  static const int newest =
      onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
  const int64_t opset = std::min<int64_t>(c.opset(), newest);
  return onnx::OpSchemaRegistry::Schema(c.type(), static_cast<int>(opset), "");
}

/// The dtype of a type as ONNX's operator schemas write it: "tensor(int64)".
MaybeDtype dtype_of(const std::string& type) {
  if (!type.starts_with("tensor(") || !type.ends_with(")")) return std::nullopt;
  std::string name = type.substr(7, type.size() - 8);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  onnx::TensorProto::DataType number{};
  if (!onnx::TensorProto::DataType_Parse(name, &number)) return std::nullopt;
  return io::scalar_type_of(number);
}

/// The parameter at a position; a variadic last one stands for all that follow.
template <class Parameters>
const typename Parameters::value_type* parameter(const Parameters& parameters, size_t i) {
  return parameters.empty() ? nullptr : &parameters[std::min(i, parameters.size() - 1)];
}

/// The type stated by an attribute or an input, for results whose schema allows several types.
MaybeDtype stated_dtype(const Conversion& c) {
  const Attributes& a = c.attributes();
  if (c.type() == "DequantizeLinear") return c.dtype(1);
  if (c.type() == "Cast") return a.dtype("to");
  const bool states = c.type().starts_with("Random") || c.type() == "Bernoulli";
  if (!states || !a.has("dtype")) return std::nullopt;
  return a.dtype("dtype");
}

}  // namespace

std::optional<at::ScalarType> infer_dtype(const Conversion& c, size_t output) {
  if (const MaybeDtype stated = stated_dtype(c)) return stated;
  const onnx::OpSchema* schema = schema_of(c);
  const auto* result = schema ? parameter(schema->outputs(), output) : nullptr;
  if (!result) return std::nullopt;
  for (size_t i = 0; i < c.input_count(); ++i) {
    const auto* input = parameter(schema->inputs(), i);
    const bool same =
        input && input->GetTypeStr() == result->GetTypeStr() && input->GetIsHomogeneous();
    if (!same) continue;
    if (const MaybeDtype dtype = c.dtype(i)) return dtype;
  }
  const auto& types = result->GetTypes();
  return types.size() == 1 ? dtype_of(**types.begin()) : std::nullopt;
}

}  // namespace sparsebit::frontends

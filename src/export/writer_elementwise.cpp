#include "export/writer.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {

OnnxTensor GraphWriter::unary(const std::string& type, const OnnxTensor& x, const Attrs& attrs) {
  return op(type, {x}, attrs, x.dtype, x.shape);
}

OnnxTensor GraphWriter::binary(const std::string& type, const OnnxTensor& a, const OnnxTensor& b) {
  const at::ScalarType dtype = a.dtype == at::ScalarType::Undefined ? b.dtype : a.dtype;
  return op(type, {a, b}, {}, dtype, broadcast(a.shape, b.shape));
}

/// Min and Max of opset 11 support floats only.
OnnxTensor GraphWriter::extremum(const char* type, const char* comparison, const OnnxTensor& a,
                                 const OnnxTensor& b) {
  if (opset_ >= 12 || at::isFloatingType(a.dtype)) return binary(type, a, b);
  return where(compare(comparison, a, b), a, b);
}

OnnxTensor GraphWriter::compare(const std::string& type, const OnnxTensor& a, const OnnxTensor& b) {
  if (opset_ < 12 && (type == "LessOrEqual" || type == "GreaterOrEqual")) {
    return logic("Or", compare(type == "LessOrEqual" ? "Less" : "Greater", a, b),
                 compare("Equal", a, b));
  }
  return op(type, {a, b}, {}, at::kBool, broadcast(a.shape, b.shape));
}

OnnxTensor GraphWriter::logic(const std::string& type, const OnnxTensor& a, const OnnxTensor& b) {
  return op(type, {a, b}, {}, at::kBool, broadcast(a.shape, b.shape));
}

OnnxTensor GraphWriter::logical_not(const OnnxTensor& a) {
  return op("Not", {a}, {}, at::kBool, a.shape);
}

OnnxTensor GraphWriter::cast(const OnnxTensor& x, at::ScalarType dtype) {
  if (x.dtype == dtype) return x;
  SPARSEBIT_CHECK(dtype != at::kBFloat16 || opset_ >= 13, Unsupported,
                  "bfloat16 needs opset 13 or newer, the export is for opset ", opset_);
  if (x.constant.defined() && x.constant.numel() <= 64) return constant(x.constant.to(dtype));
  return op("Cast", {x}, {{"to", int64_t{io::onnx_type_of(dtype)}}}, dtype, x.shape);
}

OnnxTensor GraphWriter::where(const OnnxTensor& condition, const OnnxTensor& a,
                              const OnnxTensor& b) {
  return op("Where", {condition, a, b}, {}, a.dtype,
            broadcast(condition.shape, broadcast(a.shape, b.shape)));
}

OnnxTensor GraphWriter::clip(const OnnxTensor& x, const OnnxTensor& low, const OnnxTensor& high) {
  // Clip of opset 11 supports floats only, and some runtimes lack kernels for narrow integers.
  const bool narrow = x.dtype == at::kByte || x.dtype == at::kChar || x.dtype == at::kShort;
  if (!narrow && (opset_ >= 12 || at::isFloatingType(x.dtype))) {
    return op("Clip", {x, low, high}, {}, x.dtype, x.shape);
  }
  OnnxTensor wide = cast(x, narrow ? at::kInt : x.dtype);
  if (low.present()) wide = maximum(wide, cast(low, wide.dtype));
  if (high.present()) wide = minimum(wide, cast(high, wide.dtype));
  return cast(wide, x.dtype);
}

}  // namespace sparsebit::exports

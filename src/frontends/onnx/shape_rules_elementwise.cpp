#include "frontends/onnx/shape_rules.h"

namespace sparsebit::frontends {
namespace {

using fx::TensorInfo;

MaybeInfo same_as_first(const Conversion& c) { return c.info(0); }

MaybeInfo with_dtype(MaybeInfo info, std::optional<at::ScalarType> dtype) {
  if (!info || !dtype) return std::nullopt;
  info->dtype = *dtype;
  return info;
}

/// Broadcasts size `i` of `a` with size `j` of `b`.
void broadcast_size(const TensorInfo& a, size_t i, const TensorInfo& b, size_t j, TensorInfo& out) {
  if (a.shape[i] == 1) return copy_size(b, j, out);
  if (b.shape[j] == 1 || a.shape[i] >= 0) return copy_size(a, i, out);
  if (b.shape[j] >= 0) return copy_size(b, j, out);
  const bool same_name = i < a.symbols.size() && j < b.symbols.size() && !a.symbols[i].empty() &&
                         a.symbols[i] == b.symbols[j];
  add_size(out, -1, same_name ? a.symbols[i] : "");
}

MaybeInfo broadcast(const MaybeInfo& a, const MaybeInfo& b) {
  if (!a || !b) return std::nullopt;
  const TensorInfo& longer = a->shape.size() >= b->shape.size() ? *a : *b;
  const TensorInfo& shorter = a->shape.size() >= b->shape.size() ? *b : *a;
  const size_t extra = longer.shape.size() - shorter.shape.size();
  TensorInfo result{.shape = {}, .dtype = a->dtype};
  for (size_t i = 0; i < longer.shape.size(); ++i) {
    if (i < extra) {
      copy_size(longer, i, result);
    } else {
      broadcast_size(longer, i, shorter, i - extra, result);
    }
  }
  return result;
}

MaybeInfo broadcast_all(const Conversion& c) {
  MaybeInfo result = c.info(0);
  for (size_t i = 1; i < c.input_count(); ++i) result = broadcast(result, c.info(i));
  return result;
}

MaybeInfo comparison(const Conversion& c) { return with_dtype(broadcast_all(c), at::kBool); }

MaybeInfo question(const Conversion& c) { return with_dtype(c.info(0), at::kBool); }

MaybeInfo where(const Conversion& c) {
  return with_dtype(broadcast(broadcast(c.info(1), c.info(2)), c.info(0)), c.dtype(1));
}

MaybeInfo cast(const Conversion& c) { return with_dtype(c.info(0), c.attributes().dtype("to")); }

MaybeInfo cast_like(const Conversion& c) { return with_dtype(c.info(0), c.dtype(1)); }

MaybeInfo quantize(const Conversion& c) {
  if (c.has_input(2)) return with_dtype(c.info(0), c.dtype(2));
  const auto stated = c.attributes().dtype("output_dtype");
  return with_dtype(c.info(0), stated ? stated : at::kByte);
}

MaybeInfo dequantize(const Conversion& c) { return with_dtype(c.info(0), c.dtype(1)); }

/// Operators whose first result has the shape and type of their first input.
constexpr const char* kSameAsFirst[] = {
    // clang-format off
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization", "BitwiseNot",
    "Ceil", "Celu", "Clip", "Cos", "Cosh", "CumSum", "Dropout", "Elu", "Erf", "Exp", "Floor",
    "Gelu", "GroupNormalization", "HardSigmoid", "HardSwish", "Hardmax", "Identity",
    "InstanceNormalization", "LRN", "LayerNormalization", "LeakyRelu", "Log", "LogSoftmax",
    "LpNormalization", "MeanVarianceNormalization", "Mish", "Neg", "Not", "PRelu", "Reciprocal",
    "Relu", "ReverseSequence", "Round", "ScatterElements", "ScatterND", "Selu", "Shrink", "Sigmoid",
    "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh",
    "ThresholdedRelu", "Trilu"
    // clang-format on
};

}  // namespace

void add_elementwise_rules(ShapeRules& r) {
  for (const char* type : kSameAsFirst) r[type] = same_as_first;
  for (const char* type : {"Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div",
                           "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow", "Sub", "Sum", "Xor"}) {
    r[type] = broadcast_all;
  }
  for (const char* type : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    r[type] = comparison;
  }
  r["IsInf"] = r["IsNaN"] = question;
  r["Where"] = where;
  r["Cast"] = cast;
  r["CastLike"] = cast_like;
  r["QuantizeLinear"] = quantize;
  r["DequantizeLinear"] = dequantize;
}

}  // namespace sparsebit::frontends

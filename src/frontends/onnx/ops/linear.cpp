#include "frontends/onnx/ops/linear.h"

#include "frontends/onnx/ops/families.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {
namespace {

using fx::Value;

bool is_matrix(const at::Tensor* tensor) {
  return tensor && tensor->dim() == 2 && tensor->is_floating_point();
}

/// Whether a constant holds one number per output feature.
bool is_bias(const at::Tensor* tensor, int64_t features) {
  if (!tensor || !tensor->is_floating_point() || tensor->numel() != features) return false;
  return tensor->dim() >= 1 && tensor->size(-1) == features;
}

/// Whether the node has more results than the one that its operator defines.
bool has_surplus_results(const Conversion& c) {
  for (size_t i = 1; i < c.output_count(); ++i) {
    if (c.wants_output(i)) return true;
  }
  return false;
}

/// @param weight  [out, in], as torch has it.
Value call_linear(Conversion& c, const Value& x, const at::Tensor& weight, const at::Tensor& bias) {
  const fx::ModuleState state{{{"weight", weight}, {"bias", bias}}, {}};
  return c.module("torch.nn.Linear", {weight.size(1), weight.size(0)}, {{"bias", bias.defined()}},
                  state, {x});
}

Value transposed_if(Conversion& c, const Value& x, bool transpose) {
  return transpose ? c.function("torch.t", {x}) : x;
}

Value scaled(Conversion& c, const Value& x, double factor) {
  return factor == 1.0 ? x : c.function("torch.mul", {x, factor});
}

bool is_integer(const std::optional<at::ScalarType>& dtype) {
  return dtype && at::isIntegralType(*dtype, /*includeBool=*/false);
}

/// alpha * product + beta * C. A float factor would turn integers into float32, which cannot
/// represent all of them, while ONNX's result has the type of its inputs.
Value weighted_sum(Conversion& c, const Value& product, double alpha, double beta) {
  const auto dtype = c.dtype(0) ? c.dtype(0) : c.dtype(1);
  const bool has_addend = c.has_input(2);
  const bool widen = is_integer(dtype) && (alpha != 1.0 || (has_addend && beta != 1.0));
  const auto widened = [&](const Value& x) { return widen ? c.method("to", {x, at::kDouble}) : x; };
  Value y = scaled(c, widened(product), alpha);
  if (has_addend) y = c.function("torch.add", {y, scaled(c, widened(c.tensor(2)), beta)});
  return widen ? c.method("to", {y, *dtype}) : y;
}

/// alpha * A B + beta * C
void convert_gemm(Conversion& c) {
  const Attributes& a = c.attributes();
  const double alpha = a.number("alpha", 1.0), beta = a.number("beta", 1.0);
  const bool turn_a = a.flag("transA", false), turn_b = a.flag("transB", false);
  if (c.opset() < 7) a.ignore("broadcast");

  const at::Tensor* weight = c.constant(1);
  const Value x = transposed_if(c, c.tensor(0), turn_a);
  if (is_matrix(weight) && !c.constant(0) && alpha == 1.0) {
    const int64_t features = weight->size(turn_b ? 0 : 1);
    const at::Tensor* bias = c.constant(2);
    const bool fits = !c.has_input(2) || (beta == 1.0 && is_bias(bias, features));
    if (fits) {
      const at::Tensor matrix = turn_b ? *weight : c.transposed(*weight);
      return c.give(call_linear(c, x, matrix, bias ? c.as_vector(*bias) : at::Tensor()));
    }
  }
  const Value product = c.function("torch.matmul", {x, transposed_if(c, c.tensor(1), turn_b)});
  c.give(weighted_sum(c, product, alpha, beta));
}

void convert_matmul(Conversion& c) {
  const at::Tensor* weight = c.constant(1);
  const bool is_layer = is_matrix(weight) && !c.constant(0) && c.rank(0).value_or(1) >= 1;
  if (is_layer) return c.give(call_linear(c, c.tensor(0), c.transposed(*weight), {}));
  c.give(c.function("torch.matmul", {c.tensor(0), c.tensor(1)}));
}

}  // namespace

bool absorb_bias(Conversion& c) {
  // An unsupported Add is carried unchanged, and then it reads the product.
  if (!c.attributes().unread().empty() || has_surplus_results(c)) return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Operand& product = c.operand(i);
    const at::Tensor* bias = c.constant(1 - i);
    if (!bias || !product.value.is_node() || !c.is_only_reader(i)) continue;
    const fx::Module* layer = c.layer_of(product.value.node());
    if (!layer || layer->type() != "torch.nn.Linear") continue;
    const at::Tensor weight = layer->own_parameters()["weight"];
    const bool has_bias = layer->own_parameters()["bias"].defined();
    if (has_bias || !is_bias(bias, weight.size(0)) || bias->dim() > c.rank(i).value_or(1)) continue;
    const Value x = product.value.node().args()[0];
    c.undo(product.value.node());
    c.give(call_linear(c, x, weight, c.as_vector(*bias)));
    return true;
  }
  return false;
}

void add_linear_converters(Converters& r) {
  r.add("Gemm", convert_gemm);
  r.add("MatMul", convert_matmul);
}

}  // namespace sparsebit::frontends

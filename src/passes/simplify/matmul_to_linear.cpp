#include "passes/all_passes.h"
#include "passes/values.h"

#include <ATen/ATen.h>

namespace sparsebit::passes {
namespace {

/// Adds a torch.nn.Linear that multiplies with `matrix`, [inputs, outputs], and a call of it.
/// @param bias  a tensor of the model, which stays shared with its other users; null for none.
fx::Node& linear_call(const fx::Value& x, const at::Tensor& matrix, const at::Tensor* bias,
                      const fx::Node& instead_of, Rewriter& rewriter) {
  const at::Tensor weight = matrix.detach()
                                .t()
                                .clone(at::MemoryFormat::Contiguous)
                                .requires_grad_(matrix.requires_grad());
  const std::string path = rewriter.free_path(instead_of.name());
  const std::vector<fx::Value> sizes = {weight.size(1), weight.size(0)};
  const fx::ModulePtr linear = fx::make_module(
      "torch.nn.Linear", sizes, {{"bias", bias != nullptr}},
      {.parameters = {{"weight", weight}, {"bias", bias ? *bias : at::Tensor()}}, .buffers = {}},
      fx::Grad::AsGiven);
  linear->train(rewriter.module().is_training());
  rewriter.module().set_module(path, linear);
  return rewriter.graph().call_module(path, {x});
}

/// A constant floating-point matrix without other users; null otherwise.
const at::Tensor* matrix_of(const fx::Value& value, const Rewriter& rewriter) {
  const at::Tensor* tensor = constant_tensor(value, rewriter);
  const bool fits = tensor && tensor->dim() == 2 && tensor->is_floating_point();
  const bool shared = value.is_node() && reads_shared_parameter(value.node(), rewriter);
  return fits && !shared ? tensor : nullptr;
}

bool is_bias(const at::Tensor* bias, const at::Tensor& matrix) {
  return bias && bias->dim() == 1 && bias->size(0) == matrix.size(1) &&
         bias->scalar_type() == matrix.scalar_type();
}

Replacements with_bias(const Match& match, Rewriter& rewriter) {
  const NodeView &product = match["product"], &sum = match["sum"];
  const at::Tensor* matrix = matrix_of(right_side(product), rewriter);
  const at::Tensor* bias = constant_tensor(other_operand(sum, *product.node), rewriter);
  if (!matrix || !is_bias(bias, *matrix)) return {};
  return {{sum.node, linear_call(product.arg("input"), *matrix, bias, *product.node, rewriter)}};
}

Replacements without_bias(const Match& match, Rewriter& rewriter) {
  const NodeView& product = match["product"];
  const at::Tensor* matrix = matrix_of(right_side(product), rewriter);
  if (!matrix || constant_tensor(product.arg("input"), rewriter)) return {};
  return {
      {product.node, linear_call(product.arg("input"), *matrix, nullptr, *product.node, rewriter)}};
}

Replacements of_addmm(const Match& match, Rewriter& rewriter) {
  const NodeView& sum = match["sum"];
  const auto is_one = [&](const char* name) { return is_number(sum.arg(name), 1, rewriter); };
  const at::Tensor* matrix = matrix_of(sum.arg("mat2"), rewriter);
  const at::Tensor* bias = constant_tensor(sum.arg("input"), rewriter);
  if (!matrix || !is_bias(bias, *matrix) || !is_one("beta") || !is_one("alpha")) return {};
  return {{sum.node, linear_call(sum.arg("mat1"), *matrix, bias, *sum.node, rewriter)}};
}

}  // namespace

Pass matmul_to_linear() {
  const PatternNode product{.name = "product", .operators = {"matmul", "mm"}};
  PatternNode inner = product;
  inner.users = Users::Inside;
  return {.name = "matmul_to_linear",
          .summary = "turn a product with a constant matrix, plus a bias, into a linear layer",
          .stage = Stage::Simplify,
          .rules = {{Pattern({inner,
                              {.name = "sum",
                               .operators = {"add"},
                               .inputs = {"product"},
                               .order = InputOrder::Subset,
                               .check = is_plain}}),
                     with_bias},
                    {Pattern({product}), without_bias},
                    {Pattern({{.name = "sum", .operators = {"addmm"}}}), of_addmm}}};
}

}  // namespace sparsebit::passes

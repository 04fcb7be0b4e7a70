#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/module_state.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::fx {
namespace {

ModuleState linear_state(const Args& a, const MaybeGenerator& generator) {
  const int64_t in = a.integer("in_features"), out = a.integer("out_features");
  const auto bias_size = a.flag("bias") ? std::optional(out) : std::nullopt;
  return {weight_and_bias({out, in}, bias_size, generator), {}};
}

ModuleForm linear_module(const char* type) {
  return {.type = type,
          .constructor = "in_features, out_features, bias=True",
          .init = linear_state,
          .descriptive = {"in_features", "out_features"}};
}

ModuleState bilinear_state(const Args& a, const MaybeGenerator& generator) {
  const int64_t in1 = a.integer("in1_features"), out = a.integer("out_features");
  const double bound = 1.0 / std::sqrt(static_cast<double>(in1));
  ModuleState state;
  state.parameters = {
      {"weight", uniform_parameter({out, in1, a.integer("in2_features")}, bound, generator)},
      {"bias", {}}};
  if (a.flag("bias")) state.parameters[1].second = uniform_parameter({out}, bound, generator);
  return state;
}

/// `padding_idx` as a non-negative row number.
c10::optional<int64_t> padding_row(const Value& padding_idx, int64_t rows) {
  if (padding_idx.is_none()) return c10::nullopt;
  const int64_t row = padding_idx.to_int();
  SPARSEBIT_CHECK(row >= -rows && row < rows, InvalidArgument,
                  "padding_idx must be within num_embeddings, got ", row, " for ", rows, " rows");
  return row < 0 ? row + rows : row;
}

/// One table for Embedding and EmbeddingBag: N(0, 1), zeros in the padding row.
ModuleState table_state(const Args& a, const MaybeGenerator& generator) {
  const int64_t rows = a.integer("num_embeddings"), columns = a.integer("embedding_dim");
  const auto padding = padding_row(a["padding_idx"], rows);
  if (!a.is_none("_weight")) {
    const at::Tensor given = a.tensor("_weight");
    SPARSEBIT_CHECK(given.sizes() == at::IntArrayRef({rows, columns}), InvalidArgument,
                    "_weight must have shape [num_embeddings, embedding_dim] = [", rows, ", ",
                    columns, "], got ", given.sizes());
    return {{{"weight", given.detach().requires_grad_()}}, {}};
  }
  const at::Tensor weight = at::empty({rows, columns}).normal_(0, 1, generator);
  if (padding) weight.select(0, *padding).zero_();
  return {{{"weight", weight.requires_grad_()}}, {}};
}

void renormalize(const Args& a, at::Tensor weight, const at::Tensor& rows) {
  if (a.is_none("max_norm")) return;
  const at::NoGradGuard no_grad;
  at::embedding_renorm_(weight, rows.contiguous(), a.number("max_norm"), a.number("norm_type"));
}

Value embedding(const Args& a) {
  const at::Tensor rows = a.tensor("input"), weight = a.tensor("weight");
  const auto padding = padding_row(a["padding_idx"], weight.size(0));
  renormalize(a, weight, rows);
  return at::embedding(weight, rows, padding.value_or(-1), a.flag("scale_grad_by_freq"),
                       a.flag("sparse"));
}

int64_t bag_mode(const Args& a) {
  const int64_t number = number_of(a, "mode", {"sum", "mean", "max"});
  const std::string mode = a.text("mode");
  SPARSEBIT_CHECK(mode != "max" || !a.flag("scale_grad_by_freq"), InvalidArgument,
                  "mode 'max' does not support scale_grad_by_freq=True");
  SPARSEBIT_CHECK(mode != "max" || !a.flag("sparse"), InvalidArgument,
                  "mode 'max' does not support sparse=True");
  SPARSEBIT_CHECK(mode == "sum" || a.is_none("per_sample_weights"), InvalidArgument,
                  "per_sample_weights needs mode 'sum', got '", mode, "'");
  return number;
}

Value embedding_bag(const Args& a) {
  at::Tensor rows = a.tensor("input"), weight = a.tensor("weight");
  auto factors = a.optional_tensor("per_sample_weights");
  const int64_t mode = bag_mode(a);
  SPARSEBIT_CHECK(!factors || factors->sizes() == rows.sizes(), InvalidArgument,
                  "per_sample_weights must have the shape of input, ", rows.sizes(), ", got ",
                  factors->sizes());
  SPARSEBIT_CHECK(rows.dim() == 1 || rows.dim() == 2, InvalidArgument,
                  "input must be 1-D or 2-D, got ", rows.dim(), "-D");
  SPARSEBIT_CHECK((rows.dim() == 1) != a.is_none("offsets"), InvalidArgument,
                  "offsets must be given for a 1-D input and only then; input is ", rows.dim(),
                  "-D");
  auto offsets = a.optional_tensor("offsets");
  if (rows.dim() == 2) {  // every row is a bag
    offsets = at::arange(0, rows.numel(), rows.size(1), rows.options());
    rows = rows.reshape(-1);
    if (factors) factors = factors->reshape(-1);
  }
  renormalize(a, weight, rows);
  return std::get<0>(at::embedding_bag(weight, rows, *offsets, a.flag("scale_grad_by_freq"), mode,
                                       a.flag("sparse"), factors, a.flag("include_last_offset"),
                                       padding_row(a["padding_idx"], weight.size(0))));
}

}  // namespace

void add_linear_operators(OperatorTable& table) {
  table.add({.name = "linear",
             .schema = "input, weight, bias=None",
             .forms = {"torch.nn.functional.linear"},
             .modules = {linear_module("torch.nn.Linear"),
                         linear_module("torch.nn.modules.linear.NonDynamicallyQuantizableLinear")},
             .elements = Elements::OfOperands,
             .growth = Growth::Product,
             .weight = WeightFacts{},
             .kernel = [](const Args& a) -> Value {
               return at::linear(a.tensor("input"), a.tensor("weight"), a.optional_tensor("bias"));
             }});
  table.add({.name = "bilinear",
             .schema = "input1, input2, weight, bias=None",
             .forms = {"torch.bilinear", "torch.nn.functional.bilinear"},
             .modules = {{.type = "torch.nn.Bilinear",
                          .constructor = "in1_features, in2_features, out_features, bias=True",
                          .forward = "input1, input2",
                          .init = bilinear_state,
                          .descriptive = {"in1_features", "in2_features", "out_features"}}},
             .growth = Growth::Product,
             .kernel = [](const Args& a) -> Value {
               return at::bilinear(a.tensor("input1"), a.tensor("input2"), a.tensor("weight"),
                                   a.optional_tensor("bias"));
             }});
  table.add({.name = "embedding",
             .schema = "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, "
                       "scale_grad_by_freq=False, sparse=False",
             .forms = {"torch.nn.functional.embedding"},
             .modules = {{.type = "torch.nn.Embedding",
                          .constructor = "num_embeddings, embedding_dim, padding_idx=None, "
                                         "max_norm=None, norm_type=2.0, scale_grad_by_freq=False, "
                                         "sparse=False, _weight=None",
                          .init = table_state,
                          .descriptive = {"num_embeddings", "embedding_dim", "_weight"}}},
             .growth = Growth::Lookup,
             .weight = WeightFacts{.looks_up = true},
             .kernel = embedding});
  table.add({.name = "embedding_bag",
             .schema = "input, weight, offsets=None, max_norm=None, norm_type=2.0, "
                       "scale_grad_by_freq=False, mode='mean', sparse=False, "
                       "per_sample_weights=None, include_last_offset=False, padding_idx=None",
             .forms = {"torch.nn.functional.embedding_bag"},
             .modules = {{.type = "torch.nn.EmbeddingBag",
                          .constructor = "num_embeddings, embedding_dim, max_norm=None, "
                                         "norm_type=2.0, scale_grad_by_freq=False, mode='mean', "
                                         "sparse=False, _weight=None, include_last_offset=False, "
                                         "padding_idx=None",
                          .forward = "input, offsets=None, per_sample_weights=None",
                          .init = table_state,
                          .descriptive = {"num_embeddings", "embedding_dim", "_weight"}}},
             .growth = Growth::Lookup,
             .kernel = embedding_bag});
}

}  // namespace sparsebit::fx

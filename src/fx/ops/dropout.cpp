#include "fx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

/// Kernel from ATen's two functions for a kind of dropout.
template <class Pure, class Inplace>
Kernel noise(Pure pure, Inplace inplace) {
  return [=](const Args& a) -> Value {
    at::Tensor x = a.tensor("input");
    const double p = a.number("p");
    const bool training = a.flag("training");
    return a.flag("inplace") ? inplace(x, p, training) : pure(x, p, training);
  };
}

/// Dropout of whole channels for inputs with `N` spatial axes, with or without a batch axis.
template <int64_t N>
Value channel_dropout(const Args& a) {
  const at::Tensor x = a.tensor("input");
  const double p = a.number("p");
  const bool batched = x.dim() == N + 2;
  // As torch: dropout3d takes any other rank as unbatched.
  SPARSEBIT_CHECK(N != 1 || batched || x.dim() == N + 1, InvalidArgument, "expected ", N + 1,
                  "-D or ", N + 2, "-D input, got ", x.dim(), "-D");
  at::Tensor batch = batched ? x : x.unsqueeze(0);
  if (a.flag("inplace")) {
    at::feature_dropout_(batch, p, a.flag("training"));
    return x;
  }
  const at::Tensor y = at::feature_dropout(batch, p, a.flag("training"));
  return batched ? y : y.squeeze(0);
}

Value stochastic_depth(const Args& a) {
  const at::Tensor x = a.tensor("input");
  const double p = a.number("p"), survival = 1.0 - p;
  const std::string mode = a.text("mode");
  SPARSEBIT_CHECK(p >= 0.0 && p <= 1.0, InvalidArgument,
                  "drop probability must be between 0 and 1, got ", p);
  SPARSEBIT_CHECK(mode == "batch" || mode == "row", InvalidArgument,
                  "mode must be 'batch' or 'row', got '", mode, "'");
  if (!a.flag("training") || p == 0.0) return x;
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  if (mode == "row") shape.at(0) = x.size(0);
  at::Tensor kept = at::empty(shape, x.options()).bernoulli_(survival);
  if (survival > 0.0) kept.div_(survival);
  return x * kept;
}

constexpr const char* kDropout = "input, p=0.5, training=True, inplace=False";
constexpr const char* kAlphaDropout = "input, p=0.5, training=False, inplace=False";
constexpr const char* kTorchForm = "input, p, training|train";

ModuleForm dropout_module(const char* type) {
  return {.type = type, .constructor = "p=0.5, inplace=False"};
}

void add_elementwise_dropouts(OperatorTable& table) {
  table.add({.name = "dropout",
             .schema = kDropout,
             .forms = {"torch.nn.functional.dropout", {"torch.dropout", kTorchForm}},
             .inplace = {{"torch.dropout_", kTorchForm}},
             .modules = {dropout_module("torch.nn.Dropout")},
             .view = true,
             .random = true,
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = noise(at::dropout, at::dropout_)});
  table.add({.name = "alpha_dropout",
             .schema = kAlphaDropout,
             .forms = {"torch.nn.functional.alpha_dropout", {"torch.alpha_dropout", kTorchForm}},
             .inplace = {{"torch.alpha_dropout_", kTorchForm}},
             .modules = {dropout_module("torch.nn.AlphaDropout")},
             .view = true,
             .random = true,
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = noise(at::alpha_dropout, at::alpha_dropout_)});
}

void add_channel_dropouts(OperatorTable& table) {
  table.add({.name = "dropout1d",
             .schema = kDropout,
             .forms = {"torch.nn.functional.dropout1d"},
             .modules = {dropout_module("torch.nn.Dropout1d")},
             .view = true,
             .random = true,
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = channel_dropout<1>});
  // torch accepts any rank for dropout2d's input: 3-D counts as a batch of 1-D channels.
  table.add({.name = "dropout2d",
             .schema = kDropout,
             .forms = {"torch.nn.functional.dropout2d", {"torch.feature_dropout", kTorchForm}},
             .inplace = {{"torch.feature_dropout_", kTorchForm}},
             .modules = {dropout_module("torch.nn.Dropout2d")},
             .view = true,
             .random = true,
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = noise(at::feature_dropout, at::feature_dropout_)});
  table.add({.name = "dropout3d",
             .schema = kDropout,
             .forms = {"torch.nn.functional.dropout3d"},
             .modules = {dropout_module("torch.nn.Dropout3d")},
             .view = true,
             .random = true,
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = channel_dropout<3>});
  table.add({.name = "feature_alpha_dropout",
             .schema = kAlphaDropout,
             .forms = {"torch.nn.functional.feature_alpha_dropout",
                       {"torch.feature_alpha_dropout", kTorchForm}},
             .inplace = {{"torch.feature_alpha_dropout_", kTorchForm}},
             .modules = {dropout_module("torch.nn.FeatureAlphaDropout")},
             .view = true,
             .random = true,
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = noise(at::feature_alpha_dropout, at::feature_alpha_dropout_)});
}

}  // namespace

void add_dropout_operators(OperatorTable& table) {
  add_elementwise_dropouts(table);
  add_channel_dropouts(table);
  table.add({.name = "stochastic_depth",
             .schema = "input, p, mode, training=True",
             .forms = {"torchvision.ops.stochastic_depth",
                       "torchvision.ops.stochastic_depth.stochastic_depth"},
             .modules = {{.type = "torchvision.ops.StochasticDepth", .constructor = "p, mode"},
                         {.type = "torchvision.ops.stochastic_depth.StochasticDepth",
                          .constructor = "p, mode"}},
             .view = true,
             .random = true,
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = stochastic_depth});
}

}  // namespace sparsebit::fx

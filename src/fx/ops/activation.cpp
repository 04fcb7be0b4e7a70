#include "fx/ops/families.h"
#include "fx/ops/kernels.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

Value leaky_relu(const Args& a) {
  at::Tensor x = a.tensor("input");
  const at::Scalar slope = a.scalar("negative_slope");
  return a.flag("inplace") ? at::leaky_relu_(x, slope) : at::leaky_relu(x, slope);
}

Value elu(const Args& a) {
  at::Tensor x = a.tensor("input");
  const at::Scalar alpha = a.scalar("alpha");
  return a.flag("inplace") ? at::elu_(x, alpha) : at::elu(x, alpha);
}

Value celu(const Args& a) {
  at::Tensor x = a.tensor("input");
  const at::Scalar alpha = a.scalar("alpha");
  return a.flag("inplace") ? at::celu_(x, alpha) : at::celu(x, alpha);
}

Value hardtanh(const Args& a) {
  at::Tensor x = a.tensor("input");
  const at::Scalar low = a.scalar("min_val"), high = a.scalar("max_val");
  return a.flag("inplace") ? at::hardtanh_(x, low, high) : at::hardtanh(x, low, high);
}

Value threshold(const Args& a) {
  at::Tensor x = a.tensor("input");
  const at::Scalar limit = a.scalar("threshold"), value = a.scalar("value");
  return a.flag("inplace") ? at::threshold_(x, limit, value) : at::threshold(x, limit, value);
}

/// torch's rule for a softmax without `dim`, kept because old files rely on it.
int64_t implicit_softmax_dim(int64_t rank) { return rank == 0 || rank == 1 || rank == 3 ? 0 : 1; }

template <at::Tensor (*Function)(const at::Tensor&, int64_t, c10::optional<at::ScalarType>)>
Value softmax_like(const Args& a) {
  const at::Tensor x = a.tensor("input");
  const int64_t dim = a.is_none("dim") ? implicit_softmax_dim(x.dim()) : a.integer("dim");
  return Function(x, dim, a.optional_dtype("dtype"));
}

at::Tensor softmin(const at::Tensor& x, int64_t dim, c10::optional<at::ScalarType> dtype) {
  return at::softmax(-x, dim, dtype);
}

TensorList single_slope(const Args& a) {
  return {{"weight", at::full({a.integer("num_parameters")}, a.number("init")).requires_grad_()}};
}

constexpr const char* kFunctionalSoftmax = "input, dim=None, _stacklevel=3, dtype=None";

void add_rectifiers(OperatorTable& table) {
  table.add({.name = "relu",
             .schema = "input, inplace=False",
             .forms = {"torch.relu", "torch.nn.functional.relu", "Tensor.relu"},
             .inplace = {"torch.relu_", "torch.nn.functional.relu_", "Tensor.relu_"},
             .modules = {{.type = "torch.nn.ReLU", .constructor = "inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = unary([](const at::Tensor& x) { return at::relu(x); },
                             [](at::Tensor& x) { return at::relu_(x); })});
  table.add({.name = "relu6",
             .schema = "input, inplace=False",
             .forms = {"torch.nn.functional.relu6"},
             .modules = {{.type = "torch.nn.ReLU6", .constructor = "inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = unary([](const at::Tensor& x) { return at::relu6(x); },
                             [](at::Tensor& x) { return at::relu6_(x); })});
  table.add({.name = "leaky_relu",
             .schema = "input, negative_slope=0.01, inplace=False",
             .forms = {"torch.nn.functional.leaky_relu"},
             .inplace = {"torch.nn.functional.leaky_relu_"},
             .modules = {{.type = "torch.nn.LeakyReLU",
                          .constructor = "negative_slope=0.01, inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = leaky_relu});
  table.add({.name = "prelu",
             .schema = "input, weight",
             .forms = {"torch.prelu", "torch.nn.functional.prelu", "Tensor.prelu"},
             .modules = {{.type = "torch.nn.PReLU",
                          .constructor = "num_parameters=1, init=0.25",
                          .init =
                              [](const Args& a, auto) {
                                return ModuleState{single_slope(a), {}};
                              },
                          .descriptive = {"num_parameters", "init"}}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = [](const Args& a) -> Value {
               return at::prelu(a.tensor("input"), a.tensor("weight"));
             }});
  table.add({.name = "threshold",
             .schema = "input, threshold, value, inplace=False",
             .forms = {"torch.threshold", "torch.nn.functional.threshold"},
             .inplace = {"torch.threshold_", "torch.nn.functional.threshold_"},
             .modules = {{.type = "torch.nn.Threshold",
                          .constructor = "threshold, value, inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = threshold});
}

void add_exponential_units(OperatorTable& table) {
  table.add({.name = "elu",
             .schema = "input, alpha=1.0, inplace=False",
             .forms = {"torch.nn.functional.elu"},
             .inplace = {"torch.nn.functional.elu_"},
             .modules = {{.type = "torch.nn.ELU", .constructor = "alpha=1.0, inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = elu});
  table.add({.name = "celu",
             .schema = "input, alpha=1.0, inplace=False",
             .forms = {"torch.celu", "torch.nn.functional.celu"},
             .inplace = {"torch.celu_", "torch.nn.functional.celu_"},
             .modules = {{.type = "torch.nn.CELU", .constructor = "alpha=1.0, inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = celu});
  table.add({.name = "selu",
             .schema = "input, inplace=False",
             .forms = {"torch.selu", "torch.nn.functional.selu"},
             .inplace = {"torch.selu_", "torch.nn.functional.selu_"},
             .modules = {{.type = "torch.nn.SELU", .constructor = "inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = unary([](const at::Tensor& x) { return at::selu(x); },
                             [](at::Tensor& x) { return at::selu_(x); })});
  table.add({.name = "softplus",
             .schema = "input, beta=1, threshold=20",
             .forms = {"torch.nn.functional.softplus"},
             .modules = {{.type = "torch.nn.Softplus", .constructor = "beta=1, threshold=20"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = [](const Args& a) -> Value {
               return at::softplus(a.tensor("input"), a.scalar("beta"), a.scalar("threshold"));
             }});
}

void add_sigmoid_units(OperatorTable& table) {
  table.add({.name = "sigmoid",
             .schema = "input, inplace=False",
             .forms = {"torch.sigmoid", "torch.nn.functional.sigmoid", "torch.special.expit",
                       "Tensor.sigmoid"},
             .inplace = {"torch.sigmoid_", "Tensor.sigmoid_"},
             .modules = {{.type = "torch.nn.Sigmoid"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = unary([](const at::Tensor& x) { return at::sigmoid(x); },
                             [](at::Tensor& x) { return at::sigmoid_(x); })});
  table.add({.name = "logsigmoid",
             .schema = "input",
             .forms = {"torch.nn.functional.logsigmoid"},
             .modules = {{.type = "torch.nn.LogSigmoid"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = [](const Args& a) -> Value { return at::log_sigmoid(a.tensor("input")); }});
  table.add({.name = "hardsigmoid",
             .schema = "input, inplace=False",
             .forms = {"torch.nn.functional.hardsigmoid"},
             .modules = {{.type = "torch.nn.Hardsigmoid", .constructor = "inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = unary([](const at::Tensor& x) { return at::hardsigmoid(x); },
                             [](at::Tensor& x) { return at::hardsigmoid_(x); })});
  table.add({.name = "silu",
             .schema = "input, inplace=False",
             .forms = {"torch.nn.functional.silu"},
             .modules = {{.type = "torch.nn.SiLU", .constructor = "inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = unary([](const at::Tensor& x) { return at::silu(x); },
                             [](at::Tensor& x) { return at::silu_(x); })});
  table.add({.name = "hardswish",
             .schema = "input, inplace=False",
             .forms = {"torch.nn.functional.hardswish"},
             .modules = {{.type = "torch.nn.Hardswish", .constructor = "inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = unary([](const at::Tensor& x) { return at::hardswish(x); },
                             [](at::Tensor& x) { return at::hardswish_(x); })});
  table.add({.name = "mish",
             .schema = "input, inplace=False",
             .forms = {"torch.nn.functional.mish"},
             .modules = {{.type = "torch.nn.Mish", .constructor = "inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = unary([](const at::Tensor& x) { return at::mish(x); },
                             [](at::Tensor& x) { return at::mish_(x); })});
  table.add({.name = "gelu",
             .schema = "input, approximate='none'",
             .forms = {"torch.nn.functional.gelu"},
             .modules = {{.type = "torch.nn.GELU", .constructor = "approximate='none'"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = [](const Args& a) -> Value {
               return at::gelu(a.tensor("input"), a.text("approximate"));
             }});
  table.add({.name = "glu",
             .schema = "input, dim=-1",
             .forms = {"torch.nn.functional.glu"},
             .modules = {{.type = "torch.nn.GLU", .constructor = "dim=-1"}},
             .kernel = [](const Args& a) -> Value {
               return at::glu(a.tensor("input"), a.integer("dim"));
             }});
}

void add_tanh_units(OperatorTable& table) {
  table.add({.name = "tanh",
             .schema = "input, inplace=False",
             .forms = {"torch.tanh", "torch.nn.functional.tanh", "Tensor.tanh"},
             .inplace = {"torch.tanh_", "Tensor.tanh_"},
             .modules = {{.type = "torch.nn.Tanh"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = unary([](const at::Tensor& x) { return at::tanh(x); },
                             [](at::Tensor& x) { return at::tanh_(x); })});
  table.add({.name = "hardtanh",
             .schema = "input, min_val=-1.0, max_val=1.0, inplace=False",
             .forms = {"torch.nn.functional.hardtanh"},
             .inplace = {"torch.nn.functional.hardtanh_"},
             .modules = {{.type = "torch.nn.Hardtanh",
                          .constructor = "min_val=-1.0, max_val=1.0, inplace=False"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = hardtanh});
  table.add({.name = "softsign",
             .schema = "input",
             .forms = {"torch.nn.functional.softsign"},
             .modules = {{.type = "torch.nn.Softsign"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) -> Value {
               const at::Tensor x = a.tensor("input");
               return x / (x.abs() + 1);
             }});
  table.add({.name = "tanhshrink",
             .schema = "input",
             .forms = {"torch.nn.functional.tanhshrink"},
             .modules = {{.type = "torch.nn.Tanhshrink"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) -> Value {
               const at::Tensor x = a.tensor("input");
               return x - x.tanh();
             }});
  table.add({.name = "softshrink",
             .schema = "input, lambd=0.5",
             .forms = {"torch.nn.functional.softshrink"},
             .modules = {{.type = "torch.nn.Softshrink", .constructor = "lambd=0.5"}},
             .keeps_rank = true,
             .elements = Elements::Floating,
             .kernel = [](const Args& a) -> Value {
               return at::softshrink(a.tensor("input"), a.scalar("lambd"));
             }});
  table.add({.name = "hardshrink",
             .schema = "input, lambd=0.5",
             .forms = {"torch.hardshrink", "torch.nn.functional.hardshrink", "Tensor.hardshrink"},
             .modules = {{.type = "torch.nn.Hardshrink", .constructor = "lambd=0.5"}},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = [](const Args& a) -> Value {
               return at::hardshrink(a.tensor("input"), a.scalar("lambd"));
             }});
}

void add_softmaxes(OperatorTable& table) {
  table.add({.name = "softmax",
             .schema = "input, dim=None, dtype=None",
             .forms = {"torch.softmax",
                       "Tensor.softmax",
                       {"torch.nn.functional.softmax", kFunctionalSoftmax}},
             .modules = {{.type = "torch.nn.Softmax", .constructor = "dim=None"}},
             .keeps_rank = true,
             .kernel = softmax_like<at::softmax>});
  table.add({.name = "log_softmax",
             .schema = "input, dim=None, dtype=None",
             .forms = {"torch.log_softmax",
                       "Tensor.log_softmax",
                       {"torch.nn.functional.log_softmax", kFunctionalSoftmax}},
             .modules = {{.type = "torch.nn.LogSoftmax", .constructor = "dim=None"}},
             .keeps_rank = true,
             .kernel = softmax_like<at::log_softmax>});
  table.add({.name = "softmin",
             .schema = "input, dim=None, dtype=None",
             .forms = {{"torch.nn.functional.softmin", kFunctionalSoftmax}},
             .modules = {{.type = "torch.nn.Softmin", .constructor = "dim=None"}},
             .keeps_rank = true,
             .kernel = softmax_like<softmin>});
}

}  // namespace

void add_activation_operators(OperatorTable& table) {
  add_rectifiers(table);
  add_exponential_units(table);
  add_sigmoid_units(table);
  add_tanh_units(table);
  add_softmaxes(table);
}

}  // namespace sparsebit::fx

#include "frontends/onnx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <cmath>
#include <map>

namespace sparsebit::frontends {
namespace {

using fx::Value;

void convert_plain(Conversion& c) {
  static const std::map<std::string, const char*> functions = {
      {"Relu", "torch.nn.functional.relu"},
      {"Sigmoid", "torch.sigmoid"},
      {"Tanh", "torch.tanh"},
      {"Softplus", "torch.nn.functional.softplus"},
      {"Softsign", "torch.nn.functional.softsign"},
      {"HardSwish", "torch.nn.functional.hardswish"},
      {"Mish", "torch.nn.functional.mish"}};
  c.give(c.function(functions.at(c.type()), {c.tensor(0)}));
}

void convert_leaky_relu(Conversion& c) {
  const double slope = c.attributes().number("alpha", 0.01);
  c.give(c.function("torch.nn.functional.leaky_relu", {c.tensor(0), slope}));
}

void convert_elu(Conversion& c) {
  const double alpha = c.attributes().number("alpha", 1.0);
  c.give(c.function("torch.nn.functional.elu", {c.tensor(0), alpha}));
}

void convert_celu(Conversion& c) {
  const double alpha = c.attributes().number("alpha", 1.0);
  SPARSEBIT_CHECK(alpha != 0.0, InvalidModel, "alpha is 0, expected a nonzero number");
  c.give(c.function("torch.nn.functional.celu", {c.tensor(0), alpha}));
}

/// Compares in float precision, in which attributes are stored.
bool is_float(double value, double constant) {
  return static_cast<float>(value) == static_cast<float>(constant);
}

void convert_selu(Conversion& c) {
  constexpr double kAlpha = 1.67326319217681884765625, kGamma = 1.05070102214813232421875;
  const double alpha = c.attributes().number("alpha", kAlpha);
  const double gamma = c.attributes().number("gamma", kGamma);
  if (is_float(alpha, kAlpha) && is_float(gamma, kGamma)) {
    return c.give(c.function("torch.nn.functional.selu", {c.tensor(0)}));
  }
  const Value unscaled = c.function("torch.nn.functional.elu", {c.tensor(0), alpha});
  c.give(c.function("torch.mul", {unscaled, gamma}));
}

void convert_hard_sigmoid(Conversion& c) {
  const double alpha = c.attributes().number("alpha", 0.2);
  const double beta = c.attributes().number("beta", 0.5);
  if (is_float(alpha, 1.0 / 6.0) && is_float(beta, 0.5)) {
    return c.give(c.function("torch.nn.functional.hardsigmoid", {c.tensor(0)}));
  }
  const Value line = c.function("torch.add", {c.function("torch.mul", {c.tensor(0), alpha}), beta});
  c.give(c.function("torch.clamp", {line, 0.0, 1.0}));
}

void convert_thresholded_relu(Conversion& c) {
  const double alpha = c.attributes().number("alpha", 1.0);
  c.give(c.function("torch.nn.functional.threshold", {c.tensor(0), alpha, 0.0}));
}

/// x + bias below -lambd, x - bias above lambd, zero between.
void convert_shrink(Conversion& c) {
  const double bias = c.attributes().number("bias", 0.0);
  const double lambd = c.attributes().number("lambd", 0.5);
  if (c.dtype(0) && !at::isFloatingType(*c.dtype(0))) c.refuse("integers");
  const Value x = c.tensor(0);
  if (lambd >= 0.0 && bias == 0.0) {
    return c.give(c.function("torch.nn.functional.hardshrink", {x, lambd}));
  }
  if (lambd >= 0.0 && bias == lambd) {
    return c.give(c.function("torch.nn.functional.softshrink", {x, lambd}));
  }
  const Value above = c.function(
      "torch.where", {c.function("torch.gt", {x, lambd}), c.function("torch.sub", {x, bias}), 0.0});
  c.give(c.function("torch.where", {c.function("torch.lt", {x, -lambd}),
                                    c.function("torch.add", {x, bias}), above}));
}

void convert_gelu(Conversion& c) {
  const std::string approximate = c.attributes().text("approximate", "none");
  SPARSEBIT_CHECK(approximate == "none" || approximate == "tanh", InvalidModel, "approximate is '",
                  approximate, "'");
  c.give(c.function("torch.nn.functional.gelu", {c.tensor(0)}, {{"approximate", approximate}}));
}

/// Whether `slope` has one number per channel (axis 1), as torch.nn.PReLU requires. It is aligned
/// with the last axes of the input; before operator set 7 it could be a plain list of numbers.
bool is_per_channel(const at::Tensor& slope, int64_t rank, int64_t opset) {
  if (opset < 7 && slope.dim() == 1) return true;
  const int64_t axis = 1 - (rank - slope.dim());  // of the channels in `slope`
  return rank >= 2 && axis >= 0 && slope.dim() <= rank && slope.size(axis) == slope.numel();
}

void convert_prelu(Conversion& c) {
  const at::Tensor* slope = c.constant(1);
  const auto info = c.info(0);
  const Value x = c.tensor(0);
  const bool floating = slope && slope->is_floating_point() && !c.constant(0);
  if (floating && info) {
    const auto rank = static_cast<int64_t>(info->shape.size());
    const bool single = slope->numel() == 1 && slope->dim() <= rank;
    if (single || is_per_channel(*slope, rank, c.opset())) {
      const fx::ModuleState state{{{"weight", c.as_vector(*slope)}}, {}};
      return c.give(c.module("torch.nn.PReLU", {slope->numel()}, {}, state, {x}));
    }
  }
  c.give(c.function("torch.where", {c.function("torch.lt", {x, 0}),
                                    c.function("torch.mul", {x, c.tensor(1)}), x}));
}

/// A bound of Clip: None when it is not given, a number when it is constant. In some files it has
/// one axis, of size 1.
Value clip_bound(Conversion& c, size_t input, const char* attribute) {
  if (c.opset() < 11) {
    return c.attributes().has(attribute) ? Value(c.attributes().number(attribute)) : Value();
  }
  const std::optional<double> number = c.constant_number(input);
  const bool is_float = number && c.constant(input)->is_floating_point();
  return is_float ? Value(*number) : c.tensor_or_number(input);
}

void convert_clip(Conversion& c) {
  const Value low = clip_bound(c, 1, "min"), high = clip_bound(c, 2, "max");
  if (low.is_none() && high.is_none()) return c.give(c.operand(0));
  const bool relu6 =
      low.is_double() && high.is_double() && low.to_double() == 0.0 && high.to_double() == 6.0;
  if (relu6) return c.give(c.function("torch.nn.functional.relu6", {c.tensor(0)}));
  fx::Kwargs bounds;
  if (!low.is_none()) bounds.emplace_back("min", low);
  if (!high.is_none()) bounds.emplace_back("max", high);
  c.give(c.function("torch.clamp", {c.tensor(0)}, bounds));
}

}  // namespace

void add_activation_converters(Converters& r) {
  for (const char* type :
       {"Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSwish", "Mish"}) {
    r.add(type, convert_plain);
  }
  r.add("Celu", convert_celu);
  r.add("Clip", convert_clip);
  r.add("Elu", convert_elu);
  r.add("Gelu", convert_gelu);
  r.add("HardSigmoid", convert_hard_sigmoid);
  r.add("LeakyRelu", convert_leaky_relu);
  r.add("PRelu", convert_prelu);
  r.add("Selu", convert_selu);
  r.add("Shrink", convert_shrink);
  r.add("ThresholdedRelu", convert_thresholded_relu);
}

}  // namespace sparsebit::frontends

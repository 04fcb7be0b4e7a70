#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::exports {
namespace {

OnnxTensor clamp(GraphWriter& w, const OnnxTensor& x, double low, double high) {
  return w.clip(x, w.scalar_like(low, x), w.scalar_like(high, x));
}

OnnxTensor hard_sigmoid(GraphWriter& w, const OnnxTensor& x) {
  return w.unary("HardSigmoid", x, {{"alpha", 1.0 / 6.0}, {"beta", 0.5}});
}

OnnxTensor softplus(GraphWriter& w, const OnnxTensor& x) { return w.unary("Softplus", x); }

/// PReLU's slopes as [C, 1, ..., 1], which broadcast over the channel axis.
OnnxTensor per_channel_slopes(Call& c, int64_t channels, int64_t spatial) {
  Shape shape(static_cast<size_t>(spatial) + 1, 1);
  shape[0] = channels;
  const at::Tensor slopes = c.model_tensor("weight");
  if (!slopes.defined() || !c.source().used_once(slopes))
    return c.w.reshape(c.tensor("weight"), shape);
  return c.w.constant(slopes.reshape(shape), c.source().path_of(slopes));
}

NodeResult prelu(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t spatial = x.rank() - 2;
  const at::Tensor slopes = c.model_tensor("weight");
  const int64_t channels = slopes.defined() ? slopes.size(0) : c.tensor("weight").size(0);
  const OnnxTensor weight =
      channels == 1 || spatial <= 0 ? c.tensor("weight") : per_channel_slopes(c, channels, spatial);
  return c.w.op("PRelu", {x, weight}, {}, x.dtype, x.shape);
}

NodeResult relu(Call& c) {
  const OnnxTensor x = c.tensor("input");
  if (!at::isIntegralType(x.dtype, /*includeBool=*/true)) return c.w.unary("Relu", x);
  const OnnxTensor wide = c.w.cast(x, computable(x.dtype));
  return c.w.cast(c.w.maximum(wide, c.w.scalar_like(0, wide)), x.dtype);
}

NodeResult gelu(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const std::string kind = c.text("approximate");
  GraphWriter& w = c.w;
  if (w.opset() >= 20) return w.unary("Gelu", x, {{"approximate", kind.c_str()}});
  OnnxTensor inner;
  if (kind == "tanh") {
    const OnnxTensor cubic = w.mul(w.mul(w.mul(x, x), x), 0.044715);
    inner = w.unary("Tanh", w.mul(w.add(x, cubic), std::sqrt(2.0 / M_PI)));
  } else {
    inner = w.unary("Erf", w.div(x, std::sqrt(2.0)));
  }
  return w.mul(w.mul(x, w.add(inner, 1.0)), 0.5);
}

/// beta is usually 1; threshold only prevents overflow.
NodeResult softplus_call(Call& c) {
  const OnnxTensor x = float_input(c);
  const double beta = c.number("beta"), threshold = c.number("threshold");
  GraphWriter& w = c.w;
  const OnnxTensor scaled = beta == 1.0 ? x : w.mul(x, beta);
  OnnxTensor soft = softplus(w, scaled);
  if (beta != 1.0) soft = w.div(soft, beta);
  if (threshold >= 20.0) return soft;  // beyond that both are the same number
  return w.where(w.compare("Greater", scaled, threshold), x, soft);
}

NodeResult celu(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const double alpha = c.number("alpha");
  if (c.w.opset() >= 12 && x.dtype == at::kFloat) return c.w.unary("Celu", x, {{"alpha", alpha}});
  const OnnxTensor negative = c.w.mul(c.w.sub(c.w.unary("Exp", c.w.div(x, alpha)), 1.0), alpha);
  const OnnxTensor zero = c.w.scalar_like(0, x);
  return c.w.add(c.w.maximum(x, zero), c.w.minimum(negative, zero));
}

NodeResult hardswish(Call& c) {
  const OnnxTensor x = c.tensor("input");
  if (c.w.opset() >= 14) return c.w.unary("HardSwish", x);
  return c.w.mul(x, hard_sigmoid(c.w, x));
}

NodeResult mish(Call& c) {
  const OnnxTensor x = c.tensor("input");
  if (c.w.opset() >= 18) return c.w.unary("Mish", x);
  return c.w.mul(x, c.w.unary("Tanh", softplus(c.w, x)));
}

NodeResult threshold(Call& c) {
  const OnnxTensor x = c.tensor("input"), wide = c.w.cast(x, computable(x.dtype));
  const OnnxTensor passes = c.w.compare("Greater", wide, c.scalar(c.val("threshold"), wide.dtype));
  return c.w.where(passes, x, c.scalar(c.val("value"), x.dtype));
}

NodeResult hardtanh(Call& c) {
  const OnnxTensor x = c.tensor("input");
  return c.w.clip(x, c.scalar(c.val("min_val"), x.dtype), c.scalar(c.val("max_val"), x.dtype));
}

NodeResult glu(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t dim = c.integer("dim"), size = x.size(dim);
  if (size < 0) c.unsupported("the size of the halved dimension must be fixed");
  const std::vector<OnnxTensor> halves = c.w.split(x, {size / 2, size / 2}, dim);
  return c.w.mul(halves[0], c.w.unary("Sigmoid", halves[1]));
}

/// torch's rule for a softmax without `dim`.
int64_t implicit_dim(int64_t rank) { return rank == 0 || rank == 1 || rank == 3 ? 0 : 1; }

Converter softmax(const std::string& type, bool negated) {
  return [=](Call& c) -> NodeResult {
    OnnxTensor x = c.tensor("input");
    const int64_t dim = c.is_none("dim") ? implicit_dim(x.rank()) : c.integer("dim");
    if (negated) x = c.w.neg(x);
    if (const auto dtype = c.args().optional_dtype("dtype")) x = c.w.cast(x, *dtype);
    return c.w.softmax(type, x, dim);
  };
}

void add_units(Converters& table) {
  table.add("sigmoid", float_unary("Sigmoid"));
  table.add("tanh", float_unary("Tanh"));
  table.add("softsign", [](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    return c.w.div(x, c.w.add(c.w.unary("Abs", x), 1.0));
  });
  table.add("logsigmoid", [](Call& c) -> NodeResult {
    return c.w.neg(softplus(c.w, c.w.neg(c.tensor("input"))));
  });
  table.add("hardsigmoid",
            [](Call& c) -> NodeResult { return hard_sigmoid(c.w, c.tensor("input")); });
  table.add("hardswish", hardswish);
  table.add("silu", [](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    return c.w.mul(x, c.w.unary("Sigmoid", x));
  });
  table.add("mish", mish);
  table.add("gelu", gelu);
  table.add("glu", glu);
  table.add("hardtanh", hardtanh);
}

void add_shrinks(Converters& table) {
  table.add("tanhshrink", [](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    return c.w.sub(x, c.w.unary("Tanh", x));
  });
  table.add("softshrink", [](Call& c) -> NodeResult {
    const double lambd = c.number("lambd");
    return c.w.unary("Shrink", c.tensor("input"), {{"bias", lambd}, {"lambd", lambd}});
  });
  table.add("hardshrink", [](Call& c) -> NodeResult {
    return c.w.unary("Shrink", c.tensor("input"), {{"bias", 0.0}, {"lambd", c.number("lambd")}});
  });
}

}  // namespace

void add_activation_converters(Converters& table) {
  table.add("relu", relu);
  table.add("relu6", [](Call& c) -> NodeResult { return clamp(c.w, c.tensor("input"), 0.0, 6.0); });
  table.add("leaky_relu", [](Call& c) -> NodeResult {
    return c.w.unary("LeakyRelu", c.tensor("input"), {{"alpha", c.number("negative_slope")}});
  });
  table.add("prelu", prelu);
  table.add("threshold", threshold);
  table.add("elu", [](Call& c) -> NodeResult {
    return c.w.unary("Elu", c.tensor("input"), {{"alpha", c.number("alpha")}});
  });
  table.add("celu", celu);
  table.add("selu", float_unary("Selu"));
  table.add("softplus", softplus_call);
  add_units(table);
  add_shrinks(table);
  table.add("softmax", softmax("Softmax", false));
  table.add("log_softmax", softmax("LogSoftmax", false));
  table.add("softmin", softmax("Softmax", true));
}

}  // namespace sparsebit::exports

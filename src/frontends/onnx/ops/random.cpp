#include "frontends/onnx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {
namespace {

using fx::Value;

// Never folded: each run draws new numbers, from libtorch's own generator. A seed in the file
// belongs to another generator, so it is ignored.

/// Numbers of the standard distribution, uniform in [0, 1) or normal.
Value draw(Conversion& c, bool normal) {
  const Attributes& a = c.attributes();
  a.ignore("seed");
  const bool like = c.has_input(0);
  const auto stated = a.dtype("dtype");
  if (like) {
    const fx::Kwargs kwargs = stated ? fx::Kwargs{{"dtype", *stated}} : fx::Kwargs{};
    return c.node(normal ? "torch.randn_like" : "torch.rand_like", {c.tensor(0)}, kwargs);
  }
  const auto shape = a.ints("shape");
  SPARSEBIT_CHECK(shape, InvalidModel, c.type(), " needs an attribute 'shape'");
  return c.node(normal ? "torch.randn" : "torch.rand", {*shape},
                {{"dtype", stated.value_or(at::kFloat)}});
}

void give_scaled(Conversion& c, const Value& drawn, double factor, double offset) {
  c.give(c.node("torch.add", {c.node("torch.mul", {drawn, factor}), offset}));
}

void convert_normal(Conversion& c) {
  const double mean = c.attributes().number("mean", 0.0);
  const double deviation = c.attributes().number("scale", 1.0);
  give_scaled(c, draw(c, /*normal=*/true), deviation, mean);
}

void convert_uniform(Conversion& c) {
  const double low = c.attributes().number("low", 0.0);
  const double high = c.attributes().number("high", 1.0);
  give_scaled(c, draw(c, /*normal=*/false), high - low, low);
}

void convert_bernoulli(Conversion& c) {
  c.attributes().ignore("seed");
  const auto dtype = c.attributes().dtype("dtype");
  const Value drawn = c.node("torch.bernoulli", {c.tensor(0)});
  c.give(dtype ? c.method("to", {drawn, *dtype}) : drawn);
}

}  // namespace

void add_random_converters(Converters& r) {
  r.add("Bernoulli", convert_bernoulli);
  r.add("RandomNormal", convert_normal);
  r.add("RandomNormalLike", convert_normal);
  r.add("RandomUniform", convert_uniform);
  r.add("RandomUniformLike", convert_uniform);
}

}  // namespace sparsebit::frontends

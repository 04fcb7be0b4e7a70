#include "frontends/onnx/ops/families.h"

#include "sparsebit/core/error.h"

namespace sparsebit::frontends {
namespace {

using fx::Value;

fx::Kwargs options(const Conversion& c) {
  const Attributes& a = c.attributes();
  const std::string reduction = a.text("reduction", "mean");
  SPARSEBIT_CHECK(reduction == "mean" || reduction == "sum" || reduction == "none", InvalidModel,
                  "reduction is '", reduction, "', expected none, sum or mean");
  fx::Kwargs kwargs = {{"reduction", reduction}};
  if (a.has("ignore_index")) kwargs.emplace_back("ignore_index", a.integer("ignore_index"));
  return kwargs;
}

void convert_likelihood(Conversion& c) {
  c.give(c.function("onnx.NegativeLogLikelihoodLoss", {c.tensor(0), c.tensor(1), c.tensor(2)},
                    options(c)));
}

/// Negative log likelihood of a log-softmax, which is the second result.
void convert_cross_entropy(Conversion& c) {
  const Value logarithm =
      c.function("torch.nn.functional.log_softmax", {c.tensor(0)}, {{"dim", 1}});
  c.give(0, c.function("onnx.NegativeLogLikelihoodLoss", {logarithm, c.tensor(1), c.tensor(2)},
                       options(c)));
  c.give(1, logarithm);
}

}  // namespace

void add_loss_converters(Converters& r) {
  r.add("NegativeLogLikelihoodLoss", convert_likelihood);
  r.add("SoftmaxCrossEntropyLoss", convert_cross_entropy);
}

}  // namespace sparsebit::frontends

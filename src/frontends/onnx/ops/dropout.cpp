#include "frontends/onnx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {
namespace {

using fx::Value;

/// Dropout is inactive in a file for inference. A Dropout layer in eval mode behaves the same, and
/// becomes active again when the model is trained.
void give_inference(Conversion& c, double ratio) {
  SPARSEBIT_CHECK(ratio >= 0.0 && ratio <= 1.0, InvalidModel, "the ratio is ", ratio);
  const Value x = c.tensor(0);
  c.give(0, x.is_node() ? c.module("torch.nn.Dropout", {ratio}, {}, {}, {x}) : x);
  if (!c.wants_output(1)) return;
  const bool is_bool = c.opset() >= 10;
  c.give(1, is_bool ? c.function("torch.ones_like", {x}, {{"dtype", at::kBool}})
                    : c.function("torch.ones_like", {x}));
}

void convert_dropout(Conversion& c) {
  c.attributes().ignore("seed");
  if (c.opset() < 7) c.attributes().ignore("is_test");
  if (c.opset() < 12) return give_inference(c, c.attributes().number("ratio", 0.5));
  const auto ratio = c.has_input(1) ? c.constant_number(1) : 0.5;
  const auto training = c.has_input(2) ? c.constant_number(2) : 0.0;
  // A ratio of 0 keeps everything in either mode.
  if (ratio && (training == 0.0 || ratio == 0.0)) return give_inference(c, *ratio);
  const Value both = c.node("onnx.Dropout", c.tensors());
  c.give(0, c.item(both, 0));
  if (c.wants_output(1)) c.give(1, c.item(both, 1));
}

}  // namespace

void add_dropout_converters(Converters& r) { r.add("Dropout", convert_dropout); }

}  // namespace sparsebit::frontends

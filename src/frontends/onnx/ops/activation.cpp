#include "frontends/onnx/ops/families.h"

namespace sparsebit::frontends {
namespace {

using fx::Value;

void convert_relu(Conversion& c) { c.give(c.function("torch.nn.functional.relu", {c.tensor(0)})); }

}  // namespace

void add_activation_converters(Converters& r) { r.add("Relu", convert_relu); }

}  // namespace sparsebit::frontends

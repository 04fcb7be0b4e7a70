#include "frontends/onnx/ops/families.h"

namespace sparsebit::frontends {
namespace {

/// The axis is an attribute before operator set 20 and an input from then on, with another default.
void convert_dft(Conversion& c) {
  const Attributes& a = c.attributes();
  const fx::Value axis = c.opset() < 20 ? fx::Value(a.integer("axis", 1)) : c.tensor(2);
  c.give(c.node("onnx.DFT", {c.tensor(0), c.tensor(1), axis},
                {{"inverse", a.integer("inverse", 0)}, {"onesided", a.integer("onesided", 0)}}));
}

}  // namespace

void add_signal_converters(Converters& r) { r.add("DFT", convert_dft); }

}  // namespace sparsebit::frontends

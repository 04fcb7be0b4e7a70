#include "frontends/onnx/ops/families.h"

namespace sparsebit::frontends {
namespace {

/// A zero point of 4 bits has refused this already; here it is the attribute that asks for a type.
void convert_quantize(Conversion& c) {
  const Attributes& a = c.attributes();
  if (a.integer("output_dtype", 0) != 0) a.dtype("output_dtype");  // refuses what libtorch has not
  fx::Kwargs kwargs;
  for (const char* name : {"axis", "block_size", "output_dtype", "saturate"}) {
    if (a.has(name)) kwargs.emplace_back(name, a.integer(name));
  }
  c.give(c.node("onnx.QuantizeLinear", c.tensors(), kwargs));
}

}  // namespace

void add_quantization_converters(Converters& r) { r.add("QuantizeLinear", convert_quantize); }

}  // namespace sparsebit::frontends

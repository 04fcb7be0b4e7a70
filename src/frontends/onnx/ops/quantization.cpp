#include "frontends/onnx/ops/families.h"

namespace sparsebit::frontends {
namespace {

/// A 4-bit zero point was refused before; here only the attribute output_dtype can state a type.
void convert_quantize(Conversion& c) {
  const Attributes& a = c.attributes();
  if (a.integer("output_dtype", 0) != 0) a.dtype("output_dtype");  // refuses unsupported types
  fx::Kwargs kwargs;
  for (const char* name : {"axis", "block_size", "output_dtype", "saturate"}) {
    if (a.has(name)) kwargs.emplace_back(name, a.integer(name));
  }
  c.give(c.node("onnx.QuantizeLinear", c.tensors(), kwargs));
}

}  // namespace

void add_quantization_converters(Converters& r) { r.add("QuantizeLinear", convert_quantize); }

}  // namespace sparsebit::frontends

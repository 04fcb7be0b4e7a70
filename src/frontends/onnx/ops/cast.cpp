#include "frontends/onnx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {
namespace {

void give_as(Conversion& c, at::ScalarType dtype) {
  if (c.dtype(0) == dtype) return c.give(c.operand(0));
  c.give(c.method("to", {c.tensor(0), dtype}));
}

void convert_cast(Conversion& c) {
  const auto dtype = c.attributes().dtype("to");
  SPARSEBIT_CHECK(dtype, InvalidModel, "Cast needs an attribute 'to'");
  c.attributes().ignore("saturate");  // only for 8-bit floats, which libtorch does not have
  give_as(c, *dtype);
}

void convert_cast_like(Conversion& c) {
  c.attributes().ignore("saturate");
  if (const auto dtype = c.dtype(1)) return give_as(c, *dtype);
  c.give(c.method("type_as", {c.tensor(0), c.tensor(1)}));
}

void convert_identity(Conversion& c) { c.give(c.operand(0)); }

}  // namespace

void add_cast_converters(Converters& r) {
  r.add("Cast", convert_cast);
  r.add("CastLike", convert_cast_like);
  r.add("Identity", convert_identity);
}

}  // namespace sparsebit::frontends

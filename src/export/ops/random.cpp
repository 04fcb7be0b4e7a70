#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {
namespace {

/// Random numbers in the shape of `like`, uniform in [0, 1) or normal.
OnnxTensor random_like(Call& c, const OnnxTensor& like, bool normal, at::ScalarType dtype) {
  const Attrs attrs = {{"dtype", int64_t{io::onnx_type_of(dtype)}}};
  return c.w.op(normal ? "RandomNormalLike" : "RandomUniformLike", {like}, attrs, dtype,
                like.shape);
}

Converter sized(bool normal) {
  return [normal](Call& c) -> NodeResult {
    const at::ScalarType dtype = c.args().optional_dtype("dtype").value_or(at::kFloat);
    const OnnxTensor shape = c.int_vector("size");
    if (shape.constant.defined()) {
      const int64_t* first = shape.constant.data_ptr<int64_t>();
      const Shape sizes(first, first + shape.constant.numel());
      return c.w.op(normal ? "RandomNormal" : "RandomUniform", {},
                    {{"dtype", int64_t{io::onnx_type_of(dtype)}}, {"shape", sizes}}, dtype, sizes);
    }
    return random_like(c, c.w.filled(shape, 0.0, dtype), normal, dtype);
  };
}

Converter like(bool normal) {
  return [normal](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    return random_like(c, x, normal, c.args().optional_dtype("dtype").value_or(x.dtype));
  };
}

/// 1 where a uniform random number is below the probability.
NodeResult bernoulli(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const at::ScalarType real = at::isFloatingType(x.dtype) ? x.dtype : at::kFloat;
  const OnnxTensor probability = c.is_none("p") ? x : c.operand(c.val("p"), real);
  const OnnxTensor drawn = random_like(c, x, false, real);
  return c.w.cast(c.w.compare("Less", drawn, c.w.cast(probability, real)), x.dtype);
}

}  // namespace

void add_random_converters(Converters& table) {
  table.add("rand", sized(false));
  table.add("randn", sized(true));
  table.add("rand_like", like(false));
  table.add("randn_like", like(true));
  table.add("bernoulli", bernoulli);
}

}  // namespace sparsebit::exports

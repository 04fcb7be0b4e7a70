#include "frontends/onnx/ops/families.h"

namespace sparsebit::frontends {

const Converters& converters() {
  static const Converters registry = [] {
    Converters r("ONNX operator");
    add_activation_converters(r);
    add_convolution_converters(r);
    add_linear_converters(r);
    add_norm_converters(r);
    return r;
  }();
  return registry;
}

}  // namespace sparsebit::frontends

#include "frontends/onnx/ops/families.h"

namespace sparsebit::frontends {

const Converters& converters() {
  static const Converters registry = [] {
    Converters r("ONNX operator");
    add_activation_converters(r);
    add_arithmetic_converters(r);
    add_cast_converters(r);
    add_comparison_converters(r);
    add_convolution_converters(r);
    add_creation_converters(r);
    add_detection_converters(r);
    add_dropout_converters(r);
    add_indexing_converters(r);
    add_joining_converters(r);
    add_linear_converters(r);
    add_loss_converters(r);
    add_math_converters(r);
    add_norm_converters(r);
    add_padding_converters(r);
    add_pooling_converters(r);
    add_quantization_converters(r);
    add_random_converters(r);
    add_recurrent_converters(r);
    add_reduction_converters(r);
    add_resize_converters(r);
    add_shape_converters(r);
    add_signal_converters(r);
    add_softmax_converters(r);
    return r;
  }();
  return registry;
}

}  // namespace sparsebit::frontends

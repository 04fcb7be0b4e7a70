#include "fx/ops/families.h"

namespace sparsebit::fx {

OperatorTable& operators() {
  static OperatorTable table = [] {
    OperatorTable t;
    add_activation_operators(t);
    add_arithmetic_operators(t);
    add_attention_operators(t);
    add_cast_operators(t);
    add_comparison_operators(t);
    add_convolution_operators(t);
    add_creation_operators(t);
    add_dropout_operators(t);
    add_getitem_operators(t);
    add_indexing_operators(t);
    add_joining_operators(t);
    add_linear_operators(t);
    add_logic_operators(t);
    add_math_operators(t);
    add_matrix_operators(t);
    add_norm_operators(t);
    add_onnx_arithmetic_operators(t);
    add_onnx_creation_operators(t);
    add_onnx_detection_operators(t);
    add_onnx_indexing_operators(t);
    add_onnx_integer_operators(t);
    add_onnx_joining_operators(t);
    add_onnx_math_operators(t);
    add_onnx_padding_operators(t);
    add_onnx_pooling_operators(t);
    add_onnx_quantization_operators(t);
    add_onnx_recurrent_operators(t);
    add_onnx_reduction_operators(t);
    add_onnx_resize_operators(t);
    add_onnx_roi_align_operators(t);
    add_onnx_shape_operators(t);
    add_onnx_signal_operators(t);
    add_padding_operators(t);
    add_pooling_operators(t);
    add_python_operators(t);
    add_recurrent_operators(t);
    add_reduction_operators(t);
    add_resize_operators(t);
    add_shape_operators(t);
    add_sorting_operators(t);
    return t;
  }();
  return table;
}

}  // namespace sparsebit::fx

#include "export/ops/families.h"

#include "sparsebit/export/onnx.h"

namespace sparsebit::exports {

const Converters& converters() {
  static const Converters table = [] {
    Converters t("ONNX converter");
    add_activation_converters(t);
    add_adaptive_pooling_converters(t);
    add_arithmetic_converters(t);
    add_attention_converters(t);
    add_cast_converters(t);
    add_comparison_converters(t);
    add_convolution_converters(t);
    add_creation_converters(t);
    add_dropout_converters(t);
    add_getitem_converters(t);
    add_indexing_converters(t);
    add_joining_converters(t);
    add_linear_converters(t);
    add_logic_converters(t);
    add_math_converters(t);
    add_matrix_converters(t);
    add_norm_converters(t);
    add_padding_converters(t);
    add_patch_converters(t);
    add_pooling_converters(t);
    add_python_converters(t);
    add_random_converters(t);
    add_recurrent_converters(t);
    add_reduction_converters(t);
    add_resize_converters(t);
    add_shape_converters(t);
    add_sorting_converters(t);
    return t;
  }();
  return table;
}

const std::map<std::string, std::string>& operators_without_onnx_form() {
  static const std::map<std::string, std::string> reasons = {};
  return reasons;
}

}  // namespace sparsebit::exports

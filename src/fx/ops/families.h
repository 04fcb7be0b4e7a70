#pragma once

#include "sparsebit/fx/ops/operator.h"

namespace sparsebit::fx {

// One function per file of this folder; registry.cpp calls them all.
void add_activation_operators(OperatorTable& table);
void add_arithmetic_operators(OperatorTable& table);
void add_attention_operators(OperatorTable& table);
void add_cast_operators(OperatorTable& table);
void add_comparison_operators(OperatorTable& table);
void add_convolution_operators(OperatorTable& table);
void add_creation_operators(OperatorTable& table);
void add_dropout_operators(OperatorTable& table);
void add_getitem_operators(OperatorTable& table);
void add_indexing_operators(OperatorTable& table);
void add_joining_operators(OperatorTable& table);
void add_linear_operators(OperatorTable& table);
void add_logic_operators(OperatorTable& table);
void add_math_operators(OperatorTable& table);
void add_matrix_operators(OperatorTable& table);
void add_norm_operators(OperatorTable& table);
void add_onnx_arithmetic_operators(OperatorTable& table);
void add_onnx_creation_operators(OperatorTable& table);
void add_onnx_detection_operators(OperatorTable& table);
void add_onnx_indexing_operators(OperatorTable& table);
void add_onnx_integer_operators(OperatorTable& table);
void add_onnx_joining_operators(OperatorTable& table);
void add_onnx_math_operators(OperatorTable& table);
void add_onnx_padding_operators(OperatorTable& table);
void add_onnx_pooling_operators(OperatorTable& table);
void add_onnx_quantization_operators(OperatorTable& table);
void add_onnx_recurrent_operators(OperatorTable& table);
void add_onnx_reduction_operators(OperatorTable& table);
void add_onnx_resize_operators(OperatorTable& table);
void add_onnx_roi_align_operators(OperatorTable& table);
void add_onnx_shape_operators(OperatorTable& table);
void add_onnx_signal_operators(OperatorTable& table);
void add_padding_operators(OperatorTable& table);
void add_pooling_operators(OperatorTable& table);
void add_python_operators(OperatorTable& table);
void add_recurrent_operators(OperatorTable& table);
void add_reduction_operators(OperatorTable& table);
void add_resize_operators(OperatorTable& table);
void add_shape_operators(OperatorTable& table);
void add_sorting_operators(OperatorTable& table);

}  // namespace sparsebit::fx

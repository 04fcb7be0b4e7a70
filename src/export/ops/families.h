#pragma once

#include "export/converter.h"

namespace sparsebit::exports {

// One function per file of this folder; registry.cpp calls them all.
void add_activation_converters(Converters& table);
void add_adaptive_pooling_converters(Converters& table);
void add_arithmetic_converters(Converters& table);
void add_attention_converters(Converters& table);
void add_cast_converters(Converters& table);
void add_comparison_converters(Converters& table);
void add_convolution_converters(Converters& table);
void add_creation_converters(Converters& table);
void add_dropout_converters(Converters& table);
void add_getitem_converters(Converters& table);
void add_indexing_converters(Converters& table);
void add_joining_converters(Converters& table);
void add_linear_converters(Converters& table);
void add_logic_converters(Converters& table);
void add_math_converters(Converters& table);
void add_matrix_converters(Converters& table);
void add_norm_converters(Converters& table);
void add_padding_converters(Converters& table);
void add_patch_converters(Converters& table);
void add_pooling_converters(Converters& table);
void add_python_converters(Converters& table);
void add_random_converters(Converters& table);
void add_recurrent_converters(Converters& table);
void add_reduction_converters(Converters& table);
void add_resize_converters(Converters& table);
void add_shape_converters(Converters& table);
void add_sorting_converters(Converters& table);

}  // namespace sparsebit::exports

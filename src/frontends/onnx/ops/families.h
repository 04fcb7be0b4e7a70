#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

using Converters = Registry<Converter>;

// One function per file of this folder; registry.cpp calls them all.
void add_activation_converters(Converters& converters);
void add_arithmetic_converters(Converters& converters);
void add_cast_converters(Converters& converters);
void add_comparison_converters(Converters& converters);
void add_convolution_converters(Converters& converters);
void add_creation_converters(Converters& converters);
void add_detection_converters(Converters& converters);
void add_dropout_converters(Converters& converters);
void add_indexing_converters(Converters& converters);
void add_joining_converters(Converters& converters);
void add_linear_converters(Converters& converters);
void add_loss_converters(Converters& converters);
void add_math_converters(Converters& converters);
void add_norm_converters(Converters& converters);
void add_padding_converters(Converters& converters);
void add_pooling_converters(Converters& converters);
void add_quantization_converters(Converters& converters);
void add_random_converters(Converters& converters);
void add_recurrent_converters(Converters& converters);
void add_reduction_converters(Converters& converters);
void add_resize_converters(Converters& converters);
void add_shape_converters(Converters& converters);
void add_signal_converters(Converters& converters);
void add_softmax_converters(Converters& converters);

}  // namespace sparsebit::frontends

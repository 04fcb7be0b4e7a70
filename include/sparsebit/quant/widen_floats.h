#pragma once

#include "sparsebit/fx/graph_module.h"

namespace sparsebit::quant {

/// The types of the inputs and outputs of a widened model.
enum class Interface {
  Kept,     ///< unchanged, with casts to and from float32; needs recorded shapes
  Float32,  ///< float32
};

/// Converts a float16 or bfloat16 model to float32:
///
///     half(x) -> conv -> half   =>   x.to(float32) -> conv -> .to(float16)
///
/// @returns whether the model had float16 or bfloat16 tensors.
bool widen_floats(fx::GraphModule& module, Interface interface = Interface::Kept);

}  // namespace sparsebit::quant

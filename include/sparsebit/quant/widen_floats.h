#pragma once

#include "sparsebit/fx/graph_module.h"

namespace sparsebit::quant {

/// Types of the inputs and outputs of a model that is widened.
enum class Interface {
  Kept,     ///< cast from and to what they were; needs recorded shapes
  Float32,  ///< float32, too
};

/// Makes a float16 or bfloat16 model compute with float32:
///
///     half(x) -> conv -> half   =>   x.to(float32) -> conv -> .to(float16)
///
/// @returns whether there was anything to widen.
bool widen_floats(fx::GraphModule& module, Interface interface = Interface::Kept);

}  // namespace sparsebit::quant

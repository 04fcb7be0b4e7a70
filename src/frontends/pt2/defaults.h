#pragma once

#include "frontends/torchscript/aten.h"

#include <string>

namespace sparsebit::frontends::pt2 {

/// Adds the arguments that a call leaves at their defaults, which programs do not write, in the
/// order of the operator's schema, as far as this libtorch has the operator.
///
/// @param overload  "Tensor", or "default".
void add_defaults(torchscript::AtenCall& call, const std::string& overload);

}  // namespace sparsebit::frontends::pt2

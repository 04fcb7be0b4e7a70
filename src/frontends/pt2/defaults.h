#pragma once

#include "frontends/torchscript/aten.h"

#include <string>

namespace sparsebit::frontends::pt2 {

/// Adds arguments that have their default value, which exported programs omit, in the order of the
/// operator's schema, if this libtorch has the operator.
///
/// @param overload  "Tensor", or "default".
void add_defaults(torchscript::AtenCall& call, const std::string& overload);

}  // namespace sparsebit::frontends::pt2

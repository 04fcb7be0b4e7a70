#pragma once

#include "sparsebit/fx/resolve.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/spec/decision.h"

#include <optional>

namespace sparsebit::quant {

/// The platform's row for an operator; null when it has none. An operator that only ONNX has is
/// found under the name of the torch operator that it is like.
const platforms::OperatorRule* find_rule(const platforms::Platform& platform,
                                         const fx::Operator& op);

/// Why the platform computes this call in float whatever is around it: it has no integer form for
/// the operator, or none for these arguments.
std::optional<Decision> float_by_rule(const platforms::Platform& platform, const fx::Node& node,
                                      const fx::OperatorCall& call);

}  // namespace sparsebit::quant

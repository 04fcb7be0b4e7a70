#pragma once

#include "sparsebit/fx/resolve.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/spec/decision.h"

#include <optional>

namespace sparsebit::quant {

/// The platform's rule for an operator; null if it has none. ONNX-only operators are also found by
/// the name of the equivalent torch operator.
const platforms::OperatorRule* find_rule(const platforms::Platform& platform,
                                         const fx::Operator& op);

/// Why the platform computes this call in float regardless of its neighbours: it has no integer
/// form for the operator, or none for these arguments.
std::optional<Decision> float_by_rule(const platforms::Platform& platform, const fx::Node& node,
                                      const fx::OperatorCall& call);

}  // namespace sparsebit::quant

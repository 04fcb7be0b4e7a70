#pragma once

#include "sparsebit/quant/quant_model.h"

#include <string>

namespace sparsebit::report::test {

/// conv relu tanh linear, calibrated for a platform: the tanh has no integer form in ONNX Runtime.
quant::QuantModel calibrated_net(const std::string& platform);

}  // namespace sparsebit::report::test

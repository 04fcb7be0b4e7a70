#pragma once

#include "sparsebit/quant/quant_model.h"

#include <string>

namespace sparsebit::report::test {

/// A model conv, relu, tanh, linear, calibrated for a platform. tanh has no integer form in ONNX
/// Runtime.
quant::QuantModel calibrated_net(const std::string& platform);

}  // namespace sparsebit::report::test

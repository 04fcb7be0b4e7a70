#pragma once

#include "sparsebit/export/onnx.h"
#include "sparsebit/quant/quant_model.h"

#include <string>

namespace sparsebit::deploy {

/// The model's float ONNX, see DeployModel::clean(), and what the values of its graph are called
/// there.
exports::NamedOnnx clean_onnx(const quant::QuantModel& model);

/// What the file calls a weight that it stores the other way round.
std::string transposed_name(const std::string& weight);

}  // namespace sparsebit::deploy

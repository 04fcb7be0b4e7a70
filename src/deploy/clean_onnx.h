#pragma once

#include "sparsebit/export/onnx.h"
#include "sparsebit/quant/quant_model.h"

#include <string>

namespace sparsebit::deploy {

/// The model's float ONNX, see DeployModel::clean(), and the names of the nodes' results in it.
exports::NamedOnnx clean_onnx(const quant::QuantModel& model);

/// The name in the file of a weight that is stored transposed.
std::string transposed_name(const std::string& weight);

}  // namespace sparsebit::deploy

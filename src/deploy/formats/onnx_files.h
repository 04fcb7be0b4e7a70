#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace sparsebit::deploy {

/// The clean float ONNX, see DeployModel::clean().
std::vector<DeployFile> write_onnx_clean(const DeployModel& model);
/// Pairs of QuantizeLinear and DequantizeLinear.
std::vector<DeployFile> write_onnx_qdq(const DeployModel& model);
/// Integer operators: QLinearConv and the like.
std::vector<DeployFile> write_onnx_qoperator(const DeployModel& model);

/// Constants and quantization of an ONNX file, for tests.
struct OnnxNumbers {
  struct Quantization {
    at::Tensor scale, zero_point;
  };
  std::map<std::string, at::Tensor> constants;    ///< by name; not for 4-bit types
  std::map<std::string, Quantization> quantized;  ///< inputs of QuantizeLinear
  std::map<std::string, int> operators;           ///< how many of each type
};
OnnxNumbers read_onnx_numbers(const std::string& content);

}  // namespace sparsebit::deploy

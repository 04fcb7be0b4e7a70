#pragma once

#include "sparsebit/deploy/tensor_range.h"
#include "sparsebit/io/onnx_proto.h"
#include "sparsebit/quant/quant_model.h"

#include <memory>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// A calibrated model as formats see it: the model itself, its float ONNX file, and the ranges of
/// that file's tensors. Each is made when a format first asks for it.
class DeployModel {
 public:
  /// The model must live as long as this. Throws InvalidArgument, naming the point, when one was
  /// never calibrated.
  /// @param name  what its files are called: "model" -> "model.onnx".
  explicit DeployModel(const quant::QuantModel& model, std::string name = "model");
  ~DeployModel();
  DeployModel(const DeployModel&) = delete;
  DeployModel& operator=(const DeployModel&) = delete;

  const quant::QuantModel& quantized() const { return model_; }
  const std::string& name() const { return name_; }

  /// The clean float ONNX: without quantizers, weights clipped to what their integers can stand for
  /// but not rounded, the number of samples left open. Throws as exports::to_onnx().
  const onnx::ModelProto& clean() const;

  /// Quantized tensors by their names in clean(): activations in graph order and those that inherit
  /// their range (see TensorRange::inherited), weights, biases. A
  /// tensor whose readers see it differently is there several times. What the exporter computed at
  /// once has no name in the file and is left out.
  const std::vector<TensorRange>& ranges() const;

 private:
  struct Made;
  Made& made() const;

  const quant::QuantModel& model_;
  std::string name_;
  mutable std::unique_ptr<Made> made_;
};

}  // namespace sparsebit::deploy

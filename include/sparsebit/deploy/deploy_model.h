#pragma once

#include "sparsebit/deploy/tensor_range.h"
#include "sparsebit/io/onnx_proto.h"
#include "sparsebit/quant/quant_model.h"

#include <memory>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// A calibrated model as formats see it: the model itself, its float ONNX file, and the ranges of
/// that file's tensors. ONNX file and ranges are computed on first use.
class DeployModel {
 public:
  /// The model must outlive this object. Throws InvalidArgument, naming the place, when a quantizer
  /// is not calibrated.
  /// @param name  stem of the file names: "model" -> "model.onnx".
  explicit DeployModel(const quant::QuantModel& model, std::string name = "model");
  ~DeployModel();
  DeployModel(const DeployModel&) = delete;
  DeployModel& operator=(const DeployModel&) = delete;

  const quant::QuantModel& quantized() const { return model_; }
  const std::string& name() const { return name_; }

  /// The float ONNX model without quantizers: weights clipped to their quantized range but not
  /// rounded, batch dimension dynamic. Throws as exports::to_onnx().
  const onnx::ModelProto& clean() const;

  /// Quantized tensors by their names in clean(): activations in graph order, then those that
  /// inherit their range (see TensorRange::inherited), weights, biases. A tensor that is quantized
  /// differently for different consumers has several entries. Constants folded by the exporter have
  /// no name in the file and are omitted.
  const std::vector<TensorRange>& ranges() const;

 private:
  struct Made;
  Made& made() const;

  const quant::QuantModel& model_;
  std::string name_;
  mutable std::unique_ptr<Made> made_;
};

}  // namespace sparsebit::deploy

#pragma once

#include "sparsebit/deploy/deploy_model.h"
#include "sparsebit/nn/module.h"

#include <string>

namespace sparsebit::deploy::test {

/// Convolution with batch norm and relu, a residual sum, pooling, a transposed convolution, a
/// depthwise convolution with relu6, and a linear layer with batch norm.
class Net : public nn::Module {
 public:
  Net();
  nn::Value forward(const nn::Args& in) override;
};

const at::Tensor& samples();

/// `weights` and `activations` are schemes such as "per-channel-symmetric"; the observer is minmax.
/// @param more  settings of every quantizer: "BIT: 8, RESTRICTED: true".
quant::QConfig config_of(const std::string& weights, const std::string& activations,
                         const std::string& more = "BIT: 8");

quant::QuantModel calibrated(fx::Module& network, const quant::QConfig& config,
                             const at::Tensor& x = samples());
quant::QuantModel calibrated_net(const quant::QConfig& config);

/// Supported by most formats: int8 without zero points, weights per channel.
quant::QConfig symmetric_config();
/// uint8 with zero points, one scale per tensor.
quant::QConfig affine_config();
/// int8, one scale per tensor, a power of two.
quant::QConfig power_of_two_config();

/// The range of a tensor; fails the test if there is none.
const TensorRange& range_of(const DeployModel& model, const std::string& tensor);

}  // namespace sparsebit::deploy::test

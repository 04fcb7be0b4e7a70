#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace sparsebit::deploy {

/// OpenVINO: ONNX in which each quantizer is a FakeQuantize of the domain org.openvinotoolkit, with
/// the inputs x, input_low, input_high, output_low, output_high. Per-channel ranges have the
/// weight's rank: [C, 1, 1, 1], of a transposed convolution [1, C, 1, 1]. Weights of 128 levels
/// are written as 256 levels over twice the range, with the same step.
std::vector<DeployFile> write_openvino_fq(const DeployModel& model);

struct OpenVinoRange {
  at::Tensor low, high;  ///< float32
  int64_t levels = 0;
};
/// By the name of the FakeQuantize's output.
std::map<std::string, OpenVinoRange> read_openvino_fq(const std::string& content);

}  // namespace sparsebit::deploy

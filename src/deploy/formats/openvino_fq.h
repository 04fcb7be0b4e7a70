#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace sparsebit::deploy {

/// OpenVINO: ONNX in which each quantizer is a FakeQuantize of the domain org.openvinotoolkit, with
/// the inputs x, input_low, input_high, output_low, output_high. Ranges per channel have the
/// weight's rank: [C, 1, 1, 1], of a transposed convolution [1, C, 1, 1]. Weights of 128 levels
/// have 256 over twice the range, which is the same step.
std::vector<DeployFile> write_openvino_fq(const DeployModel& model);

struct OpenVinoRange {
  at::Tensor low, high;  ///< float32
  int64_t levels = 0;
};
/// By the result's name.
std::map<std::string, OpenVinoRange> read_openvino_fq(const std::string& content);

}  // namespace sparsebit::deploy

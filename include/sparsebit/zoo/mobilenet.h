#pragma once

#include "sparsebit/nn/module.h"

namespace sparsebit::zoo {

struct MobileNetV2Options {
  double width = 1.0;  ///< multiplies the number of channels, rounded to multiples of 8
  int64_t num_classes = 1000;
};

/// MobileNetV2 with torchvision's module names: inverted residuals, depthwise convolutions, ReLU6.
nn::ModulePtr mobilenet_v2(const MobileNetV2Options& options = {});

}  // namespace sparsebit::zoo

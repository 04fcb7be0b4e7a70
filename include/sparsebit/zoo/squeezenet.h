#pragma once

#include "sparsebit/nn/module.h"

namespace sparsebit::zoo {

struct SqueezeNetOptions {
  int64_t num_classes = 1000;
};

/// SqueezeNet 1.1 with torchvision's module names: 1x1 squeeze layers before expand layers of 1x1
/// and 3x3 convolutions, whose results are concatenated.
nn::ModulePtr squeezenet(const SqueezeNetOptions& options = {});

}  // namespace sparsebit::zoo

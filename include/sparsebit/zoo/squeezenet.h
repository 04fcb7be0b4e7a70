#pragma once

#include "sparsebit/nn/module.h"

namespace sparsebit::zoo {

struct SqueezeNetOptions {
  int64_t num_classes = 1000;
};

/// SqueezeNet 1.1 with torchvision's module names: narrow layers before wide ones, whose two halves
/// are put together.
nn::ModulePtr squeezenet(const SqueezeNetOptions& options = {});

}  // namespace sparsebit::zoo

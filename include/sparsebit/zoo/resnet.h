#pragma once

#include "sparsebit/nn/module.h"

#include <vector>

namespace sparsebit::zoo {

/// Which residual block a ResNet is made of.
enum class ResNetBlock {
  Basic,       ///< two 3x3 convolutions (ResNet-18, 34)
  Bottleneck,  ///< 1x1, 3x3, 1x1 (ResNet-50 and deeper)
};

struct ResNetOptions {
  ResNetBlock block = ResNetBlock::Basic;
  std::vector<int64_t> depths = {2, 2, 2, 2};  ///< blocks in layer1 to layer4
  int64_t width = 64;                          ///< channels of layer1, doubled with each layer
  int64_t num_classes = 1000;
};

/// ResNet for ImageNet with torchvision's module names.
nn::ModulePtr resnet(const ResNetOptions& options = {});

/// ResNet-20 for CIFAR-10 as in He et al. section 4.2: three stages of three blocks, shortcuts
/// without parameters.
nn::ModulePtr resnet20();

}  // namespace sparsebit::zoo

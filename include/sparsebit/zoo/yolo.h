#pragma once

#include "sparsebit/nn/module.h"

namespace sparsebit::zoo {

struct YoloOptions {
  int64_t width = 16;  ///< channels after the stem
  int64_t num_classes = 80;
};

/// A small anchor-free detector in the style of YOLO: SiLU convolutions, a backbone with three
/// scales, a top-down path with concatenation that upsamples once by interpolation and once by
/// ConvTranspose2d, and one head per scale. Returns predictions [N, cells, 5 + classes].
nn::ModulePtr yolo(const YoloOptions& options = {});

}  // namespace sparsebit::zoo

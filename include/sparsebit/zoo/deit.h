#pragma once

#include "sparsebit/nn/module.h"

namespace sparsebit::zoo {

struct VisionTransformerOptions {
  int64_t image_size = 224;
  int64_t patch_size = 16;
  int64_t embed_dim = 192;
  int64_t depth = 12;
  int64_t num_heads = 3;
  int64_t num_classes = 1000;
};

/// DeiT with timm's module names (blocks.0.attn.qkv, ...); the defaults are DeiT-tiny.
nn::ModulePtr deit(const VisionTransformerOptions& options = {});

}  // namespace sparsebit::zoo

#include "sparsebit/zoo/deit.h"

#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::zoo {
namespace deit_parts {

using nn::Args;
using nn::ModulePtr;
using nn::Value;

class Attention : public nn::Cloneable<Attention> {
 public:
  Attention(int64_t dim, int64_t heads)
      : Cloneable("Attention", "x"),
        heads_(heads),
        head_dim_(dim / heads),
        scale_(1.0 / std::sqrt(static_cast<double>(head_dim_))) {
    add_module("qkv", nn::Linear(dim, dim * 3));
    add_module("attn_drop", nn::Dropout(0.0));
    add_module("proj", nn::Linear(dim, dim));
    add_module("proj_drop", nn::Dropout(0.0));
  }

  Value forward(const Args& in) override {
    const Value x = in["x"];
    const Value batch = nn::size(x, 0), tokens = nn::size(x, 1);
    const Value qkv = nn::permute(
        nn::reshape(call("qkv", x), {batch, tokens, 3, heads_, head_dim_}), {2, 0, 3, 1, 4});
    const Value parts = nn::unbind(qkv, 0);
    const Value q = nn::getitem(parts, 0), k = nn::getitem(parts, 1), v = nn::getitem(parts, 2);
    const Value scores = nn::matmul(q, nn::transpose(k, -2, -1)) * scale_;
    const Value weights = call("attn_drop", nn::call_method("softmax", {scores}, {{"dim", -1}}));
    const Value mixed = nn::transpose(nn::matmul(weights, v), 1, 2);
    return call("proj_drop", call("proj", nn::reshape(mixed, {batch, tokens, heads_ * head_dim_})));
  }

 private:
  int64_t heads_, head_dim_;
  double scale_;
};

class Mlp : public nn::Cloneable<Mlp> {
 public:
  explicit Mlp(int64_t dim) : Cloneable("Mlp", "x") {
    add_module("fc1", nn::Linear(dim, dim * 4));
    add_module("act", nn::GELU());
    add_module("fc2", nn::Linear(dim * 4, dim));
    add_module("drop", nn::Dropout(0.0));
  }

  Value forward(const Args& in) override {
    const Value hidden = call("drop", call("act", call("fc1", in["x"])));
    return call("drop", call("fc2", hidden));
  }
};

class Block : public nn::Cloneable<Block> {
 public:
  Block(int64_t dim, int64_t heads) : Cloneable("Block", "x") {
    add_module("norm1", nn::LayerNorm(dim, {{"eps", 1e-6}}));
    add_module("attn", std::make_shared<Attention>(dim, heads));
    add_module("norm2", nn::LayerNorm(dim, {{"eps", 1e-6}}));
    add_module("mlp", std::make_shared<Mlp>(dim));
  }

  Value forward(const Args& in) override {
    Value x = in["x"];
    x = x + call("attn", call("norm1", x));
    return x + call("mlp", call("norm2", x));
  }
};

class PatchEmbed : public nn::Cloneable<PatchEmbed> {
 public:
  PatchEmbed(int64_t patch_size, int64_t dim) : Cloneable("PatchEmbed", "x") {
    add_module("proj", nn::Conv2d(3, dim, patch_size, {{"stride", patch_size}}));
  }

  Value forward(const Args& in) override {
    const Value patches = nn::call_method("flatten", {call("proj", in["x"]), 2});
    return nn::transpose(patches, 1, 2);
  }
};

class VisionTransformer : public nn::Cloneable<VisionTransformer> {
 public:
  explicit VisionTransformer(const VisionTransformerOptions& o)
      : Cloneable("VisionTransformer", "x") {
    const int64_t patches = (o.image_size / o.patch_size) * (o.image_size / o.patch_size);
    add_module("patch_embed", std::make_shared<PatchEmbed>(o.patch_size, o.embed_dim));
    add_parameter("cls_token", at::zeros({1, 1, o.embed_dim}));
    add_parameter("pos_embed", at::zeros({1, patches + 1, o.embed_dim}));
    add_module("pos_drop", nn::Dropout(0.0));
    auto blocks = std::make_shared<nn::Sequential>();
    for (int64_t i = 0; i < o.depth; ++i)
      blocks->append(std::make_shared<Block>(o.embed_dim, o.num_heads));
    add_module("blocks", blocks);
    add_module("norm", nn::LayerNorm(o.embed_dim, {{"eps", 1e-6}}));
    add_module("head", nn::Linear(o.embed_dim, o.num_classes));
  }

  Value forward(const Args& in) override {
    Value x = call("patch_embed", in["x"]);
    const Value batch = nn::size(x, 0);
    const Value cls = nn::expand(parameter("cls_token"), {batch, -1, -1});
    x = nn::cat({cls, x}, 1);
    x = x + parameter("pos_embed");
    x = call("norm", call("blocks", call("pos_drop", x)));
    return call("head", nn::getitem(x, nn::Tuple{nn::Slice(), 0}));
  }
};

}  // namespace deit_parts

nn::ModulePtr deit(const VisionTransformerOptions& options) {
  return std::make_shared<deit_parts::VisionTransformer>(options);
}

}  // namespace sparsebit::zoo

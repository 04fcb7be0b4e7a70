#include "sparsebit/zoo/gpt2.h"

#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::zoo {
namespace gpt2_parts {

using nn::Args;
using nn::ModulePtr;
using nn::Value;

constexpr double kDropout = 0.1;

class Attention : public nn::Cloneable<Attention> {
 public:
  explicit Attention(const Gpt2Options& o)
      : Cloneable("GPT2Attention", "x"),
        width_(o.embed_dim),
        heads_(o.num_heads),
        head_dim_(o.embed_dim / o.num_heads) {
    add_module("c_attn", nn::Linear(width_, width_ * 3));
    add_module("c_proj", nn::Linear(width_, width_));
    add_module("attn_dropout", nn::Dropout(kDropout));
    add_module("resid_dropout", nn::Dropout(kDropout));
    add_buffer(
        "bias",
        at::ones({o.context, o.context}, at::kBool).tril().view({1, 1, o.context, o.context}));
  }

  Value forward(const Args& in) override {
    const Value parts = nn::split(call("c_attn", in["x"]), width_, 2);
    const Value q = split_heads(nn::getitem(parts, 0));
    const Value k = split_heads(nn::getitem(parts, 1));
    const Value v = split_heads(nn::getitem(parts, 2));
    const Value length = nn::size(in["x"], 1);
    const Value scores = nn::call_function("torch.matmul", {q, nn::transpose(k, -1, -2)}) *
                         (1.0 / std::sqrt(static_cast<double>(head_dim_)));
    const nn::Slice seen(nn::None(), length);
    const Value causal =
        nn::getitem(buffer("bias"), nn::Tuple{nn::Slice(), nn::Slice(), seen, seen});
    const Value masked = nn::where(causal, scores, -1e4);
    const Value weights = call("attn_dropout", nn::softmax(masked, -1));
    const Value mixed =
        nn::contiguous(nn::permute(nn::call_function("torch.matmul", {weights, v}), {0, 2, 1, 3}));
    const Value merged = nn::view(mixed, {nn::size(mixed, 0), length, width_});
    return call("resid_dropout", call("c_proj", merged));
  }

 private:
  Value split_heads(const Value& x) const {
    return nn::permute(nn::view(x, {nn::size(x, 0), nn::size(x, 1), heads_, head_dim_}),
                       {0, 2, 1, 3});
  }

  int64_t width_, heads_, head_dim_;
};

class Mlp : public nn::Cloneable<Mlp> {
 public:
  explicit Mlp(int64_t width) : Cloneable("GPT2MLP", "x") {
    add_module("c_fc", nn::Linear(width, width * 4));
    add_module("act", nn::GELU({{"approximate", "tanh"}}));
    add_module("c_proj", nn::Linear(width * 4, width));
    add_module("dropout", nn::Dropout(kDropout));
  }

  Value forward(const Args& in) override {
    return call("dropout", call("c_proj", call("act", call("c_fc", in["x"]))));
  }
};

class Block : public nn::Cloneable<Block> {
 public:
  explicit Block(const Gpt2Options& o) : Cloneable("GPT2Block", "x") {
    add_module("ln_1", nn::LayerNorm(o.embed_dim));
    add_module("attn", std::make_shared<Attention>(o));
    add_module("ln_2", nn::LayerNorm(o.embed_dim));
    add_module("mlp", std::make_shared<Mlp>(o.embed_dim));
  }

  Value forward(const Args& in) override {
    const Value x = in["x"] + call("attn", call("ln_1", in["x"]));
    return x + call("mlp", call("ln_2", x));
  }
};

class Transformer : public nn::Cloneable<Transformer> {
 public:
  explicit Transformer(const Gpt2Options& o) : Cloneable("GPT2Model", "input_ids") {
    add_module("wte", nn::Embedding(o.vocab_size, o.embed_dim));
    add_module("wpe", nn::Embedding(o.context, o.embed_dim));
    add_module("drop", nn::Dropout(kDropout));
    auto blocks = std::make_shared<nn::ModuleList>();
    for (int64_t i = 0; i < o.num_layers; ++i) blocks->append(std::make_shared<Block>(o));
    add_module("h", blocks);
    add_module("ln_f", nn::LayerNorm(o.embed_dim));
  }

  Value forward(const Args& in) override {
    const Value ids = in["input_ids"];
    const Value positions = nn::unsqueeze(nn::arange(nn::size(ids, 1)), 0);
    const Value words = call("wte", ids);
    Value x = call("drop", words + call("wpe", positions));
    for (const auto& item : child("h").children()) x = (*item.value())(x);
    return call("ln_f", x);
  }
};

class Gpt2 : public nn::Cloneable<Gpt2> {
 public:
  explicit Gpt2(const Gpt2Options& o) : Cloneable("GPT2LMHeadModel", "input_ids") {
    const nn::Module& transformer = add_module("transformer", std::make_shared<Transformer>(o));
    nn::Module& head =
        add_module("lm_head", nn::Linear(o.embed_dim, o.vocab_size, {{"bias", false}}));
    head.add_parameter("weight", *transformer.find_tensor("wte.weight"));  // tied
  }

  Value forward(const Args& in) override {
    return call("lm_head", call("transformer", in["input_ids"]));
  }
};

}  // namespace gpt2_parts

nn::ModulePtr gpt2(const Gpt2Options& options) {
  return std::make_shared<gpt2_parts::Gpt2>(options);
}

}  // namespace sparsebit::zoo

#include "sparsebit/zoo/bert.h"

#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::zoo {
namespace bert_parts {

using nn::Args;
using nn::ModulePtr;
using nn::Value;

constexpr double kMaskedScore = -10000.0;
constexpr double kDropout = 0.1;

ModulePtr layer_norm(int64_t size) { return nn::LayerNorm(size, {{"eps", 1e-12}}); }

class Embeddings : public nn::Cloneable<Embeddings> {
 public:
  explicit Embeddings(const BertOptions& o)
      : Cloneable("BertEmbeddings", "input_ids, token_type_ids") {
    add_module("word_embeddings", nn::Embedding(o.vocab_size, o.hidden_size, {{"padding_idx", 0}}));
    add_module("position_embeddings", nn::Embedding(o.max_positions, o.hidden_size));
    add_module("token_type_embeddings", nn::Embedding(2, o.hidden_size));
    add_module("LayerNorm", layer_norm(o.hidden_size));
    add_module("dropout", nn::Dropout(kDropout));
    add_buffer("position_ids", at::arange(o.max_positions).expand({1, -1}).contiguous());
  }

  Value forward(const Args& in) override {
    const Value ids = in["input_ids"];
    const nn::Slice present(nn::None(), nn::size(ids, 1));
    const Value positions = nn::getitem(buffer("position_ids"), nn::Tuple{nn::Slice(), present});
    const Value words = call("word_embeddings", ids);
    const Value types = call("token_type_embeddings", in["token_type_ids"]);
    const Value typed = words + types;
    return call("dropout", call("LayerNorm", typed + call("position_embeddings", positions)));
  }
};

class SelfAttention : public nn::Cloneable<SelfAttention> {
 public:
  explicit SelfAttention(const BertOptions& o)
      : Cloneable("BertSelfAttention", "hidden, mask"),
        heads_(o.num_heads),
        head_dim_(o.hidden_size / o.num_heads) {
    for (const char* name : {"query", "key", "value"}) {
      add_module(name, nn::Linear(o.hidden_size, o.hidden_size));
    }
    add_module("dropout", nn::Dropout(kDropout));
  }

  Value forward(const Args& in) override {
    const Value hidden = in["hidden"];
    const Value q = split_heads(call("query", hidden));
    const Value k = split_heads(call("key", hidden));
    const Value v = split_heads(call("value", hidden));
    const Value scores = nn::call_function("torch.matmul", {q, nn::transpose(k, -1, -2)}) /
                         std::sqrt(static_cast<double>(head_dim_));
    const Value weights = call("dropout", nn::softmax(scores + in["mask"], -1));
    const Value context =
        nn::contiguous(nn::permute(nn::call_function("torch.matmul", {weights, v}), {0, 2, 1, 3}));
    return nn::view(context, {nn::size(context, 0), nn::size(context, 1), heads_ * head_dim_});
  }

 private:
  Value split_heads(const Value& x) const {
    return nn::permute(nn::view(x, {nn::size(x, 0), nn::size(x, 1), heads_, head_dim_}),
                       {0, 2, 1, 3});
  }

  int64_t heads_, head_dim_;
};

/// Dense, dropout, residual, norm: the end of each half of a BERT layer.
class Output : public nn::Cloneable<Output> {
 public:
  Output(const char* type, int64_t in, int64_t out) : Cloneable(type, "hidden, residual") {
    add_module("dense", nn::Linear(in, out));
    add_module("LayerNorm", layer_norm(out));
    add_module("dropout", nn::Dropout(kDropout));
  }

  Value forward(const Args& in) override {
    return call("LayerNorm", call("dropout", call("dense", in["hidden"])) + in["residual"]);
  }
};

class Attention : public nn::Cloneable<Attention> {
 public:
  explicit Attention(const BertOptions& o) : Cloneable("BertAttention", "hidden, mask") {
    add_module("self", std::make_shared<SelfAttention>(o));
    add_module("output", std::make_shared<Output>("BertSelfOutput", o.hidden_size, o.hidden_size));
  }

  Value forward(const Args& in) override {
    return call("output", call("self", in["hidden"], in["mask"]), in["hidden"]);
  }
};

class Intermediate : public nn::Cloneable<Intermediate> {
 public:
  explicit Intermediate(const BertOptions& o) : Cloneable("BertIntermediate", "hidden") {
    add_module("dense", nn::Linear(o.hidden_size, o.intermediate_size));
    add_module("intermediate_act_fn", nn::GELU());
  }

  Value forward(const Args& in) override {
    return call("intermediate_act_fn", call("dense", in["hidden"]));
  }
};

class Layer : public nn::Cloneable<Layer> {
 public:
  explicit Layer(const BertOptions& o) : Cloneable("BertLayer", "hidden, mask") {
    add_module("attention", std::make_shared<Attention>(o));
    add_module("intermediate", std::make_shared<Intermediate>(o));
    add_module("output",
               std::make_shared<Output>("BertOutput", o.intermediate_size, o.hidden_size));
  }

  Value forward(const Args& in) override {
    const Value attended = call("attention", in["hidden"], in["mask"]);
    return call("output", call("intermediate", attended), attended);
  }
};

class Encoder : public nn::Cloneable<Encoder> {
 public:
  explicit Encoder(const BertOptions& o) : Cloneable("BertEncoder", "hidden, mask") {
    auto layers = std::make_shared<nn::ModuleList>();
    for (int64_t i = 0; i < o.num_layers; ++i) layers->append(std::make_shared<Layer>(o));
    add_module("layer", layers);
  }

  Value forward(const Args& in) override {
    Value hidden = in["hidden"];
    for (const auto& item : child("layer").children()) hidden = (*item.value())(hidden, in["mask"]);
    return hidden;
  }
};

class Pooler : public nn::Cloneable<Pooler> {
 public:
  explicit Pooler(int64_t size) : Cloneable("BertPooler", "hidden") {
    add_module("dense", nn::Linear(size, size));
    add_module("activation", nn::Tanh());
  }

  Value forward(const Args& in) override {
    const Value first = nn::getitem(in["hidden"], nn::Tuple{nn::Slice(), 0});
    return call("activation", call("dense", first));
  }
};

class Bert : public nn::Cloneable<Bert> {
 public:
  explicit Bert(const BertOptions& o)
      : Cloneable("BertModel", "input_ids, token_type_ids, attention_mask") {
    add_module("embeddings", std::make_shared<Embeddings>(o));
    add_module("encoder", std::make_shared<Encoder>(o));
    add_module("pooler", std::make_shared<Pooler>(o.hidden_size));
  }

  Value forward(const Args& in) override {
    const Value keep = nn::getitem(in["attention_mask"],
                                   nn::Tuple{nn::Slice(), nn::None(), nn::None(), nn::Slice()});
    const Value mask = (1.0 - nn::call_method("to", {keep, at::kFloat})) * kMaskedScore;
    const Value hidden =
        call("encoder", call("embeddings", in["input_ids"], in["token_type_ids"]), mask);
    return nn::Tuple{hidden, call("pooler", hidden)};
  }
};

}  // namespace bert_parts

nn::ModulePtr bert(const BertOptions& options) {
  return std::make_shared<bert_parts::Bert>(options);
}

}  // namespace sparsebit::zoo

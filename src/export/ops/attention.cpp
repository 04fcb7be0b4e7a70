#include "export/ops/families.h"
#include "export/ops/linear.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <limits>

namespace sparsebit::exports {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// Scores where `allowed` is true, -inf elsewhere.
OnnxTensor keep_where(GraphWriter& w, const OnnxTensor& allowed, const OnnxTensor& scores) {
  return w.where(allowed, scores, w.scalar_like(kMinusInfinity, scores));
}

/// allowed[i, j] = j <= i
OnnxTensor causal_mask(GraphWriter& w, const OnnxTensor& query, const OnnxTensor& key) {
  const int64_t rows = query.size(-2), columns = key.size(-2);
  if (rows >= 0 && columns >= 0) return w.constant(at::ones({rows, columns}, at::kBool).tril());
  const OnnxTensor zero = w.scalar(0, at::kLong), one = w.scalar(1, at::kLong);
  const OnnxTensor i = w.range(zero, w.squeeze(w.size_of(query, -2), {0}), one);
  const OnnxTensor j = w.range(zero, w.squeeze(w.size_of(key, -2), {0}), one);
  return w.logical_not(w.compare("Greater", w.unsqueeze(j, {0}), w.unsqueeze(i, {1})));
}

/// 1 / sqrt(features)
OnnxTensor default_scale(Call& c, const OnnxTensor& query) {
  const int64_t features = query.size(-1);
  if (features < 0) c.unsupported("the last dimension of the query is not fixed");
  return c.w.scalar_like(1.0 / std::sqrt(static_cast<double>(features)), query);
}

/// A bool mask is true where attention is allowed.
NodeResult scaled_dot_product_attention(Call& c) {
  GraphWriter& w = c.w;
  const OnnxTensor query = c.tensor("query"), key = c.tensor("key"), value = c.tensor("value");
  const OnnxTensor scale =
      c.is_none("scale") ? default_scale(c, query) : c.scalar(c.val("scale"), query.dtype);
  OnnxTensor scores = w.mul(w.matmul(query, w.swap(key, -2, -1)), scale);
  if (c.flag("is_causal")) {
    scores = keep_where(w, causal_mask(w, query, key), scores);
  } else if (!c.is_none("attn_mask")) {
    const OnnxTensor mask = c.tensor("attn_mask");
    scores = mask.dtype == at::kBool ? keep_where(w, mask, scores) : w.add(scores, mask);
  }
  return w.matmul(w.softmax("Softmax", scores, -1), value);
}

/// torch.nn.MultiheadAttention, step by step. Sequences are [length, batch, features] inside.
class MultiHead {
 public:
  explicit MultiHead(Call& c)
      : c_(c), w_(c.w), heads_(c.integer("num_heads")), embed_(c.integer("embed_dim")) {}

  NodeResult convert() {
    std::array<OnnxTensor, 3> projected = project();
    auto& [q, k, v] = projected;
    if (!c_.is_none("bias_k")) {
      k = append_bias(k, "bias_k");
      v = append_bias(v, "bias_v");
      ++added_;
    }
    // The graph may hold both key and value, so the batch is read from the query.
    batch_ = w_.size_of(q, 1);
    target_ = w_.size_of(q, 0);
    q = split_heads(q);
    k = c_.is_none("static_k") ? split_heads(k) : c_.tensor("static_k");
    v = c_.is_none("static_v") ? split_heads(v) : c_.tensor("static_v");
    if (c_.flag("add_zero_attn")) {
      k = w_.pad(k, {0, 0, 0, 0, 1, 0}, "constant");
      v = w_.pad(v, {0, 0, 0, 0, 1, 0}, "constant");
      ++added_;
    }
    q = w_.div(q, std::sqrt(static_cast<double>(embed_ / heads_)));
    OnnxTensor scores = w_.matmul(q, w_.swap(k, -2, -1));
    if (const OnnxTensor mask = merged_mask(scores); mask.present()) scores = w_.add(mask, scores);
    const OnnxTensor weights = w_.softmax("Softmax", scores, -1);
    const OnnxTensor out = output(w_.matmul(weights, v));
    if (!c_.flag("need_weights")) return NodeResult::sequence({out, NodeResult()});
    return NodeResult::sequence({out, attention_weights(weights, k)});
  }

 private:
  OnnxTensor sequence(const char* name) {
    OnnxTensor x = c_.tensor(name);
    batched_ = x.rank() == 3;
    batch_first_ = batched_ && c_.flag("batch_first");
    if (!batched_) x = w_.unsqueeze(x, {1});
    return batch_first_ ? w_.swap(x, 0, 1) : x;
  }

  /// Rows of the packed projection for query, key or value.
  OnnxTensor packed_part(const char* name, int64_t part) {
    if (c_.is_none(name)) return {};
    const OnnxTensor all = c_.tensor(name);
    if (all.constant.defined()) {
      const at::Tensor rows = all.constant.narrow(0, part * embed_, embed_);
      static constexpr const char* kNames[] = {"q", "k", "v"};
      return w_.constant(rows.contiguous(), all.name + "." + kNames[part]);
    }
    return w_.slice(all, 0, part * embed_, (part + 1) * embed_);
  }

  std::array<OnnxTensor, 3> project() {
    const bool separate = c_.flag("use_separate_proj_weight") || c_.is_none("in_proj_weight");
    static constexpr const char* kSequences[] = {"query", "key", "value"};
    static constexpr const char* kWeights[] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
    std::array<OnnxTensor, 3> projected;
    for (int64_t i = 0; i < 3; ++i) {
      const auto at = static_cast<size_t>(i);
      const OnnxTensor weight =
          separate ? c_.tensor(kWeights[at]) : packed_part("in_proj_weight", i);
      projected[at] = linear(c_, sequence(kSequences[at]), weight, packed_part("in_proj_bias", i));
    }
    return projected;
  }

  OnnxTensor append_bias(const OnnxTensor& x, const char* name) {
    const OnnxTensor repeats = w_.concat({w_.ints({1}), w_.size_of(x, 1), w_.ints({1})}, 0);
    const OnnxTensor row = w_.tile(c_.tensor(name), repeats);
    return w_.concat({x, row}, 0);
  }

  /// [length, batch, features] -> [batch * heads, length, features per head]
  OnnxTensor split_heads(const OnnxTensor& x) {
    const OnnxTensor shape = w_.concat({w_.size_of(x, 0), w_.ints({-1, embed_ / heads_})}, 0);
    OnnxTensor parts = w_.reshape(x, shape);
    parts.shape = Shape{x.size(0), x.size(1) < 0 ? -1 : x.size(1) * heads_, embed_ / heads_};
    return w_.swap(parts, 0, 1);
  }

  OnnxTensor additive(const OnnxTensor& mask, const OnnxTensor& like) {
    const bool bools = mask.dtype == at::kBool || mask.dtype == at::kByte;
    if (!bools) return w_.cast(mask, like.dtype);
    return w_.where(w_.cast(mask, at::kBool), w_.scalar_like(kMinusInfinity, like),
                    w_.scalar_like(0, like));
  }

  /// Extends a mask to the added source positions (bias_k, zero_attn), which are never masked.
  OnnxTensor extended(const OnnxTensor& mask) {
    if (added_ == 0) return mask;
    std::vector<int64_t> pads(static_cast<size_t>(2 * mask.rank()), 0);
    pads.back() = added_;
    return w_.pad(mask, pads, "constant");
  }

  OnnxTensor merged_mask(const OnnxTensor& scores) {
    OnnxTensor merged;
    if (!c_.is_none("attn_mask")) {
      merged = extended(additive(c_.tensor("attn_mask"), scores));
      if (merged.rank() == 2) merged = w_.unsqueeze(merged, {0});
    }
    if (c_.is_none("key_padding_mask")) return merged;
    OnnxTensor padding = extended(additive(c_.tensor("key_padding_mask"), scores));
    if (!batched_) padding = w_.unsqueeze(padding, {0});
    // [batch, source] -> [batch * heads, 1, source]
    const OnnxTensor repeats = w_.ints({1, heads_, 1});
    OnnxTensor rows = w_.tile(w_.unsqueeze(padding, {1}), repeats);
    const int64_t source = padding.size(1);
    rows = source >= 0 ? w_.reshape(rows, Shape{-1, 1, source})
                       : w_.reshape(rows, w_.concat({w_.ints({-1, 1}), w_.size_of(padding, 1)}, 0));
    return merged.present() ? w_.add(merged, rows) : rows;
  }

  /// [batch * heads, target, features per head] -> the layout of the query
  OnnxTensor output(const OnnxTensor& heads) {
    const OnnxTensor joined = w_.reshape(w_.swap(heads, 0, 1), Shape{-1, embed_});
    OnnxTensor out = linear(c_, joined, c_.tensor("out_proj_weight"), c_.optional("out_proj_bias"));
    const int64_t features = out.size(1);
    out = w_.reshape(out, w_.concat({target_, batch_, w_.ints({features})}, 0));
    out.shape = Shape{fixed(target_), fixed(batch_), features};
    if (batch_first_) out = w_.swap(out, 0, 1);
    return batched_ ? out : w_.squeeze(out, {1});
  }

  NodeResult attention_weights(const OnnxTensor& weights, const OnnxTensor& key) {
    const OnnxTensor shape = w_.concat({batch_, w_.ints({heads_}), target_, w_.size_of(key, 1)}, 0);
    OnnxTensor split = w_.reshape(weights, shape);
    split.shape = Shape{fixed(batch_), heads_, fixed(target_), key.size(1)};
    if (c_.flag("average_attn_weights")) split = w_.reduce("ReduceMean", split, {1}, false);
    return batched_ ? split : w_.squeeze(split, {0});
  }

  static int64_t fixed(const OnnxTensor& size) {
    return size.constant.defined() ? size.constant.item<int64_t>() : int64_t{-1};
  }

  Call& c_;
  GraphWriter& w_;
  int64_t heads_, embed_, added_ = 0;
  bool batched_ = true, batch_first_ = false;
  OnnxTensor batch_, target_;
};

}  // namespace

void add_attention_converters(Converters& table) {
  table.add("scaled_dot_product_attention", scaled_dot_product_attention);
  table.add("multi_head_attention", [](Call& c) { return MultiHead(c).convert(); });
}

}  // namespace sparsebit::exports

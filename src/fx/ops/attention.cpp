#include "fx/ops/families.h"
#include "fx/ops/module_state.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <limits>

namespace sparsebit::fx {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

using MaybeTensor = c10::optional<at::Tensor>;

/// torch 2: a bool mask is true where attention is allowed, the opposite of MultiheadAttention.
Value scaled_dot_product_attention(const Args& a) {
  const at::Tensor query = a.tensor("query"), key = a.tensor("key"), value = a.tensor("value");
  const MaybeTensor mask = a.optional_tensor("attn_mask");
  const bool causal = a.flag("is_causal");
  SPARSEBIT_CHECK(!causal || !mask, InvalidArgument,
                  "attn_mask and is_causal=True exclude each other");
  const double dropout = a.number("dropout_p");
  const double scale =
      a.optional_number("scale").value_or(1.0 / std::sqrt(static_cast<double>(query.size(-1))));
  at::Tensor scores = at::matmul(query, key.transpose(-2, -1)) * scale;
  if (causal) {
    const at::Tensor allowed =
        at::ones({query.size(-2), key.size(-2)}, query.options().dtype(at::kBool)).tril();
    scores = scores.masked_fill(allowed.logical_not(), kMinusInfinity);
  } else if (mask && mask->scalar_type() == at::kBool) {
    scores = scores.masked_fill(mask->logical_not(), kMinusInfinity);
  } else if (mask) {
    scores = scores + *mask;
  }
  const at::Tensor weights = at::dropout(at::softmax(scores, -1), dropout, /*train=*/dropout > 0.0);
  return at::matmul(weights, value);
}

/// Inputs of multi-head attention as [length, batch, features], whatever layout they came in.
struct Sequences {
  at::Tensor query, key, value;
  bool batched = true, batch_first = false;
  bool key_is_value = false, query_is_key = false;
  int64_t batch = 0, target_length = 0;
};

Sequences read_sequences(const Args& a) {
  Sequences s{a.tensor("query"), a.tensor("key"), a.tensor("value")};
  s.key_is_value = s.key.is_same(s.value);
  s.query_is_key = s.query.is_same(s.key);
  s.batched = s.query.dim() == 3;
  s.batch_first = s.batched && a.flag("batch_first");
  SPARSEBIT_CHECK(s.batched || s.query.dim() == 2, InvalidArgument,
                  "query must be 2-D (unbatched) or 3-D (batched), got ", s.query.dim(), "-D");
  const int64_t embed = a.integer("embed_dim"), heads = a.integer("num_heads");
  SPARSEBIT_CHECK(s.query.size(-1) == embed, InvalidArgument, "query must have embed_dim = ", embed,
                  " features, got ", s.query.size(-1));
  SPARSEBIT_CHECK(heads > 0 && embed % heads == 0, InvalidArgument,
                  "num_heads must divide embed_dim, got ", heads, " and ", embed);
  for (at::Tensor* t : {&s.query, &s.key, &s.value}) {
    SPARSEBIT_CHECK(t->dim() == a.tensor("query").dim(), InvalidArgument,
                    "query, key and value must have the same rank, got ", a.tensor("query").dim(),
                    " and ", t->dim());
    if (!s.batched) *t = t->unsqueeze(1);
    if (s.batch_first) *t = t->transpose(0, 1);
  }
  SPARSEBIT_CHECK(s.key.sizes().slice(0, 2) == s.value.sizes().slice(0, 2), InvalidArgument,
                  "key and value must have the same length and batch, got ", s.key.sizes(), " and ",
                  s.value.sizes());
  s.target_length = s.query.size(0);
  s.batch = s.query.size(1);
  return s;
}

using Projected = std::array<at::Tensor, 3>;

/// The packed projection, with one product for inputs that are the same tensor.
Projected project_packed(const Args& a, const Sequences& s) {
  const at::Tensor weight = a.tensor("in_proj_weight");
  const MaybeTensor bias = a.optional_tensor("in_proj_bias");
  const int64_t embed = s.query.size(-1);
  const auto project = [&](const at::Tensor& x, int64_t first, int64_t count) {
    MaybeTensor part;
    if (bias) part = bias->narrow(0, first * embed, count * embed);
    return at::linear(x, weight.narrow(0, first * embed, count * embed), part).chunk(count, -1);
  };
  if (s.key_is_value && s.query_is_key) {
    const auto all = project(s.query, 0, 3);
    return {all[0], all[1], all[2]};
  }
  if (s.key_is_value) {
    const auto memory = project(s.key, 1, 2);
    return {project(s.query, 0, 1)[0], memory[0], memory[1]};
  }
  return {project(s.query, 0, 1)[0], project(s.key, 1, 1)[0], project(s.value, 2, 1)[0]};
}

/// Query, key and value after the input projection.
Projected project(const Args& a, const Sequences& s) {
  if (!a.flag("use_separate_proj_weight") && !a.is_none("in_proj_weight"))
    return project_packed(a, s);
  std::array<MaybeTensor, 3> bias;
  if (!a.is_none("in_proj_bias")) {
    const std::vector<at::Tensor> parts = a.tensor("in_proj_bias").chunk(3);
    std::copy(parts.begin(), parts.end(), bias.begin());
  }
  return {at::linear(s.query, a.tensor("q_proj_weight"), bias[0]),
          at::linear(s.key, a.tensor("k_proj_weight"), bias[1]),
          at::linear(s.value, a.tensor("v_proj_weight"), bias[2])};
}

/// The two masks of a call; true or -inf forbids attention.
struct Masks {
  MaybeTensor attention;  ///< [1 or batch * heads, target, source]
  MaybeTensor padding;    ///< [batch, source]

  /// `bias_k` and add_zero_attn add a source position that every target may attend to.
  void extend() {
    if (attention) attention = at::constant_pad_nd(*attention, {0, 1});
    if (padding) padding = at::constant_pad_nd(*padding, {0, 1});
  }
};

MaybeTensor read_mask(const Args& a, const char* name) {
  MaybeTensor mask = a.optional_tensor(name);
  if (!mask) return mask;
  if (mask->scalar_type() == at::kByte) mask = mask->to(at::kBool);
  SPARSEBIT_CHECK(mask->scalar_type() == at::kBool || mask->is_floating_point(), InvalidArgument,
                  name, " must be bool or floating, got ", dtype_name(mask->scalar_type()));
  return mask;
}

Masks read_masks(const Args& a, const Sequences& s) {
  Masks masks{read_mask(a, "attn_mask"), read_mask(a, "key_padding_mask")};
  const int64_t source = s.key.size(0), heads = a.integer("num_heads");
  if (masks.attention && masks.attention->dim() == 2)
    masks.attention = masks.attention->unsqueeze(0);
  if (masks.attention) {
    const at::IntArrayRef shape = masks.attention->sizes();
    SPARSEBIT_CHECK(shape.size() == 3 && (shape[0] == 1 || shape[0] == s.batch * heads) &&
                        shape[1] == s.target_length && shape[2] == source,
                    InvalidArgument, "attn_mask must have shape [", s.target_length, ", ", source,
                    "] or [", s.batch * heads, ", ", s.target_length, ", ", source, "], got ",
                    a.tensor("attn_mask").sizes());
  }
  if (masks.padding && !s.batched) masks.padding = masks.padding->unsqueeze(0);
  SPARSEBIT_CHECK(!masks.padding || masks.padding->sizes() == at::IntArrayRef({s.batch, source}),
                  InvalidArgument, "key_padding_mask must have shape [", s.batch, ", ", source,
                  "], got ", a.tensor("key_padding_mask").sizes());
  return masks;
}

at::Tensor as_additive(const at::Tensor& mask, const at::Tensor& like) {
  if (mask.scalar_type() != at::kBool) return mask;
  return at::zeros(mask.sizes(), like.options()).masked_fill(mask, kMinusInfinity);
}

/// Both masks combined into one tensor to add to the scores.
MaybeTensor merge(const Masks& masks, int64_t heads, const at::Tensor& like) {
  MaybeTensor merged;
  if (masks.attention) merged = as_additive(*masks.attention, like);
  if (masks.padding) {
    const int64_t batch = masks.padding->size(0), source = masks.padding->size(1);
    const at::Tensor padding = as_additive(*masks.padding, like)
                                   .view({batch, 1, 1, source})
                                   .expand({-1, heads, -1, -1})
                                   .reshape({batch * heads, 1, source});
    merged = merged ? *merged + padding : padding;
  }
  return merged;
}

/// [length, batch, features] -> [batch * heads, length, features per head]
at::Tensor split_heads(const at::Tensor& x, int64_t heads) {
  return x.contiguous().view({x.size(0), x.size(1) * heads, x.size(2) / heads}).transpose(0, 1);
}

Value multi_head_attention(const Args& a) {
  const Sequences s = read_sequences(a);
  const int64_t heads = a.integer("num_heads"), embed = a.integer("embed_dim");
  Masks masks = read_masks(a, s);
  auto [q, k, v] = project(a, s);
  SPARSEBIT_CHECK(a.is_none("bias_k") == a.is_none("bias_v"), InvalidArgument,
                  "bias_k and bias_v must be given together");
  if (!a.is_none("bias_k")) {
    k = at::cat({k, a.tensor("bias_k").repeat({1, s.batch, 1})});
    v = at::cat({v, a.tensor("bias_v").repeat({1, s.batch, 1})});
    masks.extend();
  }
  q = split_heads(q, heads);
  k = a.is_none("static_k") ? split_heads(k, heads) : a.tensor("static_k");
  v = a.is_none("static_v") ? split_heads(v, heads) : a.tensor("static_v");
  if (a.flag("add_zero_attn")) {
    k = at::constant_pad_nd(k, {0, 0, 0, 1});
    v = at::constant_pad_nd(v, {0, 0, 0, 1});
    masks.extend();
  }
  q = q / std::sqrt(static_cast<double>(q.size(-1)));
  const MaybeTensor mask = merge(masks, heads, q);
  const at::Tensor transposed = k.transpose(-2, -1);
  at::Tensor weights = mask ? at::baddbmm(*mask, q, transposed) : at::bmm(q, transposed);
  weights = at::dropout(at::softmax(weights, -1), a.number("dropout"), a.flag("training"));

  at::Tensor out = at::bmm(weights, v).transpose(0, 1).contiguous();
  out = at::linear(out.view({s.target_length * s.batch, embed}), a.tensor("out_proj_weight"),
                   a.optional_tensor("out_proj_bias"));
  out = out.view({s.target_length, s.batch, out.size(1)});
  if (s.batch_first) out = out.transpose(0, 1);
  if (!s.batched) out = out.squeeze(1);
  if (!a.flag("need_weights")) return Tuple{out, None{}};
  weights = weights.view({s.batch, heads, s.target_length, k.size(1)});
  if (a.flag("average_attn_weights")) weights = weights.sum(1) / heads;
  return Tuple{out, s.batched ? weights : weights.squeeze(0)};
}

at::Tensor xavier_uniform(int64_t out, int64_t in, const MaybeGenerator& generator) {
  const double deviation = std::sqrt(2.0 / static_cast<double>(in + out));
  return uniform_parameter({out, in}, std::sqrt(3.0) * deviation, generator);
}

/// Of shape [1, 1, embed]: fan-in and fan-out as torch counts them for three axes.
at::Tensor xavier_normal_row(int64_t embed, const MaybeGenerator& generator) {
  const double deviation = std::sqrt(2.0 / static_cast<double>(embed + embed));
  return at::empty({1, 1, embed}).normal_(0, deviation, generator).requires_grad_();
}

ModuleState new_state(const Args& a, const MaybeGenerator& generator) {
  const int64_t embed = a.integer("embed_dim"), heads = a.integer("num_heads");
  SPARSEBIT_CHECK(heads > 0 && embed % heads == 0, InvalidArgument,
                  "num_heads must divide embed_dim, got ", heads, " and ", embed);
  const int64_t key = a.optional_integer("kdim").value_or(embed);
  const int64_t value = a.optional_integer("vdim").value_or(embed);
  const bool bias = a.flag("bias"), bias_kv = a.flag("add_bias_kv");
  // In torch's order of drawing: the output projection comes first.
  TensorList out =
      weight_and_bias({embed, embed}, bias ? std::optional(embed) : std::nullopt, generator);
  at::Tensor packed, q, k, v, bias_k, bias_v;
  if (key == embed && value == embed) {
    packed = xavier_uniform(3 * embed, embed, generator);
  } else {
    q = xavier_uniform(embed, embed, generator);
    k = xavier_uniform(embed, key, generator);
    v = xavier_uniform(embed, value, generator);
  }
  if (bias_kv) {
    bias_k = xavier_normal_row(embed, generator);
    bias_v = xavier_normal_row(embed, generator);
  }
  return {{{"in_proj_weight", packed},
           {"q_proj_weight", q},
           {"k_proj_weight", k},
           {"v_proj_weight", v},
           {"in_proj_bias", bias ? constant_parameter({3 * embed}, 0.0) : at::Tensor()},
           {"bias_k", bias_k},
           {"bias_v", bias_v},
           {"out_proj.weight", out[0].second},
           {"out_proj.bias", bias ? constant_parameter({embed}, 0.0) : at::Tensor()}},
          {}};
}

}  // namespace

void add_attention_operators(OperatorTable& table) {
  table.add(
      {.name = "scaled_dot_product_attention",
       .schema = "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None",
       .forms = {"torch.nn.functional.scaled_dot_product_attention"},
       .random = true,
       .growth = Growth::Product,
       .kernel = scaled_dot_product_attention});
  table.add(
      {.name = "multi_head_attention",
       .schema = "query, key, value, embed_dim|embed_dim_to_check, num_heads, in_proj_weight, "
                 "in_proj_bias, bias_k, bias_v, add_zero_attn, dropout|dropout_p, out_proj_weight, "
                 "out_proj_bias, training=True, key_padding_mask=None, need_weights=True, "
                 "attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None, "
                 "k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, "
                 "average_attn_weights=True, batch_first=False",
       .forms = {"torch.nn.functional.multi_head_attention_forward"},
       .modules = {{.type = "torch.nn.MultiheadAttention",
                    .constructor = "embed_dim, num_heads, dropout=0.0, bias=True, "
                                   "add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, "
                                   "batch_first=False",
                    .forward = "query, key, value, key_padding_mask=None, need_weights=True, "
                               "attn_mask=None, average_attn_weights=True",
                    .init = new_state,
                    .descriptive = {"bias", "add_bias_kv", "kdim", "vdim"}}},
       .random = true,
       .growth = Growth::Product,
       .kernel = multi_head_attention});
}

}  // namespace sparsebit::fx

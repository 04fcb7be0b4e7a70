// Attention, and the fused operators (fast path) that torch uses for it without gradients.

#include "frontends/torchscript/aten_rules.h"
#include "sparsebit/core/error.h"

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Kwargs;
using fx::Value;
using Result = std::optional<ScriptValues>;

bool is_true(const Value& value) { return value.is_bool() && value.get<bool>(); }

/// Grouped-query attention: several heads of the query share one head of key and value.
Value repeat_heads(GraphBuilder& b, const Value& x, const Value& query) {
  const Value heads = b.method("size", {query, -3}), own = b.method("size", {x, -3});
  const Value times = b.function("operator.floordiv", {heads, own});
  return b.function("torch.repeat_interleave", {x, times}, {{"dim", -3}});
}

Result scaled_dot_product_attention(GraphBuilder& b, const AtenCall& call) {
  const Value query = call["query"];
  Value key = call["key"], value = call["value"];
  if (is_true(call["enable_gqa"])) {
    key = repeat_heads(b, key, query);
    value = repeat_heads(b, value, query);
  }
  Kwargs kwargs;
  if (!call["attn_mask"].is_none()) kwargs.emplace_back("attn_mask", call["attn_mask"]);
  const Value dropout = call["dropout_p"];
  if (dropout.is_number() && dropout.to_double() != 0) kwargs.emplace_back("dropout_p", dropout);
  if (is_true(call["is_causal"])) kwargs.emplace_back("is_causal", true);
  if (!call["scale"].is_none()) kwargs.emplace_back("scale", call["scale"]);
  const Value result = b.function("torch.nn.functional.scaled_dot_product_attention",
                                  {query, key, value}, std::move(kwargs));
  ScriptValues out(call.outputs);  // the second is only for the gradient
  out[0] = result;
  return out;
}

/// Masks of the fused operators: true means masked, and mask_type states the axes of the mask.
Kwargs mask_arguments(GraphBuilder& b, const AtenCall& call) {
  const Value mask = call["mask"], type = call["mask_type"];
  if (mask.is_none()) return {};
  SPARSEBIT_CHECK(type.is_int() && type.to_int() >= 0 && type.to_int() <= 2, Unsupported, call.name,
                  " has a mask_type that is not supported, expected 0, 1 or 2");
  if (type.to_int() == 0) return {{"attn_mask", mask}};         // [target, source]
  if (type.to_int() == 1) return {{"key_padding_mask", mask}};  // [batch, source]
  // [batch, heads, target, source]
  return {{"attn_mask", b.function("torch.flatten", {mask, 0, 1})}};
}

Value multi_head_attention(GraphBuilder& b, const AtenCall& call, const std::vector<Value>& qkv,
                           const Value& heads, const Kwargs& more) {
  Kwargs kwargs = {{"training", false}};
  kwargs.insert(kwargs.end(), more.begin(), more.end());
  for (auto& mask : mask_arguments(b, call)) kwargs.push_back(std::move(mask));
  kwargs.emplace_back("batch_first", true);
  return b.function(
      "torch.nn.functional.multi_head_attention_forward",
      {qkv[0], qkv[1], qkv[2], call["embed_dim"], heads, call["qkv_weight"], call["qkv_bias"],
       Value(), Value(), false, 0.0, call["proj_weight"], call["proj_bias"]},
      std::move(kwargs));
}

Result native_attention(GraphBuilder& b, const AtenCall& call) {
  const Value both =
      multi_head_attention(b, call, {call["query"], call["key"], call["value"]}, call["num_head"],
                           {{"need_weights", call["need_weights"]},
                            {"average_attn_weights", call["average_attn_weights"]}});
  return ScriptValues{b.getitem(both, 0), b.getitem(both, 1)};
}

/// torch.nn.TransformerEncoderLayer as one operator.
class EncoderLayer {
 public:
  EncoderLayer(GraphBuilder& b, const AtenCall& call) : b_(b), call_(call) {}

  Value write() {
    const bool norm_first = is_true(call_["norm_first"]);
    const Value source = call_["src"];
    Value x = add(attend(norm_first ? norm(source, "1") : source), source);
    if (!norm_first) x = norm(x, "1");
    x = add(feed_forward(norm_first ? norm(x, "2") : x), x);
    return norm_first ? x : norm(x, "2");
  }

 private:
  Value numbered(const std::string& name, const char* number) const {
    return call_[name + "_" + number];
  }

  Value add(const Value& x, const Value& y) { return b_.function("torch.add", {x, y}); }

  Value norm(const Value& x, const char* number) {
    return b_.function("torch.nn.functional.layer_norm",
                       {x, fx::List({call_["embed_dim"]}), numbered("norm_weight", number),
                        numbered("norm_bias", number), call_["eps"]});
  }

  Value attend(const Value& x) {
    return b_.getitem(
        multi_head_attention(b_, call_, {x, x, x}, call_["num_heads"], {{"need_weights", false}}),
        0);
  }

  Value linear(const Value& x, const char* number) {
    return b_.function("torch.nn.functional.linear",
                       {x, numbered("ffn_weight", number), numbered("ffn_bias", number)});
  }

  Value feed_forward(const Value& x) {
    const bool gelu = is_true(call_["use_gelu"]);
    const char* activation = gelu ? "torch.nn.functional.gelu" : "torch.nn.functional.relu";
    return linear(b_.function(activation, {linear(x, "1")}), "2");
  }

  GraphBuilder& b_;
  const AtenCall& call_;
};

Result encoder_layer(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{EncoderLayer(b, call).write()};
}

}  // namespace

const AtenRules& attention_rules() {
  static const AtenRules all = {
      {"scaled_dot_product_attention", scaled_dot_product_attention},
      {"_scaled_dot_product_attention_math", scaled_dot_product_attention},
      {"_scaled_dot_product_flash_attention_for_cpu", scaled_dot_product_attention},
      {"_native_multi_head_attention", native_attention},
      {"_transformer_encoder_layer_fwd", encoder_layer},
  };
  return all;
}

}  // namespace sparsebit::frontends::torchscript

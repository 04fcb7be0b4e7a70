#include "quant/lowering/split_attention.h"

#include "sparsebit/fx/dead_code.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

namespace sparsebit::quant {
namespace {

using fx::Node;
using fx::Value;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

std::optional<fx::TensorInfo> info_of(const Value& value) {
  return value.is_node() ? value.node().tensor_info() : std::nullopt;
}

bool is_set(const fx::Args& args, const char* name) {
  return args.has(name) && args[name].is_bool() && args[name].get<bool>();
}

/// Creates the nodes that replace an attention, at the insertion point of the graph.
class Steps {
 public:
  Steps(fx::Graph& graph, const Node& whole) : graph_(graph), whole_(whole) {}

  Value call(const char* target, std::vector<Value> args, fx::Kwargs kwargs = {}) {
    return placed(graph_.call_function(target, std::move(args), std::move(kwargs)));
  }
  Value size(const Value& x, int64_t dim) { return placed(graph_.call_method("size", {x, dim})); }
  Value layer(const std::string& path, const Value& x) {
    return placed(graph_.call_module(path, {x}));
  }

  /// Sets the scores of masked positions to -inf.
  Value forbid(const Value& scores, const Value& forbidden) {
    return call("torch.masked_fill", {scores, forbidden, kMinusInfinity});
  }

  /// The causal mask: positions after the query's own.
  Value later_positions(const Value& query, const Value& key) {
    const Value own = call("torch.arange", {size(query, -2)});
    return call("torch.gt",
                {call("torch.arange", {size(key, -2)}), call("torch.unsqueeze", {own, 1})});
  }

  Value scores(const Value& query, const Value& key, double scale) {
    const Value product = call("torch.matmul", {query, call("torch.transpose", {key, -2, -1})});
    return call("torch.mul", {product, scale});
  }

  Value attend(const Value& scores, const Value& value) {
    return call("torch.matmul", {call("torch.softmax", {scores, -1}), value});
  }

 private:
  Value placed(Node& node) {
    node.inherit_origin(whole_);
    return node;
  }

  fx::Graph& graph_;
  const Node& whole_;
};

/// The new output takes the name of the old node, so that settings by name still apply.
void replace(fx::Graph& graph, Node& old, const Value& result) {
  old.replace_all_uses_with(result.node());
  result.node().swap_name(old);
  graph.erase(old);
}

bool split_product(fx::GraphModule& module, Node& node, const fx::Args& args) {
  const Value query = args["query"], key = args["key"], value = args["value"];
  const Value mask = args["attn_mask"], dropout = args["dropout_p"], given = args["scale"];
  const auto shape = info_of(query), mask_info = info_of(mask);
  const bool plain = dropout.is_number() && dropout.to_double() == 0;
  const bool known = given.is_number() || (given.is_none() && shape && shape->shape.back() > 0);
  if (!plain || !known || !key.is_node() || !value.is_node()) return false;
  if (!mask.is_none() && !mask_info) return false;
  const double scale = given.is_number() ? given.to_double()
                                         : 1 / std::sqrt(static_cast<double>(shape->shape.back()));
  const fx::Graph::InsertPoint here = module.graph().inserting_before(node);
  Steps steps(module.graph(), node);
  Value scores = steps.scores(query, key, scale);
  if (is_set(args, "is_causal"))
    scores = steps.forbid(scores, steps.later_positions(query, key));
  else if (!mask.is_none() && mask_info->dtype == at::kBool)
    scores = steps.forbid(scores, steps.call("torch.logical_not", {mask}));
  else if (!mask.is_none())
    scores = steps.call("torch.add", {scores, mask});
  replace(module.graph(), node, steps.attend(scores, value));
  return true;
}

/// MultiheadAttention, as a module or as a function of constant tensors.
class MultiHead {
 public:
  MultiHead(fx::GraphModule& module, Node& node, const fx::Args& args)
      : module_(module), node_(node), args_(args), steps_(module.graph(), node) {}

  bool split() {
    result_ = only_result();
    weight_ = tensor("in_proj_weight");
    const auto info = info_of(args_["query"]);
    const bool batched = info && info->shape.size() == 3;
    const bool fixed = args_["num_heads"].is_int() && args_["embed_dim"].is_int();
    if (!result_ || !weight_ || !tensor("out_proj_weight") || !batched || !fixed || !is_plain())
      return false;
    base_ = base_path();
    if (base_.empty() || !masks_are_known()) return false;
    make_layers();
    const fx::Graph::InsertPoint here = module_.graph().inserting_before(*result_);
    write();
    return true;
  }

 private:
  const at::Tensor* tensor(const char* name) const {
    const Value& value = args_[name];
    if (value.is_tensor()) return &value.tensor();
    const bool read = value.is_node() && value.node().op() == fx::Opcode::GetAttr;
    return read ? module_.find_tensor(value.node().target()) : nullptr;
  }

  /// The getitem of the first output; null if the second output, the weights, is used.
  Node* only_result() const {
    Node* first = nullptr;
    for (Node* user : node_.users()) {
      const bool item = user->target() == "operator.getitem" && user->args().at(1).is_int();
      if (!item) return nullptr;
      if (user->args()[1].to_int() == 0 && !first)
        first = user;
      else if (!user->users().empty())
        return nullptr;
    }
    return first;
  }

  bool is_plain() const {
    const bool added = is_set(args_, "add_zero_attn") || !args_["bias_k"].is_none() ||
                       !args_["static_k"].is_none() || !args_["static_v"].is_none();
    return !added && !is_set(args_, "use_separate_proj_weight") && !is_set(args_, "training");
  }

  bool masks_are_known() const {
    for (const char* name : {"attn_mask", "key_padding_mask"}) {
      const Value& mask = args_[name];
      const auto info = info_of(mask);
      const size_t most = std::string_view(name) == "attn_mask" ? 3 : 2;
      if (!mask.is_none() && (!info || info->shape.size() < 2 || info->shape.size() > most))
        return false;
    }
    return true;
  }

  /// The path of the module for the new layers: the attention module, or the owner of the tensors.
  /// Empty if other nodes call it.
  std::string base_path() const {
    const bool is_module = node_.op() == fx::Opcode::CallModule;
    const std::string path =
        is_module ? node_.target() : fx::split_path(args_["in_proj_weight"].node().target()).first;
    int calls = 0;
    for (const Node& other : module_.graph().nodes())
      calls += other.op() == fx::Opcode::CallModule && other.target() == path;
    return calls == (is_module ? 1 : 0) ? path : "";
  }

  fx::ModulePtr linear(const at::Tensor& weight, const at::Tensor& bias) const {
    return fx::make_module("torch.nn.Linear", std::vector<Value>{weight.size(1), weight.size(0)},
                           {{"bias", bias.defined()}},
                           {.parameters = {{"weight", weight}, {"bias", bias}}, .buffers = {}},
                           fx::Grad::AsGiven);
  }

  void make_layers() {
    const at::Tensor* bias = tensor("in_proj_bias");
    const std::vector<at::Tensor> weights = weight_->chunk(3);
    const std::vector<at::Tensor> biases = bias ? bias->chunk(3) : std::vector<at::Tensor>(3);
    const at::Tensor* out_bias = tensor("out_proj_bias");
    const fx::ModulePtr out =
        linear(*tensor("out_proj_weight"), out_bias ? *out_bias : at::Tensor());
    if (node_.op() == fx::Opcode::CallModule)
      module_.set_module(base_, std::make_shared<fx::Module>("Attention", fx::Schema()));
    for (size_t i = 0; i < 3; ++i) {
      const at::Tensor part = biases[i].defined() ? biases[i].detach().clone() : at::Tensor();
      module_.set_module(base_ + "." + kNames[i], linear(weights[i].detach().clone(), part));
    }
    module_.set_module(base_ + ".out_proj", out);
  }

  /// [batch, length, embedding] -> [batch, heads, length, head size]
  Value heads_of(const char* input, const char* name) {
    const int64_t heads = args_["num_heads"].to_int(), embed = args_["embed_dim"].to_int();
    Value x = args_[input];
    if (!is_set(args_, "batch_first")) x = steps_.call("torch.transpose", {x, 0, 1});
    x = steps_.layer(base_ + "." + name, x);
    const Value shape = fx::List({-1, steps_.size(x, 1), heads, embed / heads});
    return steps_.call("torch.transpose", {steps_.call("torch.reshape", {x, shape}), 1, 2});
  }

  Value masked(Value scores, const char* name) {
    Value mask = args_[name];
    if (mask.is_none()) return scores;
    if (std::string_view(name) == "key_padding_mask")  // [batch, source] -> [batch, 1, 1, source]
      mask = steps_.call("torch.unsqueeze", {steps_.call("torch.unsqueeze", {mask, 1}), 1});
    else if (info_of(mask)->shape.size() == 3 && info_of(mask)->shape[0] != 1)  // one per head
      mask = steps_.call("torch.unflatten", {mask, 0, fx::List({-1, args_["num_heads"]})});
    const bool flags = at::isIntegralType(info_of(args_[name])->dtype, /*includeBool=*/true);
    return flags ? steps_.forbid(scores, mask) : steps_.call("torch.add", {scores, mask});
  }

  void write() {
    const Value q = heads_of("query", kNames[0]), k = heads_of("key", kNames[1]),
                v = heads_of("value", kNames[2]);
    const auto size = args_["embed_dim"].to_int() / args_["num_heads"].to_int();
    Value scores = steps_.scores(q, k, 1 / std::sqrt(static_cast<double>(size)));
    scores = masked(masked(scores, "attn_mask"), "key_padding_mask");
    Value x = steps_.call("torch.transpose", {steps_.attend(scores, v), 1, 2});
    x = steps_.layer(base_ + ".out_proj", steps_.call("torch.flatten", {x, 2}));
    if (!is_set(args_, "batch_first")) x = steps_.call("torch.transpose", {x, 0, 1});
    replace(module_.graph(), *result_, x);
  }

  static constexpr const char* kNames[] = {"q_proj", "k_proj", "v_proj"};

  fx::GraphModule& module_;
  Node& node_;
  fx::Args args_;
  Steps steps_;
  Node* result_ = nullptr;
  const at::Tensor* weight_ = nullptr;
  std::string base_;
};

}  // namespace

bool split_attention(fx::GraphModule& module) {
  std::vector<Node*> found;
  for (Node& node : module.graph().nodes()) {
    const fx::Spelling* spelling = fx::find_spelling(node, module);
    const std::string name = spelling ? spelling->op->name : "";
    if (name == "scaled_dot_product_attention" || name == "multi_head_attention")
      found.push_back(&node);
  }
  bool changed = false;
  for (Node* node : found) {
    const fx::OperatorCall call = *fx::resolve(*node, module);
    const bool product = call.op->name == "scaled_dot_product_attention";
    changed |= product ? split_product(module, *node, call.args)
                       : MultiHead(module, *node, call.args).split();
  }
  if (changed) fx::eliminate_dead_code(module);
  return changed;
}

}  // namespace sparsebit::quant

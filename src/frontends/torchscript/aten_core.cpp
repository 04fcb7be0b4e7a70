// Operators of core ATen, which exported programs consist of after decomposition.

#include "frontends/torchscript/aten_rules.h"
#include "sparsebit/core/error.h"

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Kwargs;
using fx::Value;
using Result = std::optional<ScriptValues>;

/// The first of several results; the others are only for gradients.
ScriptValues first_of(const AtenCall& call, Value value) {
  ScriptValues out(call.outputs);
  out[0] = ScriptValue(std::move(value));
  return out;
}

Result layer_norm(GraphBuilder& b, const AtenCall& call) {
  return first_of(call, b.function("torch.nn.functional.layer_norm",
                                   {call["input"], call["normalized_shape"], call["weight"],
                                    call["bias"], call["eps"]}));
}

Result group_norm(GraphBuilder& b, const AtenCall& call) {
  return first_of(
      call, b.function("torch.nn.functional.group_norm",
                       {call["input"], call["group"], call["weight"], call["bias"], call["eps"]}));
}

Result softmax(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{b.function("torch." + call.name.substr(1), {call["self"], call["dim"]})};
}

/// Only supported for inference, where it does nothing.
Result dropout(GraphBuilder&, const AtenCall& call) {
  const Value training = call["train"];
  SPARSEBIT_CHECK(training.is_bool() && !training.get<bool>(), Unsupported,
                  "the program was exported in training mode: its dropout is active; call "
                  "model.eval() before torch.export.export");
  return first_of(call, call["input"]);
}

Result to_copy(GraphBuilder& b, const AtenCall& call) {
  if (call["dtype"].is_none()) return ScriptValues{b.function("torch.clone", {call["self"]})};
  return ScriptValues{b.method("to", {call["self"]}, {{"dtype", call["dtype"]}})};
}

Result view(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{b.function("torch.reshape", {call["self"], call["size"]})};
}

/// A copy in which a part is replaced by another tensor.
ScriptValues with_part(GraphBuilder& b, const AtenCall& call, const Value& part) {
  const Value copy = b.function("torch.clone", {call["self"]});
  const Value index = index_of_axis(call["dim"].to_int(), part);
  b.function("operator.setitem", {copy, index, call["src"]});
  return {copy};
}

Result slice_scatter(GraphBuilder& b, const AtenCall& call) {
  return with_part(b, call, fx::Slice(call["start"], call["end"], call["step"]));
}

Result select_scatter(GraphBuilder& b, const AtenCall& call) {
  return with_part(b, call, call["index"]);
}

/// The values of one tensor with the shape and type of another.
Result copy(GraphBuilder& b, const AtenCall& call) {
  const Value self = call["self"], src = call["src"];
  const auto info = [](const Value& value) {
    return value.is_node() ? value.node().tensor_info() : std::nullopt;
  };
  if (info(self) && info(src) && *info(self) == *info(src)) return ScriptValues{src};
  const Value result = b.function("torch.clone", {self});
  b.function("operator.setitem", {result, fx::Ellipsis(), src});
  return ScriptValues{result};
}

/// x[1:] - x[:-1] along an axis
Result diff(GraphBuilder& b, const AtenCall& call) {
  if (!call["n"].same_as(1) || !call["dim"].is_int()) return std::nullopt;
  std::vector<Value> parts;
  for (const char* name : {"prepend", "self", "append"}) {
    if (!call[name].is_none()) parts.push_back(call[name]);
  }
  const int64_t axis = call["dim"].to_int();
  const Value x =
      parts.size() == 1 ? parts[0] : b.function("torch.cat", {fx::List(std::move(parts)), axis});
  const Value later = b.getitem(x, index_of_axis(axis, fx::Slice(1, Value())));
  const Value earlier = b.getitem(x, index_of_axis(axis, fx::Slice(Value(), -1)));
  const Value self = call["self"];
  const bool truth =
      self.is_node() && self.node().tensor_info() && self.node().tensor_info()->dtype == at::kBool;
  return ScriptValues{b.function(truth ? "torch.ne" : "torch.sub", {later, earlier})};
}

/// g * v / |v|, the norm taken over all axes but one
Result weight_norm(GraphBuilder& b, const AtenCall& call) {
  const Value dim = call["dim"];
  const Value v = b.function("torch.movedim", {call["v"], dim, -1});
  const Value norms =
      b.function("torch.norm", {b.function("torch.flatten", {v, 0, -2})}, {{"p", 2}, {"dim", 0}});
  const Value factors = b.function("torch.div", {b.function("torch.flatten", {call["g"]}), norms});
  return first_of(call,
                  b.function("torch.movedim", {b.function("torch.mul", {v, factors}), -1, dim}));
}

/// The same operator under its public name.
Result renamed(GraphBuilder& b, const AtenCall& call) {
  static const std::map<std::string, std::string> names = {
      {"_adaptive_avg_pool2d", "adaptive_avg_pool2d"},
      {"_adaptive_avg_pool3d", "adaptive_avg_pool3d"},
      {"grid_sampler_2d", "grid_sampler"},
      {"grid_sampler_3d", "grid_sampler"},
      {"unsqueeze_copy", "unsqueeze"},
      {"permute_copy", "permute"},
      {"view_copy", "view"},
      {"_cdist_forward", "cdist"}};
  AtenCall other = call;
  other.name = names.at(call.name);
  return write_call(b, std::move(other));
}

}  // namespace

const AtenRules& core_rules() {
  static const AtenRules all = {
      {"native_layer_norm", layer_norm},
      {"native_group_norm", group_norm},
      {"_softmax", softmax},
      {"_log_softmax", softmax},
      {"native_dropout", dropout},
      {"_to_copy", to_copy},
      {"_unsafe_view", view},
      {"slice_scatter", slice_scatter},
      {"select_scatter", select_scatter},
      {"copy", copy},
      {"diff", diff},
      {"_weight_norm", weight_norm},
      {"_weight_norm_interface", weight_norm},
      {"_adaptive_avg_pool2d", renamed},
      {"_adaptive_avg_pool3d", renamed},
      {"grid_sampler_2d", renamed},
      {"grid_sampler_3d", renamed},
      {"unsqueeze_copy", renamed},
      {"permute_copy", renamed},
      {"view_copy", renamed},
      {"_cdist_forward", renamed},
  };
  return all;
}

}  // namespace sparsebit::frontends::torchscript

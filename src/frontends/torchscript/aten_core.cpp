// Operators of core ATen, which exported programs consist of after decomposition.

#include "frontends/torchscript/aten_rules.h"
#include "sparsebit/core/error.h"

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Kwargs;
using fx::Value;
using Result = std::optional<ScriptValues>;

/// The first of several results; those behind it are for gradients alone.
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

/// Only for inference, where it does nothing.
Result dropout(GraphBuilder&, const AtenCall& call) {
  const Value training = call["train"];
  SPARSEBIT_CHECK(training.is_bool() && !training.get<bool>(), Unsupported,
                  "the program was exported in training mode: its dropout drops values; call "
                  "model.eval() before torch.export.export");
  return first_of(call, call["input"]);
}

Result to_copy(GraphBuilder& b, const AtenCall& call) {
  if (call["dtype"].is_none()) return ScriptValues{b.function("torch.clone", {call["self"]})};
  return ScriptValues{b.method("to", {call["self"]}, {{"dtype", call["dtype"]}})};
}

Result view(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{b.method("view", {call["self"], call["size"]})};
}

/// The same operator under the name that users call.
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

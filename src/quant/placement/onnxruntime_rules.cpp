#include "sparsebit/quant/placement/runtime_rules.h"

#include <algorithm>

// From ONNX Runtime's sources, 1.30: onnxruntime/core/optimizer/qdq_transformer/selectors_actions/.
// qdq_selector_action_transformer.cc registers which operators are looked for between
// DequantizeLinear and QuantizeLinear, qdq_selectors.cc has the conditions, qdq_actions.cc what
// they become. All of it for the CPU provider. In every rule all results of an operator have to go
// to QuantizeLinear, none may be a result of the model, and types on both sides are the same.

namespace sparsebit::quant {
namespace {

/// ConvQDQRules: becomes QLinearConv. Its selector wants a bias of int32 behind DequantizeLinear.
void add_convolutions(Registry<RuntimeRule>& r) {
  for (const char* name : {"conv1d", "conv2d", "conv3d"}) r.add(name, {IntegerForm::Layer});
}

/// GemmQDQRules, MatMulQDQRules: QLinearMatMul and QGemm, or without QuantizeLinear behind them
/// MatMulIntegerToFloat and QGemm with a float result.
void add_products(Registry<RuntimeRule>& r) {
  r.add("linear", {.form = IntegerForm::Layer, .needs_integer_result = false});
  const auto product = [](std::vector<std::string> inputs) {
    return RuntimeRule{IntegerForm::Product, std::move(inputs), false};
  };
  r.add("matmul", product({"input", "other"}));
  r.add("bmm", product({"input", "mat2"}));
}

/// BinaryOpQDQRules and UnaryOpQDQRules: QLinearAdd, QLinearMul, QLinearAveragePool,
/// QLinearGlobalAveragePool, QLinearLeakyRelu, QLinearSigmoid.
void add_scaling(Registry<RuntimeRule>& r) {
  for (const char* name : {"add", "mul"}) r.add(name, {IntegerForm::Scaling, {"input", "other"}});
  for (const char* name : {"avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d",
                           "adaptive_avg_pool2d", "adaptive_avg_pool3d", "onnx.AveragePool",
                           "onnx.GlobalAveragePool", "leaky_relu", "sigmoid"})
    r.add(name, {IntegerForm::Scaling});
}

/// VariadicOpQDQRules: QLinearConcat, which copies where scales are the same.
void add_joining(Registry<RuntimeRule>& r) { r.add("cat", {IntegerForm::Joining, {"tensors"}}); }

/// DropQDQNodesRules and SplitQDQRules: the pairs around them vanish if their scales are the same.
void add_passing(Registry<RuntimeRule>& r) {
  for (const char* name :
       {"max_pool1d",  "max_pool2d",   "max_pool3d",     "onnx.MaxPool", "interpolate",
        "onnx.Resize", "flatten",      "reshape",        "view",         "permute",
        "transpose",   "squeeze",      "unsqueeze",      "expand",       "split",
        "chunk",       "onnx.Reshape", "onnx.Transpose", "onnx.Squeeze", "onnx.Unsqueeze",
        "onnx.Slice",  "onnx.Split",   "narrow",         "select"})
    r.add(name, {IntegerForm::Passing});
  // Nothing of these is written.
  for (const char* name : {"contiguous", "clone", "identity", "detach", "dropout"})
    r.add(name, {IntegerForm::Passing});
}

/// relu_quant_rewrite.cc and clip_quant_fusion: QuantizeLinear cuts off what they would.
void add_clipping(Registry<RuntimeRule>& r) {
  for (const char* name : {"relu", "relu6", "hardtanh", "clamp"})
    r.add(name, {IntegerForm::Clipping});
}

}  // namespace

const RuntimeRules& onnxruntime_rules() {
  static const RuntimeRules known = [] {
    RuntimeRules all{Registry<RuntimeRule>("rule of onnxruntime"),
                     Registry<std::string>("float operator of onnxruntime")};
    add_convolutions(all.rules);
    add_products(all.rules);
    add_scaling(all.rules);
    add_joining(all.rules);
    add_passing(all.rules);
    add_clipping(all.rules);
    for (const char* name : {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})
      all.floats.add(name, "ONNX Runtime has no integer kernel for ConvTranspose on CPUs");
    all.floats.add("softmax", "probabilities need finer steps than 8 bits have");
    all.floats.add("embedding", "rows are looked up, not computed");
    return all;
  }();
  return known;
}

std::string onnxruntime_refuses(const fx::OperatorCall& call) {
  const std::string& name = call.op->name;
  if (!onnxruntime_rules().rules.find(name)) {
    const std::string* reason = onnxruntime_rules().floats.find(name);
    return reason ? *reason : "ONNX Runtime has no integer kernel for '" + name + "'";
  }
  const auto is_one = [](const fx::Value& v) { return v.is_number() && v.to_double() == 1; };
  if (name == "add" && !is_one(call.args["alpha"])) return "it adds a multiple";
  if (name.starts_with("adaptive_avg_pool")) {
    const fx::Value& size = call.args["output_size"];
    const bool whole = size.is_sequence()
                           ? std::all_of(size.items().begin(), size.items().end(), is_one)
                           : is_one(size);
    if (!whole) return "only averages over whole planes have an integer kernel";
  }
  if (name.starts_with("max_pool") && call.args["return_indices"].to_bool())
    return "it gives indices as well";
  if (name == "interpolate" || name == "onnx.Resize") {
    const fx::Value& mode = call.args["mode"];
    if (mode.is_string() && mode.string().find("cubic") != std::string::npos)
      return "cubic resizing has no integer kernel";
  }
  return "";
}

}  // namespace sparsebit::quant

#include "export/export_case.h"

#include "support/ort.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/io/onnx_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

namespace sparsebit::exports::test {
namespace {

void flatten_into(const fx::Value& value, Tensors& out) {
  if (value.is_tensor()) {
    out.push_back(value.tensor());
  } else if (value.is_sequence()) {
    for (const fx::Value& item : value.items()) flatten_into(item, out);
  } else if (value.is_number()) {
    const at::ScalarType dtype = value.is_bool()  ? at::kBool
                                 : value.is_int() ? at::kLong
                                                  : at::kDouble;
    out.push_back(at::scalar_tensor(value.to_scalar(), dtype));
  }
}

/// How two results differ; empty if they agree.
std::string difference(const at::Tensor& ours, const at::Tensor& theirs, double tolerance,
                       bool values) {
  if (ours.sizes() != theirs.sizes())
    return c10::str("shape ", ours.sizes(), ", ONNX Runtime has ", theirs.sizes());
  if (ours.scalar_type() != theirs.scalar_type())
    return c10::str("type ", ours.scalar_type(), ", ONNX Runtime has ", theirs.scalar_type());
  if (!values) return "";
  const at::Tensor a = ours.to(at::kDouble), b = theirs.to(at::kDouble);
  if (at::allclose(a, b, tolerance, tolerance, /*equal_nan=*/true)) return "";
  const at::Tensor distance = (a - b).abs();
  return c10::str("differs by up to ", distance.max().item<double>(), "\nours:\n",
                  ours.reshape(-1).slice(0, 0, 24), "\nONNX Runtime:\n",
                  theirs.reshape(-1).slice(0, 0, 24));
}

}  // namespace

std::unique_ptr<fx::GraphModule> parse_module(const std::string& graph) {
  return std::make_unique<fx::GraphModule>(fx::parse_graph(graph), "Model");
}

std::string outline(const onnx::ModelProto& model) {
  std::string text;
  for (const onnx::NodeProto& node : model.graph().node()) {
    std::string outputs, inputs;
    for (const std::string& name : node.output()) outputs += (outputs.empty() ? "" : ", ") + name;
    for (const std::string& name : node.input())
      inputs += (inputs.empty() ? "" : ", ") + (name.empty() ? "-" : name);
    text += outputs + " = " + node.op_type() + "(" + inputs + ")\n";
  }
  return text;
}

Tensors run_reference(const fx::GraphModule& module, const std::vector<fx::Value>& inputs) {
  std::vector<fx::Value> copies;
  for (const fx::Value& input : inputs)
    copies.push_back(input.is_tensor() ? fx::Value(input.tensor().detach().clone()) : input);
  auto& runnable = const_cast<fx::GraphModule&>(module);  // running does not change it
  Tensors out;
  flatten_into(fx::Interpreter(runnable, fx::RunMode::Inference).run(std::move(copies)), out);
  return out;
}

void OrtQueue::add(const std::string& what, const onnx::ModelProto& model, const Tensors& inputs,
                   const Tensors& expected, double tolerance, Compare compare) {
  Entry entry{what,   folder_ / (std::to_string(entries_.size()) + ".onnx"), {}, {}, {}, tolerance,
              compare};
  io::save_onnx(model, entry.model);
  for (const auto& input : model.graph().input()) entry.input_names.push_back(input.name());
  for (const at::Tensor& t : inputs) entry.inputs.push_back(t.clone().contiguous());
  for (const at::Tensor& t : expected) entry.expected.push_back(t.clone().contiguous());
  entries_.push_back(std::move(entry));
}

size_t OrtQueue::run() {
  std::vector<sparsebit::test::OrtCase> cases;
  for (const Entry& entry : entries_) {
    sparsebit::test::OrtCase c{.model = entry.model, .inputs = {}};
    for (size_t i = 0; i < entry.input_names.size(); ++i)
      c.inputs.emplace(entry.input_names[i], entry.inputs.at(i));
    cases.push_back(std::move(c));
  }
  const std::vector<sparsebit::test::OrtResult> results = sparsebit::test::run_onnxruntime(cases);
  size_t agreed = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    std::string failure = results[i].error;
    if (failure.empty() && results[i].outputs.size() != entry.expected.size()) {
      failure =
          c10::str(entry.expected.size(), " results, ONNX Runtime has ", results[i].outputs.size());
    }
    for (size_t k = 0; failure.empty() && k < entry.expected.size(); ++k) {
      failure = difference(entry.expected[k], results[i].outputs[k], entry.tolerance,
                           entry.compare == Compare::Values);
    }
    if (failure.empty()) ++agreed;
    EXPECT_TRUE(failure.empty()) << entry.what << ": " << failure;
  }
  entries_.clear();
  return agreed;
}

}  // namespace sparsebit::exports::test

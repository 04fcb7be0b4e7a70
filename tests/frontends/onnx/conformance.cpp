#include "frontends/onnx/conformance.h"

#include "support/operator_facts.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

namespace sparsebit::test {
namespace {

namespace fs = std::filesystem;
using Outcome = ConformanceResult::Outcome;

constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

/// Cases whose stored result is one sample of a random variable.
const std::set<std::string> kRandom = {"test_bernoulli",
                                       "test_bernoulli_double",
                                       "test_bernoulli_double_expanded",
                                       "test_bernoulli_expanded",
                                       "test_bernoulli_seed",
                                       "test_bernoulli_seed_expanded",
                                       "test_training_dropout",
                                       "test_training_dropout_default",
                                       "test_training_dropout_default_mask",
                                       "test_training_dropout_mask"};

std::string one_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Why a graph cannot be run: the first operator that was carried unchanged. Empty if it can run.
std::string not_understood(const fx::GraphModule& module) {
  for (const fx::Node& node : module.graph().nodes()) {
    if (node.op() != fx::Opcode::CallFunction || fx::find_spelling(node, module)) continue;
    const fx::Value* reason = node.kwarg("_reason");
    const std::string name = node.target().substr(node.target().find('.') + 1);
    return reason ? name + ": " + reason->string() : "unsupported operator " + name;
  }
  return "";
}

/// Whether all inputs and outputs are tensors: the bytes of sequences and optionals may look like a
/// tensor.
bool has_tensors_only(const fs::path& model) {
  const onnx::ModelProto proto = io::load_onnx(model);
  const auto is_tensor = [](const onnx::ValueInfoProto& value) {
    return value.type().has_tensor_type();
  };
  const auto &inputs = proto.graph().input(), &outputs = proto.graph().output();
  return std::all_of(inputs.begin(), inputs.end(), is_tensor) &&
         std::all_of(outputs.begin(), outputs.end(), is_tensor);
}

at::Tensor read_tensor(const fs::path& path) {
  onnx::TensorProto proto;
  SPARSEBIT_CHECK(proto.ParseFromString(read_file(path)), Unsupported, "data that is not a tensor");
  io::ExternalData none;
  return io::take_tensor(proto, none);
}

std::vector<at::Tensor> read_tensors(const fs::path& folder, const std::string& prefix) {
  std::vector<at::Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = folder / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return tensors;
    tensors.push_back(read_tensor(path));
  }
}

std::string compare(const at::Tensor& found, const at::Tensor& expected) {
  if (found.scalar_type() != expected.scalar_type() || found.sizes() != expected.sizes()) {
    return c10::str("expected ", expected.toString(), expected.sizes(), ", got ", found.toString(),
                    found.sizes());
  }
  const bool close = at::allclose(found.to(at::kDouble), expected.to(at::kDouble), kRelative,
                                  kAbsolute, /*equal_nan=*/true);
  if (close) return "";
  const double difference =
      (found.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
  return c10::str("differs by ", difference);
}

/// The arguments of a call by name; empty when no known operator is called.
std::optional<fx::Args> arguments_of(const fx::Node& node, const fx::NodeCall& call,
                                     const fx::GraphModule& module) {
  const fx::Spelling* spelling = fx::find_spelling(node, module);
  if (!spelling) return std::nullopt;
  if (spelling->form) return fx::bind_call(*spelling, call.args, call.kwargs);
  const fx::Module& layer = *module.find(node.target());
  return fx::bind_module(layer, *spelling, layer.bind(call.args, call.kwargs));
}

/// Collects calls that contradict the facts in the operator table.
fx::NodeHook check_facts(const fx::GraphModule& module, std::string& broken) {
  const auto args = std::make_shared<std::optional<fx::Args>>();
  return {
      .before = [&module, args](const fx::Node& node,
                                fx::NodeCall& call) { *args = arguments_of(node, call, module); },
      .after =
          [&module, &broken, args](const fx::Node& node, fx::Value& result) {
            if (!*args) return;
            broken += fx::test::broken_fact(*fx::find_spelling(node, module)->op, **args, result);
          }};
}

std::string run_data_set(fx::GraphModule& module, const fs::path& folder) {
  const std::vector<at::Tensor> inputs = read_tensors(folder, "input_");
  const std::vector<at::Tensor> expected = read_tensors(folder, "output_");
  fx::Interpreter interpreter(module, fx::RunMode::Inference);
  std::string broken_facts;
  interpreter.add_hook(check_facts(module, broken_facts));
  fx::Value result = interpreter.run({inputs.begin(), inputs.end()});
  const std::vector<at::Tensor> found =
      result.is_sequence() ? result.tensors() : std::vector{result.tensor()};
  if (!broken_facts.empty()) return broken_facts;
  if (found.size() != expected.size()) return c10::str(found.size(), " results");
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string difference = compare(found[i], expected[i]);
    if (!difference.empty()) return c10::str("output ", i, ": ", difference);
  }
  return "";
}

std::pair<Outcome, std::string> judge(const fs::path& folder) {
  if (kRandom.contains(folder.filename())) return {Outcome::NotClaimed, "the result is random"};
  const auto module = frontends::import_onnx(folder / "model.onnx");
  const std::string unknown = not_understood(*module);
  if (!unknown.empty()) return {Outcome::NotClaimed, unknown};
  if (!has_tensors_only(folder / "model.onnx"))
    return {Outcome::NotClaimed, "has inputs or outputs that are not tensors"};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    const std::string difference = run_data_set(*module, entry.path());
    if (!difference.empty()) return {Outcome::Failed, difference};
  }
  return {Outcome::Passed, ""};
}

}  // namespace

fs::path conformance_folder() { return SPARSEBIT_ONNX_TESTDATA; }

ConformanceResult run_case(const fs::path& folder) {
  ConformanceResult result{folder.parent_path().filename(), folder.filename(), Outcome::Passed, ""};
  try {
    std::tie(result.outcome, result.reason) = judge(folder);
  } catch (const Error& e) {
    const bool unsupported = e.kind() == ErrorKind::Unsupported;
    result.outcome = unsupported ? Outcome::NotClaimed : Outcome::Failed;
    result.reason = one_line(e.what());
  } catch (const std::exception& e) {
    result.outcome = Outcome::Failed;
    result.reason = one_line(message_of(e));
  }
  return result;
}

std::vector<ConformanceResult> run_all_cases() {
  std::vector<fs::path> folders;
  for (const char* suite : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    for (const auto& entry : fs::directory_iterator(conformance_folder() / suite)) {
      folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  std::vector<ConformanceResult> results;
  for (const fs::path& folder : folders) results.push_back(run_case(folder));
  return results;
}

}  // namespace sparsebit::test

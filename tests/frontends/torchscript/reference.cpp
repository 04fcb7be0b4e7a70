#include "frontends/torchscript/reference.h"

#include "frontends/torchscript/script_value.h"
#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import.h>

#include <limits>
#include <sstream>

namespace sparsebit::frontends::testing {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

at::Tensor make_input(const std::string& line) {
  std::istringstream words(line);
  std::string type;
  int64_t limit = 0;
  words >> type;
  if (type == "long") words >> limit;
  std::vector<int64_t> shape;
  for (int64_t size; words >> size;) shape.push_back(size);
  return type == "long" ? at::randint(limit, shape, at::kLong) : at::randn(shape);
}

/// Collects tensors; dict entries in the order of their keys, because TorchScript and the imported
/// graph may order them differently.
void collect(const fx::Value& value, std::vector<at::Tensor>& tensors) {
  if (value.is_tensor()) tensors.push_back(value.tensor());
  if (value.is_sequence()) {
    for (const fx::Value& item : value.items()) collect(item, tensors);
  }
  if (value.is<fx::Dict>()) {
    for (const auto& [key, item] : value.get<fx::Dict>().items) collect(item, tensors);
  }
}

}  // namespace

std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(TORCHSCRIPT_FIXTURES) / (name + ".pt");
}

Reference load_reference(const std::filesystem::path& path) {
  torch::jit::ExtraFilesMap extra = {{"inputs", ""}};
  Reference reference{torch::jit::load(path.string(), c10::nullopt, extra), {}};
  at::manual_seed(11);
  std::istringstream lines(extra["inputs"]);
  for (std::string line; std::getline(lines, line);) reference.inputs.push_back(make_input(line));
  return reference;
}

fx::Value Reference::run() {
  std::vector<c10::IValue> arguments(inputs.begin(), inputs.end());
  return torchscript::to_value(module.forward(std::move(arguments)));
}

std::vector<fx::Value> as_values(const std::vector<at::Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

std::vector<at::Tensor> tensors_in(const fx::Value& value) {
  std::vector<at::Tensor> tensors;
  collect(value, tensors);
  return tensors;
}

double difference(const fx::Value& a, const fx::Value& b) {
  const std::vector<at::Tensor> left = tensors_in(a), right = tensors_in(b);
  if (left.size() != right.size() || left.empty()) return kInfinite;
  double largest = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].sizes() != right[i].sizes() || left[i].dtype() != right[i].dtype())
      return kInfinite;
    if (left[i].numel() == 0) continue;
    const at::Tensor x = left[i].detach().to(at::kDouble), y = right[i].detach().to(at::kDouble);
    if (!at::equal(x.isfinite(), y.isfinite())) return kInfinite;
    const double scale = std::max(1e-12, y.nan_to_num().abs().max().item<double>());
    largest = std::max(largest, (x - y).nan_to_num().abs().max().item<double>() / scale);
  }
  return largest;
}

double import_difference(const std::filesystem::path& path, const TorchScriptOptions& options) {
  const at::NoGradGuard no_grad;
  Reference reference = load_reference(path);
  const TorchScriptModel imported = import_torchscript(path, options);
  at::manual_seed(3);
  std::vector<at::Tensor> copies;
  for (const at::Tensor& input : reference.inputs) copies.push_back(input.clone());
  const fx::Value expected = reference.run();
  at::manual_seed(3);
  return difference(imported.module->invoke(as_values(copies)), expected);
}

std::string scripted(const std::filesystem::path& folder, const std::string& code) {
  torch::jit::Module module("Scripted");
  module.define(code);
  std::string path = (folder / "scripted.pt").string();
  module.save(path);
  return path;
}

std::string with_code(const std::string& from, const std::string& old_text,
                      const std::string& new_text) {
  std::string path = from + ".changed";
  caffe2::serialize::PyTorchStreamReader reader(from);
  caffe2::serialize::PyTorchStreamWriter writer(path);
  for (const std::string& name : reader.getAllRecords()) {
    if (name == "version" || name == ".data/version" || name.ends_with(".debug_pkl")) continue;
    const auto [data, size] = reader.getRecord(name);
    std::string bytes(static_cast<const char*>(data.get()), size);
    if (const size_t at = bytes.find(old_text); name.ends_with(".py") && at != std::string::npos)
      bytes.replace(at, old_text.size(), new_text);
    writer.writeRecord(name, bytes.data(), bytes.size());
  }
  writer.writeEndOfFile();
  return path;
}

size_t count_nodes(const fx::GraphModule& module, fx::Opcode op, const std::string& target) {
  size_t count = 0;
  for (const fx::Node& node : module.graph().nodes())
    count += node.op() == op && node.target() == target;
  return count;
}

std::string import_error(const std::filesystem::path& path, const TorchScriptOptions& options) {
  try {
    import_torchscript(path, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace sparsebit::frontends::testing

#include "easy/model_inputs.h"

#include "easy/error_text.h"
#include "easy/model_summary.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/how_many.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/memory_limit.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/core/random.h"
#include "sparsebit/fx/foreign_input.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/io/npy.h"
#include "sparsebit/quant/widen_floats.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace sparsebit::easy {
namespace {

using fx::TensorInfo;
using Symbols = std::map<std::string, int64_t>;         // sizes of dynamic dimensions, by symbol
using GivenFiles = std::map<std::string, std::string>;  // by input name

std::vector<std::string> input_names(const fx::GraphModule& module) {
  std::vector<std::string> names;
  for (const fx::Node* input : module.graph().placeholders()) names.push_back(input->target());
  return names;
}

/// The position of an input. Throws InvalidArgument with near matches if there is none.
size_t find_input(const fx::GraphModule& module, const std::string& name) {
  const std::vector<std::string> known = input_names(module);
  const auto it = std::find(known.begin(), known.end(), name);
  if (it != known.end()) return static_cast<size_t>(it - known.begin());
  const std::string near = did_you_mean(name, known);
  throw Error(ErrorKind::InvalidArgument,
              fmt::format("there is no input '{}'{}", name,
                          near.empty() ? fmt::format("; the inputs are {}", fmt::join(known, ", "))
                                       : near));
}

void check_is_tensor(const LoadedModel& model, const fx::Node& input) {
  const std::string type = fx::foreign_type(input);
  SPARSEBIT_CHECK(type.empty(), Unsupported, model.name, ": input '", input.target(), "' has type ",
                  type, ", which is not supported");
}

void check_shape_known(const LoadedModel& model, const fx::Node& input) {
  SPARSEBIT_CHECK(input.tensor_info(), InvalidArgument, "input '", input.target(),
                  "': ", model.name, " does not state its shape; give it with --shape ",
                  input.target(), "=1x3x224x224");
}

/// Type and shape of an input, if the file states them. A zoo model's example has type and rank.
std::optional<TensorInfo> accepted(const LoadedModel& model, size_t index) {
  const fx::Node& input = *model.module->graph().placeholders()[index];
  if (input.tensor_info() || model.example_inputs.empty()) return input.tensor_info();
  const at::Tensor& example = model.example_inputs[index].tensor();
  return TensorInfo{std::vector<int64_t>(static_cast<size_t>(example.dim()), -1),
                    example.scalar_type()};
}

/// Whether a shape is valid for `info`.
bool fits(const std::vector<int64_t>& shape, const TensorInfo& info) {
  if (shape.size() != info.shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (info.shape[i] >= 0 && info.shape[i] != shape[i]) return false;
  }
  return true;
}

/// Records the sizes of symbols from a shape. Throws when a symbol has two different sizes.
void learn_symbols(const TensorInfo& info, const std::vector<int64_t>& shape,
                   const std::string& input, Symbols& symbols) {
  for (size_t i = 0; i < info.symbols.size(); ++i) {
    if (info.symbols[i].empty() || info.shape[i] >= 0) continue;
    const int64_t size = symbols.emplace(info.symbols[i], shape[i]).first->second;
    SPARSEBIT_CHECK(size == shape[i], InvalidArgument, "input '", input, "': '", info.symbols[i],
                    "' is ", shape[i], " here and ", size, " in another input");
  }
}

/// Fixes dynamic sizes whose symbols are known.
void close_symbols(fx::Node& input, const Symbols& symbols) {
  if (!input.tensor_info()) return;
  TensorInfo info = *input.tensor_info();
  for (size_t i = 0; i < info.symbols.size(); ++i) {
    const auto known = symbols.find(info.symbols[i]);
    if (info.shape[i] >= 0 || known == symbols.end()) continue;
    info.shape[i] = known->second;
    info.symbols[i].clear();
  }
  input.set_tensor_info(std::move(info));
}

/// Replaces a zoo model's example inputs by their shapes.
void examples_to_infos(LoadedModel& model) {
  const auto inputs = model.module->graph().placeholders();
  for (size_t i = 0; i < model.example_inputs.size(); ++i) {
    const at::Tensor& example = model.example_inputs[i].tensor();
    inputs[i]->set_tensor_info(TensorInfo{example.sizes().vec(), example.scalar_type()});
  }
  model.example_inputs.clear();
}

/// How a tensor differs from what the model takes, to follow "input 'x': "; empty if it fits.
std::string mismatch(const at::Tensor& tensor, const TensorInfo& info) {
  const TensorInfo found{tensor.sizes().vec(), tensor.scalar_type()};
  if (found.dtype == info.dtype && fits(found.shape, info)) return "";
  return "expected " + fx::to_string(info) + ", found " + fx::to_string(found);
}

/// Throws when an input does not fit into memory: probably a typing error.
void check_inputs_fit(const std::string& input, const TensorInfo& info) {
  double bytes = static_cast<double>(c10::elementSize(info.dtype));
  for (const int64_t size : info.shape) bytes *= size < 0 ? 1. : static_cast<double>(size);
  constexpr double kMost = 9e18;
  check_memory(static_cast<int64_t>(std::min(bytes, kMost)),
               "input '" + input + "': " + fx::to_string(info));
}

at::Tensor random_tensor(const std::vector<int64_t>& shape, at::ScalarType dtype,
                         const Random& random) {
  if (at::isFloatingType(dtype)) {  // 16-bit types as well: drawn in float, then rounded
    const at::ScalarType drawn = dtype == at::kDouble ? dtype : at::kFloat;
    return at::empty(shape, drawn).normal_(0, 1, random.generator()).to(dtype);
  }
  if (at::isComplexType(dtype)) {
    return at::randn(shape, random.generator(), at::TensorOptions(dtype));
  }
  // 0 and 1 are valid as token ids, types, masks and positions alike.
  return at::empty(shape, at::kLong).random_(0, 2, random.generator()).to(dtype);
}

/// Splits each --input into name and file. Both may contain '=': the model's input names decide.
GivenFiles match_files(const fx::GraphModule& module, const std::vector<std::string>& texts) {
  const std::vector<std::string> names = input_names(module);
  GivenFiles files;
  const auto add = [&files](const std::string& name, const std::string& file) {
    SPARSEBIT_CHECK(files.emplace(name, file).second, InvalidArgument, "input '", name,
                    "' is given twice");
  };
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const auto name = std::find_if(names.begin(), names.end(), [&text](const std::string& known) {
      return text.starts_with(known + "=");
    });
    if (name != names.end()) {
      add(*name, text.substr(name->size() + 1));
    } else if (equals == std::string::npos || std::filesystem::exists(text)) {
      SPARSEBIT_CHECK(names.size() == 1, InvalidArgument, "--input ", text,
                      fmt::format(": the model has {} ({}); write NAME=FILE",
                                  how_many(std::ssize(names), "input"), fmt::join(names, ", ")));
      add(names.front(), text);
    } else {
      find_input(module, text.substr(0, equals));  // throws with near matches
    }
  }
  return files;
}

class InputMaker {
 public:
  InputMaker(const LoadedModel& model, const InputOptions& options, uint64_t seed)
      : model_(model), options_(options), random_(Random(seed).fork("inputs")) {}

  std::vector<fx::Value> make() {
    const auto inputs = model_.module->graph().placeholders();
    values_.resize(inputs.size());
    const GivenFiles files = match_files(*model_.module, options_.files);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto file = files.find(inputs[i]->target());
      if (file != files.end()) values_[i] = load(i, file->first, file->second);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!files.contains(inputs[i]->target())) values_[i] = supply(*inputs[i], i);
    }
    return std::move(values_);
  }

 private:
  at::Tensor load(size_t index, const std::string& input, const std::string& path) {
    at::Tensor tensor = io::load_npy(path);
    const std::optional<TensorInfo> info = accepted(model_, index);
    if (!info) return tensor;
    const std::string problem = mismatch(tensor, *info);
    SPARSEBIT_CHECK(problem.empty(), InvalidArgument, "input '", input, "': ", problem, " in ",
                    path);
    learn_symbols(*info, tensor.sizes().vec(), input, symbols_);
    return tensor;
  }

  fx::Value supply(const fx::Node& input, size_t index) {
    if (!options_.random) {
      if (!input.args().empty()) return input.args().front();  // its default
      throw Error(ErrorKind::InvalidArgument, "input '" + input.target() + "' is missing" +
                                                  expected(input) + "; give it with --input " +
                                                  input.target() + "=FILE.npy, or use --random");
    }
    if (!model_.example_inputs.empty()) return model_.example_inputs[index];
    if (!input.tensor_info() && !input.args().empty()) return input.args().front();
    check_shape_known(model_, input);
    const TensorInfo& info = *input.tensor_info();
    check_inputs_fit(input.target(), info);
    return random_tensor(close(info), info.dtype, random_.fork(input.target()));
  }

  static std::string expected(const fx::Node& input) {
    return input.tensor_info() ? " (" + fx::to_string(*input.tensor_info()) + ")" : "";
  }

  std::vector<int64_t> close(const TensorInfo& info) const {
    std::vector<int64_t> shape = info.shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] >= 0) continue;
      const auto known = i < info.symbols.size() ? symbols_.find(info.symbols[i]) : symbols_.end();
      shape[i] = known == symbols_.end() ? 1 : known->second;
    }
    return shape;
  }

  const LoadedModel& model_;
  const InputOptions& options_;
  const Random random_;
  Symbols symbols_;
  std::vector<fx::Value> values_;
};

/// Takes types and shapes from the files of --input where the model does not state them.
void apply_files(LoadedModel& model, const InputOptions& options, const KnownShapes& known) {
  if (options.files.empty() || !model.example_inputs.empty()) return;
  const std::vector<fx::Node*> inputs = model.module->graph().placeholders();
  for (fx::Node* input : inputs) {
    auto info = known.find(input->target());
    if (info == known.end() && inputs.size() == 1) info = known.find("");
    if (!input->tensor_info() && info != known.end()) input->set_tensor_info(info->second);
  }
}

}  // namespace

void check_inputs_fit(const LoadedModel& model) {
  for (const fx::Node* input : model.module->graph().placeholders()) {
    if (input->tensor_info()) check_inputs_fit(input->target(), *input->tensor_info());
  }
}

std::vector<data::InputSpec> input_specs(const LoadedModel& model) {
  std::vector<data::InputSpec> inputs = data::inputs_of(*model.module);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].info = accepted(model, i);
  return inputs;
}

void check_input(const fx::GraphModule& module, const std::string& name) {
  find_input(module, name);
}

void check_inputs_are_tensors(const LoadedModel& model) {
  for (const fx::Node* input : model.module->graph().placeholders()) check_is_tensor(model, *input);
}

void check_shapes_known(const LoadedModel& model) {
  if (!model.example_inputs.empty()) return;
  for (const fx::Node* input : model.module->graph().placeholders()) {
    if (input->args().empty()) check_shape_known(model, *input);
  }
}

namespace {

/// The input for a shape without a name: the only input, or the only dynamic one.
size_t open_input(const LoadedModel& model, const GivenShape& given) {
  const auto inputs = model.module->graph().placeholders();
  std::vector<size_t> open;
  std::string names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<TensorInfo> info = accepted(model, i);
    const bool is_fixed =
        info && std::none_of(info->shape.begin(), info->shape.end(), [](auto d) { return d < 0; });
    if (is_fixed && inputs.size() > 1) continue;
    open.push_back(i);
    names += (names.empty() ? "" : ", ") + inputs[i]->target();
  }
  SPARSEBIT_CHECK(open.size() == 1, InvalidArgument, "--shape ", given.text, ": ",
                  open.empty() ? "the model has no dynamic input"
                               : "the model has several dynamic inputs (" + names +
                                     "); write NAME=" + given.text);
  return open.front();
}

bool has_bfloat16_inputs(const fx::GraphModule& module) {
  const auto inputs = module.graph().placeholders();
  return std::any_of(inputs.begin(), inputs.end(), [](const fx::Node* input) {
    return input->tensor_info() && input->tensor_info()->dtype == at::kBFloat16;
  });
}

}  // namespace

LoadedModel load_with_shapes(const std::string& source, const std::vector<std::string>& shapes,
                             uint64_t seed) {
  const InputOptions given{.shapes = shapes};
  const KnownShapes known = known_shapes(given);
  LoadedModel model =
      load_model(source, {.given_inputs = named_inputs(given), .shapes = known, .seed = seed});
  apply_shapes(model, given, known);
  if (has_bfloat16_inputs(*model.module)) {
    quant::widen_floats(*model.module, quant::Interface::Float32);
    log_warning(
        "{}: bfloat16 inputs and outputs become float32, because CPU runtimes lack bfloat16",
        source);
  }
  return model;
}

void apply_shapes(LoadedModel& model, const InputOptions& options, const KnownShapes& known) {
  apply_files(model, options, known);
  Symbols symbols;
  std::vector<std::pair<fx::Node*, TensorInfo>> fixed;
  for (const GivenShape& given : given_shapes(options)) {
    const size_t index =
        given.input.empty() ? open_input(model, given) : find_input(*model.module, given.input);
    fx::Node* const input = model.module->graph().placeholders()[index];
    check_is_tensor(model, *input);
    TensorInfo info{given.shape, given.dtype.value_or(at::kFloat)};
    if (const std::optional<TensorInfo> known = accepted(model, index)) {
      if (!given.dtype) info.dtype = known->dtype;
      SPARSEBIT_CHECK(info.dtype == known->dtype && fits(info.shape, *known), InvalidArgument,
                      "--shape ", given.text, ": the model takes ", fx::to_string(*known));
      learn_symbols(*known, info.shape, input->target(), symbols);
    }
    fixed.emplace_back(input, std::move(info));
  }
  if (fixed.empty()) return;
  examples_to_infos(model);
  for (auto& [input, info] : fixed) input->set_tensor_info(std::move(info));
  for (fx::Node* input : model.module->graph().placeholders()) close_symbols(*input, symbols);
}

std::vector<fx::Value> make_inputs(const LoadedModel& model, const InputOptions& options,
                                   uint64_t seed) {
  return InputMaker(model, options, seed).make();
}

std::optional<std::vector<fx::Value>> inputs_of_fixed_shape(const LoadedModel& model,
                                                            uint64_t seed) {
  if (!model.example_inputs.empty()) return model.example_inputs;
  for (const fx::Node* input : model.module->graph().placeholders()) {
    const auto& info = input->tensor_info();
    if (!info && input->args().empty()) return {};
    if (info && std::any_of(info->shape.begin(), info->shape.end(), [](auto d) { return d < 0; })) {
      return {};
    }
  }
  return make_inputs(model, {.random = true}, seed);
}

std::optional<fx::Value> record_shapes(LoadedModel& model, const InputOptions& given,
                                       uint64_t seed) {
  if (!unknown_nodes(*model.module).empty()) return {};
  try {
    std::optional<std::vector<fx::Value>> inputs = inputs_of_fixed_shape(model, seed);
    if (!given.files.empty()) inputs = make_inputs(model, given, seed);
    if (inputs) return fx::record_shapes(*model.module, std::move(*inputs));
  } catch (const std::exception& e) {
    const std::string text = error_text(e);
    log_warning("shapes are incomplete, because {} does not run on {} inputs: {}", model.name,
                given.files.empty() ? "random" : "these", text.substr(0, text.find('\n')));
  }
  return {};
}

}  // namespace sparsebit::easy

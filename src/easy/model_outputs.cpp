#include "easy/model_outputs.h"

#include "easy/model_summary.h"
#include "easy/shape_text.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/output_set.h"
#include "sparsebit/core/printable_text.h"
#include "sparsebit/fx/naming.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace sparsebit::easy {
namespace {

namespace fs = std::filesystem;
using fx::Value;

/// Flattens a value. Names are those of an exported file: `split.0` for an item of a node's result.
void collect(const Value& value, const std::string& name, std::vector<ModelOutput>& outputs) {
  if (value.is_tensor()) {
    outputs.push_back({name, value.get<at::Tensor>()});
  } else if (value.is_number()) {
    outputs.push_back({name, at::scalar_tensor(value.to_scalar(), value.is_bool()  ? at::kBool
                                                                  : value.is_int() ? at::kLong
                                                                                   : at::kDouble)});
  } else if (value.is_sequence()) {
    const std::vector<Value>& items = value.items();
    for (size_t i = 0; i < items.size(); ++i) {
      collect(items[i], name + "." + std::to_string(i), outputs);
    }
  } else if (value.is<fx::Dict>()) {
    for (const auto& [key, item] : value.get<fx::Dict>().items) {
      collect(item, name.empty() ? key : name + "." + key, outputs);
    }
  }
}

/// Flattens a result in parallel with the output node's argument, whose nodes name the outputs.
void collect_named(const Value& argument, const Value& result, std::vector<ModelOutput>& outputs) {
  if (argument.is_node()) {
    collect(result, result.is<fx::Dict>() ? "" : argument.node().name(), outputs);
  } else if (argument.is_sequence() && result.is_sequence() &&
             argument.items().size() == result.items().size()) {
    for (size_t i = 0; i < result.items().size(); ++i) {
      collect_named(argument.items()[i], result.items()[i], outputs);
    }
  } else {
    const std::string name = "output_" + std::to_string(outputs.size());
    collect(result, result.is<fx::Dict>() ? "" : name, outputs);
  }
}

std::string file_name(const std::string& name) {
  constexpr size_t kLongest = 200;
  std::string safe = name.substr(0, kLongest);
  for (char& c : safe) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '_' && c != '-' && c != '.') c = '_';
  }
  if (safe.empty() || safe.front() == '.') safe.insert(0, "_");
  return safe;
}

struct Statistics {
  double min, max, mean;
};

/// Nothing for empty and complex tensors, which have no minimum.
std::optional<Statistics> statistics(const at::Tensor& tensor) {
  if (tensor.numel() == 0 || tensor.is_complex()) return {};
  const at::Tensor values = tensor.to(at::kDouble);
  return Statistics{values.min().item<double>(), values.max().item<double>(),
                    values.mean().item<double>()};
}

}  // namespace

std::vector<ModelOutput> flatten_outputs(const fx::GraphModule& module, const Value& result) {
  std::vector<ModelOutput> outputs;
  const fx::Node* const node = module.graph().output_node();
  SPARSEBIT_CHECK(node != nullptr && !node->args().empty(), InvalidModel,
                  "the model has no output");
  collect_named(node->args().front(), result, outputs);
  const std::vector<std::string>& names = module.output_names();
  if (names.size() != outputs.size()) return outputs;
  for (size_t i = 0; i < names.size(); ++i) outputs[i].name = names[i];
  return outputs;
}

void save_outputs(std::vector<ModelOutput>& outputs, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  SPARSEBIT_CHECK(!error, Io, folder.string(), ": cannot create the folder: ", error.message());
  OutputSet together;
  std::set<std::string> taken;
  for (ModelOutput& output : outputs) {
    const std::string base = file_name(output.name);
    std::string name = base;
    for (int i = 1; !taken.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    const fs::path file = folder / (name + ".npy");
    io::save_npy(together.stage(file), output.tensor);
    output.file = file;
  }
  together.commit();
}

std::string outputs_as_table(const std::vector<ModelOutput>& outputs) {
  const bool with_files =
      std::any_of(outputs.begin(), outputs.end(), [](const auto& o) { return !o.file.empty(); });
  std::vector<std::vector<std::string>> rows = {{"output", "dtype", "shape", "min", "max", "mean"}};
  for (const ModelOutput& output : outputs) {
    const std::optional<Statistics> s = statistics(output.tensor);
    const auto number = [&s](double Statistics::*member) -> std::string {
      if (!s) return "-";
      return std::isnan((*s).*member) ? "nan" : fmt::format("{:.6g}", (*s).*member);  // not "-nan"
    };
    rows.push_back({printable(output.name, kMostOfCell),
                    fx::dtype_name(output.tensor.scalar_type()),
                    shape_text(output.tensor.sizes().vec()), number(&Statistics::min),
                    number(&Statistics::max), number(&Statistics::mean)});
  }
  if (with_files) {
    rows.front().emplace_back("file");
    for (size_t i = 0; i < outputs.size(); ++i) rows[i + 1].push_back(outputs[i].file.string());
  }
  return format_table(rows);
}

std::string outputs_as_json(const std::vector<ModelOutput>& outputs) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  for (const ModelOutput& output : outputs) {
    const std::optional<Statistics> s = statistics(output.tensor);
    ordered_json item = {{"name", output.name},
                         {"dtype", fx::dtype_name(output.tensor.scalar_type())},
                         {"shape", output.tensor.sizes().vec()},
                         {"min", nullptr},
                         {"max", nullptr},
                         {"mean", nullptr}};
    if (s) item.update({{"min", s->min}, {"max", s->max}, {"mean", s->mean}});
    if (!output.file.empty()) item["file"] = output.file.string();
    list.push_back(std::move(item));
  }
  return json_text(ordered_json{{"outputs", std::move(list)}});
}

}  // namespace sparsebit::easy

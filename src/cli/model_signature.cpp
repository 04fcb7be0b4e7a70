#include "cli/model_signature.h"

#include "cli/easy_names.h"
#include "easy/model_outputs.h"
#include "easy/model_summary.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/printable_text.h"
#include "sparsebit/fx/foreign_input.h"
#include "sparsebit/fx/printer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace sparsebit::cli {
namespace {

using nlohmann::ordered_json;

/// Outputs from the arguments of the output node; None is omitted, and a node counts as one output.
void collect_slots(const fx::Value& value, const std::string& name, std::vector<Slot>& slots) {
  if (value.is_node()) {
    slots.push_back({name.empty() ? value.node().name() : name, value.node().tensor_info()});
  } else if (value.is_sequence()) {
    for (const fx::Value& item : value.items()) collect_slots(item, "", slots);
  } else if (value.is<fx::Dict>()) {
    for (const auto& [key, item] : value.get<fx::Dict>().items) collect_slots(item, key, slots);
  } else if (value.is_number()) {
    slots.push_back({fmt::format("output_{}", slots.size())});
  }
}

std::string shown(const Slot& slot) { return printable(slot.name, kMostOfCell); }

ordered_json as_json(const std::vector<Slot>& slots) {
  ordered_json list = ordered_json::array();
  for (const Slot& slot : slots) {
    ordered_json item = {{"name", slot.name}};
    if (!slot.foreign_type.empty()) item["dtype"] = slot.foreign_type;
    if (slot.info) {
      item["dtype"] = fx::dtype_name(slot.info->dtype);
      item["shape"] = ordered_json::array();
      for (size_t i = 0; i < slot.info->shape.size(); ++i) {
        const std::string symbol = i < slot.info->symbols.size() ? slot.info->symbols[i] : "";
        const ordered_json open = symbol.empty() ? ordered_json() : ordered_json(symbol);
        const int64_t size = slot.info->shape[i];
        item["shape"].push_back(size >= 0 ? ordered_json(size) : open);
      }
    }
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

std::vector<Slot> input_slots(const fx::GraphModule& module) {
  std::vector<Slot> slots;
  for (const fx::Node* input : module.graph().placeholders())
    slots.push_back({input->target(), input->tensor_info(), fx::foreign_type(*input)});
  return slots;
}

std::vector<Slot> output_slots(const fx::GraphModule& module,
                               const std::optional<fx::Value>& result) {
  std::vector<Slot> slots;
  if (result) {
    for (const ModelOutput& output : flatten_outputs(module, *result)) {
      const fx::TensorInfo info{output.tensor.sizes().vec(), output.tensor.scalar_type()};
      slots.push_back({output.name, info});
    }
    return slots;
  }
  const fx::Node* const node = module.graph().output_node();
  if (node != nullptr && !node->args().empty()) collect_slots(node->args()[0], "", slots);
  const std::vector<std::string>& names = module.output_names();
  if (names.empty()) return slots;
  if (names.size() != slots.size()) slots.assign(names.size(), {});
  for (size_t i = 0; i < names.size(); ++i) slots[i].name = names[i];
  return slots;
}

std::string signature_as_text(const std::vector<Slot>& inputs, const std::vector<Slot>& outputs) {
  size_t width = 0;
  for (const auto* slots : {&inputs, &outputs}) {
    for (const Slot& slot : *slots) width = std::max(width, shown(slot).size());
  }
  std::string text;
  const auto add = [&](const char* kind, const std::vector<Slot>& slots) {
    for (const Slot& slot : slots) {
      const std::string unknown = slot.foreign_type.empty() ? "?" : slot.foreign_type;
      text += fmt::format("{}{:<{}}  {}\n", kind, shown(slot), width,
                          printable(slot.info ? fx::to_string(*slot.info) : unknown, kMostOfCell));
    }
  };
  add("input   ", inputs);
  add("output  ", outputs);
  return text;
}

std::string model_as_json(const fx::GraphModule& module, const std::vector<Slot>& inputs,
                          const std::vector<Slot>& outputs) {
  ordered_json json = ordered_json::parse(fx::to_json(module));
  json["inputs"] = as_json(inputs);
  json["outputs"] = as_json(outputs);
  json["parameters"] = ordered_json::object();
  for (const WeightCount& type : count_weights(module))
    json["parameters"][type.dtype] = {{"count", type.count}, {"bytes", type.bytes}};
  return json_text(json);
}

}  // namespace sparsebit::cli

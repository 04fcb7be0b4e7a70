// Inputs and outputs of the exported graph.

#include "export/exporter.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {
namespace {

/// Writes type and shape of an output; a dynamic dimension has the symbol of the input dimension
/// that it equals, or none.
void describe(onnx::ValueInfoProto& info, const OnnxTensor& sym, const Fact* fact) {
  info.set_name(sym.name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  if (sym.dtype == at::ScalarType::Undefined) return;
  type.set_elem_type(io::onnx_type_of(sym.dtype));
  if (!sym.shape) return;
  auto& shape = *type.mutable_shape();
  for (size_t i = 0; i < sym.shape->size(); ++i) {
    auto& dim = *shape.add_dim();
    const bool named = fact && fact->tensor && i < fact->tensor->symbols.size();
    if ((*sym.shape)[i] >= 0) {
      dim.set_dim_value((*sym.shape)[i]);
    } else if (named && !fact->tensor->symbols[i].empty()) {
      dim.set_dim_param(fact->tensor->symbols[i]);
    }
  }
}

}  // namespace

void Exporter::write_inputs(onnx::GraphProto& graph) {
  for (const InputSpec& input : facts_.inputs) {
    const std::string& name = input.node->target();
    if (!input.tensor) {
      values_.emplace(input.node, input.value);
      continue;
    }
    const fx::TensorInfo& tensor = *input.tensor;
    onnx::ValueInfoProto& info = *graph.add_input();
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(io::onnx_type_of(tensor.dtype));
    auto& shape = *type.mutable_shape();
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      if (tensor.shape[i] >= 0) {
        shape.add_dim()->set_dim_value(tensor.shape[i]);
      } else {
        shape.add_dim()->set_dim_param(tensor.symbols[i]);
      }
    }
    values_.emplace(input.node, OnnxTensor{name, tensor.dtype, tensor.shape});
  }
}

/// Collects the outputs in order, tuples and dicts flattened, without None.
void Exporter::collect_results(const fx::Value& value, std::vector<Result>& results) {
  if (value.is_node()) {
    const fx::Node& node = value.node();
    const NodeResult found = value_of(node);
    const Fact* fact = facts_.find(node);
    if (found.is_sequence()) {
      for (size_t i = 0; i < found.items.size(); ++i) {
        if (found.items[i].is_none()) continue;
        const bool known = fact && i < fact->items.size();
        const std::string name = c10::str(node.name(), ".", i);
        results.push_back({name, found.items[i], known ? &fact->items[i] : nullptr});
      }
    } else if (found.is_plain() && found.plain.is_sequence()) {
      collect_results(found.plain, results);
    } else if (!found.is_none()) {
      results.push_back({node.name(), found, fact});
    }
  } else if (value.is_sequence()) {
    for (const fx::Value& item : value.items()) collect_results(item, results);
  } else if (value.is<fx::Dict>()) {
    for (const auto& [key, item] : value.get<fx::Dict>().items) collect_results(item, results);
  } else if (value.is_tensor() || value.is_number()) {
    results.push_back({c10::str("output_", results.size()), value, nullptr});
  } else {
    SPARSEBIT_CHECK(value.is_none(), Unsupported, "the model returns ", fx::describe(value),
                    ", which cannot be an ONNX output");
  }
}

std::string Exporter::write_output(onnx::GraphProto& graph, const Result& result) {
  if (result.value.is_sequence()) {
    throw Error(ErrorKind::Unsupported, c10::str("the model returns nested tuples ('", result.wish,
                                                 "'), which cannot be an ONNX output"));
  }
  writer_.begin("output");
  OnnxTensor sym;
  if (!result.value.is_plain()) {
    sym = result.value.sym();
    sym.name = writer_.current_name(sym.name);
  } else if (result.value.plain.is_tensor()) {
    sym = writer_.constant(result.value.plain.tensor());
  } else {
    SPARSEBIT_CHECK(result.value.plain.is_number(), Unsupported, "the model returns ",
                    fx::describe(result.value.plain), ", which cannot be an ONNX output");
    sym = writer_.scalar(result.value.plain.to_scalar(), dtype_of(result.value));
  }
  // Without requested names, an output may keep its value's name only if a node produces it (it is
  // not an input or a constant) and it is not an output already.
  const bool free = writer_.is_made_by_node(sym.name) && !taken_outputs_.contains(sym.name);
  const bool as_wished = !result.value.is_plain() && sym.name == result.wish;
  if (output_names_.empty() ? !free : !as_wished) {
    const std::string name = output_names_.empty() ? writer_.unique_name(result.wish) : result.wish;
    writer_.make_room(name);
    sym = writer_.identity(sym);
    writer_.rename(sym, name);
  }
  taken_outputs_.insert(sym.name);
  carries_unknown_ |= sym.dtype == at::ScalarType::Undefined;  // ONNX's checker requires a type
  onnx::ValueInfoProto& info = *graph.add_output();
  describe(info, sym, result.fact);
  return sym.name;
}

}  // namespace sparsebit::exports

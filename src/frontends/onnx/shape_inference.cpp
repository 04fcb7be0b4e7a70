#include "frontends/onnx/shape_inference.h"

#include "frontends/onnx/shape_rules.h"

#include "sparsebit/core/error.h"

namespace sparsebit::frontends {
namespace {

const ShapeRules& shape_rules() {
  static const ShapeRules rules = [] {
    ShapeRules r;
    add_elementwise_rules(r);
    add_indexing_rules(r);
    add_layout_rules(r);
    add_reduction_rules(r);
    add_window_rules(r);
    return r;
  }();
  return rules;
}

}  // namespace

std::optional<size_t> axis_of(int64_t axis, size_t rank) {
  const int64_t index = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (index < 0 || index >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(index);
}

fx::TensorInfo unnamed(std::vector<int64_t> shape, at::ScalarType dtype) {
  return {.shape = std::move(shape), .dtype = dtype};
}

void add_size(fx::TensorInfo& to, int64_t size, const std::string& symbol) {
  if (!symbol.empty() || !to.symbols.empty()) {
    to.symbols.resize(to.shape.size());
    to.symbols.push_back(symbol);
  }
  to.shape.push_back(size);
}

void copy_size(const fx::TensorInfo& from, size_t i, fx::TensorInfo& to) {
  add_size(to, from.shape[i], i < from.symbols.size() ? from.symbols[i] : "");
}

std::optional<fx::TensorInfo> tensor_info_of(const onnx::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return std::nullopt;
  const std::optional<at::ScalarType> dtype = io::scalar_type_of(type.tensor_type().elem_type());
  if (!dtype) return std::nullopt;
  fx::TensorInfo info{.shape = {}, .dtype = *dtype};
  for (const onnx::TensorShapeProto::Dimension& dim : type.tensor_type().shape().dim()) {
    const bool fixed = dim.has_dim_value() && dim.dim_value() >= 0;
    add_size(info, fixed ? dim.dim_value() : -1, fixed ? "" : dim.dim_param());
  }
  return info;
}

std::vector<std::optional<fx::TensorInfo>> infer_outputs(const Conversion& c) {
  std::vector<MaybeInfo> infos(c.output_count());
  const auto rule = shape_rules().find(c.type());
  if (rule == shape_rules().end() || infos.empty()) return infos;
  try {
    infos[0] = rule->second(c);
  } catch (const Error&) {  // an attribute of the wrong type, an input that is missing
    return infos;
  }
  if (c.type() == "Split") std::fill(infos.begin(), infos.end(), infos[0]);
  return infos;
}

}  // namespace sparsebit::frontends

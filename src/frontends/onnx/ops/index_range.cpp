#include "frontends/onnx/ops/index_range.h"

#include <ATen/ATen.h>

#include <set>

namespace sparsebit::frontends {
namespace {

using fx::Opcode;
using fx::Value;
using CallNames = std::set<std::string, std::less<>>;

/// Calls whose results are elements of the first argument.
const CallNames& moving_calls() {
  static const CallNames names = {"contiguous",       "expand",
                                  "repeat",           "to",
                                  "type_as",          "onnx.Expand",
                                  "onnx.Slice",       "onnx.Tile",
                                  "operator.getitem", "torch.cat",
                                  "torch.cumsum",     "torch.flatten",
                                  "torch.gather",     "torch.index_select",
                                  "torch.permute",    "torch.reshape",
                                  "torch.select",     "torch.squeeze",
                                  "torch.stack",      "torch.tile",
                                  "torch.transpose",  "torch.unflatten",
                                  "torch.unsqueeze"};
  return names;
}

/// Calls that are not negative when none of their arguments is.
const CallNames& combining_calls() {
  static const CallNames names = {"operator.add", "operator.floordiv", "operator.mul",  "torch.add",
                                  "torch.arange", "torch.maximum",     "torch.minimum", "torch.mul",
                                  "torch.tensor", "torch.where"};
  return names;
}

/// Calls that are never negative.
const CallNames& counting_calls() {
  static const CallNames names = {"numel",
                                  "size",
                                  "torch.abs",
                                  "torch.argmax",
                                  "torch.argmin",
                                  "torch.eq",
                                  "torch.ge",
                                  "torch.gt",
                                  "torch.le",
                                  "torch.lt",
                                  "torch.ne",
                                  "torch.logical_and",
                                  "torch.logical_not",
                                  "torch.logical_or",
                                  "torch.nonzero"};
  return names;
}

/// Follows values upstream to their sources.
class Search {
 public:
  explicit Search(const Conversion& c) : conversion_(c) {}

  bool is_from_the_front(const Value& value) {
    if (value.is_none() || value.is_bool() || value.is<at::ScalarType>()) return true;
    if (value.is_number()) return value.to_double() >= 0;
    if (value.is_tensor()) return has_no_negatives(value.tensor());
    if (value.is_sequence()) return all(value.items());
    if (!value.is_node() || --budget_ < 0) return false;
    return comes_from_the_front(value.node());
  }

 private:
  static bool has_no_negatives(const at::Tensor& tensor) {
    return tensor.numel() == 0 || tensor.min().item<double>() >= 0;
  }

  bool all(const std::vector<Value>& values) {
    return std::all_of(values.begin(), values.end(),
                       [this](const Value& value) { return is_from_the_front(value); });
  }

  bool comes_from_the_front(const fx::Node& node) {
    if (node.op() == Opcode::Placeholder) {
      const auto& info = node.tensor_info();
      return !info || at::isIntegralType(info->dtype, /*includeBool=*/true);
    }
    if (node.op() == Opcode::GetAttr) {
      const at::Tensor* tensor = conversion_.constant_of(node);
      return tensor && has_no_negatives(*tensor);
    }
    if (node.op() == Opcode::CallModule || node.args().empty()) return false;
    if (counting_calls().contains(node.target())) return true;
    if (moving_calls().contains(node.target())) return is_from_the_front(node.args()[0]);
    return combining_calls().contains(node.target()) && all(node.args());
  }

  const Conversion& conversion_;
  int budget_ = 64;  // nodes; searching everything upstream would take long in deep graphs
};

}  // namespace

bool are_from_the_front(const Conversion& c, const fx::Value& indices) {
  return Search(c).is_from_the_front(indices);
}

}  // namespace sparsebit::frontends

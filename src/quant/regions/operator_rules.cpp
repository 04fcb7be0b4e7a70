#include "sparsebit/quant/regions/operator_rules.h"

#include "sparsebit/core/letter_case.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace sparsebit::quant {
namespace {

using platforms::ArgumentCondition;
using platforms::OperatorRule;
using platforms::Platform;

/// x[:, a:b]: a single slice, which is exported as one ONNX Slice.
bool is_one_slice(const fx::Value& index) {
  const auto is_slice = [](const fx::Value& item) { return item.is<fx::Slice>(); };
  const auto is_whole = [](const fx::Value& item) {
    const auto& bounds = item.get<fx::Slice>().bounds;
    return std::all_of(bounds.begin(), bounds.end(), [](const auto& b) { return b.is_none(); });
  };
  if (is_slice(index)) return true;
  if (!index.is<fx::Tuple>()) return false;
  const auto& items = index.items();
  return std::all_of(items.begin(), items.end(), is_slice) &&
         std::count_if(items.begin(), items.end(), std::not_fn(is_whole)) == 1;
}

std::string text_of(const fx::Value& value) {
  if (value.is_string()) return value.string();
  if (value.is_bool()) return value.to_bool() ? "True" : "False";
  if (value.is_none()) return "None";
  return value.is_number() ? std::to_string(value.to_double()) : "";
}

bool equals(const fx::Value& value, const std::string& wanted) {
  if (wanted == "one slice") return is_one_slice(value);
  if (value.is_sequence()) {
    const auto& items = value.items();
    return std::all_of(items.begin(), items.end(),
                       [&](const fx::Value& item) { return equals(item, wanted); });
  }
  if (value.is_number() && !value.is_bool()) {
    char* end = nullptr;
    const double number = std::strtod(wanted.c_str(), &end);
    return *end == '\0' && value.to_double() == number;
  }
  return lower_case(text_of(value)) == lower_case(wanted);
}

bool fits(const fx::OperatorCall& call, const ArgumentCondition& condition) {
  if (!call.args.has(condition.argument)) return true;
  const fx::Value& value = call.args[condition.argument];
  if (condition.equal) return equals(value, condition.value);
  return !value.is_string() || value.string().find(condition.value) == std::string::npos;
}

}  // namespace

const OperatorRule* find_rule(const Platform& platform, const fx::Operator& op) {
  auto it = platform.operators.find(op.name);
  if (it == platform.operators.end()) it = platform.operators.find(op.row());
  return it == platform.operators.end() ? nullptr : &it->second;
}

std::optional<Decision> float_by_rule(const Platform& platform, const fx::Node& node,
                                      const fx::OperatorCall& call) {
  const OperatorRule* rule = find_rule(platform, *call.op);
  if (!rule) {
    const bool told = platform.floats.contains(call.op->row());
    return Decision{told ? DecisionKind::KeptFloatByPlatform : DecisionKind::NoIntegerForm,
                    node.name(), call.op->row()};
  }
  for (const ArgumentCondition& condition : rule->conditions) {
    if (!fits(call, condition))
      return Decision{DecisionKind::ArgumentNotSupported, node.name(), condition.argument};
  }
  return std::nullopt;
}

}  // namespace sparsebit::quant

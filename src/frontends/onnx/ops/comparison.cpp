#include "frontends/onnx/ops/arithmetic.h"
#include "frontends/onnx/ops/families.h"

#include <ATen/ATen.h>

#include <map>

namespace sparsebit::frontends {
namespace {

using fx::Value;

struct Names {
  const char *function, *python;
};

const std::map<std::string, Names>& comparisons() {
  static const std::map<std::string, Names> names = {
      {"Equal", {"torch.eq", "operator.eq"}},
      {"Greater", {"torch.gt", "operator.gt"}},
      {"GreaterOrEqual", {"torch.ge", "operator.ge"}},
      {"Less", {"torch.lt", "operator.lt"}},
      {"LessOrEqual", {"torch.le", "operator.le"}}};
  return names;
}

void convert_comparison(Conversion& c) {
  const Names& names = comparisons().at(c.type());
  c.give(call_binary(c, names.function, names.python));
}

void convert_logic(Conversion& c) {
  static const std::map<std::string, const char*> functions = {
      {"And", "torch.logical_and"}, {"Or", "torch.logical_or"}, {"Xor", "torch.logical_xor"}};
  const Value right = right_operand(c);
  c.give(
      c.function(functions.at(c.type()), {c.tensor(0), right.is_number() ? c.tensor(1) : right}));
}

void convert_not(Conversion& c) { c.give(c.function("torch.logical_not", {c.tensor(0)})); }

/// At most one of the two choices becomes a number; the other one determines the type.
void convert_where(Conversion& c) {
  const Value yes = c.constant(2) ? c.tensor(1) : c.tensor_or_number(1);
  const Value no = c.constant(1) ? c.tensor(2) : c.tensor_or_number(2);
  c.give(c.function("torch.where", {c.tensor(0), yes, no}));
}

}  // namespace

void add_comparison_converters(Converters& r) {
  for (const auto& [type, names] : comparisons()) r.add(type, convert_comparison);
  for (const char* type : {"And", "Or", "Xor"}) r.add(type, convert_logic);
  r.add("Not", convert_not);
  r.add("Where", convert_where);
}

}  // namespace sparsebit::frontends

#include "support/operator_facts.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/result_size.h"

#include <ATen/ATen.h>
#include <ATen/native/TypeProperties.h>

#include <algorithm>

namespace sparsebit::fx::test {
namespace {

using Tensors = std::vector<at::Tensor>;

void collect_tensors(const Value& value, Tensors& tensors) {
  if (value.is_tensor() && value.tensor().defined()) tensors.push_back(value.tensor());
  if (!value.is_sequence()) return;
  for (const Value& item : value.items()) collect_tensors(item, tensors);
}

Tensors tensors_in(const Args& args) {
  Tensors tensors;
  for (const Value& value : args.values()) collect_tensors(value, tensors);
  return tensors;
}

bool writes_in_place(const Operator& op, const Args& args) {
  return op.effect == Effect::WritesInput || (args.has("inplace") && args.flag("inplace"));
}

bool shares_memory(const Args& args, const Value& result) {
  Tensors outputs;
  collect_tensors(result, outputs);
  const Tensors inputs = tensors_in(args);
  return std::any_of(outputs.begin(), outputs.end(), [&](const at::Tensor& out) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const at::Tensor& in) {
      return out.numel() > 0 && out.is_alias_of(in);
    });
  });
}

bool takes_integers(const Operator& op, const Args& args) {
  std::vector<Value> values;
  for (const Value& value : args.values()) {
    values.push_back(value.map_items([](const Value& item) {
      return item.is_tensor() ? Value(item.tensor().detach().to(at::kLong)) : item;
    }));
  }
  try {
    run_kernel(op, Args(op.schema, std::move(values)));
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::string broken_fact_of_elements(const Operator& op, const Args& args,
                                    const at::Tensor& result) {
  const Tensors inputs = tensors_in(args);
  if (!inputs.front().is_floating_point()) return "";
  if (result.scalar_type() != at::native::result_type(inputs))
    return c10::str("its result is ", result.toString());
  const bool lies = op.elements == Elements::Floating && takes_integers(op, args);
  return lies ? "it takes integers" : "";
}

}  // namespace

std::string broken_fact(const Operator& op, const Args& args, const Value& result) {
  const auto broken = [&](const std::string& fact) {
    return fact.empty() ? fact : "operator '" + op.name + "': " + fact;
  };
  if (!op.view && !writes_in_place(op, args) && shares_memory(args, result))
    return broken("its result has memory of an input");
  Tensors outputs;
  collect_tensors(result, outputs);
  double elements = 0;
  for (const at::Tensor& tensor : outputs) elements += static_cast<double>(tensor.numel());
  if (elements > most_elements(op, args)) return broken("its result is larger than it says");
  const Value first = args.values().empty() ? Value() : args.values().front();
  if (op.elements != Elements::Unknown && first.is_tensor() && result.is_sequence())
    return broken("it gives several tensors");
  if (!result.is_tensor() || !first.is_tensor()) return "";
  if (op.keeps_rank && result.tensor().dim() != first.tensor().dim())
    return broken("its result has another rank");
  if (op.elements == Elements::Unknown) return "";
  return broken(broken_fact_of_elements(op, args, result.tensor()));
}

}  // namespace sparsebit::fx::test

#include "frontends/pt2/defaults.h"

#include "frontends/torchscript/script_value.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>

namespace sparsebit::frontends::pt2 {
namespace {

using torchscript::AtenArgument;

const c10::FunctionSchema* find_schema(const torchscript::AtenCall& call,
                                       const std::string& overload) {
  const auto symbol = c10::Symbol::fromQualString("aten::" + call.name);
  for (const auto& op : torch::jit::getAllOperatorsFor(symbol)) {
    if (op->schema().overload_name() == (overload == "default" ? "" : overload))
      return &op->schema();
  }
  return nullptr;
}

/// The default of an argument; empty when it has none or the default is not a plain value.
std::optional<fx::Value> default_of(const c10::Argument& argument) {
  if (!argument.default_value()) return std::nullopt;
  const torchscript::ScriptValue value = torchscript::from_ivalue(*argument.default_value());
  if (value.is_value()) return torchscript::named_constant(argument.name(), value.value());
  const torchscript::ScriptValues* items = value.items();
  if (!items) return std::nullopt;
  std::vector<fx::Value> plain;
  for (const torchscript::ScriptValue& item : *items) {
    if (!item.is_value()) return std::nullopt;
    plain.push_back(item.value());
  }
  return fx::List(std::move(plain));
}

}  // namespace

void add_defaults(torchscript::AtenCall& call, const std::string& overload) {
  const c10::FunctionSchema* schema =
      call.library == "aten" ? find_schema(call, overload) : nullptr;
  if (!schema) return;
  std::vector<AtenArgument> given = std::move(call.args), all;
  for (const c10::Argument& argument : schema->arguments()) {
    const std::optional<fx::Value> standard = default_of(argument);
    const auto found = std::find_if(given.begin(), given.end(), [&](const AtenArgument& arg) {
      return arg.name == argument.name();
    });
    if (found != given.end()) {
      found->is_default = standard && standard->same_as(found->value);
      all.push_back(std::move(*found));
      given.erase(found);
    } else if (standard) {
      all.push_back({argument.name(), *standard, true});
    }
  }
  // Arguments of newer versions of the operator.
  std::move(given.begin(), given.end(), std::back_inserter(all));
  call.args = std::move(all);
}

}  // namespace sparsebit::frontends::pt2

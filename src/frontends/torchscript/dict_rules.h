#pragma once

#include "frontends/torchscript/script_value.h"

#include <map>
#include <optional>
#include <string>

namespace sparsebit::frontends::torchscript {

/// Applies an operator to a dict, its first input: returns its results, or nothing when libtorch
/// can evaluate it.
using DictRule = std::optional<ScriptValues> (*)(DictRef& dict, const ScriptValues& in);

/// By the operators' names without namespace.
const std::map<std::string, DictRule>& dict_rules();

/// `dict[key] = value`. Throws DataDependent when the key is unknown.
void set_in_dict(DictRef& dict, const ScriptValue& key, const ScriptValue& value);

}  // namespace sparsebit::frontends::torchscript

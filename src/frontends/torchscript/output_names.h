#pragma once

#include "frontends/torchscript/script_value.h"
#include "sparsebit/fx/graph.h"

#include <string>
#include <vector>

namespace sparsebit::frontends::torchscript {

/// The names of a model's results: `output` for a single one, `output_0`, `output_1`, ... for items
/// of a tuple or list, the keys for entries of a dict, `boxes.0` for nested ones. Results that are
/// None have no name. Names are unique and differ from the names of inputs.
///
/// Empty when the number of results is known only when the model runs.
///
/// @param type  the static type of `result`, which describes the contents of a node.
std::vector<std::string> output_names(const ScriptValue& result, const c10::TypePtr& type,
                                      const fx::Graph& graph);

}  // namespace sparsebit::frontends::torchscript

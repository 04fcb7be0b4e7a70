#pragma once

#include "frontends/torchscript/script_value.h"
#include "sparsebit/fx/graph.h"

#include <string>
#include <vector>

namespace sparsebit::frontends::torchscript {

/// What the results of a model are called: `output` for a single one, `output_0`, `output_1`, ...
/// for those of a tuple or list, the keys for those of a dict, `boxes.0` for what lies deeper. None
/// has no name. Each name is there once, and none is an input's.
///
/// Empty when only running the model tells how many results there are.
///
/// @param type  the static type of `result`; tells what is inside a node.
std::vector<std::string> output_names(const ScriptValue& result, const c10::TypePtr& type,
                                      const fx::Graph& graph);

}  // namespace sparsebit::frontends::torchscript

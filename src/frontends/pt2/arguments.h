#pragma once

#include "frontends/pt2/json_value.h"
#include "sparsebit/fx/ops/value.h"

#include <string>
#include <unordered_map>

namespace sparsebit::frontends::pt2 {

/// Values of the names in a graph of the file: nodes of our graph, tensors of the file, numbers.
using Environment = std::unordered_map<std::string, fx::Value>;

/// The value of `name`. Throws InvalidModel, naming the position, when it is not defined.
const fx::Value& look_up(const Environment& environment, const JsonValue& name);

/// An argument of a call. Every device becomes the CPU; layouts and the contiguous memory format
/// become None. Arguments that are graphs are not supported here.
fx::Value read_argument(const JsonValue& argument, const Environment& environment);

}  // namespace sparsebit::frontends::pt2

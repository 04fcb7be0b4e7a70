#pragma once

#include "frontends/pt2/json_value.h"
#include "sparsebit/fx/ops/value.h"

#include <string>
#include <unordered_map>

namespace sparsebit::frontends::pt2 {

/// What the names of a graph in the file stand for: nodes of ours, tensors of the file, numbers.
using Environment = std::unordered_map<std::string, fx::Value>;

/// The value that `name` stands for. Throws InvalidModel, naming the place, when there is none.
const fx::Value& look_up(const Environment& environment, const JsonValue& name);

/// An argument of a call. Devices are the CPU, whatever the program was exported on; layouts and
/// the contiguous memory format are None. Graphs are not arguments in this sense.
fx::Value read_argument(const JsonValue& argument, const Environment& environment);

}  // namespace sparsebit::frontends::pt2

#pragma once

#include "sparsebit/fx/node.h"

namespace sparsebit::fx {

/// Notes on a placeholder that no tensor can hold its values: strings, sequences, uint16.
/// @param type  what the model's file calls it: "string".
void set_foreign_type(Node& placeholder, std::string type);
/// What set_foreign_type() noted; empty for other inputs.
std::string foreign_type(const Node& placeholder);

}  // namespace sparsebit::fx

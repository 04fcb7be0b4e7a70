#pragma once

#include "sparsebit/fx/node.h"

namespace sparsebit::fx {

/// Records the type of an input whose values no tensor can hold: strings, sequences, uint16.
/// @param type  its name in the model's file: "string".
void set_foreign_type(Node& placeholder, std::string type);
/// The type recorded by set_foreign_type(); empty for other inputs.
std::string foreign_type(const Node& placeholder);

}  // namespace sparsebit::fx

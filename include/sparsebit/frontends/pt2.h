#pragma once

#include "sparsebit/fx/graph_module.h"

#include <filesystem>
#include <memory>
#include <string_view>

namespace sparsebit::frontends {

/// Reads a program that torch.export.export made and torch.export.save wrote (.pt2), of the layout
/// that torch has written since 2.7 or of the one before. Nothing in the file is executed.
///
/// Operators of ATen, decomposed or not, are written in the operator vocabulary. A call that the
/// file assigns to a layer of torch.nn becomes that layer at its dotted path (`layer1.0.conv1`), as
/// far as the call computes just that; all other nodes know the module they came from. Placeholders
/// have the names, types and shapes of the program's inputs, sizes that are not fixed by the names
/// of their symbols. Outputs are nested as the program's and called after their keys. Assertions
/// about sizes are left out. Parameters that share memory share it here.
///
/// An operator that is not understood stands in the graph by its own name
/// (`torch.ops.library.name`); only running it is an error.
///
/// Throws Error naming the file: Io and InvalidModel for files that cannot be read, Unsupported for
/// control flow that depends on data and for programs that change their own buffers or inputs, such
/// as those exported in training mode.
std::unique_ptr<fx::GraphModule> import_pt2(const std::filesystem::path& path);

/// Whether a file is such an archive, as its table of records says.
///
/// @param file  all of its bytes.
bool looks_like_pt2(std::string_view file);

}  // namespace sparsebit::frontends

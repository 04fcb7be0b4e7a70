#pragma once

#include "sparsebit/fx/graph_module.h"

#include <filesystem>
#include <memory>
#include <string_view>

namespace sparsebit::frontends {

/// Reads a program that torch.export.export made and torch.export.save wrote (.pt2), of the layout
/// that torch has written since 2.7 or of the one before. Nothing in the file is executed.
///
/// ATen operators, decomposed or not, are mapped to the project's operator vocabulary. A call that
/// the file assigns to a layer of torch.nn becomes that layer at its dotted path (`layer1.0.conv1`)
/// if the call computes exactly that layer; all other nodes record the module they came from.
/// Placeholders have the names, types and shapes of the program's inputs; dynamic sizes carry the
/// names of their symbols. Outputs are nested as in the program and named after their keys.
/// Assertions about sizes are dropped. Parameters that share memory in the file share it here.
///
/// An unknown operator becomes a node with its own name as target (`torch.ops.library.name`); only
/// running it is an error.
///
/// Throws Error naming the file: Io and InvalidModel for files that cannot be read, Unsupported for
/// control flow that depends on data and for programs that change their own buffers or inputs, such
/// as those exported in training mode.
std::unique_ptr<fx::GraphModule> import_pt2(const std::filesystem::path& path);

/// Whether a file is a torch.export archive, according to its table of records.
///
/// @param file  all bytes of the file.
bool looks_like_pt2(std::string_view file);

}  // namespace sparsebit::frontends

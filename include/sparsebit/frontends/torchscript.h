#pragma once

#include "sparsebit/fx/graph_module.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::frontends {

struct TorchScriptOptions {
  /// Modules to keep as one opaque node: shell patterns on their dotted paths, as for QTracer.
  std::vector<std::string> skip = {};
  /// Names of inputs that have a default value but stay inputs of the graph. An input with a
  /// default that is not listed here is fixed at its default and is no input of the graph; branches
  /// on it (`if mask is None`, `if flag`) are resolved accordingly.
  std::vector<std::string> given_inputs = {};
  /// Types and shapes of inputs, by name; "" stands for the only input. Branches on sizes
  /// (`if x.size(0) > 1`) are resolved with these shapes; the graph is valid only for sizes that
  /// take the same branches. Sizes that are only used in arithmetic stay dynamic.
  std::map<std::string, fx::TensorInfo> shapes = {};
};

struct TorchScriptModel {
  std::unique_ptr<fx::GraphModule> module;
  /// Patterns of `skip` that matched no called module; callers should warn about them.
  std::vector<std::string> unmatched_patterns;
  /// Number of branches that were resolved by the sizes in `shapes`: the graph may be wrong for
  /// other sizes.
  int64_t size_decisions = 0;
};

/// Reads a model that torch.jit.trace or torch.jit.script made and torch.jit.save wrote.
///
/// A torch.nn module becomes our module of that type. Any other module is inlined: its operators
/// become nodes in the project's operator vocabulary. Control flow is resolved during import. The
/// result has the modes (train or eval), parameters and shared tensors of the file. Parameters and
/// buffers are the loaded tensors, not copies.
///
/// Throws Error naming the file: Io and InvalidModel for files that cannot be read, DataDependent
/// and Unsupported, with module path and source line, for code that cannot be turned into a graph.
TorchScriptModel import_torchscript(const std::filesystem::path& path,
                                    const TorchScriptOptions& options = {});

/// Whether a file that starts with these bytes may be TorchScript, that is, a zip archive.
bool looks_like_torchscript(std::string_view first_bytes);

}  // namespace sparsebit::frontends

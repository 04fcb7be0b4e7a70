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
  /// Modules to keep as one opaque step: shell patterns on their dotted paths, as for QTracer.
  std::vector<std::string> skip = {};
  /// Inputs with a default that callers will give. Where the model asks whether such an input is
  /// None, or what a flag is, the answer decides which code the graph has: without its name here,
  /// the input is fixed at its default and is no input of the graph.
  std::vector<std::string> given_inputs = {};
  /// Types and shapes of inputs, by name; "" stands for the only one. Where the model decides by
  /// sizes (`if x.size(0) > 1`), these decide, and the graph is right for sizes that would decide
  /// alike. Sizes that are only computed with stay open.
  std::map<std::string, fx::TensorInfo> shapes = {};
};

struct TorchScriptModel {
  std::unique_ptr<fx::GraphModule> module;
  /// Patterns of `skip` that matched no module that is called; worth a warning.
  std::vector<std::string> unmatched_patterns;
  /// How often the sizes in `shapes` decided what the graph has: with other sizes it may be wrong.
  int64_t size_decisions = 0;
};

/// Reads a model that torch.jit.trace or torch.jit.script made and torch.jit.save wrote.
///
/// A module under torch.nn becomes our module of that type, any other module is entered, and what
/// they compute is written in the operator vocabulary. Control flow is decided here; the result
/// has the modes (train or eval), parameters and shared tensors of the file. Parameters and buffers
/// are those that were loaded, not copies.
///
/// Throws Error naming the file: Io and InvalidModel for files that cannot be read, DataDependent
/// and Unsupported, with module path and source line, for what has no graph.
TorchScriptModel import_torchscript(const std::filesystem::path& path,
                                    const TorchScriptOptions& options = {});

/// Whether a file that starts like this may be TorchScript: it is a zip archive.
bool looks_like_torchscript(std::string_view first_bytes);

}  // namespace sparsebit::frontends

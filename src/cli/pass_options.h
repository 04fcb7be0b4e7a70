#pragma once

#include "cli/easy_names.h"
#include "easy/model_summary.h"

#include "sparsebit/passes/runner.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// Options that run passes on the model.
struct PassOptions {
  bool simplify = false;
  bool fuse = false;
  bool equalize = false;
  std::vector<std::string> without = {};  ///< names of passes to skip
  bool list = false;                      ///< show the changes instead of the graph
  std::vector<std::string> nodes = {};    ///< show only changes that led to these nodes

  bool any() const { return simplify || fuse || equalize; }
};

/// Declares --simplify, --fuse, --equalize and --without.
void add_pass_options(CLI::App& command, PassOptions& options);
/// Declares --passes and --node.
void add_change_options(CLI::App& command, PassOptions& options);

/// Throws UsageError for options that exclude each other, and for unknown passes.
void check_pass_options(const PassOptions& options);

/// Puts the model into eval mode and runs the passes asked for, if any.
/// @param shapes_known  whether shapes were recorded; if not, warns that some passes may do
/// nothing.
passes::PassReport run_passes(fx::GraphModule& module, const PassOptions& options,
                              bool shapes_known);

/// The changes to show. Throws InvalidArgument when a node of --node never existed.
std::vector<passes::Change> chosen_changes(const passes::PassReport& report,
                                           const fx::GraphModule& module,
                                           const PassOptions& options);

/// "37 changes"
std::string counted(const std::vector<passes::Change>& changes);

/// `fuse_bn  conv1, bn1 -> conv1`, a line per change.
std::string changes_as_text(const std::vector<passes::Change>& changes);

/// A list of objects with `pass`, `before` and `after`.
std::string changes_as_json(const std::vector<passes::Change>& changes);

}  // namespace sparsebit::cli

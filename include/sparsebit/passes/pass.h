#pragma once

#include "sparsebit/passes/rewriter.h"

#include <functional>
#include <string>
#include <vector>

namespace sparsebit::passes {

/// Replaces occurrences of a pattern.
struct Rule {
  Pattern pattern;
  /// New nodes are inserted before the last node of the match. Unused nodes are removed later.
  std::function<Replacements(const Match&, Rewriter&)> rewrite;
};

/// When a pass runs.
enum class Stage {
  Simplify,  ///< the same network with fewer or higher-level operators
  Fuse,      ///< layers folded into others: weights change, results do not
  Equalize,  ///< weights rescaled for quantization: results do not change
};

/// A transformation of a model that does not change its results.
struct Pass {
  std::string name;     ///< "fuse_bn"
  std::string summary;  ///< one line of description
  Stage stage;
  /// Tried in order until none matches any more.
  std::vector<Rule> rules = {};
  /// For transformations without a pattern: called with the whole graph, once per sweep. A pass has
  /// either this or rules.
  std::function<void(Rewriter&)> run = {};
};

/// Throws InvalidArgument unless the pass has a name and either rules or run.
void check_pass(const Pass& pass);

/// All passes, in the order in which they run.
class PassRegistry {
 public:
  /// Puts a pass at the end of its stage, or before the pass of that name. Throws InvalidArgument,
  /// adding nothing, when the name is taken or check_pass() throws.
  void add(Pass pass, const std::string& before = "");
  /// Throws InvalidArgument with similar names for an unknown pass.
  const Pass& get(const std::string& name) const;
  std::vector<std::string> names() const;
  std::vector<std::string> names(Stage stage) const;

 private:
  std::vector<Pass> passes_;
};

/// The passes of this library. Add your own before the first use.
PassRegistry& passes();

}  // namespace sparsebit::passes

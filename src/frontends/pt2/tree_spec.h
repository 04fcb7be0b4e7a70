#pragma once

#include "sparsebit/fx/ops/value.h"

#include <span>
#include <string>
#include <vector>

namespace sparsebit::frontends::pt2 {

/// How the results of a program are nested; torch flattens them and stores this description.
struct TreeSpec {
  enum class Kind { Leaf, Tuple, List, Dict };
  Kind kind = Kind::Leaf;
  std::vector<std::string> keys = {};  ///< of a dict, one for each child
  std::vector<TreeSpec> children = {};

  size_t leaves() const;
};

/// Reads torch's text: `[1, {"type": "builtins.tuple", "context": "null", "children_spec": ...}]`.
/// Classes with named fields (outputs of transformers) are dicts, others tuples. Throws
/// InvalidModel.
TreeSpec parse_tree_spec(const std::string& text);

/// Nests the leaves as described. Their number is spec.leaves().
fx::Value unflatten(const TreeSpec& spec, std::span<const fx::Value> leaves);

/// Names of the leaves that are not None: `output` for a single one, else `logits` for an entry of
/// a dict, `output_0` for an item of a tuple, and `past.0` or `past.key` for nested ones.
std::vector<std::string> leaf_names(const TreeSpec& spec, std::span<const fx::Value> leaves);

}  // namespace sparsebit::frontends::pt2

#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace sparsebit::fx {

/// The name a node gets from its target, before it is made unique: the last part of a function
/// name ("torch.nn.functional.relu" -> "relu"), a magic method without its underscores
/// ("__add__" -> "add"), everything in snake_case ("LayerNorm" -> "layer_norm").
std::string name_from_function(std::string_view target);
std::string name_from_path(std::string_view target);

/// Creates unique identifiers by torch.fx's rules, so that node names, and config patterns that
/// match them, are the same as in torch.fx.
///
/// Illegal characters become '_', a leading digit gains one, Python's keywords and builtins are
/// avoided ("input" -> "input_1"), and a taken name counts up ("relu", "relu_1", "relu_2").
/// A name is never given twice, not even after its node was erased.
class Namespace {
 public:
  std::string unique(std::string_view candidate);
  bool contains(const std::string& name) const { return used_.contains(name); }

 private:
  /// Free numbers of one base, as a forest in which a taken number points to a later one.
  using NextNumber = std::unordered_map<int64_t, int64_t>;
  static int64_t free_number(NextNumber& next, int64_t number);

  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, NextNumber> next_by_base_;
};

}  // namespace sparsebit::fx

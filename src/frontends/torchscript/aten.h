#pragma once

#include "frontends/torchscript/builder.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sparsebit::frontends::torchscript {

/// A call of an ATen operator, its arguments by the names of ATen's schema.
struct AtenCall {
  std::string name;  ///< "add_", "_convolution"
  std::vector<std::pair<std::string, fx::Value>> args;
  size_t outputs = 1;

  bool has(std::string_view argument) const { return find(argument) != nullptr; }
  /// None when absent.
  fx::Value operator[](std::string_view argument) const;
  const fx::Value* find(std::string_view argument) const;
};

/// Operators whose arguments or results differ from those of the vocabulary by more than names;
/// nothing for all others.
std::optional<ScriptValues> write_special(GraphBuilder& builder, const AtenCall& call);

}  // namespace sparsebit::frontends::torchscript

#pragma once

#include "frontends/torchscript/builder.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::frontends::torchscript {

/// An argument of a call, named as in ATen's schema.
struct AtenArgument {
  std::string name;
  fx::Value value;
  bool is_default = false;  ///< equals the schema's default, so it may be left out
};

/// A call of an operator of ATen or of another library, from a TorchScript or .pt2 file.
struct AtenCall {
  std::string name;  ///< "add_", "_convolution"
  std::vector<AtenArgument> args;
  size_t outputs = 1;
  std::string library = "aten";
  bool has_tensors = true;  ///< takes or gives tensors, not only numbers, strings and lists of them

  bool has(std::string_view argument) const { return find(argument) != nullptr; }
  /// None when absent.
  fx::Value operator[](std::string_view argument) const;
  const fx::Value* find(std::string_view argument) const;
  /// All values in order.
  std::vector<fx::Value> values() const;
};

/// Writes the call as an operator of the operator table: by a rule of write_special(), by its name
/// and the names of its arguments, or, when the table does not have it, as `torch.ops.aten.name`.
ScriptValues write_call(GraphBuilder& builder, AtenCall call);

/// Operators whose arguments or results differ from those of the vocabulary by more than names;
/// empty for all others.
std::optional<ScriptValues> write_special(GraphBuilder& builder, const AtenCall& call);

/// Writes the call as the operator of the table with this spelling; empty when the arguments do not
/// match those of the operator.
std::optional<fx::Value> write_spelling(GraphBuilder& builder, const std::string& spelled,
                                        const std::vector<AtenArgument>& given,
                                        const fx::Kwargs& more = {});

/// Converts element types and memory formats, which TorchScript writes as ints, to the vocabulary.
fx::Value named_constant(const std::string& argument, const fx::Value& value);

}  // namespace sparsebit::frontends::torchscript

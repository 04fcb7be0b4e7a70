// Converts operators in the code of a TorchScript file to calls of ATen.

#include "frontends/torchscript/aten.h"
#include "frontends/torchscript/interpreter.h"
#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/operator.h"

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <regex>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;
namespace jit = torch::jit;

std::vector<AtenArgument> read_arguments(GraphBuilder& builder, const c10::FunctionSchema& schema,
                                         const ScriptValues& in) {
  std::vector<AtenArgument> given;
  for (size_t i = 0; i < in.size() && i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    bool is_default = false;
    if (argument.default_value() && in[i].is_known() && !in[i].is<ObjectRef>()) {
      const ScriptValue expected = from_ivalue(*argument.default_value());
      is_default =
          expected.is_value() && in[i].is_value() && expected.value().same_as(in[i].value());
    }
    given.push_back(
        {argument.name(), named_constant(argument.name(), builder.argument(in[i])), is_default});
  }
  if (!schema.is_vararg()) return given;
  for (size_t i = given.size(); i < in.size(); ++i)
    given.push_back({"", builder.argument(in[i]), false});
  return given;
}

bool takes_tensor(const jit::Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), [](const jit::Value* input) {
    c10::TypePtr type = input->type();
    if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
    if (const auto list = type->cast<c10::ListType>()) type = list->getElementType();
    return type->kind() == c10::TypeKind::TensorType;
  });
}

bool makes_tensor(const jit::Node& node) {
  return !node.outputs().empty() && node.outputs()[0]->type()->kind() == c10::TypeKind::TensorType;
}

}  // namespace

bool is_foreign(const jit::Node& node) {
  const std::string space = node.kind().ns().toUnqualString();
  return space != "aten" && space != "prim";
}

ScriptValues write_operator(GraphBuilder& builder, jit::Node& node, const ScriptValues& in) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  SPARSEBIT_CHECK(schema, Unsupported, "operation ", node.kind().toQualString(),
                  " is not supported");
  return write_call(builder, {.name = node.kind().toUnqualString(),
                              .args = read_arguments(builder, *schema, in),
                              .outputs = node.outputs().size(),
                              .library = node.kind().ns().toUnqualString(),
                              .has_tensors = takes_tensor(node) || makes_tensor(node)});
}

std::optional<ScriptValue> write_function(GraphBuilder& builder, const jit::Function& function,
                                          const ScriptValues& in) {
  static const std::regex overload("__\\d+$");
  const std::string name =
      std::regex_replace(plain_name(function.qualname().qualifiedName()), overload, "");
  const bool ours =
      name.starts_with("torch.nn.functional.") || name.starts_with("torchvision.ops.");
  const fx::Spelling* spelling = ours ? fx::operators().find(name) : nullptr;
  if (!spelling || !spelling->form) return std::nullopt;
  const std::vector<AtenArgument> given = read_arguments(builder, function.getSchema(), in);
  if (auto result = write_spelling(builder, name, given)) return ScriptValue(*result);
  return std::nullopt;
}

}  // namespace sparsebit::frontends::torchscript

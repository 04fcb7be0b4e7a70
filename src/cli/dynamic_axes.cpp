#include "cli/dynamic_axes.h"

#include "easy/error_text.h"
#include "easy/model_inputs.h"
#include "easy/shape_text.h"
#include "easy/usage_error.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace sparsebit::cli {
namespace {

DynamicAxis parse_axis(const std::string& text) {
  const size_t equals = text.rfind('=');
  const size_t colon = equals == std::string::npos ? equals : text.rfind(':', equals);
  const bool whole = colon != std::string::npos && colon > 0 && equals + 1 < text.size();
  const std::optional<int64_t> dim =
      whole ? parse_number(std::string_view(text).substr(colon + 1, equals - colon - 1))
            : std::nullopt;
  if (!dim || *dim < 0) {
    throw UsageError("--dynamic " + text + ": expected NAME:DIMENSION=SYMBOL, such as x:0=batch");
  }
  DynamicAxis axis{text, text.substr(0, colon), *dim, text.substr(equals + 1)};
  if (parse_number(axis.symbol)) {
    throw UsageError("--dynamic " + text + ": '" + axis.symbol +
                     "' is a number, not a name such as batch; --shape fixes a size");
  }
  return axis;
}

/// The current shape of an input; nothing if unknown.
std::optional<std::vector<int64_t>> shape_of(const LoadedModel& model, const std::string& input) {
  const std::vector<fx::Node*> inputs = model.module->graph().placeholders();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->target() != input) continue;
    if (inputs[i]->tensor_info()) return inputs[i]->tensor_info()->shape;
    if (i < model.example_inputs.size() && model.example_inputs[i].is_tensor())
      return model.example_inputs[i].tensor().sizes().vec();
  }
  return {};
}

exports::OnnxExportOptions with_axes(exports::OnnxExportOptions options,
                                     const std::vector<DynamicAxis>& axes,
                                     const std::string* only = nullptr) {
  for (const DynamicAxis& axis : axes) {
    if (only == nullptr || axis.symbol == *only)
      options.dynamic_axes[axis.input][axis.dim] = axis.symbol;
  }
  return options;
}

/// Why the model cannot be exported; nothing if it can.
std::optional<std::string> failure(const fx::GraphModule& module,
                                   const exports::OnnxExportOptions& options) {
  try {
    exports::to_onnx(module, options);
    return {};
  } catch (const std::exception& e) {
    const std::string text = error_text(e);
    return text.substr(0, text.find('\n'));
  }
}

}  // namespace

std::vector<DynamicAxis> parse_dynamic(const std::vector<std::string>& texts) {
  std::vector<DynamicAxis> axes;
  std::set<std::pair<std::string, int64_t>> seen;
  for (const std::string& text : texts) {
    axes.push_back(parse_axis(text));
    if (!seen.emplace(axes.back().input, axes.back().dim).second)
      throw UsageError("--dynamic " + text + ": this dimension is given twice");
  }
  return axes;
}

void check_dynamic(const std::vector<DynamicAxis>& axes, const LoadedModel& model) {
  std::map<std::string, std::pair<int64_t, const DynamicAxis*>> sizes;  // by symbol
  for (const DynamicAxis& axis : axes) {
    check_input(*model.module, axis.input);
    const std::optional<std::vector<int64_t>> shape = shape_of(model, axis.input);
    if (!shape) continue;
    SPARSEBIT_CHECK(axis.dim < static_cast<int64_t>(shape->size()), InvalidArgument, "--dynamic ",
                    axis.text, ": '", axis.input, "' has ", shape->size(),
                    " dimensions, counted from 0");
    const int64_t size = (*shape)[static_cast<size_t>(axis.dim)];
    if (size < 0) continue;
    const auto& [first, other] = sizes.emplace(axis.symbol, std::pair(size, &axis)).first->second;
    SPARSEBIT_CHECK(first == size, InvalidArgument, "--dynamic ", axis.text, ": '", axis.symbol,
                    "' is ", size, " here and ", first, " at ", other->input, ":", other->dim,
                    "; dimensions with the same symbol must be equal");
  }
}

void export_with_dynamic(const LoadedModel& model, const std::vector<DynamicAxis>& axes,
                         const std::string& path, const exports::OnnxExportOptions& options) {
  try {
    exports::export_onnx(*model.module, path, with_axes(options, axes));
  } catch (const Error& e) {
    if (axes.empty() || e.kind() == ErrorKind::Io || failure(*model.module, options)) throw;
    for (const DynamicAxis& axis : axes) {
      const auto reason = failure(*model.module, with_axes(options, axes, &axis.symbol));
      SPARSEBIT_CHECK(
          !reason, InvalidArgument, "--dynamic ", axis.text, ": '", axis.symbol,
          "' cannot be dynamic, because the model fails with another size: ", reason.value_or(""));
    }
    const std::string text = error_text(e);
    throw Error(ErrorKind::InvalidArgument,
                "--dynamic: these dimensions cannot all be dynamic, because the model fails with "
                "other sizes: " +
                    text.substr(0, text.find('\n')));
  }
}

}  // namespace sparsebit::cli

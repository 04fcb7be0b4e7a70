#include "easy/given_inputs.h"

#include "easy/usage_error.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <set>
#include <utility>

namespace sparsebit::easy {

using fx::TensorInfo;

std::pair<std::string, std::string> split_name(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || std::filesystem::exists(text)) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

namespace {

void check_names_differ(const std::vector<std::string>& files) {
  std::set<std::string> seen;
  for (const std::string& text : files) {
    const std::string name = split_name(text).first;
    if (!name.empty() && !seen.insert(name).second)
      throw UsageError("--input " + text + ": input '" + name + "' is given twice");
  }
}

}  // namespace

std::vector<GivenShape> given_shapes(const InputOptions& options) {
  std::vector<GivenShape> shapes;
  std::set<std::string> seen;
  for (const std::string& text : options.shapes) {
    shapes.push_back(parse_shape(text));
    if (!seen.insert(shapes.back().input).second)
      throw UsageError(
          "--shape " + text + ": the shape of " +
          (shapes.back().input.empty() ? "the input" : "'" + shapes.back().input + "'") +
          " is given twice");
  }
  return shapes;
}

std::vector<std::string> named_inputs(const InputOptions& options) {
  check_names_differ(options.files);
  std::vector<std::string> names;
  for (const std::string& text : options.files) {
    if (const auto given = split_name(text); !given.first.empty()) names.push_back(given.first);
  }
  for (const GivenShape& shape : given_shapes(options)) {
    if (!shape.input.empty()) names.push_back(shape.input);
  }
  return names;
}

KnownShapes known_shapes(const InputOptions& options) {
  KnownShapes known;
  for (const GivenShape& shape : given_shapes(options))
    known.emplace(shape.input, TensorInfo{shape.shape, shape.dtype.value_or(at::kFloat)});
  for (const std::string& text : options.files) {
    const auto [name, file] = split_name(text);
    try {
      const at::Tensor tensor = io::load_npy(file);
      known.insert_or_assign(name, TensorInfo{tensor.sizes().vec(), tensor.scalar_type()});
    } catch (const Error&) {
      continue;  // make_inputs() reports it, with the name of the input
    }
  }
  return known;
}

}  // namespace sparsebit::easy

#include "passes/simplify/result_size.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

namespace sparsebit::passes {
namespace {

/// Names of arguments that are positions in another, and of those that are elements of a result.
constexpr std::array kIndices = {"index", "indices", "input"};
constexpr std::array kFillings = {"fill_value", "value", "values", "other", "updates"};

// -------------------

void collect_tensors(const fx::Value& value, std::vector<at::Tensor>& tensors) {
  value.map_items([&](const fx::Value& item) {
    if (item.is_tensor()) tensors.push_back(item.tensor());
    return item;
  });
}

/// Elements of what the tensors are broadcast to.
double broadcast_size(const std::vector<at::Tensor>& tensors) {
  std::vector<int64_t> sizes;  // the last axis first
  for (const at::Tensor& tensor : tensors) {
    sizes.resize(std::max(sizes.size(), static_cast<size_t>(tensor.dim())), 1);
    for (int64_t axis = 0; axis < tensor.dim(); ++axis)
      sizes[axis] = std::max(sizes[axis], tensor.size(tensor.dim() - 1 - axis));
  }
  return std::accumulate(sizes.begin(), sizes.end(), 1., std::multiplies<double>());
}

double size_of(const at::Tensor& tensor) { return static_cast<double>(tensor.numel()); }

bool is_integral(const at::Tensor& tensor) {
  return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
}

/// Elements when each of one tensor meets each of the others.
double product_of_sizes(const std::vector<at::Tensor>& tensors) {
  return std::accumulate(
      tensors.begin(), tensors.end(), 1.,
      [](double product, const auto& tensor) { return product * size_of(tensor); });
}

/// Elements when each index meets a row of a table, whatever axis it is looked up on. Nothing when
/// this is no such call.
std::optional<double> lookup_size(const fx::Args& args, const std::vector<at::Tensor>& tensors) {
  if (tensors.size() != 2 || is_integral(tensors[0]) == is_integral(tensors[1]))
    return std::nullopt;
  const at::Tensor& index = tensors[is_integral(tensors[0]) ? 0 : 1];
  const at::Tensor& table = tensors[is_integral(tensors[0]) ? 1 : 0];
  const bool is_index = std::any_of(kIndices.begin(), kIndices.end(), [&](const char* name) {
    return args.has(name) && args[name].is_tensor() && args[name].tensor().is_same(index);
  });
  if (!is_index || table.numel() < 2 || table.dim() == 0) return std::nullopt;
  const int64_t shortest = *std::min_element(table.sizes().begin(), table.sizes().end());
  return size_of(index) * size_of(table) / static_cast<double>(shortest);
}

double sum_of_sizes(const std::vector<at::Tensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), 0.,
                         [](double sum, const auto& part) { return sum + size_of(part); });
}

/// The product of numbers that may be sizes: a list of them, or a tensor as short as a shape is.
/// @param with_floats  bounds of a range may be any numbers.
double sizes_in(const fx::Value& value, bool with_floats) {
  constexpr int64_t kMostAxes = 16;
  double product = 1;
  value.map_items([&](const fx::Value& item) {
    const bool counts = item.is_int() || (item.is_double() && with_floats);
    const bool is_shape = item.is_tensor() && item.tensor().numel() <= kMostAxes &&
                          (is_integral(item.tensor()) || with_floats);
    if (counts) product *= std::max(1., std::abs(item.to_double()));
    if (is_shape) product *= item.tensor().to(at::kDouble).abs().clamp_min(1).prod().item<double>();
    return item;
  });
  return product;
}

}  // namespace

double most_numbers(const fx::OperatorCall& call) {
  std::vector<at::Tensor> tensors;
  double all_sizes = 1, largest_list = 1;
  const std::vector<fx::Value>& values = call.args.values();
  for (size_t i = 0; i < values.size(); ++i) {
    collect_tensors(values[i], tensors);
    const bool is_filling = std::find(kFillings.begin(), kFillings.end(),
                                      call.op->schema.parameters()[i].name) != kFillings.end();
    const double sizes = is_filling ? 1 : sizes_in(values[i], call.args.has("start"));
    all_sizes *= sizes;
    if (values[i].is_sequence()) largest_list = std::max(largest_list, sizes);
  }
  const bool joins = call.op->name == "cat" || call.op->name == "stack";
  if (joins) return sum_of_sizes(tensors);
  if (call.op->elements == fx::Elements::OfOperands)
    return std::max(broadcast_size(tensors), largest_list);
  return lookup_size(call.args, tensors).value_or(product_of_sizes(tensors) * all_sizes);
}

}  // namespace sparsebit::passes

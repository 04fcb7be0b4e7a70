#include "sparsebit/fx/ops/result_size.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/memory_limit.h"
#include "sparsebit/fx/ops/for_each_item.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace sparsebit::fx {
namespace {

using Tensors = std::vector<at::Tensor>;

/// The most axes of a shape. Also the most numbers that an operator returns for an element: nonzero
/// returns one per axis, sort returns two.
constexpr int64_t kMostAxes = 16;

double elements(const at::Tensor& tensor) { return static_cast<double>(tensor.numel()); }

bool is_integral(const at::Tensor& tensor) {
  return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
}

Tensors tensors_in(const Args& args) {
  Tensors tensors;
  for (const Value& value : args.values()) {
    for_each_item(value, [&](const Value& item) {
      if (item.is_tensor()) tensors.push_back(item.tensor());
    });
  }
  return tensors;
}

double total(const Tensors& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), 0.,
                         [](double sum, const auto& tensor) { return sum + elements(tensor); });
}

double product(const Tensors& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), 1., [](double all, const auto& tensor) {
    return all * std::max(1., elements(tensor));
  });
}

double broadcast(const Tensors& tensors) {
  std::vector<int64_t> sizes;  // the last axis first
  for (const at::Tensor& tensor : tensors) {
    sizes.resize(std::max(sizes.size(), static_cast<size_t>(tensor.dim())), 1);
    for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
      int64_t& size = sizes[static_cast<size_t>(axis)];
      size = std::max(size, tensor.size(tensor.dim() - 1 - axis));
    }
  }
  return std::accumulate(sizes.begin(), sizes.end(), 1., std::multiplies<double>());
}

/// Bound of a lookup of rows, whatever the axis: the table is the tensor without integers.
double lookup(const Tensors& tensors) {
  const bool fits = tensors.size() == 2 && is_integral(tensors[0]) != is_integral(tensors[1]);
  if (!fits) return std::max(total(tensors), tensors.size() < 2 ? 0 : product(tensors));
  const at::Tensor& index = tensors[is_integral(tensors[0]) ? 0 : 1];
  const at::Tensor& table = tensors[is_integral(tensors[0]) ? 1 : 0];
  if (table.dim() == 0 || table.numel() == 0) return total(tensors);
  const int64_t shortest = *std::min_element(table.sizes().begin(), table.sizes().end());
  return std::max(total(tensors),  // an index may be a bound of a slice
                  elements(index) * elements(table) / static_cast<double>(shortest));
}

/// Bound for lists and strings that are repeated, joined or made a tensor: `[0] * 1000`.
double python_items(const Args& args) {
  double items = 0, factor = 1;
  for (const Value& value : args.values()) {
    if (value.is_int()) factor *= std::max(1., std::abs(value.to_double()));
    if (value.is_string()) items += static_cast<double>(value.string().size());
    if (!value.is_sequence()) continue;
    for_each_item(value, [&](const Value&) { ++items; });
  }
  return std::max(1., items * factor);
}

/// The product of all numbers that may be sizes. A tensor as short as a shape counts as one; a
/// longer integer tensor counts as its largest element.
double sizes_in(const Value& value) {
  double sizes = 1;
  for_each_item(value, [&](const Value& item) {
    if (item.is_int() || item.is_double()) sizes *= 1 + std::abs(item.to_double());
    if (item.is_tensor() && item.tensor().numel() > 0 && item.tensor().dim() < 2) {
      const at::Tensor numbers = item.tensor().detach().to(at::kDouble).abs() + 1;
      const bool is_shape = numbers.numel() <= kMostAxes;
      const bool counts = is_integral(item.tensor()) || is_shape;
      if (counts) sizes *= (is_shape ? numbers.prod() : numbers.max()).item<double>();
    }
  });
  return sizes;
}

std::optional<double> number(const Args& args, const char* name) {
  if (!args.has(name)) return std::nullopt;
  const Value& value = args[name];
  const bool is_one = value.is_number() || (value.is_tensor() && value.tensor().numel() == 1);
  return is_one ? std::optional(value.to_double()) : std::nullopt;
}

/// Factor for ranges: a step below 1 gives more elements than the difference of the bounds.
double steps_of(const Args& args) {
  const double step = std::abs(number(args, "step").value_or(number(args, "delta").value_or(1)));
  return step > 0 && step < 1 ? 1 / step : 1;
}

/// Whether one number applies to each axis of an image or a volume.
bool is_for_each_axis(const Parameter& parameter, const Value& value) {
  static const std::unordered_set<std::string> names = {
      "n",      "size",           "scale_factor", "output_size", "kernel_size",
      "stride", "output_padding", "padding",      "dilation"};
  return value.is_number() && !parameter.variadic && names.contains(parameter.name);
}

/// The product of all numbers that may be sizes, without those that fill the result.
double all_sizes(const Args& args) {
  double sizes = steps_of(args);
  const std::vector<Parameter>& parameters = args.schema().parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].name;
    if (name == "fill_value" || name == "value" || name == "constant_value") continue;
    const double value = sizes_in(args.values()[i]);
    sizes *= is_for_each_axis(parameters[i], args.values()[i]) ? std::pow(value, 3) : value;
  }
  return sizes;
}

}  // namespace

double most_elements(const Operator& op, const Args& args) {
  const Tensors tensors = tensors_in(args);
  switch (op.growth) {
    case Growth::None:
      // Views only move or broadcast elements: at most one result for each tensor, and a mask.
      if (op.view && !tensors.empty())
        return 2. * static_cast<double>(tensors.size()) *
               std::max(total(tensors), broadcast(tensors));
      return tensors.empty() ? python_items(args)
                             : kMostAxes * std::max(total(tensors), broadcast(tensors));
    case Growth::Lookup:
      return lookup(tensors);
    case Growth::Product:  // of one tensor: with itself, as diag does
      return tensors.size() == 1 ? std::pow(elements(tensors[0]) * all_sizes(args), 2)
                                 : static_cast<double>(tensors.size()) * product(tensors);
    case Growth::Sizes:
      return all_sizes(args) * product(tensors);
  }
  return 0;
}

void check_result_size(const Value& result) {
  if (!result.is_tensor() || !result.tensor().defined()) return;
  const at::Tensor& tensor = result.tensor();
  const int64_t item = static_cast<int64_t>(tensor.element_size());
  if (tensor.numel() <= memory_limit() / item) return;
  throw Error(
      ErrorKind::TooLarge,
      fmt::format("the result of shape {} has {:.4g} elements, {}; the limit is {}; {} raises it",
                  c10::str(tensor.sizes()), elements(tensor),
                  bytes_text(elements(tensor) * static_cast<double>(item)),
                  bytes_text(static_cast<double>(memory_limit())), kMemoryOption));
}

}  // namespace sparsebit::fx

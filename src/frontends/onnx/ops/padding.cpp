#include "frontends/onnx/ops/axis.h"
#include "frontends/onnx/ops/families.h"
#include "frontends/onnx/ops/growth.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {
namespace {

using fx::List;
using fx::Value;
using Ints = std::vector<int64_t>;

bool is_zero(const Value& amount) { return amount.is_int() && amount.to_int() == 0; }

/// Padding before and after each axis; empty when it is not known.
std::optional<std::vector<std::pair<Value, Value>>> read_amounts(Conversion& c) {
  const auto attribute = c.opset() < 11 ? c.attributes().ints("pads") : std::nullopt;
  const auto pads = attribute ? Value(*attribute).get<List>() : c.int_list(1);
  const auto rank = c.rank(0);
  if (!pads || !rank) return std::nullopt;
  Ints axes;
  for (int64_t i = 0; i < *rank; ++i) axes.push_back(i);
  if (c.has_input(3)) {
    const auto given = c.constant_ints(3);
    if (!given) return std::nullopt;
    axes = *given;
  }
  SPARSEBIT_CHECK(pads->items.size() == 2 * axes.size(), InvalidModel, "pads has ",
                  pads->items.size(), " entries for ", axes.size(), " axes");
  std::vector<std::pair<Value, Value>> amounts(static_cast<size_t>(*rank), {0, 0});
  for (size_t i = 0; i < axes.size(); ++i) {
    amounts[static_cast<size_t>(wrap_axis(axes[i], *rank))] = {pads->items[i],
                                                               pads->items[axes.size() + i]};
  }
  return amounts;
}

/// The result's sizes, -1 where they are not known.
Ints padded_sizes(const Conversion& c, const std::vector<std::pair<Value, Value>>& amounts) {
  Ints sizes = c.info(0)->shape;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto& [before, after] = amounts[i];
    const bool known = sizes[i] >= 0 && before.is_int() && after.is_int();
    const bool fits = known && !__builtin_add_overflow(sizes[i], before.to_int(), &sizes[i]) &&
                      !__builtin_add_overflow(sizes[i], after.to_int(), &sizes[i]);
    if (!fits) sizes[i] = -1;
  }
  return sizes;
}

/// Whether torch supports other modes than "constant" here: only along the last axes of small
/// ranks.
bool torch_can_mirror(const std::vector<std::pair<Value, Value>>& amounts, size_t padded) {
  for (const auto& [before, after] : amounts) {
    const bool plain =
        before.is_int() && after.is_int() && before.to_int() >= 0 && after.to_int() >= 0;
    if (!plain) return false;
  }
  return padded >= 1 && padded <= 3 && amounts.size() == padded + 2;
}

/// torch's name of a mode; empty when torch has none or means something else by it.
std::string torch_mode(const std::string& mode) {
  if (mode == "reflect" || mode == "constant") return mode;
  return mode == "edge" ? "replicate" : "";
}

void convert_pad(Conversion& c) {
  const Attributes& a = c.attributes();
  const std::string mode = a.text("mode", "constant");
  const auto fill = c.opset() < 11   ? std::optional(a.number("value", 0.0))
                    : c.has_input(2) ? c.constant_number(2)
                                     : std::optional(0.0);
  const auto amounts = read_amounts(c);
  size_t padded = 0;  // trailing axes
  for (size_t i = 0; amounts && i < amounts->size(); ++i) {
    const auto& [before, after] = (*amounts)[i];
    if (padded == 0 && !(is_zero(before) && is_zero(after))) padded = amounts->size() - i;
  }
  const std::string torch_name = torch_mode(mode);
  const bool torch_can =
      amounts && fill && !torch_name.empty() &&
      (mode == "constant" || (torch_can_mirror(*amounts, amounts->size() - 2) &&
                              padded <= amounts->size() - 2 && c.dtype(0) == at::kFloat));
  if (!torch_can) {
    const auto known = a.ints("pads");
    const Value pads = c.opset() < 11 && known ? Value(*known) : c.tensor(1);
    const Value value = c.opset() < 11 ? Value(*fill) : c.tensor(2);
    return c.give(c.node("onnx.Pad", {c.tensor(0), pads, value, c.tensor(3)}, {{"mode", mode}}));
  }
  const size_t count = mode == "constant" ? padded : amounts->size() - 2;
  List list;  // from the last axis
  for (size_t i = amounts->size(); i-- > amounts->size() - count;) {
    list.items.push_back((*amounts)[i].first);
    list.items.push_back((*amounts)[i].second);
  }
  fx::Kwargs options = {{"mode", torch_name}};
  if (mode == "constant") options.emplace_back("value", *fill);
  c.give(function_of_size(c, "torch.nn.functional.pad", {c.tensor(0), list}, options,
                          padded_sizes(c, *amounts)));
}

}  // namespace

void add_padding_converters(Converters& r) { r.add("Pad", convert_pad); }

}  // namespace sparsebit::frontends

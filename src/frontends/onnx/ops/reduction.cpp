#include "frontends/onnx/ops/axis.h"
#include "frontends/onnx/ops/families.h"
#include "fx/ops/onnx_input.h"

#include <ATen/ATen.h>

#include <map>

namespace sparsebit::frontends {
namespace {

using fx::Value;
using Ints = std::vector<int64_t>;

/// Arguments of a reduction: `dims` in ascending order, each once.
struct Reduction {
  Value x;
  Ints dims;
  bool keep;
  std::optional<at::ScalarType> result;  ///< set for integers, whose sums torch would widen

  fx::Kwargs kwargs() const { return result ? fx::Kwargs{{"dtype", *result}} : fx::Kwargs{}; }
};

Value call(Conversion& c, const char* function, const Reduction& r) {
  return c.function(function, {r.x, r.dims, r.keep});
}

Value sum(Conversion& c, const Reduction& r) {
  return c.function("torch.sum", {r.x, r.dims, r.keep}, r.kwargs());
}

Value mean(Conversion& c, const Reduction& r) { return call(c, "torch.mean", r); }
Value max(Conversion& c, const Reduction& r) { return call(c, "torch.amax", r); }
Value min(Conversion& c, const Reduction& r) { return call(c, "torch.amin", r); }

/// torch.prod reduces one axis at a time.
Value prod(Conversion& c, const Reduction& r) {
  Value y = r.x;
  for (size_t i = r.dims.size(); i-- > 0;) {
    y = c.function("torch.prod", {y, r.dims[i], r.keep}, r.kwargs());
  }
  return y;
}

Value sum_of(Conversion& c, const char* function, Reduction r) {
  r.x = c.function(function, {r.x});
  return sum(c, r);
}

Value l1(Conversion& c, const Reduction& r) {
  if (r.result) return sum_of(c, "torch.abs", r);
  return c.function("torch.norm", {r.x, 1, r.dims, r.keep});
}

Value l2(Conversion& c, const Reduction& r) {
  return c.function("torch.norm", {r.x, 2, r.dims, r.keep});
}

Value log_sum(Conversion& c, const Reduction& r) { return c.function("torch.log", {sum(c, r)}); }

Value log_sum_exp(Conversion& c, const Reduction& r) { return call(c, "torch.logsumexp", r); }

Value sum_square(Conversion& c, const Reduction& r) { return sum_of(c, "torch.square", r); }

struct ReductionKind {
  Value (*reduce)(Conversion&, const Reduction&);
  bool needs_floats;  ///< integers are reduced as doubles
};

const std::map<std::string, ReductionKind>& kinds() {
  static const std::map<std::string, ReductionKind> kinds = {
      {"ReduceL1", {l1, false}},         {"ReduceL2", {l2, true}},
      {"ReduceLogSum", {log_sum, true}}, {"ReduceLogSumExp", {log_sum_exp, true}},
      {"ReduceMax", {max, false}},       {"ReduceMean", {mean, true}},
      {"ReduceMin", {min, false}},       {"ReduceProd", {prod, false}},
      {"ReduceSum", {sum, false}},       {"ReduceSumSquare", {sum_square, false}}};
  return kinds;
}

/// A reduction whose axes or types are only known when the model runs.
void reduce_later(Conversion& c, const Value& axes, bool keep, bool noop) {
  c.give(c.function("onnx." + c.type(), {c.tensor(0), axes},
                    {{"keepdims", int64_t{keep}}, {"noop_with_empty_axes", int64_t{noop}}}));
}

void reduce_now(Conversion& c, const Ints& axes, bool keep) {
  const ReductionKind& kind = kinds().at(c.type());
  const at::ScalarType dtype = *c.dtype(0);
  const bool integers = at::isIntegralType(dtype, /*includeBool=*/true);
  for (const int64_t axis : axes) wrap_axis(axis, *c.rank(0));  // checks it
  Reduction r{
      .x = c.tensor(0), .dims = fx::reduced_dims(axes, *c.rank(0)), .keep = keep, .result = {}};
  if (integers && !kind.needs_floats) r.result = dtype;
  if (!integers || !kind.needs_floats) return c.give(kind.reduce(c, r));
  r.x = c.method("to", {r.x, at::kDouble});
  c.give(c.method("to", {kind.reduce(c, r), dtype}));
}

/// Without axes only the elementwise functions before and after the reduction are left.
Value reduce_nothing(Conversion& c) {
  static const std::map<std::string, const char*> steps = {{"ReduceL1", "torch.abs"},
                                                           {"ReduceL2", "torch.abs"},
                                                           {"ReduceLogSum", "torch.log"},
                                                           {"ReduceSumSquare", "torch.square"}};
  const auto it = steps.find(c.type());
  return it == steps.end() ? c.tensor(0) : c.function(it->second, {c.tensor(0)});
}

/// Axes are an attribute in older operator sets and an input in newer ones.
void convert_reduction(Conversion& c) {
  const bool as_input = c.opset() >= (c.type() == "ReduceSum" ? 13 : 18);
  const bool keep = c.attributes().flag("keepdims", true);
  const bool noop = as_input && c.attributes().flag("noop_with_empty_axes", false);
  const bool given = as_input && c.has_input(1);
  const auto axes = given      ? c.constant_ints(1)
                    : as_input ? Ints{}
                               : c.attributes().ints("axes", {});
  if (axes && axes->empty() && noop) return c.give(reduce_nothing(c));
  if (axes && c.rank(0)) return reduce_now(c, *axes, keep);
  reduce_later(c, !axes ? c.tensor(1) : axes->empty() ? Value() : Value(*axes), keep, noop);
}

/// torch gives the first of several equal extremes; for the last one the axis is reversed.
void convert_position(Conversion& c) {
  const int64_t axis = c.attributes().integer("axis", 0);
  const bool keep = c.attributes().flag("keepdims", true);
  const bool last = c.opset() >= 12 && c.attributes().flag("select_last_index", false);
  const auto rank = c.rank(0);
  if (rank) wrap_axis(axis, *rank);  // checks it
  const char* const function = c.type() == "ArgMax" ? "torch.argmax" : "torch.argmin";
  const Value x = c.tensor(0);
  if (!last) return c.give(c.function(function, {x, axis, keep}));
  const Value backwards = c.function("torch.flip", {x, Ints{axis}});
  const Value end = c.function("operator.sub", {c.size(0, axis), 1});
  c.give(c.function("operator.sub", {end, c.function(function, {backwards, axis, keep})}));
}

}  // namespace

void add_reduction_converters(Converters& r) {
  for (const auto& [type, kind] : kinds()) r.add(type, convert_reduction);
  r.add("ArgMax", convert_position);
  r.add("ArgMin", convert_position);
}

}  // namespace sparsebit::frontends

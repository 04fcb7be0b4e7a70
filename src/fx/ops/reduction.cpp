#include "fx/ops/families.h"
#include "fx/ops/operand.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

/// `dim` as ATen wants it: a reference that lives as long as this object, or none for all.
class Dims {
 public:
  Dims() = default;
  explicit Dims(const Args& a) : dims_(a.optional_ints("dim")) {}
  operator at::OptionalIntArrayRef() const {  // NOLINT, it only exists to be passed on
    return dims_ ? at::OptionalIntArrayRef(*dims_) : at::OptionalIntArrayRef();
  }
  bool all() const { return !dims_; }
  std::vector<int64_t> list() const { return dims_.value_or(std::vector<int64_t>{}); }

 private:
  c10::optional<std::vector<int64_t>> dims_;
};

/// Over all elements, over one dim with (values, indices), or elementwise with another tensor.
Kernel extremum(Tensor (*over_all)(const Tensor&),
                std::tuple<Tensor, Tensor> (*over_dim)(const Tensor&, int64_t, bool),
                TensorBinary elementwise) {
  return [=](const Args& a) -> Value {
    const Tensor x = a.tensor("input");
    if (a["dim"].is_tensor()) return elementwise(x, a.tensor("dim"));
    if (a.is_none("dim")) return over_all(x);
    return tuple_of(over_dim(x, a.integer("dim"), a.flag("keepdim")));
  };
}

Kernel over_dims(Tensor (*reduce)(const Tensor&, at::IntArrayRef, bool)) {
  return [=](const Args& a) -> Value {
    return reduce(a.tensor("input"), Dims(a).list(), a.flag("keepdim"));
  };
}

Kernel position(Tensor (*find)(const Tensor&, c10::optional<int64_t>, bool)) {
  return [=](const Args& a) -> Value {
    return find(a.tensor("input"), a.optional_integer("dim"), a.flag("keepdim"));
  };
}

Kernel total(Tensor (*reduce)(const Tensor&, at::OptionalIntArrayRef, bool,
                              c10::optional<at::ScalarType>)) {
  return [=](const Args& a) -> Value {
    return reduce(a.tensor("input"), Dims(a), a.flag("keepdim"), a.optional_dtype("dtype"));
  };
}

Value prod(const Args& a) {
  const Tensor x = a.tensor("input");
  const auto dtype = a.optional_dtype("dtype");
  if (a.is_none("dim")) return at::prod(x, dtype);
  return at::prod(x, a.integer("dim"), a.flag("keepdim"), dtype);
}

/// In `torch.var(x, False)` the second argument is `unbiased`; everywhere else it is `dim`.
struct Spread {
  explicit Spread(const Args& a) : keepdim(a.flag("keepdim")) {
    const bool short_form = a["dim"].is_bool();
    const bool unbiased = a.flag(short_form ? "dim" : "unbiased");
    if (!short_form) dim = Dims(a);
    correction = a.optional_integer("correction").value_or(unbiased ? 1 : 0);
  }

  Dims dim;
  c10::optional<int64_t> correction;
  bool keepdim;
};

constexpr const char* kSpread =
    "input, dim|axis=None, unbiased=True, keepdim|keepdims=False, *, correction=None";

Value norm(const Args& a) {
  const Tensor x = a.tensor("input");
  const Dims dims(a);
  const bool keepdim = a.flag("keepdim");
  const auto dtype = a.optional_dtype("dtype");
  const Value& p = a["p"];
  if (p.is_string() && p.string() == "nuc") {
    const Tensor y = dtype ? x.to(*dtype) : x;
    return dims.all() ? at::nuclear_norm(y, keepdim) : at::nuclear_norm(y, dims.list(), keepdim);
  }
  const bool frobenius = p.is_none() || (p.is_string() && p.string() == "fro");
  const at::Scalar order = frobenius ? at::Scalar(2.0) : a.scalar("p");
  return at::linalg_vector_norm(x, order, dims, keepdim, dtype);
}

Kernel truth_of(Tensor (*over_all)(const Tensor&),
                Tensor (*over_dim)(const Tensor&, int64_t, bool)) {
  return [=](const Args& a) -> Value {
    const Tensor x = a.tensor("input");
    if (a.is_none("dim")) return over_all(x);
    return over_dim(x, a.integer("dim"), a.flag("keepdim"));
  };
}

void add_totals(OperatorTable& table) {
  table.add({.name = "sum",
             .schema = "input, dim|axis=None, keepdim|keepdims=False, *, dtype=None",
             .forms = {"torch.sum", "Tensor.sum"},
             .kernel = total(at::sum)});
  table.add({.name = "mean",
             .schema = "input, dim|axis=None, keepdim|keepdims=False, *, dtype=None",
             .forms = {"torch.mean", "Tensor.mean"},
             .kernel = total(at::mean)});
  table.add({.name = "prod",
             .schema = "input, dim|axis=None, keepdim|keepdims=False, *, dtype=None",
             .forms = {"torch.prod", "Tensor.prod"},
             .kernel = prod});
  table.add({.name = "logsumexp",
             .schema = "input, dim|axis, keepdim|keepdims=False",
             .forms = {"torch.logsumexp", "Tensor.logsumexp"},
             .kernel = [](const Args& a) -> Value {
               return at::logsumexp(a.tensor("input"), a.ints("dim"), a.flag("keepdim"));
             }});
  table.add({.name = "norm",
             .schema = "input, p='fro', dim|axis=None, keepdim|keepdims=False, dtype=None",
             .forms = {"torch.norm",
                       "Tensor.norm",
                       {"torch.linalg.vector_norm",
                        "input|x, p|ord=2, dim|axis=None, keepdim|keepdims=False, *, dtype=None"}},
             .kernel = norm});
}

void add_extrema(OperatorTable& table) {
  // The second argument may also be the other operand of an elementwise maximum.
  table.add({.name = "max",
             .schema = "input, dim|axis|other=None, keepdim|keepdims=False",
             .forms = {"torch.max", "Tensor.max"},
             .kernel = extremum(at::max, at::max, at::max)});
  table.add({.name = "min",
             .schema = "input, dim|axis|other=None, keepdim|keepdims=False",
             .forms = {"torch.min", "Tensor.min"},
             .kernel = extremum(at::min, at::min, at::min)});
  table.add({.name = "amax",
             .schema = "input, dim|axis=None, keepdim|keepdims=False",
             .forms = {"torch.amax", "Tensor.amax"},
             .kernel = over_dims(at::amax)});
  table.add({.name = "amin",
             .schema = "input, dim|axis=None, keepdim|keepdims=False",
             .forms = {"torch.amin", "Tensor.amin"},
             .kernel = over_dims(at::amin)});
  table.add({.name = "argmax",
             .schema = "input, dim|axis=None, keepdim|keepdims=False",
             .forms = {"torch.argmax", "Tensor.argmax"},
             .kernel = position(at::argmax)});
  table.add({.name = "argmin",
             .schema = "input, dim|axis=None, keepdim|keepdims=False",
             .forms = {"torch.argmin", "Tensor.argmin"},
             .kernel = position(at::argmin)});
}

void add_spreads(OperatorTable& table) {
  table.add({.name = "var",
             .schema = kSpread,
             .forms = {"torch.var", "Tensor.var"},
             .kernel = [](const Args& a) -> Value {
               const Spread s(a);
               return at::var(a.tensor("input"), s.dim, s.correction, s.keepdim);
             }});
  table.add({.name = "std",
             .schema = kSpread,
             .forms = {"torch.std", "Tensor.std"},
             .kernel = [](const Args& a) -> Value {
               const Spread s(a);
               return at::std(a.tensor("input"), s.dim, s.correction, s.keepdim);
             }});
  table.add({.name = "var_mean",
             .schema = kSpread,
             .forms = {"torch.var_mean"},
             .kernel = [](const Args& a) {
               const Spread s(a);
               return tuple_of(at::var_mean(a.tensor("input"), s.dim, s.correction, s.keepdim));
             }});
  table.add({.name = "std_mean",
             .schema = kSpread,
             .forms = {"torch.std_mean"},
             .kernel = [](const Args& a) {
               const Spread s(a);
               return tuple_of(at::std_mean(a.tensor("input"), s.dim, s.correction, s.keepdim));
             }});
}

void add_tests(OperatorTable& table) {
  table.add({.name = "all",
             .schema = "input, dim|axis=None, keepdim|keepdims=False",
             .forms = {"torch.all", "Tensor.all"},
             .kernel = truth_of(at::all, at::all)});
  table.add({.name = "any",
             .schema = "input, dim|axis=None, keepdim|keepdims=False",
             .forms = {"torch.any", "Tensor.any"},
             .kernel = truth_of(at::any, at::any)});
  table.add({.name = "count_nonzero",
             .schema = "input, dim=None",
             .forms = {"torch.count_nonzero", "Tensor.count_nonzero"},
             .kernel = [](const Args& a) -> Value {
               const Dims dims(a);
               const Tensor x = a.tensor("input");
               return dims.all() ? at::count_nonzero(x) : at::count_nonzero(x, dims.list());
             }});
}

}  // namespace

void add_reduction_operators(OperatorTable& table) {
  add_totals(table);
  add_extrema(table);
  add_spreads(table);
  add_tests(table);
}

}  // namespace sparsebit::fx

#include "fx/ops/families.h"
#include "fx/ops/operand.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

/// dtype and device of a new tensor; `base` has the defaults.
at::TensorOptions options(const Args& a, at::TensorOptions base = {}) {
  if (const auto dtype = a.optional_dtype("dtype")) base = base.dtype(*dtype);
  if (!a.is_none("device")) base = base.device(a["device"].device());
  return base;
}

Tensor finish(const Args& a, Tensor made) {
  return a.flag("requires_grad") ? made.requires_grad_() : made;
}

using MakeSized = Tensor (*)(at::IntArrayRef, at::TensorOptions);
using MakeLike = Tensor (*)(const Tensor&, at::TensorOptions, c10::optional<at::MemoryFormat>);

Kernel sized(MakeSized make) {
  return [=](const Args& a) -> Value { return finish(a, make(a.ints("size"), options(a))); };
}

Kernel sized_new(MakeSized make) {
  return [=](const Args& a) -> Value {
    return finish(a, make(a.ints("size"), options(a, a.tensor("input").options())));
  };
}

Kernel sized_like(MakeLike make) {
  return [=](const Args& a) -> Value {
    const Tensor x = a.tensor("input");
    return finish(a, make(x, options(a, x.options()), at::MemoryFormat::Preserve));
  };
}

constexpr const char* kSized = "*size, dtype=None, device=None, requires_grad=False";
constexpr const char* kLike = "input, *, dtype=None, device=None, requires_grad=False";
constexpr const char* kNew = "input, *size, dtype=None, device=None, requires_grad=False";

void add_constants(OperatorTable& table) {
  // torch leaves the content of empty tensors open; zeros keep runs repeatable.
  table.add({.name = "zeros",
             .schema = kSized,
             .forms = {"torch.zeros", "torch.empty"},
             .growth = Growth::Sizes,
             .kernel = sized(at::zeros)});
  table.add({.name = "ones",
             .schema = kSized,
             .forms = {"torch.ones"},
             .growth = Growth::Sizes,
             .kernel = sized(at::ones)});
  table.add({.name = "full",
             .schema = "size, fill_value, *, dtype=None, device=None, requires_grad=False",
             .forms = {"torch.full"},
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return finish(a, at::full(a.ints("size"), a.scalar("fill_value"), options(a)));
             }});
  table.add({.name = "zeros_like",
             .schema = kLike,
             .forms = {"torch.zeros_like", "torch.empty_like"},
             .kernel = sized_like(at::zeros_like)});
  table.add({.name = "ones_like",
             .schema = kLike,
             .forms = {"torch.ones_like"},
             .kernel = sized_like(at::ones_like)});
  table.add({.name = "full_like",
             .schema = "input, fill_value, *, dtype=None, device=None, requires_grad=False",
             .forms = {"torch.full_like"},
             .kernel = [](const Args& a) -> Value {
               const Tensor x = a.tensor("input");
               return finish(a, at::full_like(x, a.scalar("fill_value"), options(a, x.options())));
             }});
  table.add({.name = "new_zeros",
             .schema = kNew,
             .forms = {"Tensor.new_zeros", "Tensor.new_empty"},
             .growth = Growth::Sizes,
             .kernel = sized_new(at::zeros)});
  table.add({.name = "new_ones",
             .schema = kNew,
             .forms = {"Tensor.new_ones"},
             .growth = Growth::Sizes,
             .kernel = sized_new(at::ones)});
  table.add({.name = "new_full",
             .schema = "input, size, fill_value, *, dtype=None, device=None, requires_grad=False",
             .forms = {"Tensor.new_full"},
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return finish(a, at::full(a.ints("size"), a.scalar("fill_value"),
                                         options(a, a.tensor("input").options())));
             }});
  table.add({.name = "tensor",
             .schema = "data, *, dtype=None, device=None, requires_grad=False",
             .forms = {"torch.tensor", {"torch.as_tensor", "data, dtype=None, device=None"}},
             .kernel = [](const Args& a) -> Value {
               const Tensor made = tensor_from(a["data"], a.optional_dtype("dtype"));
               return finish(a, made.to(options(a, made.options())));
             }});
}

/// arange(end), arange(start, end), arange(start, end, step); ints make an int64 tensor.
Value arange(const Args& a) {
  const bool only_end = a.is_none("end");
  const at::Scalar start = only_end || a.is_none("start") ? at::Scalar(0) : a.scalar("start");
  const at::Scalar end = only_end ? a.scalar("start") : a.scalar("end");
  return finish(a, at::arange(start, end, a.scalar("step"), options(a)));
}

void add_ranges(OperatorTable& table) {
  table.add(
      {.name = "arange",
       .schema = "start=None, end=None, step=1, *, dtype=None, device=None, requires_grad=False",
       .forms = {"torch.arange"},
       .growth = Growth::Sizes,
       .kernel = arange});
  table.add({.name = "linspace",
             .schema = "start, end, steps, *, dtype=None, device=None, requires_grad=False",
             .forms = {"torch.linspace"},
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return finish(a, at::linspace(a.scalar("start"), a.scalar("end"), a.integer("steps"),
                                             options(a)));
             }});
  table.add({.name = "meshgrid",
             .schema = "*tensors, indexing=None",
             .forms = {"torch.meshgrid"},
             .view = true,
             .growth = Growth::Product,
             .kernel = [](const Args& a) {
               const std::string indexing = a.is_none("indexing") ? "ij" : a.text("indexing");
               return tuple_of(at::meshgrid(a.tensors("tensors"), indexing));
             }});
}

Kernel triangle(Tensor (*pure)(const Tensor&, int64_t), Tensor& (Tensor::*inplace)(int64_t) const) {
  return [=](const Args& a) -> Value {
    const Tensor x = a.tensor("input");
    const int64_t diagonal = a.integer("diagonal");
    return a.flag("inplace") ? (x.*inplace)(diagonal) : pure(x, diagonal);
  };
}

Kernel triangle_indices(Tensor (*make)(int64_t, int64_t, int64_t, at::TensorOptions)) {
  return [=](const Args& a) -> Value {
    return make(a.integer("row"), a.integer("col"), a.integer("offset"), options(a));
  };
}

void add_matrices(OperatorTable& table) {
  table.add({.name = "eye",
             .schema = "n, m=None, *, dtype=None, device=None, requires_grad=False",
             .forms = {"torch.eye"},
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               const int64_t n = a.integer("n");
               return finish(a, at::eye(n, a.optional_integer("m").value_or(n), options(a)));
             }});
  table.add({.name = "tril",
             .schema = "input, diagonal=0, *, inplace=False",
             .forms = {"torch.tril", "Tensor.tril"},
             .inplace = {"Tensor.tril_"},
             .kernel = triangle(at::tril, &Tensor::tril_)});
  table.add({.name = "triu",
             .schema = "input, diagonal=0, *, inplace=False",
             .forms = {"torch.triu", "Tensor.triu"},
             .inplace = {"Tensor.triu_"},
             .kernel = triangle(at::triu, &Tensor::triu_)});
  table.add({.name = "tril_indices",
             .schema = "row, col, offset=0, *, dtype=torch.int64, device=None",
             .forms = {"torch.tril_indices"},
             .growth = Growth::Sizes,
             .kernel = triangle_indices(at::tril_indices)});
  table.add({.name = "triu_indices",
             .schema = "row, col, offset=0, *, dtype=torch.int64, device=None",
             .forms = {"torch.triu_indices"},
             .growth = Growth::Sizes,
             .kernel = triangle_indices(at::triu_indices)});
  table.add({.name = "one_hot",
             .schema = "input|tensor, num_classes=-1",
             .forms = {"torch.nn.functional.one_hot"},
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return at::one_hot(a.tensor("input"), a.integer("num_classes"));
             }});
}

/// Each element of `input` is a probability, unless `p` gives one for all.
Value bernoulli(const Args& a) {
  Tensor x = a.tensor("input");
  const Value& p = a["p"];
  if (a.flag("inplace"))
    return p.is_tensor() ? x.bernoulli_(p.tensor()) : x.bernoulli_(a.number("p"));
  return p.is_none() ? at::bernoulli(x) : at::bernoulli(x, a.number("p"));
}

void add_random(OperatorTable& table) {
  table.add({.name = "rand",
             .schema = kSized,
             .forms = {"torch.rand"},
             .random = true,
             .growth = Growth::Sizes,
             .kernel = sized(at::rand)});
  table.add({.name = "randn",
             .schema = kSized,
             .forms = {"torch.randn"},
             .random = true,
             .growth = Growth::Sizes,
             .kernel = sized(at::randn)});
  table.add({.name = "rand_like",
             .schema = kLike,
             .forms = {"torch.rand_like"},
             .random = true,
             .kernel = sized_like(at::rand_like)});
  table.add({.name = "randn_like",
             .schema = kLike,
             .forms = {"torch.randn_like"},
             .random = true,
             .kernel = sized_like(at::randn_like)});
  table.add({.name = "bernoulli",
             .schema = "input, p=None, *, inplace=False",
             .forms = {"torch.bernoulli", "Tensor.bernoulli"},
             .inplace = {{"Tensor.bernoulli_", "input, p=0.5"}},
             .random = true,
             .kernel = bernoulli});
}

}  // namespace

void add_creation_operators(OperatorTable& table) {
  add_constants(table);
  add_ranges(table);
  add_matrices(table);
  add_random(table);
}

}  // namespace sparsebit::fx

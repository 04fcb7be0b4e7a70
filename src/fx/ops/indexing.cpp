#include "fx/ops/families.h"
#include "fx/ops/operand.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

Value take_rows(const Args& a) {
  return at::index_select(a.tensor("input"), a.integer("dim"), a.tensor("index"));
}

Value scatter(const Args& a) {
  Tensor x = a.tensor("input");
  const int64_t dim = a.integer("dim");
  const Tensor index = a.tensor("index");
  const bool inplace = a.flag("inplace");
  if (a["src"].is_tensor()) {
    const Tensor src = a.tensor("src");
    return inplace ? x.scatter_(dim, index, src) : at::scatter(x, dim, index, src);
  }
  const at::Scalar value = a.scalar("src");
  return inplace ? x.scatter_(dim, index, value) : at::scatter(x, dim, index, value);
}

Value masked_fill(const Args& a) {
  Tensor x = a.tensor("input");
  const Tensor mask = a.tensor("mask");
  const bool inplace = a.flag("inplace");
  if (a["value"].is_tensor()) {
    const Tensor value = a.tensor("value");
    return inplace ? x.masked_fill_(mask, value) : at::masked_fill(x, mask, value);
  }
  const at::Scalar value = a.scalar("value");
  return inplace ? x.masked_fill_(mask, value) : at::masked_fill(x, mask, value);
}

/// None in the list means a whole dimension.
c10::List<c10::optional<Tensor>> index_list(const Value& indices) {
  c10::List<c10::optional<Tensor>> list;
  for (const Value& index : indices.items()) {
    list.push_back(index.is_none() ? c10::optional<Tensor>() : index.tensor());
  }
  return list;
}

Value repeat_interleave(const Args& a) {
  const Tensor x = a.tensor("input");
  const auto output_size = a.optional_integer("output_size");
  if (a.is_none("repeats")) return at::repeat_interleave(x, output_size);
  const auto dim = a.optional_integer("dim");
  if (a["repeats"].is_tensor()) {
    return at::repeat_interleave(x, a.tensor("repeats"), dim, output_size);
  }
  return at::repeat_interleave(x, a.integer("repeats"), dim, output_size);
}

void add_lookups(OperatorTable& table) {
  table.add({.name = "index_select",
             .schema = "input, dim, index",
             .forms = {"torch.index_select", "Tensor.index_select"},
             .growth = Growth::Lookup,
             .kernel = take_rows});
  table.add({.name = "gather",
             .schema = "input, dim, index, *, sparse_grad=False",
             .forms = {"torch.gather", "Tensor.gather"},
             .kernel = [](const Args& a) -> Value {
               return at::gather(a.tensor("input"), a.integer("dim"), a.tensor("index"),
                                 a.flag("sparse_grad"));
             }});
  table.add({.name = "take_along_dim",
             .schema = "input, indices, dim=None",
             .forms = {"torch.take_along_dim", "Tensor.take_along_dim"},
             .kernel = [](const Args& a) -> Value {
               return at::take_along_dim(a.tensor("input"), a.tensor("indices"),
                                         a.optional_integer("dim"));
             }});
  table.add({.name = "take",
             .schema = "input, index",
             .forms = {"torch.take", "Tensor.take"},
             .kernel = [](const Args& a) -> Value {
               return at::take(a.tensor("input"), a.tensor("index"));
             }});
  table.add({.name = "masked_select",
             .schema = "input, mask",
             .forms = {"torch.masked_select", "Tensor.masked_select"},
             .kernel = [](const Args& a) -> Value {
               return at::masked_select(a.tensor("input"), a.tensor("mask"));
             }});
  table.add({.name = "nonzero",
             .schema = "input, *, as_tuple=False",
             .forms = {"torch.nonzero", "Tensor.nonzero"},
             .kernel = [](const Args& a) -> Value {
               const Tensor x = a.tensor("input");
               return a.flag("as_tuple") ? tuple_of(at::nonzero_numpy(x)) : at::nonzero(x);
             }});
  table.add({.name = "repeat_interleave",
             .schema = "input, repeats=None, dim=None, *, output_size=None",
             .forms = {"torch.repeat_interleave", "Tensor.repeat_interleave"},
             .growth = Growth::Sizes,
             .kernel = repeat_interleave});
}

void add_writes(OperatorTable& table) {
  table.add({.name = "scatter",
             .schema = "input, dim, index, src|value, *, inplace=False",
             .forms = {"torch.scatter", "Tensor.scatter"},
             .inplace = {"Tensor.scatter_"},
             .kernel = scatter});
  table.add({.name = "scatter_add",
             .schema = "input, dim, index, src, *, inplace=False",
             .forms = {"torch.scatter_add", "Tensor.scatter_add"},
             .inplace = {"Tensor.scatter_add_"},
             .kernel = [](const Args& a) -> Value {
               Tensor x = a.tensor("input");
               const int64_t dim = a.integer("dim");
               const Tensor index = a.tensor("index"), src = a.tensor("src");
               return a.flag("inplace") ? x.scatter_add_(dim, index, src)
                                        : at::scatter_add(x, dim, index, src);
             }});
  table.add({.name = "index_add",
             .schema = "input, dim, index, source, *, alpha=1, inplace=False",
             .forms = {"torch.index_add", "Tensor.index_add"},
             .inplace = {"Tensor.index_add_"},
             .kernel = [](const Args& a) -> Value {
               Tensor x = a.tensor("input");
               const int64_t dim = a.integer("dim");
               const Tensor index = a.tensor("index"), source = a.tensor("source");
               const at::Scalar alpha = a.scalar("alpha");
               return a.flag("inplace") ? x.index_add_(dim, index, source, alpha)
                                        : at::index_add(x, dim, index, source, alpha);
             }});
  table.add({.name = "index_put",
             .schema = "input, indices, values, accumulate=False, *, inplace=False",
             .forms = {"torch.index_put", "Tensor.index_put"},
             .inplace = {"torch.index_put_", "Tensor.index_put_"},
             .kernel = [](const Args& a) -> Value {
               Tensor x = a.tensor("input");
               const auto indices = index_list(a["indices"]);
               const Tensor values = a.tensor("values");
               const bool accumulate = a.flag("accumulate");
               return a.flag("inplace") ? at::index_put_(x, indices, values, accumulate)
                                        : at::index_put(x, indices, values, accumulate);
             }});
  table.add({.name = "masked_fill",
             .schema = "input, mask, value, *, inplace=False",
             .forms = {"torch.masked_fill", "Tensor.masked_fill"},
             .inplace = {"Tensor.masked_fill_"},
             .kernel = masked_fill});
}

void add_windows(OperatorTable& table) {
  table.add({.name = "narrow",
             .schema = "input, dim, start, length",
             .forms = {"torch.narrow", "Tensor.narrow"},
             .view = true,
             .kernel = [](const Args& a) -> Value {
               return at::narrow(a.tensor("input"), a.integer("dim"), a.integer("start"),
                                 a.integer("length"));
             }});
  table.add({.name = "select",
             .schema = "input, dim, index",
             .forms = {"torch.select", "Tensor.select"},
             .view = true,
             .kernel = [](const Args& a) -> Value {
               return at::select(a.tensor("input"), a.integer("dim"), a.integer("index"));
             }});
  // Not torch.nn.functional.unfold, which is the operator `unfold`.
  table.add({.name = "unfold_dim",
             .schema = "input, dimension, size, step",
             .forms = {"Tensor.unfold"},
             .view = true,
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return a.tensor("input").unfold(a.integer("dimension"), a.integer("size"),
                                               a.integer("step"));
             }});
}

}  // namespace

void add_indexing_operators(OperatorTable& table) {
  add_lookups(table);
  add_writes(table);
  add_windows(table);
}

}  // namespace sparsebit::fx

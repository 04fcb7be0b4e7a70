#include "fx/ops/families.h"
#include "fx/ops/kernels.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

Value split(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t dim = a.integer("dim");
  const Value& sizes = a["split_size_or_sections"];
  if (sizes.is_sequence())
    return tuple_of(at::split_with_sizes(x, a.ints("split_size_or_sections"), dim));
  return tuple_of(at::split(x, a.integer("split_size_or_sections"), dim));
}

Value tensor_split(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t dim = a.integer("dim");
  const Value& where = a["indices_or_sections"];
  if (where.is_tensor()) return tuple_of(at::tensor_split(x, where.tensor(), dim));
  if (where.is_sequence()) return tuple_of(at::tensor_split(x, a.ints("indices_or_sections"), dim));
  return tuple_of(at::tensor_split(x, a.integer("indices_or_sections"), dim));
}

void add_joins(OperatorTable& table) {
  table.add({.name = "cat",
             .schema = "tensors, dim|axis=0",
             .forms = {"torch.cat", "torch.concat", "torch.concatenate"},
             .kernel = [](const Args& a) -> Value {
               return at::cat(a.tensors("tensors"), a.integer("dim"));
             }});
  table.add({.name = "stack",
             .schema = "tensors, dim|axis=0",
             .forms = {"torch.stack"},
             .kernel = [](const Args& a) -> Value {
               return at::stack(a.tensors("tensors"), a.integer("dim"));
             }});
  table.add({.name = "hstack",
             .schema = "tensors",
             .forms = {"torch.hstack"},
             .kernel = [](const Args& a) -> Value { return at::hstack(a.tensors("tensors")); }});
  table.add({.name = "vstack",
             .schema = "tensors",
             .forms = {"torch.vstack", "torch.row_stack"},
             .kernel = [](const Args& a) -> Value { return at::vstack(a.tensors("tensors")); }});
}

void add_splits(OperatorTable& table) {
  table.add({.name = "split",
             .schema = "input|tensor, split_size_or_sections|split_size, dim=0",
             .forms = {"torch.split", "Tensor.split"},
             .view = true,
             .kernel = split});
  table.add({.name = "chunk",
             .schema = "input, chunks, dim=0",
             .forms = {"torch.chunk", "Tensor.chunk"},
             .view = true,
             .kernel = [](const Args& a) {
               return tuple_of(at::chunk(a.tensor("input"), a.integer("chunks"), a.integer("dim")));
             }});
  table.add({.name = "tensor_split",
             .schema = "input, indices_or_sections|sections|indices, dim=0",
             .forms = {"torch.tensor_split", "Tensor.tensor_split"},
             .view = true,
             .kernel = tensor_split});
  table.add({.name = "unbind",
             .schema = "input, dim=0",
             .forms = {"torch.unbind", "Tensor.unbind"},
             .view = true,
             .kernel = [](const Args& a) {
               return tuple_of(at::unbind(a.tensor("input"), a.integer("dim")));
             }});
}

void add_repetitions(OperatorTable& table) {
  table.add(
      {.name = "expand",
       .schema = "input, *size",
       .forms = {"Tensor.expand"},
       .view = true,
       .growth = Growth::Sizes,
       .kernel = [](const Args& a) -> Value { return a.tensor("input").expand(a.ints("size")); }});
  table.add({.name = "expand_as",
             .schema = "input, other",
             .forms = {"Tensor.expand_as"},
             .view = true,
             .kernel = [](const Args& a) -> Value {
               return a.tensor("input").expand_as(a.tensor("other"));
             }});
  table.add({.name = "broadcast_to",
             .schema = "input, *size",
             .forms = {"torch.broadcast_to", "Tensor.broadcast_to"},
             .view = true,
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return at::broadcast_to(a.tensor("input"), a.ints("size"));
             }});
  table.add({.name = "broadcast_tensors",
             .schema = "*tensors",
             .forms = {"torch.broadcast_tensors"},
             .view = true,
             .kernel = [](const Args& a) {
               return tuple_of(at::broadcast_tensors(a.tensors("tensors")));
             }});
  table.add({.name = "repeat",
             .schema = "input, *repeats",
             .forms = {"Tensor.repeat"},
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return a.tensor("input").repeat(a.ints("repeats"));
             }});
  table.add({.name = "tile",
             .schema = "input, *dims",
             .forms = {"torch.tile", "Tensor.tile"},
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return at::tile(a.tensor("input"), a.ints("dims"));
             }});
}

/// Image patches to columns (unfold) and back (fold); each setting is one number or two.
void add_patches(OperatorTable& table) {
  table.add({.name = "unfold",
             .schema = "input, kernel_size, dilation=1, padding=0, stride=1",
             .forms = {"torch.nn.functional.unfold"},
             .modules = {{.type = "torch.nn.Unfold",
                          .constructor = "kernel_size, dilation=1, padding=0, stride=1"}},
             .growth = Growth::Sizes,
             .kernel = [](const Args& a) -> Value {
               return at::im2col(a.tensor("input"), a.ints("kernel_size", 2), a.ints("dilation", 2),
                                 a.ints("padding", 2), a.ints("stride", 2));
             }});
  table.add(
      {.name = "fold",
       .schema = "input, output_size, kernel_size, dilation=1, padding=0, stride=1",
       .forms = {"torch.nn.functional.fold"},
       .modules = {{.type = "torch.nn.Fold",
                    .constructor = "output_size, kernel_size, dilation=1, padding=0, stride=1"}},
       .growth = Growth::Sizes,
       .kernel = [](const Args& a) -> Value {
         return at::col2im(a.tensor("input"), a.ints("output_size", 2), a.ints("kernel_size", 2),
                           a.ints("dilation", 2), a.ints("padding", 2), a.ints("stride", 2));
       }});
}

}  // namespace

void add_joining_operators(OperatorTable& table) {
  add_joins(table);
  add_splits(table);
  add_repetitions(table);
  add_patches(table);
}

}  // namespace sparsebit::fx

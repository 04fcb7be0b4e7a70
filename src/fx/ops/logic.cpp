#include "fx/ops/families.h"
#include "fx/ops/operand.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

Value bitwise_not(const Args& a) {
  if (!a["input"].is_tensor()) return python::bit_not(a["input"]);
  Tensor x = a.tensor("input");
  return a.flag("inplace") ? x.bitwise_not_() : at::bitwise_not(x);
}

Value logical_not(const Args& a) {
  Tensor x = a.tensor("input");
  return a.flag("inplace") ? x.logical_not_() : at::logical_not(x);
}

void add_bitwise(OperatorTable& table) {
  table.add({.name = "bitwise_and",
             .schema = "input, other, *, inplace=False",
             .forms = {"torch.bitwise_and", "operator.and_", "Tensor.bitwise_and"},
             .inplace = {"operator.iand", "Tensor.bitwise_and_"},
             .kernel = elementwise(at::bitwise_and, &Tensor::bitwise_and_, python::bit_and)});
  table.add({.name = "bitwise_or",
             .schema = "input, other, *, inplace=False",
             .forms = {"torch.bitwise_or", "operator.or_", "Tensor.bitwise_or"},
             .inplace = {"operator.ior", "Tensor.bitwise_or_"},
             .kernel = elementwise(at::bitwise_or, &Tensor::bitwise_or_, python::bit_or)});
  table.add({.name = "bitwise_xor",
             .schema = "input, other, *, inplace=False",
             .forms = {"torch.bitwise_xor", "operator.xor", "Tensor.bitwise_xor"},
             .inplace = {"operator.ixor", "Tensor.bitwise_xor_"},
             .kernel = elementwise(at::bitwise_xor, &Tensor::bitwise_xor_, python::bit_xor)});
  table.add(
      {.name = "bitwise_not",
       .schema = "input, *, inplace=False",
       .forms = {"torch.bitwise_not", "operator.invert", "operator.inv", "Tensor.bitwise_not"},
       .inplace = {"Tensor.bitwise_not_"},
       .kernel = bitwise_not});
}

void add_shifts(OperatorTable& table) {
  table.add({.name = "bitwise_left_shift",
             .schema = "input, other, *, inplace=False",
             .forms = {"torch.bitwise_left_shift", "operator.lshift", "Tensor.bitwise_left_shift"},
             .inplace = {"operator.ilshift", "Tensor.bitwise_left_shift_"},
             .kernel = elementwise(at::bitwise_left_shift, &Tensor::bitwise_left_shift_,
                                   python::left_shift)});
  table.add(
      {.name = "bitwise_right_shift",
       .schema = "input, other, *, inplace=False",
       .forms = {"torch.bitwise_right_shift", "operator.rshift", "Tensor.bitwise_right_shift"},
       .inplace = {"operator.irshift", "Tensor.bitwise_right_shift_"},
       .kernel = elementwise(at::bitwise_right_shift, &Tensor::bitwise_right_shift_,
                             python::right_shift)});
}

void add_logical(OperatorTable& table) {
  table.add({.name = "logical_and",
             .schema = "input, other, *, inplace=False",
             .forms = {"torch.logical_and", "Tensor.logical_and"},
             .inplace = {"Tensor.logical_and_"},
             .kernel = elementwise(at::logical_and, &Tensor::logical_and_)});
  table.add({.name = "logical_or",
             .schema = "input, other, *, inplace=False",
             .forms = {"torch.logical_or", "Tensor.logical_or"},
             .inplace = {"Tensor.logical_or_"},
             .kernel = elementwise(at::logical_or, &Tensor::logical_or_)});
  table.add({.name = "logical_xor",
             .schema = "input, other, *, inplace=False",
             .forms = {"torch.logical_xor", "Tensor.logical_xor"},
             .inplace = {"Tensor.logical_xor_"},
             .kernel = elementwise(at::logical_xor, &Tensor::logical_xor_)});
  table.add({.name = "logical_not",
             .schema = "input, *, inplace=False",
             .forms = {"torch.logical_not", "Tensor.logical_not"},
             .inplace = {"Tensor.logical_not_"},
             .kernel = logical_not});
  table.add({.name = "not",
             .schema = "input",
             .forms = {"operator.not_"},
             .kernel = [](const Args& a) -> Value { return !python::truth(a["input"]); }});
}

}  // namespace

void add_logic_operators(OperatorTable& table) {
  add_bitwise(table);
  add_shifts(table);
  add_logical(table);
}

}  // namespace sparsebit::fx

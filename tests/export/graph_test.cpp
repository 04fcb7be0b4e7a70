// Graphs of several nodes, compared with ONNX Runtime.

#include "core/temp_dir.h"
#include "export/export_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::exports::test::graph_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct GraphCase {
  const char* name;
  std::string body;  ///< after `%x = input()`
};

at::Tensor numbers(std::vector<int64_t> shape) {
  const int64_t count = c10::multiply_integers(shape);
  return (at::arange(count, at::kFloat) * 0.37 - 2.0).sin().reshape(shape);
}

std::unique_ptr<fx::GraphModule> module_of(const GraphCase& c) {
  return parse_module("%x = input()\n" + c.body);
}

const GraphCase kInPlace[] = {
    {"ChangedInputIsReadChanged", R"(
     %y = %x.add_(1)
     %z = torch.mul(%x, 2)
     return (%y, %z))"},
    {"ReluOfASharedValue", R"(
     %a = torch.mul(%x, 2)
     %b = torch.relu_(%a)
     %c = torch.add(%a, %b)
     return %c)"},
    {"TypeIsKept", R"(
     %a = %x.to(torch.int64)
     %b = %a.add_(1)
     %c = %b.mul_(2)
     return %a)"},
    {"ItemIsAssigned", R"(
     %a = torch.mul(%x, 1)
     %s = operator.setitem(%a, (slice(None, None, None), 1), 5)
     %t = operator.setitem(%a, 0, %x)
     return %a)"},
    {"RangeIsAssigned", R"(
     %a = torch.zeros_like(%x)
     %p = operator.getitem(%x, (slice(None, None, None), slice(1, None, None)))
     %s = operator.setitem(%a, (slice(None, None, None), slice(None, 3, None)), %p)
     return %a)"},
    {"MaskIsAssigned", R"(
     %a = torch.mul(%x, 1)
     %m = torch.gt(%x, 0)
     %s = operator.setitem(%a, %m, 0.5)
     return %a)"},
    {"ViewIsChanged", R"(
     %a = torch.mul(%x, 1)
     %v = operator.getitem(%a, (slice(None, None, None), 2))
     %w = %v.mul_(3)
     %b = torch.add(%a, 1)
     return (%b, %w))"},
    {"ReshapedViewIsChanged", R"(
     %a = torch.mul(%x, 1)
     %v = %a.view(-1)
     %t = torch.transpose(%a, 0, 1)
     %w = %v.add_(1)
     return (%a, %t))"},
    {"ViewOfAChangedTensor", R"(
     %a = torch.mul(%x, 1)
     %v = operator.getitem(%a, 1)
     %s = %a.add_(10)
     %c = torch.mul(%v, 2)
     return %c)"},
    {"ViewThenItsBase", R"(
     %a = torch.mul(%x, 2)
     %v = %a.view(4, -1)
     %w = %v.add_(1)
     %b = %a.mul_(3)
     %s = torch.sum(%w, 1)
     return %s)"},
    {"ViewThenAnItemOfItsBase", R"(
     %a = torch.mul(%x, 2)
     %v = %a.view(4, -1)
     %w = operator.iadd(%v, 1)
     %s = operator.setitem(%a, (slice(None, None, None), 0), 0)
     %t = torch.sum(%w, 1)
     return %t)"},
    {"GridOfAChangedRow", R"(
     %r = torch.sum(%x, 0)
     %g = torch.meshgrid([%r, %r], indexing='ij')
     %h = operator.getitem(%g, 0)
     %s = %r.add_(1)
     %y = torch.add(%h, 1)
     return %y)"},
    {"CopyIsNotChanged", R"(
     %a = torch.mul(%x, 1)
     %b = torch.clone(%a)
     %s = %a.add_(10)
     return (%a, %b))"},
    {"PartOfASplit", R"(
     %a = torch.mul(%x, 1)
     %p = torch.chunk(%a, 2, 1)
     %l = operator.getitem(%p, 0)
     %r = operator.getitem(%p, 1)
     %s = %l.add_(10)
     %c = torch.cat([%l, %r], 1)
     return %c)"},
    {"AugmentedItem", R"(
     %a = torch.mul(%x, 1)
     %v = operator.getitem(%a, 0)
     %w = operator.iadd(%v, 2)
     %s = operator.setitem(%a, 0, %w)
     return %a)"},
    {"ConstantIsFilled", R"(
     %a = torch.zeros(3, 4)
     %s = operator.setitem(%a, (0, 1), 2)
     %t = operator.setitem(%a, 2, %x)
     return %a)"},
};

TEST(InPlace, ValuesAreReadInTheirNewState) {
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  for (const GraphCase& c : kInPlace) {
    SCOPED_TRACE(c.name);
    const bool row =
        std::string(c.name) == "ItemIsAssigned" || std::string(c.name) == "ConstantIsFilled";
    const at::Tensor x = numbers(row ? std::vector<int64_t>{4} : std::vector<int64_t>{3, 4});
    const at::Tensor input = std::string(c.name) == "ItemIsAssigned" ? numbers({1, 4}) : x;
    const auto module = module_of(c);
    for (const int64_t opset : {11, 13, 17, 21}) {
      queue.add(c10::str(c.name, " at opset ", opset),
                to_onnx(*module, {.opset = opset, .inputs = {input}}), {input},
                run_reference(*module, {input}));
    }
  }
  queue.run();
}

TEST(InPlace, WhatCannotBeWrittenIsRefused) {
  const auto module = parse_module(
      "%x = input()\n"
      "%a = torch.mul(%x, 1)\n"
      "%p = torch.chunk(%a, 2, 1)\n"
      "%l = operator.getitem(%p, 0)\n"
      "%s = %l.add_(10)\n"
      "return (%l, %a)\n");
  EXPECT_THAT(
      [&] {
        to_onnx(*module, {.inputs = {numbers({3, 4})}});
      },
      ThrowsMessage<Error>(HasSubstr(
          "node 's' changes 'l' in place, which shares memory with 'a', which is read later; that "
          "cannot be written as ONNX, change a clone() instead")));
}

const GraphCase kOpenSizes[] = {
    {"Reshape", R"(
     %n = %x.size(0)
     %y = %x.view(%n, -1)
     return %y)"},
    {"ReshapeOfTwo", R"(
     %s = getattr(%x, 'shape')
     %n = operator.getitem(%s, 0)
     %c = operator.getitem(%s, 1)
     %d = operator.mul(%n, %c)
     %y = torch.reshape(%x, (%d, -1))
     return %y)"},
    {"Arithmetic", R"(
     %n = %x.size(0)
     %h = operator.floordiv(%n, 2)
     %r = operator.mod(%n, 2)
     %p = operator.pow(%n, 2)
     %d = operator.truediv(%n, 3)
     %m = operator.sub(%p, 7)
     %q = math.sqrt(%n)
     %f = math.floor(%d)
     %g = max(%n, 3)
     %k = operator.neg(%n)
     %z = operator.floordiv(%k, 3)
     return (%h, %r, %p, %d, %m, %q, %f, %g, %z))"},
    {"Scale", R"(
     %n = %x.size(-1)
     %s = operator.pow(%n, -0.5)
     %y = operator.mul(%x, %s)
     return %y)"},
    {"Arange", R"(
     %n = %x.size(0)
     %y = torch.arange(%n)
     %z = torch.arange(1, %n, 2)
     %w = torch.add(%y, 0.5)
     return (%y, %z, %w))"},
    {"Fill", R"(
     %n = %x.size(0)
     %y = torch.zeros(%n, 2)
     %z = torch.full((%n, 3), 1.5)
     %o = torch.ones_like(%x)
     %e = torch.eye(%n)
     return (%y, %z, %o, %e))"},
    {"Expand", R"(
     %n = %x.size(0)
     %a = torch.sum(%x, 0, keepdim=True)
     %y = %a.expand(%n, -1, -1)
     %z = %a.repeat(%n, 1, 2)
     return (%y, %z))"},
    {"Slice", R"(
     %n = %x.size(0)
     %h = operator.floordiv(%n, 2)
     %y = operator.getitem(%x, slice(None, %h, None))
     %z = operator.getitem(%x, (slice(%h, None, None), ..., 0))
     %w = torch.narrow(%x, 0, %h, 1)
     return (%y, %z, %w))"},
    {"Mask", R"(
     %m = torch.gt(%x, 0)
     %y = torch.masked_select(%x, %m)
     %z = torch.nonzero(%m)
     return (%y, %z))"},
    {"Attention", R"(
     %y = torch.nn.functional.scaled_dot_product_attention(%x, %x, %x, is_causal=True)
     return %y)"},
    {"Flatten", R"(
     %y = torch.flatten(%x, 0, 1)
     %z = torch.flatten(%x, 1)
     %w = torch.flatten(%x)
     return (%y, %z, %w))"},
    {"Triangle", R"(
     %a = torch.matmul(%x, %x)
     %y = torch.triu(%a, 1)
     %s = torch.softmax(%y, -1)
     return %s)"},
    {"Assign", R"(
     %a = torch.mul(%x, 2)
     %s = operator.setitem(%a, (slice(None, None, None), 0), 7)
     return %a)"},
    {"Variance", R"(
     %y = torch.var(%x, 0)
     %z = torch.std_mean(%x, (0, 2))
     return (%y, %z))"},
    {"Numel", R"(
     %n = torch.numel(%x)
     %l = len(%x)
     %t = torch.tensor([%n, %l])
     return (%n, %t))"},
    {"Roll", R"(
     %y = torch.roll(%x, 1, 0)
     %z = torch.flip(%x, [0])
     return (%y, %z))"},
    {"CutAtThree", R"(
     %y = operator.getitem(%x, slice(None, 3, None))
     %n = %y.size(0)
     return (%y, %n))"},
    {"PaddedToAMultipleOfEight", R"(
     %n = %x.size(0)
     %r = operator.mod(%n, 8)
     %m = operator.sub(8, %r)
     %m8 = operator.mod(%m, 8)
     %y = torch.nn.functional.pad(%x, [0, 0, 0, 0, 0, %m8])
     %s = %y.size(0)
     return (%y, %s))"},
    {"Stack", R"(
     %a = torch.stack([%x, %x], 1)
     %b = torch.cat([%x, %x], 0)
     %m = torch.meshgrid(%b)
     return (%a, %b))"},
};

/// Exported with dynamic sizes and one example, run with other sizes.
TEST(OpenSizes, RunWithOtherSizesThanTheExample) {
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  for (const GraphCase& c : kOpenSizes) {
    SCOPED_TRACE(c.name);
    const bool stack = std::string(c.name) == "Stack";
    const auto shape = [&](int64_t n) {
      return stack ? std::vector<int64_t>{n} : std::vector<int64_t>{n, 4, 4};
    };
    const auto module = module_of(c);
    for (const int64_t opset : {11, 13, 18, 21}) {
      const onnx::ModelProto model = to_onnx(
          *module,
          {.opset = opset, .inputs = {numbers(shape(4))}, .dynamic_axes = {{"x", {{0, "n"}}}}});
      for (const int64_t n : {4, 7, 2, 19}) {
        const at::Tensor x = numbers(shape(n));
        queue.add(c10::str(c.name, " of ", n, " at opset ", opset), model, {x},
                  run_reference(*module, {x}));
      }
    }
  }
  queue.run();
}

/// Data-dependent sizes: `x` is 6x4, about half of it above 0.
const GraphCase kDataSizes[] = {
    {"MaskedSelect", R"(
     %m = torch.gt(%x, 0)
     %y = torch.masked_select(%x, %m)
     %n = %y.size(0)
     %z = torch.zeros(%n, 2)
     return (%y, %n, %z))"},
    {"Nonzero", R"(
     %p = torch.nonzero(%x)
     %r = operator.getitem(%p, (slice(None, None, None), 0))
     %n = len(%r)
     %g = torch.index_select(%x, 0, %r)
     %v = %g.view(2, %n, 2)
     return (%v, %n))"},
    {"NonzeroAsTuple", R"(
     %m = torch.gt(%x, 0)
     %p = torch.nonzero(%m, as_tuple=True)
     %r = operator.getitem(%p, 1)
     %y = %r.view(1, -1)
     %s = %y.size()
     %n = operator.getitem(%s, 1)
     %a = torch.arange(%n)
     return (%y, %a))"},
    {"Where", R"(
     %m = torch.gt(%x, 0)
     %p = torch.where(%m)
     %r = operator.getitem(%p, 0)
     %c = torch.cat([%r, %r])
     %n = torch.numel(%c)
     return (%c, %n))"},
    {"MaskAsIndex", R"(
     %s = torch.sum(%x, 1)
     %m = torch.gt(%s, 0)
     %y = operator.getitem(%x, %m)
     %t = torch.transpose(%y, 0, 1)
     %n = %t.size(1)
     %f = torch.flatten(%y)
     %w = torch.nn.functional.softmax(%t, 1)
     return (%t, %n, %f, %w))"},
    {"MaskOfTheSecondDimension", R"(
     %s = torch.sum(%x, 0)
     %m = torch.gt(%s, 0)
     %y = operator.getitem(%x, (slice(None, None, None), %m))
     %n = %y.size(1)
     %k = operator.getitem(%x, (..., %m))
     return (%y, %n, %k))"},
    {"Count", R"(
     %m = torch.gt(%x, 0)
     %c = torch.sum(%m)
     %i = %c.item()
     %y = torch.arange(%i)
     %z = torch.zeros(%i, 3)
     %n = %z.size(0)
     return (%y, %n))"},
    {"RepeatInterleave", R"(
     %s = torch.sum(%x, 1)
     %m = torch.gt(%s, 0)
     %r = %m.to(torch.int64)
     %y = torch.repeat_interleave(%x, %r, 0)
     %n = %y.size(0)
     return (%y, %n))"},
    {"OneHot", R"(
     %b = torch.abs(%x)
     %i = %b.to(torch.int64)
     %y = torch.nn.functional.one_hot(%i)
     %n = %y.size(2)
     return (%y, %n))"},
    {"Compress", R"(
     %s = torch.sum(%x, 0)
     %m = torch.gt(%s, 0)
     %y = onnx.Compress(%x, %m, 1)
     %n = %y.size(1)
     %f = torch.sum(%y, 0)
     return (%n, %f))"},
    {"Unique", R"(
     %f = torch.round(%x)
     %u = onnx.Unique(%f)
     %y = operator.getitem(%u, 0)
     %n = %y.size(0)
     return (%y, %n))"},
    {"WrittenInPlace", R"(
     %g = torch.relu(%x)
     %z = torch.zeros(6, 4)
     %s = operator.setitem(%z, ..., %g)
     %p = torch.nonzero(%z)
     %n = %p.size(0)
     %y = torch.ones(%n)
     return %y)"},
    {"RowsWrittenInPlace", R"(
     %g = torch.relu(%x)
     %r = operator.getitem(%g, slice(1, 3, None))
     %z = torch.zeros(6, 4)
     %s = operator.setitem(%z, slice(1, 3, None), %r)
     %p = torch.nonzero(%z)
     %n = %p.size(0)
     %y = torch.ones(%n)
     return %y)"},
    {"WrittenThroughAView", R"(
     %g = torch.relu(%x)
     %r = operator.getitem(%g, 0)
     %z = torch.zeros(6, 4)
     %v = operator.getitem(%z, 0)
     %s = %v.add_(%r)
     %p = torch.nonzero(%z)
     %n = %p.size(0)
     %y = torch.ones(%n)
     return %y)"},
    {"Slice", R"(
     %m = torch.gt(%x, 0)
     %c = torch.sum(%m)
     %e = torch.reshape(%c, [1])
     %f = torch.flatten(%x)
     %y = onnx.Slice(%f, tensor([0], dtype=torch.int64), %e)
     %n = %y.size(0)
     return (%y, %n))"},
};

/// Exported with one example, run with other data of the same sizes.
TEST(DataSizes, RunWithOtherDataThanTheExample) {
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  const at::Tensor example = numbers({6, 4});
  for (const GraphCase& c : kDataSizes) {
    SCOPED_TRACE(c.name);
    const auto module = module_of(c);
    for (const int64_t opset : {11, 13, 18, 21}) {
      const onnx::ModelProto model = to_onnx(*module, {.opset = opset, .inputs = {example}});
      for (const double shift : {0.0, 0.4, -0.3}) {
        const at::Tensor x = (example + shift) * (1 + 3 * shift);
        queue.add(c10::str(c.name, " at opset ", opset), model, {x}, run_reference(*module, {x}));
      }
    }
  }
  EXPECT_EQ(queue.run(), std::size(kDataSizes) * 12);
}

/// A data-dependent axis: whether more than half is above 0.
TEST(DataSizes, AxesAreData) {
  const auto module = parse_module(R"(
     %x = input()
     %m = torch.gt(%x, 0)
     %c = torch.sum(%m)
     %b = torch.gt(%c, 12)
     %i = %b.to(torch.int64)
     %a = torch.reshape(%i, [1])
     %y = onnx.ReduceSum(%x, %a, 0)
     %n = %y.size(0)
     %z = torch.zeros(%n)
     %u = onnx.Unsqueeze(%y, %a)
     return (%y, %z, %u))");
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  for (const int64_t opset : {13, 17, 21}) {
    const onnx::ModelProto model = to_onnx(*module, {.opset = opset, .inputs = {numbers({6, 4})}});
    for (const double shift : {5.0, -5.0}) {
      const at::Tensor x = numbers({6, 4}) + shift;
      queue.add(c10::str("opset ", opset), model, {x}, run_reference(*module, {x}));
    }
  }
  EXPECT_EQ(queue.run(), 6U);
}

TEST(DataSizes, AreOpenInTheFile) {
  const auto module = module_of(kDataSizes[0]);
  const onnx::ModelProto model = to_onnx(*module, {.inputs = {numbers({6, 4})}});
  for (const int i : {0, 2}) {
    EXPECT_FALSE(model.graph().output(i).type().tensor_type().shape().dim(0).has_dim_value());
  }
}

TEST(OpenSizes, AMultipleOfOneSizeIsNotTakenForAnother) {
  const auto module = parse_module(
      "%a = input()\n%b = input()\n"
      "%y = torch.cat([%a, %a, %a, %a], 0)\n"
      "%z = torch.mul(%b, 2)\n"
      "return (%y, %z)\n");
  const auto symbols = [&](std::vector<fx::Value> inputs) {
    const onnx::ModelProto model =
        to_onnx(*module, {.inputs = std::move(inputs),
                          .dynamic_axes = {{"a", {{0, "batch"}}}, {"b", {{0, "length"}}}}});
    std::string text;
    for (const auto& output : model.graph().output())
      text += "<" + output.type().tensor_type().shape().dim(0).dim_param() + ">";
    return text;
  };
  // In the examples, the length is four times the batch.
  EXPECT_EQ(symbols({at::ones({2}), at::ones({8})}), "<><length>");
}

}  // namespace
}  // namespace sparsebit::exports::test::graph_test

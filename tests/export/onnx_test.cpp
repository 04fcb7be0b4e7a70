#include "sparsebit/export/onnx.h"

#include "core/temp_dir.h"
#include "export/export_case.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sparsebit::exports::test::onnx_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

nn::ModulePtr small_network() {
  auto model = std::make_shared<nn::Sequential>(std::vector<std::pair<std::string, nn::ModulePtr>>{
      {"conv", nn::Conv2d(3, 4, 3, {{"padding", 1}})},
      {"bn", nn::BatchNorm2d(4)},
      {"act", nn::ReLU({{"inplace", true}})},
      {"pool", nn::AdaptiveAvgPool2d(1)},
      {"flat", nn::Flatten()},
      {"drop", nn::Dropout()},
      {"fc", nn::Linear(4, 2)}});
  return model;
}

std::unique_ptr<fx::GraphModule> traced(const nn::ModulePtr& model) {
  return fx::Tracer().trace(*model);
}

TEST(ToOnnx, WeightsInAnotherShapeKeepTheirNames) {
  const auto module =
      traced(std::make_shared<nn::Sequential>(std::vector<std::pair<std::string, nn::ModulePtr>>{
          {"act", nn::PReLU({{"num_parameters", 3}})}}));
  const onnx::ModelProto model = to_onnx(*module, {.inputs = {at::ones({1, 3, 2, 2})}});
  EXPECT_EQ(outline(model), "act = PRelu(input, act.weight)\n");
  ASSERT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(model.graph().initializer(0).dims_size(), 3);
}

onnx::ModelProto export_text(const std::string& graph, std::vector<fx::Value> inputs,
                             int64_t opset = 13) {
  return to_onnx(*parse_module(graph), {.opset = opset, .inputs = std::move(inputs)});
}

TEST(ToOnnx, NamesFollowTheGraph) {
  const auto module = traced(small_network());
  const onnx::ModelProto model = to_onnx(*module, {.inputs = {at::ones({1, 3, 8, 8})}});

  EXPECT_EQ(outline(model),
            "conv = Conv(input, conv.weight, conv.bias)\n"
            "bn = BatchNormalization(conv, bn.weight, bn.bias, bn.running_mean, bn.running_var)\n"
            "act = Relu(bn)\n"
            "pool = GlobalAveragePool(act)\n"
            "flat = Flatten(pool)\n"
            "fc = Gemm(flat, fc.weight, fc.bias)\n");
  EXPECT_EQ(model.graph().node(0).name(), "conv");
  EXPECT_EQ(model.graph().output(0).name(), "fc");
  EXPECT_EQ(model.opset_import(0).version(), 13);
  EXPECT_EQ(model.ir_version(), 7);
  EXPECT_EQ(model.producer_name(), "sparsebit");
}

TEST(ToOnnx, OutputNamesAreTheFilesOrTheCallers) {
  const auto module = parse_module("%x = input()\n%y = torch.relu(%x)\nreturn (%y, %y, %x)\n");
  module->set_output_names({"first", "second", "third"});
  const std::vector<fx::Value> inputs = {at::ones({2})};

  EXPECT_EQ(outline(to_onnx(*module, {.inputs = inputs})),
            "first = Relu(x)\n"
            "second = Identity(first)\n"
            "third = Identity(x)\n");
  EXPECT_EQ(outline(to_onnx(*module, {.inputs = inputs, .output_names = {"a", "b", "c"}})),
            "a = Relu(x)\n"
            "b = Identity(a)\n"
            "c = Identity(x)\n");
  EXPECT_THAT([&] { to_onnx(*module, {.inputs = inputs, .output_names = {"a"}}); },
              ThrowsMessage<Error>("the model has 3 results, got 1 output names"));
}

TEST(ToOnnx, TheSameGraphGivesTheSameBytes) {
  const auto module = traced(small_network());
  const OnnxExportOptions options{.inputs = {at::ones({1, 3, 8, 8})}};
  const sparsebit::test::TempDir dir;
  export_onnx(*module, dir / "a.onnx", options);
  export_onnx(*module, dir / "b.onnx", options);
  EXPECT_EQ(read_file(dir / "a.onnx"), read_file(dir / "b.onnx"));
}

TEST(ToOnnx, WeightsAreStoredOnce) {
  auto shared = nn::Linear(64, 64);
  auto copy = nn::Linear(64, 64);
  copy->load_state_dict(shared->state_dict());
  auto model = std::make_shared<nn::Sequential>(std::vector<std::pair<std::string, nn::ModulePtr>>{
      {"a", shared}, {"b", shared}, {"c", copy}});
  const onnx::ModelProto exported = to_onnx(*traced(model), {.inputs = {at::ones({1, 64})}});
  EXPECT_EQ(exported.graph().initializer_size(), 3);  // small tensors keep their names
  EXPECT_EQ(outline(exported),
            "a = Gemm(input, a.weight, a.bias)\n"
            "a_1 = Gemm(a, a.weight, a.bias)\n"
            "c = Gemm(a_1, a.weight, c.bias)\n");
}

TEST(ToOnnx, OpenSizesHaveSymbols) {
  const auto module = traced(small_network());
  const onnx::ModelProto model =
      to_onnx(*module, {.inputs = {at::ones({1, 3, 32, 32})},
                        .dynamic_axes = {{"input", {{0, "batch"}, {2, "height"}, {-1, "width"}}}}});
  const auto& input = model.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(input.dim(0).dim_param(), "batch");
  EXPECT_EQ(input.dim(1).dim_value(), 3);
  EXPECT_EQ(input.dim(2).dim_param(), "height");
  EXPECT_EQ(input.dim(3).dim_param(), "width");
  const auto& output = model.graph().output(0).type().tensor_type().shape();
  EXPECT_EQ(output.dim(0).dim_param(), "batch");
  EXPECT_EQ(output.dim(1).dim_value(), 2);
}

TEST(ToOnnx, ShapesMayComeFromThePlaceholders) {
  const auto module = parse_module("%x = input()\n%y = torch.relu(%x)\nreturn %y\n");
  fx::Node& x = *module->graph().placeholders()[0];
  x.set_tensor_info(fx::TensorInfo{{-1, 4}, at::kFloat, {"n", ""}});
  const onnx::ModelProto model = to_onnx(*module);
  EXPECT_EQ(model.graph().output(0).type().tensor_type().shape().dim(0).dim_param(), "n");
  EXPECT_FALSE(module->graph().find("y")->tensor_info());
}

TEST(ToOnnx, ChangesNothingInTheModel) {
  const nn::ModulePtr network = small_network();
  const auto module = traced(network);
  module->train();
  fx::NamedTensors before;
  for (const auto& item : module->state_dict()) before.insert(item.key(), item.value().clone());
  to_onnx(*module, {.inputs = {at::rand({2, 3, 8, 8})}});
  EXPECT_TRUE(module->is_training());
  EXPECT_TRUE(network->child("bn").is_training());
  for (const auto& item : module->state_dict())
    EXPECT_TRUE(at::equal(item.value(), before[item.key()])) << item.key();
}

struct FormCase {
  const char* call;
  int64_t opset;
  const char* outline;
};

TEST(ToOnnx, TheOpsetDecidesTheForm) {
  const FormCase cases[] = {
      {"torch.unsqueeze(%x, 0)", 11, "y = Unsqueeze(x)\n"},
      {"torch.unsqueeze(%x, 0)", 13, "y = Unsqueeze(x, y/constant)\n"},
      {"torch.sum(%x, 1)", 11, "y = ReduceSum(x)\n"},
      {"torch.sum(%x, 1)", 13, "y = ReduceSum(x, y/constant)\n"},
      {"torch.mean(%x, 1)", 17, "y = ReduceMean(x)\n"},
      {"torch.mean(%x, 1)", 18, "y = ReduceMean(x, y/constant)\n"},
      {"torch.softmax(%x, 1)", 13, "y = Softmax(x)\n"},
      {"torch.nn.functional.gelu(%x)", 20, "y = Gelu(x)\n"},
      {"torch.nn.functional.hardswish(%x)", 14, "y = HardSwish(x)\n"},
      {"torch.nn.functional.layer_norm(%x, [4])", 17, "y = LayerNormalization(x, y/constant)\n"},
      {"torch.clamp(%x, 0.0, 6.0)", 11, "y = Clip(x, y/constant, y/constant_1)\n"},
      {"torch.tril(%x)", 14, "y = Trilu(x, y/constant)\n"},
  };
  for (const FormCase& c : cases) {
    const std::string graph = c10::str("%x = input()\n%y = ", c.call, "\nreturn %y\n");
    EXPECT_EQ(outline(export_text(graph, {at::ones({3, 4})}, c.opset)), c.outline)
        << c.call << " at opset " << c.opset;
  }
}

TEST(ToOnnx, KnownValuesAreComputedNow) {
  EXPECT_EQ(outline(export_text("%x = input()\n"
                                "%n = %x.size(0)\n"
                                "%h = operator.floordiv(%n, 2)\n"
                                "%y = %x.view(%h, -1)\n"
                                "return %y\n",
                                {at::ones({4, 3})})),
            "y = Reshape(x, y/constant)\n");
}

TEST(ToOnnx, LargeModelsKeepTheirWeightsInASecondFile) {
  const auto module = traced(small_network());
  const sparsebit::test::TempDir dir;
  const at::Tensor x = at::rand({1, 3, 8, 8});
  export_onnx(*module, dir / "m.onnx", {.inputs = {x}, .save = {.largest_file = 200}});
  EXPECT_TRUE(std::filesystem::exists(dir / "m.onnx.data"));
}

TEST(ToOnnx, RecurrentLayersWithoutALayerAreErrors) {
  const std::vector<fx::Value> inputs = {at::ones({3, 1, 2}), at::ones({4, 2}), at::ones({4, 4})};
  for (const char* layers : {"0", "-1", "3", "9223372036854775807"}) {
    const std::string graph = std::string(
                                  "%x = input()\n%w = input()\n%r = input()\n"
                                  "%y = torch.rnn_tanh(%x, None, [%w, %r], False, ") +
                              layers + ", 0.0, False, False, False)\nreturn (%y)\n";
    EXPECT_THAT([&] { export_text(graph, inputs); },
                ThrowsMessage<Error>(HasSubstr(std::string("num_layers is ") + layers +
                                               ", but flat_weights holds 2 tensors")));
  }
}

TEST(ToOnnx, ErrorsSayWhatToDo) {
  const auto relu = parse_module("%x = input()\n%y = torch.relu(%x)\nreturn %y\n");
  EXPECT_THAT([&] { to_onnx(*relu, {.opset = 10}); },
              ThrowsMessage<Error>("opset must be between 11 and 21, got 10"));
  EXPECT_THAT([&] { to_onnx(*relu); },
              ThrowsMessage<Error>("the shape of input 'x' is not known; give example inputs"));
  EXPECT_THAT(
      [&] {
        to_onnx(*relu, {.inputs = {at::ones({2})}, .dynamic_axes = {{"z", {{0, "n"}}}}});
      },
      ThrowsMessage<Error>("dynamic axes: the model has no input 'z'"));
  EXPECT_THAT(
      [&] {
        to_onnx(*relu, {.inputs = {at::ones({2})}, .dynamic_axes = {{"x", {{1, "n"}}}}});
      },
      ThrowsMessage<Error>("dynamic axes: input 'x': expected a dimension from -1 to 0, found 1"));
  EXPECT_THAT(
      [] { export_text("%x = input()\n%y = torch.mystery(%x)\nreturn %y\n", {at::ones({2})}); },
      ThrowsMessage<Error>(
          HasSubstr("node 'y': call_function 'torch.mystery' is unknown, so it has "
                    "no ONNX form; replace it with known operators")));
  EXPECT_THAT(
      [] {
        export_text("%x = input()\n%y = torch.nn.functional.grid_sample(%x, %x)\nreturn %y\n",
                    {at::rand({1, 2, 2, 2})});
      },
      ThrowsMessage<Error>(HasSubstr("node 'y': grid_sample needs opset 16 or newer")));
}

}  // namespace
}  // namespace sparsebit::exports::test::onnx_test

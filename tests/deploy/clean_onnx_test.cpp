#include "deploy/clean_onnx.h"

#include "deploy/deploy_case.h"

#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/io/onnx_tensor.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sparsebit::deploy::test::clean_onnx_test {
namespace {

using quant::QuantModel;
using testing::ElementsAre;

std::vector<std::string> operators(const onnx::ModelProto& model) {
  std::vector<std::string> types;
  for (const onnx::NodeProto& node : model.graph().node()) types.push_back(node.op_type());
  return types;
}

/// Undefined if the file has no initializer of this name.
at::Tensor constant(const onnx::ModelProto& model, const std::string& name) {
  for (onnx::TensorProto tensor : model.graph().initializer()) {
    io::ExternalData none;
    if (tensor.name() == name) return io::take_tensor(tensor, none);
  }
  return {};
}

const at::Tensor& tokens() {
  static const at::Tensor x = at::randn({2, 5, 6}, at::detail::createCPUGenerator(2));
  return x;
}

/// The file computes the same as the model with its quantizers off.
void expect_float_model(const onnx::ModelProto& file, QuantModel& model, const at::Tensor& x) {
  const at::NoGradGuard no_gradients;
  const auto module = frontends::import_onnx(onnx::ModelProto(file));
  module->eval();
  model.set_quant({});
  EXPECT_TRUE(at::allclose((*module)(x).tensor(), model.forward({x}).tensor(), 1e-4, 1e-5));
}

TEST(CleanOnnx, HasNoQuantizersAndComputesTheFloatModel) {
  QuantModel model = calibrated_net(symmetric_config());
  const onnx::ModelProto file = clean_onnx(model).model;
  EXPECT_THAT(operators(file),
              ElementsAre("Conv", "Relu", "Conv", "Add", "Relu", "MaxPool", "ConvTranspose", "Conv",
                          "Clip", "GlobalAveragePool", "Flatten", "Gemm"));
  expect_float_model(file, model, samples());
  EXPECT_TRUE(file.graph().input(0).type().tensor_type().shape().dim(0).has_dim_param());
}

/// Linear layers on inputs of more than two dimensions, which are exported as MatMul.
QuantModel products(int64_t rows, const std::string& layers) {
  fx::GraphModule network(fx::parse_graph("%x = input()\n%m = self.m\n" + layers + "\nreturn %y"),
                          "Products");
  network.add_parameter("m", at::randn({rows, 6}, at::detail::createCPUGenerator(1)));
  return calibrated(network, symmetric_config(), tokens());
}

/// MatMul takes weights as [in, out], and vendors' tools expect a constant there.
TEST(CleanOnnx, WeightsOfProductsAreStoredTheOtherWayRound) {
  QuantModel model = products(8, "%y = torch.nn.functional.linear(%x, %m)");
  const onnx::ModelProto file = clean_onnx(model).model;
  EXPECT_THAT(operators(file), ElementsAre("MatMul"));
  EXPECT_EQ(file.graph().node(0).input(1), "y.weight_t");
  EXPECT_EQ(file.graph().initializer_size(), 1);
  EXPECT_EQ(constant(file, transposed_name("y.weight")).sizes().vec(),
            (std::vector<int64_t>{6, 8}));
  expect_float_model(file, model, tokens());
}

TEST(CleanOnnx, WeightsAreClippedBeforeTheyAreTurned) {
  QuantModel model = products(8, "%y = torch.nn.functional.linear(%x, %m)");
  const at::Tensor largest = at::arange(1, 9).to(at::kFloat) / 8;
  model.layer("y_1").weight_quantizer().set_qparams({largest / 127, at::zeros({8})});
  const at::Tensor weight = *model.module().find_tensor("y.weight");
  const at::Tensor bound = largest.view({8, 1}),
                   found = constant(clean_onnx(model).model, "y.weight_t");
  const at::Tensor expected = at::minimum(at::maximum(weight, -bound), bound).t();
  EXPECT_TRUE(at::allclose(found, expected, 1e-6, 0));
  EXPECT_FALSE(at::allclose(found, weight.t(), 1e-2));
}

/// A weight with another consumer cannot be stored transposed.
TEST(CleanOnnx, WeightsWithOtherReadersStayAsTheyAre) {
  QuantModel model = products(
      6, "%z = torch.nn.functional.linear(%x, %m)\n%y = torch.nn.functional.linear(%z, %m)");
  const onnx::ModelProto file = clean_onnx(model).model;
  EXPECT_THAT(operators(file), ElementsAre("Transpose", "MatMul", "Transpose", "MatMul"));
  EXPECT_TRUE(at::allclose(constant(file, "z.weight"), *model.module().find_tensor("z.weight")));
  expect_float_model(file, model, tokens());
}

/// Formats look up the file's tensors by the names of the model's nodes.
TEST(CleanOnnx, NamesAreThoseOfTheFile) {
  const exports::NamedOnnx clean = clean_onnx(calibrated_net(symmetric_config()));
  std::set<std::string> known;
  for (const onnx::NodeProto& node : clean.model.graph().node()) known.insert(node.output(0));
  for (const onnx::TensorProto& tensor : clean.model.graph().initializer())
    known.insert(tensor.name());
  for (const auto& input : clean.model.graph().input()) known.insert(input.name());
  for (const auto& [node, tensor] : clean.tensors) EXPECT_TRUE(known.contains(tensor)) << node;
  EXPECT_EQ(clean.tensors.at("stem_weight"), "stem.weight");
  EXPECT_FALSE(clean.tensors.contains("x_quantizer"));
}

}  // namespace
}  // namespace sparsebit::deploy::test::clean_onnx_test

#include "sparsebit/export/quantized_file.h"

#include "core/temp_dir.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/safetensors.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace sparsebit::exports::test::quantized_file_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class Net : public nn::Module {
 public:
  Net() : Module("Net", "x") { add_module("linear", nn::Linear(4, 3)); }
  nn::Value forward(const nn::Args& in) override { return call("linear", in["x"]); }
};

class QuantizedFile : public testing::Test {
 protected:
  static quant::QuantModel calibrated() {
    Net net;
    nn::reset_parameters(net, 1);
    const at::Tensor x = input();
    quant::QuantModel model(net, quant::default_qconfig(platforms::find_platform("onnxruntime")),
                            {x});
    model.prepare_calibration();
    model.forward({x});
    model.calc_qparams();
    model.set_quant({.weights = true, .activations = true});
    return model;
  }
  static at::Tensor input() { return at::linspace(-1, 1, 8).reshape({2, 4}); }

  const sparsebit::test::TempDir dir_;
  const std::filesystem::path file_ = dir_ / "model.quantized";
};

TEST_F(QuantizedFile, GivesTheSameModelAndOrigin) {
  quant::QuantModel model = calibrated();
  save_quantized(model, file_, R"({"seed": 3})");
  EXPECT_TRUE(is_quantized_file(file_));
  EXPECT_EQ(origin_of_quantized(file_), R"({"seed": 3})");
  const auto loaded = load_quantized(file_);
  loaded->set_quant({.weights = true, .activations = true});
  EXPECT_TRUE(loaded->forward({input()}).tensor().equal(model.forward({input()}).tensor()));
}

TEST_F(QuantizedFile, OtherFilesAreRefusedByName) {
  io::save_safetensors(file_, {{"w", at::ones({2})}}, {});
  EXPECT_FALSE(is_quantized_file(file_));
  const std::string message =
      file_.string() + ": a safetensors file, but not a quantized model of sparsebit";
  EXPECT_THAT([&] { load_quantized(file_); }, ThrowsMessage<Error>(message));
  EXPECT_THAT([&] { origin_of_quantized(file_); }, ThrowsMessage<Error>(message));
}

TEST_F(QuantizedFile, DamagedDescriptionsNameTheFile) {
  io::save_safetensors(file_, {{"w", at::ones({2})}}, {{"sparsebit.quantized", "{"}});
  EXPECT_TRUE(is_quantized_file(file_));
  EXPECT_THAT([&] { load_quantized(file_); },
              ThrowsMessage<Error>(HasSubstr("in " + file_.string())));
}

}  // namespace
}  // namespace sparsebit::exports::test::quantized_file_test

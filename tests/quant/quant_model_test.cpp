#include "sparsebit/quant/quant_model.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/quant/error_profiler.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>

namespace sparsebit::quant::quant_model_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

QConfig config_of(const std::string& more = "") {
  return parse_qconfig(parse_yaml(R"(
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)" + more,
                                  "test.yaml"));
}

/// Two layers with a relu and a mean between them.
class Small : public nn::Module {
 public:
  Small() : Module("Small", "x") {
    add_module("conv", nn::Conv2d(3, 8, 3));
    add_module("act", nn::ReLU());
    add_module("fc", nn::Linear(8, 4));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value y = call("act", call("conv", in["x"]));
    return call("fc", nn::mean(y, {2, 3}));
  }
};

std::set<std::string> quantized_inputs(const QuantModel& model) {
  std::set<std::string> pairs;
  for (const QuantPoint& point : model.points()) {
    if (point.is_weight()) continue;
    for (const std::string& consumer : point.consumers)
      pairs.insert(point.value + " > " + consumer);
  }
  return pairs;
}

at::Tensor result_of(QuantModel& model, const std::vector<fx::Value>& inputs) {
  const fx::Value result = model.forward(inputs);
  return (result.is_sequence() ? result.items().front() : result).tensor().detach();
}

// --- construction -------------------------------------------------------------------------------

TEST(QuantModel, PutsQuantizersIntoTheGraph) {
  Small small;
  QuantModel model(small, config_of());
  EXPECT_THAT(quantized_inputs(model), testing::ElementsAre("act > mean", "mean > fc", "x > conv"));
  EXPECT_EQ(model.points().size(), 5u);  // and two weights
  EXPECT_EQ(model.quantizer("conv_weight_quantizer").spec().type_name(), "int8");
  EXPECT_THAT([&] { model.quantizer("conv_weight_quantiser"); },
              ThrowsMessage<Error>(HasSubstr("did you mean 'conv_weight_quantizer'")));
  EXPECT_THAT(model.to_mermaid(), HasSubstr("x_quantizer --> conv"));
  EXPECT_EQ(model.floats().front().node, "act");
  EXPECT_EQ(model.floats().front().kind, DecisionKind::FusedWith);
  EXPECT_EQ(model.floats().front().other, "conv");
}

/// Counts the runs that it forwards to another executor.
class CountingExecutor : public fx::Executor {
 public:
  CountingExecutor(std::unique_ptr<fx::Executor> inner, int& runs, int& nodes)
      : inner_(std::move(inner)), runs_(runs), nodes_(nodes) {}
  fx::Value run(std::vector<fx::Value> inputs, const fx::Taps& taps) override {
    ++runs_;
    return inner_->run(std::move(inputs), taps);
  }
  fx::Value run_node(const fx::Node& node, fx::NodeCall& call) override {
    ++nodes_;
    return inner_->run_node(node, call);
  }

 private:
  std::unique_ptr<fx::Executor> inner_;
  int& runs_;
  int& nodes_;
};

/// Evaluation, calibration and profiling run on the given executor.
TEST(QuantModel, RunsOnAnyExecutor) {
  Small small;
  const at::Tensor x = at::randn({3, 3, 8, 8});
  QuantModel usual(small, config_of(), {x}), other(small, config_of(), {x});
  std::atomic<int> made = 0;
  int runs = 0, nodes = 0;
  other.set_executor([&](fx::GraphModule& module, const fx::ExecutorOptions& options) {
    ++made;
    return std::make_unique<CountingExecutor>(fx::make_interpreter(module, options), runs, nodes);
  });
  at::set_num_threads(1);
  for (QuantModel* model : {&usual, &other}) {
    model->prepare_calibration();
    model->forward({x});
    model->calc_qparams();
    model->set_quant({.weights = true, .activations = true});
  }
  EXPECT_EQ(runs, 3);  // one sample at a time
  EXPECT_TRUE(at::equal(result_of(usual, {x}), result_of(other, {x})));
  EXPECT_EQ(runs, 4);
  EXPECT_FALSE(quantization_error(other, {x}).empty());
  EXPECT_EQ(runs, 5);
  EXPECT_GE(made, 3);
  EXPECT_GT(std::exchange(nodes, 0), 0);  // layers, each alone with quantized inputs
  other.prepare_calibration({.keep_samples = true});
  other.forward({x});
  other.calc_qparams({.asym = true, .a_quant = true, .quantized_ranges = true});
  EXPECT_GT(nodes, 0);
}

TEST(QuantModel, EveryModelOfTheZooComputesWhatItDid) {
  for (const std::string& name : zoo::architectures().names()) {
    SCOPED_TRACE(name);
    const zoo::Example example = zoo::make(name);
    const auto original = fx::Tracer().trace(*example.model);
    original->eval();
    const at::NoGradGuard no_gradients;
    const fx::Value expected = (*original).invoke(example.inputs);
    const at::Tensor before =
        (expected.is_sequence() ? expected.items().front() : expected).tensor();
    QuantModel model(*example.model, config_of("SCHEDULE: {FUSE_BN: true}"), example.inputs);
    const at::Tensor after = result_of(model, example.inputs);
    EXPECT_LE((after - before).abs().max().item<double>(),
              1e-5 * std::max(1., before.abs().max().item<double>()));
    EXPECT_GT(model.points().size(), 10u);
  }
}

/// Inputs of convolutions, of the pooling and of the classifier; not of batch norms, activations,
/// sums and the maximum.
TEST(QuantModel, PointsOfResNet18AreThoseOfThePythonSparsebit) {
  const zoo::Example example = zoo::make("resnet18");
  for (const char* schedule : {"", "SCHEDULE: {FUSE_BN: true}"}) {
    QuantModel model(*example.model, config_of(schedule), example.inputs);
    const std::set<std::string> pairs = quantized_inputs(model);
    EXPECT_EQ(pairs.size(), 22u);  // 20 convolutions, pooling, classifier
    for (const std::string& pair : pairs) {
      const std::string consumer = pair.substr(pair.find("> ") + 2);
      const bool expected = consumer.find("conv") != std::string::npos ||
                            consumer.find("downsample_0") != std::string::npos ||
                            consumer == "avgpool" || consumer == "fc";
      EXPECT_TRUE(expected) << pair;
    }
    const auto weights = std::count_if(model.points().begin(), model.points().end(),
                                       [](const QuantPoint& point) { return point.is_weight(); });
    EXPECT_EQ(weights, 21);
    // The input of a block is read by its first convolution and its shortcut, and quantized once.
    EXPECT_EQ(model.points().size() - static_cast<size_t>(weights), 19u);
  }
}

/// The number of quantized inputs by operator.
std::map<std::string, int> quantized_operators(const QuantModel& model) {
  std::map<std::string, int> counts;
  for (const QuantPoint& point : model.points()) {
    if (point.is_weight()) continue;
    for (const std::string& consumer : point.consumers) {
      const fx::Node& node = *model.module().graph().find(consumer);
      ++counts[fx::find_spelling(node, model.module())->op->name];
    }
  }
  return counts;
}

TEST(QuantModel, PointsOfOtherModelsAreThoseOfThePythonSparsebit) {
  using Counts = std::map<std::string, int>;
  const std::vector<std::pair<const char*, Counts>> expected = {
      {"mobilenet_v2", {{"conv2d", 52}, {"adaptive_avg_pool2d", 1}, {"linear", 1}}},
      // Per block: two norms; qkv, projection and two more layers; two products of two inputs; a
      // softmax.
      {"deit_tiny",
       {{"conv2d", 1},
        {"linear", 12 * 4 + 1},
        {"layer_norm", 12 * 2 + 1},
        {"softmax", 12},
        {"matmul", 12 * 4}}},
      // Per layer: query, key and value projections, the output projection and two more linear
      // layers; two norms. Then the norm of the embeddings and the pooler.
      {"bert",
       {{"linear", 12 * 6 + 1},
        {"layer_norm", 12 * 2 + 1},
        {"softmax", 12},
        {"matmul", 12 * 4},
        {"tanh", 1}}},
  };
  for (const auto& [name, counts] : expected) {
    SCOPED_TRACE(name);
    const zoo::Example example = zoo::make(name);
    QuantModel model(*example.model, config_of("SCHEDULE: {FUSE_BN: true}"), example.inputs);
    EXPECT_EQ(quantized_operators(model), counts);
  }
}

TEST(QuantModel, SumsAreQuantizedOnRequest) {
  const zoo::Example example = zoo::make("resnet20");
  QuantModel off(*example.model, config_of(), example.inputs);
  QuantModel on(*example.model,
                parse_qconfig(parse_yaml(R"(
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}, QADD: {ENABLE_QUANT: true}}
)",
                                         "q.yaml")),
                example.inputs);
  EXPECT_EQ(quantized_inputs(on).size(), quantized_inputs(off).size() + 2 * 9);
}

TEST(QuantModel, LayersMayDiffer) {
  Small small;
  const QConfig config = parse_qconfig(parse_yaml(R"(
W:
  QSCHEME: per-channel-symmetric
  QUANTIZER: {BIT: 8}
  SPECIFIC: [{"fc": ["QUANTIZER.BIT", 4], "nothing*": ["QUANTIZER.BIT", 2]}]
A:
  QSCHEME: per-tensor-affine
  QUANTIZER: {BIT: 8}
  SPECIFIC: [{"conv": ["QUANTIZER.DISABLE", true]}]
)",
                                                  "q.yaml"));
  QuantModel model(small, config);
  EXPECT_EQ(model.quantizer("fc_weight_quantizer").spec().bits, 4);
  EXPECT_EQ(model.quantizer("conv_weight_quantizer").spec().bits, 8);
  EXPECT_TRUE(model.quantizer("x_quantizer").is_off_for_good());
  EXPECT_THAT(
      model.unused_patterns(),
      testing::ElementsAre("q.yaml:5: W.SPECIFIC[0].nothing*: 'nothing*' matches no layer of W"));
}

// --- life cycle ---------------------------------------------------------------------------------

TEST(QuantModel, CalibratesAndSimulates) {
  at::manual_seed(1);
  Small small;
  QuantModel model(small, config_of());
  const at::Tensor x = at::randn({6, 3, 8, 8});
  EXPECT_THAT([&] { model.calc_qparams(); },
              ThrowsMessage<Error>(HasSubstr("call prepare_calibration()")));
  EXPECT_THAT([&] { model.set_quant({.weights = true}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("it is not calibrated"),
                                         HasSubstr("at 'conv_weight_quantizer'"))));
  const at::Tensor before = result_of(model, {x});
  model.prepare_calibration();
  EXPECT_THAT(
      [&] { model.calc_qparams(); },
      ThrowsMessage<Error>(AllOf(HasSubstr("no data was seen"), HasSubstr("at 'x_quantizer'"))));
  EXPECT_TRUE(at::allclose(result_of(model, {x}), before, 1e-5, 1e-5));
  model.calc_qparams();
  EXPECT_FLOAT_EQ(model.quantizer("x_quantizer").qparams().scale.item<float>(),
                  ((x.max() - x.min()) / 255).item<float>());
  EXPECT_TRUE(at::allclose(result_of(model, {x}), before, 1e-5, 1e-5));
  model.set_quant({.weights = true, .activations = true});
  const at::Tensor simulated = result_of(model, {x});
  const double error = (simulated - before).abs().max().item<double>();
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.02 * before.abs().max().item<double>() + 0.02);
}

/// A hash of the bits of all scales.
size_t scales_of(QuantModel& model) {
  std::string bytes;
  for (const QuantPoint& point : model.points()) {
    const QParams qparams = point.quantizer->qparams();
    for (const at::Tensor& numbers : {qparams.scale.contiguous(), qparams.zero_point.contiguous()})
      bytes.append(static_cast<const char*>(numbers.data_ptr()), numbers.nbytes());
  }
  return std::hash<std::string>()(bytes);
}

TEST(QuantModel, BatchesOrderAndThreadsChangeNoBit) {
  const zoo::Example example = zoo::make("resnet20");
  at::manual_seed(2);
  const int threads_before = at::get_num_threads();
  const at::Tensor images = at::randn({14, 3, 32, 32});
  const auto run = [&](const std::string& observer, int64_t batch, int threads, bool shuffled) {
    at::set_num_threads(threads);
    const at::Tensor order = shuffled ? at::randperm(14) : at::arange(14);
    const at::Tensor data = images.index_select(0, order);
    QConfig config = config_of();
    config.activation.observer.type = config.weight.observer.type = observer;
    QuantModel model(*example.model, config, {images.narrow(0, 0, 1)});
    model.prepare_calibration();
    for (const at::Tensor& part : data.split(batch)) model.forward({part});
    model.calc_qparams();
    return scales_of(model);
  };
  for (const char* observer : {"minmax", "percentile", "mse", "aciq", "kl_histogram"}) {
    SCOPED_TRACE(observer);
    const size_t expected = run(observer, 1, 1, false);
    EXPECT_EQ(run(observer, 7, 1, false), expected);
    EXPECT_EQ(run(observer, 14, 2, true), expected);
  }
  at::set_num_threads(threads_before);
}

TEST(QuantModel, TheModelGivenStaysAsItIs) {
  Small small;
  small.train();
  const at::Tensor weight = small.find_tensor("conv.weight")->clone();
  QuantModel model(small, config_of());
  EXPECT_TRUE(small.find_module("conv")->is_training());
  EXPECT_EQ(small.find_module("conv")->children().size(), 0u);
  EXPECT_FALSE(
      model.module().find_tensor("conv.weight")->is_same(*small.find_tensor("conv.weight")));
}

TEST(QuantModel, LayersShowTheirQuantizers) {
  const zoo::Example example = zoo::make("resnet20");
  QuantModel model(*example.model, config_of(), example.inputs);
  const QuantOpr layer = model.layer("layer1.0.conv1");
  EXPECT_EQ(layer.name(), "layer1_0_conv1");
  EXPECT_TRUE(layer.has_weight_quantizer());
  layer.weight_quantizer().set_bits(4);
  EXPECT_EQ(model.quantizer("layer1_0_conv1_weight_quantizer").spec().type_name(), "int4");
  EXPECT_EQ(&model.layer("layer1_0_conv1").input_quantizer(), &layer.input_quantizer());
  EXPECT_THAT([&] { model.layer("layer1.0.conv9"); },
              ThrowsMessage<Error>(HasSubstr("did you mean 'layer1.0.conv")));
  for (const fx::Node& node : model.module().graph().nodes())
    EXPECT_FALSE(node.op() == fx::Opcode::GetAttr && node.users().empty()) << node.name();
}

TEST(QuantModel, LayersWithTwoInputsShowBoth) {
  const zoo::Example example = zoo::make("deit_tiny");
  QuantModel model(*example.model, config_of(), example.inputs);
  for (const QuantPoint& point : model.points()) {
    for (const std::string& name : point.consumers) {
      if (fx::find_spelling(*model.module().graph().find(name), model.module())->op->name !=
          "matmul")
        continue;
      const QuantOpr product = model.layer(name);
      EXPECT_EQ(product.input_quantizers().size(), 2u);
      EXPECT_THAT([&] { product.input_quantizer(); },
                  ThrowsMessage<Error>(HasSubstr("has 2 quantized inputs")));
      EXPECT_THAT([&] { product.weight_quantizer(); },
                  ThrowsMessage<Error>(HasSubstr("has no quantized weight")));
      return;
    }
  }
  FAIL() << "there is no product";
}

/// Also in a graph from a file, whose modules are not kept as nodes.
TEST(QuantModel, SkippedModulesStayFloat) {
  const zoo::Example example = zoo::make("resnet20");
  const QConfig config = config_of("SKIP_TRACE_MODULES: ['layer1.?', 'nothing.*']");
  const auto graph = fx::Tracer().trace(*example.model);
  for (fx::Module* form : {example.model.get(), static_cast<fx::Module*>(graph.get())}) {
    QuantModel model(*form, config, example.inputs);
    for (const std::string& pair : quantized_inputs(model))
      EXPECT_EQ(pair.find("> layer1_"), std::string::npos) << pair;
    EXPECT_THAT(quantized_inputs(model), testing::Contains(HasSubstr("> layer2_0_conv1")));
    EXPECT_THAT(model.unused_patterns(),
                testing::ElementsAre("SKIP_TRACE_MODULES: 'nothing.*' matches no module"));
    const auto skipped =
        std::count_if(model.floats().begin(), model.floats().end(),
                      [](const Decision& d) { return d.kind == DecisionKind::SkippedModule; });
    EXPECT_GE(skipped, 3);
  }
}

TEST(QuantModel, GradientsReachTheWeights) {
  Small small;
  QuantModel model(small, config_of());
  model.prepare_calibration();
  model.forward({at::randn({2, 3, 8, 8})});
  model.init_qat();
  model.forward({at::randn({2, 3, 8, 8})}).tensor().sum().backward();
  EXPECT_TRUE(model.module().find_tensor("conv.weight")->grad().defined());
}

/// Calls in the wrong order are errors and do not lose statistics.
TEST(QuantModel, NothingIsSwitchedOnWhileCalibrating) {
  Small small;
  QuantModel model(small, config_of());
  model.prepare_calibration();
  EXPECT_THAT([&] { model.set_quant({.weights = true}); },
              ThrowsMessage<Error>(HasSubstr("call calc_qparams() before set_quant()")));
  EXPECT_THAT([&] { model.batchnorm_tuning([] {}); },
              ThrowsMessage<Error>(HasSubstr("call calc_qparams() before batchnorm_tuning()")));
  model.prepare_calibration();
  model.forward({at::randn({2, 3, 8, 8})});
  model.calc_qparams();
}

TEST(QuantModel, GroupsThatDoNotFitNameTheLayer) {
  Small small;
  QConfig config = config_of();
  config.weight.quantizer.group_size = 4;
  EXPECT_THAT([&] { QuantModel(small, config); },
              ThrowsMessage<Error>(HasSubstr("\n    \"conv\": [\"QUANTIZER.GROUP_SIZE\", 0]")));
  const zoo::Example yolo = zoo::make("yolo");
  config.weight.quantizer.group_size = 1;
  EXPECT_THAT([&] { QuantModel(*yolo.model, config, yolo.inputs); },
              ThrowsMessage<Error>(HasSubstr("or its weight cannot be grouped")));
  config.weight.quantizer = {.type = "pact", .bits = 8};
  EXPECT_THAT([&] { QuantModel(*yolo.model, config, yolo.inputs); },
              ThrowsMessage<Error>(HasSubstr("layer '")));
}

/// x -> fc(fc(x)), with one layer.
class Twice : public nn::Module {
 public:
  Twice() : Module("Twice", "x") { add_module("fc", nn::Linear(4, 4)); }
  nn::Value forward(const nn::Args& in) override { return call("fc", call("fc", in["x"])); }
};

TEST(QuantModel, AWeightHasOneQuantizer) {
  Twice twice;
  QuantModel model(twice, config_of());
  EXPECT_EQ(model.quantizer("fc_weight_quantizer").spec().bits, 8);
  const QConfig config = parse_qconfig(parse_yaml(R"(
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}, SPECIFIC: [{"fc_1": ["QUANTIZER.BIT", 4]}]}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)",
                                                  "q.yaml"));
  EXPECT_THAT([&] { QuantModel(twice, config); },
              ThrowsMessage<Error>(HasSubstr("is read by 'fc' and 'fc_1'")));
}

/// Adds an input that may be integer; without an example its type is unknown.
class AddsIndices : public nn::Module {
 public:
  AddsIndices() : Module("AddsIndices", "i, j") { add_module("embed", nn::Embedding(9, 4)); }
  nn::Value forward(const nn::Args& in) override { return call("embed", in["i"] + in["j"]); }
};

TEST(QuantModel, IntegersAreNotQuantized) {
  AddsIndices adds;
  QConfig config = config_of();
  config.quantize_add = true;
  QuantModel model(adds, config);
  const at::Tensor i = at::tensor({1, 2}), j = at::tensor({3, 4});
  model.prepare_calibration();
  model.forward({i, j});
  model.calc_qparams();
  EXPECT_EQ(model.quantizer("i_quantizer").why_off()->kind, DecisionKind::ValuesNotFloat);
  model.set_quant({.weights = true, .activations = true});
  model.forward({i, j});
}

/// Later consumers see the in-place change, regardless of which values are quantized.
class WritesSilu : public nn::Module {
 public:
  WritesSilu() : Module("WritesSilu", "x") {
    add_module("act", nn::SiLU({{"inplace", true}}));
    add_module("fc", nn::Linear(6, 3));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value y = in["x"] * 2;
    call("act", y);
    return call("fc", y);
  }
};

TEST(QuantModel, WritesInPlaceAreSeenByLaterReaders) {
  WritesSilu writes;
  const at::Tensor x = at::randn({8, 6});
  const at::NoGradGuard no_gradients;
  QuantModel model(writes, config_of(), {x});
  const at::Tensor before = result_of(model, {x});
  model.prepare_calibration();
  model.forward({x});
  model.calc_qparams();
  model.set_quant({.weights = true, .activations = true});
  const double error = (result_of(model, {x}) - before).abs().max().item<double>();
  EXPECT_LT(error, 0.02 * before.abs().max().item<double>());
}

/// A model whose first axis is not a batch axis: tokens attend to each other.
class Attends : public nn::Module {
 public:
  Attends() : Module("Attends", "x, table") {}
  nn::Value forward(const nn::Args& in) override {
    return nn::matmul(nn::matmul(in["x"], in["table"]), nn::transpose(in["table"], 0, 1));
  }
};

TEST(QuantModel, BatchesMayBeShownWhole) {
  Attends attends;
  QuantModel model(attends, config_of());
  const at::Tensor x = at::randn({2, 4}), table = at::randn({4, 3});
  model.prepare_calibration();
  EXPECT_THAT([&] { model.forward({x, table}); },
              ThrowsMessage<Error>(HasSubstr("prepare_calibration({.whole_batches = true})")));
  model.prepare_calibration({.whole_batches = true});
  const at::Tensor seen = result_of(model, {x, table});
  model.calc_qparams();
  EXPECT_TRUE(at::allclose(seen, x.matmul(table).matmul(table.t()), 1e-5, 1e-5));
}

TEST(QuantModel, ANumberThatIsNotFiniteNamesThePoint) {
  Small small;
  QuantModel model(small, config_of());
  model.prepare_calibration();
  at::Tensor x = at::randn({1, 3, 8, 8});
  x.view(-1)[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT([&] { model.forward({x}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("there are 1 NaN"), HasSubstr("x_quantizer"))));
}

}  // namespace
}  // namespace sparsebit::quant::quant_model_test

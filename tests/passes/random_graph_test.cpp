// Random models that contain the patterns of the passes and cases in which passes must not apply:
// the outputs must not change.

#include "passes/pass_case.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

namespace sparsebit::passes::random_graph_test {
namespace {

using fx::List;
using fx::Node;
using fx::Value;

/// A network of tensors [2, channels, 4, 4]. Each step reads some existing tensors and adds one.
class RandomModel {
 public:
  explicit RandomModel(uint32_t seed) : engine_(seed), graph_(std::make_unique<fx::Graph>()) {}

  std::unique_ptr<fx::GraphModule> make() {
    holder_ = std::make_unique<fx::Module>("Model", fx::Schema());
    add(graph_->placeholder("x"), 4);
    const size_t steps = 3 + pick(10);
    for (size_t i = 0; i < steps; ++i) add_step();
    std::vector<Value> results;
    for (size_t i = 0; i < 1 + pick(3); ++i) results.emplace_back(*pool_[pick(pool_.size())].node);
    results.emplace_back(*pool_.back().node);
    graph_->output(fx::Tuple(results));
    auto module = std::make_unique<fx::GraphModule>(*holder_, std::move(graph_), "Model");
    test::randomize(*module, engine_());
    module->to(at::kDouble);
    module->eval();
    return module;
  }

 private:
  struct Entry {
    Node* node;
    int64_t channels;
  };

  // --- helpers ----------------------------------------------------------------------------------

  size_t pick(size_t count) { return engine_() % count; }
  bool maybe() { return pick(2) == 0; }
  Entry any() { return pool_[pick(pool_.size())]; }
  /// An entry with the same number of channels, possibly the same entry.
  Entry like(const Entry& other) {
    for (int i = 0; i < 8; ++i) {
      const Entry entry = any();
      if (entry.channels == other.channels) return entry;
    }
    return other;
  }
  void add(Node& node, int64_t channels) { pool_.push_back({&node, channels}); }

  std::string new_name(const char* what) { return what + std::to_string(count_++); }
  Node& call(const char* target, std::vector<Value> args, fx::Kwargs kwargs = {}) {
    return graph_->call_function(target, std::move(args), std::move(kwargs));
  }
  Node& module(const char* what, fx::ModulePtr child, const Value& x) {
    const std::string name = new_name(what);
    holder_->add_module(name, std::move(child));
    return graph_->call_module(name, {x});
  }
  Node& constant(const std::vector<int64_t>& shape) {
    const std::string name = new_name("constant");
    if (maybe()) {
      holder_->add_buffer(name, at::ones(shape));
    } else {
      holder_->add_parameter(name, at::ones(shape));
    }
    return graph_->get_attr(name);
  }
  /// A 0-d constant of another type than the rest of the model.
  Node& integer() {
    const std::string name = new_name("integer");
    holder_->add_buffer(name, at::scalar_tensor(3, at::kLong));
    return graph_->get_attr(name);
  }
  /// The binary operator with its operands in either order.
  Node& commuted(const char* target, const Value& a, const Value& b) {
    return maybe() ? call(target, {a, b}) : call(target, {b, a});
  }

  // --- steps ------------------------------------------------------------------------------------

  void add_step() {
    switch (pick(32)) {
      case 0:
      case 1:
        return convolution();
      case 2:
        return convolution_and_norm();
      case 3:
        return norm_and_convolution();
      case 4:
      case 5:
        return activation();
      case 6:
        return arithmetic();
      case 7:
        return in_place();
      case 8:
        return write_to_view();
      case 9:
        return transposes();
      case 10:
        return reshapes();
      case 11:
        return pad_and_convolution();
      case 12:
        return concatenation();
      case 13:
        return nothing();
      case 14:
        return decomposed_activation();
      case 15:
        return decomposed_layer_norm();
      case 16:
        return decomposed_attention();
      case 17:
        return product_with_matrix();
      case 18:
        return parts_and_sizes();
      case 19:
        return functions_with_weights();
      case 20:
        return state_that_is_written();
      case 21:
        return tensors_of_one_number();
      case 22:
        return squeezes();
      case 23:
        return integers();
      case 24:
        return rows();
      case 25:
        return chain_of_layers();
      case 26:
        return other_ranks();
      case 27:
      case 28:
        return scaled_convolution();
      case 29:
        return limits();
      case 30:
        return grid_of_a_written_row();
      default:
        return twice_the_same();
    }
  }

  fx::ModulePtr random_convolution(int64_t in, int64_t out, int64_t kernel, int64_t padding) {
    const int64_t groups = in == out && pick(3) == 0 ? in : (maybe() ? 2 : 1);
    return nn::Conv2d(in, out, kernel,
                      {{"padding", padding}, {"groups", groups}, {"bias", maybe()}});
  }

  void convolution() {
    const Entry x = any();
    const int64_t out = maybe() ? 2 : 4;
    if (pick(4) == 0) {
      const fx::ModulePtr layer =
          nn::ConvTranspose2d(x.channels, out, 3, {{"padding", 1}, {"groups", maybe() ? 1 : 2}});
      return add(module("up", layer, *x.node), out);
    }
    const int64_t kernel = maybe() ? 1 : 3;
    Node& y = module("conv", random_convolution(x.channels, out, kernel, kernel / 2), *x.node);
    add(y, out);
    if (pick(4) == 0) {  // the same layer again
      const Entry other = like(x);
      add(graph_->call_module(y.target(), {*other.node}), out);
    }
  }

  fx::ModulePtr random_norm(int64_t channels) {
    return nn::BatchNorm2d(channels, {{"affine", pick(4) != 0}});
  }

  void convolution_and_norm() {
    convolution();
    const Entry x = pool_.back();
    if (maybe()) pool_.pop_back();  // mostly without other readers
    Node& y = module("bn", random_norm(x.channels), *x.node);
    add(y, x.channels);
    if (maybe()) add(module("act", nn::ReLU({{"inplace", maybe()}}), y), x.channels);
  }

  void norm_and_convolution() {
    const Entry x = any();
    Node& y = module("bn", random_norm(x.channels), *x.node);
    if (pick(4) == 0) add(y, x.channels);
    const int64_t kernel = maybe() ? 1 : 3;
    add(module("conv", random_convolution(x.channels, 4, kernel, kernel / 2), y), 4);
  }

  void activation() {
    const Entry x = any();
    const auto make = [&]() -> Node& {
      switch (pick(8)) {
        case 0:
          return module("act", nn::ReLU6(), *x.node);
        case 1:
          return module("act", nn::PReLU({{"num_parameters", maybe() ? 1 : x.channels}}), *x.node);
        case 2:
          return call("torch.nn.functional.leaky_relu", {*x.node, 0.1});
        case 3:
          return call("torch.sigmoid", {*x.node});
        case 4:
          return call("torch.tanh", {*x.node});
        case 5:
          return call("torch.nn.functional.gelu", {*x.node});
        case 6:
          return call("torch.nn.functional.hardswish", {*x.node});
        default:
          return graph_->call_method("relu", {*x.node});
      }
    };
    add(make(), x.channels);
  }

  void arithmetic() {
    const Entry x = any();
    const std::vector<Value> others = {*like(x).node, 0, 1, 2.5, 1.0, constant({x.channels, 1, 1})};
    const char* targets[] = {"torch.add", "torch.mul", "torch.sub", "operator.add", "operator.mul"};
    add(call(targets[pick(5)], {*x.node, others[pick(others.size())]}), x.channels);
  }

  /// Mostly, the written value is read through the result only.
  void in_place() {
    const Entry x = any();
    Node& y = call("torch.neg", {*x.node});
    if (pick(3) == 0) add(y, x.channels);
    const auto write = [&]() -> Node& {
      switch (pick(5)) {
        case 0:
          return graph_->call_method("add_", {y, 1.5});
        case 3:
          return graph_->call_method("mul_", {y, integer()});
        case 1:
          return call("operator.iadd", {y, *like(x).node});
        case 2:
          return module("act", nn::ReLU({{"inplace", true}}), y);
        default:
          return call("torch.nn.functional.silu", {y}, {{"inplace", true}});
      }
    };
    add(write(), x.channels);
  }

  void write_to_view() {
    const Entry x = any();
    Node& y = call("torch.abs", {*x.node});
    Node& before = call("torch.neg", {y});
    Node& view = maybe() ? graph_->call_method("view", {y, -1})
                         : call("torch.permute", {y, List({1, 0, 3, 2})});
    graph_->call_method("mul_", {view, 2.0});
    add(y, x.channels);
    if (maybe()) add(before, x.channels);
  }

  void transposes() {
    const Entry x = any();
    const std::vector<std::vector<int64_t>> orders = {
        {0, 2, 3, 1}, {0, 3, 1, 2}, {1, 0, 3, 2}, {0, 1, 2, 3}, {3, 2, 1, 0}};
    const std::vector<int64_t> order = orders[pick(orders.size())];
    std::vector<int64_t> back(4);
    for (size_t i = 0; i < 4; ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    const bool exchange = maybe();
    Node* y = &call("torch.permute", {*x.node, order});
    if (exchange) y = &call("torch.transpose", {*y, -1, 1});
    if (pick(3) == 0) y = &call("torch.tanh", {*y});
    if (exchange) y = &call("torch.transpose", {*y, 1, 3});
    add(call("torch.permute", {*y, back}), x.channels);
  }

  void reshapes() {
    const Entry x = any();
    Node& flat = maybe() ? call("torch.flatten", {*x.node, 1})
                         : call("torch.reshape", {*x.node, List({2, -1})});
    Node& middle =
        maybe() ? call("torch.unsqueeze", {flat, 1}) : call("torch.reshape", {flat, List({8, -1})});
    if (pick(4) == 0) add(call("torch.reshape", {middle, List({2, x.channels, 4, 4})}), x.channels);
    add(call("torch.reshape",
             {call("torch.reshape", {middle, List({-1, 4})}), List({2, x.channels, 4, 4})}),
        x.channels);
  }

  void pad_and_convolution() {
    const Entry x = any();
    Node& padded = call("torch.nn.functional.pad", {*x.node, List({1, 1, 1, 1})},
                        maybe() ? fx::Kwargs{} : fx::Kwargs{{"value", maybe() ? 0.0 : 1.0}});
    add(module("conv", random_convolution(x.channels, 4, 3, 0), padded), 4);
  }

  void concatenation() {
    const Entry x = any(), y = any();
    if (pick(4) == 0) return add(call("torch.cat", {List({*x.node}), 1}), x.channels);
    Node& both = call("torch.cat", {List({*x.node, *y.node}), 1});
    add(module("conv", nn::Conv2d(x.channels + y.channels, 2, 1), both), 2);
  }

  void nothing() {
    const Entry x = any();
    switch (pick(3)) {
      case 0:
        return add(module("id", nn::Identity(), *x.node), x.channels);
      case 1:
        return add(module("drop", nn::Dropout(0.5, {{"inplace", maybe()}}), *x.node), x.channels);
      default:
        return add(call("torch.nn.functional.pad", {*x.node, List({0, 0})}), x.channels);
    }
  }

  void decomposed_activation() {
    const Entry x = any();
    switch (pick(3)) {
      case 0: {
        Node& gate = call("torch.sigmoid", {*x.node});
        if (pick(3) == 0) add(gate, x.channels);
        return add(commuted("torch.mul", *x.node, gate), x.channels);
      }
      case 1: {
        Node& sum = commuted("torch.add", *x.node, maybe() ? 3 : 2);
        Node& clipped = call("torch.clamp", {sum, 0, 6});
        Node& scaled = call("torch.div", {clipped, 6});
        return add(maybe() ? scaled : commuted("torch.mul", *x.node, scaled), x.channels);
      }
      default: {
        Node& erf = call("torch.erf", {call("torch.div", {*x.node, std::sqrt(2.0)})});
        Node& bracket = commuted("torch.add", erf, pick(4) == 0 ? 2 : 1);
        Node& product = commuted("torch.mul", *x.node, bracket);
        return add(commuted("torch.mul", product, 0.5), x.channels);
      }
    }
  }

  void decomposed_layer_norm() {
    const Entry x = any();
    const int64_t axis = maybe() ? -1 : 3;
    Node& centred = call("torch.sub", {*x.node, call("torch.mean", {*x.node, List({axis}), true})});
    Node& square =
        maybe() ? call("torch.pow", {centred, 2}) : call("torch.mul", {centred, centred});
    Node& variance = pick(3) == 0
                         ? call("torch.var", {*x.node, List({axis}), pick(4) == 0, true})
                         : call("torch.mean", {square, List({pick(5) == 0 ? 2 : axis}), true});
    Node& root = call("torch.sqrt", {call("torch.add", {variance, 1e-5})});
    Node& normal = call("torch.div", {centred, root});
    if (pick(4) == 0) return add(normal, x.channels);
    Node& scaled = commuted("torch.mul", normal, constant({4}));
    add(commuted("torch.add", scaled, constant({4})), x.channels);
  }

  void decomposed_attention() {
    const Entry x = any();
    Node& flat = call("torch.flatten", {*x.node, 2});
    Node& key = maybe() ? call("torch.transpose", {flat, -2, -1})
                        : call("torch.permute", {flat, List({0, 2, 1})});
    Node* scores = &call("torch.matmul", {maybe() ? flat : call("torch.mul", {flat, 0.25}), key});
    if (maybe()) scores = &call("torch.div", {*scores, 4.0});
    if (maybe()) scores = &call("torch.add", {*scores, constant({x.channels, x.channels})});
    Node& weights = call("torch.softmax", {*scores, maybe() ? -1 : 1});
    Node& result = call("torch.matmul", {weights, flat});
    add(call("torch.reshape", {result, List({2, x.channels, 4, 4})}), x.channels);
  }

  void product_with_matrix() {
    const Entry x = any();
    Node* matrix = &constant({4, 4});
    if (maybe()) matrix = &graph_->call_method("t", {*matrix});
    Node& product = call("torch.matmul", {*x.node, *matrix});
    if (maybe()) return add(product, x.channels);
    add(commuted("torch.add", product, constant({4})), x.channels);
  }

  void parts_and_sizes() {
    const Entry x = any();
    if (maybe()) {
      const int64_t axis = static_cast<int64_t>(pick(4)) - 2;
      Node& part = call("operator.getitem", {call("torch.unbind", {*x.node}, {{"dim", axis}}), 0});
      return add(call("torch.add", {*x.node, call("torch.unsqueeze", {part, axis})}), x.channels);
    }
    Node& shape = call("getattr", {*x.node, "shape"});
    Node& batch = call("operator.getitem", {shape, 0});
    Node& flat = call("torch.reshape", {*x.node, List({batch, -1})});
    add(call("torch.reshape", {flat, List({batch, x.channels, 4, 4})}), x.channels);
  }

  /// Layers as functions; sometimes two share their weight.
  void functions_with_weights() {
    const Entry x = any();
    const auto conv = [&](const Entry& y, Node& weight) {
      const int64_t dilation = maybe() ? 1 : 2;
      add(call("torch.nn.functional.conv2d", {*y.node, weight, fx::None(), 1, dilation, dilation}),
          x.channels);
    };
    switch (pick(3)) {
      case 0: {
        Node& weight = constant({x.channels, x.channels, 3, 3});
        conv(x, weight);
        if (maybe()) conv(like(x), weight);
        return;
      }
      case 1:
        return add(call("torch.nn.functional.linear", {*x.node, constant({4, 4}), constant({4})}),
                   x.channels);
      default: {
        conv(x, constant({x.channels, x.channels, 3, 3}));
        const Entry y = pool_.back();
        const auto statistics = [&]() -> Node& { return constant({y.channels}); };
        return add(call("torch.nn.functional.batch_norm", {*y.node, statistics(), statistics()}),
                   y.channels);
      }
    }
  }

  /// State that a run changes, so that the next run differs; each model runs on a copy.
  void state_that_is_written() {
    const Entry x = any();
    const std::string name = new_name("state");
    holder_->add_buffer(name, at::ones({4}));
    Node& read = graph_->get_attr(name);
    Node& before = call("torch.mul", {read, 2.0});
    Node& written = graph_->call_method("add_", {read, 1.0});
    Node& again = maybe() ? graph_->get_attr(name) : written;
    add(call("torch.add", {*x.node, maybe() ? call("torch.mul", {again, 2.0}) : before}),
        x.channels);
  }

  void tensors_of_one_number() {
    const Entry x = any();
    const char* targets[] = {"torch.add", "torch.mul", "torch.sub", "torch.div"};
    const std::vector<int64_t> shape = maybe() ? std::vector<int64_t>{} : std::vector<int64_t>{1};
    Node& number = constant(shape);
    Node& gate = call("torch.sigmoid", {call(targets[pick(4)], {*x.node, number})});
    add(commuted("torch.mul", gate, maybe() ? *x.node : number), x.channels);
  }

  void squeezes() {
    const Entry x = any();
    const int64_t axis = static_cast<int64_t>(pick(4));
    Node& wider = call("torch.unsqueeze", {*x.node, axis});
    Node& narrower = call("torch.squeeze", {wider, axis});
    if (maybe()) return add(narrower, x.channels);
    Node& flat = call("torch.flatten", {wider});
    add(graph_->call_method("view", {flat, 2, x.channels, 4, -1}), x.channels);
  }

  void integers() {
    const Entry x = any();
    Node& positive = call("torch.gt", {*x.node, 0});
    Node* number = &graph_->call_method("to", {positive, at::kLong});
    if (maybe()) number = &call("torch.mul", {*number, maybe() ? Value(1) : Value(1.0)});
    if (maybe()) number = &call("torch.add", {*number, 0});
    Node& product = commuted("torch.mul", *number, call("torch.sigmoid", {*number}));
    add(call("torch.add", {*x.node, maybe() ? product : *number}), x.channels);
  }

  /// Linear layers and a batch norm on [2, features].
  void rows() {
    const Entry x = any();
    Node* y = maybe() ? &call("torch.flatten", {*x.node, 1})
                      : &call("torch.reshape", {*x.node, List({2, -1})});
    if (maybe()) y = &module("bn", nn::BatchNorm1d(16 * x.channels), *y);
    y = &module("fc", nn::Linear(16 * x.channels, 6), *y);
    if (maybe()) y = &module("bn", nn::BatchNorm1d(6), *y);
    if (maybe()) y = &module("act", nn::ReLU({{"inplace", maybe()}}), *y);
    y = &module("fc", nn::Linear(6, 16 * x.channels, {{"bias", maybe()}}), *y);
    add(call("torch.reshape", {*y, List({2, x.channels, 4, 4})}), x.channels);
  }

  /// The pattern of equalize_layers.
  void chain_of_layers() {
    const Entry x = any();
    Node* y = x.node;
    int64_t channels = x.channels;
    for (size_t i = 0; i < 2 + pick(2); ++i) {
      const int64_t out = maybe() ? channels : 4;
      y = &module("conv", random_convolution(channels, out, 3, 1), *y);
      channels = out;
      if (pick(4) == 0) continue;
      const fx::ModulePtr acts[] = {nn::ReLU({{"inplace", true}}), nn::ReLU6(), nn::LeakyReLU(),
                                    nn::PReLU({{"num_parameters", channels}}), nn::Sigmoid()};
      y = &module("act", acts[pick(5)], *y);
    }
    add(*y, channels);
  }

  /// Convolutions and batch norms of one and of three axes.
  void other_ranks() {
    const Entry x = any();
    const fx::Kwargs options = {{"groups", maybe() ? 1 : 2}, {"bias", maybe()}};
    if (maybe()) {
      Node* y = &call("torch.flatten", {*x.node, 2});
      y = &module("conv", nn::Conv1d(x.channels, 4, 1, options), *y);
      if (pick(4) != 0) y = &module("bn", nn::BatchNorm1d(4), *y);
      return add(call("torch.reshape", {*y, List({2, 4, 4, 4})}), 4);
    }
    Node* y = &call("torch.unsqueeze", {*x.node, 2});
    y = &module("conv", nn::Conv3d(x.channels, 4, 1, options), *y);
    if (pick(4) != 0) y = &module("bn", nn::BatchNorm3d(4), *y);
    add(call("torch.squeeze", {*y, 2}), 4);
  }

  void scaled_convolution() {
    convolution();
    const Entry x = pool_.back();
    if (pick(4) != 0) pool_.pop_back();
    Node* y = x.node;
    for (size_t i = 0; i < 1 + pick(2); ++i) {
      const std::vector<std::vector<int64_t>> shapes = {
          {x.channels, 1, 1}, {1, x.channels, 1, 1}, {1, 1, 1, 1}, {1}, {4, 1}};
      const char* targets[] = {"torch.add", "torch.mul", "operator.mul", "torch.sub", "torch.div"};
      const Value operand = pick(5) == 0 ? Value(1.25) : Value(constant(shapes[pick(5)]));
      const char* target = targets[pick(5)];
      y = pick(3) == 0 ? &call(target, {operand, *y}) : &call(target, {*y, operand});
    }
    add(*y, x.channels);
  }

  /// Ways to write relu and relu6, and calls that only look similar.
  void limits() {
    const Entry x = any();
    Node& start = pick(3) == 0 ? call("torch.relu", {*x.node}) : *x.node;
    const auto limit = [&]() -> Node& {
      switch (pick(6)) {
        case 0:
          return call("torch.clamp", {start}, {{"min", 0}});
        case 1:
          return call("torch.clamp", {start, maybe() ? 0. : -1., maybe() ? 6. : 0.5});
        case 2:
          return call("torch.nn.functional.hardtanh", {start, 0., 6.});
        case 3:
          return call("torch.maximum", {start, constant({})});
        case 4:
          return call("torch.minimum", {start, constant({})});
        default:
          return call("torch.clamp", {start}, {{"max", 6}});
      }
    };
    add(limit(), x.channels);
  }

  void grid_of_a_written_row() {
    const Entry x = any();
    Node& row = call("torch.mean", {*x.node, List({0, 1, 2})});
    Node& grids = call("torch.meshgrid", {List({row, row})}, {{"indexing", "ij"}});
    Node& grid = call("operator.getitem", {grids, static_cast<int64_t>(pick(2))});
    if (maybe()) graph_->call_method("add_", {row, 1.0});
    add(call("torch.add", {*x.node, grid}), x.channels);
  }

  void twice_the_same() {
    const Entry x = any();
    const char* target = maybe() ? "torch.tanh" : "torch.abs";
    Node &a = call(target, {*x.node}), &b = call(target, {*x.node});
    add(call("torch.mul", {a, b}), x.channels);
    if (maybe()) graph_->call_method("add_", {maybe() ? a : b, 1.0});
    if (maybe()) add(a, x.channels);
  }

  std::mt19937 engine_;
  std::unique_ptr<fx::Graph> graph_;
  std::unique_ptr<fx::Module> holder_;
  std::vector<Entry> pool_;
  int count_ = 0;
};

/// Models are in float64, so that rounding stays far below this tolerance.
constexpr double kTolerance = 1e-7;

int number_of_graphs() {
  const char* wish = std::getenv("SPARSEBIT_RANDOM_GRAPHS");
  return wish ? std::atoi(wish) : 1000;
}

/// How often each pass changed something.
using Counts = std::map<std::string, int>;

void check_one(uint32_t seed, Counts& counts) {
  const auto module = RandomModel(seed).make();
  const auto again = module->clone_graph_module(), original = module->clone_graph_module();
  at::manual_seed(seed);
  const std::vector<Value> inputs = {at::randn({2, 4, 4, 4}, at::kDouble)};
  const std::string text = test::short_text(module->graph());
  const Schedule all{.stages = {Stage::Simplify, Stage::Fuse, Stage::Equalize}};
  if (seed % 2 == 0) {
    for (const auto& some : {module.get(), again.get(), original.get()})
      fx::record_shapes(*some, inputs);
  }
  for (const Change& change : run_passes(*module, all).changes) ++counts[change.pass];
  ASSERT_NO_THROW(fx::lint(module->graph(), *module)) << text;
  const std::vector<at::Tensor> before = test::outputs_of(*original, inputs);
  ASSERT_LE(test::difference(test::outputs_of(*module, inputs), before), kTolerance)
      << text << "became\n"
      << test::short_text(module->graph());
  run_passes(*again, all);
  ASSERT_EQ(test::short_text(again->graph()), test::short_text(module->graph()));
  ASSERT_TRUE(run_passes(*module, all).changes.empty()) << test::short_text(module->graph());
}

TEST(RandomGraphs, GiveTheSameAfterAllPasses) {
  Counts counts;
  for (int seed = 0; seed < number_of_graphs(); ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(check_one(static_cast<uint32_t>(seed), counts));
  }
  for (const std::string& name : passes().names()) EXPECT_GT(counts[name], 0) << name;
}

}  // namespace
}  // namespace sparsebit::passes::random_graph_test

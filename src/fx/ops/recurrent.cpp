#include "fx/ops/families.h"
#include "fx/ops/module_state.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::fx {
namespace {

using Ints = std::vector<int64_t>;

/// A call's input with a batch axis, and whether the call had one.
struct Sequence {
  at::Tensor input;
  bool batched;
  int64_t batch_axis;

  int64_t batch() const { return input.size(batch_axis); }
  at::Tensor restore_output(const at::Tensor& y) const {
    return batched ? y : y.squeeze(batch_axis);
  }
  at::Tensor restore_state(const at::Tensor& h) const { return batched ? h : h.squeeze(1); }
};

int64_t directions(const Args& a) { return a.flag("bidirectional") ? 2 : 1; }

std::vector<at::Tensor> read_weights(const Args& a) {
  std::vector<at::Tensor> weights = a.tensors("flat_weights");
  SPARSEBIT_CHECK(weights.size() >= 2 && weights[0].dim() == 2 && weights[1].dim() == 2,
                  InvalidArgument,
                  "flat_weights must start with two matrices, weight_ih and weight_hh");
  return weights;
}

/// The sizes of a cell, as its weights have them.
struct CellSizes {
  int64_t gates;
  int64_t hidden;  ///< numbers of a state inside
  int64_t output;  ///< numbers of what it gives
  bool has_bias;

  bool has_projection() const { return output != hidden; }
  int64_t weights() const { return (has_bias ? 4 : 2) + (has_projection() ? 1 : 0); }
};

/// By the first layer's weights, and the flag `bias`.
CellSizes cell_sizes(const Args& a, const std::vector<at::Tensor>& weights, int64_t gates) {
  const int64_t rows = weights[0].size(0), output = weights[1].size(1);
  SPARSEBIT_CHECK(rows > 0 && rows % gates == 0 && output > 0, InvalidArgument,
                  "expected weights of ", gates,
                  " gates with at least one feature each; "
                  "weight_ih has shape ",
                  weights[0].sizes(), ", weight_hh ", weights[1].sizes());
  return {gates, rows / gates, output, a.flag("bias")};
}

/// The weights of one direction of a layer, from `first` on.
void check_layer(const std::vector<at::Tensor>& weights, size_t first, const CellSizes& cell,
                 int64_t inputs) {
  const int64_t rows = cell.gates * cell.hidden;
  std::vector<Ints> shapes = {{rows, inputs}, {rows, cell.output}};
  if (cell.has_bias) shapes.insert(shapes.end(), 2, {rows});
  if (cell.has_projection()) shapes.push_back({cell.output, cell.hidden});
  for (size_t i = 0; i < shapes.size(); ++i) {
    SPARSEBIT_CHECK(weights[first + i].sizes() == at::IntArrayRef(shapes[i]), InvalidArgument,
                    "tensor ", first + i, " of flat_weights must have shape ",
                    at::IntArrayRef(shapes[i]), ", got ", weights[first + i].sizes());
  }
}

void check_layers(const Args& a, const std::vector<at::Tensor>& weights, const CellSizes& cell) {
  const auto count = std::ssize(weights);
  const int64_t layers = a.integer("num_layers"), per_layer = directions(a) * cell.weights();
  SPARSEBIT_CHECK(layers > 0 && count % per_layer == 0 && count / per_layer == layers,
                  InvalidArgument, "num_layers is ", layers, ", but flat_weights holds ", count,
                  " tensors, of which a layer has ", per_layer);
  int64_t inputs = weights[0].size(1);
  for (int64_t i = 0; i < layers * directions(a); ++i) {
    if (i == directions(a)) inputs = cell.output * directions(a);
    check_layer(weights, static_cast<size_t>(i * cell.weights()), cell, inputs);
  }
}

Sequence read_sequence(const Args& a, const std::vector<at::Tensor>& weights,
                       const CellSizes& cell) {
  check_layers(a, weights, cell);
  Sequence s{a.tensor("input"), true, a.flag("batch_first") ? 0 : 1};
  s.batched = s.input.dim() == 3;
  SPARSEBIT_CHECK(s.batched || s.input.dim() == 2, InvalidArgument,
                  "expected 2-D or 3-D input, got ", s.input.dim(), "-D");
  SPARSEBIT_CHECK(s.input.size(-1) == weights[0].size(1), InvalidArgument,
                  "input must have input_size = ", weights[0].size(1), " features, got ",
                  s.input.size(-1));
  if (!s.batched) s.input = s.input.unsqueeze(s.batch_axis);
  return s;
}

/// The given initial state with a batch axis, or zeros.
at::Tensor initial_state(const Args& a, const Value& given, const Sequence& s, int64_t size) {
  const Ints shape = {a.integer("num_layers") * directions(a), s.batch(), size};
  if (given.is_none()) return at::zeros(shape, s.input.options());
  const at::Tensor state = s.batched ? given.tensor() : given.tensor().unsqueeze(1);
  SPARSEBIT_CHECK(state.sizes() == at::IntArrayRef(shape), InvalidArgument,
                  "initial state must have shape ", at::IntArrayRef(shape), ", got ",
                  state.sizes());
  return state;
}

/// The state (h, c) of an LSTM; both none when it is not given.
std::pair<Value, Value> read_pair(const Args& a) {
  if (a.is_none("hx")) return {};
  const std::vector<Value>& given = a["hx"].items();
  SPARSEBIT_CHECK(given.size() == 2, InvalidArgument, "hx must be a pair (h, c), got ",
                  given.size(), " values");
  return {given[0], given[1]};
}

Value lstm(const Args& a) {
  const std::vector<at::Tensor> weights = read_weights(a);
  // torch.lstm has no proj_size: a projected output shows in the shapes.
  const CellSizes cell = cell_sizes(a, weights, 4);
  const int64_t projection = cell.has_projection() ? cell.output : 0;
  SPARSEBIT_CHECK(a.is_none("proj_size") || a.integer("proj_size") == projection, InvalidArgument,
                  "proj_size is ", a.integer("proj_size"), ", but the weights are made for ",
                  projection);
  const Sequence s = read_sequence(a, weights, cell);
  const auto [h, c] = read_pair(a);
  const at::Tensor states[] = {initial_state(a, h, s, cell.output),
                               initial_state(a, c, s, cell.hidden)};
  const auto [y, last_h, last_c] = at::lstm(
      s.input, states, weights, cell.has_bias, a.integer("num_layers"), a.number("dropout"),
      a.flag("training"), a.flag("bidirectional"), a.flag("batch_first"));
  const at::Tensor out = s.restore_output(y);
  const at::Tensor end_h = s.restore_state(last_h), end_c = s.restore_state(last_c);
  if (a.flag("nested_state")) return Tuple{out, Tuple{end_h, end_c}};
  return Tuple{out, end_h, end_c};
}

/// Recurrent networks with one state tensor. `run` is ATen's function for the kind of cell.
template <class Run>
Value single_state(const Args& a, int64_t gates, Run run) {
  const std::vector<at::Tensor> weights = read_weights(a);
  const CellSizes cell = cell_sizes(a, weights, gates);
  SPARSEBIT_CHECK(!cell.has_projection(), InvalidArgument, "weight_hh must have ", cell.hidden,
                  " columns, got ", cell.output);
  const Sequence s = read_sequence(a, weights, cell);
  const at::Tensor h = initial_state(a, a["hx"], s, cell.hidden);
  const std::tuple<at::Tensor, at::Tensor> result =
      run(s.input, h, weights, cell.has_bias, a.integer("num_layers"), a.number("dropout"),
          a.flag("training"), a.flag("bidirectional"), a.flag("batch_first"));
  return Tuple{s.restore_output(std::get<0>(result)), s.restore_state(std::get<1>(result))};
}

bool uses_relu(const Args& a) {
  const std::string name = a.text("nonlinearity");
  SPARSEBIT_CHECK(name == "tanh" || name == "relu", InvalidArgument,
                  "nonlinearity must be 'tanh' or 'relu', got '", name, "'");
  return name == "relu";
}

/// Of a module that is to be made; larger ones are mistakes, and would overflow what follows.
void check_size(const Args& a, const char* name, int64_t least) {
  constexpr int64_t kMost = int64_t{1} << 24;
  const int64_t size = a.has(name) ? a.integer(name) : least;
  SPARSEBIT_CHECK(size >= least && size <= kMost, InvalidArgument, name, " must be between ", least,
                  " and ", kMost, ", got ", size);
}

/// Parameters of all layers. `gates` is how many times the hidden size a layer computes.
template <int64_t Gates>
ModuleState layers_state(const Args& a, const MaybeGenerator& generator) {
  for (const char* name : {"input_size", "hidden_size", "num_layers"}) check_size(a, name, 1);
  check_size(a, "proj_size", 0);
  const int64_t hidden = a.integer("hidden_size");
  const int64_t projection = a.has("proj_size") ? a.integer("proj_size") : 0;
  SPARSEBIT_CHECK(projection < hidden, InvalidArgument,
                  "hidden_size must be larger than proj_size, got ", hidden, " and ", projection);
  const int64_t output = projection > 0 ? projection : hidden;
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden));
  ModuleState state;
  const auto add = [&](const std::string& name, Ints shape) {
    state.parameters.emplace_back(name, uniform_parameter(shape, bound, generator));
  };
  for (int64_t layer = 0; layer < a.integer("num_layers"); ++layer) {
    const int64_t input = layer == 0 ? a.integer("input_size") : output * directions(a);
    for (int64_t direction = 0; direction < directions(a); ++direction) {
      const std::string suffix = c10::str("_l", layer, direction == 1 ? "_reverse" : "");
      add("weight_ih" + suffix, {Gates * hidden, input});
      add("weight_hh" + suffix, {Gates * hidden, output});
      if (a.flag("bias")) {
        add("bias_ih" + suffix, {Gates * hidden});
        add("bias_hh" + suffix, {Gates * hidden});
      }
      if (projection > 0) add("weight_hr" + suffix, {projection, hidden});
    }
  }
  return state;
}

template <int64_t Gates>
ModuleState cell_parameters(const Args& a, const MaybeGenerator& generator) {
  for (const char* name : {"input_size", "hidden_size"}) check_size(a, name, 1);
  const int64_t hidden = a.integer("hidden_size"), rows = Gates * hidden;
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden));
  ModuleState state;
  state.parameters = {
      {"weight_ih", uniform_parameter({rows, a.integer("input_size")}, bound, generator)},
      {"weight_hh", uniform_parameter({rows, hidden}, bound, generator)},
      {"bias_ih", {}},
      {"bias_hh", {}}};
  if (a.flag("bias")) {
    state.parameters[2].second = uniform_parameter({rows}, bound, generator);
    state.parameters[3].second = uniform_parameter({rows}, bound, generator);
  }
  return state;
}

/// A cell's input with a batch axis, and whether that axis was added.
struct Step {
  at::Tensor input;
  bool batched;

  at::Tensor restore(const at::Tensor& h) const { return batched ? h : h.squeeze(0); }
};

Step read_step(const Args& a) {
  const at::Tensor x = a.tensor("input");
  SPARSEBIT_CHECK(x.dim() == 1 || x.dim() == 2, InvalidArgument, "expected 1-D or 2-D input, got ",
                  x.dim(), "-D");
  return {x.dim() == 2 ? x : x.unsqueeze(0), x.dim() == 2};
}

void check_cell(const Args& a, const Step& step, int64_t gates) {
  const at::Tensor ih = a.tensor("weight_ih"), hh = a.tensor("weight_hh");
  const int64_t hidden = hh.dim() == 2 ? hh.size(1) : 0, rows = gates * hidden;
  SPARSEBIT_CHECK(hidden > 0 && hh.size(0) == rows && ih.dim() == 2 && ih.size(0) == rows,
                  InvalidArgument, "expected weights of ", gates,
                  " gates with at least one feature each; weight_ih has shape ", ih.sizes(),
                  ", weight_hh ", hh.sizes());
  SPARSEBIT_CHECK(step.input.size(1) == ih.size(1), InvalidArgument,
                  "input must have input_size = ", ih.size(1), " features, got ",
                  step.input.size(1));
  for (const char* name : {"bias_ih", "bias_hh"}) {
    const auto bias = a.optional_tensor(name);
    SPARSEBIT_CHECK(!bias || !bias->defined() || bias->sizes() == at::IntArrayRef(rows),
                    InvalidArgument, name, " must have shape [", rows, "], got ", bias->sizes());
  }
}

at::Tensor cell_state(const Args& a, const Value& given, const Step& step) {
  const Ints shape = {step.input.size(0), a.tensor("weight_hh").size(1)};
  if (given.is_none()) return at::zeros(shape, step.input.options());
  const at::Tensor state = step.batched ? given.tensor() : given.tensor().unsqueeze(0);
  SPARSEBIT_CHECK(state.sizes() == at::IntArrayRef(shape), InvalidArgument,
                  "the state must have shape ", at::IntArrayRef(shape), ", got ", state.sizes());
  return state;
}

/// Calls ATen's cell function with the state and the parameters.
template <class Function, class State>
auto call_cell(Function function, const Args& a, const Step& step, const State& state) {
  return function(step.input, state, a.tensor("weight_ih"), a.tensor("weight_hh"),
                  a.optional_tensor("bias_ih"), a.optional_tensor("bias_hh"));
}

Value lstm_cell(const Args& a) {
  const Step step = read_step(a);
  check_cell(a, step, 4);
  const auto [h, c] = read_pair(a);
  const std::vector<at::Tensor> state = {cell_state(a, h, step), cell_state(a, c, step)};
  const auto [next_h, next_c] = call_cell(at::lstm_cell, a, step, state);
  return Tuple{step.restore(next_h), step.restore(next_c)};
}

Value gru_cell(const Args& a) {
  const Step step = read_step(a);
  check_cell(a, step, 3);
  return step.restore(call_cell(at::gru_cell, a, step, cell_state(a, a["hx"], step)));
}

Value rnn_cell(const Args& a) {
  const Step step = read_step(a);
  check_cell(a, step, 1);
  const auto function = uses_relu(a) ? at::rnn_relu_cell : at::rnn_tanh_cell;
  return step.restore(call_cell(function, a, step, cell_state(a, a["hx"], step)));
}

constexpr const char* kLayers =
    "input, flat_weights|params, hx=None, bias|has_biases=True, num_layers=1, dropout=0.0, "
    "training|train=False, bidirectional=False, batch_first=False";
constexpr const char* kTorchLayers =
    "input, hx, flat_weights|params, bias|has_biases, num_layers, dropout, training|train, "
    "bidirectional, batch_first";
constexpr const char* kLayersModule =
    "input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, "
    "bidirectional=False";
constexpr const char* kCell =
    "input, hx, weight_ih|w_ih, weight_hh|w_hh, bias_ih|b_ih=None, bias_hh|b_hh=None";

Schema extended(const char* schema, const char* more) {
  return Schema(std::string_view(c10::str(schema, ", ", more)));
}

template <int64_t Gates>
ModuleForm layers_module(const char* type, Schema constructor) {
  return {.type = type,
          .constructor = std::move(constructor),
          .forward = "input, hx=None",
          .init = layers_state<Gates>,
          .descriptive = {"input_size", "hidden_size"}};
}

template <int64_t Gates>
ModuleForm cell_module(const char* type, Schema constructor) {
  return {.type = type,
          .constructor = std::move(constructor),
          .forward = "input, hx=None",
          .init = cell_parameters<Gates>,
          .descriptive = {"input_size", "hidden_size", "bias"}};
}

void add_layers(OperatorTable& table) {
  // The module returns (output, (h, c)), torch.lstm returns (output, h, c).
  table.add({.name = "lstm",
             .schema = extended(kLayers, "proj_size=None, nested_state=True"),
             .forms = {{"torch.lstm", kTorchLayers, {{"nested_state", false}}}},
             .modules = {layers_module<4>("torch.nn.LSTM", extended(kLayersModule, "proj_size=0"))},
             .random = true,
             .growth = Growth::Product,
             .recurrent_weights = {"flat_weights"},
             .kernel = lstm});
  table.add({.name = "gru",
             .schema = kLayers,
             .forms = {{"torch.gru", kTorchLayers}},
             .modules = {layers_module<3>("torch.nn.GRU", kLayersModule)},
             .random = true,
             .growth = Growth::Product,
             .recurrent_weights = {"flat_weights"},
             .kernel = [](const Args& a) {
               return single_state(a, 3, [](const auto&... x) { return at::gru(x...); });
             }});
  table.add({.name = "rnn",
             .schema = extended(kLayers, "nonlinearity='tanh'"),
             .forms = {{"torch.rnn_tanh", kTorchLayers, {{"nonlinearity", "tanh"}}},
                       {"torch.rnn_relu", kTorchLayers, {{"nonlinearity", "relu"}}}},
             .modules = {layers_module<1>("torch.nn.RNN",
                                          extended(kLayersModule, "*, nonlinearity='tanh'"))},
             .random = true,
             .growth = Growth::Product,
             .recurrent_weights = {"flat_weights"},
             .kernel = [](const Args& a) {
               return single_state(a, 1, [relu = uses_relu(a)](const auto&... x) {
                 return relu ? at::rnn_relu(x...) : at::rnn_tanh(x...);
               });
             }});
}

void add_cells(OperatorTable& table) {
  table.add({.name = "lstm_cell",
             .schema = kCell,
             .forms = {"torch.lstm_cell"},
             .modules = {cell_module<4>("torch.nn.LSTMCell", "input_size, hidden_size, bias=True")},
             .growth = Growth::Product,
             .recurrent_weights = {"weight_ih", "weight_hh"},
             .kernel = lstm_cell});
  table.add({.name = "gru_cell",
             .schema = kCell,
             .forms = {"torch.gru_cell"},
             .modules = {cell_module<3>("torch.nn.GRUCell", "input_size, hidden_size, bias=True")},
             .growth = Growth::Product,
             .recurrent_weights = {"weight_ih", "weight_hh"},
             .kernel = gru_cell});
  table.add({.name = "rnn_cell",
             .schema = extended(kCell, "nonlinearity='tanh'"),
             .forms = {{"torch.rnn_tanh_cell", kCell, {{"nonlinearity", "tanh"}}},
                       {"torch.rnn_relu_cell", kCell, {{"nonlinearity", "relu"}}}},
             .modules = {cell_module<1>("torch.nn.RNNCell",
                                        "input_size, hidden_size, bias=True, "
                                        "nonlinearity='tanh'")},
             .growth = Growth::Product,
             .recurrent_weights = {"weight_ih", "weight_hh"},
             .kernel = rnn_cell});
}

}  // namespace

void add_recurrent_operators(OperatorTable& table) {
  add_layers(table);
  add_cells(table);
}

}  // namespace sparsebit::fx

#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/onnx_input.h"

#include <ATen/ATen.h>

#include <cctype>
#include <functional>

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Function = std::function<Tensor(const Tensor&)>;

/// One of ONNX's activation functions, with the defaults of alpha and beta where it takes them.
struct Activation {
  std::string_view name;
  c10::optional<double> alpha, beta;
  Tensor (*apply)(const Tensor& x, double alpha, double beta);
};

const std::vector<Activation>& activations() {
  using T = const Tensor&;
  static const std::vector<Activation> all = {
      {"relu", {}, {}, [](T x, double, double) { return x.relu(); }},
      {"tanh", {}, {}, [](T x, double, double) { return x.tanh(); }},
      {"sigmoid", {}, {}, [](T x, double, double) { return x.sigmoid(); }},
      {"softsign", {}, {}, [](T x, double, double) { return x.div(x.abs().add(1)); }},
      {"softplus", {}, {}, [](T x, double, double) { return at::softplus(x); }},
      {"affine", 1.0, 0.0, [](T x, double a, double b) { return x.mul(a).add(b); }},
      {"leakyrelu", 0.01, {}, [](T x, double a, double) { return at::leaky_relu(x, a); }},
      {"thresholdedrelu", 1.0, {}, [](T x, double a, double) { return at::threshold(x, a, 0); }},
      {"scaledtanh", 1.0, 1.0, [](T x, double a, double b) { return x.mul(b).tanh().mul(a); }},
      {"hardsigmoid", 0.2, 0.5,
       [](T x, double a, double b) { return x.mul(a).add(b).clamp(0, 1); }},
      {"elu", 1.0, {}, [](T x, double a, double) { return at::elu(x, a); }},
  };
  return all;
}

/// The next number of `given`, else the default; 0 for a function without this parameter.
double take(c10::optional<double> otherwise, const std::vector<Value>& given, size_t& next) {
  if (!otherwise) return 0;
  return next < given.size() ? given[next++].to_double() : *otherwise;
}

std::vector<Function> read_activations(const Args& a, const std::vector<Value>& usual,
                                       size_t directions) {
  std::vector<Value> names;
  for (size_t i = 0; i < directions; ++i) names.insert(names.end(), usual.begin(), usual.end());
  if (!a.is_none("activations")) names = a["activations"].items();
  SPARSEBIT_CHECK(names.size() == usual.size() * directions, InvalidArgument, "activations has ",
                  names.size(), " entries, expected ", usual.size() * directions);
  const std::vector<Value> none;
  const auto& alphas = a.is_none("activation_alpha") ? none : a["activation_alpha"].items();
  const auto& betas = a.is_none("activation_beta") ? none : a["activation_beta"].items();
  size_t next_alpha = 0, next_beta = 0;
  std::vector<Function> functions;
  for (const Value& given : names) {
    std::string name = given.string();
    for (char& ch : name) ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
    const auto it = std::find_if(activations().begin(), activations().end(),
                                 [&](const Activation& f) { return f.name == name; });
    SPARSEBIT_CHECK(it != activations().end(), InvalidArgument, "unknown activation '",
                    given.string(), "'");
    const double alpha = take(it->alpha, alphas, next_alpha);
    const double beta = take(it->beta, betas, next_beta);
    functions.emplace_back([=](const Tensor& x) { return it->apply(x, alpha, beta); });
  }
  return functions;
}

/// Weights and settings of one direction of a recurrent layer.
struct Layer {
  Tensor weight, recurrence;  ///< [gates * hidden, inputs] and [gates * hidden, hidden]
  Tensor bias, recurrent_bias;
  Tensor peephole;          ///< [3 * hidden], LSTM only; undefined when there is none
  std::vector<Function> f;  ///< activations
  double clip = 0;          ///< 0: no clipping
  bool linear_before_reset = false, input_forget = false;

  Tensor clipped(const Tensor& x) const { return clip > 0 ? x.clamp(-clip, clip) : x; }
};

struct State {
  Tensor h, c;  ///< [batch, hidden]; c only for an LSTM
};

/// One time step: `x` is the input's part of the gates, with weight and bias applied.
using Step = State (*)(const Layer&, const Tensor& x, const State&);

State rnn_step(const Layer& l, const Tensor& x, const State& s) {
  const Tensor gates = at::linear(s.h, l.recurrence, l.recurrent_bias) + x;
  return {l.f[0](l.clipped(gates)), {}};
}

State gru_step(const Layer& l, const Tensor& x, const State& s) {
  const auto in = x.chunk(3, 1), weights = l.recurrence.chunk(3),
             biases = l.recurrent_bias.chunk(3);
  const auto gate = [&](size_t i) { return in[i] + at::linear(s.h, weights[i], biases[i]); };
  const Tensor update = l.f[0](l.clipped(gate(0))), reset = l.f[0](l.clipped(gate(1)));
  const Tensor past = l.linear_before_reset ? reset * at::linear(s.h, weights[2], biases[2])
                                            : at::linear(reset * s.h, weights[2], biases[2]);
  const Tensor candidate = l.f[1](l.clipped(in[2] + past));
  return {(1 - update) * candidate + update * s.h, {}};
}

State lstm_step(const Layer& l, const Tensor& x, const State& s) {
  const auto gates = (x + at::linear(s.h, l.recurrence, l.recurrent_bias)).chunk(4, 1);
  const auto peep = [&](size_t gate, size_t part, const Tensor& c) {
    return l.peephole.defined() ? gates[gate] + l.peephole.chunk(3)[part] * c : gates[gate];
  };
  const Tensor input = l.f[0](l.clipped(peep(0, 0, s.c)));
  const Tensor forget = l.input_forget ? 1 - input : l.f[0](l.clipped(peep(2, 2, s.c)));
  const Tensor c = forget * s.c + input * l.f[1](l.clipped(gates[3]));
  const Tensor output = l.f[0](l.clipped(peep(1, 1, c)));
  return {output * l.f[2](c), c};
}

/// Runs one direction over `x` [time, batch, inputs]. Sequences that have ended keep their state
/// and give zeros. Returns the results [time, batch, hidden].
Tensor run_direction(const Layer& l, Step step, const Tensor& x, const Tensor& lengths,
                     bool backwards, State& state) {
  const Tensor inputs = at::linear(x, l.weight, l.bias);
  std::vector<Tensor> results(static_cast<size_t>(x.size(0)));
  for (int64_t i = 0; i < x.size(0); ++i) {
    const int64_t time = backwards ? x.size(0) - 1 - i : i;
    State next = step(l, inputs[time], state);
    Tensor& result = results[static_cast<size_t>(time)];
    result = next.h;
    if (lengths.defined()) {
      const Tensor runs = lengths.gt(time).unsqueeze(1);
      result = at::where(runs, next.h, at::zeros_like(next.h));
      next.h = at::where(runs, next.h, state.h);
      if (next.c.defined()) next.c = at::where(runs, next.c, state.c);
    }
    state = next;
  }
  return results.empty() ? state.h.new_empty({0, x.size(1), state.h.size(1)}) : at::stack(results);
}

/// A recurrent operator: number of gates, default activations and function of a time step.
struct Kind {
  int64_t gates;
  std::vector<Value> activations;
  Step step;
  bool has_cell = false;
};

/// The weights of all directions, checked.
struct Weights {
  Tensor w, r, b, p;
  int64_t directions, hidden;
};

Weights read_weights(const Args& a, const Kind& kind, const Tensor& x) {
  Weights all{a.tensor("W"), a.tensor("R"), {}, {}, 0, 0};
  SPARSEBIT_CHECK(x.dim() == 3 && all.w.dim() == 3 && all.r.dim() == 3, InvalidArgument,
                  "X, W and R must have 3 axes");
  all.directions = number_of(a, "direction", {"forward", "reverse", "bidirectional"}) == 2 ? 2 : 1;
  all.hidden = all.r.size(2);
  const int64_t rows = kind.gates * all.hidden, d = all.directions;
  SPARSEBIT_CHECK(all.hidden > 0, InvalidArgument, "R has shape ", all.r.sizes(),
                  ", and a state has at least one feature");
  SPARSEBIT_CHECK(a.is_none("hidden_size") || a.integer("hidden_size") == all.hidden,
                  InvalidArgument, "hidden_size is ", a.integer("hidden_size"),
                  ", but R has a hidden size of ", all.hidden);
  const auto check = [](const char* name, const Tensor& tensor, at::IntArrayRef shape) {
    SPARSEBIT_CHECK(tensor.sizes() == shape, InvalidArgument, name, " has shape ", tensor.sizes(),
                    ", expected ", shape);
  };
  check("W", all.w, {d, rows, x.size(2)});
  check("R", all.r, {d, rows, all.hidden});
  all.b = a.is_none("B") ? at::zeros({d, 2 * rows}, x.options()) : a.tensor("B");
  check("B", all.b, {d, 2 * rows});
  if (!kind.has_cell || a.is_none("P")) return all;
  all.p = a.tensor("P");
  check("P", all.p, {d, 3 * all.hidden});
  return all;
}

Layer layer_of(const Args& a, const Kind& kind, const Weights& all, int64_t direction,
               const std::vector<Function>& functions) {
  const auto bias = all.b[direction].chunk(2);
  const auto first = functions.begin() + direction * static_cast<int64_t>(kind.activations.size());
  Layer layer{.weight = all.w[direction],
              .recurrence = all.r[direction],
              .bias = bias[0],
              .recurrent_bias = bias[1],
              .peephole = all.p.defined() ? all.p[direction] : Tensor(),
              .f = {first, first + static_cast<int64_t>(kind.activations.size())},
              .clip = number_input(a, "clip", 0.0)};
  if (a.has("linear_before_reset")) layer.linear_before_reset = a.flag("linear_before_reset");
  if (a.has("input_forget")) layer.input_forget = a.flag("input_forget");
  return layer;
}

/// [directions, batch, hidden], zeros when it is not given.
Tensor initial_state(const Args& a, const char* name, const Weights& all, const Tensor& x,
                     bool batch_first) {
  const std::vector<int64_t> shape = {all.directions, x.size(1), all.hidden};
  if (a.is_none(name)) return at::zeros(shape, x.options());
  const Tensor given = a.tensor(name);
  const Tensor state = batch_first && given.dim() == 3 ? given.transpose(0, 1) : given;
  SPARSEBIT_CHECK(state.sizes() == at::IntArrayRef(shape), InvalidArgument, name, " has shape ",
                  given.sizes(), ", but directions, batch and hidden size are ",
                  at::IntArrayRef(shape));
  return state;
}

Tensor read_lengths(const Args& a, const Tensor& x) {
  if (a.is_none("sequence_lens")) return {};
  const Tensor lengths = a.tensor("sequence_lens");
  SPARSEBIT_CHECK(lengths.dim() == 1 && lengths.size(0) == x.size(1), InvalidArgument,
                  "sequence_lens has shape ", lengths.sizes(), " for a batch of ", x.size(1));
  return lengths;
}

Value run(const Args& a, const Kind& kind) {
  const bool batch_first = a.flag("layout");
  const Tensor given = a.tensor("X");
  const Tensor x = batch_first && given.dim() == 3 ? given.transpose(0, 1) : given;
  const Weights all = read_weights(a, kind, x);
  const Tensor lengths = read_lengths(a, x);
  const auto functions = read_activations(a, kind.activations, static_cast<size_t>(all.directions));
  const Tensor h = initial_state(a, "initial_h", all, x, batch_first);
  const Tensor c = kind.has_cell ? initial_state(a, "initial_c", all, x, batch_first) : Tensor();
  std::vector<Tensor> results, last_h, last_c;
  for (int64_t d = 0; d < all.directions; ++d) {
    const bool backwards = d == 1 || a.text("direction") == "reverse";
    State state{h[d], kind.has_cell ? c[d] : Tensor()};
    results.push_back(run_direction(layer_of(a, kind, all, d, functions), kind.step, x, lengths,
                                    backwards, state));
    last_h.push_back(state.h);
    last_c.push_back(state.c);
  }
  const int64_t axis = batch_first ? 1 : 0;  // axis of the directions in a state
  const Tensor y = at::stack(results, 1);    // [time, directions, batch, hidden]
  Tuple all_results{batch_first ? y.permute({2, 0, 1, 3}) : y, at::stack(last_h, axis)};
  if (kind.has_cell) all_results.items.emplace_back(at::stack(last_c, axis));
  return all_results;
}

}  // namespace

void add_onnx_recurrent_operators(OperatorTable& table) {
  table.add({.name = "onnx.RNN",
             .schema = "X, W, R, B=None, sequence_lens=None, initial_h=None, "
                       "activation_alpha=None, activation_beta=None, activations=None, clip=None, "
                       "direction='forward', hidden_size=None, layout=0",
             .forms = {"onnx.RNN"},
             .growth = Growth::Product,
             .recurrent_weights = {"W", "R"},
             .kernel = [](const Args& a) {
               return run(a, {1, {"Tanh"}, rnn_step});
             }});
  table.add({.name = "onnx.GRU",
             .schema = "X, W, R, B=None, sequence_lens=None, initial_h=None, "
                       "activation_alpha=None, activation_beta=None, activations=None, clip=None, "
                       "direction='forward', hidden_size=None, layout=0, linear_before_reset=0",
             .forms = {"onnx.GRU"},
             .growth = Growth::Product,
             .recurrent_weights = {"W", "R"},
             .kernel = [](const Args& a) {
               return run(a, {3, {"Sigmoid", "Tanh"}, gru_step});
             }});
  table.add({.name = "onnx.LSTM",
             .schema =
                 "X, W, R, B=None, sequence_lens=None, initial_h=None, initial_c=None, P=None, "
                 "activation_alpha=None, activation_beta=None, activations=None, clip=None, "
                 "direction='forward', hidden_size=None, input_forget=0, layout=0",
             .forms = {"onnx.LSTM"},
             .growth = Growth::Product,
             .recurrent_weights = {"W", "R"},
             .kernel = [](const Args& a) {
               return run(a, {4, {"Sigmoid", "Tanh", "Tanh"}, lstm_step, /*has_cell=*/true});
             }});
}

}  // namespace sparsebit::fx

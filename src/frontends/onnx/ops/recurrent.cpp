#include "frontends/onnx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>

namespace sparsebit::frontends {
namespace {

using fx::List;
using fx::Tuple;
using fx::Value;
using Ints = std::vector<int64_t>;
using Texts = std::vector<std::string>;

/// A recurrent operator of ONNX and the corresponding layer of torch.
struct Kind {
  const char* layer;
  Ints gates;         ///< position of each of torch's gates in ONNX's order
  Texts activations;  ///< of one direction, those fixed in torch's layer
  bool has_cell = false;
};

/// The attributes that all recurrent operators share.
struct Settings {
  std::string direction;
  bool batch_first;
  std::optional<Texts> activations;
  fx::Kwargs options;  ///< all given attributes, for the operators with ONNX's own name

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

template <class T>
Value list_of(const std::vector<T>& items) {
  return List(std::vector<Value>(items.begin(), items.end()));
}

Settings read_settings(const Conversion& c) {
  const Attributes& a = c.attributes();
  Settings s{.direction = a.text("direction", "forward"),
             .batch_first = a.flag("layout", false),
             .activations = a.texts("activations"),
             .options = {}};
  const bool known =
      s.direction == "forward" || s.direction == "reverse" || s.direction == "bidirectional";
  SPARSEBIT_CHECK(known, InvalidModel, "direction is '", s.direction, "'");
  s.options = {{"direction", s.direction}, {"layout", int64_t{s.batch_first}}};
  if (s.activations) s.options.emplace_back("activations", list_of(*s.activations));
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (const auto numbers = a.numbers(name)) s.options.emplace_back(name, list_of(*numbers));
  }
  if (a.has("clip")) s.options.emplace_back("clip", a.number("clip"));
  if (a.has("hidden_size")) s.options.emplace_back("hidden_size", a.integer("hidden_size"));
  for (const char* name : {"linear_before_reset", "input_forget"}) {
    if (a.has(name)) s.options.emplace_back(name, a.integer(name));
  }
  if (c.opset() < 7) a.ignore("output_sequence");
  return s;
}

/// Compares the shape of a constant input with what the others make it; -1: any size.
void check_shape(const Conversion& c, size_t input, const char* name, const Ints& expected) {
  const at::Tensor* constant = c.has_input(input) ? c.constant(input) : nullptr;
  if (!constant) return;
  const auto fits = [](int64_t have, int64_t want) { return have == want || want < 0; };
  const at::IntArrayRef found = constant->sizes();
  SPARSEBIT_CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end(), fits),
                  InvalidModel, name, " has shape ", found, ", expected ",
                  at::IntArrayRef(expected), " (-1: any)");
}

/// The number of features of a state: what R says, or else the attribute; -1 when neither does.
int64_t hidden_size(const Conversion& c) {
  const Attributes& a = c.attributes();
  const at::Tensor* r = c.constant(2);
  const auto info = c.info(2);
  Ints shape = r ? r->sizes().vec() : info ? info->shape : Ints{-1, -1, -1};
  SPARSEBIT_CHECK(shape.size() == 3, InvalidModel, "R has ", shape.size(), " axes, expected 3");
  const int64_t stated = a.has("hidden_size") ? a.integer("hidden_size") : shape[2];
  SPARSEBIT_CHECK(stated > 0 || !a.has("hidden_size"), InvalidModel, "hidden_size is ", stated,
                  ", and a state has at least one feature");
  SPARSEBIT_CHECK(shape[2] < 0 || shape[2] == stated, InvalidModel, "hidden_size is ", stated,
                  ", but R of shape ", at::IntArrayRef(shape), " is made for ", shape[2]);
  SPARSEBIT_CHECK(stated != 0, InvalidModel, "R has shape ", at::IntArrayRef(shape),
                  ", and a state has at least one feature");
  return stated;
}

/// Weights that do not belong together, before anything computes with them.
void check_sizes(const Conversion& c, const Kind& kind, const Settings& s) {
  constexpr int64_t kMost = int64_t{1} << 24;  // four times this and more is computed below
  const int64_t hidden = hidden_size(c), directions = s.directions();
  SPARSEBIT_CHECK(hidden <= kMost, InvalidModel, "hidden_size is ", hidden, "; at most ", kMost,
                  " can be read");
  const int64_t rows = hidden < 0 ? -1 : static_cast<int64_t>(kind.gates.size()) * hidden;
  check_shape(c, 1, "W", {directions, rows, -1});
  check_shape(c, 2, "R", {directions, rows, hidden});
  check_shape(c, 3, "B", {directions, rows < 0 ? -1 : 2 * rows});
  const Ints state = s.batch_first ? Ints{-1, directions, hidden} : Ints{directions, -1, hidden};
  check_shape(c, 5, "initial_h", state);
  if (!kind.has_cell) return;
  check_shape(c, 6, "initial_c", state);
  check_shape(c, 7, "P", {directions, hidden < 0 ? -1 : 3 * hidden});
}

bool has_activations(const Settings& s, const Texts& expected) {
  if (!s.activations) return true;
  if (s.activations->size() != expected.size() * static_cast<size_t>(s.directions())) return false;
  for (size_t i = 0; i < s.activations->size(); ++i) {
    const std::string& name = (*s.activations)[i];
    const std::string& wanted = expected[i % expected.size()];
    const auto alike = [](char x, char y) { return std::tolower(x) == std::tolower(y); };
    if (!std::equal(name.begin(), name.end(), wanted.begin(), wanted.end(), alike)) return false;
  }
  return true;
}

/// Whether every sequence of the batch has the full length.
bool has_full_lengths(const Conversion& c, bool batch_first) {
  if (!c.has_input(4)) return true;
  const auto lengths = c.constant_ints(4);
  const auto info = c.info(0);
  if (!lengths || !info || info->shape.size() != 3) return false;
  const int64_t time = info->shape[batch_first ? 1 : 0];
  return std::all_of(lengths->begin(), lengths->end(), [&](int64_t n) { return n == time; });
}

/// Whether torch's layer computes the same. `expected` are the layer's activations.
bool is_layer(const Conversion& c, const Kind& kind, const Settings& s, const Texts& expected) {
  const at::Tensor *w = c.constant(1), *r = c.constant(2), *b = c.constant(3);
  const bool constant = w && r && (b || !c.has_input(3)) && w->is_floating_point();
  if (!constant || w->dim() != 3 || r->dim() != 3 || (b && b->dim() != 2)) return false;
  const int64_t hidden = r->size(2), rows = static_cast<int64_t>(kind.gates.size()) * hidden;
  const bool fits = w->size(0) == s.directions() && w->size(1) == rows && hidden > 0 &&
                    r->sizes() == at::IntArrayRef({w->size(0), rows, hidden}) &&
                    (!b || b->sizes() == at::IntArrayRef({w->size(0), 2 * rows}));
  const bool plain = s.direction != "reverse" && !c.attributes().has("clip") &&
                     has_activations(s, expected) && has_full_lengths(c, s.batch_first);
  const bool pairs = !kind.has_cell || (c.has_input(5) == c.has_input(6) && !c.has_input(7));
  return fits && plain && pairs;
}

/// Rows reordered to torch's order of gates.
at::Tensor in_order(const at::Tensor& rows, const Ints& gates) {
  const auto parts = rows.chunk(static_cast<int64_t>(gates.size()));
  std::vector<at::Tensor> ordered;
  for (const int64_t gate : gates) ordered.push_back(parts[static_cast<size_t>(gate)]);
  return at::cat(ordered);
}

fx::ModuleState layer_state(Conversion& c, const Kind& kind, int64_t directions) {
  fx::ModuleState state;
  for (int64_t d = 0; d < directions; ++d) {
    const std::string suffix = d == 1 ? "_l0_reverse" : "_l0";
    const auto add = [&](const char* name, size_t input, const auto& rows_of) {
      const at::Tensor& constant = *c.constant(input);
      const std::string path = name + suffix;
      state.parameters.emplace_back(path, c.derived(constant, kind.layer + ("." + path), [&] {
        return in_order(rows_of(constant[d]), kind.gates);
      }));
    };
    const auto all = [](const at::Tensor& rows) { return rows; };
    add("weight_ih", 1, all);
    add("weight_hh", 2, all);
    if (!c.has_input(3)) continue;
    add("bias_ih", 3, [](const at::Tensor& rows) { return rows.chunk(2)[0]; });
    add("bias_hh", 3, [](const at::Tensor& rows) { return rows.chunk(2)[1]; });
  }
  return state;
}

/// States of ONNX's layout 1 have the batch axis first, torch's never have.
Value turned_state(Conversion& c, const Value& state, bool batch_first) {
  return batch_first ? c.function("torch.transpose", {state, 0, 1}) : state;
}

void call_layer(Conversion& c, const Kind& kind, const Settings& s, fx::Kwargs options) {
  const at::Tensor &w = *c.constant(1), &r = *c.constant(2);
  options.emplace_back("bias", c.has_input(3));
  options.emplace_back("batch_first", s.batch_first);
  options.emplace_back("bidirectional", s.directions() == 2);
  std::vector<Value> args = {c.tensor(0)};
  if (c.has_input(5)) {
    const Value h = turned_state(c, c.tensor(5), s.batch_first);
    args.push_back(kind.has_cell ? Value(Tuple{h, turned_state(c, c.tensor(6), s.batch_first)})
                                 : h);
  }
  const Value results = c.module(kind.layer, {w.size(2), r.size(2)}, options,
                                 layer_state(c, kind, s.directions()), args);
  if (c.wants_output(0)) {
    Value y =
        c.function("torch.unflatten", {c.item(results, 0), -1, Ints{s.directions(), r.size(2)}});
    if (!s.batch_first) y = c.function("torch.transpose", {y, 1, 2});
    c.give(0, y);
  }
  if (!c.wants_output(1) && !c.wants_output(2)) return;
  const Value state = c.item(results, 1);
  for (size_t i = 1; i < c.output_count(); ++i) {
    if (!c.wants_output(i)) continue;
    const Value part = kind.has_cell ? c.item(state, static_cast<int64_t>(i) - 1) : state;
    c.give(i, turned_state(c, part, s.batch_first));
  }
}

void call_operator(Conversion& c, const Settings& s) {
  const Value results = c.node("onnx." + c.type(), c.tensors(), s.options);
  for (size_t i = 0; i < c.output_count(); ++i) {
    if (c.wants_output(i)) c.give(i, c.item(results, static_cast<int64_t>(i)));
  }
}

void convert_lstm(Conversion& c) {
  static const Kind kind{"torch.nn.LSTM", {0, 2, 3, 1}, {"Sigmoid", "Tanh", "Tanh"}, true};
  const Settings s = read_settings(c);
  check_sizes(c, kind, s);
  const bool same =
      is_layer(c, kind, s, kind.activations) && !c.attributes().flag("input_forget", false);
  return same ? call_layer(c, kind, s, {}) : call_operator(c, s);
}

void convert_gru(Conversion& c) {
  static const Kind kind{"torch.nn.GRU", {1, 0, 2}, {"Sigmoid", "Tanh"}};
  const Settings s = read_settings(c);
  check_sizes(c, kind, s);
  const bool same =
      is_layer(c, kind, s, kind.activations) && c.attributes().flag("linear_before_reset", false);
  return same ? call_layer(c, kind, s, {}) : call_operator(c, s);
}

void convert_rnn(Conversion& c) {
  static const Kind kind{"torch.nn.RNN", {0}, {"Tanh"}};
  const Settings s = read_settings(c);
  check_sizes(c, kind, s);
  if (is_layer(c, kind, s, kind.activations)) return call_layer(c, kind, s, {});
  if (s.activations && is_layer(c, kind, s, {"Relu"})) {
    return call_layer(c, kind, s, {{"nonlinearity", "relu"}});
  }
  call_operator(c, s);
}

}  // namespace

void add_recurrent_converters(Converters& r) {
  r.add("GRU", convert_gru);
  r.add("LSTM", convert_lstm);
  r.add("RNN", convert_rnn);
}

}  // namespace sparsebit::frontends

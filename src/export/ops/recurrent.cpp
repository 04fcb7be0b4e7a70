#include "export/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

/// ONNX's operator for a kind of recurrent layer.
struct Kind {
  const char* type;  ///< LSTM, GRU, RNN
  Ints gates;        ///< torch's gates in ONNX's order
};

const Kind kLstm = {"LSTM", {0, 3, 1, 2}};  // i f g o -> i o f c
const Kind kGru = {"GRU", {1, 0, 2}};       // r z n -> z r h
const Kind kRnn = {"RNN", {0}};

/// Parameters of one direction of one layer.
struct Weights {
  OnnxTensor input, hidden;
  OnnxTensor input_bias = {}, hidden_bias = {}, projection = {};
};

/// Permutes the blocks of rows that belong to the gates.
OnnxTensor reorder(GraphWriter& w, const OnnxTensor& x, const Ints& gates) {
  if (gates.size() == 1) return x;
  const int64_t rows = x.size(0) / static_cast<int64_t>(gates.size());
  Ints order;
  for (const int64_t gate : gates) {
    for (int64_t i = 0; i < rows; ++i) order.push_back(gate * rows + i);
  }
  if (x.constant.defined())
    return w.constant(x.constant.index_select(0, at::tensor(order, at::kLong)), x.name + "_onnx");
  return w.gather(x, w.ints(order), 0);
}

/// Stacks one tensor per direction to [directions, ...].
OnnxTensor stack(GraphWriter& w, const std::vector<OnnxTensor>& parts) {
  const bool known = std::all_of(parts.begin(), parts.end(),
                                 [](const OnnxTensor& p) { return p.constant.defined(); });
  if (known) {
    std::vector<at::Tensor> tensors;
    for (const OnnxTensor& part : parts) tensors.push_back(part.constant);
    return w.constant(at::stack(tensors), parts[0].name + "_stacked");
  }
  std::vector<OnnxTensor> rows;
  for (const OnnxTensor& part : parts) rows.push_back(w.unsqueeze(part, {0}));
  return w.concat(rows, 0);
}

/// A stack of recurrent layers, sequences as [length, batch, features] inside.
class Layers {
 public:
  Layers(Call& c, const Kind& kind)
      : c_(c), w_(c.w), kind_(kind), layers_(c.integer("num_layers")) {
    directions_ = c.flag("bidirectional") ? 2 : 1;
    bias_ = c.flag("bias");
    weights_ = c.tensors("flat_weights");
    check_count();
    per_direction_ = weights_.size() / static_cast<size_t>(layers_ * directions_);
    projected_ = per_direction_ > (bias_ ? 4U : 2U);
  }

  NodeResult convert(const OnnxTensor& h0, const OnnxTensor& c0, bool lstm, bool nested) {
    OnnxTensor x = c_.tensor("input");
    const bool batched = x.rank() == 3, batch_first = batched && c_.flag("batch_first");
    if (!batched) x = w_.unsqueeze(x, {c_.flag("batch_first") ? 0 : 1});
    if (batch_first || (!batched && c_.flag("batch_first"))) x = w_.swap(x, 0, 1);
    const OnnxTensor h = with_batch(h0, batched), cell = with_batch(c0, batched);
    std::vector<OnnxTensor> last_h, last_c;
    for (int64_t layer = 0; layer < layers_; ++layer) {
      const Step step = projected_ ? unrolled(x, layer, h, cell) : native(x, layer, h, cell, lstm);
      x = step.sequence;
      last_h.push_back(step.h);
      last_c.push_back(step.c);
    }
    if (batch_first) x = w_.swap(x, 0, 1);
    OnnxTensor end_h = w_.concat(last_h, 0);
    if (!batched) x = w_.squeeze(x, {1});
    if (!batched) end_h = w_.squeeze(end_h, {1});
    if (!lstm) return NodeResult::sequence({x, end_h});
    OnnxTensor end_c = w_.concat(last_c, 0);
    if (!batched) end_c = w_.squeeze(end_c, {1});
    if (nested) return NodeResult::sequence({x, NodeResult::sequence({end_h, end_c})});
    return NodeResult::sequence({x, end_h, end_c});
  }

 private:
  struct Step {
    OnnxTensor sequence, h, c;
  };

  /// Each direction of each layer has two matrices, two biases or none, and may have a projection.
  void check_count() const {
    const auto count = std::ssize(weights_);
    const int64_t least = bias_ ? 4 : 2;
    const bool is_right = layers_ > 0 && layers_ <= count && count % (layers_ * directions_) == 0 &&
                          count / (layers_ * directions_) >= least &&
                          count / (layers_ * directions_) <= least + 1;
    SPARSEBIT_CHECK(is_right, InvalidModel, "num_layers is ", layers_, ", but flat_weights holds ",
                    count, " tensors, of which a layer has ", least * directions_);
  }

  OnnxTensor with_batch(const OnnxTensor& state, bool batched) {
    return state.present() && !batched ? w_.unsqueeze(state, {1}) : state;
  }

  Weights weights_of(int64_t layer, int64_t direction) const {
    const auto first = static_cast<size_t>(layer * directions_ + direction) * per_direction_;
    Weights found{weights_[first], weights_[first + 1]};
    if (bias_) {
      found.input_bias = weights_[first + 2];
      found.hidden_bias = weights_[first + 3];
    }
    if (projected_) found.projection = weights_[first + per_direction_ - 1];
    return found;
  }

  OnnxTensor layer_state(const OnnxTensor& state, int64_t layer) {
    if (!state.present()) return {};
    return w_.slice(state, 0, layer * directions_, (layer + 1) * directions_);
  }

  Step native(const OnnxTensor& x, int64_t layer, const OnnxTensor& h, const OnnxTensor& cell,
              bool lstm) {
    std::vector<OnnxTensor> inputs, hiddens, biases;
    for (int64_t direction = 0; direction < directions_; ++direction) {
      const Weights weights = weights_of(layer, direction);
      inputs.push_back(reorder(w_, weights.input, kind_.gates));
      hiddens.push_back(reorder(w_, weights.hidden, kind_.gates));
      if (!bias_) continue;
      const OnnxTensor a = reorder(w_, weights.input_bias, kind_.gates);
      const OnnxTensor b = reorder(w_, weights.hidden_bias, kind_.gates);
      biases.push_back(a.constant.defined() && b.constant.defined()
                           ? w_.constant(at::cat({a.constant, b.constant}), a.name + "_joined")
                           : w_.concat({a, b}, 0));
    }
    const int64_t hidden = hiddens[0].size(1);
    Attrs attrs = {{"hidden_size", hidden}};
    if (directions_ == 2) attrs.emplace_back("direction", "bidirectional");
    if (std::string(kind_.type) == "GRU") attrs.emplace_back("linear_before_reset", 1);
    if (std::string(kind_.type) == "RNN") {
      const std::string activation = c_.text("nonlinearity") == "relu" ? "Relu" : "Tanh";
      attrs.emplace_back("activations",
                         std::vector<std::string>(static_cast<size_t>(directions_), activation));
    }
    const std::vector<OnnxTensor> operands = {x,
                                              stack(w_, inputs),
                                              stack(w_, hiddens),
                                              bias_ ? stack(w_, biases) : OnnxTensor{},
                                              OnnxTensor{},
                                              layer_state(h, layer),
                                              lstm ? layer_state(cell, layer) : OnnxTensor{}};
    std::vector<OnnxTensor> out = w_.emit(kind_.type, operands, attrs, lstm ? 3 : 2);
    for (OnnxTensor& sym : out) {
      sym.dtype = x.dtype;
      sym.shape = Shape{directions_, x.size(1), hidden};
    }
    out[0].shape = Shape{x.size(0), directions_, x.size(1), hidden};
    return {join_directions(out[0]), out[1], lstm ? out[2] : OnnxTensor{}};
  }

  /// [length, directions, batch, features] -> [length, batch, directions * features]
  OnnxTensor join_directions(const OnnxTensor& y) {
    if (directions_ == 1) return w_.squeeze(y, {1});
    return w_.reshape(w_.transpose(y, {0, 2, 1, 3}), Shape{0, 0, directions_ * y.size(3)});
  }

  OnnxTensor product(const OnnxTensor& x, const OnnxTensor& weight, const OnnxTensor& bias) {
    const OnnxTensor y = w_.matmul(x, w_.transpose(weight, {1, 0}));
    return bias.present() ? w_.add(y, bias) : y;
  }

  /// ONNX's LSTM has no projection: the time steps are unrolled.
  Step unrolled(const OnnxTensor& x, int64_t layer, const OnnxTensor& h0, const OnnxTensor& c0) {
    if (x.size(0) < 0) c_.unsupported("an LSTM with proj_size needs a sequence of fixed length");
    std::vector<OnnxTensor> sequences, ends_h, ends_c;
    for (int64_t direction = 0; direction < directions_; ++direction) {
      const Weights weights = weights_of(layer, direction);
      const int64_t hidden = weights.input.size(0) / 4, out = weights.hidden.size(1);
      const auto start = [&](const OnnxTensor& given, int64_t size) {
        if (given.present())
          return w_.gather(given, w_.scalar(layer * directions_ + direction, at::kLong), 0);
        const OnnxTensor shape = w_.concat({w_.size_of(x, 1), w_.ints({size})}, 0);
        return w_.filled(shape, 0.0, x.dtype);
      };
      OnnxTensor h = start(h0, out), cell = start(c0, hidden);
      std::vector<OnnxTensor> steps(static_cast<size_t>(x.size(0)));
      for (int64_t i = 0; i < x.size(0); ++i) {
        const int64_t t = direction == 0 ? i : x.size(0) - 1 - i;
        const OnnxTensor input = w_.gather(x, w_.scalar(t, at::kLong), 0);
        const OnnxTensor sums = w_.add(product(input, weights.input, weights.input_bias),
                                       product(h, weights.hidden, weights.hidden_bias));
        const std::vector<OnnxTensor> gates = w_.split(sums, Ints(4, hidden), 1);
        const auto sigmoid = [&](size_t gate) { return w_.unary("Sigmoid", gates[gate]); };
        cell = w_.add(w_.mul(sigmoid(1), cell), w_.mul(sigmoid(0), w_.unary("Tanh", gates[2])));
        h = product(w_.mul(sigmoid(3), w_.unary("Tanh", cell)), weights.projection, {});
        steps[static_cast<size_t>(t)] = w_.unsqueeze(h, {0});
      }
      sequences.push_back(w_.concat(steps, 0));
      ends_h.push_back(w_.unsqueeze(h, {0}));
      ends_c.push_back(w_.unsqueeze(cell, {0}));
    }
    return {w_.concat(sequences, 2), w_.concat(ends_h, 0), w_.concat(ends_c, 0)};
  }

  Call& c_;
  GraphWriter& w_;
  const Kind& kind_;
  int64_t layers_, directions_ = 1;
  bool bias_ = true, projected_ = false;
  size_t per_direction_ = 0;
  std::vector<OnnxTensor> weights_;
};

NodeResult lstm(Call& c) {
  OnnxTensor h, cell;
  if (!c.is_none("hx")) {
    const std::vector<OnnxTensor> states = c.tensors("hx");
    h = states.at(0);
    cell = states.at(1);
  }
  return Layers(c, kLstm).convert(h, cell, true, c.flag("nested_state"));
}

Converter single_state(const Kind& kind) {
  return [&kind](Call& c) { return Layers(c, kind).convert(c.optional("hx"), {}, false, false); };
}

/// One time step of a cell: the contributions of input and hidden state to all gates.
struct CellStep {
  OnnxTensor from_input, from_hidden;
  bool batched;
};

OnnxTensor with_batch(Call& c, const OnnxTensor& x, bool batched) {
  return !x.present() || batched ? x : c.w.unsqueeze(x, {0});
}

OnnxTensor zero_state(Call& c, const OnnxTensor& x) {
  const int64_t hidden = c.tensor("weight_hh").size(1);
  return c.w.filled(c.w.concat({c.w.size_of(x, 0), c.w.ints({hidden})}, 0), 0.0, x.dtype);
}

OnnxTensor affine(Call& c, const OnnxTensor& x, const char* weight, const char* bias) {
  const OnnxTensor w = c.tensor(weight);
  return c.w.op("Gemm", {x, w, c.optional(bias)}, {{"transB", 1}}, x.dtype,
                Shape{x.size(0), w.size(0)});
}

CellStep step_of(Call& c, const OnnxTensor& h) {
  const bool batched = c.tensor("input").rank() == 2;
  const OnnxTensor x = with_batch(c, c.tensor("input"), batched);
  return {affine(c, x, "weight_ih", "bias_ih"), affine(c, h, "weight_hh", "bias_hh"), batched};
}

OnnxTensor cell_state(Call& c, const OnnxTensor& given) {
  const OnnxTensor x = c.tensor("input");
  const bool batched = x.rank() == 2;
  return given.present() ? with_batch(c, given, batched) : zero_state(c, with_batch(c, x, batched));
}

std::vector<OnnxTensor> gates_of(Call& c, const OnnxTensor& sums, int64_t count) {
  return c.w.split(sums, Ints(static_cast<size_t>(count), sums.size(1) / count), 1);
}

NodeResult lstm_cell(Call& c) {
  GraphWriter& w = c.w;
  const std::vector<OnnxTensor> given =
      c.is_none("hx") ? std::vector<OnnxTensor>(2) : c.tensors("hx");
  const OnnxTensor h = cell_state(c, given[0]), cell = cell_state(c, given[1]);
  const CellStep step = step_of(c, h);
  const std::vector<OnnxTensor> gates = gates_of(c, w.add(step.from_input, step.from_hidden), 4);
  const auto sigmoid = [&](size_t gate) { return w.unary("Sigmoid", gates[gate]); };
  const OnnxTensor next_c =
      w.add(w.mul(sigmoid(1), cell), w.mul(sigmoid(0), w.unary("Tanh", gates[2])));
  const OnnxTensor next_h = w.mul(sigmoid(3), w.unary("Tanh", next_c));
  const auto restore = [&](const OnnxTensor& x) { return step.batched ? x : w.squeeze(x, {0}); };
  return NodeResult::sequence({restore(next_h), restore(next_c)});
}

NodeResult gru_cell(Call& c) {
  GraphWriter& w = c.w;
  const OnnxTensor h = cell_state(c, c.optional("hx"));
  const CellStep step = step_of(c, h);
  const std::vector<OnnxTensor> x = gates_of(c, step.from_input, 3),
                                y = gates_of(c, step.from_hidden, 3);
  const OnnxTensor reset = w.unary("Sigmoid", w.add(x[0], y[0]));
  const OnnxTensor update = w.unary("Sigmoid", w.add(x[1], y[1]));
  const OnnxTensor fresh = w.unary("Tanh", w.add(x[2], w.mul(reset, y[2])));
  const OnnxTensor next = w.add(fresh, w.mul(update, w.sub(h, fresh)));
  return step.batched ? next : w.squeeze(next, {0});
}

NodeResult rnn_cell(Call& c) {
  const CellStep step = step_of(c, cell_state(c, c.optional("hx")));
  const char* const type = c.text("nonlinearity") == "relu" ? "Relu" : "Tanh";
  const OnnxTensor next = c.w.unary(type, c.w.add(step.from_input, step.from_hidden));
  return step.batched ? next : c.w.squeeze(next, {0});
}

}  // namespace

void add_recurrent_converters(Converters& table) {
  table.add("lstm", lstm);
  table.add("gru", single_state(kGru));
  table.add("rnn", single_state(kRnn));
  table.add("lstm_cell", lstm_cell);
  table.add("gru_cell", gru_cell);
  table.add("rnn_cell", rnn_cell);
}

}  // namespace sparsebit::exports

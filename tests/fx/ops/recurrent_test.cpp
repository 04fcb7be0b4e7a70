#include "fx/ops/new_module.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/rnn.h>

namespace sparsebit::fx::test::recurrent_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Recurrent, LayersEqualLibtorch) {
  const at::Tensor x = normal({6, 2, 3}), h = normal({1, 2, 4}), c = normal({1, 2, 4});
  const auto weights = [](int64_t gates) {
    return Tensors{normal({gates * 4, 3}), normal({gates * 4, 4}), normal({gates * 4}),
                   normal({gates * 4})};
  };
  const auto inputs = [](Tensors t, const Tensors& more) {
    t.insert(t.end(), more.begin(), more.end());
    return t;
  };
  const std::string biased = ", [%c, %d, %e, %f], True, 1, 0.0, True, False, ";
  const std::string plain = ", [%c, %d], False, 1, 0.0, False, False, ";
  expect_equal_to_libtorch({
      {"torch.lstm(%a, [%b, %g]" + biased + "False)", inputs(inputs({x, h}, weights(4)), {c})},
      {"torch.gru(%a, %b" + biased + "False)", inputs({x, h}, weights(3))},
      {"torch.gru(%a, %b" + plain + "True)", inputs({x.transpose(0, 1), h}, weights(3))},
      {"torch.rnn_tanh(%a, %b" + biased + "True)", inputs({x.transpose(0, 1), h}, weights(1))},
      {"torch.rnn_relu(%a, %b" + plain + "False)", inputs({x, h}, weights(1))},
  });
}

/// Calls the operator behind a module type as a module would and compares with libtorch's module.
class ModuleComparison {
 public:
  ModuleComparison(NewModule module, torch::nn::Module& libtorch)
      : spelling_(operators().get(module.type)), module_(std::move(module)) {
    at::NoGradGuard no_grad;
    for (const auto& [name, tensor] : create_state(module_).parameters) {
      libtorch.named_parameters()[name].copy_(tensor);
      weights_.items.emplace_back(tensor);
    }
  }

  Value call(const Value& input, const Value& hx, bool training) const {
    const Schema& constructor = spelling_.module->constructor;
    const std::vector<Value> attributes = constructor.bind(module_.args, module_.kwargs);
    const Kwargs special = {
        {"input", input}, {"hx", hx}, {"flat_weights", weights_}, {"training", training}};
    Kwargs named = special;
    for (size_t i = 0; i < attributes.size(); ++i) {
      const std::string& name = constructor.parameters()[i].name;
      if (spelling_.op->schema.find(name)) named.emplace_back(name, attributes[i]);
    }
    at::manual_seed(3);
    return run_kernel(*spelling_.op,
                      Args(spelling_.op->schema, spelling_.op->schema.bind({}, named)));
  }

 private:
  const Spelling& spelling_;
  NewModule module_;
  List weights_;
};

void expect_same(const Value& ours, const Tensors& theirs) {
  const Tensors flat = flatten(ours);
  ASSERT_EQ(flat.size(), theirs.size());
  for (size_t i = 0; i < flat.size(); ++i) {
    EXPECT_TRUE(at::allclose(flat[i], theirs[i], 1e-6, 1e-6)) << "result " << i;
  }
}

void expect_lstm(const torch::nn::LSTMOptions& o) {
  torch::nn::LSTM theirs(o);
  const ModuleComparison ours({"torch.nn.LSTM",
                               {o.input_size(), o.hidden_size(), o.num_layers(), o.bias(),
                                o.batch_first(), o.dropout(), o.bidirectional(), o.proj_size()}},
                              *theirs);
  const int64_t states = o.num_layers() * (o.bidirectional() ? 2 : 1);
  const int64_t output = o.proj_size() > 0 ? o.proj_size() : o.hidden_size();
  const int64_t batch = o.batch_first() ? 6 : 2;
  const at::Tensor x = normal({6, 2, o.input_size()});
  const at::Tensor h = normal({states, batch, output}),
                   c = normal({states, batch, o.hidden_size()});
  for (const bool training : {true, false}) {
    theirs->train(training);
    at::manual_seed(3);
    const auto [y, end] = theirs(x, std::make_tuple(h, c));
    expect_same(ours.call(x, Tuple{h, c}, training), {y, std::get<0>(end), std::get<1>(end)});
    at::manual_seed(3);
    const auto [y0, end0] = theirs(x);
    const Value result = ours.call(x, None{}, training);
    expect_same(result, {y0, std::get<0>(end0), std::get<1>(end0)});
    EXPECT_TRUE(result.items().size() == 2 && result.items()[1].items().size() == 2);
  }
}

TEST(Recurrent, LstmEqualsTheModuleOfLibtorch) {
  using Options = torch::nn::LSTMOptions;
  expect_lstm(Options(3, 4));
  expect_lstm(Options(3, 4).num_layers(2).bidirectional(true).bias(false));
  expect_lstm(Options(3, 4).num_layers(3).dropout(0.5).batch_first(true));
  expect_lstm(Options(3, 4).num_layers(2).bidirectional(true).proj_size(2));
}

TEST(Recurrent, GruAndRnnEqualTheModulesOfLibtorch) {
  const at::Tensor x = normal({6, 2, 3}), h = normal({4, 2, 4});
  torch::nn::GRU gru(torch::nn::GRUOptions(3, 4).num_layers(2).bidirectional(true));
  torch::nn::RNN rnn(
      torch::nn::RNNOptions(3, 4).num_layers(2).bidirectional(true).nonlinearity(torch::kReLU));
  const Kwargs shape = {{"num_layers", 2}, {"bidirectional", true}};
  const ModuleComparison our_gru({"torch.nn.GRU", {3, 4}, shape}, *gru);
  const ModuleComparison our_rnn(
      {"torch.nn.RNN",
       {3, 4},
       {{"num_layers", 2}, {"bidirectional", true}, {"nonlinearity", "relu"}}},
      *rnn);
  const auto list = [](const std::tuple<at::Tensor, at::Tensor>& t) {
    return Tensors{std::get<0>(t), std::get<1>(t)};
  };
  expect_same(our_gru.call(x, None{}, true), list(gru(x)));
  expect_same(our_gru.call(x, h, false), list(gru(x, h)));
  expect_same(our_rnn.call(x, None{}, true), list(rnn(x)));
  expect_same(our_rnn.call(x, h, false), list(rnn(x, h)));
  // Unbatched, which libtorch's modules in C++ do not take.
  const at::Tensor single = x.select(1, 1);
  const Tensors batch = list(gru(single.unsqueeze(1), h.narrow(1, 1, 1)));
  expect_same(our_gru.call(single, h.select(1, 1), false),
              {batch[0].squeeze(1), batch[1].squeeze(1)});
}

TEST(Recurrent, UnbatchedLstmEqualsABatchOfOne) {
  torch::nn::LSTM theirs(torch::nn::LSTMOptions(3, 4).batch_first(true));
  const ModuleComparison ours({"torch.nn.LSTM", {3, 4}, {{"batch_first", true}}}, *theirs);
  const at::Tensor x = normal({6, 3}), h = normal({1, 4}), c = normal({1, 4});
  const auto [y, end] = theirs(x.unsqueeze(0), std::make_tuple(h.unsqueeze(1), c.unsqueeze(1)));
  expect_same(ours.call(x, Tuple{h, c}, false),
              {y.squeeze(0), std::get<0>(end).squeeze(1), std::get<1>(end).squeeze(1)});
}

TEST(Recurrent, CellsEqualLibtorch) {
  const at::Tensor x = normal({2, 3}), h = normal({2, 4}), c = normal({2, 4});
  const auto cell = [&](int64_t gates) {
    return Tensors{x,
                   h,
                   normal({gates * 4, 3}),
                   normal({gates * 4, 4}),
                   normal({gates * 4}),
                   normal({gates * 4})};
  };
  Tensors lstm = cell(4);
  lstm.push_back(c);
  expect_equal_to_libtorch({
      {"torch.lstm_cell(%a, [%b, %g], %c, %d, %e, %f)", lstm},
      {"torch.lstm_cell(%a, None, %c, %d)", lstm,
       [](Tensors t) {
         const at::Tensor zeros = at::zeros({2, 4});
         const auto [h, c] = at::lstm_cell(t[0], {zeros, zeros}, t[2], t[3]);
         return Tensors{h, c};
       }},
      {"torch.gru_cell(%a, %b, %c, %d, %e, b_hh=%f)", cell(3)},
      {"torch.rnn_tanh_cell(%a, %b, w_ih=%c, w_hh=%d)", cell(1)},
      {"torch.rnn_relu_cell(%a, %b, %c, %d, %e, %f)", cell(1)},
      {"torch.gru_cell(%a, None, %b, %c)",
       {x[0], normal({12, 3}), normal({12, 4})},
       [](Tensors t) {
         return Tensors{at::gru_cell(t[0].unsqueeze(0), at::zeros({1, 4}), t[1], t[2]).squeeze(0)};
       }},
  });
}

TEST(Recurrent, ErrorsTellTheRule) {
  const at::Tensor x = normal({6, 2, 3}), h = normal({1, 2, 4}), w = normal({4, 3}),
                   u = normal({4, 4});
  const std::string rest = ", [%c, %d], False, 1, 0.0, False, False, False)";
  EXPECT_THAT(
      [&] {
        evaluate("torch.rnn_tanh(%a, %b" + rest, {normal({6, 2, 5}), h, w, u});
      },
      ThrowsMessage<Error>(HasSubstr("input must have input_size = 3 features, got 5")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.rnn_tanh(%a, %b" + rest, {x, normal({1, 3, 4}), w, u});
      },
      ThrowsMessage<Error>(HasSubstr("initial state must have shape [1, 2, 4], got [1, 3, 4]")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.rnn_tanh(%a, %b, [%c, %d], True, 1, 0.0, False, False, False)",
                 {x, h, w, u});
      },
      ThrowsMessage<Error>(
          HasSubstr("num_layers is 1, but flat_weights holds 2 tensors, of which a layer has 4")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.lstm(%a, [%b]" + rest, {x, h, normal({16, 3}), normal({16, 4})});
      },
      ThrowsMessage<Error>(HasSubstr("hx must be a pair (h, c), got 1 values")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.rnn_tanh_cell(%a, %b, %c, %d)", {x, h, w, u});
      },
      ThrowsMessage<Error>(HasSubstr("expected 1-D or 2-D input, got 3-D")));
  EXPECT_THAT(
      [] {
        create_state({"torch.nn.LSTM", {3, 4}, {{"proj_size", 4}}});
      },
      ThrowsMessage<Error>("hidden_size must be larger than proj_size, got 4 and 4"));
}

TEST(Recurrent, WeightsThatDoNotBelongTogether) {
  const at::Tensor x = normal({6, 2, 3}), h = normal({1, 2, 4});
  const auto error_of = [](const std::string& call, const Tensors& tensors) {
    try {
      evaluate(call, tensors);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const std::string lstm = "torch.lstm(%a, None, [%b, %c], False, ";
  EXPECT_THAT(
      error_of(lstm + "-1, 0.0, False, False, False)", {x, normal({16, 3}), normal({16, 4})}),
      HasSubstr("num_layers is -1, but flat_weights holds 2 tensors"));
  EXPECT_THAT(error_of(lstm + "9223372036854775807, 0.0, False, True, False)",
                       {x, normal({16, 3}), normal({16, 4})}),
              HasSubstr("num_layers is 9223372036854775807, but flat_weights holds 2 tensors"));
  const std::string rest = "1, 0.0, False, False, False)";
  EXPECT_THAT(error_of(lstm + rest, {x, normal({15, 3}), normal({15, 4})}),
              HasSubstr("expected weights of 4 gates with at least one feature each; weight_ih has "
                        "shape [15, 3], weight_hh [15, 4]"));
  EXPECT_THAT(error_of(lstm + rest, {x, normal({0, 3}), normal({0, 4})}),
              HasSubstr("weight_ih has shape [0, 3], weight_hh [0, 4]"));
  EXPECT_THAT(error_of(lstm + rest, {x, normal({16, 3}), normal({12, 4})}),
              HasSubstr("tensor 1 of flat_weights must have shape [16, 4], got [12, 4]"));
  EXPECT_THAT(error_of("torch.gru(%a, %b, [%c, %d], False, " + rest,
                       {x, h, normal({12, 3}), normal({12, 5})}),
              HasSubstr("weight_hh must have 4 columns, got 5"));
  EXPECT_THAT(error_of("torch.gru(%a, %b, [%c, %d, %e, %e], True, " + rest,
                       {x, h, normal({12, 3}), normal({12, 4}), normal({11})}),
              HasSubstr("tensor 2 of flat_weights must have shape [12], got [11]"));
  EXPECT_THAT(
      error_of("torch.gru_cell(%a, None, %b, %c)", {x[0], normal({11, 3}), normal({12, 4})}),
      HasSubstr("weight_ih has shape [11, 3], weight_hh [12, 4]"));
  EXPECT_THAT(error_of("torch.gru_cell(%a, None, %b, %c, %d)",
                       {x[0], normal({12, 3}), normal({12, 4}), normal({11})}),
              HasSubstr("bias_ih must have shape [12], got [11]"));
  EXPECT_THAT(error_of("torch.gru_cell(%a, %d, %b, %c)",
                       {x[0], normal({12, 3}), normal({12, 4}), normal({2, 5})}),
              HasSubstr("the state must have shape [2, 4], got [2, 5]"));
}

TEST(Recurrent, ModulesOfNoSize) {
  const auto error_of = [](const NewModule& module) {
    try {
      create_state(module);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const std::string most = " must be between 1 and 16777216, got ";
  EXPECT_EQ(error_of({"torch.nn.LSTM", {3, -4}}), "hidden_size" + most + "-4");
  EXPECT_EQ(error_of({"torch.nn.GRU", {3, 0}}), "hidden_size" + most + "0");
  EXPECT_EQ(error_of({"torch.nn.GRU", {-3, 4}}), "input_size" + most + "-3");
  EXPECT_EQ(error_of({"torch.nn.RNN", {3, 4}, {{"num_layers", int64_t{1} << 40}}}),
            "num_layers" + most + "1099511627776");
  EXPECT_EQ(error_of({"torch.nn.LSTMCell", {3, int64_t{1} << 62}}),
            "hidden_size" + most + "4611686018427387904");
  EXPECT_EQ(error_of({"torch.nn.LSTM", {3, 4}, {{"proj_size", -1}}}),
            "proj_size must be between 0 and 16777216, got -1");
}

TEST(Recurrent, ModulesStartAsInLibtorch) {
  expect_state({"torch.nn.LSTM", {3, 4}},
               {"weight_ih_l0[16, 3]", "weight_hh_l0[16, 4]", "bias_ih_l0[16]", "bias_hh_l0[16]"});
  expect_state(
      {"torch.nn.LSTM", {3, 4, 1, false}, {{"bidirectional", true}, {"proj_size", 2}}},
      {"weight_ih_l0[16, 3]", "weight_hh_l0[16, 2]", "weight_hr_l0[2, 4]",
       "weight_ih_l0_reverse[16, 3]", "weight_hh_l0_reverse[16, 2]", "weight_hr_l0_reverse[2, 4]"});
  expect_state({"torch.nn.GRU", {3, 4}, {{"num_layers", 2}}},
               {"weight_ih_l0[12, 3]", "weight_hh_l0[12, 4]", "bias_ih_l0[12]", "bias_hh_l0[12]",
                "weight_ih_l1[12, 4]", "weight_hh_l1[12, 4]", "bias_ih_l1[12]", "bias_hh_l1[12]"});
  expect_state({"torch.nn.RNN", {3, 4}, {{"nonlinearity", "relu"}}},
               {"weight_ih_l0[4, 3]", "weight_hh_l0[4, 4]", "bias_ih_l0[4]", "bias_hh_l0[4]"});
  expect_state({"torch.nn.LSTMCell", {3, 4}},
               {"weight_ih[16, 3]", "weight_hh[16, 4]", "bias_ih[16]", "bias_hh[16]"});
  expect_state({"torch.nn.GRUCell", {3, 4}},
               {"weight_ih[12, 3]", "weight_hh[12, 4]", "bias_ih[12]", "bias_hh[12]"});
  expect_state({"torch.nn.RNNCell", {3, 4, false, "relu"}},
               {"weight_ih[4, 3]", "weight_hh[4, 4]", "bias_ih None", "bias_hh None"});

  expect_drawn_like({"torch.nn.LSTM", {3, 4, 2}, {{"bidirectional", true}, {"proj_size", 2}}}, [] {
    return torch::nn::LSTM(
               torch::nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).proj_size(2))
        .ptr();
  });
  expect_drawn_like({"torch.nn.GRUCell", {3, 4}}, [] { return torch::nn::GRUCell(3, 4).ptr(); });
}

}  // namespace
}  // namespace sparsebit::fx::test::recurrent_test

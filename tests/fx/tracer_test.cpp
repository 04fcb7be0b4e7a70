#include "sparsebit/fx/tracer.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/nn/containers.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::fx::tracer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::ThrowsMessage;

class Backbone : public nn::Cloneable<Backbone> {
 public:
  Backbone() : Cloneable("ResNet50", "x") {
    add_module("conv1", nn::Conv2d(3, 4, 3));
    add_module("bn1", nn::BatchNorm2d(4));
    add_module("relu", nn::ReLU());
  }
  Value forward(const Args& in) override {
    const Value x = call("relu", call("bn1", call("conv1", in["x"])));
    return nn::call_function("torch.flatten", {x, 1});
  }
};

/// The model in the QTracer documentation of the Python Sparsebit.
class Model : public nn::Cloneable<Model> {
 public:
  Model() : Cloneable("Model", "input") {
    add_module("backbone", std::make_shared<Backbone>());
    add_module("head", nn::Linear(16, 10));
    set_attribute("classes", 10);
    child("backbone").set_attribute("stride", 32);
  }
  Value forward(const Args& in) override { return call("head", call("backbone", in["input"])); }
};

at::Tensor example_input() {
  return at::arange(2 * 3 * 4 * 4).to(at::kFloat).view({2, 3, 4, 4}) / 100;
}

TEST(QTracer, ExpandsEverythingButLeaves) {
  Model model;
  model.eval();
  const auto traced = QTracer({}).trace(model);
  EXPECT_EQ(to_text(traced->graph()), R"(graph:
    %input_1 : [#users=1] = placeholder[target=input]
    %backbone_conv1 : [#users=1] = call_module[target=backbone.conv1](args=(%input_1,), kwargs={})
    %backbone_bn1 : [#users=1] = call_module[target=backbone.bn1](args=(%backbone_conv1,), kwargs={})
    %backbone_relu : [#users=1] = call_module[target=backbone.relu](args=(%backbone_bn1,), kwargs={})
    %flatten : [#users=1] = call_function[target=torch.flatten](args=(%backbone_relu, 1), kwargs={})
    %head : [#users=1] = call_module[target=head](args=(%flatten,), kwargs={})
    return head
)");
  EXPECT_EQ(traced->type(), "Model");
  EXPECT_EQ(traced->graph().find("flatten")->module_path(), "backbone");
  EXPECT_EQ(traced->graph().find("backbone_bn1")->module_path(), "backbone.bn1");
  EXPECT_TRUE(at::equal((*traced)(example_input()).tensor(), model(example_input()).tensor()));
  lint(traced->graph(), *traced);
}

// With the short names that the documentation uses, its graphs are reproduced exactly.
TEST(QTracer, GraphsOfTheDocumentComeOut) {
  Model model;
  const auto expanded = QTracer({}).trace(model);
  const std::pair<const char*, const char*> renames[] = {{"input_1", "x"},
                                                         {"backbone_conv1", "conv1"},
                                                         {"backbone_bn1", "bn1"},
                                                         {"backbone_relu", "relu"},
                                                         {"head", "fc"}};
  for (const auto& [from, to] : renames) expanded->graph().find(from)->rename(to);
  EXPECT_THAT(to_text(expanded->graph()), StartsWith(R"(graph:
    %x : [#users=1] = placeholder[target=input]
    %conv1 : [#users=1] = call_module[target=backbone.conv1](args=(%x,), kwargs={})
    %bn1 : [#users=1] = call_module[target=backbone.bn1](args=(%conv1,), kwargs={})
    %relu : [#users=1] = call_module[target=backbone.relu](args=(%bn1,), kwargs={})
)"));
  EXPECT_THAT(to_text(expanded->graph()), testing::EndsWith(R"(
    %fc : [#users=1] = call_module[target=head](args=(%flatten,), kwargs={})
    return fc
)"));

  QTracer tracer({"backbone*"});
  const auto skipped = tracer.trace(model);
  skipped->graph().find("input_1")->rename("x");
  EXPECT_EQ(to_text(skipped->graph()), R"(graph:
    %x : [#users=1] = placeholder[target=input]
    %backbone : [#users=1] = call_module[target=backbone](args=(%x,), kwargs={})
    %head : [#users=1] = call_module[target=head](args=(%backbone,), kwargs={})
    return head
)");
  EXPECT_THAT(tracer.unmatched_patterns(), IsEmpty());
  model.eval();
  skipped->eval();
  EXPECT_TRUE(at::equal((*skipped)(example_input()).tensor(), model(example_input()).tensor()));
}

TEST(QTracer, PatternsThatMatchNothingAreReported) {
  Model model;
  QTracer tracer({"backbone.bn*", "neck*", "hea[a-d]"});
  tracer.trace(model);
  EXPECT_THAT(tracer.unmatched_patterns(), ElementsAre("neck*"));
}

TEST(Tracer, SequentialIsEnteredAndSharedModulesKeepOnePath) {
  const ModulePtr shared = nn::ReLU();
  nn::Sequential model({nn::Linear(2, 2), shared, nn::Linear(2, 2), shared});
  const auto traced = Tracer().trace(model);
  EXPECT_EQ(to_text(traced->graph()), R"(graph:
    %input_1 : [#users=1] = placeholder[target=input]
    %_0 : [#users=1] = call_module[target=0](args=(%input_1,), kwargs={})
    %_1 : [#users=1] = call_module[target=1](args=(%_0,), kwargs={})
    %_2 : [#users=1] = call_module[target=2](args=(%_1,), kwargs={})
    %_3 : [#users=1] = call_module[target=1](args=(%_2,), kwargs={})
    return _3
)");
  EXPECT_EQ(traced->find_module("1"), shared);
  EXPECT_EQ(traced->find_module("3"), nullptr);
}

class Everything : public nn::Module {
 public:
  Everything() : Module("Everything", "x, mask=None, scale=2") {
    add_parameter("gain", at::full({3}, 2.f));
    add_buffer("offset", at::ones({3}));
  }
  Value forward(const Args& in) override {
    const Value x = in["x"];
    const Value batch = nn::shape(x);
    const Value scaled = x * parameter("gain");
    Value y = scaled + buffer("offset") * parameter("gain");
    y = y + at::full({3}, 0.5f);  // a constant combined with a traced value
    y = y + nn::call_function("torch.zeros", {3}) + at::ones({1});  // computed while tracing
    y = nn::view(y, {nn::getitem(batch, 0), nn::size(x, -1)});
    if (!in.is_none("mask")) y = y * in["mask"];
    return nn::Tuple{y / in["scale"], nn::List{x, 1}, Value()};
  }
};

TEST(Tracer, RecordsParametersConstantsAndNestedResults) {
  Everything model;
  const auto traced = Tracer().trace(model, {.concrete_args = {{"mask", None()}}, .preserve = {}});
  EXPECT_EQ(to_text(traced->graph()), R"(graph:
    %x : [#users=4] = placeholder[target=x]
    %scale : [#users=1] = placeholder[target=scale](default=2)
    %getattr_1 : [#users=1] = call_function[target=getattr](args=(%x, 'shape'), kwargs={})
    %gain : [#users=2] = get_attr[target=gain]
    %mul : [#users=1] = call_function[target=operator.mul](args=(%x, %gain), kwargs={})
    %offset : [#users=1] = get_attr[target=offset]
    %mul_1 : [#users=1] = call_function[target=operator.mul](args=(%offset, %gain), kwargs={})
    %add : [#users=1] = call_function[target=operator.add](args=(%mul, %mul_1), kwargs={})
    %_tensor_constant0 : [#users=1] = get_attr[target=_tensor_constant0]
    %add_1 : [#users=1] = call_function[target=operator.add](args=(%add, %_tensor_constant0), kwargs={})
    %_tensor_constant1 : [#users=1] = get_attr[target=_tensor_constant1]
    %add_2 : [#users=1] = call_function[target=operator.add](args=(%add_1, %_tensor_constant1), kwargs={})
    %_tensor_constant2 : [#users=1] = get_attr[target=_tensor_constant2]
    %add_3 : [#users=1] = call_function[target=operator.add](args=(%add_2, %_tensor_constant2), kwargs={})
    %getitem : [#users=1] = call_function[target=operator.getitem](args=(%getattr_1, 0), kwargs={})
    %size : [#users=1] = call_method[target=size](args=(%x, -1), kwargs={})
    %view : [#users=1] = call_method[target=view](args=(%add_3, %getitem, %size), kwargs={})
    %truediv : [#users=1] = call_function[target=operator.truediv](args=(%view, %scale), kwargs={})
    return (truediv, [x, 1], None)
)");
  EXPECT_EQ(model.own_buffers().size(), 1u);  // constants went to the result only
  const at::Tensor x = at::ones({4, 3});
  EXPECT_TRUE(at::equal((*traced)(x).items()[0].tensor(), model(x).items()[0].tensor()));
}

TEST(Tracer, ConcreteArgsMustExist) {
  Everything model;
  EXPECT_THAT(
      [&] {
        Tracer().trace(model, {.concrete_args = {{"maks", 1}}, .preserve = {}});
      },
      ThrowsMessage<Error>("concrete_args: the model has no input 'maks'; did you mean 'mask'?"));
}

TEST(Tracer, PreservedAttributesAreCarriedOver) {
  Model model;
  const auto plain = Tracer().trace(model);
  EXPECT_EQ(plain->find_attribute("classes"), nullptr);
  const auto traced = Tracer().trace(
      model, {.concrete_args = {}, .preserve = {{"", {"classes"}}, {"backbone", {"stride"}}}});
  EXPECT_EQ(*traced->find_attribute("classes"), Value(10));
  EXPECT_EQ(*traced->find_attribute("backbone.stride"), Value(32));
  EXPECT_THAT(
      [&] {
        Tracer().trace(model, {.concrete_args = {}, .preserve = {{"", {"clases"}}}});
      },
      ThrowsMessage<Error>(
          "preserve: the model itself (Model) has no attribute, submodule, parameter "
          "or buffer 'clases'; did you mean 'classes'?"));
}

class Branching : public nn::Cloneable<Branching> {
 public:
  Branching() : Cloneable("Branching", "x") {}
  Value forward(const Args& in) override {
    const Value total = nn::call_method("sum", {in["x"]});
    if (total.to_bool()) return in["x"];
    return -in["x"];
  }
};

class Holder : public nn::Cloneable<Holder> {
 public:
  Holder() : Cloneable("Holder", "x") {
    add_module("block", std::make_shared<nn::Sequential>(
                            std::vector<ModulePtr>{std::make_shared<Branching>()}));
  }
  Value forward(const Args& in) override { return call("block", in["x"]); }
};

TEST(Tracer, DataDependentControlFlowNamesTheModule) {
  Holder model;
  EXPECT_THAT([&] { Tracer().trace(model); },
              ThrowsMessage<Error>(
                  "the model needs a bool that depends on a traced value; values are not known "
                  "while tracing\n"
                  "  while tracing module 'block.0' (Branching)\n"
                  "  to keep that module as one opaque node, add 'block.0' to SKIP_TRACE_MODULES "
                  "(--skip 'block.0')"));
  EXPECT_EQ(Tracer::current(), nullptr);  // the failed trace is over
  EXPECT_EQ(model(at::ones({1})).tensor().item<float>(), 1.f);
  const auto traced = QTracer({"block.0"}).trace(model);
  EXPECT_EQ((*traced)(-at::ones({1})).tensor().item<float>(), -1.f);
  Branching alone;
  EXPECT_THAT([&] { Tracer().trace(alone); },
              ThrowsMessage<Error>(HasSubstr("while tracing the model itself (Branching)")));
}

class Comparing : public nn::Module {
 public:
  Comparing() : Module("Comparing", "x") {}
  Value forward(const Args& in) override { return nn::size(in["x"], 0) == 1 ? in["x"] : -in["x"]; }
};

class Failing : public nn::Module {
 public:
  Failing() : Module("Failing", "x") {}
  Value forward(const Args&) override { return at::ones({2}) + at::ones({3}); }
};

TEST(Tracer, ComparingTracedValuesIsAnError) {
  Comparing model;
  EXPECT_THAT([&] { Tracer().trace(model); },
              ThrowsMessage<Error>(
                  HasSubstr("the model needs a comparison that depends on a traced value")));
}

TEST(Tracer, ErrorsOfLibtorchNameTheModule) {
  Failing model;
  EXPECT_THAT([&] { Tracer().trace(model); },
              ThrowsMessage<Error>(HasSubstr("\n  while tracing the model itself (Failing)")));
}

TEST(Tracer, FrozenModulesKeepTheirMode) {
  Model model;
  model.train();
  model.find("backbone.bn1")->eval();
  const auto traced = Tracer().trace(model);
  EXPECT_TRUE(traced->is_training());
  EXPECT_TRUE(model.is_training());
  EXPECT_FALSE(model.find("backbone.bn1")->is_training());
  EXPECT_FALSE(traced->find("backbone.bn1")->is_training());
  EXPECT_TRUE(traced->find("backbone")->is_training());
}

TEST(Tracer, ConstantsOfARetracedGraphAreNotOverwritten) {
  Everything model;
  const auto once = Tracer().trace(model, {.concrete_args = {{"mask", None()}}, .preserve = {}});
  const auto point = once->graph().inserting_after(*once->graph().find("add_1"));
  Node& more =
      once->graph().call_function("torch.add", {*once->graph().find("add_1"), at::full({3}, 7.f)});
  once->graph().find("add_1")->replace_all_uses_with(more);
  const auto twice = Tracer().trace(*once);
  const at::Tensor x = at::ones({4, 3});
  EXPECT_TRUE(at::equal((*twice)(x).items()[0].tensor(), (*once)(x).items()[0].tensor()))
      << to_text(twice->graph());
}

class Stray : public nn::Module {
 public:
  Stray() : Module("Stray", "x") {}
  Value forward(const Args& in) override { return (*nn::ReLU())(in["x"]); }
};

TEST(Tracer, ModulesOutsideTheModelAreRefused) {
  Stray model;
  EXPECT_THAT([&] { Tracer().trace(model); },
              ThrowsMessage<Error>(
                  HasSubstr("a module of type torch.nn.ReLU is called that is not a submodule "
                            "of the traced model; add it with add_module()")));
}

TEST(Tracer, TracingAGraphModuleInlinesIt) {
  Model model;
  model.eval();
  const auto once = Tracer().trace(model);
  const auto twice = Tracer().trace(*once);
  EXPECT_EQ(to_text(twice->graph()), to_text(once->graph()));
  EXPECT_TRUE(at::equal((*twice)(example_input()).tensor(), model(example_input()).tensor()));
}

TEST(Tracer, TrainingModeAndGradientsCarryOver) {
  Model model;
  model.train();
  const auto traced = Tracer().trace(model);
  EXPECT_TRUE(traced->is_training());
  (*traced)(example_input()).tensor().sum().backward();
  EXPECT_TRUE(model.find_tensor("head.weight")->grad().defined());
  EXPECT_EQ(model.find_tensor("backbone.bn1.num_batches_tracked")->item<int64_t>(), 1);
}

}  // namespace
}  // namespace sparsebit::fx::tracer_test

#include "fx/ops/new_module.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace sparsebit::fx::test {
namespace {

ModuleState create(const NewModule& module, c10::optional<at::Generator> generator) {
  const ModuleForm& form = *operators().get(module.type).module;
  const Args args(form.constructor, form.constructor.bind(module.args, module.kwargs));
  return form.init ? form.init(args, generator) : ModuleState();
}

std::vector<std::string> summarize(const TensorList& tensors) {
  std::vector<std::string> lines;
  for (const auto& [name, tensor] : tensors) {
    lines.push_back(tensor.defined() ? c10::str(name, "[", c10::Join(", ", tensor.sizes()), "]")
                                     : name + " None");
  }
  return lines;
}

void expect_equal(const TensorList& a, const TensorList& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].second.defined(), b[i].second.defined()) << a[i].first;
    EXPECT_TRUE(!a[i].second.defined() || at::equal(a[i].second, b[i].second)) << a[i].first;
  }
}

void expect_arguments_found(const NewModule& module, const ModuleState& state) {
  const Spelling& spelling = operators().get(module.type);
  std::set<std::string> sources = {"training", "flat_weights"};
  for (const Parameter& p : spelling.module->forward.parameters()) sources.insert(p.name);
  for (const Parameter& p : spelling.module->constructor.parameters()) sources.insert(p.name);
  for (const auto& [name, value] : spelling.module->preset) sources.insert(name);
  for (const TensorList* list : {&state.parameters, &state.buffers}) {
    for (auto [name, tensor] : *list) {
      std::replace(name.begin(), name.end(), '.', '_');
      sources.insert(name);
    }
  }
  for (const Parameter& p : spelling.op->schema.parameters()) {
    EXPECT_TRUE(p.default_value || sources.contains(p.name))
        << "a call of " << module.type << " would miss the argument " << p.name;
  }
}

}  // namespace

ModuleState create_state(const NewModule& module, uint64_t seed) {
  return create(module, at::detail::createCPUGenerator(seed));
}

void expect_state(const NewModule& module, const std::vector<std::string>& parameters,
                  const std::vector<std::string>& buffers) {
  SCOPED_TRACE(module.type);
  const ModuleState state = create_state(module);
  EXPECT_EQ(summarize(state.parameters), parameters);
  EXPECT_EQ(summarize(state.buffers), buffers);
  for (const auto& [name, tensor] : state.parameters) {
    EXPECT_TRUE(!tensor.defined() || (tensor.requires_grad() && tensor.is_leaf())) << name;
  }
  for (const auto& [name, tensor] : state.buffers) {
    EXPECT_TRUE(!tensor.defined() || !tensor.requires_grad()) << name;
  }
  const ModuleState again = create_state(module);
  expect_equal(state.parameters, again.parameters);
  expect_equal(state.buffers, again.buffers);
  expect_arguments_found(module, state);
}

void expect_drawn_like(const NewModule& module,
                       const std::function<std::shared_ptr<torch::nn::Module>()>& libtorch) {
  SCOPED_TRACE(module.type);
  at::manual_seed(5);
  const auto theirs = libtorch()->named_parameters();
  at::manual_seed(5);
  size_t found = 0;
  for (const auto& [name, tensor] : create(module, c10::nullopt).parameters) {
    if (!tensor.defined()) continue;
    const at::Tensor* expected = theirs.find(name);
    ASSERT_TRUE(expected) << name;
    EXPECT_TRUE(at::equal(tensor, *expected)) << name;
    ++found;
  }
  EXPECT_EQ(found, theirs.size());
}

}  // namespace sparsebit::fx::test

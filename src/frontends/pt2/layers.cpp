#include "frontends/pt2/layers.h"

#include "frontends/torchscript/layer_call.h"
#include "frontends/torchscript/leaf.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <map>
#include <set>

namespace sparsebit::frontends::pt2 {
namespace {

using fx::Node;
using fx::Value;

const fx::Spelling* spelling_of(const std::string& type) {
  const fx::Spelling* found = fx::operators().find(type);
  if (!found && type.starts_with("torch.nn.modules."))
    found = fx::operators().find("torch.nn." + type.substr(type.rfind('.') + 1));
  return found && found->module ? found : nullptr;
}

bool is_part_of(const Node& node, const Node& whole) {
  return node.target() == "operator.getitem" && node.args().at(0).is_node() &&
         &node.args()[0].node() == &whole && node.args().at(1).is_int();
}

/// Restores a layer from the nodes of one call, not counting get_attr nodes.
class LayerRestorer {
 public:
  LayerRestorer(fx::Graph& graph, fx::Module& root)
      : graph_(graph), root_(root), no_tensors_("Module", fx::Schema()) {
    no_tensors_.set_training(false);
  }

  void restore(const ModuleCall& call, const std::vector<Node*>& nodes) {
    spelling_ = spelling_of(call.type);
    path_ = call.path;
    nodes_.clear();
    for (Node* node : nodes) {
      if (node->op() != fx::Opcode::GetAttr) nodes_.push_back(node);
    }
    inside_ = {nodes_.begin(), nodes_.end()};
    if (path_.empty() || nodes_.empty()) return;
    if (Node* core = find_core())
      restore_call(*core);
    else if (spelling_->op->name == "linear")
      restore_matrix_product();
  }

 private:
  /// The one call of the layer's operator.
  Node* find_core() const {
    Node* core = nullptr;
    for (Node* node : nodes_) {
      const fx::Spelling* found = fx::find_spelling(*node, root_);
      if (!found || !torchscript::same_operator(*found->op, *spelling_->op)) continue;
      if (core) return nullptr;
      core = node;
    }
    return core;
  }

  bool is_used_outside(const Node& node) const {
    return std::any_of(node.users().begin(), node.users().end(),
                       [&](Node* user) { return !inside_.contains(user); });
  }

  const fx::Module& tensors() const {
    const fx::Module* found = root_.find(path_);
    return found ? *found : no_tensors_;
  }

  /// Whether the operator is the whole layer: only its results are read outside, and the layer has
  /// no side effects.
  bool is_all_of_it(const Node& core) const {
    return std::all_of(nodes_.begin(), nodes_.end(), [&](const Node* node) {
      if (node == &core || is_part_of(*node, core)) return true;
      return !is_used_outside(*node) && !fx::mutates_input(*node, root_);
    });
  }

  void restore_call(Node& core) {
    if (!is_all_of_it(core)) return;
    const bool first_only = core.target().find("adaptive_max_pool") != std::string::npos &&
                            std::all_of(core.users().begin(), core.users().end(), [&](Node* user) {
                              return is_part_of(*user, core) && user->args()[1].same_as(0);
                            });
    const auto inside = [&](const Node& node) { return inside_.contains(&node); };
    auto layer = torchscript::layer_of_call(*spelling_, core, tensors(), root_,
                                            {.first_only = first_only, .inside = inside});
    if (!layer) return;
    const bool own_inputs =
        std::any_of(layer->inputs.begin(), layer->inputs.end(), [&](const Value& input) {
          bool own = false;
          input.for_each_node([&](Node& node) { own |= inside(node); });
          return own;
        });
    if (own_inputs || !install(layer->module)) return;
    Node& call = write_call(core, std::move(layer->inputs));
    if (first_only)
      take_first(core, call);
    else
      take_results(core, call);
    graph_.erase(core);
  }

  /// Puts the layer at its path; false when another call of it was a different layer.
  bool install(fx::ModulePtr& layer) {
    const auto [first, is_new] = installed_.emplace(path_, layer);
    if (is_new) root_.set_module(path_, layer);
    return first->second->describe() == layer->describe();
  }

  Node& write_call(Node& core, std::vector<Value> inputs) {
    const fx::ModulePtr layer = installed_.at(path_);
    const std::vector<fx::Parameter>& parameters = layer->forward_schema().parameters();
    while (!inputs.empty() && parameters[inputs.size() - 1].default_value &&
           parameters[inputs.size() - 1].default_value->same_as(inputs.back()))
      inputs.pop_back();
    const auto here = graph_.inserting_before(core);
    Node& call = graph_.call_module(path_, std::move(inputs));
    call.set_tensor_info(core.tensor_info());
    return call;
  }

  /// An LSTM gives (output, (h, c)), its operator (output, h, c).
  void take_results(Node& core, Node& call) {
    const bool nested = spelling_->module->type == "torch.nn.LSTM";
    for (Node* user : std::vector<Node*>(core.users().begin(), core.users().end())) {
      if (!nested || !is_part_of(*user, core) || user->args()[1].same_as(0)) continue;
      const int64_t index = user->args()[1].to_int();
      const auto here = graph_.inserting_before(*user);
      Node& states = graph_.call_function("operator.getitem", {call, 1});
      user->set_args({states, index - 1});
    }
    core.replace_all_uses_with(call);
  }

  void take_first(Node& core, Node& call) {
    for (Node* user : std::vector<Node*>(core.users().begin(), core.users().end())) {
      call.set_tensor_info(user->tensor_info());
      user->replace_all_uses_with(call);
      graph_.erase(*user);
    }
  }

  /// A linear layer after decomposition: a product with the transposed weight between views.
  void restore_matrix_product() {
    static const std::set<std::string> views = {"permute", "transpose", "t",      "view",
                                                "reshape", "expand",    "clone",  "contiguous",
                                                "add",     "unsqueeze", "squeeze"};
    static const std::set<std::string> products = {"addmm", "mm", "bmm", "matmul"};
    int64_t multiplications = 0;
    for (const Node* node : nodes_) {
      const fx::Spelling* found = fx::find_spelling(*node, root_);
      if (!found || fx::mutates_input(*node, root_)) return;
      const bool product = products.contains(found->op->name);
      if (!product && !views.contains(found->op->name)) return;
      multiplications += product;
    }
    Node* input = only_input();
    Node* result = only_result();
    if (multiplications != 1 || !input || !result || !fits(*input, *result)) return;
    const at::Tensor& weight = *tensors().find_tensor("weight");
    fx::ModulePtr layer =
        torchscript::make_leaf(*spelling_,
                               {{"in_features", weight.size(1)},
                                {"out_features", weight.size(0)},
                                {"bias", *torchscript::implied_argument(tensors(), "bias")}},
                               tensors());
    if (!install(layer)) return;
    Node& call = write_call(*result, {*input});
    result->replace_all_uses_with(call);
  }

  /// The only input of the layer from outside, apart from its own weight and bias.
  Node* only_input() const {
    std::set<Node*> inputs, own;
    for (const Node* node : nodes_) {
      for (Node* source : node->inputs()) {
        if (inside_.contains(source)) continue;
        const at::Tensor* tensor =
            source->op() == fx::Opcode::GetAttr ? root_.find_tensor(source->target()) : nullptr;
        const auto is_own = [&](const char* name) {
          const at::Tensor* mine = tensors().find_tensor(name);
          return tensor && mine && tensor->is_same(*mine);
        };
        (is_own("weight") || is_own("bias") ? own : inputs).insert(source);
      }
    }
    const at::Tensor* bias = tensors().find_tensor("bias");
    const size_t expected = bias && bias->defined() ? 2 : 1;
    return inputs.size() == 1 && own.size() == expected ? *inputs.begin() : nullptr;
  }

  Node* only_result() const {
    Node* result = nullptr;
    for (Node* node : nodes_) {
      if (!is_used_outside(*node)) continue;
      if (result) return nullptr;
      result = node;
    }
    return result;
  }

  /// Whether the shapes are those of a linear layer.
  bool fits(const Node& input, const Node& result) const {
    const at::Tensor* weight = tensors().find_tensor("weight");
    if (!weight || weight->dim() != 2 || !input.tensor_info() || !result.tensor_info())
      return false;
    std::vector<int64_t> shape = input.tensor_info()->shape;
    if (shape.empty() || shape.back() != weight->size(1)) return false;
    shape.back() = weight->size(0);
    return shape == result.tensor_info()->shape;
  }

  fx::Graph& graph_;
  fx::Module& root_;
  fx::Module no_tensors_;                   // for layers without tensors
  const fx::Spelling* spelling_ = nullptr;  // of the current layer
  std::string path_;
  std::vector<Node*> nodes_;
  std::set<const Node*> inside_;
  std::map<std::string, fx::ModulePtr> installed_;
};

}  // namespace

std::optional<ModuleCall> layer_in(const std::vector<ModuleCall>& stack) {
  const auto found = std::find_if(stack.begin(), stack.end(), [](const ModuleCall& module) {
    return spelling_of(module.type) != nullptr;
  });
  return found == stack.end() ? std::nullopt : std::optional(*found);
}

void restore_layers(fx::Graph& graph, fx::Module& root, const LayerNodes& nodes) {
  LayerRestorer restorer(graph, root);
  for (size_t start = 0; start < nodes.size();) {
    size_t end = start;
    std::vector<Node*> run;
    for (; end < nodes.size() && nodes[end].second.call == nodes[start].second.call; ++end)
      run.push_back(nodes[end].first);
    restorer.restore(nodes[start].second, run);
    start = end;
  }
}

}  // namespace sparsebit::frontends::pt2

#include "passes/all_passes.h"
#include "passes/layers.h"
#include "passes/values.h"

#include <algorithm>
#include <map>

namespace sparsebit::passes {
namespace {

using fx::Node;
using fx::Opcode;

/// "torch.relu_" -> "torch.relu", "operator.iadd" -> "operator.add"; others stay unchanged.
std::string pure_target(const std::string& target) {
  constexpr std::string_view kInPlaceOperator = "operator.i";
  if (target.ends_with('_')) return target.substr(0, target.size() - 1);
  if (!target.starts_with(kInPlaceOperator)) return target;
  return "operator." + target.substr(kInPlaceOperator.size());
}

class OutOfPlace {
 public:
  explicit OutOfPlace(Rewriter& rewriter) : rewriter_(rewriter) {
    for (const Node* node : rewriter.index().nodes())
      groups_[rewriter.memory().group_of(*node)].push_back(node);
  }

  void run() {
    std::map<std::string, std::vector<Node*>> calls;  // by module path
    for (Node* node : rewriter_.index().nodes()) {
      if (!rewriter_.memory().is_writer(*node)) continue;
      if (node->op() == Opcode::CallModule) {
        calls[node->target()].push_back(node);
      } else if (can_be_pure(*node)) {
        change_call(*node);
      }
    }
    for (const auto& [path, nodes] : calls) {
      if (is_part_of_others(path, rewriter_)) continue;
      if (std::all_of(nodes.begin(), nodes.end(), [&](Node* node) { return can_be_pure(*node); }))
        change_module(path, nodes);
    }
  }

 private:
  size_t position(const Node& node) const { return rewriter_.index().position(node); }

  /// Whether writing in place can be replaced by a new tensor: the written memory is read later
  /// only through the result, and the result of the pure operator has the same type.
  bool can_be_pure(const Node& writer) const {
    const NodeView& view = rewriter_.index().view(writer);
    if (!view.call || view.call->op->effect != fx::Effect::None) return false;
    return keeps_type(view) && is_read_through_result_only(writer);
  }

  bool keeps_type(const NodeView& view) const {
    if (view.call->op->elements == fx::Elements::Unknown) return false;
    const std::vector<fx::Value>& args = view.call->args.values();
    return std::all_of(args.begin() + 1, args.end(), [&](const fx::Value& value) {
      const bool is_operand = value.is_tensor() || value.contains_node();
      return !is_operand || leaves_type(args.front(), value);
    });
  }

  /// Whether pure arithmetic gives the type of the written tensor, as in-place arithmetic does:
  /// integer operands and 0-d constants do not change a floating-point type.
  bool leaves_type(const fx::Value& written, const fx::Value& operand) const {
    const std::optional<at::ScalarType> type = type_of(operand, rewriter_);
    if (!type || at::isComplexType(*type)) return false;
    if (type_of(written, rewriter_) == type) return true;
    const at::Tensor* tensor = constant_tensor(operand, rewriter_);
    const bool is_one_number =
        tensor && tensor->dim() == 0 && rank_of(written, rewriter_).value_or(0) > 0;
    return is_known_float(written, rewriter_) && (!at::isFloatingType(*type) || is_one_number);
  }

  bool is_read_through_result_only(const Node& writer) const {
    const size_t here = position(writer);
    for (const Node* sharing : groups_.at(rewriter_.memory().group_of(writer))) {
      if (position(*sharing) >= here) continue;
      const bool is_call = sharing->op() == Opcode::CallFunction ||
                           sharing->op() == Opcode::CallMethod ||
                           sharing->op() == Opcode::CallModule;
      if (!is_call) return false;  // an input or state: its owner sees the change
      for (const Node* user : sharing->users()) {
        if (position(*user) > here) return false;
      }
    }
    return true;
  }

  void change_call(Node& node) {
    const std::string target = node.target();
    const fx::Kwargs kwargs = node.kwargs();
    const std::vector<fx::Value> args = node.args();
    node.set_target(pure_target(target));
    fx::Kwargs pure = kwargs;
    std::erase_if(pure, [](const auto& item) { return item.first == "inplace"; });
    node.set_kwargs(std::move(pure));
    for (size_t i = 1; is_still_in_place(node) && i < args.size(); ++i) {
      if (args[i].is_bool()) node.set_arg(i, false);  // inplace, given by position
      if (is_still_in_place(node)) node.set_arg(i, args[i]);
    }
    if (!is_still_in_place(node)) return rewriter_.note_changed(node);
    node.set_target(target);
    node.set_kwargs(kwargs);
    node.set_args(args);
  }

  bool is_still_in_place(const Node& node) const {
    return !fx::find_spelling(node, rewriter_.module()) ||
           fx::mutates_input(node, rewriter_.module());
  }

  /// Replaces the module at the path by a copy, because other paths may share the original.
  void change_module(const std::string& path, const std::vector<Node*>& nodes) {
    const fx::ModulePtr pure = rewriter_.module().find_module(path)->clone();
    pure->set_attribute("inplace", false);
    rewriter_.module().set_module(path, pure);
    for (Node* node : nodes) rewriter_.note_changed(*node);
  }

  Rewriter& rewriter_;
  std::map<size_t, std::vector<const Node*>> groups_;  // nodes that may share memory
};

}  // namespace

Pass out_of_place() {
  return {.name = "out_of_place",
          .summary = "replace in-place operators by pure ones, where results do not change",
          .stage = Stage::Simplify,
          .run = [](Rewriter& rewriter) { OutOfPlace(rewriter).run(); }};
}

}  // namespace sparsebit::passes

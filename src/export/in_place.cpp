// In-place operators. ONNX values are immutable, so a changed tensor gets a new value, and so does
// every tensor that shares its memory and is read later.

#include "export/exporter.h"
#include "export/ops/index.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::exports {

using fx::Node;

bool Exporter::used_after(const Node& node, const Node& by) const {
  return std::any_of(node.users().begin(), node.users().end(),
                     [&](const Node* user) { return position_.at(user) > position_.at(&by); });
}

/// All written nodes that share memory with this one, itself included, in order.
std::vector<const Node*> Exporter::sharing_memory(const Node& node) const {
  std::unordered_set<const Node*> group = {&node};
  std::vector<const Node*> ordered;
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& [result, inputs] : facts_.aliases) {
      for (const Node* input : inputs) {
        const bool linked = group.contains(result) || group.contains(input);
        if (linked) grown |= group.insert(result).second | group.insert(input).second;
      }
    }
  }
  for (const Node* member : group) {
    if (values_.contains(member)) ordered.push_back(member);
  }
  std::sort(ordered.begin(), ordered.end(),
            [&](const Node* a, const Node* b) { return position_.at(a) < position_.at(b); });
  return ordered;
}

/// A tensor that is changed in place keeps its type, without type promotion.
void Exporter::keep_type(const Node& node, const fx::OperatorCall& call, NodeResult& result) {
  const fx::Value& target = call.args.values().at(0);
  if (!target.is_node() || !holds_tensor(values_.at(&target.node()))) return;
  const at::ScalarType dtype = dtype_of(values_.at(&target.node()));
  if (dtype == dtype_of(result)) return;
  Call view(node, call.args, writer_, *this);
  result = writer_.cast(view.sym(result), dtype);
}

/// After `node` changed its first input: that input's node and this one hold `result` from now on.
void Exporter::store_change(const Node& node, const fx::OperatorCall& call, NodeResult result) {
  const fx::Value& target = call.args.values().at(0);
  const bool gives_nothing = call.op->effect == fx::Effect::WritesInput;
  if (!target.is_node()) {  // a constant without other consumers
    values_[&node] = gives_nothing ? NodeResult() : std::move(result);
    return;
  }
  const Node& changed = target.node();
  const NodeResult before = values_.at(&changed);
  const bool number = !holds_tensor(before);
  if (number) {  // `n += 1` of a Python number makes a new one
    values_[&node] = std::move(result);
    return;
  }
  SPARSEBIT_CHECK(!before.is_tensor() || !before.sym().constant.defined() ||
                      changed.op() != fx::Opcode::GetAttr,
                  Unsupported, "node '", node.name(), "' changes the parameter or buffer '",
                  changed.target(), "' in place, which ONNX cannot represent");
  Call view(node, call.args, writer_, *this);
  const OnnxTensor content = view.sym(result);
  values_[&node] = gives_nothing ? NodeResult() : result;
  if (before.is_tensor()) {  // all nodes with this tensor share the cell
    before.cell->sym = content;
    if (!gives_nothing) values_[&node] = before;
  } else {
    values_[&changed] = result;
  }
  write_back(changed, content, node);
  refresh_views(changed, node);
}

/// All nodes that `node` is a view of, directly or indirectly.
std::unordered_set<const Node*> Exporter::bases_of(const Node& node) const {
  std::unordered_set<const Node*> bases;
  std::vector<const Node*> open = {&node};
  while (!open.empty()) {
    const auto found = facts_.aliases.find(open.back());
    open.pop_back();
    if (found == facts_.aliases.end()) continue;
    for (const Node* base : found->second) {
      if (bases.insert(base).second) open.push_back(base);
    }
  }
  return bases;
}

/// After a view was changed, updates the tensors that it is a view of.
void Exporter::write_back(const Node& view, const OnnxTensor& content, const Node& by) {
  const auto bases = facts_.aliases.find(&view);
  if (bases == facts_.aliases.end()) return;
  for (const Node* base : bases->second) {
    const NodeResult held = values_.at(base);
    if (held.is_tensor() && held.cell == values_.at(&view).cell) {
      write_back(*base, content, by);
      continue;
    }
    const std::optional<OnnxTensor> updated = base_after_write(view, content);
    if (!updated) {
      check_not_read_again(view, *base, by);
      continue;
    }
    if (held.is_tensor()) {
      held.cell->sym = *updated;
    } else {
      values_[base] = *updated;
    }
    write_back(*base, *updated, by);
  }
}

std::optional<OnnxTensor> Exporter::base_after_write(const Node& view, const OnnxTensor& content) {
  const std::optional<fx::OperatorCall> call = fx::resolve(view, module_);
  if (!call || !call->op->schema.find("input")) return std::nullopt;
  Call read(view, call->args, writer_, *this);
  return undo_view(read, call->op->name, content);
}

/// Called when `base` cannot be updated after its view was changed. That is correct as long as
/// neither `base` nor a tensor that overlaps the view is read later; the other parts of a split,
/// for example, do not overlap.
void Exporter::check_not_read_again(const Node& view, const Node& base, const Node& by) const {
  std::unordered_set<const Node*> stale = bases_of(base);
  if (holds_tensor(values_.at(&base))) stale.insert(&base);
  for (const Node* member : sharing_memory(base)) {
    const std::unordered_set<const Node*> above = bases_of(*member);
    if (!above.contains(&base) && member != &base) stale.insert(member);
  }
  for (const Node* node : stale) {
    SPARSEBIT_CHECK(!used_after(*node, by), Unsupported, "node '", by.name(), "' changes '",
                    view.name(), "' in place, which shares memory with '", node->name(),
                    "', which is read later; that cannot be written as ONNX, change a clone() "
                    "instead");
  }
}

/// Computes views of the changed memory again if they are read later.
void Exporter::refresh_views(const Node& changed, const Node& by) {
  const std::unordered_set<const Node*> written = bases_of(changed);
  const std::vector<const Node*> members = sharing_memory(changed);
  std::unordered_set<const Node*> read;  // later, directly or through a view
  for (const Node* member : members) {
    if (!used_after(*member, by)) continue;
    read.insert(member);
    read.merge(bases_of(*member));
  }
  // `v += 1` returns the tensor v itself: a consumer of the one is a consumer of the other.
  const auto is_read = [&](const Node& node) {
    const auto cell = values_.at(&node).cell;
    return std::any_of(members.begin(), members.end(), [&](const Node* other) {
      const bool same = other == &node || (cell && values_.at(other).cell == cell);
      return same && read.contains(other);
    });
  };
  for (const Node* member : members) {
    if (member == &changed || member == &by || written.contains(member)) continue;
    if (!is_read(*member)) continue;
    const auto bases = facts_.aliases.find(member);
    if (bases == facts_.aliases.end()) continue;  // the memory's owner, already up to date
    const NodeResult& held = values_.at(member);
    const bool same =
        std::any_of(bases->second.begin(), bases->second.end(), [&](const Node* base) {
          const NodeResult& other = values_.at(base);
          return other.cell && other.cell == held.cell;
        });
    if (same || fx::mutates_input(*member, module_)) continue;
    const std::optional<fx::OperatorCall> call = fx::resolve(*member, module_);
    SPARSEBIT_CHECK(call, Unsupported, "node '", member->name(),
                    "' shares memory with a tensor that is changed in place");
    NodeResult again = convert_call(*member, *call);
    if (const Fact* fact = facts_.find(*member)) apply_fact(*fact, again, *member);
    if (held.cell && again.cell) {
      held.cell->sym = again.sym();
    } else {
      values_[member] = std::move(again);
    }
  }
}

}  // namespace sparsebit::exports

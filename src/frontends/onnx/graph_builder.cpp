#include "frontends/onnx/graph_builder.h"

#include "frontends/onnx/carried.h"
#include "frontends/onnx/naming.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/dead_code.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {

using fx::List;
using fx::Node;
using fx::Opcode;
using fx::Tuple;
using fx::Value;

namespace {

bool same_tensors(const NamedTensors& have, const fx::TensorList& want) {
  if (have.size() != want.size()) return false;
  return std::all_of(want.begin(), want.end(), [&](const auto& entry) {
    const at::Tensor* tensor = have.find(entry.first);
    return tensor && tensor->is_same(entry.second);
  });
}

bool same_attributes(const fx::Module& a, const fx::Module& b) {
  if (a.attributes().size() != b.attributes().size()) return false;
  for (const auto& item : a.attributes()) {
    const Value* other = b.attributes().find(item.key());
    if (!other || !item.value().same_as(*other)) return false;
  }
  return true;
}

/// Whether `module` equals `layer`, so that a node is another call of it.
bool is_same_layer(const fx::Module& module, const fx::Module& layer,
                   const fx::ModuleState& state) {
  return module.type() == layer.type() && same_attributes(module, layer) &&
         same_tensors(module.own_parameters(), state.parameters) &&
         same_tensors(module.own_buffers(), state.buffers);
}

/// libtorch supports at most kMostAxes axes; a file with more is damaged, and every axis costs
/// time.
void check_rank(const std::string& name, int64_t rank) {
  SPARSEBIT_CHECK(rank <= kMostAxes, InvalidModel, "'", without_control_characters(name), "' has ",
                  rank, " axes, expected at most ", kMostAxes);
}

}  // namespace

GraphBuilder::GraphBuilder(io::ExternalData& external, std::string type)
    : external_(external),
      module_(std::make_unique<fx::GraphModule>(std::make_unique<fx::Graph>(), std::move(type))) {}

void GraphBuilder::define(const std::string& name, Operand operand) {
  if (name.empty()) return;
  if (operand.is_constant()) check_rank(name, operand.value.tensor().dim());
  if (operand.kind == Operand::Kind::Tensor && operand.value.is_node()) {
    Node& node = operand.value.node();
    const fx::TensorInfo* known = info(name);
    if (known && !node.tensor_info()) node.set_tensor_info(*known);
    ++names_of_[&node];
  }
  const auto [it, is_new] = operands_.emplace(name, std::move(operand));
  SPARSEBIT_CHECK(is_new, InvalidModel, "'", name, "' is defined twice");
}

const Operand* GraphBuilder::find(const std::string& name) const {
  const auto it = operands_.find(name);
  return it == operands_.end() ? nullptr : &it->second;
}

void GraphBuilder::set_info(const std::string& name, fx::TensorInfo info) {
  check_rank(name, static_cast<int64_t>(info.shape.size()));
  // No real axis is longer, and the bound keeps arithmetic with sizes from overflowing.
  constexpr int64_t kLongestAxis = int64_t{1} << 31;
  std::replace_if(
      info.shape.begin(), info.shape.end(), [](int64_t size) { return size > kLongestAxis; }, -1);
  infos_.insert_or_assign(name, std::move(info));
}

const fx::TensorInfo* GraphBuilder::info(const std::string& name) const {
  const auto it = infos_.find(name);
  return it == infos_.end() ? nullptr : &it->second;
}

std::optional<at::ScalarType> GraphBuilder::dtype(const std::string& name) const {
  if (const fx::TensorInfo* known = info(name)) return known->dtype;
  const auto it = dtypes_.find(name);
  return it == dtypes_.end() ? std::nullopt : std::optional(it->second);
}

int GraphBuilder::four_bit_type(const std::string& name) const {
  const auto it = four_bit_.find(name);
  return it == four_bit_.end() ? 0 : it->second;
}

void GraphBuilder::note_packed(const std::string& name, int type) {
  four_bit_[name] = type;
  packed_.insert(name);
}

void GraphBuilder::unpack(const std::string& name, const Value& bytes) {
  packed_.erase(name);
  operands_.erase(name);
  define(name, bytes);
}

void GraphBuilder::define_initializer(const std::string& name, at::Tensor tensor) {
  weight_names_[tensor.unsafeGetTensorImpl()] = name;
  infos_.insert_or_assign(
      name, fx::TensorInfo{.shape = tensor.sizes().vec(), .dtype = tensor.scalar_type()});
  define(name, Value(std::move(tensor)));
}

void GraphBuilder::count_reads(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& name : node.input()) ++reads_[name];
    for (const std::string& name : captured_names(node)) ++reads_[name];
  }
  for (const onnx::ValueInfoProto& output : graph.output()) ++reads_[output.name()];
}

bool GraphBuilder::is_read_once(const std::string& name) const {
  const Operand* operand = find(name);
  const auto reads = reads_.find(name);
  if (!operand || reads == reads_.end() || reads->second != 1) return false;
  if (!operand->value.is_node()) return true;
  const auto names = names_of_.find(&operand->value.node());
  return names == names_of_.end() || names->second == 1;
}

void GraphBuilder::enter(const onnx::NodeProto& node) {
  const int number = unnamed_[node.op_type()]++;
  source_name_ = without_control_characters(node.name());
  scope_ = path_from_node_name(node.name());
  node_path_ = scope_.empty() ? as_path(node.op_type() + "_" + std::to_string(number)) : scope_;
}

Node& GraphBuilder::call(Opcode op, std::string_view target, std::vector<Value> args,
                         fx::Kwargs kwargs) {
  for (Value& arg : args) arg = as_argument(arg);
  for (auto& [name, value] : kwargs) value = as_argument(value);
  Node& node =
      module_->graph().create_node(op, std::string(target), std::move(args), std::move(kwargs));
  if (op != Opcode::CallModule) node.set_module_path(scope_);
  node.set_source_name(source_name_);
  return node;
}

Node& GraphBuilder::call_layer(std::string_view type, std::vector<Value> constructor,
                               fx::Kwargs options, const fx::ModuleState& state,
                               std::vector<Value> args) {
  fx::ModulePtr layer = fx::make_module(type, constructor, options, state);
  layer->eval();
  std::string path = layer_path(state);
  drop_unused_layers(path, /*at_path=*/false);
  const fx::ModulePtr existing = module_->find_module(path);
  if (!existing || !is_same_layer(*existing, *layer, state)) {
    path = free_path(path);
    module_->set_module(path, std::move(layer));
  }
  unused_layers_.erase(path);
  ++layer_calls_[path];
  return call(Opcode::CallModule, path, std::move(args), {});
}

std::string GraphBuilder::layer_path(const fx::ModuleState& state) const {
  for (const auto& [name, tensor] : state.parameters) {
    const auto it = weight_names_.find(tensor.unsafeGetTensorImpl());
    if (!tensor.defined() || it == weight_names_.end()) continue;
    std::string path = path_from_tensor_name(it->second);
    if (!path.empty()) return path;
  }
  return node_path_;
}

/// Makes room for a new layer or tensor at a path: removes unused layers above it, of which it
/// would become a part.
/// @param at_path  also remove an unused layer at the path itself
void GraphBuilder::drop_unused_layers(const std::string& path, bool at_path) {
  if (unused_layers_.empty()) return;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    const std::string above = path.substr(0, dot);
    if (unused_layers_.erase(above) > 0) module_->remove_module(above);
  }
  if (at_path && unused_layers_.erase(path) > 0) module_->remove_module(path);
}

/// Whether a path is free, and no layer or tensor is above it.
bool GraphBuilder::is_free(const std::string& path) const {
  const bool taken = module_->find(path) && !unused_layers_.contains(path);
  if (taken || module_->find_tensor(path)) return false;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    const std::string above = path.substr(0, dot);
    if (module_->find_tensor(above)) return false;
    const fx::Module* container = module_->find(above);
    if (container && container->is_operator()) return false;
  }
  return true;
}

std::string GraphBuilder::free_path(const std::string& wish) {
  if (!wish.empty() && is_free(wish)) return wish;
  std::string flat = wish.empty() ? "constant" : wish;
  std::replace(flat.begin(), flat.end(), '.', '_');
  std::string path = flat;
  if (is_free(path)) return path;
  int& number = numbered_paths_[flat];  // smaller numbers are taken
  const auto next = [&] { return flat + "_" + std::to_string(number + 1); };
  for (path = next(); !is_free(path); path = next()) ++number;
  return path;
}

Node& GraphBuilder::attribute_node(const at::Tensor& tensor) {
  const auto known = attribute_nodes_.find(tensor.unsafeGetTensorImpl());
  if (known != attribute_nodes_.end()) return *known->second;
  const auto named = weight_names_.find(tensor.unsafeGetTensorImpl());
  const bool is_weight = named != weight_names_.end() && tensor.is_floating_point();
  std::string path =
      as_path(named != weight_names_.end() ? named->second : node_path_ + ".constant");
  drop_unused_layers(path, /*at_path=*/true);
  const at::Tensor* existing = module_->find_tensor(path);
  if (!existing || !existing->is_same(tensor)) {
    path = free_path(path);
    drop_unused_layers(path, /*at_path=*/true);
    const auto [parent, name] = fx::split_path(path);
    if (!module_->find(parent)) {
      module_->set_module(parent, std::make_shared<fx::Module>("Module", fx::Schema()));
    }
    fx::Module& owner = *module_->find(parent);
    if (is_weight) {
      owner.add_parameter(name, tensor);
    } else {
      owner.add_buffer(name, tensor);
    }
  }
  Node& node = module_->graph().get_attr(path);
  node.set_tensor_info(fx::TensorInfo{tensor.sizes().vec(), tensor.scalar_type()});
  attribute_nodes_[tensor.unsafeGetTensorImpl()] = &node;
  kept_.push_back(tensor);
  return node;
}

Value GraphBuilder::as_argument(const Value& value) {
  const auto map_items = [this](const std::vector<Value>& items) {
    std::vector<Value> mapped;
    mapped.reserve(items.size());
    for (const Value& item : items) mapped.push_back(as_argument(item));
    return mapped;
  };
  if (value.is_tensor()) return attribute_node(value.tensor());
  if (value.is<List>()) return List(map_items(value.items()));
  if (value.is<Tuple>()) return Tuple(map_items(value.items()));
  return value;
}

Value GraphBuilder::as_tensor(const Operand& operand) {
  if (!operand.is_symbolic()) return operand.value;
  return call(Opcode::CallFunction, "torch.tensor", {operand.value}, {{"dtype", at::kLong}});
}

at::Tensor GraphBuilder::derived(const at::Tensor& from, const std::string& how,
                                 const std::function<at::Tensor()>& make) {
  at::Tensor& result = derived_[{from.unsafeGetTensorImpl(), how}];
  if (result.defined()) return result;
  result = make();
  kept_.push_back(from);
  return result;
}

at::Tensor GraphBuilder::derived_weight(const at::Tensor& from, const std::string& how,
                                        const std::function<at::Tensor()>& make) {
  at::Tensor result = derived(from, how, make);
  const auto named = weight_names_.find(from.unsafeGetTensorImpl());
  if (named != weight_names_.end()) {
    weight_names_[result.unsafeGetTensorImpl()] = std::string(named->second);
  }
  return result;
}

const fx::Module* GraphBuilder::own_layer(const Node& node) const {
  if (node.op() != Opcode::CallModule) return nullptr;
  const auto calls = layer_calls_.find(node.target());
  const bool own = calls != layer_calls_.end() && calls->second == 1;
  return own ? module_->find(node.target()) : nullptr;
}

void GraphBuilder::undo(Node& node) {
  const bool owns_layer = own_layer(node) != nullptr;
  const std::string path = node.target();
  if (node.op() == Opcode::CallModule) --layer_calls_[path];
  if (node.op() == Opcode::GetAttr) {
    const at::Tensor* tensor = module_->find_tensor(path);
    const auto it =
        tensor ? attribute_nodes_.find(tensor->unsafeGetTensorImpl()) : attribute_nodes_.end();
    if (it != attribute_nodes_.end() && it->second == &node) attribute_nodes_.erase(it);
  }
  module_->graph().erase(node);
  if (owns_layer) unused_layers_.insert(path);
}

void GraphBuilder::roll_back(size_t mark) {
  while (module_->graph().size() > mark) undo(module_->graph().nodes().back());
}

std::unique_ptr<fx::GraphModule> GraphBuilder::finish(const std::vector<std::string>& names) {
  std::vector<Value> results;
  for (const std::string& name : names) {
    const Operand* operand = find(name);
    SPARSEBIT_CHECK(operand, InvalidModel, "the output '", name, "' is not defined");
    results.push_back(as_argument(as_tensor(*operand)));
  }
  for (const std::string& path : unused_layers_) module_->remove_module(path);
  unused_layers_.clear();
  module_->graph().output(results.size() == 1 ? results[0] : Value(Tuple(results)));
  module_->set_output_names(names);
  module_->refresh_signature();
  fx::eliminate_dead_code(*module_);
  module_->eval();
  return std::move(module_);
}

}  // namespace sparsebit::frontends

#pragma once

#include "frontends/onnx/operand.h"

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/io/onnx_tensor.h"

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sparsebit::frontends {

/// The graph and module tree that an ONNX model turns into, and what its names stand for.
class GraphBuilder {
 public:
  /// @param type  of the module: what the model is called.
  GraphBuilder(io::ExternalData& external, std::string type);

  io::ExternalData& external() { return external_; }
  fx::GraphModule& module() { return *module_; }
  /// The result. The builder is empty afterwards.
  std::unique_ptr<fx::GraphModule> finish(const std::vector<std::string>& output_names);

  // --- names of the file -----------------------------------------------------------------------

  void define(const std::string& name, Operand operand);
  /// Null when nothing of this name was defined yet.
  const Operand* find(const std::string& name) const;
  void set_info(const std::string& name, fx::TensorInfo info);
  const fx::TensorInfo* info(const std::string& name) const;
  /// The element type of a value whose shape is not known.
  void set_dtype(const std::string& name, at::ScalarType dtype) { dtypes_[name] = dtype; }
  /// From the shape's note or from set_dtype().
  std::optional<at::ScalarType> dtype(const std::string& name) const;
  /// Says that bytes stand for 4-bit integers, given ONNX's number of their type.
  void note_four_bit(const std::string& name, int type) { four_bit_[name] = type; }
  /// 0 when a value has no 4-bit integers.
  int four_bit_type(const std::string& name) const;
  /// Says that a value has 4-bit integers which are no bytes: a node that is carried makes them.
  void note_packed(const std::string& name, int type);
  bool is_packed(const std::string& name) const { return packed_.contains(name); }
  /// From now on the name stands for `bytes` instead.
  void unpack(const std::string& name, const fx::Value& bytes);
  /// A weight of the file: reading it in the graph uses a parameter of this name.
  void define_initializer(const std::string& name, at::Tensor tensor);

  /// How often the file reads a name, results of the whole model included.
  void count_reads(const onnx::GraphProto& graph);
  /// Whether the file reads this value in one place only, under whatever name.
  bool is_read_once(const std::string& name) const;

  // --- nodes -----------------------------------------------------------------------------------

  /// Where the nodes that follow come from, for their module paths and for weights without name.
  void enter(const onnx::NodeProto& node);
  fx::Node& call(fx::Opcode op, std::string_view target, std::vector<fx::Value> args,
                 fx::Kwargs kwargs);
  fx::Node& call_layer(std::string_view type, std::vector<fx::Value> constructor,
                       fx::Kwargs options, const fx::ModuleState& state,
                       std::vector<fx::Value> args);
  /// Constants become get_attr nodes, all of one tensor the same.
  fx::Value as_argument(const fx::Value& value);
  /// An operand as tensor: shape arithmetic becomes torch.tensor([...]).
  fx::Value as_tensor(const Operand& operand);

  /// A constant made from another by `make`: made once for each `how`.
  at::Tensor derived(const at::Tensor& from, const std::string& how,
                     const std::function<at::Tensor()>& make);
  /// Likewise, known by the same name.
  at::Tensor derived_weight(const at::Tensor& from, const std::string& how,
                            const std::function<at::Tensor()>& make);
  /// The layer that only this node calls, or null.
  const fx::Module* own_layer(const fx::Node& node) const;
  /// Erases a node that nothing reads, and the layer that only it calls.
  void undo(fx::Node& node);
  /// Constants that were computed may take as much memory as the file itself, and some more: a
  /// small file cannot fill the memory. Beyond that calls stay calls.
  void set_budget(int64_t bytes) { budget_ = bytes; }
  bool may_compute() const { return budget_ > 0; }
  int64_t budget() const { return budget_; }
  void note_computed(int64_t bytes) { budget_ -= bytes; }

  /// Erases every node made since `mark`, and its layer. What was defined stays.
  size_t mark() const { return module_->graph().size(); }
  void roll_back(size_t mark);

 private:
  fx::Node& attribute_node(const at::Tensor& tensor);
  std::string free_path(const std::string& wish);
  bool is_free(const std::string& path) const;
  void drop_unused_layers(const std::string& path, bool at_path);
  std::string layer_path(const fx::ModuleState& state) const;

  io::ExternalData& external_;
  std::unique_ptr<fx::GraphModule> module_;
  std::unordered_map<std::string, Operand> operands_;
  std::unordered_map<std::string, fx::TensorInfo> infos_;
  std::unordered_map<std::string, at::ScalarType> dtypes_;
  std::unordered_map<std::string, int> four_bit_;
  std::unordered_set<std::string> packed_;

  int64_t budget_ = 0;
  std::string source_name_;  // of the node being converted
  std::string scope_;        // module path of the node being converted
  std::string node_path_;    // what a layer made of it is called when its weights have no names
  std::unordered_map<std::string, int> unnamed_;                          // by operator type
  std::unordered_map<std::string, int> numbered_paths_;                   // the last number given
  std::unordered_map<const c10::TensorImpl*, std::string> weight_names_;  // of initializers
  std::unordered_map<const c10::TensorImpl*, fx::Node*> attribute_nodes_;
  std::map<std::pair<const c10::TensorImpl*, std::string>, at::Tensor> derived_;
  std::unordered_map<std::string, int> reads_;
  std::unordered_map<const fx::Node*, int> names_of_;  // how many: Identity gives a second one
  std::unordered_map<std::string, int> layer_calls_;   // by path
  /// Layers that nothing calls any more. They stand in the tree until their place is needed or the
  /// graph is finished: removing one takes as long as there are layers beside it.
  std::unordered_set<std::string> unused_layers_;
  std::vector<at::Tensor> kept_;  // so that an address in the maps above means one tensor
};

}  // namespace sparsebit::frontends

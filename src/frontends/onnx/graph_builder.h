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

/// Builds the graph and module tree of an ONNX model, and maps its value names to operands.
class GraphBuilder {
 public:
  /// @param type  of the root module: the name of the model.
  GraphBuilder(io::ExternalData& external, std::string type);

  io::ExternalData& external() { return external_; }
  fx::GraphModule& module() { return *module_; }
  /// The result. The builder is empty afterwards.
  std::unique_ptr<fx::GraphModule> finish(const std::vector<std::string>& output_names);

  // --- names of the file -----------------------------------------------------------------------

  void define(const std::string& name, Operand operand);
  /// Null when the name is not defined yet.
  const Operand* find(const std::string& name) const;
  void set_info(const std::string& name, fx::TensorInfo info);
  const fx::TensorInfo* info(const std::string& name) const;
  /// The element type of a value whose shape is not known.
  void set_dtype(const std::string& name, at::ScalarType dtype) { dtypes_[name] = dtype; }
  /// From the recorded shape or from set_dtype().
  std::optional<at::ScalarType> dtype(const std::string& name) const;
  /// Records that the bytes of a value stand for 4-bit integers, given ONNX's number of their type.
  void note_four_bit(const std::string& name, int type) { four_bit_[name] = type; }
  /// ONNX's number of the 4-bit element type; 0 for other values.
  int four_bit_type(const std::string& name) const;
  /// Records that a value consists of packed 4-bit integers, not bytes: results of carried nodes.
  void note_packed(const std::string& name, int type);
  bool is_packed(const std::string& name) const { return packed_.contains(name); }
  /// Redefines the name as `bytes`.
  void unpack(const std::string& name, const fx::Value& bytes);
  /// A weight of the file: reading it in the graph uses a parameter of this name.
  void define_initializer(const std::string& name, at::Tensor tensor);

  /// Counts how often the file reads each name, including the outputs of the model.
  void count_reads(const onnx::GraphProto& graph);
  /// Whether the file reads this value in one place only, counting all its names.
  bool is_read_once(const std::string& name) const;

  // --- nodes -----------------------------------------------------------------------------------

  /// Sets the source of the nodes that follow, for their module paths and for weights without a
  /// name.
  void enter(const onnx::NodeProto& node);
  fx::Node& call(fx::Opcode op, std::string_view target, std::vector<fx::Value> args,
                 fx::Kwargs kwargs);
  fx::Node& call_layer(std::string_view type, std::vector<fx::Value> constructor,
                       fx::Kwargs options, const fx::ModuleState& state,
                       std::vector<fx::Value> args);
  /// Constants become get_attr nodes, one per tensor.
  fx::Value as_argument(const fx::Value& value);
  /// An operand as tensor: shape arithmetic becomes torch.tensor([...]).
  fx::Value as_tensor(const Operand& operand);

  /// A constant made from another by `make`, cached by the key `how`.
  at::Tensor derived(const at::Tensor& from, const std::string& how,
                     const std::function<at::Tensor()>& make);
  /// Likewise, with the same weight name.
  at::Tensor derived_weight(const at::Tensor& from, const std::string& how,
                            const std::function<at::Tensor()>& make);
  /// The layer that only this node calls, or null.
  const fx::Module* own_layer(const fx::Node& node) const;
  /// Erases a node without readers, and the layer that only it calls.
  void undo(fx::Node& node);
  /// Limits the memory of folded constants relative to the file's size, so that a small file cannot
  /// fill the memory. Beyond the budget calls are not folded.
  void set_budget(int64_t bytes) { budget_ = bytes; }
  bool may_compute() const { return budget_ > 0; }
  int64_t budget() const { return budget_; }
  void note_computed(int64_t bytes) { budget_ -= bytes; }

  /// Erases every node made since `mark`, and its layer. Defined names stay.
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
  std::string node_path_;    // path of the layer made from it if its weights have no names
  std::unordered_map<std::string, int> unnamed_;                          // by operator type
  std::unordered_map<std::string, int> numbered_paths_;                   // the last number given
  std::unordered_map<const c10::TensorImpl*, std::string> weight_names_;  // of initializers
  std::unordered_map<const c10::TensorImpl*, fx::Node*> attribute_nodes_;
  std::map<std::pair<const c10::TensorImpl*, std::string>, at::Tensor> derived_;
  std::unordered_map<std::string, int> reads_;
  std::unordered_map<const fx::Node*, int> names_of_;  // number of names: Identity adds one
  std::unordered_map<std::string, int> layer_calls_;   // by path
  /// Layers without calls. They stay in the tree until their path is needed or the graph is
  /// finished: removing one takes time linear in the number of its siblings.
  std::unordered_set<std::string> unused_layers_;
  std::vector<at::Tensor> kept_;  // keeps the addresses used as keys above unique
};

}  // namespace sparsebit::frontends

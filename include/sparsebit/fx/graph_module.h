#pragma once

#include "sparsebit/fx/graph.h"
#include "sparsebit/fx/module.h"

#include <memory>
#include <string>

namespace sparsebit::fx {

/// A graph together with the module tree that its call_module and get_attr nodes point into.
/// Calling it runs the graph.
class GraphModule : public Module {
 public:
  /// Takes from `root` the modules and tensors that the graph refers to, at the same paths, shared
  /// with `root`; everything else is left out.
  GraphModule(const Module& root, std::unique_ptr<Graph> graph, std::string type);
  /// An empty tree to fill with set_module() and add_parameter().
  GraphModule(std::unique_ptr<Graph> graph, std::string type);

  Graph& graph() { return *graph_; }
  const Graph& graph() const { return *graph_; }

  /// Runs the graph in the caller's gradient mode; see Interpreter for hooks and inference mode.
  Value forward(const Args& in) override;

  /// Names of the outputs in the model's file, in order; empty for a model without a file.
  const std::vector<std::string>& output_names() const { return output_names_; }
  void set_output_names(std::vector<std::string> names) { output_names_ = std::move(names); }

  /// The batch size that the inputs fix; 0 when it is dynamic.
  int64_t fixed_batch() const;

  /// To be called after placeholders changed: forward() takes its arguments from them.
  void refresh_signature();

  /// As clone(), returned as a GraphModule.
  std::shared_ptr<GraphModule> clone_graph_module() const;

 protected:
  ModulePtr shallow_copy() const override;
  GraphModule(const GraphModule& other);

 private:
  std::unique_ptr<Graph> graph_;
  std::vector<std::string> output_names_;
};

}  // namespace sparsebit::fx

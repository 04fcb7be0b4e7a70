#pragma once

#include "sparsebit/fx/graph.h"
#include "sparsebit/fx/module.h"

#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace sparsebit::frontends::torchscript {

/// Answers what a graph that is being written computes from the sizes of its inputs, for inputs of
/// given shapes. It runs the nodes that are there on inputs of these shapes; what they contain does
/// not matter, because an answer that data could change is none.
class ExampleSizes {
 public:
  /// @param shapes  of inputs, by name.
  ExampleSizes(const fx::Graph& graph, fx::Module& root,
               std::map<std::string, fx::TensorInfo> shapes)
      : graph_(graph), root_(root), shapes_(std::move(shapes)) {}

  bool has_shapes() const { return !shapes_.empty(); }

  /// The value of a node that sizes alone decide; nothing for any other.
  std::optional<fx::Value> value_of(const fx::Node& node);
  /// How many items a list or tuple has; nothing when sizes do not decide it.
  std::optional<int64_t> length_of(const fx::Node& node);

 private:
  struct Known {
    std::optional<fx::Value> value = {};  ///< of a tensor only type and shape mean something
    bool by_sizes = false;                ///< no data can change the value or a tensor's shape
  };

  void run_on();
  std::optional<fx::Value> example(const fx::Node& input) const;
  Known run(const fx::Node& node);
  std::optional<fx::Value> execute(const fx::Node& node);
  bool decided_by_sizes(const fx::Node& node, const fx::Value& value) const;
  bool has_shape_from_data(const fx::Node& node, const fx::Value& value) const;

  const fx::Graph& graph_;
  fx::Module& root_;
  std::map<std::string, fx::TensorInfo> shapes_;
  std::unordered_map<const fx::Node*, Known> known_;
  std::optional<std::list<fx::Node>::const_iterator> last_;  // the last node that was run
};

/// Whether a number follows from sizes of tensors, as far as the graph alone tells.
bool looks_decided_by_sizes(const fx::Node& node);

}  // namespace sparsebit::frontends::torchscript

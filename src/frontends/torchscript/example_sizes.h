#pragma once

#include "sparsebit/fx/graph.h"
#include "sparsebit/fx/module.h"

#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace sparsebit::frontends::torchscript {

/// Evaluates values that a graph under construction computes from the sizes of its inputs, for
/// inputs of given shapes. It runs the existing nodes on example inputs of these shapes; the
/// elements do not matter, because values that depend on data are not returned.
class ExampleSizes {
 public:
  /// @param shapes  of inputs, by name.
  ExampleSizes(const fx::Graph& graph, fx::Module& root,
               std::map<std::string, fx::TensorInfo> shapes)
      : graph_(graph), root_(root), shapes_(std::move(shapes)) {}

  bool has_shapes() const { return !shapes_.empty(); }

  /// The value of a node that depends on sizes only; empty for other nodes.
  std::optional<fx::Value> value_of(const fx::Node& node);
  /// The number of items of a list or tuple; empty when it does not depend on sizes only.
  std::optional<int64_t> length_of(const fx::Node& node);

 private:
  struct Known {
    std::optional<fx::Value> value = {};  ///< only type and shape of a tensor are meaningful
    bool by_sizes = false;                ///< the value or a tensor's shape does not depend on data
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

/// Whether a number seems to follow from sizes of tensors, judging by the graph alone.
bool looks_decided_by_sizes(const fx::Node& node);

}  // namespace sparsebit::frontends::torchscript

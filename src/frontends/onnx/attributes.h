#pragma once

#include "sparsebit/fx/ops/value.h"
#include "sparsebit/io/onnx_tensor.h"

#include <onnx/onnx_pb.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::frontends {

/// The attributes of an ONNX node by name. Records which attributes were read: a node with an
/// attribute that its converter did not read is carried unchanged, see carry_unchanged().
class Attributes {
 public:
  Attributes(onnx::NodeProto& node, io::ExternalData& external);

  bool has(std::string_view name) const { return find(name) != nullptr; }

  // Each getter throws InvalidModel when the attribute has another type, and, if the getter takes
  // no default, when it is missing.
  int64_t integer(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise) const { return integer(name, otherwise) != 0; }
  double number(std::string_view name) const;
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string otherwise) const;
  std::optional<std::vector<int64_t>> ints(std::string_view name) const;
  std::vector<int64_t> ints(std::string_view name, std::vector<int64_t> otherwise) const;
  std::optional<std::vector<double>> numbers(std::string_view name) const;
  std::optional<std::vector<std::string>> texts(std::string_view name) const;
  std::optional<at::Tensor> tensor(std::string_view name) const;
  /// An element type given by its ONNX number; throws Unsupported when libtorch does not have it.
  std::optional<at::ScalarType> dtype(std::string_view name) const;

  /// Marks an attribute that has no influence as read.
  void ignore(std::string_view name) const { find(name); }
  /// Attributes that were not read.
  std::vector<std::string> unread() const;

 private:
  onnx::AttributeProto* find(std::string_view name) const;
  onnx::AttributeProto* find(std::string_view name, onnx::AttributeProto::AttributeType type) const;
  [[noreturn]] void missing(std::string_view name) const;

  onnx::NodeProto& node_;
  io::ExternalData& external_;
  mutable std::set<std::string, std::less<>> read_;
};

/// An attribute as an argument of a node that is carried through unchanged; the exporter's
/// carried_node() is its inverse. An attribute without a matching Value type is a Dict with its
/// text, see io/onnx_attribute.h. External data is loaded into the Value.
fx::Value carried_attribute(const onnx::AttributeProto& attribute, io::ExternalData& external);

/// An attribute as an argument of an operator that can be run. Throws Unsupported when no Value
/// type matches it.
fx::Value attribute_argument(const onnx::AttributeProto& attribute, io::ExternalData& external);

}  // namespace sparsebit::frontends

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

/// The attributes of an ONNX node by name. Notes which were asked for: a node with an attribute
/// that its converter does not know is not understood.
class Attributes {
 public:
  Attributes(onnx::NodeProto& node, io::ExternalData& external);

  bool has(std::string_view name) const { return find(name) != nullptr; }

  // Each throws InvalidModel when the attribute has another type, and, without default, when it is
  // missing.
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

  /// Says that an attribute has no influence here.
  void ignore(std::string_view name) const { find(name); }
  /// Attributes nobody asked for.
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
/// carried_node() is its inverse. What has no Value of its own is a Dict with its text, see
/// io/onnx_attribute.h; external data is inside.
fx::Value carried_attribute(const onnx::AttributeProto& attribute, io::ExternalData& external);

/// An attribute as an argument of an operator that computes. Throws Unsupported when it has no
/// Value.
fx::Value attribute_argument(const onnx::AttributeProto& attribute, io::ExternalData& external);

}  // namespace sparsebit::frontends

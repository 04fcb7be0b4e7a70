#pragma once

#include "sparsebit/io/onnx_proto.h"

namespace sparsebit::io {

/// Calls `visit` with every graph of an attribute (the branches of If, the body of Loop), but not
/// with graphs nested inside of them.
template <class Visit>
void for_each_graph(const onnx::AttributeProto& attribute, const Visit& visit) {
  if (attribute.has_g()) visit(attribute.g());
  for (const onnx::GraphProto& graph : attribute.graphs()) visit(graph);
}

template <class Visit>
void for_each_graph(onnx::AttributeProto& attribute, const Visit& visit) {
  if (attribute.has_g()) visit(*attribute.mutable_g());
  for (onnx::GraphProto& graph : *attribute.mutable_graphs()) visit(graph);
}

/// The same for the attributes of a node.
template <class Visit>
void for_each_graph(const onnx::NodeProto& node, const Visit& visit) {
  for (const onnx::AttributeProto& attribute : node.attribute()) for_each_graph(attribute, visit);
}

template <class Visit>
void for_each_graph(onnx::NodeProto& node, const Visit& visit) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    for_each_graph(attribute, visit);
  }
}

}  // namespace sparsebit::io

#pragma once

#include "sparsebit/io/onnx_proto.h"
#include "sparsebit/io/onnx_subgraphs.h"

namespace sparsebit::io {

// Each calls `visit` with every tensor in a part of a model: initializers, tensors of attributes,
// values and indices of sparse tensors, and tensors of subgraphs.

template <class Visit>
void for_each_tensor(const onnx::GraphProto& graph, const Visit& visit);
template <class Visit>
void for_each_tensor(onnx::GraphProto& graph, const Visit& visit);

template <class Visit>
void for_each_tensor(const onnx::SparseTensorProto& tensor, const Visit& visit) {
  if (tensor.has_values()) visit(tensor.values());
  if (tensor.has_indices()) visit(tensor.indices());
}

template <class Visit>
void for_each_tensor(onnx::SparseTensorProto& tensor, const Visit& visit) {
  if (tensor.has_values()) visit(*tensor.mutable_values());
  if (tensor.has_indices()) visit(*tensor.mutable_indices());
}

template <class Visit>
void for_each_tensor(const onnx::AttributeProto& attribute, const Visit& visit) {
  if (attribute.has_t()) visit(attribute.t());
  for (const auto& tensor : attribute.tensors()) visit(tensor);
  if (attribute.has_sparse_tensor()) for_each_tensor(attribute.sparse_tensor(), visit);
  for (const auto& tensor : attribute.sparse_tensors()) for_each_tensor(tensor, visit);
  for_each_graph(attribute, [&](const onnx::GraphProto& graph) { for_each_tensor(graph, visit); });
}

template <class Visit>
void for_each_tensor(onnx::AttributeProto& attribute, const Visit& visit) {
  if (attribute.has_t()) visit(*attribute.mutable_t());
  for (auto& tensor : *attribute.mutable_tensors()) visit(tensor);
  if (attribute.has_sparse_tensor()) for_each_tensor(*attribute.mutable_sparse_tensor(), visit);
  for (auto& tensor : *attribute.mutable_sparse_tensors()) for_each_tensor(tensor, visit);
  for_each_graph(attribute, [&](onnx::GraphProto& graph) { for_each_tensor(graph, visit); });
}

template <class Visit>
void for_each_tensor(const onnx::NodeProto& node, const Visit& visit) {
  for (const auto& attribute : node.attribute()) for_each_tensor(attribute, visit);
}

template <class Visit>
void for_each_tensor(onnx::NodeProto& node, const Visit& visit) {
  for (auto& attribute : *node.mutable_attribute()) for_each_tensor(attribute, visit);
}

template <class Visit>
void for_each_tensor(const onnx::GraphProto& graph, const Visit& visit) {
  for (const auto& tensor : graph.initializer()) visit(tensor);
  for (const auto& tensor : graph.sparse_initializer()) for_each_tensor(tensor, visit);
  for (const auto& node : graph.node()) for_each_tensor(node, visit);
}

template <class Visit>
void for_each_tensor(onnx::GraphProto& graph, const Visit& visit) {
  for (auto& tensor : *graph.mutable_initializer()) visit(tensor);
  for (auto& tensor : *graph.mutable_sparse_initializer()) for_each_tensor(tensor, visit);
  for (auto& node : *graph.mutable_node()) for_each_tensor(node, visit);
}

}  // namespace sparsebit::io

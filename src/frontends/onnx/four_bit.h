#pragma once

#include "sparsebit/fx/ops/value.h"

#include <onnx/onnx_pb.h>

#include <string>

namespace sparsebit::frontends {

class GraphBuilder;
class OperatorSets;

// 4-bit integers are stored one per byte, which is enough to move and to widen them. Arithmetic on
// them would saturate and wrap at 8 bits instead of 4, so such nodes are carried, not run. The
// results of a carried node are 4-bit integers in the exported file too, called "packed" here:
// nodes that read their elements are carried as well.

/// Whether an operator may read bytes that stand for 4-bit integers.
bool takes_four_bits(const std::string& type);

/// Whether an operator reads only the shape of its input, so that the input may be packed.
bool reads_shape_only(const std::string& type);

/// Whether an operator's result consists of elements of its first input, so that 4-bit integers
/// stay 4-bit integers.
bool moves_elements(const std::string& type);

/// The 4-bit element type of result `i` of a carried node; 0 for other types.
int packed_type(const GraphBuilder& builder, const onnx::NodeProto& node, int i);

/// Turns bytes into the 4-bit integers that a carried node expects; other values stay unchanged.
fx::Value packed(GraphBuilder& builder, const std::string& name, const fx::Value& value,
                 const OperatorSets& sets);

/// Turns the 4-bit integers of a carried node into one byte each.
fx::Value unpacked(GraphBuilder& builder, const std::string& name, const OperatorSets& sets);

}  // namespace sparsebit::frontends

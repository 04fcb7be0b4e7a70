#pragma once

#include "sparsebit/fx/ops/value.h"

#include <onnx/onnx_pb.h>

#include <string>

namespace sparsebit::frontends {

class GraphBuilder;
class OperatorSets;

// 4-bit integers are kept one in a byte, which is enough to move them and to widen them. Whatever
// computes with them would get the limits of 8 bits, so such nodes are carried, not run. What a
// carried node makes are 4-bit integers in the exported file too, "packed" here: whatever reads
// their elements is carried as well.

/// Whether an operator may read bytes that stand for 4-bit integers.
bool takes_four_bits(const std::string& type);

/// Whether it reads the shape of its input only, so that packed ones do not matter.
bool reads_shape_only(const std::string& type);

/// Whether its result consists of elements of its first input, so that they are 4-bit integers
/// again.
bool moves_elements(const std::string& type);

/// The type of 4-bit integers that result `i` of a carried node consists of; 0 when it does not.
int packed_type(const GraphBuilder& builder, const onnx::NodeProto& node, int i);

/// Bytes become 4-bit integers, which a carried node expects; other values stay.
fx::Value packed(GraphBuilder& builder, const std::string& name, const fx::Value& value,
                 const OperatorSets& sets);

/// 4-bit integers that a carried node makes become bytes, one in each.
fx::Value unpacked(GraphBuilder& builder, const std::string& name, const OperatorSets& sets);

}  // namespace sparsebit::frontends

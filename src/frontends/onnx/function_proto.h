#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>

namespace sparsebit::frontends {

class OperatorSets;

// Fields of FunctionProto that are newer than the linked ONNX library: protobuf keeps them by their
// field numbers.

/// The `overload` field, which distinguishes functions of the same name; usually empty. Likewise
/// for a node that calls a function.
std::string overload_of(const onnx::FunctionProto& function);
std::string overload_of(const onnx::NodeProto& node);

/// Attributes that a call may leave out, by name. Throws InvalidModel when they cannot be read.
std::map<std::string, onnx::AttributeProto> defaults_of(const onnx::FunctionProto& function);

/// Throws Unsupported unless every operator of a function's body means the same in the operator
/// sets that the function was written for and in those of the model. Takes one pass over the body,
/// however many operator sets there are.
void check_same_operators(const onnx::FunctionProto& function, const OperatorSets& written_for,
                          const OperatorSets& used);

}  // namespace sparsebit::frontends

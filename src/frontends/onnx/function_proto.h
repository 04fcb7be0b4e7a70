#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>

namespace sparsebit::frontends {

class OperatorSets;

// Fields of functions that the linked ONNX library is too old to know: protobuf keeps them by their
// numbers.

/// Functions of one name can differ in this; empty otherwise. Likewise of a node that calls one.
std::string overload_of(const onnx::FunctionProto& function);
std::string overload_of(const onnx::NodeProto& node);

/// Attributes that a call may leave out, by name. Throws InvalidModel when they cannot be read.
std::map<std::string, onnx::AttributeProto> defaults_of(const onnx::FunctionProto& function);

/// Throws Unsupported unless every operator of a function's body means the same in the versions
/// that the function was written for and in those the model uses. Goes through the body once,
/// however many operator sets there are.
void check_same_operators(const onnx::FunctionProto& function, const OperatorSets& written_for,
                          const OperatorSets& used);

}  // namespace sparsebit::frontends

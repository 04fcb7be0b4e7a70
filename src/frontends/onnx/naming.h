#pragma once

#include <string>

namespace onnx {
class NodeProto;
}

namespace sparsebit::frontends {

/// A name from a file without control characters, for messages of one line.
std::string without_control_characters(std::string name);

/// `node 'Conv_3' (Conv)`, for messages; a node without a name is named after its first result.
std::string describe(const onnx::NodeProto& node);

/// The module path in a node's name: `/layer1/layer1.0/conv1/Conv` gives `layer1.0.conv1`. The last
/// part is the operator's own name when there is more than one part.
std::string path_from_node_name(const std::string& name);

/// The path of the module that owns a tensor: `layer1.0.conv1.weight` gives `layer1.0.conv1`,
/// `stage1_conv0_weight` gives `stage1_conv0`. Empty when the name has no known suffix of a weight.
std::string path_from_tensor_name(const std::string& name);

/// A name from a file as a valid path in a module tree: no empty parts, no spaces or slashes.
std::string as_path(const std::string& name);

}  // namespace sparsebit::frontends

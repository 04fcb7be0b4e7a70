#include "quant/lowering/split_silu.h"

#include "sparsebit/fx/resolve.h"

#include <vector>

namespace sparsebit::quant {
namespace {

using fx::Node;

/// The product takes the name of the silu, so that settings by name still apply.
void split(fx::GraphModule& module, Node& silu, Node& x) {
  fx::Graph& graph = module.graph();
  const std::string name = silu.name();
  const fx::Graph::InsertPoint here = graph.inserting_before(silu);
  Node& sigmoid = graph.call_function("torch.sigmoid", {x});
  Node& product = graph.call_function("torch.mul", {x, sigmoid});
  for (Node* made : {&sigmoid, &product}) {
    made->set_tensor_info(silu.tensor_info());
    made->inherit_origin(silu);
  }
  silu.replace_all_uses_with(product);
  graph.erase(silu);
  sigmoid.rename(name + "_sigmoid");
  product.rename(name);
}

}  // namespace

void split_silu(fx::GraphModule& module) {
  std::vector<Node*> found;
  for (Node& node : module.graph().nodes()) {
    const fx::Spelling* spelling = fx::find_spelling(node, module);
    if (spelling && spelling->op->name == "silu" && !fx::mutates_input(node, module))
      found.push_back(&node);
  }
  for (Node* node : found) {
    const fx::OperatorCall call = *fx::resolve(*node, module);
    if (call.args["input"].is_node()) split(module, *node, call.args["input"].node());
  }
}

}  // namespace sparsebit::quant

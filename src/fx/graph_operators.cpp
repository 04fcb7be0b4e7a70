#include "sparsebit/fx/graph_operators.h"

namespace sparsebit::fx {

Registry<GraphOperator>& graph_operators() {
  static Registry<GraphOperator> registry("operator with graphs");
  return registry;
}

}  // namespace sparsebit::fx

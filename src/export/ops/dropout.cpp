#include "export/ops/families.h"

namespace sparsebit::exports {

/// Dropout is the identity in eval mode.
void add_dropout_converters(Converters& table) {
  for (const char* name : {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout",
                           "feature_alpha_dropout", "stochastic_depth"}) {
    table.add(name, [](Call& c) { return c.val("input"); });
  }
}

}  // namespace sparsebit::exports

#pragma once

#include "sparsebit/fx/graph.h"

#include <memory>
#include <string_view>

namespace sparsebit::fx {

/// Reads the text that to_text() writes, so that tests can state graphs as text.
///
/// `: [#users=1]`, `args` and `kwargs` may be left out. A shorter form, close to the Python that
/// torch.fx generates, is read as well:
///
///     %x = input()                      placeholder
///     %w = self.fc.weight               get_attr
///     %y = self.conv1(%x)               call_module
///     %z = torch.add(%x, %y, alpha=2)   call_function
///     %v = %z.view(2, -1)               call_method
///     return %v
///
/// Blank lines and lines that start with '#' are skipped. Throws InvalidArgument with line and
/// column.
std::unique_ptr<Graph> parse_graph(std::string_view text);

}  // namespace sparsebit::fx

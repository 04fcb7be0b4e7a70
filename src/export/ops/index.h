#pragma once

#include "export/converter.h"

#include <optional>

namespace sparsebit::exports {

/// x[index] with torch's rules. `index` is what stands between the brackets: ints, slices, None,
/// '...', bools, tensors, lists, nodes, or a tuple of those.
Sym read_index(Call& c, const Sym& x, const fx::Value& index);

/// x after `x[index] = value`.
Sym write_index(Call& c, const Sym& x, const fx::Value& index, const Val& value);

/// x[i0, i1, ...] for int64 tensors that broadcast together, standing at `dims` of x.
Sym index_tensors(Call& c, const Sym& x, const std::vector<Sym>& indices,
                  const std::vector<int64_t>& dims);

/// Positions in the flattened tensor, in the shape of `x`.
Sym flat_positions(Call& c, const Sym& x);

/// Puts `values` at flat positions of x, or adds them there. Values broadcast to the positions.
Sym write_positions(Call& c, const Sym& x, const Sym& positions, const Sym& values,
                    const std::string& reduction = "none");

/// The input of a view operator after the view got a new content; nothing for operators whose views
/// cannot be written to.
std::optional<Sym> undo_view(Call& view, const std::string& operator_name, const Sym& content);

}  // namespace sparsebit::exports

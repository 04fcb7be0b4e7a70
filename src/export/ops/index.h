#pragma once

#include "export/converter.h"

#include <optional>

namespace sparsebit::exports {

/// x[index] with torch's rules. `index` is an int, slice, None, '...', bool, tensor, list, node, or
/// a tuple of those.
OnnxTensor read_index(Call& c, const OnnxTensor& x, const fx::Value& index);

/// x after `x[index] = value`.
OnnxTensor write_index(Call& c, const OnnxTensor& x, const fx::Value& index,
                       const NodeResult& value);

/// x[i0, i1, ...] for int64 tensors that broadcast together, as indices of the axes `dims` of x.
OnnxTensor index_tensors(Call& c, const OnnxTensor& x, const std::vector<OnnxTensor>& indices,
                         const std::vector<int64_t>& dims);

/// The position of each element in the flattened tensor, in the shape of `x`.
OnnxTensor flat_positions(Call& c, const OnnxTensor& x);

/// Writes `values` at flat positions of x, or adds them (`reduction`). Values broadcast to the
/// positions.
OnnxTensor write_positions(Call& c, const OnnxTensor& x, const OnnxTensor& positions,
                           const OnnxTensor& values, const std::string& reduction = "none");

/// The input of a view operator after the view's content changed to `content`; nothing for view
/// operators that cannot be inverted.
std::optional<OnnxTensor> undo_view(Call& view, const std::string& operator_name,
                                    const OnnxTensor& content);

}  // namespace sparsebit::exports

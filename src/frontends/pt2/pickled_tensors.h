#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>

namespace sparsebit::frontends::pt2 {

/// The tensors of a dict that torch.save wrote, by key; values that are no tensors are left out.
///
/// Only the few instructions and classes that dicts of tensors consist of are understood; nothing
/// is imported or called. Throws InvalidModel or Unsupported for anything else.
///
/// @param archive  bytes of the file, a zip archive of its own.
/// @param file     what errors about the archive call it.
std::map<std::string, at::Tensor> read_pickled_tensors(std::string_view archive,
                                                       const std::string& file);

}  // namespace sparsebit::frontends::pt2

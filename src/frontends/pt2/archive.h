#pragma once

#include <nlohmann/json.hpp>

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

namespace sparsebit::frontends::pt2 {

/// The contents of a .pt2 file: the program and its tensors, by the names in the program's
/// signature. A tensor that is shared in the file is one object here.
struct Archive {
  nlohmann::json program;
  std::map<std::string, at::Tensor> weights;    ///< parameters and buffers
  std::map<std::string, at::Tensor> constants;  ///< other tensors, including non-persistent buffers
};

/// Throws Error; the message names the file only when the file as a whole is at fault.
Archive load_archive(const std::filesystem::path& path);

}  // namespace sparsebit::frontends::pt2

#pragma once

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <string>

namespace sparsebit::frontends::torchscript {

/// Loads a file that torch.jit.save wrote, on the CPU. Throws Io or InvalidModel with one line that
/// names the file.
torch::jit::Module load_archive(const std::filesystem::path& path);

/// The defect in the memory of a tensor that was read, whose size and bytes come from different
/// parts of the file; empty when it is valid. Check it before accessing elements.
std::string tensor_problem(const at::Tensor& tensor);

/// The line of a libtorch message that states the problem, without backtrace and advice.
std::string first_line(const std::exception& e);

}  // namespace sparsebit::frontends::torchscript

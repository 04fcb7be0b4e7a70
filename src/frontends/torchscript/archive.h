#pragma once

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <string>

namespace sparsebit::frontends::torchscript {

/// Loads a file that torch.jit.save wrote, on the CPU. Throws Io or InvalidModel with one line that
/// names the file.
torch::jit::Module load_archive(const std::filesystem::path& path);

/// What is wrong with the memory of a tensor that was read, whose size and bytes come from
/// different places of the file; empty when it is sound. Its elements must not be touched before.
std::string tensor_problem(const at::Tensor& tensor);

/// The line of a libtorch message that says what is wrong, without backtrace and advice.
std::string first_line(const std::exception& e);

}  // namespace sparsebit::frontends::torchscript

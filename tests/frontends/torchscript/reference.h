#pragma once

#include "sparsebit/frontends/torchscript.h"

#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sparsebit::frontends::testing {

std::filesystem::path fixture(const std::string& name);

/// The file as libtorch itself loads and runs it, with the inputs described in its record `inputs`.
struct Reference {
  torch::jit::Module module;
  std::vector<at::Tensor> inputs;

  fx::Value run();
};
Reference load_reference(const std::filesystem::path& path);

std::vector<fx::Value> as_values(const std::vector<at::Tensor>& tensors);

/// All tensors inside, in order.
std::vector<at::Tensor> tensors_in(const fx::Value& value);

/// The largest difference of two results, relative to the largest number among them; infinity
/// when their structure or shapes differ.
double difference(const fx::Value& a, const fx::Value& b);

/// Imports the file, runs graph and reference, and returns the difference of the results. Both use
/// the same random numbers.
double import_difference(const std::filesystem::path& path, const TorchScriptOptions& options = {});

/// Saves a scripted model whose `forward` is `code` in a folder; returns its path.
std::string scripted(const std::filesystem::path& folder, const std::string& code);

/// Copies a file and replaces the first occurrence of `old_text` in its code: for operators that
/// libtorch cannot compile.
std::string with_code(const std::string& from, const std::string& old_text,
                      const std::string& new_text);

/// The number of nodes with this opcode and target.
size_t count_nodes(const fx::GraphModule& module, fx::Opcode op, const std::string& target);

/// The message of the Error thrown by the import.
std::string import_error(const std::filesystem::path& path, const TorchScriptOptions& options = {});

}  // namespace sparsebit::frontends::testing

#pragma once

#include "frontends/torchscript/tensor_store.h"
#include "sparsebit/fx/module.h"

#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sparsebit::frontends::torchscript {

using ObjectPtr = c10::intrusive_ptr<c10::ivalue::Object>;

/// The module tree of a TorchScript file and its mirror in ours.
///
/// A module at several paths is registered under the first. Shared modules and tensors stay shared
/// here, even where scripting or loading duplicated them.
class SourceModel : public TensorStore {
 public:
  /// @param budget  of the import, which outlives this object.
  SourceModel(torch::jit::Module model, Budget& budget);

  const torch::jit::Module& model() const { return model_; }
  Budget& budget() override { return budget_; }
  /// Plain modules with the parameters, buffers and modes of the file. A leaf replaces the module
  /// at its path when it is called.
  fx::Module& root() { return *root_; }

  /// Null when the object is not a module of the model.
  const std::string* path_of(const ObjectPtr& object) const;
  at::Tensor canonical(const at::Tensor& tensor) const override;
  /// The path of this tensor; null when it is not in the model.
  const std::string* path_of(const at::Tensor& tensor) const;
  /// As path_of(), but a tensor of the code that is not in the model is first stored in root() as
  /// `_tensor_constantN`.
  std::string constant_path(const at::Tensor& tensor) override;
  /// Whether a tensor is a parameter or buffer, whose values may change.
  bool owns(const at::Tensor& tensor) const;

 private:
  int64_t signature(const torch::jit::Module& module);
  fx::ModulePtr alias(const torch::jit::Module& module, const torch::jit::Module& first);
  fx::ModulePtr mirror(const torch::jit::Module& module, const std::string& path);
  at::Tensor register_tensor(const at::Tensor& tensor, const std::string& path);

  torch::jit::Module model_;
  Budget& budget_;
  std::unordered_map<const void*, std::string> module_paths_;
  std::unordered_map<const void*, fx::ModulePtr> mirrors_;
  std::unordered_map<const void*, int64_t> signatures_;       // of objects
  std::unordered_map<std::string, int64_t> signature_texts_;  // numbers by description
  std::unordered_map<int64_t, ObjectPtr> by_signature_;
  std::unordered_map<std::string, at::Tensor> canonical_;  // by memory and shape
  std::unordered_map<const void*, std::string> tensor_paths_;
  fx::ModulePtr root_;
  int64_t next_constant_ = 0;
};

/// Class name without TorchScript's additions: "torch.nn.modules.conv.Conv2d", "models.Net".
std::string class_name(const torch::jit::Module& module);
/// The same for any name of the file.
std::string plain_name(const std::string& qualified);
/// "models.Net" -> "Net"
std::string last_part(const std::string& name);

}  // namespace sparsebit::frontends::torchscript

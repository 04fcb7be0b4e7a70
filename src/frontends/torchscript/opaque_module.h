#pragma once

#include "frontends/torchscript/source_model.h"
#include "sparsebit/nn/module.h"

#include <string>

namespace sparsebit::frontends::torchscript {

/// A skipped module of the file: one node that runs its TorchScript code.
///
/// Its parameters, buffers and submodules are part of our module tree and may be trained, moved,
/// replaced or copied there; before each run they are handed to the TorchScript code.
class OpaqueModule : public nn::Cloneable<OpaqueModule> {
 public:
  /// @param mirror  the module in our tree, whose tensors and children are taken over.
  OpaqueModule(torch::jit::Module module, std::string method, const fx::Module& mirror);
  OpaqueModule(const OpaqueModule& other);

  const std::string& method() const { return method_; }
  fx::Value forward(const fx::Args& in) override;

 private:
  torch::jit::Module module_;
  std::string method_;
};

}  // namespace sparsebit::frontends::torchscript

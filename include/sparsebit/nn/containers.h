#pragma once

#include "sparsebit/nn/module.h"

#include <string>
#include <utility>
#include <vector>

namespace sparsebit::nn {

/// torch.nn.Sequential: calls its children in order. Tracing enters it.
class Sequential : public Cloneable<Sequential> {
 public:
  /// Children are named "0", "1", ...
  explicit Sequential(std::vector<ModulePtr> children = {});
  explicit Sequential(std::vector<std::pair<std::string, ModulePtr>> children);

  void append(ModulePtr child);
  Value forward(const Args& in) override;
};

/// torch.nn.ModuleList: holds children "0", "1", ... for its owner to call.
class ModuleList : public Cloneable<ModuleList> {
 public:
  explicit ModuleList(std::vector<ModulePtr> children = {});

  void append(ModulePtr child);
  size_t size() const { return children().size(); }
  Module& operator[](size_t index) const;
  Value forward(const Args& in) override;  ///< throws: a list has no forward
};

/// torch.nn.ModuleDict: holds named children for its owner to call.
class ModuleDict : public Cloneable<ModuleDict> {
 public:
  explicit ModuleDict(std::vector<std::pair<std::string, ModulePtr>> children = {});

  Module& operator[](std::string_view name) const { return child(name); }
  Value forward(const Args& in) override;  ///< throws: a dict has no forward
};

}  // namespace sparsebit::nn

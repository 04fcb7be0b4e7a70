#pragma once

#include "sparsebit/fx/module.h"

namespace sparsebit::nn {

using fx::Args;
using fx::Dict;
using fx::Ellipsis;
using fx::Kwargs;
using fx::List;
using fx::ModulePtr;
using fx::None;
using fx::Slice;
using fx::Tuple;
using fx::Value;

/// Base of models written in C++.
///
///     class Block : public nn::Module {
///      public:
///       explicit Block(int64_t width) : Module("Block", "x") {
///         add_module("conv", nn::Conv2d(width, width, 3, {{"padding", 1}}));
///       }
///       Value forward(const Args& in) override {
///         const Value x = in["x"];
///         return nn::relu(call("conv", x) + x);
///       }
///     };
///
/// The one forward() serves tensors, when the model is called, and graphs, when it is traced. C++
/// does not fix the order in which the operands of `f(x) + g(x)` are evaluated; name one of them
/// first where the order of nodes in the graph should not depend on the compiler.
using Module = fx::Module;

/// Base of models that can be deep-copied with clone(). `Derived` must be copyable and keep its
/// children in the module tree, not in pointers of its own.
template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;

 protected:
  ModulePtr shallow_copy() const override {
    return std::make_shared<Derived>(static_cast<const Derived&>(*this));
  }
};

}  // namespace sparsebit::nn

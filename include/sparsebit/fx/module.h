#pragma once

#include "sparsebit/core/named_tensors.h"
#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/fx/ops/schema.h"

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sparsebit::fx {

using sparsebit::NamedTensors;

class Module;
using ModulePtr = std::shared_ptr<Module>;  // shared: one module may stand at several paths

/// Whether an added parameter requires gradients or keeps its own setting.
enum class Grad { Required, AsGiven };

/// Whether shared modules and tensors are listed once or under each of their paths.
enum class Duplicates { Skip, Keep };

/// A node of a model's module tree: named children, parameters, buffers and attributes, and a
/// forward computation.
///
/// A module whose type is in the operator table (torch.nn.Conv2d, ...) computes that operator with
/// its own parameters and attributes. Everything else derives from this class and overrides
/// forward(); see nn/module.h. The same forward() serves tensors and tracing.
///
/// Children are looked up by name at every call: a replaced child takes effect at once, and a copy
/// of a module calls its own children.
class Module {
 public:
  /// @param type     "torch.nn.ReLU", or the class's own name ("ResNet").
  /// @param forward  arguments of forward(), such as "input_ids, attention_mask=None".
  Module(std::string type, Schema forward);
  virtual ~Module() = default;
  Module& operator=(const Module&) = delete;

  const std::string& type() const { return type_; }
  const Schema& forward_schema() const { return forward_schema_; }
  /// Whether forward() is an operator of the table, not C++ code of a derived class.
  bool is_operator() const { return spelling() != nullptr; }
  /// That operator; null when forward() is C++ code.
  const Spelling* spelling() const;

  // --- calling ---------------------------------------------------------------------------------

  /// Runs forward(), or records a call while a Tracer is at work.
  Value invoke(std::span<const Value> args, const Kwargs& kwargs = {});
  template <std::convertible_to<Value>... Inputs>
  Value operator()(Inputs&&... inputs) {
    return invoke(std::vector<Value>{Value(std::forward<Inputs>(inputs))...});
  }
  /// The computation. Call modules with operator(), not with this.
  virtual Value forward(const Args& in);
  /// Arguments of a call by name, after forward_schema().
  Args bind(std::span<const Value> args, const Kwargs& kwargs) const;

  // --- children --------------------------------------------------------------------------------

  /// Adds or replaces a child; names have no dots. Returns the child.
  Module& add_module(const std::string& name, ModulePtr child);
  /// Calls the child.
  template <std::convertible_to<Value>... Inputs>
  Value call(std::string_view name, Inputs&&... inputs) {
    return child(name)(std::forward<Inputs>(inputs)...);
  }
  Module& child(std::string_view name) const;  ///< throws with near matches when absent
  const torch::OrderedDict<std::string, ModulePtr>& children() const { return children_; }
  /// By dotted path; null when absent.
  ModulePtr find_module(std::string_view path) const;
  /// As find_module(), but "" is this module.
  Module* find(std::string_view path);
  const Module* find(std::string_view path) const;
  /// Replaces or adds at a dotted path; missing modules on the way are created empty.
  void set_module(std::string_view path, ModulePtr module);
  void remove_module(std::string_view path);  ///< throws when absent
  /// Depth first, in order of registration, this module itself as "".
  std::vector<std::pair<std::string, Module*>> named_modules(
      Duplicates duplicates = Duplicates::Skip);

  // --- tensors and attributes ------------------------------------------------------------------

  /// Adds or replaces. An undefined tensor holds the place of an absent one, as bias=None does in
  /// torch. Grad::Required applies to floating tensors.
  void add_parameter(const std::string& name, at::Tensor value, Grad grad = Grad::Required);
  void add_buffer(const std::string& name, at::Tensor value);
  void set_attribute(const std::string& name, Value value);

  /// For use in forward(): the tensor, or a get_attr node while tracing.
  Value parameter(std::string_view name) const;
  Value buffer(std::string_view name) const;
  /// Throws with near matches when absent.
  const Value& attribute(std::string_view name) const;

  const NamedTensors& own_parameters() const { return parameters_; }  ///< undefined ones included
  const NamedTensors& own_buffers() const { return buffers_; }
  const torch::OrderedDict<std::string, Value>& attributes() const { return attributes_; }

  /// Of the whole tree, by dotted path, undefined ones left out.
  NamedTensors named_parameters(Duplicates duplicates = Duplicates::Skip) const;
  NamedTensors named_buffers(Duplicates duplicates = Duplicates::Skip) const;

  /// A parameter, buffer or attribute by dotted path; nullptr when absent.
  const at::Tensor* find_tensor(std::string_view path) const;
  const Value* find_attribute(std::string_view path) const;
  /// Replaces an existing parameter or buffer, wherever the tree shares it.
  void set_tensor(std::string_view path, at::Tensor value);
  /// Removes children, parameters and buffers of this module itself whose names are not in `names`.
  void keep_only(const std::unordered_set<std::string>& names);

  // --- modes -----------------------------------------------------------------------------------

  bool is_training() const { return training_; }
  void train(bool on = true);
  /// As train(), but for this module alone, not its children.
  void set_training(bool on) { training_ = on; }
  void eval() { train(false); }
  /// Moves or converts parameters, their gradients, and buffers; a dtype applies to floating ones.
  /// The tensor objects stay the same, so modules that share them change as well.
  void to(at::Device device);
  void to(at::ScalarType dtype);
  void zero_grad();

  /// Parameters and buffers by dotted path, shared ones under each of their paths. The tensors are
  /// the model's own, not copies.
  NamedTensors state_dict() const;
  /// Copies values in. Missing or unexpected names and wrong shapes are errors that list them, and
  /// then nothing is changed.
  void load_state_dict(const NamedTensors& state);

  /// A copy of the whole tree with its own tensors. Modules and tensors shared in the original are
  /// shared in the copy. Throws Unsupported at a class that does not derive from nn::Cloneable.
  ModulePtr clone() const;

  /// `torch.nn.Conv2d(in_channels=3, ...)`
  std::string describe() const;

 protected:
  Module(const Module&) = default;  // a shallow copy, for shallow_copy() only
  virtual ModulePtr shallow_copy() const;
  void set_forward_schema(Schema schema) { forward_schema_ = std::move(schema); }

 private:
  friend class ModuleCloner;
  const Spelling* spelling_of_type() const;
  void check_name(const std::string& name, const std::string& kind) const;
  template <class Visit>
  void visit_tensors(const std::string& prefix, NamedTensors Module::*member,
                     const Visit& visit) const;
  void convert_tensors(const std::function<at::Tensor(const at::Tensor&)>& convert);

  std::string type_;
  const Spelling* spelling_;  // looked up at construction; null for a type unknown then
  Schema forward_schema_;
  torch::OrderedDict<std::string, ModulePtr> children_{"module"};
  NamedTensors parameters_{"parameter"};
  NamedTensors buffers_{"buffer"};
  torch::OrderedDict<std::string, Value> attributes_{"attribute"};
  bool training_ = true;
};

/// "layer1.0.weight" -> {"layer1.0", "weight"}
std::pair<std::string, std::string> split_path(std::string_view path);

/// A new module of a type of the operator table, with torch's constructor arguments and default
/// initialization: make_module("torch.nn.Linear", {8, 4}, {{"bias", false}}).
ModulePtr make_module(std::string_view type, std::span<const Value> args,
                      const Kwargs& kwargs = {});
/// As above, but with the tensors of an existing layer instead of new ones. `state` has every name
/// the type's constructor would make; an undefined tensor stands for None.
ModulePtr make_module(std::string_view type, std::span<const Value> args, const Kwargs& kwargs,
                      const ModuleState& state, Grad grad = Grad::Required);

}  // namespace sparsebit::fx

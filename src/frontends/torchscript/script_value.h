#pragma once

#include "sparsebit/fx/ops/value.h"

#include <ATen/core/ivalue.h>

#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace torch::jit {
struct Function;
}

namespace sparsebit::frontends::torchscript {

class ScriptValue;
using ScriptValues = std::vector<ScriptValue>;

/// A TorchScript list: a reference, because appending is visible through all references to it.
struct ListRef {
  std::shared_ptr<ScriptValues> items;
};
struct TupleRef {
  std::shared_ptr<const ScriptValues> items;
};
struct DictRef {
  std::shared_ptr<std::vector<std::pair<ScriptValue, ScriptValue>>> items;
};
/// A module, or another object with attributes and methods.
struct ObjectRef {
  c10::intrusive_ptr<c10::ivalue::Object> object;
};
/// A number that the tracer wrapped in a 0-d tensor, as it does with sizes. Kept as a number,
/// because operations on it are shape arithmetic.
struct Boxed {
  fx::Value number;
  bool non_negative;
};

/// A TorchScript value, as far as it is known before the model runs.
///
/// A plain fx::Value is a scalar, string, device or tensor, or a node when only running the model
/// gives the value. A node may also stand for a list, tuple or dict.
class ScriptValue {
 public:
  using Variant = std::variant<fx::Value, ListRef, TupleRef, DictRef, ObjectRef,
                               torch::jit::Function*, Boxed, c10::IValue>;

  ScriptValue() = default;                                              // None
  ScriptValue(fx::Value value) : data_(std::move(value)) {}             // NOLINT
  ScriptValue(ListRef list) : data_(std::move(list)) {}                 // NOLINT
  ScriptValue(TupleRef tuple) : data_(std::move(tuple)) {}              // NOLINT
  ScriptValue(DictRef dict) : data_(std::move(dict)) {}                 // NOLINT
  ScriptValue(ObjectRef object) : data_(std::move(object)) {}           // NOLINT
  ScriptValue(torch::jit::Function* function) : data_(function) {}      // NOLINT
  ScriptValue(Boxed boxed) : data_(std::move(boxed)) {}                 // NOLINT
  explicit ScriptValue(c10::IValue other) : data_(std::move(other)) {}  // any other type

  static ScriptValue list(ScriptValues items);
  static ScriptValue tuple(ScriptValues items);

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }
  template <class T>
  const T& get() const {
    return std::get<T>(data_);
  }

  bool is_value() const { return is<fx::Value>(); }
  bool is_node() const { return is_value() && get<fx::Value>().is_node(); }
  bool is_none() const { return is_value() && get<fx::Value>().is_none(); }
  bool is_tensor() const { return is_value() && get<fx::Value>().is_tensor(); }
  const fx::Value& value() const { return get<fx::Value>(); }
  /// Items of a list or tuple; null for anything else.
  const ScriptValues* items() const;

  /// Whether it contains no node.
  bool is_known() const;
  /// Whether it contains a tensor.
  bool has_tensor() const;

 private:
  Variant data_;
};

ScriptValue from_ivalue(const c10::IValue& value);

/// Converts a datum for evaluation by libtorch. It must be known.
///
/// @param type  the static type, from which empty lists get their element type.
c10::IValue to_ivalue(const ScriptValue& datum, const c10::TypePtr& type);
/// The same for an fx::Value; nodes cannot be converted.
c10::IValue to_ivalue(const fx::Value& value, const c10::TypePtr& type);
fx::Value to_value(const c10::IValue& value);

}  // namespace sparsebit::frontends::torchscript

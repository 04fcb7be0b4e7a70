#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sparsebit::fx {

class Node;
class Value;

struct None {
  bool operator==(const None&) const = default;
};
struct Ellipsis {
  bool operator==(const Ellipsis&) const = default;
};

/// `[a, b]`
struct List {
  List() = default;
  List(std::initializer_list<Value> values);
  explicit List(std::vector<Value> values);
  std::vector<Value> items;
};

/// `(a, b)`; also what `Tensor.shape` gives.
struct Tuple {
  Tuple() = default;
  Tuple(std::initializer_list<Value> values);
  explicit Tuple(std::vector<Value> values);
  std::vector<Value> items;
};

/// `{a: 1, b: 2}`, in insertion order.
struct Dict {
  Dict() = default;
  Dict(std::initializer_list<std::pair<std::string, Value>> values);
  std::vector<std::pair<std::string, Value>> items;
  const Value* find(std::string_view key) const;
};

/// `slice(start, stop, step)`; each bound is an int, a node or none.
struct Slice {
  Slice();  ///< `slice(None, None, None)`
  Slice(Value start, Value stop);
  Slice(Value start, Value stop, Value step);
  const Value& start() const;
  const Value& stop() const;
  const Value& step() const;
  std::vector<Value> bounds;  ///< always three; a vector because Value is incomplete here
};

/// Anything an operator takes or returns: the C++ spelling of a Python value in an FX graph.
///
/// A Value that holds a `Node*` stands for a result that is not computed yet. Arguments of nodes
/// contain such values, and a model's forward() works on them while it is traced; converting one to
/// a bool, a number or a tensor throws ErrorKind::DataDependent.
///
/// Copies of a Value share its tensors.
class Value {
 public:
  using Variant = std::variant<None, bool, int64_t, double, std::string, at::ScalarType, at::Device,
                               at::Tensor, Node*, List, Tuple, Dict, Slice, Ellipsis>;

  // Implicit on purpose: `add(x, 2)` and `{{"stride", 2}}` should read as they do in Python.
  Value() = default;
  Value(None) {}                                   // NOLINT
  Value(bool v) : data_(v) {}                      // NOLINT
  Value(int v) : data_(int64_t{v}) {}              // NOLINT
  Value(int64_t v) : data_(v) {}                   // NOLINT
  Value(double v) : data_(v) {}                    // NOLINT
  Value(const char* v) : data_(std::string(v)) {}  // NOLINT
  Value(std::string v) : data_(std::move(v)) {}    // NOLINT
  Value(at::ScalarType v) : data_(v) {}            // NOLINT
  Value(at::Device v) : data_(v) {}                // NOLINT
  Value(at::Tensor v);                             // NOLINT, undefined tensor = None
  Value(Node* v) : data_(v) {}                     // NOLINT, never null
  Value(Node& v) : data_(&v) {}                    // NOLINT
  Value(List v) : data_(std::move(v)) {}           // NOLINT
  Value(Tuple v) : data_(std::move(v)) {}          // NOLINT
  Value(Dict v) : data_(std::move(v)) {}           // NOLINT
  Value(Slice v) : data_(std::move(v)) {}          // NOLINT
  Value(Ellipsis v) : data_(v) {}                  // NOLINT
  Value(const std::vector<int64_t>& v);            // NOLINT, a List
  Value(const void*) = delete;                     // no pointer quietly becomes a bool

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }
  /// The content, when the caller has checked is<T>().
  template <class T>
  const T& get() const {
    return std::get<T>(data_);
  }
  const Variant& variant() const { return data_; }

  bool is_none() const { return is<None>(); }
  bool is_node() const { return is<Node*>(); }
  bool is_tensor() const { return is<at::Tensor>(); }
  bool is_int() const { return is<int64_t>(); }
  bool is_bool() const { return is<bool>(); }
  bool is_double() const { return is<double>(); }
  bool is_string() const { return is<std::string>(); }
  bool is_number() const { return is_int() || is_double() || is_bool(); }
  bool is_sequence() const { return is<List>() || is<Tuple>(); }

  // Checked conversions. Each throws InvalidArgument naming what was expected and found, or
  // DataDependent when the value is a node.
  const at::Tensor& tensor() const;
  bool to_bool() const;      ///< bool, int, or one-element tensor
  int64_t to_int() const;    ///< int, bool, or one-element integer tensor
  double to_double() const;  ///< any number or one-element tensor
  at::Scalar to_scalar() const;
  const std::string& string() const;
  at::ScalarType dtype() const;
  at::Device device() const;
  Node& node() const;
  const std::vector<Value>& items() const;  ///< of a list or tuple
  std::vector<int64_t> ints() const;        ///< of a list or tuple of ints
  std::vector<at::Tensor> tensors() const;  ///< of a list or tuple of tensors

  /// Calls `visit` for every node inside, depth first, in order of appearance, with repetitions.
  void for_each_node(const std::function<void(Node&)>& visit) const;
  /// A copy in which every node is replaced by `replace(node)`.
  Value map_nodes(const std::function<Value(Node&)>& replace) const;
  /// As map_nodes(), for every item that is not a list, tuple, dict or slice.
  Value map_items(const std::function<Value(const Value&)>& replace) const;
  bool contains_node() const;
  /// Replaces every occurrence of a node inside by a value.
  void replace_node(const Node& old, const Value& replacement);

  /// Same kind and content; tensors and nodes are the same object.
  bool same_as(const Value& other) const;
  /// As same_as(), but comparing a traced value throws DataDependent, because the result is not
  /// known while tracing.
  bool operator==(const Value& other) const;

 private:
  Variant data_;
};

using Kwargs = std::vector<std::pair<std::string, Value>>;

/// For messages: `int 3`, `str 'same'`, `Tensor[1, 3, 224, 224] float32`, `a traced value`.
std::string describe(const Value& value);

/// The element type as torch prints it without the prefix: "float32", "int64".
std::string dtype_name(at::ScalarType dtype);

}  // namespace sparsebit::fx

#pragma once

#include "export/onnx_values.h"

#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace sparsebit::exports {

/// An attribute of an ONNX node.
struct Attr {
  using Content = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>, at::Tensor>;
  Attr(std::string attribute, int64_t v) : name(std::move(attribute)), content(v) {}
  Attr(std::string attribute, int v) : name(std::move(attribute)), content(int64_t{v}) {}
  Attr(std::string attribute, bool v) : name(std::move(attribute)), content(int64_t{v}) {}
  Attr(std::string attribute, double v) : name(std::move(attribute)), content(v) {}
  Attr(std::string attribute, Content v) : name(std::move(attribute)), content(std::move(v)) {}
  Attr(std::string attribute, const char* v)
      : name(std::move(attribute)), content(std::string(v)) {}

  std::string name;
  Content content;
};
using Attrs = std::vector<Attr>;

/// Builds the nodes and initializers of an ONNX graph of one opset.
///
/// The functions below emit() write common ONNX operators: they hide differences between opsets
/// (attributes that became inputs, operators missing in old ones) and record type and shape of the
/// result. Dimensions may count from the end wherever the rank is known.
class GraphWriter {
 public:
  explicit GraphWriter(int64_t opset) : opset_(opset) {}

  int64_t opset() const { return opset_; }

  // --- names and storage -----------------------------------------------------------------------

  /// Reserves a name, so that unique_name() does not return it.
  void reserve(const std::string& name) { used_.insert(name); }
  std::string unique_name(const std::string& wish);
  /// Operators emitted from now on belong to the graph node of this name: their names are this
  /// name, or start with it and a '/', which names of graph nodes do not contain.
  void begin(const std::string& node_name);
  /// Renames a value that was emitted since begin(); returns false if it was emitted earlier.
  bool rename(OnnxTensor& value, const std::string& name);
  /// Names the producer of `value`, if it was emitted since begin().
  void name_producer(const OnnxTensor& value, const std::string& name);

  /// Sets the doc string of the producer of `value`.
  void set_doc(const OnnxTensor& value, const std::string& text);

  /// Sets the domain of the producer of `value`.
  void set_domain(const OnnxTensor& value, const std::string& domain);

  bool is_made_by_node(const std::string& value) const;
  /// Frees a name: renames the value that has it, if any, in all nodes.
  void make_room(const std::string& name);
  /// The current name of a value, see make_room().
  std::string current_name(const std::string& name) const;

  /// A constant; equal constants are stored once.
  OnnxTensor constant(const at::Tensor& value, const std::string& name = "");
  OnnxTensor ints(const std::vector<int64_t>& values);
  OnnxTensor scalar(const at::Scalar& value, at::ScalarType dtype);
  OnnxTensor scalar_like(const at::Scalar& value, const OnnxTensor& like) {
    return scalar(value, like.dtype);
  }

  /// A constant of a type that libtorch does not have.
  OnnxTensor packed_constant(onnx::TensorProto tensor, const std::string& name);

  /// Moves nodes and initializers that the outputs depend on into `graph`.
  void finish(onnx::GraphProto& graph, const std::vector<std::string>& outputs);
  const std::vector<onnx::NodeProto>& nodes() const { return nodes_; }

  // --- nodes -----------------------------------------------------------------------------------

  /// Emits one node with `outputs` results of unknown type and shape.
  std::vector<OnnxTensor> emit(const std::string& type, const std::vector<OnnxTensor>& inputs,
                               const Attrs& attrs, size_t outputs);
  /// Appends a node unchanged, with named outputs. For nodes that are carried through.
  void append(onnx::NodeProto node) { nodes_.push_back(std::move(node)); }
  OnnxTensor op(const std::string& type, const std::vector<OnnxTensor>& inputs, const Attrs& attrs,
                at::ScalarType dtype, std::optional<Shape> shape);

  // --- elementwise -----------------------------------------------------------------------------

  OnnxTensor unary(const std::string& type, const OnnxTensor& x, const Attrs& attrs = {});
  /// Operands must have the same type.
  OnnxTensor binary(const std::string& type, const OnnxTensor& a, const OnnxTensor& b);
  OnnxTensor add(const OnnxTensor& a, const OnnxTensor& b) { return binary("Add", a, b); }
  OnnxTensor sub(const OnnxTensor& a, const OnnxTensor& b) { return binary("Sub", a, b); }
  OnnxTensor mul(const OnnxTensor& a, const OnnxTensor& b) { return binary("Mul", a, b); }
  OnnxTensor div(const OnnxTensor& a, const OnnxTensor& b) { return binary("Div", a, b); }
  OnnxTensor pow(const OnnxTensor& a, const OnnxTensor& b) { return binary("Pow", a, b); }
  OnnxTensor minimum(const OnnxTensor& a, const OnnxTensor& b) {
    return extremum("Min", "Less", a, b);
  }
  OnnxTensor maximum(const OnnxTensor& a, const OnnxTensor& b) {
    return extremum("Max", "Greater", a, b);
  }
  // The same with a number, which gets the tensor's type.
  OnnxTensor add(const OnnxTensor& a, double b) { return add(a, scalar_like(b, a)); }
  OnnxTensor sub(const OnnxTensor& a, double b) { return sub(a, scalar_like(b, a)); }
  OnnxTensor mul(const OnnxTensor& a, double b) { return mul(a, scalar_like(b, a)); }
  OnnxTensor div(const OnnxTensor& a, double b) { return div(a, scalar_like(b, a)); }
  OnnxTensor pow(const OnnxTensor& a, double b) { return pow(a, scalar_like(b, a)); }
  OnnxTensor neg(const OnnxTensor& a) { return unary("Neg", a); }
  /// `type` is Equal, Less, Greater, LessOrEqual or GreaterOrEqual.
  OnnxTensor compare(const std::string& type, const OnnxTensor& a, const OnnxTensor& b);
  OnnxTensor compare(const std::string& type, const OnnxTensor& a, double b) {
    return compare(type, a, scalar_like(b, a));
  }
  /// `type` is And, Or or Xor.
  OnnxTensor logic(const std::string& type, const OnnxTensor& a, const OnnxTensor& b);
  OnnxTensor logical_not(const OnnxTensor& a);
  OnnxTensor cast(const OnnxTensor& x, at::ScalarType dtype);
  OnnxTensor where(const OnnxTensor& condition, const OnnxTensor& a, const OnnxTensor& b);
  /// Either bound may be absent.
  OnnxTensor clip(const OnnxTensor& x, const OnnxTensor& low, const OnnxTensor& high);
  OnnxTensor identity(const OnnxTensor& x) { return op("Identity", {x}, {}, x.dtype, x.shape); }

  // --- shape -----------------------------------------------------------------------------------

  OnnxTensor shape_of(const OnnxTensor& x);              ///< int64[rank]
  OnnxTensor size_of(const OnnxTensor& x, int64_t dim);  ///< int64[1], a constant when it is fixed
  OnnxTensor numel_of(const OnnxTensor& x);              ///< 0-dim int64
  OnnxTensor reshape(const OnnxTensor& x, const OnnxTensor& shape);
  /// -1 and 0 have ONNX's meaning.
  OnnxTensor reshape(const OnnxTensor& x, const Shape& shape) { return reshape(x, ints(shape)); }
  OnnxTensor transpose(const OnnxTensor& x, std::vector<int64_t> order);
  OnnxTensor swap(const OnnxTensor& x, int64_t a, int64_t b);
  OnnxTensor unsqueeze(const OnnxTensor& x,
                       std::vector<int64_t> axes);  ///< positions in the result
  OnnxTensor squeeze(const OnnxTensor& x, std::vector<int64_t> axes);
  OnnxTensor expand(const OnnxTensor& x, const OnnxTensor& shape);
  OnnxTensor tile(const OnnxTensor& x, const OnnxTensor& repeats);
  OnnxTensor concat(const std::vector<OnnxTensor>& xs, int64_t axis);
  std::vector<OnnxTensor> split(const OnnxTensor& x, const std::vector<int64_t>& sizes,
                                int64_t axis);
  /// x[start:stop:step] along one axis; bounds are int64[1].
  OnnxTensor slice(const OnnxTensor& x, int64_t axis, const OnnxTensor& start,
                   const OnnxTensor& stop, int64_t step = 1);
  OnnxTensor slice(const OnnxTensor& x, int64_t axis, int64_t start, int64_t stop,
                   int64_t step = 1);
  OnnxTensor flip(const OnnxTensor& x, int64_t axis);
  /// `mode` as in ONNX; pads are all starts, then all ends. `value` may be absent.
  OnnxTensor pad(const OnnxTensor& x, const OnnxTensor& pads, const std::string& mode,
                 const OnnxTensor& value = {});
  OnnxTensor pad(const OnnxTensor& x, const std::vector<int64_t>& pads, const std::string& mode,
                 const OnnxTensor& value = {}) {
    return pad(x, ints(pads), mode, value);
  }

  // --- lookup ----------------------------------------------------------------------------------

  OnnxTensor gather(const OnnxTensor& x, const OnnxTensor& index, int64_t axis);
  OnnxTensor gather_elements(const OnnxTensor& x, const OnnxTensor& index, int64_t axis);
  OnnxTensor gather_nd(const OnnxTensor& x, const OnnxTensor& index);
  OnnxTensor scatter_nd(const OnnxTensor& x, const OnnxTensor& index, const OnnxTensor& updates,
                        const std::string& reduction = "none");
  OnnxTensor scatter_elements(const OnnxTensor& x, const OnnxTensor& index,
                              const OnnxTensor& updates, int64_t axis,
                              const std::string& reduction = "none");
  OnnxTensor nonzero(const OnnxTensor& x);  ///< [rank, count]

  // --- computing -------------------------------------------------------------------------------

  /// `type` is ReduceSum, ReduceMean, ...; no axes means all of them.
  OnnxTensor reduce(const std::string& type, const OnnxTensor& x, std::vector<int64_t> axes,
                    bool keepdim);
  OnnxTensor argument(const std::string& type, const OnnxTensor& x, int64_t axis, bool keepdim);
  OnnxTensor softmax(const std::string& type, const OnnxTensor& x, int64_t axis);
  OnnxTensor matmul(const OnnxTensor& a, const OnnxTensor& b);
  OnnxTensor cumsum(const OnnxTensor& x, int64_t axis);
  std::vector<OnnxTensor> topk(const OnnxTensor& x, const OnnxTensor& count, int64_t axis,
                               bool largest);
  /// 0-dim bounds of one type.
  OnnxTensor range(const OnnxTensor& start, const OnnxTensor& limit, const OnnxTensor& step);
  OnnxTensor filled(const OnnxTensor& shape, const at::Scalar& value, at::ScalarType dtype);

 private:
  OnnxTensor extremum(const char* type, const char* comparison, const OnnxTensor& a,
                      const OnnxTensor& b);
  std::optional<Shape> reduced_shape(const OnnxTensor& x, const std::vector<int64_t>& axes,
                                     bool keepdim) const;

  int64_t opset_;
  std::string node_name_;
  size_t first_node_ = 0;  // the first node emitted since begin()
  std::vector<onnx::NodeProto> nodes_;
  std::vector<std::pair<std::string, at::Tensor>> constants_;
  std::vector<onnx::TensorProto> packed_constants_;
  std::unordered_multimap<size_t, size_t> constants_by_hash_;
  std::unordered_map<const void*, size_t> constants_by_identity_;
  std::vector<at::Tensor>
      identified_;  // kept alive, so that addresses in constants_by_identity_ stay valid
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::string> moved_;  // new names by old, see make_room()
  std::unordered_map<std::string, int64_t> next_number_;
};

}  // namespace sparsebit::exports

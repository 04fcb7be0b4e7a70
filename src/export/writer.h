#pragma once

#include "export/sym.h"

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
/// The functions below emit() are ONNX operators as everybody needs them: they hide what changed
/// between opsets (attributes that became inputs, operators that are missing in old ones) and note
/// type and sizes of the result. Dimensions may count from the end wherever the rank is known.
class GraphWriter {
 public:
  explicit GraphWriter(int64_t opset) : opset_(opset) {}

  int64_t opset() const { return opset_; }

  // --- names and storage -----------------------------------------------------------------------

  /// Takes a name so that nothing else gets it.
  void reserve(const std::string& name) { used_.insert(name); }
  std::string unique_name(const std::string& wish);
  /// Operators emitted from now on are parts of the node of this name.
  void begin(const std::string& node_name);
  /// Gives a value that was emitted since begin() another name; returns whether it was.
  bool rename(Sym& value, const std::string& name);
  /// Names the emitted node that makes `value`, if it was made since begin().
  void name_producer(const Sym& value, const std::string& name);

  /// Says something about the node that makes `value`, for people.
  void set_doc(const Sym& value, const std::string& text);

  bool is_made_by_node(const std::string& value) const;
  /// Gives a value of this name, if there is one, another name everywhere.
  void make_room(const std::string& name);
  /// The name a value has by now, see make_room().
  std::string current_name(const std::string& name) const;

  /// A constant; equal ones are stored once.
  Sym constant(const at::Tensor& value, const std::string& name = "");
  Sym ints(const std::vector<int64_t>& values);
  Sym scalar(const at::Scalar& value, at::ScalarType dtype);
  Sym scalar_like(const at::Scalar& value, const Sym& like) { return scalar(value, like.dtype); }

  /// A constant of a type that libtorch does not have.
  Sym packed_constant(onnx::TensorProto tensor, const std::string& name);

  /// Moves nodes and initializers that the outputs depend on into `graph`.
  void finish(onnx::GraphProto& graph, const std::vector<std::string>& outputs);
  const std::vector<onnx::NodeProto>& nodes() const { return nodes_; }

  // --- nodes -----------------------------------------------------------------------------------

  /// One node with `outputs` results, of which nothing is known yet.
  std::vector<Sym> emit(const std::string& type, const std::vector<Sym>& inputs, const Attrs& attrs,
                        size_t outputs);
  /// As it stands; its outputs are already named. For nodes that are carried through.
  void append(onnx::NodeProto node) { nodes_.push_back(std::move(node)); }
  Sym op(const std::string& type, const std::vector<Sym>& inputs, const Attrs& attrs,
         at::ScalarType dtype, std::optional<Shape> shape);

  // --- elementwise -----------------------------------------------------------------------------

  Sym unary(const std::string& type, const Sym& x, const Attrs& attrs = {});
  /// Operands have the same type already.
  Sym binary(const std::string& type, const Sym& a, const Sym& b);
  Sym add(const Sym& a, const Sym& b) { return binary("Add", a, b); }
  Sym sub(const Sym& a, const Sym& b) { return binary("Sub", a, b); }
  Sym mul(const Sym& a, const Sym& b) { return binary("Mul", a, b); }
  Sym div(const Sym& a, const Sym& b) { return binary("Div", a, b); }
  Sym pow(const Sym& a, const Sym& b) { return binary("Pow", a, b); }
  Sym minimum(const Sym& a, const Sym& b) { return extremum("Min", "Less", a, b); }
  Sym maximum(const Sym& a, const Sym& b) { return extremum("Max", "Greater", a, b); }
  // The same with a number of the tensor's type.
  Sym add(const Sym& a, double b) { return add(a, scalar_like(b, a)); }
  Sym sub(const Sym& a, double b) { return sub(a, scalar_like(b, a)); }
  Sym mul(const Sym& a, double b) { return mul(a, scalar_like(b, a)); }
  Sym div(const Sym& a, double b) { return div(a, scalar_like(b, a)); }
  Sym pow(const Sym& a, double b) { return pow(a, scalar_like(b, a)); }
  Sym neg(const Sym& a) { return unary("Neg", a); }
  /// `type` is Equal, Less, Greater, LessOrEqual or GreaterOrEqual.
  Sym compare(const std::string& type, const Sym& a, const Sym& b);
  Sym compare(const std::string& type, const Sym& a, double b) {
    return compare(type, a, scalar_like(b, a));
  }
  /// `type` is And, Or or Xor.
  Sym logic(const std::string& type, const Sym& a, const Sym& b);
  Sym logical_not(const Sym& a);
  Sym cast(const Sym& x, at::ScalarType dtype);
  Sym where(const Sym& condition, const Sym& a, const Sym& b);
  /// Either bound may be absent.
  Sym clip(const Sym& x, const Sym& low, const Sym& high);
  Sym identity(const Sym& x) { return op("Identity", {x}, {}, x.dtype, x.shape); }

  // --- shape -----------------------------------------------------------------------------------

  Sym shape_of(const Sym& x);              ///< int64[rank]
  Sym size_of(const Sym& x, int64_t dim);  ///< int64[1], a constant when it is fixed
  Sym numel_of(const Sym& x);              ///< 0-dim int64
  Sym reshape(const Sym& x, const Sym& shape);
  /// -1 and 0 as in ONNX.
  Sym reshape(const Sym& x, const Shape& shape) { return reshape(x, ints(shape)); }
  Sym transpose(const Sym& x, std::vector<int64_t> order);
  Sym swap(const Sym& x, int64_t a, int64_t b);
  Sym unsqueeze(const Sym& x, std::vector<int64_t> axes);  ///< positions in the result
  Sym squeeze(const Sym& x, std::vector<int64_t> axes);
  Sym expand(const Sym& x, const Sym& shape);
  Sym tile(const Sym& x, const Sym& repeats);
  Sym concat(const std::vector<Sym>& xs, int64_t axis);
  std::vector<Sym> split(const Sym& x, const std::vector<int64_t>& sizes, int64_t axis);
  /// x[start:stop:step] along one axis; bounds are int64[1].
  Sym slice(const Sym& x, int64_t axis, const Sym& start, const Sym& stop, int64_t step = 1);
  Sym slice(const Sym& x, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);
  Sym flip(const Sym& x, int64_t axis);
  /// `mode` as in ONNX; pads are all starts, then all ends. `value` may be absent.
  Sym pad(const Sym& x, const Sym& pads, const std::string& mode, const Sym& value = {});
  Sym pad(const Sym& x, const std::vector<int64_t>& pads, const std::string& mode,
          const Sym& value = {}) {
    return pad(x, ints(pads), mode, value);
  }

  // --- lookup ----------------------------------------------------------------------------------

  Sym gather(const Sym& x, const Sym& index, int64_t axis);
  Sym gather_elements(const Sym& x, const Sym& index, int64_t axis);
  Sym gather_nd(const Sym& x, const Sym& index);
  Sym scatter_nd(const Sym& x, const Sym& index, const Sym& updates,
                 const std::string& reduction = "none");
  Sym scatter_elements(const Sym& x, const Sym& index, const Sym& updates, int64_t axis,
                       const std::string& reduction = "none");
  Sym nonzero(const Sym& x);  ///< [rank, count]

  // --- computing -------------------------------------------------------------------------------

  /// `type` is ReduceSum, ReduceMean, ...; no axes means all of them.
  Sym reduce(const std::string& type, const Sym& x, std::vector<int64_t> axes, bool keepdim);
  Sym argument(const std::string& type, const Sym& x, int64_t axis, bool keepdim);
  Sym softmax(const std::string& type, const Sym& x, int64_t axis);
  Sym matmul(const Sym& a, const Sym& b);
  Sym cumsum(const Sym& x, int64_t axis);
  std::vector<Sym> topk(const Sym& x, const Sym& count, int64_t axis, bool largest);
  /// 0-dim bounds of one type.
  Sym range(const Sym& start, const Sym& limit, const Sym& step);
  Sym filled(const Sym& shape, const at::Scalar& value, at::ScalarType dtype);

 private:
  Sym extremum(const char* type, const char* comparison, const Sym& a, const Sym& b);
  std::optional<Shape> reduced_shape(const Sym& x, const std::vector<int64_t>& axes,
                                     bool keepdim) const;

  int64_t opset_;
  std::string node_name_;
  size_t first_node_ = 0;  // of those emitted since begin()
  std::vector<onnx::NodeProto> nodes_;
  std::vector<std::pair<std::string, at::Tensor>> constants_;
  std::vector<onnx::TensorProto> packed_constants_;
  std::unordered_multimap<size_t, size_t> constants_by_hash_;
  std::unordered_map<const void*, size_t> constants_by_identity_;
  std::vector<at::Tensor> identified_;  // kept, so that their addresses stay theirs
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::string> moved_;  // by make_room()
  std::unordered_map<std::string, int64_t> next_number_;
};

}  // namespace sparsebit::exports

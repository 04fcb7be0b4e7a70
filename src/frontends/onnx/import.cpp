#include "frontends/onnx/branches.h"
#include "frontends/onnx/carried.h"
#include "frontends/onnx/control_flow.h"
#include "frontends/onnx/conversion.h"
#include "frontends/onnx/domains.h"
#include "frontends/onnx/dtype_inference.h"
#include "frontends/onnx/four_bit.h"
#include "frontends/onnx/graph_builder.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/local_functions.h"
#include "frontends/onnx/naming.h"
#include "frontends/onnx/shape_arithmetic.h"
#include "frontends/onnx/shape_inference.h"
#include "frontends/onnx/sorting.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/log.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/foreign_input.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/ops/operator.h"
#include "sparsebit/io/onnx_file.h"

#include <algorithm>
#include <unordered_set>

namespace sparsebit::frontends {
namespace {

/// Whether an operator with ONNX's own name and arguments returns a tuple, even if a node names
/// only one of its results.
bool gives_tuple(const std::string& type) { return type == "DynamicQuantizeLinear"; }

/// The name of the graph in the file, if it can be shown on one line.
std::string title_of(const onnx::GraphProto& graph) {
  constexpr size_t kLongest = 100;
  const std::string& name = graph.name();
  const bool shown = !name.empty() && name.size() <= kLongest &&
                     std::none_of(name.begin(), name.end(),
                                  [](unsigned char c) { return c < ' ' || c >= '\x7f'; });
  return shown ? name : "Model";
}

/// Reads one model.
class Importer {
 public:
  Importer(onnx::ModelProto& model, const OnnxOrigin& origin)
      : model_(model),
        name_(origin.name),
        external_(origin.folder),
        builder_(external_, title_of(model.graph())) {}

  /// Defines the values that a graph inside a node captures from outside.
  void give(const std::map<std::string, at::Tensor>& values) {
    is_inner_ = true;
    for (const auto& [name, tensor] : values) {
      builder_.define_initializer(name, tensor);
      model_.mutable_graph()->add_input()->set_name(name);
    }
  }

  std::unique_ptr<fx::GraphModule> run() {
    if (!is_inner_) report_opset();
    onnx::GraphProto& graph = *model_.mutable_graph();
    constexpr int64_t kAlwaysAllowed = int64_t{64} << 20;
    builder_.set_budget(static_cast<int64_t>(2 * model_.ByteSizeLong()) + kAlwaysAllowed);
    at_file([&] { inline_local_functions(model_); });
    opsets_ = OperatorSets(model_.opset_import());
    at_file([&] { read_initializers(graph); });
    at_file([&] { read_inputs(graph); });
    for (const auto* list : {&graph.value_info(), &graph.output()}) {
      at_file([&] { note_shapes(*list); });
    }
    builder_.count_reads(graph);
    add_defined_names(graph, names_);
    std::vector<onnx::NodeProto*> nodes;
    at_file([&] { nodes = sorted_nodes(graph); });
    for (onnx::NodeProto* node : nodes) {
      at_node(*node, [&] { read_node(*node); });
    }
    const std::vector<std::string> outputs = read_outputs(graph);
    std::unique_ptr<fx::GraphModule> result;
    at_file([&] { result = builder_.finish(outputs); });
    fx::lint(result->graph(), *result);
    if (!is_inner_) warn_of_deviations();
    return result;
  }

 private:
  template <class Run>
  void at(const std::string& where, const Run& run) {
    try {
      run();
    } catch (const Error& e) {
      const std::string text = e.details().where.empty() ? e.what() : e.details().what;
      throw Error(e.kind(), {.what = text.substr(0, text.find('\n')), .where = where});
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      const std::string text = message_of(e);
      throw Error(ErrorKind::InvalidModel,
                  {.what = text.substr(0, text.find('\n')), .where = where});
    }
  }
  template <class Run>
  void at_file(const Run& run) {
    at(name_, run);
  }
  template <class Run>
  void at_node(const onnx::NodeProto& node, const Run& run) {
    at(name_ + ": " + describe(node), run);
  }

  void read_initializers(onnx::GraphProto& graph) {
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      if (!io::scalar_type_of(tensor.data_type())) {
        carry_constant(tensor);
        continue;
      }
      const std::string name = tensor.name();
      if (io::is_four_bit(tensor.data_type())) builder_.note_four_bit(name, tensor.data_type());
      builder_.define_initializer(name, io::take_tensor(tensor, external_));
    }
    for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) {
      onnx::NodeProto node;
      node.set_op_type("Constant");
      node.add_output(tensor.values().name());
      onnx::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name("sparse_value");
      attribute.set_type(onnx::AttributeProto::SPARSE_TENSOR);
      *attribute.mutable_sparse_tensor() = tensor;
      read_node(node);
    }
  }

  /// Weights of a type that libtorch does not have are carried for the nodes that read them.
  void carry_constant(const onnx::TensorProto& tensor) {
    onnx::NodeProto node;
    node.set_op_type("Constant");
    node.add_output(tensor.name());
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = tensor;
    carry_unchanged(builder_, node, opsets_,
                    "element type " + io::onnx_type_name(tensor.data_type()) + " is not supported");
  }

  void read_inputs(const onnx::GraphProto& graph) {
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (builder_.find(input.name())) {
        ++defaults_;
        continue;
      }
      SPARSEBIT_CHECK(!input.name().empty(), InvalidModel, "an input has no name");
      note_type(input);
      if (builder_.four_bit_type(input.name()) != 0) ++four_bits_;
      fx::Node& node = builder_.module().graph().placeholder(input.name());
      note_foreign_type(input, node);
      builder_.define(input.name(), fx::Value(node));
    }
  }

  void note_foreign_type(const onnx::ValueInfoProto& input, fx::Node& node) {
    const auto kind = input.type().value_case();
    const bool is_tensor = kind == onnx::TypeProto::kTensorType;
    const int type = input.type().tensor_type().elem_type();
    if (kind == onnx::TypeProto::VALUE_NOT_SET || (is_tensor && type == 0)) return;
    if (io::scalar_type_of(type) || io::is_four_bit(type)) return;
    const std::string name = is_tensor ? io::onnx_type_name(type) : "not a tensor";
    fx::set_foreign_type(node, name);
    if (foreign_++ > 0) return;
    first_foreign_ = "'" + without_control_characters(input.name()) + "' is " +
                     (is_tensor ? "of type " : "") + name;
  }

  std::vector<std::string> read_outputs(const onnx::GraphProto& graph) {
    std::vector<std::string> names;
    for (const onnx::ValueInfoProto& output : graph.output()) {
      const std::string& name = names.emplace_back(output.name());
      if (builder_.four_bit_type(name) != 0) ++four_bits_;
      if (builder_.is_packed(name)) builder_.unpack(name, unpacked(builder_, name, opsets_));
    }
    return names;
  }

  void note_type(const onnx::ValueInfoProto& value) {
    const int type = value.type().tensor_type().elem_type();
    if (io::is_four_bit(type)) builder_.note_four_bit(value.name(), type);
    if (const auto dtype = io::scalar_type_of(type)) builder_.set_dtype(value.name(), *dtype);
    if (const auto info = tensor_info_of(value.type())) builder_.set_info(value.name(), *info);
  }

  template <class Infos>
  void note_shapes(const Infos& infos) {
    for (const onnx::ValueInfoProto& value : infos) {
      if (!builder_.info(value.name())) note_type(value);
    }
  }

  /// Warns where the graph deviates from the file, one line for each kind.
  void warn_of_deviations() const {
    constexpr int64_t kInputsCanHaveDefaults = 4;  // before, every weight was an input as well
    if (defaults_ > 0 && model_.ir_version() >= kInputsCanHaveDefaults) {
      log_warning("{}: inputs with default values became constants: {}", name_, defaults_);
    }
    if (foreign_ > 0) {
      log_warning("{}: inputs of unsupported types, which can be neither run nor exported: {} ({})",
                  name_, foreign_, first_foreign_);
    }
    if (four_bits_ > 0) {
      log_warning("{}: 4-bit inputs and outputs became 8-bit integers: {}", name_, four_bits_);
    }
    if (seeds_ > 0) {
      log_warning("{}: nodes whose random seed is ignored, because the generator differs: {}",
                  name_, seeds_);
    }
  }

  /// Other operator sets are read as far as possible; unknown operators are carried.
  void report_opset() const {
    constexpr int64_t kOldest = 7, kNewest = 22;
    const int64_t version = OperatorSets(model_.opset_import()).find("").value_or(kOldest);
    if (version >= kOldest && version <= kNewest) return;
    log_warning("{}: the file uses operator set {}, and only sets {} to {} are tested", name_,
                version, kOldest, kNewest);
  }

  void read_node(onnx::NodeProto& node) {
    const int64_t opset = opsets_.version(node.domain());
    SPARSEBIT_CHECK(node.output_size() > 0, InvalidModel, "has no results");
    for (const std::string& name : node.input()) {
      SPARSEBIT_CHECK(name.empty() || builder_.find(name), InvalidModel, "reads '", name,
                      "', which is not defined");
    }
    if (read_branch(node)) return;
    builder_.enter(node);
    if (!io::is_default_domain(node.domain())) return carry_unchanged(builder_, node, opsets_, "");
    const size_t mark = builder_.mark();
    try {
      convert(node, opset);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Unsupported) throw;
      builder_.roll_back(mark);
      carry_unchanged(builder_, node, opsets_, e.details().what);
    }
  }

  /// Replaces an If whose condition is known by the nodes of its branch.
  bool read_branch(onnx::NodeProto& node) {
    if (node.op_type() != "If" || !io::is_default_domain(node.domain())) return false;
    const Operand* condition = node.input_size() == 1 ? builder_.find(node.input(0)) : nullptr;
    if (!condition || !condition->is_constant() || condition->value.tensor().numel() != 1)
      return false;
    onnx::GraphProto& branch = branch_of(node, condition->value.to_bool());
    make_names_unique(branch, names_);
    read_initializers(branch);
    note_shapes(branch.value_info());
    builder_.count_reads(branch);
    for (onnx::NodeProto& inner : *branch.mutable_node()) {
      at_node(inner, [&] { read_node(inner); });
    }
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& result = branch.output(i).name();
      const Operand* operand = builder_.find(result);
      SPARSEBIT_CHECK(operand, InvalidModel, "reads '", result, "', which is not defined");
      if (const fx::TensorInfo* info = builder_.info(result)) {
        builder_.set_info(node.output(i), *info);
      } else if (const auto dtype = builder_.dtype(result)) {
        builder_.set_dtype(node.output(i), *dtype);
      }
      builder_.define(node.output(i), *operand);
    }
    return true;
  }

  /// Records inferred shapes and types, which are more reliable than those stated in the file.
  void note_inferred(const Conversion& conversion, const onnx::NodeProto& node) {
    const auto unknown = [](const fx::TensorInfo& info) {
      return std::count(info.shape.begin(), info.shape.end(), -1);
    };
    const std::vector<std::optional<fx::TensorInfo>> infos = infer_outputs(conversion);
    for (int i = 0; i < node.output_size(); ++i) {
      const auto& info = infos[static_cast<size_t>(i)];
      const fx::TensorInfo* stated = builder_.info(node.output(i));
      const bool better = info && (!stated || stated->shape.size() != info->shape.size() ||
                                   unknown(*info) <= unknown(*stated));
      if (better) builder_.set_info(node.output(i), *info);
      if (better || builder_.dtype(node.output(i)) || node.output(i).empty()) continue;
      const auto dtype = infer_dtype(conversion, static_cast<size_t>(i));
      if (dtype) builder_.set_dtype(node.output(i), *dtype);
    }
  }

  void refuse_four_bits(const Conversion& conversion, const onnx::NodeProto& node) const {
    for (const std::string& name : node.input()) {
      const int type = builder_.four_bit_type(name);
      const bool fine = builder_.is_packed(name) ? reads_shape_only(node.op_type())
                                                 : takes_four_bits(node.op_type());
      if (type == 0 || fine) continue;
      conversion.refuse("element type " + io::onnx_type_name(type) + " is not supported");
    }
  }

  void note_four_bits(const onnx::NodeProto& node) {
    int type = 0;
    if (moves_elements(node.op_type()) && node.input_size() > 0) {
      type = builder_.four_bit_type(node.input(0));
    }
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      const bool packed =
          node.op_type() == "Constant" && io::is_four_bit(attribute.t().data_type());
      if (packed) type = attribute.t().data_type();
    }
    if (type != 0) builder_.note_four_bit(node.output(0), type);
  }

  void convert(onnx::NodeProto& node, int64_t opset) {
    Conversion conversion(builder_, node, opset);
    refuse_four_bits(conversion, node);
    if (!convert_shape_arithmetic(conversion)) {
      const Converter* converter = converters().find(node.op_type());
      if (converter) {
        (*converter)(conversion);
      } else {
        convert_by_name(conversion, node);
      }
    }
    const std::vector<std::string> unread = conversion.attributes().unread();
    if (!unread.empty()) {
      conversion.refuse("the attribute '" + unread.front() + "' is not known");
    }
    const std::vector<Operand>& results = conversion.results();
    for (size_t i = 0; i < results.size(); ++i) {
      if (conversion.wants_output(i) && results[i].value.is_none()) {
        conversion.refuse("the result '" + node.output(static_cast<int>(i)) + "' is not supported");
      }
    }
    note_inferred(conversion, node);
    note_four_bits(node);
    const bool draws = node.op_type() != "Dropout";  // Dropout is random only in training
    if (draws && conversion.attributes().has("seed")) ++seeds_;
    for (size_t i = 0; i < results.size(); ++i) {
      builder_.define(node.output(static_cast<int>(i)), results[i]);
    }
  }

  /// Operators registered under ONNX's own name (`onnx.<OpType>`) take their inputs in order and
  /// their attributes by name.
  void convert_by_name(Conversion& conversion, const onnx::NodeProto& node) {
    const fx::Spelling* spelling = fx::operators().find("onnx." + node.op_type());
    if (!spelling) conversion.refuse("");
    fx::Kwargs kwargs;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (!spelling->op->schema.find(attribute.name())) continue;  // reported as unknown
      conversion.attributes().ignore(attribute.name());
      kwargs.emplace_back(attribute.name(), attribute_argument(attribute, external_));
    }
    const fx::Value result =
        conversion.node("onnx." + node.op_type(), conversion.tensors(), kwargs);
    if (!gives_tuple(node.op_type())) return conversion.give(result);
    for (int i = 0; i < node.output_size(); ++i) {
      if (!node.output(i).empty())
        conversion.give(static_cast<size_t>(i), conversion.item(result, i));
    }
  }

  onnx::ModelProto& model_;
  std::string name_;
  io::ExternalData external_;
  GraphBuilder builder_;
  OperatorSets opsets_;
  bool is_inner_ = false;
  std::unordered_set<std::string> names_;  // of all values of the graph and of branches in it
  int defaults_ = 0;                       // inputs that became constants
  int foreign_ = 0;                        // inputs of types that libtorch does not have
  std::string first_foreign_;
  int four_bits_ = 0;  // inputs and outputs widened from 4 to 8 bits
  int seeds_ = 0;      // nodes whose seed has no effect
};

}  // namespace

std::unique_ptr<fx::GraphModule> import_inner_graph(onnx::ModelProto&& model,
                                                    const std::map<std::string, at::Tensor>& given,
                                                    const std::string& name) {
  Importer importer(model, {.name = name});
  importer.give(given);
  return importer.run();
}

std::unique_ptr<fx::GraphModule> import_onnx(onnx::ModelProto&& model, const OnnxOrigin& origin) {
  add_control_flow();
  return Importer(model, origin).run();
}

std::unique_ptr<fx::GraphModule> import_onnx(const std::filesystem::path& path) {
  onnx::ModelProto model = io::load_onnx(path);
  std::filesystem::path folder = path.parent_path();
  if (folder.empty()) folder = ".";
  return import_onnx(std::move(model), {.name = path.string(), .folder = folder});
}

}  // namespace sparsebit::frontends

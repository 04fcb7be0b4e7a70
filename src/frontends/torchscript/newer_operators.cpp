#include "frontends/torchscript/newer_operators.h"

#include "frontends/torchscript/aten.h"
#include "frontends/torchscript/called_names.h"
#include "sparsebit/core/error.h"
#include "sparsebit/fx/graph_module.h"

#include <torch/csrc/jit/frontend/builtin_functions.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <map>
#include <mutex>
#include <set>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Value;
namespace jit = torch::jit;

/// Schemas of torch 2.15 that libtorch 1.13 lacks, or has with fewer arguments. write_call()
/// converts the operators: most have a rule or are mapped by name.
constexpr const char* kSchemas[] = {
    // attention and normalization
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> "
    "Tensor",
    "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? "
    "attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, "
    "float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float "
    "dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor "
    "output, Tensor logsumexp)",
    "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> "
    "Tensor",
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
    "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor "
    "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    // statistics and reductions
    "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) "
    "-> Tensor",
    "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) "
    "-> Tensor",
    "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
    "keepdim=False) -> (Tensor, Tensor)",
    "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
    "keepdim=False) -> (Tensor, Tensor)",
    "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    "_is_any_true(Tensor self) -> Tensor",
    "_is_all_true(Tensor self) -> Tensor",
    // shapes and indices
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    "squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)",
    "squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
    "_reshape_copy(Tensor self, int[] size) -> Tensor",
    "_lazy_clone(Tensor self) -> Tensor",
    "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
    "Tensor",
    "nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor",
    "pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str "
    "padding_side=\"right\") -> Tensor",
    // new tensors
    "linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    "linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    "linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    "empty_permuted(int[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? "
    "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    // products
    "mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
    "bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
    "_int_mm(Tensor self, Tensor mat2) -> Tensor",
    "_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
    "_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
    "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? "
    "align_to_window=None) -> Tensor",
    // assertions and queries
    "_assert_async.msg(Tensor self, str assert_msg) -> ()",
    "_assert_scalar(Scalar self, str assert_msg) -> ()",
    "_assert_tensor_metadata(Tensor a, int[]? size=None, int[]? stride=None, ScalarType? "
    "dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
    "sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
    "sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
    "_print(str s) -> ()",
    "_is_tracing() -> bool",
};

using Schemas = std::multimap<std::string, const char*>;

/// Schemas by the operator's name, without the name of the overload.
const Schemas& schemas() {
  static const Schemas all = [] {
    Schemas result;
    for (const char* schema : kSchemas) {
      const std::string_view text = schema;
      result.emplace(text.substr(0, text.find_first_of(".(")), schema);
    }
    return result;
  }();
  return all;
}

/// For a single call, which has no tensors besides its inputs.
class NoTensors : public TensorStore {
 public:
  at::Tensor canonical(const at::Tensor& tensor) const override { return tensor; }
  std::string constant_path(const at::Tensor&) override {
    throw Error(ErrorKind::Internal, "a call has a tensor of its own");
  }
  Budget& budget() override { return budget_; }

 private:
  Budget budget_;
};

/// The argument of a call, in which placeholders stand for tensors.
Value with_placeholders(const Value& value, fx::Graph& graph, std::vector<Value>& tensors) {
  if (value.is_tensor()) {
    tensors.push_back(value);
    return graph.placeholder(c10::str("input_", tensors.size()));
  }
  if (!value.is_sequence()) return value;
  std::vector<Value> items;
  for (const Value& item : value.items()) items.push_back(with_placeholders(item, graph, tensors));
  return value.is<fx::List>() ? Value(fx::List(std::move(items)))
                              : Value(fx::Tuple(std::move(items)));
}

/// Runs a call as the graph into which an import would convert it.
void run_as_graph(const c10::FunctionSchema& schema, jit::Stack& stack) {
  NoTensors store;
  GraphBuilder builder(store);
  AtenCall call{.name = c10::Symbol::fromQualString(schema.name()).toUnqualString(),
                .args = {},
                .outputs = schema.returns().size()};
  const size_t count = schema.arguments().size();
  std::vector<Value> tensors;
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = schema.arguments()[i].name();
    const Value value = to_value(stack[stack.size() - count + i]);
    call.args.push_back(
        {name, named_constant(name, with_placeholders(value, builder.graph(), tensors))});
  }
  std::vector<Value> results;
  for (const ScriptValue& result : write_call(builder, std::move(call)))
    results.push_back(builder.argument(result));
  builder.graph().output(fx::Tuple(std::move(results)));
  fx::GraphModule graph(builder.take_graph(), schema.name());
  const Value result = graph.invoke(tensors);
  stack.erase(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
  for (size_t i = 0; i < schema.returns().size(); ++i)
    stack.push_back(to_ivalue(result.items().at(i), schema.returns()[i].type()));
}

bool has_operator(const c10::FunctionSchema& schema) {
  for (const auto& known : jit::getAllOperatorsFor(c10::Symbol::fromQualString(schema.name()))) {
    if (known->schema() == schema) return true;
  }
  return false;
}

void declare_schema(const char* text) {
  const std::string full = std::string("aten::") + text;
  const c10::FunctionSchema schema = jit::parseSchema(full);
  if (has_operator(schema)) return;
  const auto operation = [schema](jit::Stack& stack) { run_as_graph(schema, stack); };
  jit::registerOperator(
      jit::Operator(full, jit::Operation(operation), c10::AliasAnalysisKind::FROM_SCHEMA));
}

void declare_unknown(const std::string& name) {
  const auto fail = [name](jit::Stack&) {
    throw Error(ErrorKind::Unsupported, "unknown operator " + name + " cannot be run");
  };
  jit::registerOperator(jit::Operator(name + "(...) -> Tensor", jit::Operation(fail),
                                      c10::AliasAnalysisKind::CONSERVATIVE));
}

bool is_known_operator(const std::string& name) {
  const c10::Symbol symbol = c10::Symbol::fromQualString(name);
  return !jit::getAllOperatorsFor(symbol).empty() ||
         !jit::getAllBuiltinFunctionsFor(symbol).empty();
}

}  // namespace

std::vector<std::string> declare_newer_operators(std::string_view code) {
  constexpr size_t kMost = 4096;  // bounds memory: libtorch never releases registered operators
  static std::mutex mutex;
  static std::set<std::string> declared, unknown;
  const std::lock_guard lock(mutex);
  std::vector<std::string> found;
  for (const std::string& called : called_names(code, "torch.")) {
    if (called.find('.') != std::string::npos || declared.contains(called)) continue;
    const std::string name = "aten::" + called;
    if (schemas().contains(called)) {
      const auto [first, last] = schemas().equal_range(called);
      for (auto it = first; it != last; ++it) declare_schema(it->second);
      declared.insert(called);
    } else if (unknown.contains(name)) {
      found.push_back(name);
    } else if (!is_known_operator(name)) {
      found.push_back(name);
      if (unknown.size() >= kMost) continue;
      declare_unknown(name);
      unknown.insert(name);
    }
  }
  return found;
}

}  // namespace sparsebit::frontends::torchscript

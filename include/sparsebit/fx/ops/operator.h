#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/ops/schema.h"

#include <ATen/core/Generator.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::fx {

/// Computes an operator with ATen functions, so that autograd works.
using Kernel = std::function<Value(const Args&)>;

/// One way to write a call of an operator: `torch.add`, `operator.add`, `Tensor.add`.
struct Form {
  Form(const char* text) : spelling(text) {}  // NOLINT, most forms are just a name
  /// `arguments` when this spelling has another order or other defaults than the operator's own
  /// schema; its names are the operator's, or start with '_' to be accepted and ignored.
  /// `preset` fixes arguments that the spelling implies (`Tensor.float` is `to` with a dtype).
  Form(const char* text, Schema arguments, Kwargs preset = {})
      : spelling(text), arguments(std::move(arguments)), preset(std::move(preset)) {}

  std::string spelling;
  Schema arguments;
  Kwargs preset;
};

/// Named tensors in order of registration; an undefined tensor is a slot that holds None.
using TensorList = std::vector<std::pair<std::string, at::Tensor>>;

/// Parameters and buffers of a new module. Names with a dot belong to a child: "out_proj.weight".
struct ModuleState {
  TensorList parameters;
  TensorList buffers;
};

/// The module form of an operator, such as torch.nn.Conv2d for conv2d.
///
/// A call of the module gives the operator the arguments named in `forward`; every other argument
/// of the operator is looked up by its name among the module's parameters and buffers (a dot in
/// their path counts as '_'), then its attributes, then `training`. `flat_weights` is the list of
/// all parameters. So every attribute reaches the operator as an argument.
struct ModuleForm {
  std::string type;          ///< "torch.nn.Conv2d"
  Schema constructor = {};   ///< arguments of the constructor, which become attributes
  Schema forward = "input";  ///< arguments of a call
  /// Makes and initializes the parameters and buffers; empty when there are none.
  std::function<ModuleState(const Args& constructor, c10::optional<at::Generator> generator)> init =
      {};
  /// Constructor arguments that only shape the parameters or document the module, and therefore
  /// are not arguments of the operator.
  std::vector<std::string> descriptive = {};
  /// Arguments of the operator that the type implies (torch.nn.ReflectionPad2d: mode='reflect').
  /// They come before everything else and are not attributes.
  Kwargs preset = {};
};

/// Side effects of an operator, apart from `inplace` arguments.
enum class Effect {
  None,
  WritesInput,  ///< always writes to its first input: operator.setitem
  Checks,       ///< may stop the run: torch._assert
};

/// Element type of a result, as far as it is known without running the operator.
enum class Elements {
  Unknown,
  OfOperands,  ///< the promoted type of the operands, if that is floating
  Floating,    ///< the same, and other operands are errors
};

/// How many elements a result may have.
enum class Growth {
  None,     ///< those of the given tensors, joined or broadcast
  Lookup,   ///< a row of one tensor for each element of the other: embedding
  Product,  ///< an element for each combination of elements of the tensors given: outer, einsum
  Sizes,    ///< given by numbers among the arguments: ones, repeat, pad
};

/// Facts about a layer's weight, for quantization, passes, pruning and the counting of MACs.
struct WeightFacts {
  std::string argument = "weight";
  int64_t output_axis = 0;   ///< of the weight: where the output channels are
  int64_t input_axis = 1;    ///< of the weight: input channels, of one group
  int64_t spatial_axes = 0;  ///< of a convolution's kernel
  bool looks_up = false;     ///< rows are read, not multiplied: embedding

  bool transposed() const { return output_axis > input_axis; }
};

/// One operator of the vocabulary and all the ways to write it.
struct Operator {
  std::string name;                ///< canonical: "conv2d", "add"; the key of other tables
  Schema schema = {};              ///< all arguments, whatever the form
  std::vector<Form> forms = {};    ///< functions and methods; a method is "Tensor." + its name
  std::vector<Form> inplace = {};  ///< forms that preset `inplace=True`
  std::vector<ModuleForm> modules = {};
  bool view = false;    ///< the result may share memory with an input
  bool random = false;  ///< draws random numbers, maybe only in training
  Effect effect = Effect::None;
  bool keeps_rank = false;                ///< the result has as many axes as the first input
  Elements elements = Elements::Unknown;  ///< only for operators that give one tensor
  Growth growth = Growth::None;
  std::optional<WeightFacts> weight = {};  ///< of layers
  bool multiplies_operands = false;        ///< sums of products of its first two arguments: matmul
  /// Of a recurrent network: arguments with the matrices that are applied at each time step.
  std::vector<std::string> recurrent_weights = {};
  /// Of an operator that only ONNX has: the torch operator that does the same to its first argument
  /// (onnx.MaxPool: "max_pool2d"), whose entries in other tables also apply to this one.
  std::string like = {};
  Kernel kernel = {};

  /// The key of this operator in tables of other libraries.
  const std::string& row() const { return like.empty() ? name : like; }
};

/// A spelling resolved to its operator.
struct Spelling {
  const Operator* op;
  const Form* form;          ///< null for a module form
  const ModuleForm* module;  ///< null for a function or method
  bool inplace = false;
};

/// All operators by canonical name and by spelling.
class OperatorTable {
 public:
  /// Throws InvalidArgument, adding nothing, when a name or spelling is taken or a form does not
  /// fit the schema.
  const Operator& add(Operator op);

  /// `spelling` is "torch.relu", "Tensor.view" or "torch.nn.Conv2d". Null when unknown.
  const Spelling* find(std::string_view spelling) const { return spellings_.find(spelling); }
  /// As find(), but unknown spellings throw InvalidArgument and list near matches.
  const Spelling& get(std::string_view spelling) const { return spellings_.get(spelling); }
  const Operator* find_operator(std::string_view name) const;

  std::vector<const Operator*> all() const;  ///< sorted by name
  std::vector<std::string> spellings() const { return spellings_.names(); }

 private:
  void check(const Operator& op) const;

  Registry<std::unique_ptr<Operator>> operators_{"operator"};
  Registry<Spelling> spellings_{"operator"};
};

/// The operator vocabulary. Add your own with operators().add({...}) before the first use.
OperatorTable& operators();

/// Arguments of a function or method call, bound to the operator's schema by name. Values may be
/// nodes, so this also serves to read a call in a graph.
Args bind_call(const Spelling& spelling, std::span<const Value> args, const Kwargs& kwargs);

/// Runs the kernel; errors gain a line with the operator and the arguments' shapes, and exceptions
/// of libtorch become Error.
Value run_kernel(const Operator& op, const Args& args);

}  // namespace sparsebit::fx
